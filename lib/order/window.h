/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of S units at stride T over a sequence of units. */
#ifndef LC_ORDER_WINDOW_H
#define LC_ORDER_WINDOW_H

#include <stdint.h>

struct lc__windows {
	uint64_t size; /* S, 1 or more */
	uint64_t
	    stride; /* T, 1 or more; if T > S, the units between windows are left out */
};

/** The number of full windows in @p length units. */
static inline uint64_t
lc__windows_full(const struct lc__windows *windows, uint64_t length)
{
	return length < windows->size ? 0
				      : (length - windows->size) / windows->stride + 1;
}

/** The same, plus a short one if it has units that are in no full window. */
static inline uint64_t
lc__windows_padded(const struct lc__windows *windows, uint64_t length)
{
	const uint64_t full = lc__windows_full(windows, length);
	uint64_t rest; /* units from the start of the last full window on */

	if (full == 0)
		return length > 0;
	rest = length - (full - 1) * windows->stride;
	/* The short window would begin a stride later. */
	return full + (rest > windows->stride && rest > windows->size);
}

#endif
