/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples read into buffers that are used again. */
#ifndef LC_WAREHOUSE_STREAM_H
#define LC_WAREHOUSE_STREAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "warehouse/shardset.h"

struct lc__stream_buf;

/** Buffers that nobody has, and where a sequential reader is. Zeros are empty. */
struct lc__stream {
	struct lc__trylock lock;     /* guards free and kept */
	struct lc__stream_buf *free; /* a list */
	unsigned kept;               /* in it */
	_Atomic uint64_t next;       /* the sample after the last one */
	_Atomic uint64_t asked;      /* samples before this one were asked for ahead */
};

/** Sample @p i of a shard into a buffer; verified as lc__wshard_sample(). */
LC_CHECKED lc_status lc__stream_sample(struct lc__stream *stream,
    struct lc__shardset *set, struct lc__wshard *shard, uint64_t i, lc_sample *out);
/** Take its buffer back. */
void lc__stream_release(struct lc__stream *stream, const lc_sample *sample);

/** Image, boxes and mask into the caller's memory, each of which may be NULL; without
 *  a buffer between where the sample was verified before. */
LC_CHECKED lc_status lc__stream_copy(struct lc__stream *stream, struct lc__shardset *set,
    struct lc__wshard *shard, uint64_t i, void *const out[3]);

void lc__stream_close(struct lc__stream *stream);

#endif
