/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a stream stands on: a sequence of each of its sources. Never changes once it is
 * made; shared and counted. A stream that follows replaces it.
 */
#ifndef LC_STREAM_STREAM_H
#define LC_STREAM_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "lmdbcache.h"
#include "order/mixture.h"
#include "order/series.h"
#include "order/token.h"
#include "stream/sequence.h"

struct lc__standing {
	atomic_uint refs;
	const struct lc__mixture *mixture; /* borrowed from the stream; NULL: one source */
	struct lc__series *series; /* batches of one each; NULL: there is one */
	uint64_t batch;  /* of them, places a batch */
	uint64_t total;  /* examples in all; UINT64_MAX for ever or not known */
	uint64_t known;  /* that can be read now; of several series, places of examples */
	bool complete;   /* total is known */
	uint32_t n;      /* sources */
	struct lc__sequence *sequences[]; /* of each */
};

/** What all sequences have in common, and the sources. */
struct lc__standing_rule {
	struct lc__sequence_rule sequence; /* with the seed of the stream */
	const struct lc__mixture *mixture;
	uint64_t limit;                    /* examples in all, 0 for no limit */
	bool follow;
	bool series;                       /* all sequences are of one source */
	uint64_t batch;                    /* examples a batch, for series */
	lc_source *const *sources;
	uint32_t n;
};

/** Make it on so many layouts, which it holds for itself. @return as
 *  lc__sequence_new(). */
LC_CHECKED lc_status lc__standing_new(const struct lc__standing_rule *rule,
    struct lc__layout *const *layouts, struct lc__standing **out);

struct lc__standing *lc__standing_hold(struct lc__standing *standing);
/** NULL is harmless. */
void lc__standing_drop(struct lc__standing *standing);

/** How many examples the first @p places numbers are. Fewer than these where batches
 *  are of one series each, which may be short. */
static inline uint64_t
lc__standing_examples(const struct lc__standing *standing, uint64_t places)
{
	return standing->series == NULL || places == UINT64_MAX ? places :
	    lc__series_count(standing->series, places);
}

/** Which example of which source is number @p example. */
static inline void
lc__standing_find(const struct lc__standing *standing, uint64_t example,
    uint32_t *source, uint64_t *index)
{
	if (standing->series != NULL) {
		uint64_t n;

		lc__series_at(standing->series, example / standing->batch, source,
		    index, &n);
		*index += example % standing->batch;
	} else if (standing->mixture != NULL) {
		lc__mixture_at(standing->mixture, example, source, index);
	} else {
		*source = 0;
		*index = example;
	}
}

/* A stream, from the inside. */

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

/* What a caller asks of a stream, checked and made plain. */

#define LC__MOST_IDEALISED 65536u
#define LC__MOST_WEIGHT ((uint64_t)1 << 32)

/**
 * Check options for so many sources; @p given NULL for the defaults. What is left to
 * a default is filled in: @p out->stride of windows is above 0.
 */
LC_CHECKED lc_status lc__stream_options_take(const lc_stream_options *given,
    size_t sources, lc_stream_options *out);

/** The hash of what makes the order; see lmdbcache_stream(3). @p length_fields has one
 *  name a source. */
LC_CHECKED lc_status lc__stream_order_hash(const lc_stream_options *options,
    size_t sources, const char *const *length_fields, uint64_t *out);

#endif
