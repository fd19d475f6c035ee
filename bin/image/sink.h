/* SPDX-License-Identifier: BSD-2-Clause */
/* Decoders of image files, and the sink that takes their rows. */
#ifndef CACHEX_IMAGE_SINK_H
#define CACHEX_IMAGE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "lmdbcache.h"

/** Memory to use again for image after image. Zero-initialised is empty. */
struct lc__scratch {
	void *data;  /* 64-byte aligned */
	size_t room; /* bytes */
};

/** Room for @p count times @p size bytes, contents undefined; NULL without memory. */
void *lc__scratch_get(struct lc__scratch *scratch, uint64_t count, uint64_t size);
void lc__scratch_free(struct lc__scratch *scratch);

/** Reserve @p size bytes, 64-byte aligned, of a block of which *used are taken. If block
 *  is NULL, only counts and returns NULL. */
static inline void *
lc__scratch_place(uint8_t *block, uint64_t *used, uint64_t size)
{
	const uint64_t at = *used;

	*used = at + lc__round_up(size, 64);
	return block == NULL ? NULL : block + at;
}

/** The most rows of one call of lc__sink.rows(). */
#define LC__BAND 16

/** The facts in the header of an image file. */
struct lc__image_header {
	uint32_t stored_width, stored_height; /* as the file has it */
	uint32_t width, height; /* of the rows to come; less if the decoder shrinks */
	unsigned shrink;        /* 1, 2, 4 or 8 stored pixels to a pixel to come; the
	                           last one may reach beyond the edge */
	unsigned channels;      /* grey, grey and alpha, RGB, RGB and alpha: 1 to 4 */
	bool deep;              /* the file has 16 bits a sample */
	unsigned orientation;   /* EXIF's, 1 to 8 */
};

/** Where a decoder delivers its rows. */
struct lc__sink {
	uint64_t max_pixels; /* larger pictures are refused; 0: LC__IMAGE_MAX_PIXELS */
	bool keep_alpha;     /* deliver rows with alpha if the file has transparency */
	bool keep_deep;      /* deliver rows of a deep picture as samples of 16 bits in
	                      * the byte order of this machine, not as their upper 8 */
	bool header_only;    /* only begin() is wanted; it need not set channels */
	struct lc__scratch *band; /* the decoder's rows, memory to use again */
	/** May the decoder shrink? Called before begin() with the stored size; NULL: no. */
	unsigned (*shrink)(struct lc__sink *sink, const struct lc__image_header *picture);
	lc_status (*begin)(struct lc__sink *sink, const struct lc__image_header *picture);
	/** The next rows, from @p y, channels interleaved, @p stride bytes from one to
	 *  the next. All rows of the picture come, in order. Rows of 16 bits are
	 *  aligned for them. */
	void (*rows)(struct lc__sink *sink, uint32_t y, uint32_t rows,
	    const uint8_t *pixels, size_t stride);
};

/** Refuse a picture that is empty or above the limit. */
LC_CHECKED lc_status lc__sink_check(const struct lc__sink *sink, uint32_t width,
    uint32_t height);

/** Decode an image of any format; errors as lc__image_decode(), without the name. */
LC_CHECKED lc_status lc__image_read(const void *bytes, size_t size,
    struct lc__sink *sink);
/** The decoders, one a library. */
LC_CHECKED lc_status lc__image_read_jpeg(const void *bytes, size_t size,
    struct lc__sink *sink);
LC_CHECKED lc_status lc__image_read_png(const void *bytes, size_t size,
    struct lc__sink *sink);
LC_CHECKED lc_status lc__image_read_webp(const void *bytes, size_t size,
    struct lc__sink *sink);
LC_CHECKED lc_status lc__image_read_tiff(const void *bytes, size_t size,
    struct lc__sink *sink);

#endif
