/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The deterministic order written out: every list is made in full, from the formulas of
 * lmdbcache_stream(3) and without a line of lib/order. Slow, and meant to be obviously
 * right. What does not fit the memory ends the program.
 */
#ifndef T_MODEL_ORDER_H
#define T_MODEL_ORDER_H

#include <stdbool.h>

#include "lmdbcache.h"

/** A chunk of a source, in the order of chunks. */
struct model_chunk {
	uint64_t records;
	uint64_t units; /* sum of lengths; records again without a length field */
};

/** What a stream reads. */
struct model_source {
	const struct model_chunk *chunks;
	size_t n;
};

/** A unit, or a record if examples are records. */
struct model_unit {
	uint32_t source;
	uint64_t epoch;
	uint64_t chunk; /* position in the order of chunks */
	uint64_t unit;  /* in the chunk */
};

/** Units one after another. */
struct model_units {
	struct model_unit *units;
	size_t n, room;
};

/** Examples one after another. */
struct model_stream {
	struct model_units *examples;
	size_t n, room;
};

/**
 * The first @p want units of idealised reader @p r, fewer if the chunks do not repeat.
 * @param repeat  the chunks begin anew behind the last one, if any has units
 * @param windows  a chunk has its units, else its records
 */
struct model_units model_rstar(const struct model_source *source,
    uint32_t readers, uint32_t r, bool repeat, bool windows, size_t want);

/**
 * The first @p want examples of a stream, fewer if it ends before. Limits and batches
 * are the caller's.
 * @param growing  the only source is not final and the stream follows it: what later
 * chunks could change is left out
 */
struct model_stream model_stream(const struct model_source *sources, size_t n,
    const lc_stream_options *options, bool growing, size_t want);
void model_stream_free(struct model_stream *stream);
void model_units_free(struct model_units *units);

/** Positions in a batch that are reader @p r's, in its order; malloc'ed, their number
 *  goes to *n. */
uint64_t *model_share(lc_split split, uint32_t readers, uint32_t r,
    uint64_t batch, size_t *n);

#endif
