/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

#include "base/buf.h"
#include "etl/exif.h"
#include "etl/image.h"
#include "value/tensor.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* Noise that every test can compute again: sample c of pixel (x, y). */
static uint8_t
noise(uint32_t x, uint32_t y, uint32_t c)
{
	uint64_t state = ((uint64_t)y << 32 | x) * 8 + c;

	return (uint8_t)run_random(&state);
}

/* A picture with smooth areas, as JPEG expects. */
static uint8_t
smooth(uint32_t x, uint32_t y, uint32_t c)
{
	return (uint8_t)(x * (3 + c) + y * (7 - c) + 40 * c + (x / 9 + y / 5) % 3 * 20);
}

/* ---- EXIF -------------------------------------------------------------------- */

/* A TIFF header and one directory: a foreign entry, then the orientation. */
static size_t
make_exif(unsigned char out[38], bool big_endian, unsigned orientation)
{
	static const unsigned char little[38] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 2, 0,
		0x0f, 1, 2, 0, 4, 0, 0, 0, 'a', 'b', 'c', 0,
		0x12, 1, 3, 0, 1, 0, 0, 0 };
	static const unsigned char big[38] = { 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2,
		1, 0x0f, 0, 2, 0, 0, 0, 4, 'a', 'b', 'c', 0,
		1, 0x12, 0, 3, 0, 0, 0, 1 };

	memcpy(out, big_endian ? big : little, 38);
	out[big_endian ? 31 : 30] = (unsigned char)orientation;
	return 38;
}

START_TEST(exif_orientation)
{
	unsigned char exif[38];

	for (unsigned o = 0; o < 12; o++) {
		make_exif(exif, _i, o);
		ck_assert_uint_eq(lc__exif_orientation(exif, 38),
		    o >= 1 && o <= 8 ? o : 1);
	}
	/* Cut anywhere, and with any byte changed, it stays within bounds. */
	make_exif(exif, _i, 6);
	for (size_t size = 0; size < 38; size++) {
		unsigned char *cut = malloc(size + (size == 0));
		memcpy(cut, exif, size);
		ck_assert_uint_eq(lc__exif_orientation(cut, size), size < 34 ? 1 : 6);
		free(cut);
	}
	for (size_t at = 0; at < 38; at++)
		for (unsigned value = 0; value < 256; value++) {
			unsigned char *copy = malloc(38);
			memcpy(copy, exif, 38);
			copy[at] = (unsigned char)value;
			ck_assert_uint_le(lc__exif_orientation(copy, 38), 8);
			free(copy);
		}
}
END_TEST

/* ---- making PNG files -------------------------------------------------------- */

/* What to make; pixels are noise. */
struct png_kind {
	int type;       /* PNG_COLOR_TYPE_... */
	int depth;      /* bits a sample */
	bool interlaced;
	bool key;       /* with a tRNS chunk */
	bool alpha;     /* wanted in the tensor */
	unsigned channels; /* of the tensor */
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

static void
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

/* The byte that the tensor must hold. */
static unsigned
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

static const struct png_kind png_rows[] = {
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

/* The sample of a tensor at column x, row y, channel c. */
static unsigned
at(const lc_tensor *t, enum lc__image_layout layout, uint64_t x, uint64_t y,
    uint64_t c)
{
	const uint8_t *data = t->data;

	if (layout == LC__IMAGE_CHW)
		return data[(c * t->shape[1] + y) * t->shape[2] + x];
	return data[(y * t->shape[1] + x) * t->shape[2] + c];
}

static void
check_shape(const lc_tensor *t, enum lc__image_layout layout, uint64_t width,
    uint64_t height, uint64_t channels)
{
	const bool planes = layout == LC__IMAGE_CHW;

	ck_assert_int_eq(t->dtype, LC_U8);
	ck_assert_uint_eq(t->ndim, 3);
	ck_assert_uint_eq(t->shape[planes ? 0 : 2], channels);
	ck_assert_uint_eq(t->shape[planes ? 1 : 0], height);
	ck_assert_uint_eq(t->shape[planes ? 2 : 1], width);
	ck_assert_uint_eq(t->nbytes, width * height * channels);
	ck_assert_uint_eq((uintptr_t)t->data % 64, 0);
}

START_TEST(png_pixels)
{
	static const uint32_t sizes[][2] = { { 2, 1 }, { 3, 70 }, { 37, 19 },
		{ 200, 33 } };
	const struct png_kind *kind = &png_rows[_i];
	struct lc__image_options options = { .keep_alpha = kind->alpha };

	for (int size = 0; size < 2 * ROWS(sizes); size++) {
		const uint32_t width = sizes[size / 2][0], height = sizes[size / 2][1];
		struct lc__buf file = { 0 };
		size_t wrong = 0; /* an assertion for each sample would be slow */
		lc_tensor got;

		options.layout = size % 2 ? LC__IMAGE_CHW : LC__IMAGE_HWC;
		make_png(kind, width, height, &file);
		ck_assert_int_eq(lc__image_decode(file.data, file.size, "x.png",
		    &options, &got), LC_OK);
		check_shape(&got, options.layout, width, height, kind->channels);
		for (uint32_t y = 0; y < height; y++)
			for (uint32_t x = 0; x < width; x++)
				for (unsigned c = 0; c < kind->channels; c++)
					wrong += at(&got, options.layout, x, y, c) !=
					    png_want(kind, x, y, c);
		ck_assert_uint_eq(wrong, 0);
		lc_tensor_free(&got);
		lc__buf_free(&file);
	}
}
END_TEST

/* ---- making JPEG files ------------------------------------------------------- */

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

static const struct jpeg_kind jpeg_rows[] = {
	{ JCS_RGB, JCS_YCbCr, 3, 2, BASELINE, false, 0, 3 },
	{ JCS_RGB, JCS_YCbCr, 3, 1, BASELINE, false, 3, 3 },
	{ JCS_RGB, JCS_YCbCr, 3, 2, PROGRESSIVE, false, 0, 3 },
	{ JCS_RGB, JCS_YCbCr, 3, 2, SEPARATE, false, 0, 3 },
	{ JCS_RGB, JCS_RGB, 3, 1, BASELINE, true, 0, 3 },
	{ JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, BASELINE, false, 0, 1 },
	{ JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, PROGRESSIVE, false, 0, 1 },
	{ JCS_CMYK, JCS_YCCK, 4, 2, BASELINE, true, 0, 3 },
	{ JCS_CMYK, JCS_CMYK, 4, 1, BASELINE, true, 0, 3 },
	{ JCS_CMYK, JCS_CMYK, 4, 1, PROGRESSIVE, false, 0, 3 },
};

/* Encode; the pixels come from smooth(). exif may be NULL. */
static void
make_jpeg(const struct jpeg_kind *kind, uint32_t width, uint32_t height,
    const void *exif, size_t exif_size, struct lc__buf *out)
{
	static const jpeg_scan_info separate[] = { { 1, { 0 }, 0, 63, 0, 0 },
		{ 1, { 1 }, 0, 63, 0, 0 }, { 1, { 2 }, 0, 63, 0, 0 } };
	struct jpeg_compress_struct info;
	struct jpeg_error_mgr errors;
	unsigned char *bytes = NULL, marker[64] = "Exif\0";
	unsigned long size = 0;
	uint8_t *row = malloc((size_t)width * 4);

	info.err = jpeg_std_error(&errors);
	jpeg_create_compress(&info);
	jpeg_mem_dest(&info, &bytes, &size);
	info.image_width = width;
	info.image_height = height;
	info.input_components = kind->samples;
	info.in_color_space = kind->in;
	jpeg_set_defaults(&info);
	jpeg_set_colorspace(&info, kind->file);
	info.write_Adobe_marker = kind->adobe;
	info.comp_info[0].h_samp_factor = kind->subsampling;
	info.comp_info[0].v_samp_factor = kind->subsampling;
	info.restart_interval = (unsigned)kind->restart;
	if (kind->scans == PROGRESSIVE) {
		jpeg_simple_progression(&info);
	} else if (kind->scans == SEPARATE) {
		info.scan_info = separate;
		info.num_scans = 3;
	}
	jpeg_start_compress(&info, TRUE);
	if (exif != NULL) {
		memcpy(marker + 6, exif, exif_size);
		jpeg_write_marker(&info, JPEG_APP0 + 1, marker,
		    (unsigned)exif_size + 6);
	}
	while (info.next_scanline < height) {
		for (uint32_t x = 0; x < width; x++)
			for (int c = 0; c < kind->samples; c++)
				row[x * (uint32_t)kind->samples + (uint32_t)c] =
				    smooth(x, info.next_scanline, (uint32_t)c);
		jpeg_write_scanlines(&info, &row, 1);
	}
	jpeg_finish_compress(&info);
	jpeg_destroy_compress(&info);
	lc__buf_append(out, bytes, size);
	free(bytes);
	free(row);
}

/* The pixels by libjpeg's plainest use: RGB, grey, or CMYK as stored. */
static uint8_t *
plain_jpeg(const struct lc__buf *file, unsigned *samples)
{
	struct jpeg_decompress_struct info;
	struct jpeg_error_mgr errors;
	uint8_t *pixels, *row;

	info.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&info);
	jpeg_mem_src(&info, file->data, file->size);
	jpeg_read_header(&info, TRUE);
	jpeg_start_decompress(&info);
	*samples = (unsigned)info.output_components;
	pixels = malloc((size_t)info.output_width * info.output_height * *samples);
	while (info.output_scanline < info.output_height) {
		row = pixels + (size_t)info.output_scanline * info.output_width *
		    *samples;
		jpeg_read_scanlines(&info, &row, 1);
	}
	jpeg_finish_decompress(&info);
	jpeg_destroy_decompress(&info);
	return pixels;
}

/* CMYK by the definition, in floating point. */
static unsigned
jpeg_want(const struct jpeg_kind *kind, const uint8_t *pixel, unsigned c)
{
	double paper, black;

	if (kind->samples != 4)
		return pixel[c];
	paper = kind->adobe ? pixel[c] / 255.0 : 1 - pixel[c] / 255.0;
	black = kind->adobe ? pixel[3] / 255.0 : 1 - pixel[3] / 255.0;
	return (unsigned)(paper * black * 255 + 0.5);
}

START_TEST(jpeg_pixels)
{
	static const uint32_t sizes[][2] = { { 1, 1 }, { 33, 17 }, { 150, 95 } };
	const struct jpeg_kind *kind = &jpeg_rows[_i];
	struct lc__image_options options = { .keep_alpha = true };

	for (int size = 0; size < 2 * ROWS(sizes); size++) {
		const uint32_t width = sizes[size / 2][0], height = sizes[size / 2][1];
		struct lc__buf file = { 0 };
		unsigned samples;
		size_t wrong = 0;
		uint8_t *plain;
		lc_tensor got;

		options.layout = size % 2 ? LC__IMAGE_CHW : LC__IMAGE_HWC;
		make_jpeg(kind, width, height, NULL, 0, &file);
		plain = plain_jpeg(&file, &samples);
		ck_assert_int_eq(lc__image_decode(file.data, file.size, "x.jpg",
		    &options, &got), LC_OK);
		check_shape(&got, options.layout, width, height, kind->channels);
		for (uint32_t y = 0; y < height; y++)
			for (uint32_t x = 0; x < width; x++)
				for (unsigned c = 0; c < kind->channels; c++)
					wrong += at(&got, options.layout, x, y, c) !=
					    jpeg_want(kind, plain + ((size_t)y * width + x) *
					    samples, c);
		ck_assert_uint_eq(wrong, 0);
		lc_tensor_free(&got);
		free(plain);
		lc__buf_free(&file);
	}
}
END_TEST

/* ---- orientation ------------------------------------------------------------- */

/* Where EXIF says the top row and left column of the file belong in the picture:
 * the file's pixel (x, y) of a picture of width x height shown. */
static void
shown_at(unsigned orientation, uint32_t width, uint32_t height, uint32_t x,
    uint32_t y, uint32_t *shown_x, uint32_t *shown_y)
{
	static const struct {
		char row, column; /* sides of the picture: Top, Bottom, Left, Right */
	} sides[9] = { [1] = { 'T', 'L' }, [2] = { 'T', 'R' }, [3] = { 'B', 'R' },
		[4] = { 'B', 'L' }, [5] = { 'L', 'T' }, [6] = { 'R', 'T' },
		[7] = { 'R', 'B' }, [8] = { 'L', 'B' } };
	const char found[2] = { sides[orientation].row, sides[orientation].column };
	const uint32_t distance[2] = { y, x };

	for (int i = 0; i < 2; i++) {
		if (found[i] == 'T')
			*shown_y = distance[i];
		else if (found[i] == 'B')
			*shown_y = height - 1 - distance[i];
		else if (found[i] == 'L')
			*shown_x = distance[i];
		else
			*shown_x = width - 1 - distance[i];
	}
}

/* The tensor must be the picture that @p plain turns into. */
static void
check_turned(const struct lc__buf *file, const lc_tensor *plain,
    unsigned orientation, enum lc__image_layout layout)
{
	const struct lc__image_options options = { .layout = layout };
	const uint32_t height = (uint32_t)plain->shape[0];
	const uint32_t width = (uint32_t)plain->shape[1];
	const uint32_t shown_width = orientation > 4 ? height : width;
	const uint32_t shown_height = orientation > 4 ? width : height;
	uint32_t to_x = 0, to_y = 0;
	size_t wrong = 0;
	lc_tensor got;

	ck_assert_int_eq(lc__image_decode(file->data, file->size, "x", &options,
	    &got), LC_OK);
	check_shape(&got, layout, shown_width, shown_height, plain->shape[2]);
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++) {
			shown_at(orientation, shown_width, shown_height, x, y, &to_x, &to_y);
			for (unsigned c = 0; c < plain->shape[2]; c++)
				wrong += at(&got, layout, to_x, to_y, c) !=
				    at(plain, LC__IMAGE_HWC, x, y, c);
		}
	ck_assert_uint_eq(wrong, 0);
	lc_tensor_free(&got);
}

static void
check_orientation(const struct lc__buf *file, unsigned orientation)
{
	const struct lc__image_options as_stored = { .ignore_orientation = true };
	lc_tensor plain;

	ck_assert_int_eq(lc__image_decode(file->data, file->size, "x", &as_stored,
	    &plain), LC_OK);
	check_shape(&plain, LC__IMAGE_HWC, 75, 41, plain.shape[2]);
	check_turned(file, &plain, orientation, LC__IMAGE_HWC);
	check_turned(file, &plain, orientation, LC__IMAGE_CHW);
	lc_tensor_free(&plain);
}

START_TEST(jpeg_orientation)
{
	unsigned char exif[38];
	struct lc__buf file = { 0 };

	for (int row = 0; row < ROWS(jpeg_rows); row += 2) {
		file.size = 0;
		make_exif(exif, row % 4 == 0, (unsigned)_i);
		make_jpeg(&jpeg_rows[row], 75, 41, exif, sizeof(exif), &file);
		check_orientation(&file, (unsigned)_i);
	}
	lc__buf_free(&file);
}
END_TEST

/* CRC-32 as PNG has it, bit by bit. */
static uint32_t
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

/* Put a chunk into a PNG file at an offset between chunks. */
static void
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

START_TEST(png_orientation)
{
	unsigned char exif[38];
	struct lc__buf file = { 0 };

	for (int row = 0; row < ROWS(png_rows); row++) {
		file.size = 0;
		make_exif(exif, row % 2, (unsigned)_i);
		make_png(&png_rows[row], 75, 41, &file);
		/* Before the first chunk after IHDR, or behind the pixels. */
		insert_chunk(&file, row % 4 < 2 ? 33 : file.size - 12, "eXIf", exif,
		    sizeof(exif));
		check_orientation(&file, (unsigned)_i);
	}
	lc__buf_free(&file);
}
END_TEST

/* ---- limits ------------------------------------------------------------------ */

static void
check_refused(const struct lc__buf *file, const struct lc__image_options *options,
    lc_status status, const char *message)
{
	lc_tensor got = { .nbytes = 12345 };

	ck_assert_int_eq(lc__image_decode(file->data, file->size, "x", options,
	    &got), status);
	ck_assert_str_eq(lc_last_error()->text, message);
	ck_assert_uint_eq(got.nbytes, 12345);
}

START_TEST(pixel_limit)
{
	const struct lc__image_options exact = { .max_pixels = 300 * 20 };
	const struct lc__image_options below = { .max_pixels = 300 * 20 - 1 };
	const char *message = "x: 300 x 20 pixels are above the limit of 5999";
	struct lc__buf png = { 0 }, jpeg = { 0 };
	lc_tensor got;

	make_png(&png_rows[0], 300, 20, &png);
	make_jpeg(&jpeg_rows[0], 300, 20, NULL, 0, &jpeg);
	ck_assert_int_eq(lc__image_decode(png.data, png.size, "x", &exact, &got),
	    LC_OK);
	lc_tensor_free(&got);
	ck_assert_int_eq(lc__image_decode(jpeg.data, jpeg.size, "x", &exact, &got),
	    LC_OK);
	lc_tensor_free(&got);
	check_refused(&png, &below, LC_INVALID, message);
	check_refused(&jpeg, &below, LC_INVALID, message);

	/* The same files, with a size that no memory has. */
	png_save_uint_32(png.data + 16, 0x7fffffff);
	png_save_uint_32(png.data + 20, 0x7fffffff);
	png_save_uint_32(png.data + 29, crc_of(png.data + 12, 17));
	check_refused(&png, NULL, LC_INVALID, "x: 2147483647 x 2147483647 pixels "
	    "are above the limit of 268435456");
	for (size_t i = 0; i + 8 < jpeg.size; i++)
		if (jpeg.data[i] == 0xff && jpeg.data[i + 1] == 0xc0)
			memcpy(jpeg.data + i + 5, "\xff\xdc\xff\xdc", 4);
	check_refused(&jpeg, NULL, LC_INVALID,
	    "x: 65500 x 65500 pixels are above the limit of 268435456");
	lc__buf_free(&png);
	lc__buf_free(&jpeg);
}
END_TEST

/* From one marker of a JPEG file to the next. */
static size_t
next_marker(const struct lc__buf *file, size_t from)
{
	const unsigned char marker = file->data[from + 1];

	if (marker == 0xd8)
		return from + 2;
	from += 2 + (size_t)(file->data[from + 2] << 8 | file->data[from + 3]);
	while (marker == 0xda && (file->data[from] != 0xff ||
	    file->data[from + 1] == 0))
		from++;
	return from;
}

/* A scan given many times over costs a pass over the image each time. */
START_TEST(scan_limit)
{
	struct lc__buf file = { 0 }, bomb = { 0 };
	size_t end = 0, start = 0;
	lc_tensor got;

	make_jpeg(&jpeg_rows[3], 16, 16, NULL, 0, &file);
	while (file.data[end + 1] != 0xd9) {
		if (file.data[end + 1] == 0xda)
			start = end;
		end = next_marker(&file, end);
	}
	lc__buf_append(&bomb, file.data, end);
	for (int scans = 3; scans < 500; scans++)
		lc__buf_append(&bomb, file.data + start, end - start);
	lc__buf_append(&bomb, "\xff\xd9", 2);
	ck_assert_int_eq(lc__image_decode(bomb.data, bomb.size, "x", NULL, &got),
	    LC_OK);
	lc_tensor_free(&got);
	bomb.size -= 2;
	lc__buf_append(&bomb, file.data + start, end - start);
	lc__buf_append(&bomb, "\xff\xd9", 2);
	check_refused(&bomb, NULL, LC_INVALID, "x: JPEG: more than 500 scans");
	lc__buf_free(&bomb);
	lc__buf_free(&file);
}
END_TEST

/* ---- damage ------------------------------------------------------------------ */

START_TEST(sniffing)
{
	struct lc__buf file = { .data = (unsigned char *)"GIF89a", .size = 6 };

	ck_assert_int_eq(lc__image_sniff("\xff\xd8\xff\xe0", 4), LC__IMAGE_JPEG);
	ck_assert_int_eq(lc__image_sniff("\xff\xd8", 2), LC__IMAGE_NONE);
	ck_assert_int_eq(lc__image_sniff("\x89PNG\r\n\x1a\n", 8), LC__IMAGE_PNG);
	ck_assert_int_eq(lc__image_sniff("\x89PNG\r\n\x1a\n", 7), LC__IMAGE_NONE);
	ck_assert_int_eq(lc__image_sniff("", 0), LC__IMAGE_NONE);
	check_refused(&file, NULL, LC_INVALID, "x: neither JPEG nor PNG");
}
END_TEST

/* Decode from a block of the exact size, so that a read behind it is seen. */
static lc_status
decode_exact(const unsigned char *bytes, size_t size,
    enum lc__image_layout layout, lc_tensor *out)
{
	const struct lc__image_options options = { .layout = layout,
		.max_pixels = 1 << 20 };
	unsigned char *exact = malloc(size + (size == 0));
	lc_status status;

	memcpy(exact, bytes, size);
	status = lc__image_decode(exact, size, "x", &options, out);
	free(exact);
	if (status != LC_OK) {
		ck_assert_int_eq(lc_last_error()->status, status);
		ck_assert_mem_eq(lc_last_error()->text, "x: ", 3);
		ck_assert_ptr_null(strchr(lc_last_error()->text, '\n'));
	}
	return status;
}

static void
check_cuts(const struct lc__buf *file)
{
	lc_tensor got;

	for (size_t size = 0; size < file->size; size++)
		ck_assert_int_eq(decode_exact(file->data, size, LC__IMAGE_CHW, &got),
		    size < 8 && lc__image_sniff(file->data, size) == LC__IMAGE_NONE ?
		    LC_INVALID : LC_CORRUPT);
	ck_assert_int_eq(decode_exact(file->data, file->size, LC__IMAGE_CHW, &got),
	    LC_OK);
	lc_tensor_free(&got);
	/* What follows the image does not belong to it. */
	lc__buf_append((struct lc__buf *)file, "\xff\xd8 and more", 11);
	ck_assert_int_eq(decode_exact(file->data, file->size, LC__IMAGE_CHW, &got),
	    LC_OK);
	lc_tensor_free(&got);
}

START_TEST(cut_png)
{
	struct lc__buf file = { 0 };

	make_png(&png_rows[_i], 9, 7, &file);
	check_cuts(&file);
	lc__buf_free(&file);
}
END_TEST

START_TEST(cut_jpeg)
{
	unsigned char exif[38];
	struct lc__buf file = { 0 };

	make_exif(exif, false, 6);
	make_jpeg(&jpeg_rows[_i], 20, 18, exif, sizeof(exif), &file);
	check_cuts(&file);
	lc__buf_free(&file);
}
END_TEST

static void
insert_bytes(struct lc__buf *file, size_t where, size_t count)
{
	ck_assert_ptr_nonnull(lc__buf_append(file, NULL, count));
	memmove(file->data + where + count, file->data + where,
	    file->size - count - where);
	memset(file->data + where, 0x5a, count);
}

/* What does not belong there: harmless in the header, damage among pixels. */
START_TEST(extra_bytes_in_jpeg)
{
	struct lc__buf file = { 0 };
	lc_tensor got;

	make_jpeg(&jpeg_rows[_i], 20, 18, NULL, 0, &file);
	insert_bytes(&file, next_marker(&file, 2), 3);
	ck_assert_int_eq(decode_exact(file.data, file.size, LC__IMAGE_HWC, &got),
	    LC_OK);
	lc_tensor_free(&got);
	insert_bytes(&file, file.size - 2, 100);
	ck_assert_int_eq(decode_exact(file.data, file.size, LC__IMAGE_HWC, &got),
	    LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "extraneous bytes"));
	lc__buf_free(&file);
}
END_TEST

/* A later version of JFIF is still JPEG. */
START_TEST(unknown_jfif_version)
{
	struct lc__buf file = { 0 };
	lc_tensor got;

	make_jpeg(&jpeg_rows[0], 20, 18, NULL, 0, &file);
	ck_assert_str_eq((char *)file.data + 6, "JFIF");
	file.data[11] = 9;
	ck_assert_int_eq(decode_exact(file.data, file.size, LC__IMAGE_HWC, &got),
	    LC_OK);
	lc_tensor_free(&got);
	lc__buf_free(&file);
}
END_TEST

/* PNG checks every byte: no changed file is decoded, also where the change is in
 * a chunk that is skipped. */
START_TEST(changed_png)
{
	struct lc__buf file = { 0 };
	lc_tensor got;

	make_png(&png_rows[_i], 9, 7, &file);
	insert_chunk(&file, 33, "tEXt", "Title\0something", 15);
	for (size_t place = 0; place < file.size; place++)
		for (unsigned bit = 0; bit < 8; bit += 3) {
			file.data[place] ^= (unsigned char)(1u << bit);
			ck_assert_int_ne(decode_exact(file.data, file.size,
			    LC__IMAGE_HWC, &got), LC_OK);
			file.data[place] ^= (unsigned char)(1u << bit);
		}
	lc__buf_free(&file);
}
END_TEST

/* JPEG has no checksums: a change decodes to something or is an error. */
START_TEST(changed_jpeg)
{
	uint64_t seed = run_seed();
	struct lc__buf file = { 0 };
	unsigned char exif[38];
	lc_tensor got;

	make_exif(exif, true, 5);
	make_jpeg(&jpeg_rows[_i], 40, 33, exif, sizeof(exif), &file);
	for (int round = 0; round < 500; round++) {
		unsigned char *copy = malloc(file.size);
		memcpy(copy, file.data, file.size);
		for (unsigned n = 1 + run_random(&seed) % 4; n > 0; n--)
			copy[run_random(&seed) % file.size] =
			    (unsigned char)run_random(&seed);
		if (decode_exact(copy, file.size, LC__IMAGE_HWC, &got) == LC_OK) {
			ck_assert_int_eq(lc__tensor_check(&got), LC_OK);
			lc_tensor_free(&got);
		}
		free(copy);
	}
	lc__buf_free(&file);
}
END_TEST

/* Damage behind valid checksums reaches the decoder itself. */
START_TEST(changed_png_with_good_crc)
{
	uint64_t seed = run_seed();
	struct lc__buf file = { 0 };
	lc_tensor got;

	make_png(&png_rows[_i], 30, 20, &file);
	for (int round = 0; round < 200; round++) {
		unsigned char *copy = malloc(file.size);
		memcpy(copy, file.data, file.size);
		for (size_t chunk = 8; chunk < file.size;) {
			const size_t size = png_get_uint_32(copy + chunk);
			if (size > 0 && run_random(&seed) % 2)
				copy[chunk + 8 + run_random(&seed) % size] =
				    (unsigned char)run_random(&seed);
			png_save_uint_32(copy + chunk + 8 + size,
			    crc_of(copy + chunk + 4, size + 4));
			chunk += size + 12;
		}
		if (decode_exact(copy, file.size, LC__IMAGE_CHW, &got) == LC_OK) {
			ck_assert_int_eq(lc__tensor_check(&got), LC_OK);
			lc_tensor_free(&got);
		}
		free(copy);
	}
	lc__buf_free(&file);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("image");
	TCase *tc = tcase_create("image");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, exif_orientation, 0, 2);
	tcase_add_loop_test(tc, png_pixels, 0, ROWS(png_rows));
	tcase_add_loop_test(tc, jpeg_pixels, 0, ROWS(jpeg_rows));
	tcase_add_loop_test(tc, jpeg_orientation, 1, 9);
	tcase_add_loop_test(tc, png_orientation, 1, 9);
	tcase_add_test(tc, pixel_limit);
	tcase_add_test(tc, scan_limit);
	tcase_add_test(tc, sniffing);
	tcase_add_loop_test(tc, cut_png, 0, ROWS(png_rows));
	tcase_add_loop_test(tc, cut_jpeg, 0, ROWS(jpeg_rows));
	tcase_add_loop_test(tc, extra_bytes_in_jpeg, 0, ROWS(jpeg_rows));
	tcase_add_test(tc, unknown_jfif_version);
	tcase_add_loop_test(tc, changed_png, 0, ROWS(png_rows));
	tcase_add_loop_test(tc, changed_jpeg, 0, ROWS(jpeg_rows));
	tcase_add_loop_test(tc, changed_png_with_good_crc, 0, ROWS(png_rows));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
