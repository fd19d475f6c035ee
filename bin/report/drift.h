/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a warehouse has moved away from an earlier one. */
#ifndef CACHEX_REPORT_DRIFT_H
#define CACHEX_REPORT_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/summary.h"
#include "report/distributions.h"

/** The metrics that are compared; a histogram is LC__DRIFT_HISTOGRAMS + its lc__metric. */
enum lc__drift_metric {
	LC__DRIFT_INVALID,  /* share of frames that are invalid */
	LC__DRIFT_MISSING,  /* without an image or its file */
	LC__DRIFT_EMPTY,    /* without a box */
	LC__DRIFT_OUTCOMES, /* of the frames: samples and each reason of rejection */
	LC__DRIFT_CLASSES,  /* of the boxes */
	LC__DRIFT_HISTOGRAMS,
	LC__DRIFT_METRICS = LC__DRIFT_HISTOGRAMS + LC__METRICS
};

/** "invalid", "classes", "box_side". */
const char *lc__drift_name(size_t metric);
/** The same in words. */
const char *lc__drift_title(size_t metric);
/** The metric of this name, LC__DRIFT_METRICS if there is none. */
size_t lc__drift_find(const char *name);

/** One of the two warehouses. */
struct lc__drift_side {
	const struct lc__summary *summary;
	const struct lc__distributions *seen;
};

struct lc__drift_row {
	size_t metric;
	/**
	 * 0 same, 1 nothing in common: total variation of the two distributions, for
	 * a share the difference. 1 if only one side has any values.
	 */
	double distance;
	/**
	 * The distance to be expected if both sides were drawn at random from the
	 * same source: E of half the sum of |p - q| over the categories, each
	 * difference taken as normal with variance v (1/n + 1/m). v is s (1 - s), s the
	 * share of both together; or where a sample has several values, boxes, which
	 * may be like each other, as many times more as the samples show that.
	 */
	double noise;
	double limit; /* above it there is drift */
	bool exceeded;
	bool chance;   /* not more than noise */
	bool is_share; /* old_value and new_value count */
	double old_value, new_value;
	uint64_t old_n, new_n; /* frames, samples, boxes or runs */
};

struct lc__drift {
	struct lc__drift_row rows[LC__DRIFT_METRICS]; /* largest distance first */
	size_t exceeded;                              /* how many */
	size_t chance; /* of them, how many may be chance alone */
};

/** Compare; @p limits has one for each metric. */
void lc__drift_compare(const struct lc__drift_side *old, const struct lc__drift_side *new,
    const double limits[LC__DRIFT_METRICS], struct lc__drift *out);

#endif
