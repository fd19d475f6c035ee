/* SPDX-License-Identifier: BSD-2-Clause */
/* What two sets of records have in common, and how their distributions differ. */
#ifndef CACHEX_REPORT_COVERAGE_H
#define CACHEX_REPORT_COVERAGE_H

#include "draw/picture.h"
#include "draw/ticks.h"
#include "report/histogram.h"

/** Keys in one set alone, and in both. */
struct lc__overlap {
	uint64_t first, both, second;
};

/** Keys that belong together. */
struct lc__overlap_row {
	lc_id name;
	struct lc__overlap keys;
};

/** How often a class or a type occurs in each set. */
struct lc__count_row {
	lc_id name;
	uint64_t first, second;
};

/** Rows of a list that are drawn; the last one is the sum of the others. */
#define LC__COVERAGE_ROWS 24
/** Histograms of a picture. */
#define LC__COVERAGE_HISTOGRAMS 12

/** A histogram of each set; both have the same bins. */
struct lc__coverage_pair {
	const struct lc__histogram *first, *second;
	enum lc__unit unit;
	const char *axis; /* title of the axis, or NULL */
};

/** Two sets. All pointers are borrowed. */
struct lc__coverage {
	const char *names[2];
	const char *what; /* what the sets contain: "records", "samples" */
	struct lc__overlap keys;
	const struct lc__overlap_row *groups; /* drawn only if there are at least 2 */
	size_t n_groups;
	const char *groups_title; /* for example "Keys by their directory" */
	const struct lc__count_row *counts;
	size_t n_counts;
	/* For example "Types of records". */
	const char *counts_title;
	/* Histograms with values. */
	struct lc__coverage_pair pairs[LC__COVERAGE_HISTOGRAMS];
	size_t n_pairs;
};

#define LC__COVERAGE_FIRST 0x2c5c8cu  /* prints as dark grey */
#define LC__COVERAGE_BOTH 0xd0d0d0u   /* prints as light grey */
#define LC__COVERAGE_SECOND 0xe59a3cu /* prints between the two */

/** Sort rows by their sums, largest first, and then by name. Rows after the first
 *  LC__COVERAGE_ROWS - 1 are merged into one, "N others", whose name is stored in
 *  @p room. Returns the new number of rows. */
size_t lc__overlap_rows(struct lc__overlap_row *rows, size_t n, char room[40]);
size_t lc__count_rows(struct lc__count_row *rows, size_t n, char room[40]);

/** The distance of two distributions, 0 to 1: half the sum, over the categories, of the
 *  differences between their shares. */
double lc__histogram_distance(const struct lc__histogram *a,
    const struct lc__histogram *b);

/**
 * Draw the picture @p width pixels wide, 360 at least; the height follows.
 * @param picture  without a size yet
 * @return errors as lc__picture_begin()
 */
LC_CHECKED lc_status lc__coverage_draw(struct lc__picture *picture,
    const struct lc__coverage *coverage, double width);

/** The places of the three parts of the bar of all keys, in a picture of that width. */
void lc__coverage_bar(const struct lc__overlap *keys, double width,
    struct lc__rect parts[3]);

#endif
