/* SPDX-License-Identifier: BSD-2-Clause */
/* Points of a plane as a map of their density, with an example of each dense region. */
#ifndef CACHEX_REPORT_EMBEDDING_MAP_H
#define CACHEX_REPORT_EMBEDDING_MAP_H

#include <stdbool.h>

#include "draw/picture.h"

/** The most regions of a map. */
#define LC__REGIONS_MOST 9

/** Around a peak of the density. */
struct lc__region {
	double x, y;    /* of the peak */
	size_t example; /* the point nearest to it */
	size_t points;  /* that are nearer to this peak than to others */
	lc_id id;       /* set by the caller: what the example is called; borrowed */
	struct lc__pixels image; /* set by the caller: a small image of the example, or
	                            width 0; borrowed */
};

/** The smallest part of the plane with nearly all points; its sides are in proportion. */
struct lc__plane {
	double low[2], high[2];
	size_t outside; /* points */
};

/** Regions of a map; the caller adds names and images. */
struct lc__regions {
	struct lc__region all[LC__REGIONS_MOST]; /* the densest first */
	size_t n;
	struct lc__plane plane;
};

/**
 * Find the dense regions of @p n points, 1 at least, all finite: peaks of a density that is
 * smoothed the less the more points there are, apart from each other, and at least a
 * twelfth as high as the highest. LC_NO_MEMORY.
 * @param points  x and y of each
 */
LC_CHECKED lc_status lc__regions_find(const double *points, size_t n,
    struct lc__regions *out);

/** A map; all is borrowed. */
struct lc__embedding_map {
	const char *title; /* "faces" */
	const char *note;  /* a line below it */
	const char *axes[2];
	const double *points; /* x and y of each */
	size_t n;
	const struct lc__regions *regions;
};

/**
 * Draw it @p width pixels wide, 360 at least; the height follows.
 * @param picture  without a size yet
 * @return errors as lc__picture_begin(); LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__embedding_map_draw(struct lc__picture *picture,
    const struct lc__embedding_map *map, double width);

#endif
