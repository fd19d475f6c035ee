/* SPDX-License-Identifier: BSD-2-Clause */
/* JPEG and PNG files of every kind, and what their pixels are. */
#ifndef T_MADE_IMAGE_H
#define T_MADE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>
#include <png.h>

#include "base/buf.h"
#include "image/image.h"

/** Noise that every test can compute again: sample c of pixel (x, y). */
uint8_t noise(uint32_t x, uint32_t y, uint32_t c);
/** A picture with smooth areas, as JPEG expects. */
uint8_t smooth(uint32_t x, uint32_t y, uint32_t c);

/** A TIFF header and one directory: a foreign entry, then the orientation. */
size_t make_exif(unsigned char out[38], bool big_endian, unsigned orientation);

/** Change one to four bytes of a file; @p seed is for run_random(). */
void change_bytes(unsigned char *file, size_t size, uint64_t *seed);

/** Probe and decode from a block of the exact size, so that a read past its end is seen;
 *  the message of a failure is one line about "x". */
lc_status decode_exact(const unsigned char *bytes, size_t size,
    const struct lc__image_options *options, lc_tensor *out);

/* ---- PNG --------------------------------------------------------------------- */

/** What to make; pixels are noise. */
struct png_kind {
	int type;       /* PNG_COLOR_TYPE_... */
	int depth;      /* bits a sample */
	bool interlaced;
	bool key;       /* with a tRNS chunk */
	bool alpha;     /* wanted in the tensor */
	unsigned channels; /* of the tensor */
};

enum { PNG_ROWS = 25 };
extern const struct png_kind png_rows[PNG_ROWS];

/** Append a file; the pixels come from noise(). */
void make_png(const struct png_kind *kind, uint32_t width, uint32_t height,
    struct lc__buf *out);
/** The byte that the tensor must hold. */
unsigned png_want(const struct png_kind *kind, uint32_t x, uint32_t y, unsigned c);

/** Append an 8-bit file of these pixels: 1 to 4 channels. */
void make_png_of(const uint8_t *pixels, uint32_t width, uint32_t height,
    unsigned channels, struct lc__buf *out);

/** CRC-32 as PNG has it, bit by bit. */
uint32_t crc_of(const unsigned char *data, size_t size);
/** Change a byte in about every second chunk of a PNG file, and its checksum with it. */
void change_png(unsigned char *file, size_t size, uint64_t *seed);
/** Put a chunk into a PNG file at an offset between chunks; 33 is after IHDR. */
void insert_chunk(struct lc__buf *file, size_t where, const char *type,
    const void *data, size_t size);

/* ---- JPEG -------------------------------------------------------------------- */

struct jpeg_kind {
	J_COLOR_SPACE in;   /* of the pixels that go in */
	J_COLOR_SPACE file; /* of the file */
	int samples;        /* a pixel */
	int subsampling;    /* of chroma, 1 or 2 */
	enum { BASELINE, PROGRESSIVE, SEPARATE } scans; /* one, many, one a colour */
	bool adobe;         /* with Adobe's marker */
	int restart;        /* MCUs between restart markers, 0 none */
	unsigned channels;  /* of the tensor */
};

enum { JPEG_ROWS = 10 };
extern const struct jpeg_kind jpeg_rows[JPEG_ROWS];

/** Append a file; the pixels come from smooth(). @p exif may be NULL. */
void make_jpeg(const struct jpeg_kind *kind, uint32_t width, uint32_t height,
    const void *exif, size_t exif_size, struct lc__buf *out);
/** Append a file of these pixels, grey or RGB, nearly without loss. */
void make_jpeg_of(const uint8_t *pixels, uint32_t width, uint32_t height,
    unsigned channels, const void *exif, size_t exif_size, struct lc__buf *out);
/** The pixels by libjpeg's plainest use, the size divided by @p shrink: RGB, grey,
 *  or CMYK as stored. */
uint8_t *plain_jpeg(const struct lc__buf *file, unsigned shrink, unsigned *samples);
/** What a pixel of plain_jpeg() must be in the tensor: CMYK by its definition. */
unsigned jpeg_want(const struct jpeg_kind *kind, const uint8_t *pixel, unsigned c);

/** From one marker of a JPEG file to the next. */
size_t next_marker(const struct lc__buf *file, size_t from);

#endif
