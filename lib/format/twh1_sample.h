/* SPDX-License-Identifier: BSD-2-Clause */
/* One sample of a shard whose bytes are in memory, in place. */
#ifndef LC_FORMAT_TWH1_SAMPLE_H
#define LC_FORMAT_TWH1_SAMPLE_H

#include <stdbool.h>

#include "format/twh1.h"

/** A sample's dtypes, shapes and sizes, without addresses: the same for all. */
LC_CHECKED lc_status lc__twh1_form(const struct lc__twh1 *shard, lc_sample *out);

/** Let the tensors of a form lead to those of sample @p i in the shard's bytes. */
void lc__twh1_place(const struct lc__twh1 *shard, uint64_t i, lc_sample *sample);

/**
 * Take id and the image's shape from the metadata row @p row into a sample; false
 * if the row is damaged.
 */
bool lc__twh1_read_row(const lc_shard_info *info, lc_id row, lc_sample *sample);

/**
 * The whole of sample @p i, which must exist.
 * @param name  for messages
 * @return LC_OK; LC_CORRUPT for a bad metadata row.
 */
LC_CHECKED lc_status lc__twh1_sample(const struct lc__twh1 *shard, const char *name,
    uint64_t i, lc_sample *out);

#endif
