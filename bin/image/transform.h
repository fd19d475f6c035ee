/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An image file to the u8 or u16 planes of a sample: decoded, turned upright, resampled
 * and placed, row by row, so that memory does not grow with the image's height.
 *
 * Resampling is the triangle filter over half-pixel centres, widened by the scale
 * where the picture shrinks, first along columns, then along rows, in integers:
 * the same bits on every machine. lmdbcache_warehouse(5) has the formula.
 */
#ifndef CACHEX_IMAGE_TRANSFORM_H
#define CACHEX_IMAGE_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#include "image/geometry.h"
#include "image/image.h"
#include "lmdbcache.h"

enum lc__alpha {
	LC__ALPHA_DROP = 0, /* the colours as they are stored */
	LC__ALPHA_OVER      /* blended over the pad colour, in the file's values */
};

/** What to do to every image. */
struct lc__transform {
	uint32_t width, height; /* of the result; with buckets set for each image */
	enum lc__fit fit;
	uint8_t pad[3]; /* red, green, blue */
	enum lc__alpha alpha;
	bool ignore_orientation;
	bool wide;           /* planes are u16: 16 bits are kept, 8 spread, v * 257 */
	bool dct_scale;      /* JPEG: let the decoder shrink by 1/2, 1/4 or 1/8
	                           while the result stays twice the target or more */
	uint64_t max_pixels; /* as in lc__image_options */
};

/** What was found in the file and done. */
struct lc__transformed {
	struct lc__geometry geometry;         /* of the upright picture */
	uint32_t stored_width, stored_height; /* as the file has it */
	unsigned orientation;                 /* EXIF's, 1 to 8; 1 if ignored */
	bool deep; /* the file has 16 bits a sample; 8 of them were used */
	uint64_t decode_ns, resize_ns;
};

/** Memory for one thread to use again for image after image. */
struct lc__workspace;
struct lc__workspace *lc__workspace_new(void);
void lc__workspace_free(struct lc__workspace *workspace);
/** Bytes it holds now. */
size_t lc__workspace_size(const struct lc__workspace *workspace);

/** Size and orientation from the header alone. Errors as lc__image_decode(). */
LC_CHECKED lc_status lc__image_probe(const void *bytes, size_t size, const char *name,
    struct lc__transformed *out);

/**
 * Decode and transform one image.
 * @param planes  gets 3 x height x width samples, u8 or if transform->wide u16: red,
 *                green, blue; grey files have three equal planes
 * @return as lc__image_decode(); planes are undefined after a failure.
 */
LC_CHECKED lc_status lc__transform_image(const struct lc__transform *transform,
    const void *bytes, size_t size, const char *name, struct lc__workspace *workspace,
    void *planes, struct lc__transformed *out);

/**
 * u8 samples as elements of a dtype: LC_U8 as they are, LC_F32 v / 255 correctly
 * rounded, LC_F16 v / 255 rounded to nearest even. Other dtypes are
 * LC_UNSUPPORTED.
 */
LC_CHECKED lc_status lc__planes_convert(const uint8_t *planes, size_t count,
    lc_dtype dtype, void *out);

/* Pixels with alpha over a colour. */

/**
 * count pixels of grey and alpha (2 channels) or RGB and alpha (4) over @p colour,
 * to RGB: (value * alpha + colour * (255 - alpha)) / 255, rounded to nearest.
 */
void lc__blend(const uint8_t *pixels, size_t count, unsigned channels,
    const uint8_t colour[3], uint8_t *out);

/** The same for samples of 16 bits, over @p colour * 257, with 65535 instead of 255. */
void lc__blend16(const uint16_t *pixels, size_t count, unsigned channels,
    const uint8_t colour[3], uint16_t *out);

#endif
