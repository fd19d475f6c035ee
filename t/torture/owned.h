/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys of which each has one writer, who gives it rising versions, and what anybody may
 * find of them meanwhile: a version between the newest that was acknowledged before
 * the look and the newest that was begun after it.
 *
 * Version v of a key is a tensor u64[2 or more] of v, the key and words that follow from
 * both. Every fourth version is a delete; 0 says that the key was never put.
 */
#ifndef T_TORTURE_OWNED_H
#define T_TORTURE_OWNED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"

#define OWNED_KEYS 48u /* of one writer */

/** What all share. In memory of all processes, if there are several. */
struct owned {
	unsigned writers;
	bool may_leave; /* records leave without their writer: a budget, or clear */
	struct {
		_Atomic uint64_t begun[OWNED_KEYS];
		_Atomic uint64_t acknowledged[OWNED_KEYS];
	} writer[];
};

/** Bytes for so many writers. */
size_t owned_size(unsigned writers);

/** Put or delete one of the writer's keys; not acknowledged before owned_flush(). */
void owned_change(struct owned *o, unsigned writer, lc_cache *cache, uint64_t *random);
void owned_flush(struct owned *o, unsigned writer, lc_cache *cache);
/** Close, which flushes. */
void owned_close(struct owned *o, unsigned writer, lc_cache *cache);

/** Look at one key through any handle. @return whether it is there */
bool owned_look(struct owned *o, unsigned writer, unsigned key, lc_cache *cache);
/** Look at @p n keys at random, and give the views to be released. */
void owned_look_batch(struct owned *o, lc_cache *cache, size_t n, lc_view *views,
    uint64_t *random);
/** All keys by a walk. @return how many there are */
uint64_t owned_walk(struct owned *o, lc_cache *cache, unsigned flags);
/** All keys by a stream of the module, shuffled, as far as nobody changes it. @return
 *  batches read */
uint64_t owned_stream(struct owned *o, lc_cache *cache, unsigned threads,
    uint64_t seed);
/** Compute keys that nobody owns, or find them. */
void owned_compute(lc_cache *cache, uint64_t *random);

#endif
