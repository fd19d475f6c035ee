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

#endif
