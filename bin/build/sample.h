/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the module of samples keeps of one frame: a value, and back. A frame that
 * was rejected is kept too, so that it is not decoded again. lmdbcache_warehouse(5)
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
 * The first max_boxes of @p n boxes in pixels, x0, y0, x1, y1, as shares of the
 * form's width and height within 0 and 1, in the form's dtype (LC_F32 or LC_F16).
 * @param room  holds what @p boxes and @p mask then point to
 */
LC_CHECKED lc_status lc__boxes_pad(const double *pixels, uint64_t n,
    const lc_shard_info *form, struct lc__buf *room, const void **boxes,
    const void **mask);

/** A number that is neither NaN nor above 65,504 as an f16, nearest even. */
uint16_t lc__half_of(double number);

/** A file that a frame was made of, as it was when it was read. */
struct lc__source_note {
	const char *path; /* from the root of the dataset; NULL: there is none */
	uint64_t size;
	int64_t mtime_ns;
	bool settled;     /* it had stood so for a while: as long as size and time are
	                      the same, so is the content */
	uint64_t hash[2]; /* XXH3-128 of its bytes, as of lc__hash128() */
};

/** Everything that is known of one frame. */
struct lc__sample {
	enum lc__reject reason; /* NONE: it is a sample, and what is below counts */
	const char *detail;     /* of a reason; one line */
	struct lc__source_note label, image;
	const char *wanted;  /* path of an image that could not be read, or NULL */
	uint64_t label_hash; /* of the frame's part of a shared label file; else 0 */

	bool has_frame_id;
	uint64_t frame_id;
	uint32_t width, height; /* of the upright source image */
	unsigned orientation;   /* that made it upright, EXIF's */
	bool deep;              /* the image has 16 bits a sample, of which 8 were used */
	uint32_t target_width, target_height;
	double scale[2], offset[2]; /* target = source * scale + offset, x and y */
	uint64_t boxes_total;       /* in the label */
	uint64_t dropped;           /* of them: too little was left in the frame */
	uint64_t filtered;   /* of them: of classes that the map of classes drops */
	uint64_t n;          /* boxes that are left */
	lc_id clipped;       /* n bytes, 1 where a box was cut at the edge of the
	                            frame; empty if none was */
	lc_id extra;         /* MessagePack map of the label's other fields, or empty */
	uint64_t content[2]; /* XXH3-128 of all that its bytes in a shard are made of */

	lc_dtype pixels;          /* of planes: LC_U8 or LC_U16 */
	const void *planes;       /* 3 x target_height x target_width */
	const double *boxes;      /* n times x0, y0, x1, y1 in pixels of the target */
	const int64_t *class_ids; /* n, -1 for none */
};

/** The name in the value's map of everything but the tensors. */
#define LC__SAMPLE_ABOUT "about"

#define LC__SAMPLE_PIXELS "pixels"

#define LC__SAMPLE_BOXES "boxes"

#define LC__SAMPLE_CLASSES "class_ids"

/** Whether the reason is one that may be gone although no file has changed: a file
 *  that could not be read. */
bool lc__sample_is_passing(const struct lc__sample *sample);

/** Bytes of its planes. */
size_t lc__sample_planes(const struct lc__sample *sample);

/** Set `content` of a sample that is complete; @p key is its cache_id. */
void lc__sample_seal(struct lc__sample *sample, const char *key);

/** The value to store; borrows the tensors. NULL without memory. */
lc_value *lc__sample_value(const struct lc__sample *sample);

/**
 * Read the part LC__SAMPLE_ABOUT of a value; texts are borrowed from it, and the
 * tensors are left out.
 * @return false if it is not as lc__sample_value() makes it
 */
bool lc__sample_read(const lc_value *about, struct lc__sample *out);

#endif
