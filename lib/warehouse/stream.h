/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples read into buffers that are reused. */
#ifndef LC_WAREHOUSE_STREAM_H
#define LC_WAREHOUSE_STREAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "warehouse/shardset.h"

struct lc__stream_buf;

/** Free buffers, and the position of a sequential reader. All zero is empty. */
struct lc__stream {
	struct lc__trylock lock;     /* guards free and kept */
	struct lc__stream_buf *free; /* a list */
	unsigned kept;               /* number of buffers in `free` */
	_Atomic uint64_t next;       /* the sample after the last one */
	_Atomic uint64_t asked;      /* samples before this one were prefetched */
};

/** Read sample @p i of a shard into a buffer; verified as by lc__wshard_sample(). */
LC_CHECKED lc_status lc__stream_sample(struct lc__stream *stream,
    struct lc__shardset *set, struct lc__wshard *shard, uint64_t i, lc_sample *out);
/** Return its buffer. */
void lc__stream_release(struct lc__stream *stream, const lc_sample *sample);

/** Read image, boxes and mask into the caller's memory; each may be NULL. Needs no buffer
 *  for a sample that was verified before. */
LC_CHECKED lc_status lc__stream_copy(struct lc__stream *stream, struct lc__shardset *set,
    struct lc__wshard *shard, uint64_t i, void *const out[3]);

void lc__stream_close(struct lc__stream *stream);

#endif
