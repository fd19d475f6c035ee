/* SPDX-License-Identifier: BSD-2-Clause */
/* COCO's file of annotations. */
#ifndef LC_LABELS_COCO_H
#define LC_LABELS_COCO_H

#include "lmdbcache.h"

/**
 * The first JSON file of annotations/ or of the root that begins as COCO's do,
 * from the root, malloc'ed; NULL if there is none.
 */
LC_CHECKED lc_status lc__coco_first(const char *root, char **out);

#endif
