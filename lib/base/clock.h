/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_BASE_CLOCK_H
#define LC_BASE_CLOCK_H

#include <stdint.h>

/** Wall clock, ms since 1970; SOURCE_DATE_EPOCH (seconds) fixes it. */
uint64_t lc__clock_wall_ms(void);
/** Monotonic clock in ns. */
uint64_t lc__clock_ns(void);
/** The same to some milliseconds, at a fraction of the cost. */
uint64_t lc__clock_coarse_ns(void);
/** What lc__clock_ns() is when so many ms have passed; UINT64_MAX if never. */
uint64_t lc__clock_deadline(uint64_t timeout_ms);

#endif
