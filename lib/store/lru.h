/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counted blocks of memory, and an LRU of them: the least recently used leave first.
 * Both are thread-safe.
 *
 * Views and the LRU share a block. Whoever drops the last hold frees it, so a view keeps
 * its block alive after the LRU has let go of it.
 *
 * The LRU finds a decoded tensor by the location of its record and the record's
 * checksum, so it never returns the tensor of another commit. It finds a record that
 * this rank must not write by its cache_id.
 *
 * Accounting: an entry counts lc__lru_cost() from the moment it can be found until it
 * cannot; the sum is never above the limit. A block that has left the LRU but is held by
 * a view no longer counts.
 */
#ifndef LC_STORE_LRU_H
#define LC_STORE_LRU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

struct lc__block {
	atomic_uint refs;    /* holders */
	size_t size;         /* bytes of data */
	unsigned char *data; /* 64-byte aligned; in the same allocation */
};

/** A new block with one holder; NULL if there is no memory. Its bytes are not set. */
struct lc__block *lc__block_new(size_t size);
struct lc__block *lc__block_hold(struct lc__block *block);
/** Let go of a block; the last holder frees it. NULL is harmless. */
void lc__block_drop(struct lc__block *block);
/** Memory that a block of @p size bytes takes, its struct included; SIZE_MAX if that is too
 *  large to exist. */
size_t lc__block_cost(size_t size);

/* ---- the LRU ------------------------------------------------------------- */

struct lc__lru;

/** How the LRU finds a block. */
struct lc__lru_key {
	uint64_t location; /* of the record; for a cache_id its hash */
	uint64_t checksum; /* of the record; for a cache_id 0 */
	uint32_t part;     /* number of the tensor in its value, or LC__LRU_RECORD */
	lc_id id;          /* of a LC__LRU_RECORD, else NULL and 0; compared and copied */
};
#define LC__LRU_RECORD UINT32_MAX

/** A new LRU; NULL if there is no memory or @p limit is 0. */
struct lc__lru *lc__lru_new(uint64_t limit);
/** NULL is harmless here and below: the LRU is off. */
void lc__lru_free(struct lc__lru *lru);

/**
 * What an entry counts: lc__block_cost() of its block, its struct, the bytes of its
 * cache_id, and two pointers, because the hash table has at most two slots for an entry.
 */
uint64_t lc__lru_cost(const struct lc__lru_key *key, size_t block_size);

/** Find a block and hold it; the caller drops it. NULL if there is none. Counts a hit or a
 *  miss. */
struct lc__block *lc__lru_get(struct lc__lru *lru, const struct lc__lru_key *key);

/**
 * Keep a block and hold it, in place of another of that key; others make room. If it is
 * larger than the limit, or there is no memory, it is not kept; the other one of that key
 * is removed even then.
 * @param note borrowed; for lc__lru_get_noted()
 */
void lc__lru_put(struct lc__lru *lru, const struct lc__lru_key *key,
    struct lc__block *block, const void *note);
/** Is there a block of this key? This neither counts nor renews its use. */
bool lc__lru_has(struct lc__lru *lru, const struct lc__lru_key *key);
/** lc__lru_get(), also with the @p note given with the block; set only if there is one. */
struct lc__block *lc__lru_get_noted(struct lc__lru *lru, const struct lc__lru_key *key,
    const void **note);

/** Forget one block, or all; neither counts as an eviction. */
void lc__lru_remove(struct lc__lru *lru, const struct lc__lru_key *key);
void lc__lru_clear(struct lc__lru *lru);

/** Set the lru_ fields. */
void lc__lru_count(struct lc__lru *lru, lc_counters *out);

/* Around a fork: take the lock, release it, and make it anew in the child. */
void lc__lru_before_fork(struct lc__lru *lru);
void lc__lru_after_fork_parent(struct lc__lru *lru);
void lc__lru_after_fork_child(struct lc__lru *lru);

#endif
