/* SPDX-License-Identifier: BSD-2-Clause */
/* Small pictures of samples with their boxes. */
#ifndef CACHEX_REPORT_THUMBNAILS_H
#define CACHEX_REPORT_THUMBNAILS_H

#include "lmdbcache.h"
#include "report/facts.h"
#include "report/observation.h"

/** The longer side of a picture, in pixels; smaller images stay as they are. */
#define LC__THUMBNAIL_SIDE 160

/**
 * Draw a sample, for which there is room. What does not look like an image is passed
 * over.
 */
LC_CHECKED lc_status lc__thumbnail_add(struct lc__facts *facts,
    const struct lc__observation *observation, const lc_sample *sample);

#endif
