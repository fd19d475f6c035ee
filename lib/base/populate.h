/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages for memory that will be written at once. */
#ifndef LC_BASE_POPULATE_H
#define LC_BASE_POPULATE_H

#include <stddef.h>

/* A mapping whose size is a multiple of this is aligned to it and can use huge pages. */
#define LC__HUGE_PAGE ((size_t)2 << 20)

/**
 * Populate fresh memory at once, with huge pages where possible: page faults of a first
 * write take longer than the copy that causes them. A hint. Use it only for memory that
 * was never written: for pages that exist already it costs time and gains nothing.
 */
void lc__populate(void *bytes, size_t size);

#endif
