/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the samples of a warehouse are distributed, in bins that are the same for
 * every warehouse, so that two can be compared.
 */
#ifndef CACHEX_REPORT_DISTRIBUTIONS_H
#define CACHEX_REPORT_DISTRIBUTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "report/classes.h"
#include "report/histogram.h"
#include "report/observation.h"

enum lc__metric {
	LC__METRIC_BOXES_PER_SAMPLE,
	LC__METRIC_BOX_SIDE,
	LC__METRIC_BOX_ASPECT,
	LC__METRIC_BOX_X,
	LC__METRIC_BOX_Y,
	LC__METRIC_SOURCE_WIDTH,
	LC__METRIC_SOURCE_HEIGHT,
	LC__METRIC_SOURCE_MEGAPIXELS,
	LC__METRIC_SOURCE_ASPECT,
	LC__METRIC_BRIGHTNESS,
	LC__METRIC_CONTRAST,
	LC__METRIC_FRAMES_PER_RUN,
	LC__METRICS
};

/** What a histogram counts. */
enum lc__subject { LC__OF_SAMPLES, LC__OF_BOXES, LC__OF_RUNS };

/** The bins of one histogram. */
struct lc__metric_row {
	const char *name;   /* in files and options: "box_side" */
	const char *title;  /* "Side of a box" */
	const char *axis;   /* what the axis shows, with its unit */
	enum lc__subject subject;
	bool log2;          /* values are logarithms to base 2 of what is shown */
	double low, high;   /* of all bins, as in lc__histogram */
	uint32_t bins;
};

extern const struct lc__metric_row lc__metrics[LC__METRICS];

/** "samples", "boxes", "runs". */
const char *lc__subject_name(enum lc__subject subject);

/**
 * How much alike the values of one sample are: sums over the samples, for each
 * category of a histogram (below, the bins, above).
 */
struct lc__likeness {
	double squares[LC__HISTOGRAM_BINS + 2];  /* of how many values it has there */
	double products[LC__HISTOGRAM_BINS + 2]; /* that times how many it has in all */
	double n_squares;                        /* of how many it has in all */
};

struct lc__distributions {
	struct lc__histogram histograms[LC__METRICS];
	struct lc__likeness likeness[LC__METRICS]; /* only of what boxes have */
	struct lc__classes classes;
	uint64_t samples;
	uint64_t boxes;      /* of all samples */
};

void lc__distributions_init(struct lc__distributions *seen);
/** Values in category @p i of a histogram: 0 below, bins + 1 above. */
uint64_t lc__category(const struct lc__histogram *histogram, uint32_t i);
/** Count a sample. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__distributions_add(struct lc__distributions *seen,
    const struct lc__observation *observation);
/** Count a run of so many frames, rejected ones included. */
void lc__distributions_add_run(struct lc__distributions *seen, uint64_t frames);
void lc__distributions_free(struct lc__distributions *seen);

#endif
