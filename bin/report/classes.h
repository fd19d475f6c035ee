/* SPDX-License-Identifier: BSD-2-Clause */
/* How many boxes there are of each class. */
#ifndef CACHEX_REPORT_CLASSES_H
#define CACHEX_REPORT_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** Classes that are told apart; boxes of any further ones are counted together. */
#define LC__CLASSES_MOST 4096

struct lc__class_count {
	int64_t id; /* -1: boxes without a class */
	uint64_t boxes;
	double squares;  /* sum over the samples of how many each has, squared */
	double products; /* the same times how many boxes each has in all */
	uint64_t sample, now; /* the sample met last, and its boxes of this class */
};

struct lc__classes {
	struct lc__class_count *rows; /* malloc'ed, by id */
	size_t n, room;
	struct lc__class_count others; /* of classes that came when there were so many */
	uint64_t boxes;  /* all */
	uint64_t samples;
	double in_sample, n_squares; /* boxes of this sample; sum of squares of that */
};

/** The boxes of another sample follow, so many. */
void lc__classes_begin(struct lc__classes *classes, uint64_t boxes);
/** Count one of them. */
LC_CHECKED lc_status lc__classes_add(struct lc__classes *classes, int64_t id);
/** Boxes of a class. */
uint64_t lc__classes_count(const struct lc__classes *classes, int64_t id);
void lc__classes_free(struct lc__classes *classes);

#endif
