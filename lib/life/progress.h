/* SPDX-License-Identifier: BSD-2-Clause */
/* How verify, compact, recover, salvage and copy report their progress. The progress may
 * be NULL, and so may each of its functions. */
#ifndef LC_LIFE_PROGRESS_H
#define LC_LIFE_PROGRESS_H

#include <stdarg.h>
#include <stdint.h>

#include "lmdbcache.h"

/** Report bytes done. Returns LC_CANCELLED, naming the operation, if it should stop. */
LC_CHECKED lc_status lc__progress_step(const lc_progress *progress, uint64_t done,
    uint64_t total, const char *operation);

/** Report that a phase of the work begins. */
void lc__progress_phase(const lc_progress *progress, const char *name);

/** Report damage, with a line that names it. */
void lc__progress_damage(const lc_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lc__progress_vdamage(const lc_progress *progress, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
