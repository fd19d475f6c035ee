/* SPDX-License-Identifier: BSD-2-Clause */
/* A metadata row of a TWH1 shard: a MessagePack map about one sample, twh1(5). */
#ifndef LC_FORMAT_TWH1_ROW_H
#define LC_FORMAT_TWH1_ROW_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** The content of a row. Borrows its bytes; absent members are empty, NULL or 0. */
struct lc__twh1_row {
	lc_id cache_id;              /* the key of the record */
	bool has_shape;              /* ndim and shape are valid */
	uint32_t ndim;               /* rank before it became CHW */
	uint64_t shape[LC_MAX_NDIM]; /* dimensions before it became CHW */
	bool has_frame_id;           /* frame_id is valid */
	uint64_t frame_id;           /* number of the frame in its run */
	const char *run_id;          /* UTF-8 name of the run */
	uint64_t original_width;     /* of the source image, 0 if absent */
	uint64_t original_height;    /* of the source image */
	lc_id transform;             /* one MessagePack value */
	bool has_classes;            /* class_ids and n_classes are valid */
	const int64_t *class_ids;    /* of the boxes that are written, -1: none */
	uint32_t n_classes;          /* how many */
	uint64_t boxes_total; /* boxes before max_boxes was applied, 0 to leave it out: no
	                       * box was dropped */
	lc_id labels;         /* one MessagePack map: other fields of the label */
};

/** Append a row; the same row gives the same bytes. */
void lc__twh1_row_encode(const struct lc__twh1_row *row, struct lc__buf *out);

/**
 * Read cache_id and shape from a row, which must be one whole map with string keys. The
 * other members stay empty.
 * @return false if the bytes are damaged
 */
bool lc__twh1_row_decode(lc_id bytes, struct lc__twh1_row *out);

/**
 * Read all members about a sample's origin; absent ones are empty.
 * @param has_total  whether boxes_total was present
 * @param class_ids  gets the first @p room of them, also if the row turns out to be
 *                   damaged
 * @return false if the bytes are damaged
 */
bool lc__twh1_row_origin(lc_id bytes, lc_sample_origin *out, bool *has_total,
    int64_t *class_ids, size_t room);

#endif
