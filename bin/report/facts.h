/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts that a report on a warehouse shows, in whatever format. */
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
	/* A string without its quotes, else the JSON text; NULL for null. */
	char *value;
};

/** The members of a JSON object as names and texts, to be shown as a table. */
struct lc__fields {
	struct lc__field *rows; /* in the order of the JSON text */
	size_t n;
};

/** Read a JSON object. A text that is not one becomes one field without a name.
 *  LC_NO_MEMORY. */
LC_CHECKED lc_status lc__fields_read(const char *text, struct lc__fields *out);
/** The value of the field @p name, or NULL if it is null or missing. */
const char *lc__fields_find(const struct lc__fields *fields, const char *name);
void lc__fields_free(struct lc__fields *fields);

/** Most bytes of a line of rejected.jsonl. */
#define LC__REJECT_LINE 65536

/** Reads the rejected frames of a warehouse, one per line of rejected.jsonl. */
struct lc__rejects {
	FILE *file;
	char *path;
	unsigned long long line; /* number of the line read last */
	char *text;
};

/** Open rejected.jsonl. LC_NO_FILE if the version has none. */
LC_CHECKED lc_status lc__rejects_open(const char *version_dir, struct lc__rejects *out);
/**
 * The next frame: its members, to be freed with lc__fields_free().
 * @return LC_OK; LC_END at the end; LC_CORRUPT, naming the line; LC_IO.
 */
LC_CHECKED lc_status lc__rejects_next(struct lc__rejects *rejects,
    struct lc__fields *out);
void lc__rejects_close(struct lc__rejects *rejects);

/** The most rejected frames and thumbnails on a page. */
#define LC__FACTS_REJECTS 50
#define LC__FACTS_THUMBNAILS 24

/** A picture of a sample. */
struct lc__thumbnail {
	struct lc__buf png;
	uint32_t width, height; /* size of the thumbnail, in pixels */
	/* The cache_id, malloc'ed; NULL if the sample has none. */
	char *id;
	size_t id_size;
	uint64_t sample, boxes; /* number of the sample, and of its boxes */
};

struct lc__facts {
	const lc_warehouse *warehouse;     /* borrowed; has the names of classes */
	const lc_warehouse_info *info;     /* borrowed from the warehouse */
	lc_series_info *series;            /* info->series elements */
	struct lc__manifest_shard *shards; /* their ids are not set */
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
 * Read all facts but the samples and thumbnails. Free with lc__facts_free(), also after
 * a failure.
 * @return LC_OK; LC_CORRUPT, LC_NO_MEMORY, LC_IO.
 */
LC_CHECKED lc_status lc__facts_read(const lc_warehouse *warehouse, struct lc__facts *out);
/** The name of a class in the warehouse, or NULL. */
const char *lc__facts_class(const struct lc__facts *facts, int64_t class_id);
void lc__facts_free(struct lc__facts *facts);

/** The longer side of a thumbnail in pixels. Smaller images keep their size. */
#define LC__THUMBNAIL_SIDE 160

/**
 * Draw a sample with its boxes into facts->thumbnails, which must have room for one
 * more. Does nothing if the sample is not an image, or if the build has no cairo.
 */
LC_CHECKED lc_status lc__thumbnail_add(struct lc__facts *facts,
    const struct lc__observation *observation, const lc_sample *sample);

/** How many of the samples with these counts the build wrote. The counts are those of
 *  the summary or of one of its runs. */
uint64_t lc__summary_written(const struct lc__summary *summary,
    const struct lc__counts *counts);

#endif
