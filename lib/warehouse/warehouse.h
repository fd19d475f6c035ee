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
	bool has_about; /* about counts */
	struct lc__warehouse_about about;
	lc_warehouse_info info; /* its strings are of what stands above */
	lc_series_info *series; /* info.series of them, malloc'ed */
	struct lc__shardset set;
	struct lc__stream stream;     /* mode STREAM */
	uint64_t open_ns, sources_ns; /* what opening took */
};

/** A version that is no directory of files: its manifest, and where its shards are. */
struct lc__warehouse_text {
	const char *dir;  /* of the manifest, from which the paths in it start */
	const char *name; /* of the manifest, for messages */
	const void *text; /* of the manifest */
	size_t size;      /* bytes */
	struct lc__supplier *supplier; /* stays until it is closed */
};

/** The same as lc_warehouse_open(), in mode MAP. Shards are opened as they are taken. */
LC_CHECKED lc_status lc__warehouse_open_text(const struct lc__warehouse_text *text,
    const lc_warehouse_options *options, lc_warehouse **out);

#endif
