/* SPDX-License-Identifier: BSD-2-Clause */
/* An open warehouse. */
#ifndef LC_WAREHOUSE_WAREHOUSE_H
#define LC_WAREHOUSE_WAREHOUSE_H

#include <stdbool.h>

#include "format/manifest.h"
#include "warehouse/about.h"
#include "warehouse/shardset.h"
#include "warehouse/stream.h"

struct lc_warehouse {
	char *dir; /* of the version */
	char *manifest_path;
	struct lc__manifest manifest;
	bool has_about; /* about is valid */
	struct lc__warehouse_about about;
	lc_warehouse_info info; /* its strings belong to the members above */
	lc_series_info *series; /* info.series of them, malloc'ed */
	struct lc__shardset set;
	struct lc__stream stream;     /* mode STREAM */
	uint64_t open_ns, sources_ns; /* statistics of the opening */
};

/** A version that is not a directory of files: its manifest, and the supplier of its
 *  shards. */
struct lc__warehouse_text {
	const char *dir;  /* of the manifest, to which the paths in it are relative */
	const char *name; /* of the manifest, for messages */
	const void *text; /* of the manifest */
	size_t size;      /* bytes */
	struct lc__supplier *supplier; /* must stay valid until it is closed */
};

/** As lc_warehouse_open() in mode MAP. Shards are opened as they are taken. */
LC_CHECKED lc_status lc__warehouse_open_text(const struct lc__warehouse_text *text,
    const lc_warehouse_options *options, lc_warehouse **out);

#endif
