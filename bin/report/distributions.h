/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the samples of a warehouse are distributed, in bins that are the same for
 * every warehouse, so that two can be compared.
 */
#ifndef CACHEX_REPORT_DISTRIBUTIONS_H
#define CACHEX_REPORT_DISTRIBUTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "report/histogram.h"
#include "report/survey.h"

/* How many boxes there are of each class. */

/** The most classes with counts of their own; all further ones are counted together. */
#define LC__CLASSES_MOST 4096

struct lc__class_count {
	int64_t id; /* -1: boxes without a class */
	uint64_t boxes;
	double squares;       /* sum over the samples of how many each has, squared */
	double products;      /* the same times how many boxes each has in all */
	uint64_t sample, now; /* the sample met last, and its boxes of this class */
};

struct lc__classes {
	struct lc__class_count *rows; /* malloc'ed, by id */
	size_t n, room;
	struct lc__class_count
	    others;     /* of all classes after the first LC__CLASSES_MOST */
	uint64_t boxes; /* all */
	uint64_t samples;
	double in_sample, n_squares; /* boxes of this sample; sum of squares of that */
};

/** Begin another sample, of @p boxes boxes. */
void lc__classes_begin(struct lc__classes *classes, uint64_t boxes);
/** Count one of them. */
LC_CHECKED lc_status lc__classes_add(struct lc__classes *classes, int64_t id);
/** Boxes of a class. */
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

/** What a histogram counts. */
enum lc__subject { LC__OF_SAMPLES, LC__OF_BOXES, LC__OF_RUNS };

/** The bins of one histogram. */
struct lc__metric_row {
	const char *name;  /* in files and options: "box_side" */
	const char *title; /* "Side of a box" */
	const char *axis;  /* what the axis shows, with its unit */
	enum lc__subject subject;
	bool log2;        /* values are logarithms to base 2 of the numbers shown */
	double low, high; /* of all bins, as in lc__histogram */
	uint32_t bins;
};

extern const struct lc__metric_row lc__metrics[LC__METRICS];

/** "samples", "boxes", "runs". */
const char *lc__subject_name(enum lc__subject subject);

/**
 * How alike the values of one sample are: sums over the samples, for each category
 * of a histogram (below, the bins, above).
 */
struct lc__likeness {
	double squares[LC__HISTOGRAM_BINS + 2];  /* of how many values it has there */
	double products[LC__HISTOGRAM_BINS + 2]; /* that times how many it has in all */
	double n_squares;                        /* of how many it has in all */
};

struct lc__distributions {
	struct lc__histogram histograms[LC__METRICS];
	struct lc__likeness likeness[LC__METRICS]; /* of the metrics of boxes only */
	struct lc__classes classes;
	uint64_t samples;
	uint64_t boxes; /* of all samples */
};

void lc__distributions_init(struct lc__distributions *seen);
/** Count a sample. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__distributions_add(struct lc__distributions *seen,
    const struct lc__observation *observation);
/** Count a run of @p frames frames, rejected ones included. */
void lc__distributions_add_run(struct lc__distributions *seen, uint64_t frames);
void lc__distributions_free(struct lc__distributions *seen);

#endif
