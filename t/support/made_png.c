/* SPDX-License-Identifier: BSD-2-Clause */
#include "made_image.h"

#include <stdlib.h>
#include <string.h>

#include "image/transform.h"
#include "run.h"

uint8_t
noise(uint32_t x, uint32_t y, uint32_t c)
{
	uint64_t state = ((uint64_t)y << 32 | x) * 8 + c;

	return (uint8_t)run_random(&state);
}

const struct png_kind png_rows[PNG_ROWS] = {
	{ PNG_COLOR_TYPE_GRAY, 8, false, false, false, 1 },
	{ PNG_COLOR_TYPE_GRAY, 1, false, false, false, 1 },
	{ PNG_COLOR_TYPE_GRAY, 2, true, false, false, 1 },
	{ PNG_COLOR_TYPE_GRAY, 4, false, true, false, 1 },
	{ PNG_COLOR_TYPE_GRAY, 4, false, true, true, 2 },
	{ PNG_COLOR_TYPE_GRAY, 16, false, false, false, 1 },
	{ PNG_COLOR_TYPE_GRAY, 16, true, true, true, 2 },
	{ PNG_COLOR_TYPE_GRAY_ALPHA, 8, false, false, false, 1 },
	{ PNG_COLOR_TYPE_GRAY_ALPHA, 8, false, false, true, 2 },
	{ PNG_COLOR_TYPE_GRAY_ALPHA, 16, true, false, true, 2 },
	{ PNG_COLOR_TYPE_RGB, 8, false, false, false, 3 },
	{ PNG_COLOR_TYPE_RGB, 8, true, false, false, 3 },
	{ PNG_COLOR_TYPE_RGB, 8, false, true, false, 3 },
	{ PNG_COLOR_TYPE_RGB, 8, true, true, true, 4 },
	{ PNG_COLOR_TYPE_RGB, 16, false, false, false, 3 },
	{ PNG_COLOR_TYPE_RGB, 16, true, true, false, 3 },
	{ PNG_COLOR_TYPE_RGBA, 8, false, false, false, 3 },
	{ PNG_COLOR_TYPE_RGBA, 8, true, false, true, 4 },
	{ PNG_COLOR_TYPE_RGBA, 16, false, false, true, 4 },
	{ PNG_COLOR_TYPE_RGBA, 16, false, false, false, 3 },
	{ PNG_COLOR_TYPE_PALETTE, 8, false, false, false, 3 },
	{ PNG_COLOR_TYPE_PALETTE, 1, true, false, false, 3 },
	{ PNG_COLOR_TYPE_PALETTE, 2, false, true, false, 3 },
	{ PNG_COLOR_TYPE_PALETTE, 4, false, true, true, 4 },
	{ PNG_COLOR_TYPE_PALETTE, 8, true, true, true, 4 },
};

static void
png_to_buf(png_structp png, png_bytep data, size_t size)
{
	lc__buf_append(png_get_io_ptr(png), data, size);
}

static unsigned
samples_of(int type)
{
	return type == PNG_COLOR_TYPE_RGB ? 3 : type == PNG_COLOR_TYPE_RGBA ? 4 :
	    type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2 : 1;
}

/* The sample of a pixel as the file holds it, 16 bits at most. */
static unsigned
sample(const struct png_kind *kind, uint32_t x, uint32_t y, unsigned c)
{
	if (kind->depth == 16)
		return noise(x, y, c) << 8 | noise(x, y, c + 4);
	return noise(x, y, c) >> (8 - kind->depth);
}

static void
set_palette(const struct png_kind *kind, png_structp png, png_infop info)
{
	png_color colours[256];
	png_byte alphas[256];

	for (unsigned i = 0; i < 1u << kind->depth; i++) {
		colours[i] = (png_color){ noise(i, 1, 10), noise(i, 1, 11),
			noise(i, 1, 12) };
		alphas[i] = noise(i, 1, 13);
	}
	png_set_PLTE(png, info, colours, 1 << kind->depth);
	if (kind->key)
		png_set_tRNS(png, info, alphas, 1 << kind->depth, NULL);
}

static void
set_key(const struct png_kind *kind, png_structp png, png_infop info)
{
	png_color_16 colour = { 0 };

	/* Pixel (1, 0) is the transparent colour. */
	colour.gray = (png_uint_16)sample(kind, 1, 0, 0);
	colour.red = (png_uint_16)sample(kind, 1, 0, 0);
	colour.green = (png_uint_16)sample(kind, 1, 0, 1);
	colour.blue = (png_uint_16)sample(kind, 1, 0, 2);
	png_set_tRNS(png, info, NULL, 0, &colour);
}

static void
pack_row(const struct png_kind *kind, uint32_t y, uint32_t width, uint8_t *row)
{
	const unsigned samples = samples_of(kind->type);
	size_t bit = 0;

	memset(row, 0, (size_t)width * samples * 2);
	for (uint32_t x = 0; x < width; x++)
		for (unsigned c = 0; c < samples; c++, bit += (size_t)kind->depth) {
			const unsigned v = sample(kind, x, y, c);
			if (kind->depth == 16)
				row[bit / 8] = (uint8_t)(v >> 8);
			row[(bit + (size_t)kind->depth - 1) / 8] |= (uint8_t)(kind->depth >= 8 ?
			    v : v << (8 - (size_t)kind->depth - bit % 8));
		}
}

void
make_png(const struct png_kind *kind, uint32_t width, uint32_t height,
    struct lc__buf *out)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL,
	    NULL);
	png_infop info = png_create_info_struct(png);
	const size_t stride = (size_t)width * 8;
	uint8_t *pixels = malloc(height * stride);
	const int passes = kind->interlaced ? 7 : 1;

	ck_assert(setjmp(png_jmpbuf(png)) == 0);
	png_set_write_fn(png, out, png_to_buf, NULL);
	png_set_IHDR(png, info, width, height, kind->depth, kind->type,
	    kind->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
	    PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	/* Ask for gamma: it must not be applied. */
	png_set_gAMA(png, info, 1.0);
	if (kind->type == PNG_COLOR_TYPE_PALETTE)
		set_palette(kind, png, info);
	else if (kind->key)
		set_key(kind, png, info);
	png_write_info(png, info);
	ck_assert_int_eq(png_set_interlace_handling(png), passes);
	for (uint32_t y = 0; y < height; y++)
		pack_row(kind, y, width, pixels + y * stride);
	for (int pass = 0; pass < passes; pass++)
		for (uint32_t y = 0; y < height; y++)
			png_write_row(png, pixels + y * stride);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	free(pixels);
	ck_assert(!out->failed);
}

unsigned
png_want(const struct png_kind *kind, uint32_t x, uint32_t y, unsigned c)
{
	const unsigned colours = kind->channels - kind->alpha;
	unsigned samples = samples_of(kind->type);
	bool is_key = true;

	if (kind->type == PNG_COLOR_TYPE_PALETTE)
		return noise(sample(kind, x, y, 0), 1, 10 + c);
	if (c == colours && kind->key) {
		for (unsigned i = 0; i < samples; i++)
			is_key &= sample(kind, x, y, i) == sample(kind, 1, 0, i);
		return is_key ? 0 : 255;
	}
	if (kind->depth == 16)
		return sample(kind, x, y, c) >> 8;
	return sample(kind, x, y, c) * 255u / ((1u << kind->depth) - 1);
}

void
make_png_of(const uint8_t *pixels, uint32_t width, uint32_t height,
    unsigned channels, struct lc__buf *out)
{
	static const int types[5] = { [1] = PNG_COLOR_TYPE_GRAY,
		[2] = PNG_COLOR_TYPE_GRAY_ALPHA, [3] = PNG_COLOR_TYPE_RGB,
		[4] = PNG_COLOR_TYPE_RGBA };
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL,
	    NULL);
	png_infop info = png_create_info_struct(png);

	ck_assert(setjmp(png_jmpbuf(png)) == 0);
	png_set_write_fn(png, out, png_to_buf, NULL);
	png_set_compression_level(png, 1);
	png_set_IHDR(png, info, width, height, 8, types[channels], PNG_INTERLACE_NONE,
	    PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, info);
	for (uint32_t y = 0; y < height; y++)
		png_write_row(png, pixels + (size_t)y * width * channels);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	ck_assert(!out->failed);
}

uint32_t
crc_of(const unsigned char *data, size_t size)
{
	uint32_t crc = 0xffffffff;

	while (size-- > 0) {
		crc ^= *data++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

void
insert_chunk(struct lc__buf *file, size_t where, const char *type,
    const void *data, size_t size)
{
	unsigned char chunk[128];

	png_save_uint_32(chunk, (png_uint_32)size);
	memcpy(chunk + 4, type, 4);
	if (size > 0)
		memcpy(chunk + 8, data, size);
	png_save_uint_32(chunk + 8 + size, crc_of(chunk + 4, size + 4));
	ck_assert_ptr_nonnull(lc__buf_append(file, NULL, size + 12));
	memmove(file->data + where + size + 12, file->data + where,
	    file->size - size - 12 - where);
	memcpy(file->data + where, chunk, size + 12);
}

lc_status
decode_exact(const unsigned char *bytes, size_t size,
    const struct lc__image_options *options, lc_tensor *out)
{
	struct lc__transformed seen;
	unsigned char *exact = malloc(size + (size == 0));
	lc_status status;

	memcpy(exact, bytes, size);
	(void)!lc__image_probe(exact, size, "x", &seen);
	status = lc__image_decode(exact, size, "x", options, out);
	free(exact);
	if (status != LC_OK) {
		ck_assert_int_eq(lc_last_error()->status, status);
		ck_assert_mem_eq(lc_last_error()->text, "x: ", 3);
		ck_assert_ptr_null(strchr(lc_last_error()->text, '\n'));
	}
	return status;
}

void
change_bytes(unsigned char *file, size_t size, uint64_t *seed)
{
	for (unsigned n = 1 + run_random(seed) % 4; n > 0; n--)
		file[run_random(seed) % size] = (unsigned char)run_random(seed);
}

void
change_png(unsigned char *file, size_t size, uint64_t *seed)
{
	for (size_t chunk = 8; chunk < size;) {
		const size_t length = png_get_uint_32(file + chunk);
		if (length > 0 && run_random(seed) % 2)
			file[chunk + 8 + run_random(seed) % length] =
			    (unsigned char)run_random(seed);
		png_save_uint_32(file + chunk + 8 + length,
		    crc_of(file + chunk + 4, length + 4));
		chunk += length + 12;
	}
}
