/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines that verify, recover and salvage report. */
#ifndef LC_LIFE_DAMAGE_H
#define LC_LIFE_DAMAGE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** Give a line to progress->damage, if there is one; @p progress may be NULL. */
void lc__damage_tell(const lc_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lc__damage_vtell(const lc_progress *progress, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
