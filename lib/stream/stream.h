/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream, from the inside: an order over the examples of its sources. What can be read
 * now is in its state, which is immutable; a stream that follows its source replaces it.
 */
#ifndef LC_STREAM_STREAM_H
#define LC_STREAM_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "order/mixture.h"
#include "order/token.h"
#include "stream/sequence.h"

#define LC__MOST_IDEALISED 65536u
#define LC__MOST_SHARES 65536u
#define LC__MOST_WEIGHT ((uint64_t)1 << 32)

/** What all states of a stream share. */
struct lc__stream_rule {
	struct lc__sequence_rule sequence; /* with the seed of the stream */
	const struct lc__mixture *mixture; /* NULL with one source */
	uint64_t limit;                    /* number of all examples, 0 for no limit */
	bool follow;
	bool series;    /* all sequences are of one source */
	uint64_t batch; /* examples a batch, for series */
	lc_source *const *sources;
	uint32_t n; /* of sources */
};

/** A sequence for each source. Shared and counted; used by many threads. */
struct lc__stream_state {
	atomic_uint refs;
	const struct lc__mixture
	    *mixture;                    /* borrowed from the stream; NULL: one source */
	struct lc__series_order *series; /* each batch has one image size; NULL: there is
	                                  * one size */
	uint64_t batch;                  /* with series: numbers in a batch */
	uint64_t total; /* number of all examples; UINT64_MAX for ever or unknown */
	uint64_t known; /* examples that can be read now; with series, numbers of examples
	                 * */
	bool complete;  /* total is known */
	_Atomic(struct lc__sequence_cursor *)
	    idle;                         /* of lc_stream_locate(); NULL: none, or a
	                                   * thread is using it */
	uint32_t n;                       /* of sequences */
	struct lc__sequence *sequences[]; /* of each source */
};

struct lc_stream {
	atomic_uint refs;          /* the caller and readers */
	lc_stream_options options; /* without the token */
	uint64_t *weights;         /* of each source; options.weights */
	lc_source **sources;       /* each held */
	uint32_t n;                /* of sources */
	bool series;               /* all are the same source: each has its images of one
	                            * size */
	uint64_t *first_chunk;     /* with series: for each, the number of the source's
	                            * chunks before its own; else NULL */
	struct lc__mixture *mixture; /* NULL with one source */
	struct lc__stream_rule rule;
	uint64_t order_hash;
	uint64_t first_batch;           /* from the token */
	pthread_mutex_t replace_lock;   /* held by a thread that creates another state */
	pthread_mutex_t lock;           /* guards the members below */
	struct lc__stream_state *state; /* held */
};

/** Keep a stream for a reader after the caller has closed it; ended by lc_stream_close(),
 *  too. */
lc_stream *lc__stream_hold(lc_stream *stream);

/** Can this many readers divide the shares of a stream? Always without shares.
 *  LC_INVALID. */
LC_CHECKED lc_status lc__stream_check_readers(const lc_stream *stream, uint32_t reader,
    uint32_t readers);

/* ---- the state ---------------------------------------------------------------------- */

/** Create a state over the layouts of all sources, which it holds.
 *  @return as lc__sequence_new(). */
LC_CHECKED lc_status lc__stream_state_new(const struct lc__stream_rule *rule,
    struct lc__layout *const *layouts, struct lc__stream_state **out);

struct lc__stream_state *lc__stream_state_hold(struct lc__stream_state *state);
/** NULL is allowed. */
void lc__stream_state_drop(struct lc__stream_state *state);

/** Take a cursor of one of its sequences for the calling thread; putting it back passes
 *  ownership, and putting NULL frees the last one. So what a cursor has learned is
 *  reused. */
LC_CHECKED lc_status lc__stream_state_cursor(struct lc__stream_state *state,
    uint32_t source, struct lc__sequence_cursor **out);
void lc__stream_state_put_back(struct lc__stream_state *state,
    struct lc__sequence_cursor *cursor);

/** The present state of the stream, held by the caller. */
struct lc__stream_state *lc__stream_state_now(lc_stream *stream);

/** If the stream follows: replace its state, if the source has more by now. The source
 *  itself is not refreshed. */
LC_CHECKED lc_status lc__stream_follow(lc_stream *stream);

/** The number of examples among the first @p numbers. Fewer with series, where a batch
 *  may be short but takes all of its numbers. */
static inline uint64_t
lc__stream_state_examples(const struct lc__stream_state *state, uint64_t numbers)
{
	return state->series == NULL || numbers == UINT64_MAX
	    ? numbers
	    : lc__series_count(state->series, numbers);
}

/** The example, and its source, with the number @p example. */
static inline void
lc__stream_state_find(const struct lc__stream_state *state, uint64_t example,
    uint32_t *source, uint64_t *index)
{
	if (state->series != NULL) {
		uint64_t n;

		lc__series_at(state->series, example / state->batch, source, index, &n);
		*index += example % state->batch;
	} else if (state->mixture != NULL) {
		lc__mixture_at(state->mixture, example, source, index);
	} else {
		*source = 0;
		*index = example;
	}
}

/**
 * The examples [first, end) of a batch that can be read.
 * @return LC_OK; LC_END if there is no such batch; LC_TIMEOUT if it is not available yet,
 * and then @p end is the number of examples that it needs. Sets no error.
 */
LC_CHECKED lc_status lc__stream_batch(const lc_stream *stream,
    const struct lc__stream_state *state, uint64_t batch, uint64_t *first, uint64_t *end);

/**
 * Set the error for an example or batch that cannot be read now.
 * @param never  it will not come, even if the source grows
 * @return LC_END, or LC_TIMEOUT if it may come
 */
lc_status lc__stream_lacks(const lc_stream *stream, const struct lc__stream_state *state,
    const char *what, uint64_t number, bool never);

/* ---- tokens ------------------------------------------------------------------------- */

/**
 * Check a token against a stream being opened, and choose a layout of each source, for
 * the caller to drop. @p token is NULL for the start.
 */
LC_CHECKED lc_status lc__stream_layouts(const lc_stream *stream,
    const struct lc__stream_token *token, struct lc__layout **layouts);

/** Find the batch that begins with the token's example; LC_INVALID if there is none. */
LC_CHECKED lc_status lc__stream_resume(lc_stream *stream,
    const struct lc__stream_token *token);

#endif
