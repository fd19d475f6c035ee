/* SPDX-License-Identifier: BSD-2-Clause */
/* A map of points of a plane: their density, with an example from each dense region. */
#ifndef CACHEX_REPORT_EMBEDDING_MAP_H
#define CACHEX_REPORT_EMBEDDING_MAP_H

#include <stdbool.h>

#include "draw/picture.h"

/** The most regions of a map. */
#define LC__REGIONS_MOST 9

/** A region around a peak of the density. */
struct lc__region {
	double x, y;    /* place of the peak */
	size_t example; /* index of the point nearest to the peak */
	size_t points;  /* number of points nearer to this peak than to any other */
	lc_id id;       /* name of the example; set by the caller, borrowed */
	/* A small image of the example, or width 0; set by the caller, borrowed. */
	struct lc__pixels image;
};

/** The part of the plane that a map shows, which has nearly all points. Its shorter
 *  side is at least half as long as the longer one. */
struct lc__plane {
	double low[2], high[2];
	size_t outside; /* number of points that are outside of it */
};

/** Regions of a map; the caller adds names and images. */
struct lc__regions {
	struct lc__region all[LC__REGIONS_MOST]; /* by density, highest first */
	size_t n;
	struct lc__plane plane;
};

/**
 * Find the dense regions of @p n points (at least 1, all finite): peaks of the smoothed
 * density that are at least a twelfth as high as the highest, and apart from each
 * other. More points are smoothed less. LC_NO_MEMORY.
 * @param points  x and y of each point
 */
LC_CHECKED lc_status lc__regions_find(const double *points, size_t n,
    struct lc__regions *out);

/** What to draw. All pointers are borrowed. */
struct lc__embedding_map {
	const char *title; /* for example "faces" */
	const char *note;  /* a line of text below the title */
	const char *axes[2];
	const double *points; /* x and y of each point */
	size_t n;
	const struct lc__regions *regions;
};

/**
 * Draw a map that is @p width pixels wide, at least 360; the function chooses the
 * height.
 * @param picture  a picture without a size
 * @return errors as lc__picture_begin(); LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__embedding_map_draw(struct lc__picture *picture,
    const struct lc__embedding_map *map, double width);

#endif
