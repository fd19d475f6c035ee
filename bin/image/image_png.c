/* SPDX-License-Identifier: BSD-2-Clause */
/* PNG by libpng: the only file that includes <png.h>. */
#include "config.h"

#include <endian.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "base/error.h"
#include "base/lazy.h"
#include "image/orientation.h"
#include "image/sink.h"

/* Loaded on first use: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(png_create_info_struct) X(png_create_read_struct_2) \
	X(png_destroy_read_struct) X(png_error) X(png_get_bit_depth) X(png_get_channels) \
	X(png_get_color_type) X(png_get_error_ptr) X(png_get_image_height) \
	X(png_get_image_width) X(png_get_io_ptr) X(png_get_mem_ptr) X(png_get_rowbytes) \
	X(png_get_valid) X(png_longjmp) X(png_read_end) X(png_read_info) X(png_read_row) \
	X(png_read_update_info) X(png_set_crc_action) X(png_set_expand_gray_1_2_4_to_8) \
	X(png_set_interlace_handling) X(png_set_keep_unknown_chunks) \
	X(png_set_longjmp_fn) X(png_set_palette_to_rgb) X(png_set_read_fn) \
	X(png_set_strip_16) X(png_set_strip_alpha) X(png_set_swap) \
	X(png_set_tRNS_to_alpha) X(png_set_user_limits)
/* clang-format on */
LC__LAZY(lib, "libpng", LIBPNG_FILE, CALLS)

/* ---- reading ------------------------------------------------------------------ */

/* Everything that must outlive a longjmp, so that no local variable has to. */
struct reader {
	png_structp png;
	png_infop info;
	const unsigned char *at; /* what libpng has not seen yet */
	size_t left;
	bool no_memory;   /* an allocation failed */
	lc_status status; /* why libpng escaped */
	uint8_t *whole;   /* the pixels of an interlaced image */
	struct lc__sink *sink;
};

static void
on_error(png_structp png, png_const_charp text)
{
	struct reader *reader = lib.png_get_error_ptr(png);

	reader->status = lc__error(reader->no_memory ? LC_NO_MEMORY : LC_CORRUPT, 0,
	    "PNG: %s", reader->no_memory ? "out of memory" : text);
	lib.png_longjmp(png, 1);
}

/* libpng warns only of text and profiles; pixels that it cannot read are errors. */
static void
on_warning(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

static png_voidp
on_malloc(png_structp png, png_alloc_size_t size)
{
	struct reader *reader = lib.png_get_mem_ptr(png);
	void *memory = malloc(size);

	reader->no_memory |= memory == NULL;
	return memory;
}

static void
on_free(png_structp png, png_voidp memory)
{
	(void)png;
	free(memory);
}

static void
on_read(png_structp png, png_bytep data, size_t size)
{
	struct reader *reader = lib.png_get_io_ptr(png);

	if (size > reader->left)
		lib.png_error(png, "the file ends early");
	memcpy(data, reader->at, size);
	reader->at += size;
	reader->left -= size;
}

/* The orientation decides where pixels go, but the eXIf chunk may come after them, so
 * look it up first. A chunk is u32 length, type, data, u32 CRC. */
static unsigned
find_orientation(const unsigned char *bytes, size_t size)
{
	size_t at = 8;

	while (size - at >= 12) {
		const size_t length = png_get_uint_32(bytes + at);
		if (length > size - at - 12)
			return 1;
		if (memcmp(bytes + at + 4, "eXIf", 4) == 0)
			return lc__exif_orientation(bytes + at + 8, length);
		at += 12 + length;
	}
	return 1;
}

/* Convert to grey or RGB, with alpha if it is wanted; to 8 bits, or to 16 if the file has
 * them and they are wanted. */
static void
choose_transforms(struct reader *reader)
{
	const png_structp png = reader->png;
	const int type = lib.png_get_color_type(png, reader->info);
	const bool key = lib.png_get_valid(png, reader->info, PNG_INFO_tRNS) != 0;

	if (type == PNG_COLOR_TYPE_PALETTE)
		lib.png_set_palette_to_rgb(png);
	if (type == PNG_COLOR_TYPE_GRAY)
		lib.png_set_expand_gray_1_2_4_to_8(png);
	if (!reader->sink->keep_deep)
		lib.png_set_strip_16(png);
	else if (htole16(1) == 1)
		lib.png_set_swap(png);
	if (!reader->sink->keep_alpha)
		lib.png_set_strip_alpha(png);
	else if (key)
		lib.png_set_tRNS_to_alpha(png);
}

static lc_status
read_straight(struct reader *reader, uint32_t height, size_t row_bytes)
{
	uint8_t *band = lc__scratch_get(reader->sink->band, LC__BAND, row_bytes);

	if (band == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for rows");
	for (uint32_t y = 0; y < height; y += LC__BAND) {
		const uint32_t left = height - y, n = left < LC__BAND ? left : LC__BAND;
		for (uint32_t i = 0; i < n; i++)
			lib.png_read_row(reader->png, band + i * row_bytes, NULL);
		reader->sink->rows(reader->sink, y, n, band, row_bytes);
	}
	return LC_OK;
}

/* Rows come in seven passes over the whole image. The memory is too large to keep for the
 * next image. */
static lc_status
read_interlaced(struct reader *reader, uint32_t height, size_t row_bytes, int passes)
{
	if (row_bytes <= SIZE_MAX / height)
		reader->whole = malloc(height * row_bytes);
	if (reader->whole == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for rows");
	for (int pass = 0; pass < passes; pass++)
		for (uint32_t y = 0; y < height; y++)
			lib.png_read_row(reader->png, reader->whole + y * row_bytes,
			    NULL);
	for (uint32_t y = 0; y < height; y += LC__BAND)
		reader->sink->rows(reader->sink, y,
		    height - y < LC__BAND ? height - y : LC__BAND,
		    reader->whole + y * row_bytes, row_bytes);
	return LC_OK;
}

/* Check every CRC, skip the chunks that change no pixel. */
static void
set_up(struct reader *reader)
{
	const png_structp png = reader->png;

	lib.png_set_read_fn(png, reader, on_read);
	lib.png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
	lib.png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
	lib.png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
}

static lc_status
read_rows(struct reader *reader, int passes)
{
	const uint32_t height = lib.png_get_image_height(reader->png, reader->info);
	const size_t row_bytes = lib.png_get_rowbytes(reader->png, reader->info);

	if (passes > 1)
		return read_interlaced(reader, height, row_bytes, passes);
	return read_straight(reader, height, row_bytes);
}

static lc_status
read_image(struct reader *reader, unsigned orientation)
{
	const png_structp png = reader->png;
	struct lc__image_header picture = { .shrink = 1, .orientation = orientation };
	int passes;

	set_up(reader);
	lib.png_read_info(png, reader->info);
	picture.width = picture.stored_width = lib.png_get_image_width(png, reader->info);
	picture.height = picture.stored_height = lib.png_get_image_height(png,
	    reader->info);
	picture.deep = lib.png_get_bit_depth(png, reader->info) == 16;
	return_if_error(lc__sink_check(reader->sink, picture.width, picture.height));
	/* libpng would allocate a row of the channels that come out: 6 GiB for 2^31
	 * pixels. */
	if (reader->sink->header_only)
		return reader->sink->begin(reader->sink, &picture);
	choose_transforms(reader);
	passes = lib.png_set_interlace_handling(png);
	lib.png_read_update_info(png, reader->info);
	picture.channels = lib.png_get_channels(png, reader->info);
	return_if_error(reader->sink->begin(reader->sink, &picture));
	return_if_error(read_rows(reader, passes));
	/* This reads up to IEND, so a missing one is an error. */
	lib.png_read_end(png, NULL);
	return LC_OK;
}

static lc_status
read_or_escape(struct reader *reader, unsigned orientation)
{
	if (setjmp(*lib.png_set_longjmp_fn(reader->png, longjmp, sizeof(jmp_buf))) != 0)
		return reader->status;
	return read_image(reader, orientation);
}

lc_status
lc__image_read_png(const void *bytes, size_t size, struct lc__sink *sink)
{
	struct reader *reader;
	lc_status status;

	return_if_error(lib_load());
	reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for a decoder");
	reader->at = bytes;
	reader->left = size;
	reader->sink = sink;
	reader->png = lib.png_create_read_struct_2(PNG_LIBPNG_VER_STRING, reader,
	    on_error, on_warning, reader, on_malloc, on_free);
	if (reader->png != NULL)
		reader->info = lib.png_create_info_struct(reader->png);
	if (reader->info != NULL)
		status = read_or_escape(reader, find_orientation(bytes, size));
	else
		status = lc__error(LC_NO_MEMORY, 0, "out of memory for a decoder");
	lib.png_destroy_read_struct(&reader->png, &reader->info, NULL);
	free(reader->whole);
	free(reader);
	return status;
}
