/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shuffles written out: permutations of whole lists, from the formulas of
 * lmdbcache_stream(3) and without a line of lib/order. Slow, and meant to be obviously
 * right.
 */
#ifndef T_MODEL_SHUFFLE_H
#define T_MODEL_SHUFFLE_H

#include "lmdbcache.h"

#define MODEL_ROUNDS 8

uint64_t model_mix(uint64_t z);
uint64_t model_key(const uint64_t *words, size_t n);
/** Where i < n goes; fewer than MODEL_ROUNDS rounds shuffle badly. */
uint64_t model_permute(uint64_t n, uint64_t key, unsigned rounds, uint64_t i);

/** The examples 0..n-1 in the order of their positions; malloc'ed. Of @p options, what
 *  tells of the shuffle, and the seed. */
uint64_t *model_shuffle(const lc_stream_options *options, uint64_t n,
    uint64_t epoch);

#endif
