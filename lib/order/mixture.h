/* SPDX-License-Identifier: BSD-2-Clause */
/* Mixtures: which source an example comes from, and which series a batch comes from. */
#ifndef LC_ORDER_MIXTURE_H
#define LC_ORDER_MIXTURE_H

#include <stdbool.h>

#include "lmdbcache.h"

struct lc__mixture;

/**
 * In each block of @p block examples, source s gets its share by the method of largest
 * remainders (of equal ones the first), which may round to none.
 * @return LC_OK; LC_INVALID if a source would never occur; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__mixture_new(const uint64_t *weights, uint32_t sources,
    uint64_t block, uint64_t seed, struct lc__mixture **out);
/** NULL is allowed. */
void lc__mixture_free(struct lc__mixture *mixture);

/** Examples in a block, of all sources. */
uint64_t lc__mixture_block(const struct lc__mixture *mixture);

/** Examples of source @p source in each block. */
uint64_t lc__mixture_count(const struct lc__mixture *mixture, uint32_t source);

/** The example, and its source, at position @p i. */
void lc__mixture_at(const struct lc__mixture *mixture, uint64_t i, uint32_t *source,
    uint64_t *index);

/* ---- series ---------------------------------------------------------------------------
 * Batches of several series that cannot be mixed, such as images of several sizes: each
 * batch is of one series.
 *
 * With n_s examples of series s in an epoch and B in a batch, the series has
 * m_s = ceil(n_s / B) batches, of which the last may be short, and an epoch has
 * M = sum m_s. In order they follow one another, series by series. Otherwise batch b
 * is number b of a mixture with the weights m_s and blocks of M: the batches of all
 * series are interleaved at random, each series in its own order, and an epoch has each
 * example once.
 */

struct lc__series_order;

/**
 * @param examples  of each of @p n series in an epoch, maybe 0
 * @return LC_OK; LC_INVALID without examples or with too many; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__series_new(const uint64_t *examples, uint32_t n, uint64_t batch,
    bool in_order, uint64_t seed, struct lc__series_order **out);
/** NULL is allowed. */
void lc__series_free(struct lc__series_order *series);

/** Batches of an epoch; examples of an epoch. */
uint64_t lc__series_batches(const struct lc__series_order *series);
uint64_t lc__series_examples(const struct lc__series_order *series);

/** Of batch @p b: its series, its first example, counted in that series over all epochs,
 *  and its size. */
void lc__series_at(const struct lc__series_order *series, uint64_t b, uint32_t *which,
    uint64_t *first, uint64_t *n);

/** Examples in the first @p places positions: each batch takes B positions, and a short
 *  one leaves some empty. */
uint64_t lc__series_count(const struct lc__series_order *series, uint64_t places);

#endif
