/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/cursor_hints.h"

#include <sys/mman.h>

/* From this size on looking costs some percent of reading. */
#define LARGE ((uint64_t)64 << 10)

/* Small ranges of which one is looked at. */
#define SAMPLE 64

/* Whether it is in memory; a system that does not tell says yes. The middle tells: what
 * stands at an end may have been read with the neighbour. */
static bool
is_resident(const unsigned char *start, uint64_t size, uint32_t page_size)
{
	const uintptr_t page = (uintptr_t)(start + size / 2) &
	    ~((uintptr_t)page_size - 1);
	unsigned char resident = 1;

	return mincore((void *)page, 1, &resident) != 0 || (resident & 1) != 0;
}

bool
lc__hints_worth(struct lc__hints *hints, const unsigned char *start,
    uint64_t size, uint32_t page_size)
{
	if (size >= LARGE)
		return !is_resident(start, size, page_size);
	if (hints->left > 0) {
		hints->left--;
		return hints->cold;
	}
	hints->left = SAMPLE - 1;
	hints->cold = !is_resident(start, size, page_size);
	return hints->cold;
}

bool
lc__hints_missing(const unsigned char *start, uint64_t size, uint32_t page_size)
{
	return !is_resident(start, size, page_size);
}
