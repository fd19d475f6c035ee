/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a stream stands on: a sequence of each of its sources. Never changes once it is
 * made; shared and counted. A stream that follows replaces it.
 */
#ifndef LC_STREAM_STANDING_H
#define LC_STREAM_STANDING_H

#include <stdatomic.h>

#include "order/mixture.h"
#include "order/series.h"
#include "stream/walk.h"

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

#endif
