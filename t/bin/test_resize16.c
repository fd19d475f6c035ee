/* SPDX-License-Identifier: BSD-2-Clause */
/* Pixels of 16 bits: resampled, turned and blended, against sums over the whole picture. */
#include <stdlib.h>
#include <string.h>

#include "image/orientation.h"
#include "image/resize.h"
#include "image/transform.h"
#include "run.h"

static uint64_t state;

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(run_random(&state) % n);
}

/* What the definition says of one sample: exact, rounded once. */
static uint16_t
want(const struct lc__resize16 *r, const uint16_t *pixels, uint32_t i, uint32_t j,
    unsigned c)
{
	int16_t *across = malloc((size_t)r->x.taps * sizeof(*across));
	int16_t *down = malloc((size_t)r->y.taps * sizeof(*down));
	uint32_t left, top, ignored;
	const uint32_t columns = lc__filter_weights(&r->x, j, across);
	const uint32_t rows = lc__filter_weights(&r->y, i, down);
	unsigned __int128 sum = (unsigned __int128)1 << 27;

	lc__filter_range(&r->x, j, &left, &ignored);
	lc__filter_range(&r->y, i, &top, &ignored);
	for (uint32_t y = 0; y < rows; y++)
		for (uint32_t x = 0; x < columns; x++)
			sum += (unsigned __int128)pixels[((size_t)(top + y) * r->x.source +
			    left + x) * r->channels + c] * (unsigned)down[y] *
			    (unsigned)across[x];
	free(across);
	free(down);
	return (uint16_t)(sum >> 28);
}

static void
resize_one(void)
{
	struct lc__resize16 r = { .channels = below(2) ? 3 : 1, .deep = below(2) };
	struct lc__scratch memory = { 0 };
	const uint32_t width = 1 + below(60), height = 1 + below(60);
	const double x = below(width) / 2.0, y = below(height) / 2.0;
	const size_t samples = (size_t)width * height * r.channels;
	uint16_t *pixels = malloc(samples * sizeof(*pixels));
	uint8_t *bytes = malloc(samples);
	uint16_t *out;
	size_t plane;

	ck_assert_int_eq(lc__filter_plan(x, width - x, width, 1 + below(70), &r.x), LC_OK);
	ck_assert_int_eq(lc__filter_plan(y, height - y, height, 1 + below(70), &r.y), LC_OK);
	for (size_t i = 0; i < samples; i++) {
		bytes[i] = (uint8_t)(below(4) == 0 ? 255 : below(256));
		pixels[i] = (uint16_t)(!r.deep ? bytes[i] * 257 : below(4) == 0 ? 65535 :
		    below(65536));
	}
	r.stride = r.x.target + below(5);
	plane = r.stride * r.y.target;
	out = calloc(3 * plane, sizeof(*out));
	for (int c = 0; c < 3; c++)
		r.planes[c] = out + (size_t)c * plane;
	ck_assert_int_eq(lc__resize16_begin(&r, &memory), LC_OK);
	for (uint32_t at = 0, n; at < height; at += n) {
		n = 1 + below(16);
		if (n > height - at)
			n = height - at;
		lc__resize16_rows(&r, at, n, r.deep ? (const uint8_t *)(const void *)
		    (pixels + (size_t)at * width * r.channels) :
		    bytes + (size_t)at * width * r.channels,
		    (size_t)width * r.channels * (r.deep ? 2 : 1));
	}
	ck_assert_uint_eq(r.done, r.y.target);
	for (unsigned c = 0; c < 3; c++)
		for (uint32_t i = 0; i < r.y.target; i++)
			for (uint32_t j = 0; j < r.x.target; j++)
				ck_assert_uint_eq(r.planes[c][i * r.stride + j],
				    want(&r, pixels, i, j, r.channels == 1 ? 0 : c));
	lc__scratch_free(&memory);
	free(pixels);
	free(bytes);
	free(out);
}

START_TEST(resized)
{
	state = run_seed();
	for (int i = 0; i < 200; i++)
		resize_one();
}
END_TEST

/* As the bytes of their halves are turned. */
START_TEST(turned)
{
	enum { width = 13, height = 9, stride = 15 };
	uint16_t from[width * height], to[stride * stride];
	uint8_t half[width * height], there[stride * stride];

	for (unsigned i = 0; i < width * height; i++)
		from[i] = (uint16_t)(i * 521);
	memset(to, 0, sizeof(to));
	lc__turn_plane16((unsigned)_i, from, width, height, to, stride);
	for (int byte = 0; byte < 2; byte++) {
		for (unsigned i = 0; i < width * height; i++)
			half[i] = (uint8_t)(from[i] >> 8 * byte);
		memset(there, 0, sizeof(there));
		lc__turn_plane((unsigned)_i, half, width, height, there, stride);
		for (unsigned i = 0; i < stride * stride; i++)
			ck_assert_uint_eq((uint8_t)(to[i] >> 8 * byte), there[i]);
	}
}
END_TEST

START_TEST(blended)
{
	static const uint8_t colour[3] = { 0, 100, 255 };
	static const uint16_t rgba[] = { 1, 2, 3, 65535, 1, 2, 3, 0, 40000, 25700, 65535,
		32768, 65535, 0, 65535, 1 };
	static const uint16_t grey[] = { 777, 65535, 777, 0 };
	/* (value * alpha + colour * 257 * (65535 - alpha)) / 65535, to nearest. */
	static const uint16_t want_rgba[] = { 1, 2, 3, 0, 25700, 65535, 20000, 25700, 65535,
		1, 25700, 65535 };
	static const uint16_t want_grey[] = { 777, 777, 777, 0, 25700, 65535 };
	uint16_t out[12];

	lc__blend16(rgba, 4, 4, colour, out);
	ck_assert_mem_eq(out, want_rgba, sizeof(want_rgba));
	lc__blend16(grey, 2, 2, colour, out);
	ck_assert_mem_eq(out, want_grey, sizeof(want_grey));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("resize16");
	TCase *tc = tcase_create("resize16");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, resized);
	tcase_add_loop_test(tc, turned, 1, 9);
	tcase_add_test(tc, blended);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
