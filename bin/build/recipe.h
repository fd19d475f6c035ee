/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything that determines the bytes of a warehouse, and its version key. */
#ifndef CACHEX_BUILD_RECIPE_H
#define CACHEX_BUILD_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "image/transform.h"
#include "labels/dataset.h"
#include "lmdbcache.h"

/** The code version in a recipe: it changes if and only if the same input would give
 *  other bytes. */
#define LC__RECIPE_CODE_VERSION "0.1.1"

struct lc__recipe {
	const char *dataset_root; /* as the user gave it, without slashes at the end */
	struct lc__transform transform;
	uint32_t max_boxes;
	bool skip_empty;
	const char *code_version;
	/* The members below are omitted from the text at their defaults. */
	lc_dtype dtype;               /* LC_F16 */
	enum lc__label_layout layout; /* never LC__LAYOUT_AUTO: already detected */
	const struct lc__class_map
	    *class_map;             /* applied to the labels' classes, NULL for none */
	const char *const *classes; /* names learned from the labels, by id; else NULL:
	                             * others are part of the sources */
	size_t n_classes;
	double min_visible;     /* 0.1: least part of a box's area that must be left */
	bool boxes_stored;      /* boxes are of the picture before EXIF's orientation */
	uint32_t shard_version; /* 2 */
	bool metadata;          /* true */
	uint64_t shard_bytes;   /* 192 MiB */
	const char *split;      /* parts that readers use by default, as in
	                         * lc_source_options; NULL for none */
	bool split_by_run;
	uint64_t split_seed;
	lc_bucket buckets[LC_BUCKETS_MAX];
	size_t n_buckets; /* 0: one size */
};

void lc__recipe_init(struct lc__recipe *recipe);

/** The dtype of stored pixels: LC_U16 if samples are u16, else LC_U8, from which the
 *  other dtypes are computed. */
lc_dtype lc__recipe_stored(const struct lc__recipe *recipe);

/**
 * Append the compact JSON: dataset_root, target_size [width, height], resize_mode,
 * max_boxes, skip_empty, code_version, then in this order what differs from its default:
 * dtype, layout (default capture), pad, alpha, orientation, dct_scale, max_pixels,
 * min_visible, boxes, shard_version, metadata, shard_bytes, buckets, split, classes,
 * class_map.
 */
LC_CHECKED lc_status lc__recipe_format(const struct lc__recipe *recipe,
    struct lc__buf *out);
/** The SHA-256 of that text in hex: the version key. */
LC_CHECKED lc_status lc__recipe_version(const struct lc__recipe *recipe, char out[65]);
/**
 * The sample key, by which samples are found again: the SHA-256 of everything that
 * determines a stored sample, that is, its pixels, boxes and metadata before max_boxes,
 * dtype (unless it is u16) and the division into shards are applied. It does not include
 * skip_empty: a frame without boxes is stored in either case. Nor classes: they are in
 * each frame's label_hash, so that pixels are kept.
 */
LC_CHECKED lc_status lc__recipe_sample_key(const struct lc__recipe *recipe, char out[65]);
/** The manifest's transform, as JSON text. */
LC_CHECKED lc_status lc__recipe_transform(const struct lc__recipe *recipe,
    struct lc__buf *out);

#endif
