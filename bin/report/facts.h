/* SPDX-License-Identifier: BSD-2-Clause */
/* All that a report says of a warehouse, in one place. */
#ifndef CACHEX_REPORT_FACTS_H
#define CACHEX_REPORT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/manifest.h"
#include "format/summary.h"
#include "lmdbcache.h"
#include "report/distributions.h"
#include "report/fields.h"

/** Rejected frames and thumbnails that a page shows at most. */
#define LC__FACTS_REJECTS 50
#define LC__FACTS_THUMBNAILS 24

/** A picture of a sample. */
struct lc__thumbnail {
	struct lc__buf png;
	uint32_t width, height; /* of the picture */
	char *id;               /* malloc'ed: the cache_id, NULL if there is none */
	size_t id_size;
	uint64_t sample, boxes; /* its number, and how many boxes it has */
};

struct lc__facts {
	const lc_warehouse *warehouse; /* borrowed: has the names of classes */
	const lc_warehouse_info *info; /* borrowed from it */
	lc_series_info *series;        /* info->series of them */
	struct lc__manifest manifest;
	struct lc__summary summary;
	struct lc__thresholds thresholds;
	struct lc__fields recipe;
	struct lc__fields rejects[LC__FACTS_REJECTS]; /* the first rejected frames */
	size_t n_rejects;
	struct lc__distributions seen;
	struct lc__thumbnail thumbnails[LC__FACTS_THUMBNAILS];
	size_t n_thumbnails;
};

/**
 * Everything but the samples and thumbnails. Free with lc__facts_free(), also
 * after a failure.
 * @return LC_OK; LC_CORRUPT, LC_NO_MEMORY, LC_IO.
 */
LC_CHECKED lc_status lc__facts_read(const lc_warehouse *warehouse,
    struct lc__facts *out);
/** The name of a class in the warehouse, NULL if it has none. */
const char *lc__facts_class(const struct lc__facts *facts, int64_t class_id);
void lc__facts_free(struct lc__facts *facts);

#endif
