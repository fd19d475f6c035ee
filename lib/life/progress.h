/* SPDX-License-Identifier: BSD-2-Clause */
/* What verify, compact, recover, salvage and copy report while they work. The progress may be
 * NULL, and each of its functions. */
#ifndef LC_LIFE_PROGRESS_H
#define LC_LIFE_PROGRESS_H

#include <stdarg.h>
#include <stdint.h>

#include "lmdbcache.h"

/** Report bytes done. LC_CANCELLED, with the name of the operation, if it is to stop. */
LC_CHECKED lc_status lc__progress_step(const lc_progress *progress, uint64_t done,
    uint64_t total, const char *operation);

/** A part of the work begins. */
void lc__progress_phase(const lc_progress *progress, const char *name);

/** Report a damage by a line that names it. */
void lc__progress_damage(const lc_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lc__progress_vdamage(const lc_progress *progress, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
