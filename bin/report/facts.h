/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts that a report is made of, for all its formats. */
#ifndef CACHEX_REPORT_FACTS_H
#define CACHEX_REPORT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "format/manifest.h"
#include "format/summary.h"
#include "lmdbcache.h"
#include "report/distributions.h"
#include "report/survey.h"

/** A member of a JSON object. */
struct lc__field {
	char *name;
	char *value; /* a string as it is, anything else as JSON; NULL for null */
};

/** The members of a JSON object as names and texts, for a table of them. */
struct lc__fields {
	struct lc__field *rows; /* in the order of the text */
	size_t n;
};

/** Read. A text that is not a JSON object is one field without a name. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__fields_read(const char *text, struct lc__fields *out);
/** The value of a field, NULL if it is null or there is none of that name. */
const char *lc__fields_find(const struct lc__fields *fields, const char *name);
void lc__fields_free(struct lc__fields *fields);

/** Bytes of the longest line of rejected.jsonl. */
#define LC__REJECT_LINE 65536

/** The rejected frames of a warehouse being read, a line of rejected.jsonl each. */
struct lc__rejects {
	FILE *file;
	char *path;
	unsigned long long line; /* the last one read */
	char *text;
};

/** Begin. LC_NO_FILE if the version has no such file. */
LC_CHECKED lc_status lc__rejects_open(const char *version_dir, struct lc__rejects *out);
/**
 * The next frame: its members, to be freed with lc__fields_free().
 * @return LC_OK; LC_END at the end; LC_CORRUPT, naming the line; LC_IO.
 */
LC_CHECKED lc_status lc__rejects_next(struct lc__rejects *rejects,
    struct lc__fields *out);
void lc__rejects_close(struct lc__rejects *rejects);

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
	const lc_warehouse *warehouse;     /* borrowed: has the names of classes */
	const lc_warehouse_info *info;     /* borrowed from it */
	lc_series_info *series;            /* info->series of them */
	struct lc__manifest_shard *shards; /* without their ids */
	size_t n_shards;
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
LC_CHECKED lc_status lc__facts_read(const lc_warehouse *warehouse, struct lc__facts *out);
/** The name of a class in the warehouse, NULL if it has none. */
const char *lc__facts_class(const struct lc__facts *facts, int64_t class_id);
void lc__facts_free(struct lc__facts *facts);

/** The longer side of a picture, in pixels; smaller images stay as they are. */
#define LC__THUMBNAIL_SIDE 160

/**
 * Draw a sample with its boxes into facts->thumbnails, which has room for it. A sample
 * that does not look like an image is skipped; in a build without cairo all are.
 */
LC_CHECKED lc_status lc__thumbnail_add(struct lc__facts *facts,
    const struct lc__observation *observation, const lc_sample *sample);

/** How many samples of these counts, which belong to the summary, were written. */
uint64_t lc__summary_written(const struct lc__summary *summary,
    const struct lc__counts *counts);

#endif
