/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modules for streams: what a record holds tells which record it is.
 *
 * Record k of a module with tag t is a map of
 *	tokens  u32[L]     token j is made_token(t, k, j)
 *	pairs   u16[L, 2]  pair j is the halves of that
 *	label   i64[]      1000 t + k
 * or, if it is plain, the tokens alone. Its cache_id is "t-k".
 */
#ifndef T_MADE_STREAM_H
#define T_MADE_STREAM_H

#include <stdbool.h>

#include "lmdbcache.h"

struct made_chunk {
	uint64_t first;   /* record */
	uint64_t records; /* live ones */
};

struct made_stream {
	uint32_t tag;
	bool plain;       /* tokens alone */
	const char *root; /* the module is "m" in it */
	lc_cache *cache;
	lc_writer *writer; /* NULL for plain puts */
	lc_source *source; /* NULL until made_stream_open() */
	uint64_t *lengths; /* of records, in order of the live ones */
	uint64_t *keys;    /* k of each */
	uint64_t records, room;
	struct made_chunk *chunks; /* with live records */
	size_t n;
};

/** A new module; length field "tokens" or ".", or none. */
void made_stream_new(struct made_stream *m, uint32_t tag, bool plain,
    bool has_lengths);

/** Fill it by an input, from now on. */
void made_stream_input(struct made_stream *m);

/** The input is finished: the source is final. */
void made_stream_finish(struct made_stream *m);

/** Delete a record of plain puts, before the source is opened. */
void made_stream_delete(struct made_stream *m, uint64_t record);

/** Put a chunk of records of these lengths. */
void made_stream_chunk(struct made_stream *m, const uint64_t *lengths, size_t n);

/** Open or refresh the source. */
void made_stream_open(struct made_stream *m);

void made_stream_close(struct made_stream *m);

uint32_t made_token(uint32_t tag, uint64_t k, uint64_t j);

/** Token @p unit of chunk @p chunk (position): its record (position in m->keys) and
 *  the place in it. */
void made_stream_unit(const struct made_stream *m, uint64_t chunk, uint64_t unit,
    uint64_t *record, uint64_t *at);

#endif
