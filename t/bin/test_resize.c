/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/resize.h"
#include "image/sink.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* One picture to resample: the source, what is taken from it, the result's size. */
struct job {
	uint32_t source_width, source_height;
	double from_x, from_y, from_width, from_height;
	uint32_t width, height;
	unsigned channels;
};

/* ---- the filter -------------------------------------------------------------- */

/* The weight of a source pixel by the definition, not normalised. */
static double
weight(double from, double width, uint32_t target, uint32_t i, uint32_t pixel)
{
	const double scale = width / target;
	const double reach = scale < 1 ? 1 : scale;
	const double centre = from + (i + 0.5) * scale;
	const double away = fabs(pixel + 0.5 - centre);

	return away < reach ? 1 - away / reach : 0;
}

static void
check_filter(double from, double width, uint32_t source, uint32_t target,
    uint32_t step)
{
	struct lc__filter filter;
	uint32_t before_first = 0, before_last = 0;
	int16_t *weights;

	ck_assert_int_eq(lc__filter_plan(from, width, source, target, &filter), LC_OK);
	weights = calloc(filter.taps, sizeof(*weights));
	for (uint32_t i = 0; i < target; i += step) {
		double all = 0, upto = 0, worst = 0;
		uint32_t first, last, n;
		int64_t sum = 0;
		lc__filter_range(&filter, i, &first, &last);
		ck_assert_uint_le(before_first, first);
		ck_assert_uint_le(before_last, last);
		ck_assert_uint_le(first, last);
		ck_assert_uint_lt(last, source);
		before_first = first;
		before_last = last;
		n = lc__filter_weights(&filter, i, weights);
		ck_assert_uint_eq(n, last - first + 1);
		ck_assert_uint_le(n, filter.taps);
		for (uint32_t k = first > 2 ? first - 2 : 0; k <= last + 2 && k < source;
		    k++)
			all += weight(from, width, target, i, k);
		for (uint32_t k = 0; k < n; k++) {
			ck_assert_int_ge(weights[k], 0);
			sum += weights[k];
			upto += weight(from, width, target, i, first + k);
			worst = fmax(worst, fabs((double)sum / LC__FILTER_ONE - upto / all));
		}
		ck_assert_int_eq(sum, LC__FILTER_ONE);
		/* Half of the last bit, and the 1/65536 pixel that positions have. */
		ck_assert_double_lt(worst, 0.5 / LC__FILTER_ONE + 2.0 / 65536);
	}
	free(weights);
}

START_TEST(filter_weights)
{
	uint64_t seed = run_seed();

	check_filter(0, 1, 1, 1, 1);
	check_filter(0, 1, 1, 65535, 13);
	check_filter(0, 640, 640, 640, 1);
	check_filter(0, 4000, 4000, 640, 1);
	check_filter(0, 65535, 65535, 2, 1);
	check_filter(0, 1 << 28, 1 << 28, 4096, 1365);
	check_filter(0, (1 << 28) / 8.0 - 0.125, 1 << 25, 65535, 21845);
	check_filter(1.0 / 3, 700.0 / 3, 234, 100, 1);
	for (int round = 0; round < 300; round++) {
		const uint32_t source = 1 + (uint32_t)(run_random(&seed) % 3000);
		const uint32_t target = 1 + (uint32_t)(run_random(&seed) % 700);
		const double width = source * (double)(1 + run_random(&seed) % 1000) /
		    1000;
		check_filter((source - width) / 2, width, source, target,
		    1 + target / 50);
	}
}
END_TEST

START_TEST(filter_limits)
{
	struct lc__filter filter;

	ck_assert_int_eq(lc__filter_plan(0, 65536, 65536, 1, &filter), LC_OK);
	ck_assert_int_eq(lc__filter_plan(0, 65537, 65537, 1, &filter), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "65537 pixels cannot be resampled to 1");
	ck_assert_int_eq(lc__filter_plan(0, 5, 5, 65536, &filter), LC_INVALID);
	ck_assert_int_eq(lc__filter_plan(0, 5, (1u << 28) + 1, 10, &filter),
	    LC_INVALID);
}
END_TEST

/* ---- pictures ---------------------------------------------------------------- */

static uint8_t *
random_pixels(const struct job *job, uint64_t *seed, int kind)
{
	const size_t size = (size_t)job->source_width * job->source_height *
	    job->channels;
	uint8_t *pixels = malloc(size);

	for (size_t i = 0; i < size; i++) {
		const uint64_t r = run_random(seed);
		pixels[i] = (uint8_t)(kind == 0 ? r : kind == 1 ? -(r & 1) : 255);
	}
	return pixels;
}

/* Resample, in bands of random height if there is a seed. */
static void
resample(const struct job *job, const uint8_t *pixels, const struct lc__sums *sums,
    uint64_t *seed, uint8_t *planes)
{
	const size_t stride = (size_t)job->source_width * job->channels;
	const size_t plane = (size_t)job->width * job->height;
	struct lc__resize_plan plan = { .channels = job->channels,
		.planes = { planes, planes + plane, planes + 2 * plane },
		.stride = job->width, .sums = sums };
	struct lc__scratch memory = { 0 };
	struct lc__resize resize;

	ck_assert_int_eq(lc__filter_plan(job->from_x, job->from_width,
	    job->source_width, job->width, &plan.x), LC_OK);
	ck_assert_int_eq(lc__filter_plan(job->from_y, job->from_height,
	    job->source_height, job->height, &plan.y), LC_OK);
	ck_assert_int_eq(lc__resize_begin(&resize, &plan, &memory), LC_OK);
	for (uint32_t y = 0, n; y < job->source_height; y += n) {
		uint8_t *band;
		n = seed != NULL ? 1 + (uint32_t)(run_random(seed) % LC__BAND) : LC__BAND;
		if (n > job->source_height - y)
			n = job->source_height - y;
		/* A block of its own: a row read beyond it, or later, is seen. */
		band = malloc(n * stride);
		memcpy(band, pixels + y * stride, n * stride);
		lc__resize_rows(&resize, y, n, band, stride);
		free(band);
	}
	ck_assert_uint_eq(resize.done, job->height);
	lc__scratch_free(&memory);
}

/* The same by the definition: a sum over all source pixels. */
static double
true_value(const struct job *job, const uint8_t *pixels, uint32_t x, uint32_t y,
    unsigned c)
{
	double sum = 0, weights = 0;

	for (uint32_t v = 0; v < job->source_height; v++) {
		const double wy = weight(job->from_y, job->from_height, job->height, y, v);
		for (uint32_t u = 0; wy > 0 && u < job->source_width; u++) {
			const double w = wy * weight(job->from_x, job->from_width,
			    job->width, x, u);
			sum += w * pixels[((size_t)v * job->source_width + u) *
			    job->channels + c];
			weights += w;
		}
	}
	return sum / weights;
}

static struct job
random_job(uint64_t *seed, uint32_t most)
{
	struct job job = {
		.source_width = 1 + (uint32_t)(run_random(seed) % most),
		.source_height = 1 + (uint32_t)(run_random(seed) % most),
		.width = 1 + (uint32_t)(run_random(seed) % most),
		.height = 1 + (uint32_t)(run_random(seed) % most),
		.channels = run_random(seed) % 3 ? 3 : 1,
	};

	/* All of it, or a part as cutting to an aspect gives it. */
	job.from_width = job.source_width;
	job.from_height = job.source_height;
	if (run_random(seed) % 2)
		job.from_width *= (double)(1 + run_random(seed) % 999) / 1000;
	if (run_random(seed) % 2)
		job.from_height *= (double)(1 + run_random(seed) % 999) / 1000;
	job.from_x = (job.source_width - job.from_width) / 2;
	job.from_y = (job.source_height - job.from_height) / 2;
	return job;
}

/* Few samples are farther from the truth than rounding makes them, none by one. */
START_TEST(near_the_truth)
{
	uint64_t seed = run_seed() + (uint64_t)_i;
	const struct job job = random_job(&seed, _i % 3 == 0 ? 60 : 25);
	uint8_t *pixels = random_pixels(&job, &seed, _i % 2);
	const size_t plane = (size_t)job.width * job.height;
	uint8_t *got = malloc(3 * plane);
	double worst = 0;

	resample(&job, pixels, lc__sums_best(), &seed, got);
	for (unsigned c = 0; c < 3; c++)
		for (uint32_t y = 0; y < job.height; y++)
			for (uint32_t x = 0; x < job.width; x++)
				worst = fmax(worst, fabs(got[c * plane + y * job.width + x] -
				    true_value(&job, pixels, x, y, c % job.channels)));
	ck_assert_double_lt(worst, 0.75);
	free(got);
	free(pixels);
}
END_TEST

/* Every way of adding, in any bands: the same bytes. */
START_TEST(all_ways_are_equal)
{
	const struct lc__sums *all[4];
	const size_t n = lc__sums_all(all);
	uint64_t seed = run_seed() + (uint64_t)_i;
	const struct job job = random_job(&seed, _i % 8 == 0 ? 900 : 150);
	uint8_t *pixels = random_pixels(&job, &seed, _i % 3);
	const size_t size = (size_t)job.width * job.height * 3;
	uint8_t *want = malloc(size), *got = malloc(size);

	resample(&job, pixels, all[0], NULL, want);
	for (size_t way = 0; way < n; way++) {
		memset(got, 0x77, size);
		resample(&job, pixels, all[way], &seed, got);
		ck_assert_msg(memcmp(got, want, size) == 0, "%s", all[way]->name);
	}
	/* White stays white. */
	for (size_t i = 0; i < size && _i % 3 == 2; i++)
		ck_assert_uint_eq(got[i], 255);
	free(want);
	free(got);
	free(pixels);
}
END_TEST

static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 50 }, { 50, 1 }, { 33, 17 },
	{ 640, 48 }, { 65, 129 } };

START_TEST(same_size_is_the_same)
{
	const struct lc__sums *all[4];
	const size_t n = lc__sums_all(all);
	uint64_t seed = run_seed();
	const uint32_t width = sizes[_i][0], height = sizes[_i][1];
	const struct job job = { width, height, 0, 0, width, height, width, height, 3 };
	uint8_t *pixels = random_pixels(&job, &seed, 0);
	const size_t plane = (size_t)width * height;
	uint8_t *got = malloc(3 * plane);

	for (size_t way = 0; way < n; way++) {
		resample(&job, pixels, all[way], &seed, got);
		for (size_t i = 0; i < 3 * plane; i++)
			ck_assert_uint_eq(got[i], pixels[i % plane * 3 + i / plane]);
	}
	free(got);
	free(pixels);
}
END_TEST

/* Every constant, enlarged and shrunk beyond what bands and vectors hold. */
START_TEST(constants_stay)
{
	static const struct job jobs[] = {
		{ 3, 2, 0, 0, 3, 2, 70, 90, 1 }, { 300, 200, 0, 0, 300, 200, 7, 3, 1 },
		{ 2, 4000, 0, 0, 2, 4000, 5, 2, 1 }, { 4000, 3, 0, 0, 4000, 3, 3, 50, 1 },
		{ 31, 29, 7.25, 0, 16.5, 29, 20, 20, 1 },
	};
	const struct job *job = &jobs[_i];
	const size_t size = (size_t)job->source_width * job->source_height;
	const size_t plane = (size_t)job->width * job->height;
	uint8_t *pixels = malloc(size), *got = malloc(3 * plane);

	for (int value = 0; value < 256; value += 5) {
		memset(pixels, value, size);
		resample(job, pixels, lc__sums_best(), NULL, got);
		for (size_t i = 0; i < 3 * plane; i++)
			ck_assert_uint_eq(got[i], value);
	}
	free(got);
	free(pixels);
}
END_TEST

/* What is taken is what is asked for: a ramp's values tell where they are from. */
START_TEST(a_ramp_keeps_its_place)
{
	struct job job = { 200, 100, 50, 20, 100, 60, 40, 30, 3 };
	uint8_t *pixels = malloc(200 * 100 * 3), got[3 * 40 * 30];

	for (uint32_t i = 0; i < 200 * 100; i++) {
		pixels[3 * i] = (uint8_t)(i % 200);
		pixels[3 * i + 1] = (uint8_t)(i / 200);
		pixels[3 * i + 2] = 9;
	}
	resample(&job, pixels, lc__sums_best(), NULL, got);
	/* Pixel u spans u to u + 1, so at place p the ramp has p - 1/2: 52, 54.5, 57;
	 * 20.5, 22.5 and so on. */
	for (unsigned y = 0; y < 30; y++)
		for (unsigned x = 0; x < 40; x++) {
			ck_assert_int_le(abs(2 * got[y * 40 + x] -
			    (int)(2 * (50 + x * 5 / 2.0 + 0.75))), 1);
			ck_assert_int_le(abs(2 * got[1200 + y * 40 + x] -
			    (int)(2 * (20.5 + y * 2))), 1);
			ck_assert_uint_eq(got[2400 + y * 40 + x], 9);
		}
	free(pixels);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("resize");
	TCase *tc = tcase_create("resize");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, filter_weights);
	tcase_add_test(tc, filter_limits);
	tcase_add_loop_test(tc, near_the_truth, 0, 60);
	tcase_add_loop_test(tc, all_ways_are_equal, 0, 96);
	tcase_add_loop_test(tc, same_size_is_the_same, 0, ROWS(sizes));
	tcase_add_loop_test(tc, constants_stay, 0, 5);
	tcase_add_test(tc, a_ramp_keeps_its_place);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
