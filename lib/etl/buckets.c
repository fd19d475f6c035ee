/* SPDX-License-Identifier: BSD-2-Clause */
#include "etl/buckets.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

/* A centre that has not come to rest by then moves less than the quantum. */
#define MAX_ROUNDS 200

/* No side is longer, whatever the aspect. */
#define MAX_SIDE 65535

const struct lc__bucket lc__buckets_default[7] = {
	{ 1024, 1024 }, { 832, 1216 }, { 1216, 832 }, { 768, 1280 }, { 1280, 768 },
	{ 704, 1344 }, { 1344, 704 },
};

/* ---- the nearest ------------------------------------------------------------------ */

/* |width / height - bucket's| is away / (height * bucket's height). */
static uint64_t
away(const struct lc__bucket *bucket, uint32_t width, uint32_t height)
{
	const uint64_t a = (uint64_t)width * bucket->height;
	const uint64_t b = (uint64_t)bucket->width * height;

	return a > b ? a - b : b - a;
}

/* a * b < c * d, exactly: products of 96 bits in two parts. */
static bool
product_less(uint64_t a, uint32_t b, uint64_t c, uint32_t d)
{
	const uint64_t low_ab = (a & UINT32_MAX) * b, low_cd = (c & UINT32_MAX) * d;
	const uint64_t high_ab = (a >> 32) * b + (low_ab >> 32);
	const uint64_t high_cd = (c >> 32) * d + (low_cd >> 32);

	if (high_ab != high_cd)
		return high_ab < high_cd;
	return (uint32_t)low_ab < (uint32_t)low_cd;
}

size_t
lc__bucket_nearest(const struct lc__bucket *buckets, size_t n, uint32_t width,
    uint32_t height)
{
	uint64_t best_away = away(&buckets[0], width, height);
	size_t best = 0;

	for (size_t i = 1; i < n; i++) {
		const uint64_t i_away = away(&buckets[i], width, height);
		if (product_less(i_away, buckets[best].height, best_away,
		    buckets[i].height)) {
			best = i;
			best_away = i_away;
		}
	}
	return best;
}

/* ---- learning --------------------------------------------------------------------- */

static int
compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* One round of k-means on sorted values: a cluster is a run of them, which ends
 * halfway between two centres. Did a centre move? */
static bool
move_centres(const double *values, size_t count, double *centres, size_t k)
{
	bool moved = false;
	size_t i = 0;

	for (size_t c = 0; c < k; c++) {
		const double end = c + 1 < k ? (centres[c] + centres[c + 1]) / 2 : 0;
		const size_t first = i;
		double sum = 0, mean;
		while (i < count && (c + 1 == k || values[i] <= end))
			sum += values[i++];
		if (i == first)
			continue;
		mean = sum / (double)(i - first);
		moved |= mean != centres[c];
		centres[c] = mean;
	}
	return moved;
}

static uint32_t
quantised(double side, uint32_t quantum)
{
	const double most = MAX_SIDE / quantum, units = floor(side / quantum + 0.5);

	return (uint32_t)(units < 1 ? 1 : units > most ? most : units) * quantum;
}

static struct lc__bucket
bucket_of(double log_ratio, uint64_t area, uint32_t quantum)
{
	const double root = sqrt((double)area), stretch = exp(log_ratio / 2);

	return (struct lc__bucket){ quantised(root * stretch, quantum),
		quantised(root / stretch, quantum) };
}

static void
add_new(struct lc__bucket bucket, struct lc__bucket *out, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (out[i].width == bucket.width && out[i].height == bucket.height)
			return;
	out[(*n)++] = bucket;
}

static lc_status
check(const double *ratios, size_t count, size_t k, uint32_t quantum)
{
	if (count == 0)
		return lc__error(LC_INVALID, 0, "buckets: no images to learn from");
	if (k == 0 || k > LC__BUCKETS_MAX)
		return lc__error(LC_INVALID, 0, "buckets: %zu of them, not 1 to %d", k,
		    LC__BUCKETS_MAX);
	if (quantum == 0 || quantum > MAX_SIDE)
		return lc__error(LC_INVALID, 0, "buckets: sides of multiples of %u",
		    quantum);
	for (size_t i = 0; i < count; i++)
		if (!(ratios[i] > 0) || isinf(ratios[i]))
			return lc__error(LC_INVALID, 0, "buckets: an aspect ratio of %g",
			    ratios[i]);
	return LC_OK;
}

/* log() and exp() may differ in the last bit from one C library to the next; the
 * quantum swallows that, save for a centre that stands exactly between two. */
lc_status
lc__buckets_learn(double *ratios, size_t count, size_t k, uint64_t area,
    uint32_t quantum, struct lc__bucket *out, size_t *n)
{
	double centres[LC__BUCKETS_MAX];
	double *logs;

	return_if_error(check(ratios, count, k, quantum));
	logs = calloc(count, sizeof(*logs));
	if (logs == NULL)
		return lc__error(LC_NO_MEMORY, 0, "no memory for %zu ratios", count);
	qsort(ratios, count, sizeof(*ratios), compare_doubles);
	for (size_t i = 0; i < count; i++)
		logs[i] = log(ratios[i]);
	/* The middle of each of k equal parts. */
	for (size_t c = 0; c < k; c++)
		centres[c] = logs[(size_t)((c + 0.5) * (double)count / (double)k)];
	for (int round = 0; round < MAX_ROUNDS; round++)
		if (!move_centres(logs, count, centres, k))
			break;
	free(logs);
	*n = 0;
	for (size_t c = 0; c < k; c++)
		add_new(bucket_of(centres[c], area, quantum), out, n);
	return LC_OK;
}
