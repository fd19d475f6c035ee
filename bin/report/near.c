/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/near.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "report/pca.h"

/* ---- pairs ---------------------------------------------------------------------- */

#define PAIRS_MOST ((size_t)1 << 21) /* pairs kept beyond a forest */

static int
by_distance(const void *x, const void *y)
{
	const struct lc__pair *p = x, *q = y;

	if (p->distance != q->distance)
		return p->distance < q->distance ? -1 : 1;
	if (p->a != q->a)
		return p->a < q->a ? -1 : 1;
	return (p->b > q->b) - (p->b < q->b);
}

/* The item that represents the group of item i. Halves the path to it for later
 * calls. */
static size_t
find_group(size_t *groups, size_t i)
{
	while (groups[i] != i) {
		groups[i] = groups[groups[i]];
		i = groups[i];
	}
	return i;
}

/* Kruskal's algorithm: the shortest pairs first, without those inside one group. */
lc_status
lc__pairs_end(struct lc__pairs *pairs)
{
	size_t *groups = malloc((pairs->items + 1) * sizeof(*groups));
	size_t kept = 0;

	if (groups == NULL)
		return lc__no_memory("view");
	for (size_t i = 0; i < pairs->items; i++)
		groups[i] = i;
	if (pairs->n > 0)
		qsort(pairs->all, pairs->n, sizeof(*pairs->all), by_distance);
	for (size_t i = 0; i < pairs->n; i++) {
		const size_t a = find_group(groups, pairs->all[i].a);
		const size_t b = find_group(groups, pairs->all[i].b);
		if (a == b)
			continue;
		groups[a > b ? a : b] = a < b ? a : b;
		pairs->all[kept++] = pairs->all[i];
	}
	pairs->n = kept;
	free(groups);
	return LC_OK;
}

lc_status
lc__pairs_add(struct lc__pairs *pairs, size_t a, size_t b, double distance)
{
	/* Reducing early loses nothing: a pair that is not in the forest of some pairs
	 * is not in the forest of more pairs either. */
	if (pairs->n >= PAIRS_MOST + pairs->items)
		return_if_error(lc__pairs_end(pairs));
	return_if_error(
	    lc__array_reserve(&pairs->all, &pairs->room, pairs->n + 1, "view"));
	pairs->all[pairs->n++] = (struct lc__pair){ a < b ? a : b, a < b ? b : a,
		distance };
	return LC_OK;
}

void
lc__pairs_free(struct lc__pairs *pairs)
{
	free(pairs->all);
	memset(pairs, 0, sizeof(*pairs));
}

static lc_status
step(const lc_progress *progress, size_t done, size_t all)
{
	if (progress != NULL && progress->step != NULL &&
	    progress->step(progress->ctx, done, all) != 0)
		return lc__error(LC_CANCELLED, 0, "cancelled");
	return LC_OK;
}

/* ---- images --------------------------------------------------------------------- */

#define COLOUR_LIMIT 26 /* a tenth of the range of a channel */

/* The grey values, times 1,000, of the image reduced to a small grid. */
static lc_status
find_grid(const struct lc__pixels *image, uint32_t width, uint32_t height, int *out)
{
	struct lc__pixels grid;

	return_if_error(lc__pixels_resize(image, width, height, &grid));
	for (uint32_t i = 0; i < width * height; i++)
		out[i] = 299 * grid.data[3 * i] + 587 * grid.data[3 * i + 1] +
		    114 * grid.data[3 * i + 2];
	lc__pixels_free(&grid);
	return LC_OK;
}

lc_status
lc__print_of(const struct lc__pixels *image, struct lc__print *out)
{
	struct lc__pixels one;
	int across[9 * 8], down[8 * 9];

	return_if_error(find_grid(image, 9, 8, across));
	return_if_error(find_grid(image, 8, 9, down));
	return_if_error(lc__pixels_resize(image, 1, 1, &one));
	memcpy(out->colour, one.data, 3);
	lc__pixels_free(&one);
	out->bits[0] = out->bits[1] = 0;
	for (int y = 0; y < 8; y++)
		for (int x = 0; x < 8; x++) {
			const int i = y * 8 + x;
			out->bits[0] |=
			    (uint64_t)(across[y * 9 + x] < across[y * 9 + x + 1]) << i;
			out->bits[1] |= (uint64_t)(down[i] < down[i + 8]) << i;
		}
	return LC_OK;
}

double
lc__print_distance(const struct lc__print *a, const struct lc__print *b)
{
	for (int i = 0; i < 3; i++)
		if (abs(a->colour[i] - b->colour[i]) > COLOUR_LIMIT)
			return 1;
	return (double)(__builtin_popcountll(a->bits[0] ^ b->bits[0]) +
		   __builtin_popcountll(a->bits[1] ^ b->bits[1])) /
	    LC__PRINT_BITS;
}

/* One of the `bands` parts of a print's bits. Two prints that differ in fewer than
 * `bands` bits have at least one band in common, so only prints with a common band are
 * compared. */
static uint64_t
band_of(const struct lc__print *print, unsigned band, unsigned bands)
{
	const unsigned first = LC__PRINT_BITS * band / bands;
	const unsigned end = LC__PRINT_BITS * (band + 1) / bands;
	uint64_t bits = 0;

	for (unsigned i = first; i < end && i < first + 64; i++)
		bits = bits << 1 | (print->bits[i / 64] >> i % 64 & 1);
	return bits;
}

/* A print and the value of one of its bands. */
struct banded {
	uint64_t band;
	size_t print;
};

static int
by_band(const void *x, const void *y)
{
	const struct banded *a = x, *b = y;

	if (a->band != b->band)
		return a->band < b->band ? -1 : 1;
	return (a->print > b->print) - (a->print < b->print);
}

static int
by_bits(const void *x, const void *y)
{
	const struct lc__print *a = x, *b = y;
	const int order = memcmp(a->bits, b->bits, sizeof(a->bits));

	return order != 0 ? order : (a->item > b->item) - (a->item < b->item);
}

/* Compare all pairs of prints in a run of equal bands. */
static lc_status
compare_run(const struct lc__print *prints, const struct banded *run, size_t n,
    double limit, struct lc__pairs *out)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			const struct lc__print *a = &prints[run[i].print];
			const struct lc__print *b = &prints[run[j].print];
			const double distance = lc__print_distance(a, b);
			if (distance <= limit)
				return_if_error(
				    lc__pairs_add(out, a->item, b->item, distance));
		}
	return LC_OK;
}

lc_status
lc__near_prints(struct lc__print *prints, size_t n, double limit,
    const lc_progress *progress, struct lc__pairs *out)
{
	/* One band more than the bits that may differ: see band_of(). If that is too
	 * many bands to help, all prints are compared. */
	const unsigned differ = (unsigned)(limit * LC__PRINT_BITS + 1e-9);
	const unsigned bands = differ < 32 ? differ + 1 : 1;
	struct banded *banded = malloc((n + 1) * sizeof(*banded));
	lc_status status = LC_OK;

	if (banded == NULL)
		return lc__no_memory("view");
	if (n > 0)
		qsort(prints, n, sizeof(*prints), by_bits);
	for (unsigned band = 0; band < bands && status == LC_OK; band++) {
		for (size_t i = 0; i < n; i++)
			banded[i] = (struct banded){
				differ < 32 ? band_of(&prints[i], band, bands) : 0, i
			};
		if (n > 0)
			qsort(banded, n, sizeof(*banded), by_band);
		for (size_t i = 0, end; i < n && status == LC_OK; i = end) {
			for (end = i + 1; end < n && banded[end].band == banded[i].band;
			     end++)
				;
			status = compare_run(prints, banded + i, end - i, limit, out);
			if (status == LC_OK)
				status = step(progress, band * n + end, bands * n);
		}
	}
	free(banded);
	return status;
}

/* ---- vectors ---------------------------------------------------------------------- */

#define COORDINATES 12 /* coordinates compared before whole vectors are */
#define SAMPLE 2048    /* vectors from which the directions are computed */
#define ROUNDS 6       /* few, as the directions need not be exact */
#define SLACK 1e-5     /* allowance for the rounding of floats */

/* The first coordinates of a vector along orthogonal directions. Two vectors are at
 * least as far apart as their coordinates. */
struct located {
	float at[COORDINATES];
	size_t row;
};

static int
by_first(const void *x, const void *y)
{
	const struct located *a = x, *b = y;

	if (a->at[0] != b->at[0])
		return a->at[0] < b->at[0] ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* Scale a vector to length 1. False if its length is 0: it has no direction. */
static bool
normalise(float *row, size_t d)
{
	double sum = 0;

	for (size_t e = 0; e < d; e++)
		sum += (double)row[e] * row[e];
	if (!(sum > 0))
		return false;
	sum = 1 / sqrt(sum);
	for (size_t e = 0; e < d; e++)
		row[e] = (float)(row[e] * sum);
	return true;
}

static lc_status
find_directions(const float *rows, size_t n, size_t d, const lc_progress *progress,
    struct lc__pca *out)
{
	const size_t some = n < SAMPLE ? n : SAMPLE;
	float *sample = malloc(some * d * sizeof(*sample));
	lc_status status;

	memset(out, 0, sizeof(*out));
	if (sample == NULL)
		return lc__no_memory("view");
	for (size_t i = 0; i < some; i++)
		memcpy(sample + i * d, rows + i * n / some * d, d * sizeof(*sample));
	status = lc__pca_find(sample, some, d, COORDINATES, ROUNDS, progress, out);
	free(sample);
	return status;
}

/* False if the coordinates prove that the squared distance of the vectors is above
 * @p limit. */
static bool
may_be_near(const struct located *a, const struct located *b, float limit)
{
	float sum = 0;

	for (int i = 0; i < COORDINATES; i++) {
		const float c = a->at[i] - b->at[i];
		sum += c * c;
	}
	return sum <= limit;
}

static double
distance_of(const float *a, const float *b, size_t d)
{
	double sum = 0;

	/* For vectors of length 1, half the squared distance is 1 minus the cosine;
	 * computed this way it stays exact where the cosine is close to 1. */
	for (size_t e = 0; e < d; e++) {
		const double c = (double)a[e] - b[e];
		sum += c * c;
	}
	return sum / 2;
}

static lc_status
compare_located(const float *rows, const size_t *items, const struct located *all,
    size_t n, size_t d, double limit, const lc_progress *progress, struct lc__pairs *out)
{
	const float squared = (float)(2 * limit + SLACK);
	const float reach = sqrtf(squared);

	for (size_t i = 0; i < n; i++) {
		if (i % 256 == 0)
			return_if_error(step(progress, i, n));
		for (size_t j = i + 1; j < n && all[j].at[0] - all[i].at[0] <= reach;
		     j++) {
			double distance;
			if (!may_be_near(&all[i], &all[j], squared))
				continue;
			distance = distance_of(rows + all[i].row * d,
			    rows + all[j].row * d, d);
			if (distance <= limit)
				return_if_error(lc__pairs_add(out, items[all[i].row],
				    items[all[j].row], distance));
		}
	}
	return LC_OK;
}

lc_status
lc__near_vectors(float *rows, const size_t *items, size_t n, size_t d, double limit,
    const lc_progress *progress, struct lc__pairs *out)
{
	struct located *all = calloc(n + 1, sizeof(*all));
	struct lc__pca pca = { 0 };
	size_t used = 0;
	lc_status status = all == NULL ? lc__no_memory("view") : LC_OK;

	if (status == LC_OK && n > 0) {
		/* Vectors of length 0 have no direction and are in no pair. */
		for (size_t i = 0; i < n; i++)
			if (normalise(rows + i * d, d))
				all[used++].row = i;
		status = find_directions(rows, n, d, progress, &pca);
	}
	for (size_t i = 0; i < used && status == LC_OK; i++) {
		double at[LC__PCA_MOST];
		lc__pca_project(&pca, rows + all[i].row * d, at);
		for (size_t k = 0; k < pca.k; k++)
			all[i].at[k] = (float)at[k];
	}
	if (status == LC_OK && used > 0) {
		qsort(all, used, sizeof(*all), by_first);
		status = compare_located(rows, items, all, used, d, limit, progress, out);
	}
	lc__pca_free(&pca);
	free(all);
	return status;
}
