/* SPDX-License-Identifier: BSD-2-Clause */
/* One pass over the samples of a warehouse. */
#ifndef CACHEX_REPORT_SURVEY_H
#define CACHEX_REPORT_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "report/distributions.h"

/** Samples whose brightness and contrast are measured, spread evenly. */
#define LC__SURVEY_LIT 256

struct lc__survey {
	uint64_t lit; /* at most so many samples are measured */
	/** Told of each sample in order, or NULL; another status than LC_OK stops. */
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
