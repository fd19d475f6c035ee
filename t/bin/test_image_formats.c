/* SPDX-License-Identifier: BSD-2-Clause */
/* WebP and TIFF, and samples of 16 bits. */
#include "config.h"

#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "image/image.h"
#include "image/transform.h"
#include "made_image.h"
#include "made_tiff.h"
#include "value/tensor.h"

/* ---- elements ---------------------------------------------------------------- */

/* Element (x, y, c) as a number. */
static double
at(const lc_tensor *t, enum lc__image_layout layout, uint64_t x, uint64_t y, uint64_t c)
{
	const uint64_t i = layout == LC__IMAGE_CHW ?
	    (c * t->shape[1] + y) * t->shape[2] + x : (y * t->shape[1] + x) * t->shape[2] + c;

	if (t->dtype == LC_U8)
		return ((const uint8_t *)t->data)[i];
	return t->dtype == LC_U16 ? ((const uint16_t *)t->data)[i] :
	    (double)((const float *)t->data)[i];
}

/* What a sample becomes that was @p value of 255, or of 65,535. */
static double
element(enum lc__image_elements elements, unsigned value, bool deep)
{
	if (elements == LC__IMAGE_U8)
		return deep ? value >> 8 : value;
	if (elements == LC__IMAGE_U16)
		return deep ? value : value * 257;
	return (double)((float)value / (deep ? 65535.0f : 255.0f));
}

static void
check_shape(const lc_tensor *t, const struct lc__image_options *options, uint64_t width,
    uint64_t height, uint64_t channels)
{
	static const lc_dtype dtypes[] = { LC_U8, LC_U16, LC_F32 };
	const bool planes = options->layout == LC__IMAGE_CHW;

	ck_assert_int_eq(t->dtype, dtypes[options->elements]);
	ck_assert_uint_eq(t->shape[planes ? 0 : 2], channels);
	ck_assert_uint_eq(t->shape[planes ? 1 : 0], height);
	ck_assert_uint_eq(t->shape[planes ? 2 : 1], width);
	ck_assert_int_eq(lc__tensor_check(t), LC_OK);
	ck_assert_uint_eq((uintptr_t)t->data % 64, 0);
}

/* Each layout with each kind of elements. */
enum { WAYS = 6 };

static struct lc__image_options
way(int i, _Atomic uint64_t *reduced)
{
	return (struct lc__image_options) { .layout = i % 2 ? LC__IMAGE_CHW : LC__IMAGE_HWC,
		.keep_alpha = true, .elements = (enum lc__image_elements)(i / 2),
		.reduced = reduced };
}

START_TEST(png_elements)
{
	const struct png_kind *kind = &png_rows[_i];
	const bool deep = kind->depth == 16;
	struct lc__buf file = { 0 };

	make_png(kind, 37, 19, &file);
	for (int i = 2; i < WAYS; i++) {
		struct lc__image_options options = way(i, NULL);
		size_t wrong = 0;
		lc_tensor got;
		options.keep_alpha = false;
		ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", &options, &got),
		    LC_OK);
		check_shape(&got, &options, 37, 19, kind->channels - kind->alpha);
		for (uint32_t y = 0; y < 19; y++)
			for (uint32_t x = 0; x < 37; x++)
				for (unsigned c = 0; c < kind->channels - kind->alpha; c++) {
					/* png_want() has the upper byte, noise() both. */
					unsigned value = png_want(kind, x, y, c);
					if (deep)
						value = value << 8 | noise(x, y, c + 4);
					wrong += at(&got, options.layout, x, y, c) !=
					    element(options.elements, value, deep);
				}
		ck_assert_uint_eq(wrong, 0);
		lc_tensor_free(&got);
	}
	lc__buf_free(&file);
}
END_TEST

/* An orientation also turns elements of several bytes. */
START_TEST(turned_elements)
{
	unsigned char exif[38];
	struct lc__buf file = { 0 };
	lc_tensor bytes, got;

	make_exif(exif, false, (unsigned)_i);
	make_png(&png_rows[10], 20, 30, &file);
	insert_chunk(&file, 33, "eXIf", exif, sizeof(exif));
	for (int i = 0; i < WAYS; i++) {
		struct lc__image_options options = way(i, NULL), plain = way(i % 2, NULL);
		ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", &plain, &bytes),
		    LC_OK);
		ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", &options, &got),
		    LC_OK);
		check_shape(&got, &options, _i > 4 ? 30 : 20, _i > 4 ? 20 : 30, 3);
		for (uint64_t y = 0; y < (_i > 4 ? 20 : 30); y++)
			for (uint64_t x = 0; x < (_i > 4 ? 30 : 20); x++)
				for (unsigned c = 0; c < 3; c++)
					ck_assert(at(&got, options.layout, x, y, c) ==
					    element(options.elements,
					    (unsigned)at(&bytes, plain.layout, x, y, c), false));
		lc_tensor_free(&bytes);
		lc_tensor_free(&got);
	}
	lc__buf_free(&file);
}
END_TEST

/* It is counted where 16 bits become 8, and only there. */
START_TEST(reduced)
{
	static const struct {
		int row;
		uint64_t counts[3]; /* after u8, u16, f32 */
	} rows[] = { { 14, { 1, 1, 1 } }, { 10, { 0, 0, 0 } }, { 21, { 0, 0, 0 } } };
	struct lc__buf file = { 0 };
	lc_tensor got;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_Atomic uint64_t count = 0;
		file.size = 0;
		make_png(&png_rows[rows[i].row], 5, 4, &file);
		for (int k = 0; k < 3; k++) {
			const struct lc__image_options options = way(2 * k, &count);
			ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", &options,
			    &got), LC_OK);
			ck_assert_uint_eq(count, rows[i].counts[k]);
			lc_tensor_free(&got);
		}
	}
	lc__buf_free(&file);
}
END_TEST

/* ---- TIFF -------------------------------------------------------------------- */

static void
check_refused(const struct lc__buf *file, const struct lc__image_options *options,
    lc_status status, const char *message)
{
	lc_tensor got;

	ck_assert_int_eq(lc__image_decode(file->data, file->size, "x", options, &got), status);
	ck_assert_str_eq(lc_last_error()->text, message);
}

START_TEST(tiff_pixels)
{
	static const uint32_t sizes[][2] = { { 2, 1 }, { 3, 70 }, { 37, 19 }, { 100, 33 } };
	const struct tiff_kind *kind = &tiff_rows[_i];

	for (int n = 0; n < 4 * WAYS; n++) {
		const uint32_t width = sizes[n / WAYS][0], height = sizes[n / WAYS][1];
		const struct lc__image_options options = way(n % WAYS, NULL);
		struct lc__buf file = { 0 };
		size_t wrong = 0;
		lc_tensor got;

		if (!make_tiff(kind, width, height, 1, 1, &file))
			return;
		ck_assert_msg(lc__image_decode(file.data, file.size, "x", &options, &got) ==
		    LC_OK, "%s", lc_last_error()->text);
		check_shape(&got, &options, width, height, kind->channels);
		for (uint32_t y = 0; y < height; y++)
			for (uint32_t x = 0; x < width; x++)
				for (unsigned c = 0; c < kind->channels; c++)
					wrong += at(&got, options.layout, x, y, c) !=
					    element(options.elements, tiff_want(kind, x, y, c),
					    kind->bits == 16);
		ck_assert_uint_eq(wrong, 0);
		lc_tensor_free(&got);
		lc__buf_free(&file);
	}
}
END_TEST

START_TEST(tiff_without_alpha)
{
	const struct lc__image_options options = { .layout = LC__IMAGE_HWC };
	struct lc__buf file = { 0 };
	lc_tensor got;

	for (int row = 0; row < TIFF_ROWS; row++) {
		const struct tiff_kind *kind = &tiff_rows[row];
		const unsigned channels = kind->channels - (kind->alpha != ALPHA_NONE);
		file.size = 0;
		if (!make_tiff(kind, 5, 4, 1, 1, &file))
			return;
		ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", &options, &got),
		    LC_OK);
		check_shape(&got, &options, 5, 4, channels);
		for (unsigned i = 0; i < 20 * channels; i++)
			ck_assert_uint_eq(((const uint8_t *)got.data)[i],
			    tiff_want(kind, i / channels % 5, i / channels / 5, i % channels) >>
			    (kind->bits == 16 ? 8 : 0));
		lc_tensor_free(&got);
	}
	lc__buf_free(&file);
}
END_TEST

/* The orientation of TIFF is that of EXIF: the same turns. */
START_TEST(tiff_orientation)
{
	unsigned char exif[38];
	struct lc__buf tiff = { 0 }, png = { 0 };
	struct lc__transformed seen;
	lc_tensor want, got;

	make_exif(exif, false, (unsigned)_i);
	if (!make_tiff(&tiff_rows[9], 20, 30, (unsigned)_i, 1, &tiff))
		return;
	make_png(&png_rows[10], 20, 30, &png);
	insert_chunk(&png, 33, "eXIf", exif, sizeof(exif));
	ck_assert_int_eq(lc__image_decode(png.data, png.size, "x", NULL, &want), LC_OK);
	ck_assert_int_eq(lc__image_decode(tiff.data, tiff.size, "x", NULL, &got), LC_OK);
	ck_assert_uint_eq(got.nbytes, want.nbytes);
	ck_assert_mem_eq(got.data, want.data, want.nbytes);
	ck_assert_int_eq(lc__image_probe(tiff.data, tiff.size, "x", &seen), LC_OK);
	ck_assert_uint_eq(seen.stored_width, 20);
	ck_assert_uint_eq(seen.stored_height, 30);
	ck_assert_uint_eq(seen.orientation, _i);
	lc_tensor_free(&want);
	lc_tensor_free(&got);
	lc__buf_free(&tiff);
	lc__buf_free(&png);
}
END_TEST

START_TEST(tiff_of_jpeg)
{
	const struct lc__image_options options = { .layout = LC__IMAGE_HWC };

	for (unsigned channels = 1; channels <= 3; channels += 2) {
		struct lc__buf file = { 0 };
		lc_tensor got;
		if (!make_tiff_jpeg(channels == 1, 60, 50, &file))
			return;
		ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", &options, &got),
		    LC_OK);
		check_shape(&got, &options, 60, 50, channels);
		/* Colours at half the size come back coarse; grey does not. */
		for (uint32_t y = 0; y < 50 && channels == 1; y++)
			for (uint32_t x = 0; x < 60; x++)
				ck_assert_int_le(abs((int)at(&got, LC__IMAGE_HWC, x, y, 0) -
				    (int)smooth(x, y, 0)), 4);
		lc_tensor_free(&got);
		lc__buf_free(&file);
	}
}
END_TEST

/* Of several pages the first is taken; it must not be a preview. */
START_TEST(tiff_pages)
{
	struct lc__buf file = { 0 }, preview = { 0 };
	lc_tensor got;

	if (!make_tiff(&tiff_rows[9], 12, 11, 1, 3, &file))
		return;
	ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", NULL, &got), LC_OK);
	ck_assert_uint_eq(got.shape[0], 11);
	ck_assert_uint_eq(got.shape[1], 12);
	lc_tensor_free(&got);
	make_tiff_with(254, 1, &preview);
	check_refused(&preview, NULL, LC_UNSUPPORTED,
	    "x: TIFF: its first page is a preview or a mask");
	lc__buf_free(&file);
	lc__buf_free(&preview);
}
END_TEST

/* A directory without fields makes libtiff complain of memory, which is not lacking. */
START_TEST(tiff_without_directory)
{
	struct lc__buf file = { .data = (unsigned char *)"II*\0\5\0\0\0", .size = 8 };

	if (lc__image_formats[LC__IMAGE_TIFF].built)
		check_refused(&file, NULL, LC_CORRUPT, "x: TIFF: Failed to allocate memory for "
		    "to read TIFF directory (0 elements of 12 bytes each)");
}
END_TEST

START_TEST(tiff_refused)
{
	static const struct {
		unsigned tag, value;
		const char *message;
	} rows[] = {
		{ 339, 3, "x: TIFF: sample format 3 is not read" },
		{ 262, 8, "x: TIFF: photometric interpretation 8 is not read" },
		{ 262, 2, "x: TIFF: 1 samples a pixel, of which 3 are colours and the others "
		    "not alpha" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lc__buf file = { 0 };
		if (!make_tiff_with(rows[i].tag, rows[i].value, &file))
			return;
		check_refused(&file, NULL, LC_UNSUPPORTED, rows[i].message);
		lc__buf_free(&file);
	}
}
END_TEST

/* Sizes are checked before memory is taken: of the picture, and of tiles. */
START_TEST(tiff_limits)
{
	struct lc__image_options options = { .max_pixels = 299 };
	struct lc__buf file = { 0 };
	lc_tensor got;

	if (!make_tiff(&tiff_rows[12], 20, 15, 1, 1, &file))
		return;
	check_refused(&file, &options, LC_INVALID,
	    "x: 20 x 15 pixels are above the limit of 299");
	/* Two tiles of 16 x 16 a row. */
	options.max_pixels = 511;
	check_refused(&file, &options, LC_INVALID,
	    "x: TIFF: tiles of 16 x 16 pixels are above the limit");
	options.max_pixels = 512;
	ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", &options, &got), LC_OK);
	lc_tensor_free(&got);
	lc__buf_free(&file);
}
END_TEST

static lc_status
decode_way(const unsigned char *bytes, size_t size, int i, lc_tensor *out)
{
	struct lc__image_options options = way(i % WAYS, NULL);

	options.max_pixels = 1 << 16;
	return decode_exact(bytes, size, &options, out);
}

static void
check_changes(const struct lc__buf *file, int rounds)
{
	uint64_t seed = run_seed();
	lc_tensor got;

	for (int round = 0; round < rounds; round++) {
		unsigned char *copy = malloc(file->size);
		memcpy(copy, file->data, file->size);
		change_bytes(copy, file->size, &seed);
		if (decode_way(copy, file->size, round, &got) == LC_OK) {
			ck_assert_int_eq(lc__tensor_check(&got), LC_OK);
			lc_tensor_free(&got);
		}
		free(copy);
	}
}

START_TEST(changed_tiff)
{
	struct lc__buf file = { 0 };

	if (!make_tiff(&tiff_rows[_i], 40, 33, 1, 2, &file))
		return;
	check_changes(&file, 400);
	lc__buf_free(&file);
}
END_TEST

/* What is missing at the end of a file is the directory, or pixels: never invented. */
START_TEST(cut_tiff)
{
	struct lc__buf file = { 0 };
	lc_tensor got;

	if (!make_tiff(&tiff_rows[_i], 9, 7, 1, 1, &file))
		return;
	/* At the very end may be the number of the next page, which libtiff does without. */
	for (size_t size = 0; size + (strchr(tiff_rows[_i].mode, '8') ? 8 : 4) < file.size;
	    size++)
		ck_assert_msg(decode_way(file.data, size, (int)size, &got) != LC_OK,
		    "%zu of %zu", size, file.size);
	lc__buf_free(&file);
}
END_TEST

/* ---- WebP -------------------------------------------------------------------- */

START_TEST(webp_pixels)
{
	static const uint32_t sizes[][2] = { { 1, 1 }, { 37, 19 }, { 20, 100 } };

	for (int n = 0; n < 3 * WAYS * 2; n++) {
		const uint32_t width = sizes[n / (WAYS * 2)][0],
		    height = sizes[n / (WAYS * 2)][1];
		const unsigned channels = n % 2 ? 3 : 4;
		const struct lc__image_options options = way(n / 2 % WAYS, NULL);
		struct lc__buf file = { 0 };
		size_t wrong = 0;
		lc_tensor got;

		if (!make_webp(width, height, channels, NULL, 0, &file))
			return;
		ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", &options, &got),
		    LC_OK);
		/* An encoder leaves out an alpha of 255 everywhere. */
		ck_assert(got.shape[options.layout == LC__IMAGE_CHW ? 0 : 2] == channels ||
		    width == 1);
		for (uint32_t y = 0; y < height; y++)
			for (uint32_t x = 0; x < width; x++)
				for (unsigned c = 0; c < 3; c++)
					wrong += at(&got, options.layout, x, y, c) !=
					    element(options.elements, noise(x, y, c), false);
		ck_assert_uint_eq(wrong, 0);
		lc_tensor_free(&got);
		lc__buf_free(&file);
	}
}
END_TEST

START_TEST(webp_lossy)
{
	const struct lc__image_options options = { .layout = LC__IMAGE_HWC };
	struct lc__buf file = { 0 };
	uint8_t *plain;
	lc_tensor got;

	if (!make_webp_lossy(150, 95, &file))
		return;
	plain = plain_webp(&file, false);
	ck_assert_int_eq(lc__image_decode(file.data, file.size, "x", &options, &got), LC_OK);
	check_shape(&got, &options, 150, 95, 3);
	ck_assert_mem_eq(got.data, plain, got.nbytes);
	free(plain);
	lc_tensor_free(&got);
	lc__buf_free(&file);
}
END_TEST

START_TEST(webp_orientation)
{
	unsigned char exif[44] = "Exif\0";
	struct lc__buf webp = { 0 }, png = { 0 };
	struct lc__transformed seen;
	lc_tensor want, got;

	make_exif(exif + 6, _i % 2, (unsigned)_i);
	make_png(&png_rows[10], 20, 30, &png);
	insert_chunk(&png, 33, "eXIf", exif + 6, 38);
	ck_assert_int_eq(lc__image_decode(png.data, png.size, "x", NULL, &want), LC_OK);
	/* With JPEG's name before it, and as the format's document has it. */
	for (int named = 0; named < 2; named++) {
		webp.size = 0;
		if (!make_webp(20, 30, 3, exif + (named ? 0 : 6), named ? 44 : 38, &webp))
			break;
		ck_assert_int_eq(lc__image_decode(webp.data, webp.size, "x", NULL, &got),
		    LC_OK);
		ck_assert_uint_eq(got.nbytes, want.nbytes);
		ck_assert_mem_eq(got.data, want.data, want.nbytes);
		lc_tensor_free(&got);
		/* A header without its end does not make the picture upright. */
		ck_assert_int_eq(lc__image_probe(webp.data, webp.size, "x", &seen), LC_OK);
		ck_assert_uint_eq(seen.orientation, _i);
		ck_assert_int_eq(lc__image_probe(webp.data, webp.size - 20, "x", &seen),
		    LC_CORRUPT);
		ck_assert_str_eq(lc_last_error()->text, "x: WebP: the file ends early");
	}
	lc_tensor_free(&want);
	lc__buf_free(&webp);
	lc__buf_free(&png);
}
END_TEST

START_TEST(webp_refused)
{
	static const unsigned char animated[] = "RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0"
	    "\x0f\0\0\x0f\0";
	const struct lc__image_options options = { .max_pixels = 599 };
	struct lc__buf file = { .data = (unsigned char *)animated, .size = sizeof(animated) };
	struct lc__buf small = { 0 };

	if (!make_webp(20, 30, 3, NULL, 0, &small))
		return;
	check_refused(&file, NULL, LC_UNSUPPORTED, "x: WebP: it is an animation");
	check_refused(&small, &options, LC_INVALID,
	    "x: 20 x 30 pixels are above the limit of 599");
	lc__buf_free(&small);
}
END_TEST

START_TEST(damaged_webp)
{
	unsigned char exif[38];
	struct lc__buf file = { 0 };
	lc_tensor got;

	make_exif(exif, false, 6);
	if (_i == 0 ? !make_webp_lossy(40, 33, &file) :
	    !make_webp(40, 33, 4, _i == 1 ? NULL : exif, 38, &file))
		return;
	for (size_t size = 0; size < file.size; size++)
		ck_assert_int_ne(decode_way(file.data, size, (int)size, &got), LC_OK);
	check_changes(&file, 500);
	/* What follows the image does not belong to it. */
	lc__buf_append(&file, "and more", 8);
	ck_assert_int_eq(decode_way(file.data, file.size, 0, &got), LC_OK);
	lc_tensor_free(&got);
	lc__buf_free(&file);
}
END_TEST

/* ---- both -------------------------------------------------------------------- */

START_TEST(sniffing)
{
	ck_assert_int_eq(lc__image_sniff("RIFF\1\2\3\4WEBP", 12), LC__IMAGE_WEBP);
	ck_assert_int_eq(lc__image_sniff("RIFF\1\2\3\4WEBP", 11), LC__IMAGE_NONE);
	ck_assert_int_eq(lc__image_sniff("RIFF\1\2\3\4WAVE", 12), LC__IMAGE_NONE);
	ck_assert_int_eq(lc__image_sniff("II*\0", 4), LC__IMAGE_TIFF);
	ck_assert_int_eq(lc__image_sniff("MM\0*", 4), LC__IMAGE_TIFF);
	ck_assert_int_eq(lc__image_sniff("II+\0", 4), LC__IMAGE_TIFF);
	ck_assert_int_eq(lc__image_sniff("MM\0+", 4), LC__IMAGE_TIFF);
	ck_assert_int_eq(lc__image_sniff("II*", 3), LC__IMAGE_NONE);
}
END_TEST

/* Without a library its format is known, and what is missing is told. */
START_TEST(not_built)
{
	struct lc__buf webp = { .data = (unsigned char *)"RIFF\4\0\0\0WEBP", .size = 12 };
	struct lc__buf tiff = { .data = (unsigned char *)"II*", .size = 4 };

	if (!lc__image_formats[LC__IMAGE_WEBP].built)
		check_refused(&webp, NULL, LC_UNSUPPORTED,
		    "x: WebP: cachex was built without libwebp");
	else
		check_refused(&webp, NULL, LC_CORRUPT, "x: WebP: the data is damaged");
	if (!lc__image_formats[LC__IMAGE_TIFF].built)
		check_refused(&tiff, NULL, LC_UNSUPPORTED,
		    "x: TIFF: cachex was built without libtiff");
	else
		check_refused(&tiff, NULL, LC_CORRUPT, "x: TIFF: Cannot read TIFF header");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("image formats");
	TCase *tc = tcase_create("image formats");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, png_elements, 0, PNG_ROWS);
	tcase_add_loop_test(tc, turned_elements, 1, 9);
	tcase_add_test(tc, reduced);
	tcase_add_loop_test(tc, tiff_pixels, 0, TIFF_ROWS);
	tcase_add_test(tc, tiff_without_alpha);
	tcase_add_loop_test(tc, tiff_orientation, 1, 9);
	tcase_add_test(tc, tiff_of_jpeg);
	tcase_add_test(tc, tiff_pages);
	tcase_add_test(tc, tiff_without_directory);
	tcase_add_test(tc, tiff_refused);
	tcase_add_test(tc, tiff_limits);
	tcase_add_loop_test(tc, changed_tiff, 0, TIFF_ROWS);
	tcase_add_loop_test(tc, cut_tiff, 0, TIFF_ROWS);
	tcase_add_test(tc, webp_pixels);
	tcase_add_test(tc, webp_lossy);
	tcase_add_loop_test(tc, webp_orientation, 1, 9);
	tcase_add_test(tc, webp_refused);
	tcase_add_loop_test(tc, damaged_webp, 0, 3);
	tcase_add_test(tc, sniffing);
	tcase_add_test(tc, not_built);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
