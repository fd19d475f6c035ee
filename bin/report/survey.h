/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of a warehouse as numbers, and one pass over all of them. */
#ifndef CACHEX_REPORT_SURVEY_H
#define CACHEX_REPORT_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/boxes.h"
#include "lmdbcache.h"

/** What a report counts of one sample. */
struct lc__observation {
	uint64_t sample; /* number of the sample in the warehouse */
	uint32_t series;
	uint32_t width, height;      /* size of the stored image, in pixels */
	lc_id cache_id;              /* empty if the sample has none */
	lc_sample_origin origin;     /* all zero if the warehouse has no metadata */
	uint32_t n;                  /* number of boxes, according to the mask */
	const struct lc__box *boxes; /* the boxes with their classes */
	bool lit;                    /* brightness and contrast are set */
	double brightness;           /* mean of all channels, 0..1 */
	double contrast;             /* standard deviation of the grey image, 0..0.5 */
};

/** Memory that is used for one observation after another. */
struct lc__observer {
	struct lc__box *boxes;
	int64_t *class_ids;
	size_t room; /* rows in `boxes` and in `class_ids` */
};

/** Allocate it for samples of at most @p max_boxes rows. */
LC_CHECKED lc_status lc__observer_init(struct lc__observer *observer, uint32_t max_boxes);
void lc__observer_free(struct lc__observer *observer);

/**
 * Read the boxes, classes and origin of a sample. @p out points into the observer: it
 * is valid until the next call. The caller sets the members sample, series, width,
 * height and lit.
 * @return LC_OK; LC_CORRUPT for a damaged metadata row.
 */
LC_CHECKED lc_status lc__observe(struct lc__observer *observer, const lc_sample *sample,
    struct lc__observation *out);

/**
 * Set brightness, contrast and lit, from at most 65,536 pixels, spread evenly over the
 * image as it is stored, including its padding. Does not set lit if there are no
 * pixels.
 */
void lc__observe_light(const lc_tensor *image, struct lc__observation *out);

/** How many samples are measured for brightness and contrast. */
#define LC__SURVEY_LIT 256

struct lc__distributions;

struct lc__survey {
	uint64_t lit; /* the most samples to measure, spread evenly */
	/** Called for each sample in order; may be NULL. A status other than LC_OK ends
	 *  the pass. */
	lc_status (*sample)(void *ctx, const struct lc__observation *observation,
	    const lc_sample *sample);
	void *ctx;
	const lc_progress *progress; /* step() counts samples; may be NULL */
};

/**
 * Whether sample @p i is one of @p most that are spread evenly over @p n. If @p n is
 * not larger than @p most, all samples are.
 */
bool lc__spread(uint64_t i, uint64_t n, uint64_t most);

/**
 * Read the boxes and metadata of all samples, and count them in @p seen.
 * @return LC_OK; LC_CANCELLED; an error of reading a sample, or of survey->sample().
 */
LC_CHECKED lc_status lc__survey_run(lc_warehouse *warehouse,
    const struct lc__survey *survey, struct lc__distributions *seen);

#endif
