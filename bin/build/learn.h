/* SPDX-License-Identifier: BSD-2-Clause */
/* Buckets for the images of a dataset, from their headers. */
#ifndef CACHEX_BUILD_LEARN_H
#define CACHEX_BUILD_LEARN_H

#include "build/made.h"

/** For lc__crew.work: leave the upright size in made->sample, or 0 x 0. */
LC_CHECKED lc_status lc__learn_probe(struct lc__maker *maker, struct lc__made *made);

/** The shapes that were seen. */
struct lc__shapes {
	double *ratios; /* width / height, malloc'ed */
	size_t n, room;
};

LC_CHECKED lc_status lc__shapes_add(struct lc__shapes *shapes,
    const struct lc__sample *sample);
/** Choose @p k buckets of the recipe's area, and leave them there. */
LC_CHECKED lc_status lc__shapes_choose(struct lc__shapes *shapes, size_t k,
    struct lc__recipe *recipe);
void lc__shapes_free(struct lc__shapes *shapes);

#endif
