/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counted blocks of memory, and an LRU of them: the least recently used are removed
 * first. Both are thread-safe. Views and the LRU share a block. The last release frees
 * it, so a view keeps its block alive after the LRU has removed it.
 *
 * The LRU finds a decoded tensor by the location of its record and the record's checksum,
 * so it never returns the tensor of another commit. It finds a record that this rank must
 * not write by its cache_id.
 *
 * Accounting: an entry counts lc__lru_cost() from the moment it can be found until it
 * cannot; the sum never exceeds the limit. A block that the LRU has removed but a view
 * holds no longer counts.
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

/** A new block with one holder; NULL if there is no memory. Its content is undefined. */
struct lc__block *lc__block_new(size_t size);
struct lc__block *lc__block_hold(struct lc__block *block);
/** Release a block; the last release frees it. NULL is allowed. */
void lc__block_drop(struct lc__block *block);
/** Memory for a block of @p size bytes, its struct included; SIZE_MAX if that
 *  overflows. */
size_t lc__block_cost(size_t size);

/* ---- the LRU ------------------------------------------------------------- */

struct lc__lru;

/** The key of a block in the LRU. */
struct lc__lru_key {
	uint64_t location; /* of the record; for a cache_id its hash */
	uint64_t checksum; /* of the record; for a cache_id 0 */
	uint32_t part;     /* index of the tensor in its value, or LC__LRU_RECORD */
	lc_id id;          /* of a LC__LRU_RECORD, else NULL and 0; compared and copied */
};
#define LC__LRU_RECORD UINT32_MAX

/** A new LRU; NULL if there is no memory or @p limit is 0. */
struct lc__lru *lc__lru_new(uint64_t limit);
/** NULL is allowed here and below: the LRU is off. */
void lc__lru_free(struct lc__lru *lru);

/**
 * What an entry counts: lc__block_cost() of its block, its struct, the bytes of its
 * cache_id, and two pointers, because the hash table has at most two slots for an entry.
 */
uint64_t lc__lru_cost(const struct lc__lru_key *key, size_t block_size);

/** Find a block and hold it; the caller releases it. NULL if there is none. Counts a hit
 *  or a miss. */
struct lc__block *lc__lru_get(struct lc__lru *lru, const struct lc__lru_key *key);

/**
 * Keep a block and hold it, replacing another with that key; others are removed to make
 * room. If it is larger than the limit, or there is no memory, it is not kept; the other
 * one with that key is removed even then.
 * @param note  borrowed; for lc__lru_get_noted()
 */
void lc__lru_put(struct lc__lru *lru, const struct lc__lru_key *key,
    struct lc__block *block, const void *note);
/** Is there a block with this key? Neither counts nor renews its use. */
bool lc__lru_has(struct lc__lru *lru, const struct lc__lru_key *key);
/** lc__lru_get(), which also returns the @p note passed with the block; set only if there
 *  is one. */
struct lc__block *lc__lru_get_noted(struct lc__lru *lru, const struct lc__lru_key *key,
    const void **note);

/** Remove one block, or all; neither counts as an eviction. */
void lc__lru_remove(struct lc__lru *lru, const struct lc__lru_key *key);
void lc__lru_clear(struct lc__lru *lru);

/** Set the lru_ fields. */
void lc__lru_count(struct lc__lru *lru, lc_counters *out);

/* Around a fork: take the lock, release it, and initialise it in the child. */
void lc__lru_before_fork(struct lc__lru *lru);
void lc__lru_after_fork_parent(struct lc__lru *lru);
void lc__lru_after_fork_child(struct lc__lru *lru);

#endif
