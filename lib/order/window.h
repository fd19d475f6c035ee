/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of S units at stride T over a sequence of units. */
#ifndef LC_ORDER_WINDOW_H
#define LC_ORDER_WINDOW_H

#include <stdint.h>

struct lc__windows {
	uint64_t size;   /* S, 1 or more */
	uint64_t stride; /* T, 1 or more; units between windows are in none if T > S */
};

/** Windows of @p length units that are full. */
uint64_t lc__windows_full(const struct lc__windows *windows, uint64_t length);

/** As above, and one more if units would be in no window that could be in one. */
uint64_t lc__windows_padded(const struct lc__windows *windows, uint64_t length);

#endif
