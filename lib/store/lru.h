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

/** New with one holder; NULL without memory. Its bytes are not set. */
struct lc__block *lc__block_new(size_t size);
struct lc__block *lc__block_hold(struct lc__block *block);
/** Freed with the last holder. NULL is harmless. */
void lc__block_drop(struct lc__block *block);
/** Memory that a block of some size takes, its own struct included; SIZE_MAX for
 *  one that cannot be made. */
size_t lc__block_cost(size_t size);

/* ---- the LRU ------------------------------------------------------------- */

struct lc__lru;

/** What a block is found by. */
struct lc__lru_key {
	uint64_t location; /* of the record; of an id: its hash */
	uint64_t checksum; /* of the record; of an id: 0 */
	uint32_t part;     /* number of the tensor in the value; LC__LRU_RECORD */
	lc_id id;          /* NULL and 0 unless part is LC__LRU_RECORD; compared, copied */
};
#define LC__LRU_RECORD UINT32_MAX

/** NULL without memory, or with @p limit 0. */
struct lc__lru *lc__lru_new(uint64_t limit);
/** NULL is harmless, here and below: an LRU that is off. */
void lc__lru_free(struct lc__lru *lru);

/**
 * What an entry counts: lc__block_cost() of the block, the entry's own struct,
 * the bytes of the id, and two pointers, as the hash table has at most two slots
 * an entry.
 */
uint64_t lc__lru_cost(const struct lc__lru_key *key, size_t block_size);

/** The block, held for the caller, who drops it; NULL if there is none. Counts a
 *  hit or a miss. */
struct lc__block *lc__lru_get(struct lc__lru *lru, const struct lc__lru_key *key);

/**
 * Keep a block (hold it too), in place of another of that key. One that is
 * larger than the limit, or for which there is no memory, is not kept; another
 * of that key leaves all the same. Makes room first.
 * @param note  borrowed; for lc__lru_get_noted()
 */
void lc__lru_put(struct lc__lru *lru, const struct lc__lru_key *key,
    struct lc__block *block, const void *note);
/** Is there one? Counts nothing, and is no use of it. */
bool lc__lru_has(struct lc__lru *lru, const struct lc__lru_key *key);
/** lc__lru_get() with the @p note given with the block; written only with one. */
struct lc__block *lc__lru_get_noted(struct lc__lru *lru,
    const struct lc__lru_key *key, const void **note);

/** Forget one; all. Neither counts as evictions. */
void lc__lru_remove(struct lc__lru *lru, const struct lc__lru_key *key);
void lc__lru_clear(struct lc__lru *lru);

/** Fill the lru_ fields. */
void lc__lru_count(struct lc__lru *lru, lc_counters *out);

/* Around a fork: hold it still, go on; in the child start anew with what is there. */
void lc__lru_before_fork(struct lc__lru *lru);
void lc__lru_after_fork_parent(struct lc__lru *lru);
void lc__lru_after_fork_child(struct lc__lru *lru);

#endif
