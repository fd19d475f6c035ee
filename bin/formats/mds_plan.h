/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns that records become: "id" for the cache_id, and one for each part of a
 * record, named by its path; "tensor" or "value" if the record is a single part. Lists
 * and maps without a tensor are one part. All records have the same parts; where their
 * types differ, the column gets a more general encoding.
 */
#ifndef CACHEX_FORMATS_MDS_PLAN_H
#define CACHEX_FORMATS_MDS_PLAN_H

#include "formats/mds.h"

/** All zero but bits is empty. */
struct lc__mds_plan {
	struct lc__mds_columns columns; /* by name */
	uint64_t *seen; /* of each column: the last record that had it, from 1 */
	bool *tensor;   /* of each: a tensor, not plain data */
	size_t columns_room, seen_room, tensor_room; /* allocated */
	uint64_t records;
	bool bits; /* bf16, f8 and f4 as raw bits */
};

/** Take a record into account. LC_UNSUPPORTED, with the cache_id and the path, for what
 *  MDS cannot hold. */
LC_CHECKED lc_status lc__mds_plan_add(struct lc__mds_plan *plan, lc_id id,
    const lc_value *value);

/** After the last record: columns get their sizes. */
void lc__mds_plan_end(struct lc__mds_plan *plan);

/** The parts of a record in the order of columns; NULL for the cache_id's. LC_INVALID
 *  if the record is not one of those that were planned. */
LC_CHECKED lc_status lc__mds_plan_parts(struct lc__mds_plan *plan, lc_id id,
    const lc_value *value, const lc_value **out);

/** A tensor as it is written: raw bits as unsigned integers. */
lc_tensor lc__mds_plan_tensor(const struct lc__mds_plan *plan, const lc_value *part);

void lc__mds_plan_free(struct lc__mds_plan *plan);

#endif
