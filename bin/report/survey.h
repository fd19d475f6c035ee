/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of a warehouse as numbers, and a pass over all of them. */
#ifndef CACHEX_REPORT_SURVEY_H
#define CACHEX_REPORT_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/boxes.h"
#include "lmdbcache.h"

/** The numbers of one sample. */
struct lc__observation {
	uint64_t sample; /* its number in the warehouse */
	uint32_t series;
	uint32_t width, height;      /* of its image */
	lc_id cache_id;              /* empty if there is none */
	lc_sample_origin origin;     /* all zero without metadata */
	uint32_t n;                  /* boxes, as the mask counts them */
	const struct lc__box *boxes; /* with their classes */
	bool lit;                    /* brightness and contrast are set */
	double brightness;           /* mean of all channels, 0..1 */
	double contrast;             /* standard deviation of the grey image, 0..0.5 */
};

/** Memory for one observation after another. */
struct lc__observer {
	struct lc__box *boxes;
	int64_t *class_ids;
	size_t room; /* rows of both */
};

/** For samples of at most @p max_boxes rows. */
LC_CHECKED lc_status lc__observer_init(struct lc__observer *observer, uint32_t max_boxes);
void lc__observer_free(struct lc__observer *observer);

/**
 * Read a sample's boxes, classes and origin. The memory that @p out points to is valid
 * until the next call. The members sample, series, width, height and lit are the caller's.
 * @return LC_OK; LC_CORRUPT for a damaged metadata row.
 */
LC_CHECKED lc_status lc__observe(struct lc__observer *observer, const lc_sample *sample,
    struct lc__observation *out);

/**
 * Set brightness, contrast and lit from at most 65,536 pixels, spread evenly, of
 * the image as it is stored, its padding included. Leaves lit false if there are no
 * pixels.
 */
void lc__observe_light(const lc_tensor *image, struct lc__observation *out);

/** Samples whose brightness and contrast are measured, spread evenly. */
#define LC__SURVEY_LIT 256

struct lc__distributions;

struct lc__survey {
	uint64_t lit; /* the most samples whose light is measured */
	/** Called with each sample in order, or NULL; a status other than LC_OK stops. */
	lc_status (*sample)(void *ctx, const struct lc__observation *observation,
	    const lc_sample *sample);
	void *ctx;
	const lc_progress *progress; /* samples, or NULL */
};

/**
 * Whether sample @p i belongs to @p most of @p n that are spread evenly; all do if
 * there are not more.
 */
bool lc__spread(uint64_t i, uint64_t n, uint64_t most);

/**
 * Read every sample's boxes and metadata and count them into @p seen.
 * @return LC_OK; LC_CANCELLED; what reading a sample or survey->sample() returned.
 */
LC_CHECKED lc_status lc__survey_run(lc_warehouse *warehouse,
    const struct lc__survey *survey, struct lc__distributions *seen);

#endif
