/* SPDX-License-Identifier: BSD-2-Clause */
/* Image files to tensors of pixels. */
#ifndef CACHEX_IMAGE_IMAGE_H
#define CACHEX_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

enum lc__image_type {
	LC__IMAGE_NONE = 0, /* none of these */
	LC__IMAGE_JPEG,
	LC__IMAGE_PNG,
	LC__IMAGE_WEBP,
	LC__IMAGE_TIFF,
	LC__IMAGE_TYPES
};

/** A format of image files. */
struct lc__image_format {
	const char *name;      /* "WebP" */
	const char *extension; /* "webp", of files that we write */
	bool built;            /* this build has the library that decodes it */
};

/** By lc__image_type; the first has no name. */
extern const struct lc__image_format lc__image_formats[LC__IMAGE_TYPES];

enum lc__image_layout {
	LC__IMAGE_HWC = 0, /* [height, width, channels] */
	LC__IMAGE_CHW      /* [channels, height, width] */
};

/** The elements that samples become. */
enum lc__image_elements {
	LC__IMAGE_U8 = 0, /* of 16 bits the upper 8 */
	LC__IMAGE_U16,    /* 8 bits are spread, v * 257, so that white is white */
	LC__IMAGE_F32     /* 0 to 1: v / 255 or v / 65535, correctly rounded */
};

/** Pixels an image may have unless the caller says otherwise: 2^28, 16,384 squared. */
#define LC__IMAGE_MAX_PIXELS ((uint64_t)1 << 28)

/** How to decode. All zero is the default. */
struct lc__image_options {
	enum lc__image_layout layout; /* default HWC */
	bool keep_alpha;              /* default: alpha is dropped, not blended */
	bool ignore_orientation;      /* default: turned as its EXIF data says */
	uint64_t max_pixels; /* larger ones are refused; 0 means LC__IMAGE_MAX_PIXELS */
	enum lc__image_elements elements; /* default u8 */
	_Atomic uint64_t *reduced; /* if not NULL, counts images of 16 bits that became
	                                 u8; threads may share it */
};

/** The dtype of the elements. */
lc_dtype lc__image_dtype(enum lc__image_elements elements);
/** Write a sample from 0 to @p white, which is 255 or 65,535, as an element. */
void lc__image_put(enum lc__image_elements elements, unsigned value, unsigned white,
    void *to);

/** What the first bytes say. */
enum lc__image_type lc__image_sniff(const void *bytes, size_t size);

/**
 * Decode one image.
 * @param name for errors, which begin with it; NULL for none
 * @param options NULL for the defaults
 * @param out 64-byte aligned; free with lc_tensor_free()
 *
 * Channels: 1 for grey, 3 for RGB; with keep_alpha one more if the file has transparency
 * (2 or 4). Palettes and CMYK become RGB. JPEG is decoded with libjpeg's defaults (the
 * accurate integer transform, smooth chroma). No gamma or colour profile is applied. Of a
 * TIFF file with several pages the first is taken; animated WebP is refused. The size is
 * checked before memory for pixels is allocated. Damage is never hidden: a file that ends
 * early or does not decode cleanly is an error.
 * @return LC_OK; LC_CORRUPT; LC_INVALID if it is of none of the formats or has too many
 * pixels; LC_UNSUPPORTED for a kind that the library does not decode, and for a format
 * that this build lacks; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__image_decode(const void *bytes, size_t size, const char *name,
    const struct lc__image_options *options, lc_tensor *out);

#endif
