/* SPDX-License-Identifier: BSD-2-Clause */
/* What a sample of a warehouse says, as numbers. */
#ifndef CACHEX_REPORT_OBSERVATION_H
#define CACHEX_REPORT_OBSERVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/boxes.h"
#include "lmdbcache.h"

struct lc__observation {
	uint64_t sample;         /* its number in the warehouse */
	uint32_t series;
	uint32_t width, height;  /* of its image */
	lc_id cache_id;          /* empty if there is none */
	lc_sample_origin origin; /* all zero without metadata */
	uint32_t n;              /* boxes that the mask says are there */
	const struct lc__box *boxes; /* with their classes */
	bool lit;                /* brightness and contrast count */
	double brightness;       /* mean of all channels, 0..1 */
	double contrast;         /* standard deviation of the grey image, 0..0.5 */
};

/** Memory for one observation after another. */
struct lc__observer {
	struct lc__box *boxes;
	int64_t *class_ids;
	size_t room; /* rows of both */
};

/** For samples of at most @p max_boxes rows. */
LC_CHECKED lc_status lc__observer_init(struct lc__observer *observer,
    uint32_t max_boxes);
void lc__observer_free(struct lc__observer *observer);

/**
 * Read a sample's boxes, classes and origin; what @p out points to is valid until
 * the next call. The members sample, series, width, height and lit are the caller's.
 * @return LC_OK; LC_CORRUPT for a damaged metadata row.
 */
LC_CHECKED lc_status lc__observe(struct lc__observer *observer,
    const lc_sample *sample, struct lc__observation *out);

/**
 * Set brightness, contrast and lit from at most 65,536 pixels, spread evenly, of
 * the image as it is stored, its padding included. One without pixels leaves lit
 * false.
 */
void lc__observe_light(const lc_tensor *image, struct lc__observation *out);

#endif
