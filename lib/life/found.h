/* SPDX-License-Identifier: BSD-2-Clause */
/* What verify, recover and salvage find is told in lines. */
#ifndef LC_LIFE_FOUND_H
#define LC_LIFE_FOUND_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** Give a line to progress->damage, if there is one; @p progress may be NULL. */
void lc__found_tell(const lc_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lc__found_vtell(const lc_progress *progress, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
