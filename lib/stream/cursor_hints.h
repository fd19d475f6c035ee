/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether it is worth a call to ask the system for bytes of a map beforehand. */
#ifndef LC_STREAM_CURSOR_HINTS_H
#define LC_STREAM_CURSOR_HINTS_H

#include <stdbool.h>
#include <stdint.h>

/** What was seen so far; all zeros at first. */
struct lc__hints {
	unsigned left; /* small ranges until one is looked at again */
	bool cold;     /* the last one was not in memory */
};

/**
 * Is it, for these bytes? Only if they are not in memory: asking costs as much as
 * reading them else. Looking costs less, but too much for small ranges: a few of them
 * are looked at, and tell of those that follow.
 * @param page_size  of the map, a power of two
 */
bool lc__hints_worth(struct lc__hints *hints, const unsigned char *start,
    uint64_t size, uint32_t page_size);

/** The same of bytes for which looking costs little, as they are part of a large record:
 *  each is looked at. */
bool lc__hints_missing(const unsigned char *start, uint64_t size,
    uint32_t page_size);

#endif
