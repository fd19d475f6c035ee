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

/** One histogram of each set, with the same bins. */
struct lc__coverage_pair {
	const struct lc__histogram *first, *second;
	enum lc__unit unit;
	const char *axis; /* the title of the values' axis, or NULL */
};

/** Two sets; all is borrowed. */
struct lc__coverage {
	const char *names[2];
	const char *what; /* "records", "samples" */
	struct lc__overlap keys;
	const struct lc__overlap_row *groups; /* drawn if there are 2 at least */
	size_t n_groups;
	const char *groups_title; /* "Keys by their directory" */
	const struct lc__count_row *counts;
	size_t n_counts;
	const char *counts_title;                                /* "Types of records" */
	struct lc__coverage_pair pairs[LC__COVERAGE_HISTOGRAMS]; /* that have values */
	size_t n_pairs;
};

#define LC__COVERAGE_FIRST 0x2c5c8cu  /* colours that print as dark, */
#define LC__COVERAGE_BOTH 0xd0d0d0u   /* light, */
#define LC__COVERAGE_SECOND 0xe59a3cu /* and between */

/** Sort rows by their sums, largest first, and then by name; those after the first
 *  LC__COVERAGE_ROWS - 1 become one row, "N others", in @p room. Returns how many rows
 *  there are then. */
size_t lc__overlap_rows(struct lc__overlap_row *rows, size_t n, char room[40]);
size_t lc__count_rows(struct lc__count_row *rows, size_t n, char room[40]);

/** The distance of two distributions: half the sum of the differences between their shares
 *  of each category; 0 to 1. */
double lc__histogram_distance(const struct lc__histogram *a,
    const struct lc__histogram *b);

/**
 * Draw the picture @p width pixels wide, 360 at least; the height follows.
 * @param picture  without a size yet
 * @return errors as lc__picture_begin()
 */
LC_CHECKED lc_status lc__coverage_draw(struct lc__picture *picture,
    const struct lc__coverage *coverage, double width);

/** The bar of all keys: the places of its three parts in a picture of that width. */
void lc__coverage_bar(const struct lc__overlap *keys, double width,
    struct lc__rect parts[3]);

#endif
