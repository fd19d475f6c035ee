/* SPDX-License-Identifier: BSD-2-Clause */
/* The member `warehouse` of a manifest: what a build adds to the other members. Struct to
 * and from JSON text, lmdbcache_warehouse(5). */
#ifndef LC_WAREHOUSE_ABOUT_H
#define LC_WAREHOUSE_ABOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** Shards of one image size; a warehouse without buckets has one series. */
struct lc__series_about {
	char *path; /* directory of the series: "" or "832x1216" */
	uint32_t width, height;
	uint64_t samples; /* number of its shards, which are consecutive in the manifest
	                   * */
};

/** Strings are malloc'ed. */
struct lc__warehouse_about {
	char *layout;             /* of the labels, "capture" */
	char fingerprint[65];     /* of the sources, hex */
	char *sources_root;       /* absolute path of the dataset when it was built */
	char sources_sha256[65];  /* of sources.txt */
	char rejected_sha256[65]; /* of rejected.jsonl */
	struct lc__series_about *series;
	size_t n_series;
	char **classes;   /* names by class id; NULL for an id without one */
	size_t n_classes; /* 0: names are not known */
};

LC_CHECKED lc_status lc__warehouse_about_format(const struct lc__warehouse_about *about,
    struct lc__buf *out);
/** LC_NOT_MODULE if @p text is NULL: the manifest is not that of a warehouse. */
LC_CHECKED lc_status lc__warehouse_about_parse(const char *text, const char *name,
    struct lc__warehouse_about *out);
void lc__warehouse_about_free(struct lc__warehouse_about *about);

#endif
