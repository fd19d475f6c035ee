/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counted memory: what several views and the LRU share. Whoever drops the last
 * hold frees it, so that a block outlives its place in the LRU while a view
 * stands on it.
 */
#ifndef LC_STORE_BLOCK_H
#define LC_STORE_BLOCK_H

#include <stdatomic.h>
#include <stddef.h>

struct lc__block {
	atomic_uint refs;    /* holders */
	size_t size;         /* bytes of data */
	unsigned char *data; /* 64-byte aligned; in the same allocation */
};

/** New with one holder; NULL without memory. Its bytes are not set. */
struct lc__block *lc__block_new(size_t size);
struct lc__block *lc__block_hold(struct lc__block *block);
/** Freed with the last holder. NULL is harmless. */
void lc__block_drop(struct lc__block *block);
/** Memory that a block of some size takes, its own struct included; SIZE_MAX for
 *  one that cannot be made. */
size_t lc__block_cost(size_t size);

#endif
