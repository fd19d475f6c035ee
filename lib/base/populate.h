/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages for memory that is about to be written. */
#ifndef LC_BASE_POPULATE_H
#define LC_BASE_POPULATE_H

#include <stddef.h>

/* A mapping that is a multiple of this is put on its boundary, and can have huge pages. */
#define LC__HUGE_PAGE ((size_t)2 << 20)

/**
 * Have the system back fresh memory at once, with huge pages where it can: the faults of a
 * first write take longer than the copy that causes them. A hint. For memory that was
 * never written: what has its pages already is looked through in vain.
 */
void lc__populate(void *bytes, size_t size);

#endif
