/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream, from the inside. */
#ifndef LC_STREAM_STREAM_H
#define LC_STREAM_STREAM_H

#include <pthread.h>

#include "order/token.h"
#include "stream/standing.h"

struct lc_stream {
	lc_stream_options options;    /* without the token */
	uint64_t *weights;            /* one a source; options.weights */
	lc_source **sources;
	uint32_t n;                   /* of them */
	bool series;                  /* all are the same one, of which each has the images
	                                 of one size */
	uint64_t *first_chunk;        /* of each: chunks of the source before its own; else
	                                 NULL */
	struct lc__mixture *mixture;  /* NULL with one source */
	struct lc__standing_rule rule;
	uint64_t order_hash;
	uint64_t first_batch;         /* where the token stood */
	pthread_mutex_t replacing;    /* held by the one who makes a new standing */
	pthread_mutex_t lock;         /* guards what follows */
	struct lc__standing *standing; /* held */
};

/** What it stands on now; to be dropped. */
struct lc__standing *lc__stream_standing(lc_stream *stream);

/** Go on to what the source stands on; does not refresh that. Of any use to a stream
 *  that follows only. */
LC_CHECKED lc_status lc__stream_go_on(lc_stream *stream);

/**
 * The examples [first, end) of a batch that can be read.
 * @return LC_OK; LC_END if there is no such batch; LC_TIMEOUT if it is not there
 * yet, and then @p end is how many examples there must be in all.
 */
LC_CHECKED lc_status lc__stream_batch(const lc_stream *stream,
    const struct lc__standing *standing, uint64_t batch, uint64_t *first,
    uint64_t *end);

/** An error for an example or batch that cannot be had: LC_END, or LC_TIMEOUT if
 *  it may come. @p never: it does not, whatever becomes of the source. */
lc_status lc__stream_lacks(const lc_stream *stream,
    const struct lc__standing *standing, const char *what, uint64_t number,
    bool never);

/**
 * Check a token against a stream that is being made, and choose its layouts: one a
 * source, to be dropped. @p token NULL for the start.
 */
LC_CHECKED lc_status lc__stream_layouts(const lc_stream *stream,
    const struct lc__token *token, struct lc__layout **layouts);

/** Find the batch that a token's example begins; LC_INVALID if none does. */
LC_CHECKED lc_status lc__stream_resume(lc_stream *stream,
    const struct lc__token *token);

#endif
