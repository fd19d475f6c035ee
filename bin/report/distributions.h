/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the samples of a warehouse are distributed. The bins are the same for every
 * warehouse, so that two can be compared.
 */
#ifndef CACHEX_REPORT_DISTRIBUTIONS_H
#define CACHEX_REPORT_DISTRIBUTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "report/histogram.h"
#include "report/survey.h"

/* The number of boxes of each class. */

/** The most classes with counts of their own; boxes of all others are counted
 *  together. */
#define LC__CLASSES_MOST 4096

struct lc__class_count {
	int64_t id; /* -1 for boxes without a class */
	uint64_t boxes;
	/* Sum over the samples of c * c, c the boxes of this class in a sample. */
	double squares;
	/* Sum over the samples of c * n, n all boxes of the sample. */
	double products;
	/* The last sample with a box of this class, and their number there. */
	uint64_t sample, now;
};

struct lc__classes {
	struct lc__class_count *rows; /* malloc'ed, sorted by id */
	size_t n, room;
	/* The classes after the first LC__CLASSES_MOST. */
	struct lc__class_count others;
	uint64_t boxes; /* of all classes */
	uint64_t samples;
	/* Boxes of the current sample; sum of n * n over the samples. */
	double in_sample, n_squares;
};

/** Begin the next sample, which has @p boxes boxes. */
void lc__classes_begin(struct lc__classes *classes, uint64_t boxes);
/** Count one box of the current sample. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__classes_add(struct lc__classes *classes, int64_t id);
/** The number of boxes of a class. */
uint64_t lc__classes_count(const struct lc__classes *classes, int64_t id);
void lc__classes_free(struct lc__classes *classes);

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

/** The objects that a histogram counts. */
enum lc__subject { LC__OF_SAMPLES, LC__OF_BOXES, LC__OF_RUNS };

/** The bins of one histogram. */
struct lc__metric_row {
	const char *name;  /* the name in files and options: "box_side" */
	const char *title; /* for readers: "Side of a box" */
	const char *axis;  /* title of the axis, with its unit */
	enum lc__subject subject;
	bool log2;        /* the bins hold base-2 logarithms of the numbers shown */
	double low, high; /* the range of all bins, as in lc__histogram */
	uint32_t bins;
};

extern const struct lc__metric_row lc__metrics[LC__METRICS];

/** "samples", "boxes", "runs". */
const char *lc__subject_name(enum lc__subject subject);

/**
 * How alike the values within one sample are. Each category of a histogram (below, the
 * bins, above) has sums over the samples; c is how many values of a sample are in the
 * category, n how many values the sample has.
 */
struct lc__likeness {
	double squares[LC__HISTOGRAM_BINS + 2];  /* sums of c * c */
	double products[LC__HISTOGRAM_BINS + 2]; /* sums of c * n */
	double n_squares;                        /* sum of n * n */
};

struct lc__distributions {
	struct lc__histogram histograms[LC__METRICS];
	struct lc__likeness likeness[LC__METRICS]; /* only for metrics of boxes */
	struct lc__classes classes;
	uint64_t samples;
	uint64_t boxes; /* in all samples */
};

void lc__distributions_init(struct lc__distributions *seen);
/** Count a sample. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__distributions_add(struct lc__distributions *seen,
    const struct lc__observation *observation);
/** Count a run of @p frames frames, rejected ones included. */
void lc__distributions_add_run(struct lc__distributions *seen, uint64_t frames);
void lc__distributions_free(struct lc__distributions *seen);

#endif
