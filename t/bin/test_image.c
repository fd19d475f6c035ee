/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "image/orientation.h"
#include "made_image.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

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
		plain = plain_jpeg(&file, 1, &samples);
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

	for (int row = 0; row < JPEG_ROWS; row += 2) {
		file.size = 0;
		make_exif(exif, row % 4 == 0, (unsigned)_i);
		make_jpeg(&jpeg_rows[row], 75, 41, exif, sizeof(exif), &file);
		check_orientation(&file, (unsigned)_i);
	}
	lc__buf_free(&file);
}
END_TEST

START_TEST(png_orientation)
{
	unsigned char exif[38];
	struct lc__buf file = { 0 };

	for (int row = 0; row < PNG_ROWS; row++) {
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

int
main(void)
{
	Suite *suite = suite_create("image");
	TCase *tc = tcase_create("image");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, exif_orientation, 0, 2);
	tcase_add_loop_test(tc, png_pixels, 0, PNG_ROWS);
	tcase_add_loop_test(tc, jpeg_pixels, 0, JPEG_ROWS);
	tcase_add_loop_test(tc, jpeg_orientation, 1, 9);
	tcase_add_loop_test(tc, png_orientation, 1, 9);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
