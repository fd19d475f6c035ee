/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the module of samples stores of one frame: conversion to a value and back. A
 * rejected frame is stored too, so that it is not decoded again. lmdbcache_warehouse(5)
 * describes the value.
 */
#ifndef CACHEX_BUILD_SAMPLE_H
#define CACHEX_BUILD_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "labels/label.h"
#include "lmdbcache.h"

/**
 * Convert the first max_boxes of @p n boxes from pixels, x0, y0, x1, y1, to fractions of
 * the form's width and height within 0 and 1, in the form's dtype (LC_F32 or LC_F16).
 * @param room  memory to which @p boxes and @p mask then point
 */
LC_CHECKED lc_status lc__boxes_pad(const double *pixels, uint64_t n,
    const lc_shard_info *form, struct lc__buf *room, const void **boxes,
    const void **mask);

/** Convert a number, not NaN and not above 65,504, to f16, ties to even. */
uint16_t lc__half_of(double number);

/** A source file of a frame, as it was when it was read. */
struct lc__source_note {
	const char *path; /* relative to the root of the dataset; NULL: there is none */
	uint64_t size;
	int64_t mtime_ns;
	bool settled;     /* it was unchanged for a while: as long as size and time are
	                   * the same, so is the content */
	uint64_t hash[2]; /* XXH3-128 of its bytes, by lc__hash128() */
};

/** Everything known about one frame. */
struct lc__sample {
	enum lc__reject reason; /* NONE: it is a sample, and the members below are valid
	                         * */
	const char *detail;     /* details of the reason; one line */
	struct lc__source_note label, image;
	const char *wanted;  /* path of an image that could not be read, or NULL */
	uint64_t label_hash; /* hash of the frame's part of a shared label file; else 0 */

	bool has_frame_id;
	uint64_t frame_id;
	uint32_t width, height; /* of the upright source image */
	unsigned orientation;   /* EXIF orientation that made it upright */
	bool deep;              /* the image has 16 bits for each sample, of which 8 were
	                         * used */
	uint32_t target_width, target_height;
	double scale[2], offset[2]; /* target = source * scale + offset, x and y */
	uint64_t boxes_total;       /* boxes in the label */
	uint64_t dropped;           /* boxes with too little inside the frame */
	uint64_t filtered;          /* boxes of classes that the class map drops */
	uint64_t n;                 /* boxes that are left */
	lc_id clipped;       /* n bytes, 1 for a box that was cut at the edge of the
	                      * frame; empty if none was */
	lc_id extra;         /* MessagePack map of the label's other fields, or empty */
	uint64_t content[2]; /* XXH3-128 of everything that determines its bytes in a
	                      * shard */

	lc_dtype pixels;          /* of planes: LC_U8 or LC_U16 */
	const void *planes;       /* 3 x target_height x target_width */
	const double *boxes;      /* n times x0, y0, x1, y1 in pixels of the target */
	const int64_t *class_ids; /* n, -1 for none */
};

/** The name of the member with everything but the tensors. */
#define LC__SAMPLE_ABOUT "about"

#define LC__SAMPLE_PIXELS "pixels"

#define LC__SAMPLE_BOXES "boxes"

#define LC__SAMPLE_CLASSES "class_ids"

/** Can the reason disappear although no file has changed? True for a file that could not
 *  be read. */
bool lc__sample_is_passing(const struct lc__sample *sample);

/** The size of its planes. */
size_t lc__sample_planes(const struct lc__sample *sample);

/** Set `content` of a complete sample; @p key is its cache_id. */
void lc__sample_seal(struct lc__sample *sample, const char *key);

/** The value to store; borrows the tensors. NULL without memory. */
lc_value *lc__sample_value(const struct lc__sample *sample);

/**
 * Read the member LC__SAMPLE_ABOUT of a value; texts are borrowed from it, and tensors
 * are not read.
 * @return false if lc__sample_value() has not made it
 */
bool lc__sample_read(const lc_value *about, struct lc__sample *out);

#endif
