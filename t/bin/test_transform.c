/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/transform.h"
#include "made_image.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

static const uint32_t sizes[][2] = { { 2, 1 }, { 3, 70 }, { 37, 19 }, { 200, 33 } };

/* The planes, malloc'ed; done may be NULL. */
static uint8_t *
transformed(const struct lc__transform *transform, const struct lc__buf *file,
    struct lc__transformed *done)
{
	struct lc__workspace *workspace = lc__workspace_new();
	uint8_t *planes = malloc((size_t)3 * transform->width * transform->height);
	struct lc__transformed ignored;

	ck_assert_int_eq(lc__transform_image(transform, file->data, file->size, "x",
	    workspace, planes, done != NULL ? done : &ignored), LC_OK);
	lc__workspace_free(workspace);
	return planes;
}

/* ---- pixels of the same size are those of the plain decoders ------------------ */

/* A value with alpha over another, by the definition. */
static unsigned
over_pad(unsigned value, unsigned alpha, unsigned pad)
{
	return (unsigned)(pad + ((double)value - pad) * alpha / 255 + 0.5);
}

static void
check_png(int row, uint32_t width, uint32_t height, enum lc__alpha alpha)
{
	struct png_kind kind = png_rows[row];
	const unsigned alpha_of[5] = { [2] = 1, [4] = 3 };
	const struct lc__transform transform = { .width = width, .height = height,
		.pad = { 200, 100, 3 }, .alpha = alpha };
	struct lc__buf file = { 0 };
	uint8_t *planes;
	size_t wrong = 0;

	make_png(&kind, width, height, &file);
	planes = transformed(&transform, &file, NULL);
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			for (unsigned c = 0; c < 3; c++) {
				const unsigned from = kind.channels < 3 ? 0 : c;
				unsigned want = png_want(&kind, x, y, from);
				if (alpha == LC__ALPHA_OVER && kind.alpha)
					want = over_pad(want, png_want(&kind, x, y,
					    alpha_of[kind.channels]), transform.pad[c]);
				wrong += planes[((size_t)c * height + y) * width + x] != want;
			}
	ck_assert_uint_eq(wrong, 0);
	free(planes);
	lc__buf_free(&file);
}

START_TEST(png_planes)
{
	for (int size = 0; size < ROWS(sizes); size++) {
		check_png(_i, sizes[size][0], sizes[size][1], LC__ALPHA_DROP);
		/* Where a test row asks for no alpha the file may have it. */
		if (png_rows[_i].alpha || (!png_rows[_i].key &&
		    !(png_rows[_i].type & PNG_COLOR_MASK_ALPHA)))
			check_png(_i, sizes[size][0], sizes[size][1], LC__ALPHA_OVER);
	}
}
END_TEST

START_TEST(jpeg_planes)
{
	const struct jpeg_kind *kind = &jpeg_rows[_i];

	for (int size = 0; size < ROWS(sizes); size++) {
		const uint32_t width = sizes[size][0], height = sizes[size][1];
		const struct lc__transform transform = { .width = width,
			.height = height };
		struct lc__buf file = { 0 };
		uint8_t *plain, *planes;
		unsigned samples;
		size_t wrong = 0;

		make_jpeg(kind, width, height, NULL, 0, &file);
		plain = plain_jpeg(&file, 1, &samples);
		planes = transformed(&transform, &file, NULL);
		for (size_t i = 0; i < (size_t)width * height; i++)
			for (unsigned c = 0; c < 3; c++)
				wrong += planes[c * width * height + i] != jpeg_want(kind,
				    plain + i * samples, kind->channels < 3 ? 0 : c);
		ck_assert_uint_eq(wrong, 0);
		free(planes);
		free(plain);
		lc__buf_free(&file);
	}
}
END_TEST

/* ---- alpha ------------------------------------------------------------------- */

/* Every value with every alpha, over a colour, in a grey and an RGB file. */
START_TEST(blended)
{
	const struct lc__transform transform = { .width = 256, .height = 256,
		.pad = { 0, 131, 255 }, .alpha = LC__ALPHA_OVER };
	const unsigned channels = _i ? 4 : 2;
	uint8_t *pixels = malloc((size_t)65536 * channels), *planes;
	struct lc__buf file = { 0 };

	for (unsigned i = 0; i < 65536; i++) {
		memset(pixels + i * channels, (int)(i % 256), channels - 1);
		pixels[(i + 1) * channels - 1] = (uint8_t)(i / 256);
	}
	make_png_of(pixels, 256, 256, channels, &file);
	planes = transformed(&transform, &file, NULL);
	for (unsigned c = 0; c < 3; c++)
		for (unsigned i = 0; i < 65536; i++)
			ck_assert_uint_eq(planes[c * 65536 + i],
			    over_pad(i % 256, i / 256, transform.pad[c]));
	free(planes);
	free(pixels);
	lc__buf_free(&file);
}
END_TEST

/* ---- orientation ------------------------------------------------------------- */

/* The stored picture whose upright form is noise of width x height: what EXIF calls
 * rows and columns, from the standard's table. */
static void
store_turned(unsigned orientation, uint32_t width, uint32_t height, uint8_t *out)
{
	const bool turned = orientation > 4;
	const uint32_t stored_width = turned ? height : width;
	const uint32_t stored_height = turned ? width : height;

	for (uint32_t row = 0; row < stored_height; row++)
		for (uint32_t column = 0; column < stored_width; column++) {
			uint32_t x = turned ? row : column, y = turned ? column : row;
			if (strchr("\2\3\6\7", (int)orientation) != NULL)
				x = width - 1 - x;
			if (strchr("\3\4\7\10", (int)orientation) != NULL)
				y = height - 1 - y;
			for (unsigned c = 0; c < 3; c++)
				*out++ = noise(x, y, c);
		}
}

static void
make_turned(unsigned orientation, uint32_t width, uint32_t height,
    struct lc__buf *file)
{
	uint8_t *pixels = malloc((size_t)width * height * 3);
	unsigned char exif[38];

	store_turned(orientation, width, height, pixels);
	file->size = 0;
	if (orientation > 4)
		make_png_of(pixels, height, width, 3, file);
	else
		make_png_of(pixels, width, height, 3, file);
	make_exif(exif, false, orientation);
	insert_chunk(file, 33, "eXIf", exif, sizeof(exif));
	free(pixels);
}

/* The eight ways of storing a picture make the same sample. */
START_TEST(orientations)
{
	static const uint32_t targets[][2] = { { 75, 41 }, { 33, 64 }, { 200, 96 } };
	struct lc__buf upright = { 0 }, file = { 0 };

	for (int i = 0; i < 3 * ROWS(targets); i++) {
		const struct lc__transform transform = { .width = targets[i / 3][0],
			.height = targets[i / 3][1], .fit = (enum lc__fit)(i % 3) };
		const size_t size = (size_t)3 * transform.width * transform.height;
		uint8_t *want, *got;
		struct lc__transformed done;
		int most = 0;

		make_turned(1, 75, 41, &upright);
		make_turned((unsigned)_i, 75, 41, &file);
		want = transformed(&transform, &upright, NULL);
		got = transformed(&transform, &file, &done);
		ck_assert_uint_eq(done.orientation, (unsigned)_i);
		ck_assert_uint_eq(done.geometry.source_width, 75);
		ck_assert_uint_eq(done.geometry.source_height, 41);
		ck_assert_uint_eq(done.stored_width, _i > 4 ? 41 : 75);
		for (size_t k = 0; k < size; k++)
			most = abs(got[k] - want[k]) > most ? abs(got[k] - want[k]) : most;
		/* The other axis first, or from the other end: the last bit. */
		ck_assert_int_le(most, i < 3 ? 0 : 1);
		free(want);
		free(got);
	}
	lc__buf_free(&upright);
	lc__buf_free(&file);
}
END_TEST

START_TEST(ignored_orientation)
{
	const struct lc__transform transform = { .width = 41, .height = 75,
		.ignore_orientation = true };
	struct lc__buf file = { 0 };
	struct lc__transformed done;
	uint8_t *pixels = malloc(75 * 41 * 3), *got;

	make_turned(6, 75, 41, &file);
	store_turned(6, 75, 41, pixels);
	got = transformed(&transform, &file, &done);
	ck_assert_uint_eq(done.orientation, 1);
	ck_assert_uint_eq(done.geometry.source_width, 41);
	for (unsigned i = 0; i < 75 * 41; i++)
		for (unsigned c = 0; c < 3; c++)
			ck_assert_uint_eq(got[c * 75 * 41 + i], pixels[3 * i + c]);
	free(pixels);
	free(got);
	lc__buf_free(&file);
}
END_TEST

/* ---- decoders that shrink ---------------------------------------------------- */

static const struct {
	uint32_t target[2];
	unsigned shrink; /* of 320 x 192: the most that leaves twice the target */
} shrunk[] = {
	{ { 20, 12 }, 8 }, { { 21, 12 }, 4 }, { { 20, 13 }, 4 }, { { 40, 24 }, 4 },
	{ { 40, 25 }, 2 }, { { 42, 24 }, 2 }, { { 41, 20 }, 2 },
	{ { 80, 48 }, 2 }, { { 81, 48 }, 1 }, { { 320, 192 }, 1 },
	{ { 5, 100 }, 1 },
};

START_TEST(shrunk_by_the_decoder)
{
	struct lc__transform transform = { .width = shrunk[_i].target[0],
		.height = shrunk[_i].target[1], .fit = LC__FIT_STRETCH };
	const unsigned shrink = shrunk[_i].shrink;
	const size_t size = (size_t)3 * transform.width * transform.height;
	struct lc__buf jpeg = { 0 }, png = { 0 };
	uint8_t *pixels, *want, *got;
	unsigned samples;

	make_jpeg(&jpeg_rows[0], 320, 192, NULL, 0, &jpeg);
	for (unsigned asked = 0; asked < 2; asked++) {
		const unsigned by = asked ? shrink : 1;
		transform.dct_scale = asked != 0;
		pixels = plain_jpeg(&jpeg, by, &samples);
		png.size = 0;
		make_png_of(pixels, 320 / by, 192 / by, 3, &png);
		want = transformed(&transform, &png, NULL);
		got = transformed(&transform, &jpeg, NULL);
		ck_assert_mem_eq(got, want, size);
		free(pixels);
		free(want);
		free(got);
	}
	lc__buf_free(&jpeg);
	lc__buf_free(&png);
}
END_TEST

/* ---- memory ------------------------------------------------------------------ */

/* A sample does not depend on what the workspace was used for before. */
START_TEST(workspace_again)
{
	struct lc__workspace *workspace = lc__workspace_new();
	uint64_t seed = run_seed();

	for (int round = 0; round < 60; round++) {
		const uint32_t width = 1 + (uint32_t)(run_random(&seed) % 120);
		const uint32_t height = 1 + (uint32_t)(run_random(&seed) % 120);
		const struct lc__transform transform = { .width = 40, .height = 30,
			.fit = (enum lc__fit)(run_random(&seed) % 3),
			.alpha = (enum lc__alpha)(run_random(&seed) % 2),
			.pad = { 1, 2, 3 } };
		struct lc__buf file = { 0 };
		struct lc__transformed done;
		uint8_t again[3 * 40 * 30], *fresh;

		if (run_random(&seed) % 2)
			make_png(&png_rows[run_random(&seed) % PNG_ROWS], 1 + width, height,
			    &file);
		else
			make_jpeg(&jpeg_rows[run_random(&seed) % JPEG_ROWS], width, height,
			    NULL, 0, &file);
		memset(again, round, sizeof(again));
		ck_assert_int_eq(lc__transform_image(&transform, file.data, file.size,
		    "x", workspace, again, &done), LC_OK);
		fresh = transformed(&transform, &file, NULL);
		ck_assert_mem_eq(again, fresh, sizeof(again));
		free(fresh);
		lc__buf_free(&file);
	}
	lc__workspace_free(workspace);
	lc__workspace_free(NULL);
}
END_TEST

/* Twice as tall takes as much, but for a number a row. */
START_TEST(tall_pictures)
{
	static const uint32_t heights[] = { 1000, 10000, 40000 };
	const struct lc__transform transform = { .width = 64, .height = 64,
		.fit = LC__FIT_STRETCH };
	uint8_t planes[3 * 64 * 64];

	for (int i = 0; i < ROWS(heights); i++) {
		struct lc__workspace *workspace = lc__workspace_new();
		const size_t row = 300 * 3;
		uint8_t *pixels = malloc(heights[i] * row);
		struct lc__buf file = { 0 };
		struct lc__transformed done;
		size_t size;

		memset(pixels, 17 + i, heights[i] * row);
		make_png_of(pixels, 300, heights[i], 3, &file);
		ck_assert_uint_eq(lc__workspace_size(workspace), 0);
		for (int again = 0; again < 2; again++) {
			ck_assert_int_eq(lc__transform_image(&transform, file.data,
			    file.size, "x", workspace, planes, &done), LC_OK);
			if (again == 0)
				size = lc__workspace_size(workspace);
		}
		ck_assert_uint_eq(lc__workspace_size(workspace), size);
		/* The band, three rows of sums, some rows; weights of 2 rows. */
		ck_assert_uint_lt(size, 16 * row + 3 * row * 4 + 12 * row +
		    3 * (2 * heights[i] / 64 + 64) * 2 + 10000);
		ck_assert_uint_eq(planes[0], 17 + i);
		ck_assert_uint_eq(planes[sizeof(planes) - 1], 17 + i);
		lc__buf_free(&file);
		lc__workspace_free(workspace);
		free(pixels);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("transform");
	TCase *tc = tcase_create("transform");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, png_planes, 0, PNG_ROWS);
	tcase_add_loop_test(tc, jpeg_planes, 0, JPEG_ROWS);
	tcase_add_loop_test(tc, blended, 0, 2);
	tcase_add_loop_test(tc, orientations, 1, 9);
	tcase_add_test(tc, ignored_orientation);
	tcase_add_loop_test(tc, shrunk_by_the_decoder, 0, ROWS(shrunk));
	tcase_add_test(tc, workspace_again);
	tcase_add_test(tc, tall_pictures);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
