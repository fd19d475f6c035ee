/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One data set of MDS being written: a directory with an index of its own. The samples
 * of a shard wait on disk until their number is known, which stands before them.
 */
#ifndef CACHEX_FORMATS_MDS_SET_H
#define CACHEX_FORMATS_MDS_SET_H

#include "formats/mds_plan.h"
#include "formats/outtree.h"
#include "formats/spill.h"

struct lc__mds_set {
	struct lc__out_tree *tree; /* that it is in, or below */
	char *name;              /* "" or "bucket_1024x1024" */
	struct lc__mds_plan plan;
	bool planned;            /* completely */
	struct lc__buf config;   /* JSON in each shard */
	struct lc__buf index;    /* of shards that are written, one behind the other */
	size_t shards;
	struct lc__spill spill;  /* samples of the next shard */
	struct lc__buf sizes;    /* of each, 32 bits */
	uint32_t samples;        /* how many */
	uint64_t size;           /* of the shard as it would be now */
	const lc_value **parts;  /* of the record that is written */
	struct lc__buf *heads;   /* of each column: what comes before a tensor's data,
	                            or all there is */
	uint64_t bytes;          /* of files in place */
};

/** @param name  of its directory below the tree's, "" for that itself */
LC_CHECKED lc_status lc__mds_set_begin(struct lc__out_tree *tree, const char *name,
    struct lc__mds_set *out);
/** Write a record, after all have been added to set->plan. */
LC_CHECKED lc_status lc__mds_set_put(struct lc__mds_set *set, lc_id id,
    const lc_value *value);
/** The last shard, and then the index. */
LC_CHECKED lc_status lc__mds_set_finish(struct lc__mds_set *set);
void lc__mds_set_free(struct lc__mds_set *set);

#endif
