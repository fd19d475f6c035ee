/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/populate.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/bytes.h"

#define PAGE ((size_t)4096)

/* Advise on the whole pages within some memory. */
static void
advise(uintptr_t start, uintptr_t end, size_t unit, int advice)
{
	start = (uintptr_t)lc__round_up(start, unit);
	end -= end % unit;
	if (start < end)
		(void)madvise((void *)start, end - start, advice);
}

void
lc__populate(void *bytes, size_t size)
{
	const uintptr_t start = (uintptr_t)bytes;

	/*
	 * The end, which is smaller than a huge page, gets small pages and wastes
	 * nothing.
	 */
	advise(start, start + size, LC__HUGE_PAGE, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
	advise(start, start + size, PAGE, MADV_POPULATE_WRITE);
#endif
}
