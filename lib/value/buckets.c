/* SPDX-License-Identifier: BSD-2-Clause */
#include "lmdbcache.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

/* After this many rounds a centre that still moves, moves by less than the quantum. */
#define MAX_ROUNDS 400

/* The longest side, whatever the aspect. */
#define MAX_SIDE 65535

static const lc_bucket defaults[] = {
	{ 1024, 1024 },
	{ 832, 1216 },
	{ 1216, 832 },
	{ 768, 1280 },
	{ 1280, 768 },
	{ 704, 1344 },
	{ 1344, 704 },
};

const lc_bucket *
lc_buckets_default(size_t *n)
{
	if (n != NULL)
		*n = sizeof(defaults) / sizeof(defaults[0]);
	return defaults;
}

/* ---- the nearest ------------------------------------------------------------------ */

/* Compare ratios without division: the ratios of an image and a bucket differ by the
 * result divided by (height * bucket->height). */
static uint64_t
away(const lc_bucket *bucket, uint32_t width, uint32_t height)
{
	const uint64_t a = (uint64_t)width * bucket->height;
	const uint64_t b = (uint64_t)bucket->width * height;

	return a > b ? a - b : b - a;
}

/* Whether a * b < c * d. The products have up to 96 bits, so each is computed in two
 * parts. */
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
lc_bucket_nearest(const lc_bucket *buckets, size_t n, uint32_t width, uint32_t height)
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

/* ---- k-means on sorted values ------------------------------------------------------ */

/* Ascending; a cluster is the run of values that ends halfway to the next centre. */
struct centres {
	size_t k;
	double at[LC_BUCKETS_MAX];
	size_t members[LC_BUCKETS_MAX];
};

/* The end of the run of centre @p c, which begins at @p first. */
static size_t
run_end(const double *values, size_t count, const struct centres *centres, size_t c,
    size_t first)
{
	double end;

	if (c + 1 == centres->k)
		return count;
	end = (centres->at[c] + centres->at[c + 1]) / 2;
	while (first < count && values[first] <= end)
		first++;
	return first;
}

/* One round: each centre becomes the mean of its run. Returns whether one has moved. */
static bool
move_centres(const double *values, size_t count, struct centres *centres)
{
	bool moved = false;
	size_t first = 0, end;

	for (size_t c = 0; c < centres->k; c++, first = end) {
		double mean, sum = 0;

		end = run_end(values, count, centres, c, first);
		centres->members[c] = end - first;
		if (end == first)
			continue;
		for (size_t i = first; i < end; i++)
			sum += values[i];
		/* Exactly the value if all are equal: the mean of their sum might be
		 * rounded. */
		mean = values[first] == values[end - 1] ? values[first]
							: sum / (double)(end - first);
		moved |= mean != centres->at[c];
		centres->at[c] = mean;
	}
	return moved;
}

/* Find the value that is farthest from its centre, the first of equals. False if every
 * value is its centre. */
static bool
farthest(const double *values, size_t count, const struct centres *centres, double *out)
{
	double most = 0;
	size_t first = 0, end;

	for (size_t c = 0; c < centres->k; c++, first = end) {
		double low, high;

		end = run_end(values, count, centres, c, first);
		if (end == first)
			continue;
		/* The ends of a run are farther from the centre than the values between
		 * them. */
		low = fabs(values[first] - centres->at[c]);
		high = fabs(values[end - 1] - centres->at[c]);
		if (low > most || high > most) {
			most = high > low ? high : low;
			*out = high > low ? values[end - 1] : values[first];
		}
	}
	return most > 0;
}

/* Move the first centre without values to where it is needed most. Otherwise several
 * equal centres, as when most images are square, would become one bucket. */
static bool
begin_again(const double *values, size_t count, struct centres *centres)
{
	size_t c = 0;
	double value = 0;

	while (c < centres->k && centres->members[c] > 0)
		c++;
	if (c == centres->k || !farthest(values, count, centres, &value))
		return false;
	for (; c + 1 < centres->k && centres->at[c + 1] < value; c++) {
		centres->at[c] = centres->at[c + 1];
		centres->members[c] = centres->members[c + 1];
	}
	for (; c > 0 && centres->at[c - 1] > value; c--) {
		centres->at[c] = centres->at[c - 1];
		centres->members[c] = centres->members[c - 1];
	}
	centres->at[c] = value;
	centres->members[c] = 1;
	return true;
}

/* ---- learning --------------------------------------------------------------------- */

static int
compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint32_t
quantised(double side, uint32_t quantum)
{
	const double most = MAX_SIDE / quantum, units = floor(side / quantum + 0.5);

	return (uint32_t)(units < 1 ? 1 : units > most ? most : units) * quantum;
}

/* Insert it after the last one of a lesser ratio, unless it is there already. Centres
 * ascend, and so do their buckets, except for rounding by exp(). */
static void
add_new(lc_bucket bucket, lc_bucket *out, size_t *n)
{
	size_t at = *n;

	for (size_t i = 0; i < *n; i++)
		if (out[i].width == bucket.width && out[i].height == bucket.height)
			return;
	for (; at > 0 &&
	     (uint64_t)out[at - 1].width * bucket.height >
		 (uint64_t)bucket.width * out[at - 1].height;
	     at--)
		out[at] = out[at - 1];
	out[at] = bucket;
	++*n;
}

static lc_status
check(const double *ratios, size_t count, size_t k, uint64_t area, uint32_t quantum)
{
	if (count == 0)
		return lc__error(LC_INVALID, 0, "buckets: no images to learn from");
	if (k == 0 || k > LC_BUCKETS_MAX)
		return lc__error(LC_INVALID, 0, "buckets: %zu of them, not 1 to %d", k,
		    LC_BUCKETS_MAX);
	if (area == 0)
		return lc__error(LC_INVALID, 0, "buckets: an area of no pixels");
	if (quantum == 0 || quantum > MAX_SIDE)
		return lc__error(LC_INVALID, 0, "buckets: sides of multiples of %u",
		    quantum);
	for (size_t i = 0; i < count; i++)
		if (!(ratios[i] > 0) || isinf(ratios[i]))
			return lc__error(LC_INVALID, 0, "buckets: an aspect ratio of %g",
			    ratios[i]);
	return LC_OK;
}

/* log() and exp() may differ in the last bit between C libraries. Rounding to the quantum
 * hides that, unless a centre is exactly between two multiples of it. */
lc_status
lc_buckets_learn(double *ratios, size_t count, size_t k, uint64_t area, uint32_t quantum,
    lc_bucket *out, size_t *n)
{
	const double root = sqrt((double)area);
	struct centres centres = { .k = k };
	double *logs;

	return_if_error(check(ratios, count, k, area, quantum));
	logs = calloc(count, sizeof(*logs));
	if (logs == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for %zu ratios", count);
	qsort(ratios, count, sizeof(*ratios), compare_doubles);
	for (size_t i = 0; i < count; i++)
		logs[i] = log(ratios[i]);

	/* The centres start in the middle of each of k equal parts. */
	for (size_t c = 0; c < k; c++)
		centres.at[c] =
		    logs[(size_t)(((double)c + 0.5) * (double)count / (double)k)];
	for (int round = 0; round < MAX_ROUNDS; round++) {
		const bool moved = move_centres(logs, count, &centres);

		if (!begin_again(logs, count, &centres) && !moved)
			break;
	}
	free(logs);

	*n = 0;
	for (size_t c = 0; c < k; c++) {
		const double stretch = exp(centres.at[c] / 2);
		const lc_bucket bucket = { quantised(root * stretch, quantum),
			quantised(root / stretch, quantum) };

		if (centres.members[c] > 0)
			add_new(bucket, out, n);
	}
	return LC_OK;
}
