/* SPDX-License-Identifier: BSD-2-Clause */
/* How much a warehouse differs from an earlier one. */
#ifndef CACHEX_REPORT_DRIFT_H
#define CACHEX_REPORT_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/summary.h"
#include "report/distributions.h"

/** The metrics that are compared. A histogram's metric is LC__DRIFT_HISTOGRAMS + its
 *  lc__metric. */
enum lc__drift_metric {
	LC__DRIFT_INVALID, /* share of the frames that are invalid */
	LC__DRIFT_MISSING, /* share of the frames without an image or its file */
	LC__DRIFT_EMPTY,   /* share of the frames without a box */
	/* Distribution of the frames: samples, and each reason of rejection. */
	LC__DRIFT_OUTCOMES,
	LC__DRIFT_CLASSES, /* distribution of the boxes over the classes */
	LC__DRIFT_HISTOGRAMS,
	LC__DRIFT_METRICS = LC__DRIFT_HISTOGRAMS + LC__METRICS
};

/** The name in files and options: "invalid", "classes", "box_side". */
const char *lc__drift_name(size_t metric);
/** The title for readers: "Invalid frames". */
const char *lc__drift_title(size_t metric);
/** The metric with this name, or LC__DRIFT_METRICS. */
size_t lc__drift_find(const char *name);

/** One of the two warehouses. */
struct lc__drift_side {
	const struct lc__summary *summary;
	const struct lc__distributions *seen;
};

struct lc__drift_row {
	size_t metric;
	/**
	 * The distance of the two sides, from 0 (equal) to 1 (nothing in common): the
	 * total variation distance of two distributions, or the difference of two
	 * shares. It is 1 if only one side has values.
	 */
	double distance;
	/**
	 * The distance to expect if both sides were random samples of one source: the
	 * mean of half the sum of |p - q| over the categories, where each p - q is
	 * taken as normal with variance v (1/n + 1/m). If values are independent, v is
	 * s (1 - s), s being the share of the category in both sides together. The
	 * boxes of one sample may be alike; then v is larger, as estimated from the
	 * sums of struct lc__likeness.
	 */
	double noise;
	double limit; /* a larger distance is drift */
	bool exceeded;
	bool chance;   /* the distance is not larger than the noise */
	bool is_share; /* the metric is a share: old_value and new_value are set */
	double old_value, new_value;
	/* Number of frames, samples, boxes or runs of each side. */
	uint64_t old_n, new_n;
};

struct lc__drift {
	/* Sorted by distance, largest first. */
	struct lc__drift_row rows[LC__DRIFT_METRICS];
	/* Number of rows above their limit. */
	size_t exceeded;
	size_t chance; /* number of those whose distance chance can explain */
};

/** Compare two warehouses; @p limits has an element for each metric. */
void lc__drift_compare(const struct lc__drift_side *old, const struct lc__drift_side *new,
    const double limits[LC__DRIFT_METRICS], struct lc__drift *out);

#endif
