/* SPDX-License-Identifier: BSD-2-Clause */
/* JPEG and PNG files to u8 tensors. */
#ifndef LC_ETL_IMAGE_H
#define LC_ETL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

enum lc__image_type {
	LC__IMAGE_NONE = 0, /* neither of the two */
	LC__IMAGE_JPEG,
	LC__IMAGE_PNG
};

enum lc__image_layout {
	LC__IMAGE_HWC = 0, /* [height, width, channels] */
	LC__IMAGE_CHW      /* [channels, height, width] */
};

/** Pixels an image may have unless the caller says otherwise: 2^28, 16,384 squared. */
#define LC__IMAGE_MAX_PIXELS ((uint64_t)1 << 28)

/** How to decode. All zero is the default. */
struct lc__image_options {
	enum lc__image_layout layout; /* default HWC */
	bool keep_alpha;              /* default: alpha is dropped, not blended */
	bool ignore_orientation;      /* default: turned as its EXIF data says */
	uint64_t max_pixels;          /* larger ones are refused; 0 means LC__IMAGE_MAX_PIXELS */
};

/** What the first bytes say. */
enum lc__image_type lc__image_sniff(const void *bytes, size_t size);

/**
 * Decode one image.
 *
 * @param name     for errors, which begin with it; NULL for nothing
 * @param options  NULL for the defaults
 * @param out      64-byte aligned; free with lc_tensor_free()
 *
 * Channels: 1 for grey, 3 for RGB; with keep_alpha one more where the file has
 * transparency (2 or 4). Palettes and CMYK become RGB; of 16 bits the upper 8
 * are kept. JPEG is decoded with libjpeg's defaults (the accurate integer
 * transform, smooth chroma). No gamma or colour profile is applied.
 *
 * The size is checked before memory for pixels is taken. Damage is never
 * covered up: a file that ends early or does not decode cleanly is an error.
 *
 * @return LC_OK; LC_CORRUPT; LC_INVALID if it is neither JPEG nor PNG or has too
 * many pixels; LC_UNSUPPORTED for a kind of JPEG that libjpeg does not decode;
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__image_decode(const void *bytes, size_t size,
    const char *name, const struct lc__image_options *options, lc_tensor *out);

#endif
