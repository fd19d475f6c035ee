/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a reader needs next, by chunk: visits (visits.h) as questions that several threads ask
 * while the reader advances.
 */
#ifndef LC_STREAM_FORECAST_H
#define LC_STREAM_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/visits.h"

#define LC__NO_BATCH UINT64_MAX

struct lc__forecast;

/**
 * @param visits  taken over, also on failure
 * @return LC_OK; LC_NO_MEMORY; as lc__layout_row().
 */
LC_CHECKED lc_status lc__forecast_new(struct lc__visits *visits,
    struct lc__forecast **out);
/** NULL is harmless. */
void lc__forecast_free(struct lc__forecast *forecast);

/**
 * The @p k-th chunk, from 0, that is needed from batch @p now on, each counted once, in the
 * order in which they are needed first; and the batch of that. Those that batch @p now needs
 * come first. False after the last one, and without memory. @p now never falls.
 */
bool lc__forecast_next(struct lc__forecast *forecast, uint64_t now, uint64_t k,
    uint64_t *chunk, uint64_t *batch);

/** The batch, from @p now on, that needs a chunk first; LC__NO_BATCH if none is known. */
uint64_t lc__forecast_when(struct lc__forecast *forecast, uint64_t chunk, uint64_t now);

/** The batch after @p now until which no chunk that is needed now ceases to be: the first
 *  end of a visit; LC__NO_BATCH if there is none. */
uint64_t lc__forecast_turn(struct lc__forecast *forecast, uint64_t now);

#endif
