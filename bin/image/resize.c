/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/resize.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/sink.h"

/* ---- the filter -------------------------------------------------------------- */

/*
 * Integers throughout, so that every machine has the same weights. Within the
 * limits of lc__filter_plan() nothing leaves 64 bits: positions stay below 2^45,
 * times twice a target pixel below 2^62; raw weights are at most 2^32, and their
 * sum, the triangle's area, at most 2^48, times LC__FILTER_ONE 2^62.
 */

#define PIXEL ((int64_t)65536)
#define MAX_SOURCE ((uint32_t)1 << 28)
#define MAX_TARGET 65535
#define MAX_SCALE 65536

/* To the nearest unit. A quotient of two sizes that lies exactly between two units
 * is exact in a double, so the result is the same on every machine. */
static int64_t
to_units(double pixels)
{
	return (int64_t)(pixels * (double)PIXEL + 0.5);
}

lc_status
lc__filter_plan(double from, double width, uint32_t source, uint32_t target,
    struct lc__filter *out)
{
	if (source > MAX_SOURCE || target > MAX_TARGET ||
	    width > (double)target * MAX_SCALE)
		return lc__error(LC_INVALID, 0, "%u pixels cannot be resampled to %u",
		    source, target);
	out->from = to_units(from);
	out->width = to_units(width);
	out->reach = (out->width + target / 2) / target;
	if (out->reach < PIXEL)
		out->reach = PIXEL;
	out->source = source;
	out->target = target;
	out->taps = (uint32_t)(2 * out->reach / PIXEL) + 1;
	if (out->taps > source)
		out->taps = source;
	return LC_OK;
}

/* Where the centre of target pixel i lies. */
static int64_t
centre_of(const struct lc__filter *filter, uint32_t i)
{
	const int64_t target = filter->target;

	return filter->from +
	    ((2 * (int64_t)i + 1) * filter->width + target) / (2 * target);
}

/* Pixels whose centres are within the reach of the filter. */
void
lc__filter_range(const struct lc__filter *filter, uint32_t i, uint32_t *first,
    uint32_t *last)
{
	const int64_t centre = centre_of(filter, i);
	const int64_t low = centre - filter->reach - PIXEL / 2;
	const int64_t high = centre + filter->reach + PIXEL / 2 - 1;
	const int64_t end = high / PIXEL - 1;

	*first = low < 0 ? 0 : (uint32_t)(low / PIXEL + 1);
	*last = end < filter->source ? (uint32_t)end : filter->source - 1;
}

uint32_t
lc__filter_weights(const struct lc__filter *filter, uint32_t i, int16_t *weights)
{
	const int64_t centre = centre_of(filter, i);
	int64_t sum = 0, upto = 0, given = 0;
	uint32_t first, last;

	lc__filter_range(filter, i, &first, &last);
	for (uint32_t k = first; k <= last; k++)
		sum += filter->reach - llabs(k * PIXEL + PIXEL / 2 - centre);
	/* Rounding the sums so far, not the weights, makes them sum to one. */
	for (uint32_t k = first; k <= last; k++) {
		int64_t due;
		upto += filter->reach - llabs(k * PIXEL + PIXEL / 2 - centre);
		due = (upto * LC__FILTER_ONE + sum / 2) / sum;
		weights[k - first] = (int16_t)(due - given);
		given = due;
	}
	return last - first + 1;
}

/* ---- samples of 8 bits ------------------------------------------------------- */

/*
 * Columns before rows: adding up rows is the cheapest way to make 12 megapixels few, and
 * needs memory for two rows of sums only, however tall the picture is.
 *
 * A row of the result takes what it needs from each band of source rows and is finished
 * in the band that has its last source row. A result row whose first source row is the
 * last row of a band waits for the next band; that source row is kept for it. So no sums
 * outlast a band when a picture is enlarged, where many result rows lie between the same
 * two source rows. When it is shrunk, result rows are as far apart as the filter reaches,
 * and two rows of sums are enough.
 */

/* lc__sums reads columns and weights in groups of this size. */
#define GROUP 8

/* Give every array its place in the block; returns the bytes that they need. */
static uint64_t
lay_out(struct lc__resize *r, uint8_t *block)
{
	const uint64_t columns = lc__round_up(r->plan.x.target, GROUP);
	const uint64_t margin = LC__SUMS_MARGIN + r->taps;
	const uint64_t samples = r->samples, row = samples / r->plan.channels + margin;
	uint64_t used = 0;

	r->first = lc__scratch_place(block, &used, columns * sizeof(*r->first));
	r->weights = lc__scratch_place(block, &used,
	    columns * r->taps * sizeof(*r->weights));
	r->mixed = lc__scratch_place(block, &used,
	    (samples + margin) * sizeof(*r->mixed));
	for (int c = 0; c < 3; c++)
		r->split[c] = lc__scratch_place(block, &used, row * sizeof(**r->split));
	for (int i = 0; i < LC__RESIZE_OPEN; i++) {
		r->open[i].weights = lc__scratch_place(block, &used,
		    (uint64_t)r->plan.y.taps * sizeof(int16_t));
		r->open[i].sums = lc__scratch_place(block, &used,
		    samples * sizeof(int32_t));
	}
	r->kept = lc__scratch_place(block, &used, samples);
	return used;
}

static void
plan_columns(struct lc__resize *r)
{
	const struct lc__filter *x = &r->plan.x;
	const size_t columns = lc__round_up(x->target, GROUP);
	uint32_t first, last;

	memset(r->first, 0, columns * sizeof(*r->first));
	memset(r->weights, 0, columns * r->taps * sizeof(*r->weights));
	for (uint32_t i = 0; i < x->target; i++) {
		lc__filter_range(x, i, &first, &last);
		r->first[i] = first - r->first_column;
		lc__filter_weights(x, i, r->weights + (size_t)i * r->taps);
	}
}

lc_status
lc__resize_begin(struct lc__resize *resize, const struct lc__resize_plan *plan,
    struct lc__scratch *memory)
{
	struct lc__resize *r = resize;
	uint32_t first, last, ignored;
	uint8_t *block;
	uint64_t size;

	memset(r, 0, sizeof(*r));
	r->plan = *plan;
	lc__filter_range(&plan->x, 0, &first, &ignored);
	lc__filter_range(&plan->x, plan->x.target - 1, &ignored, &last);
	r->first_column = first;
	r->samples = (size_t)(last - first + 1) * plan->channels;
	r->taps = plan->x.taps <= 4 ? 4 : (unsigned)lc__round_up(plan->x.taps, GROUP);
	size = lay_out(r, NULL);
	block = lc__scratch_get(memory, 1, size);
	if (block == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for %llu bytes",
		    (unsigned long long)size);
	lay_out(r, block);
	plan_columns(r);
	/* The margins are read too, and multiplied with weights of zero. */
	memset(r->mixed, 0, (uint8_t *)r->open[0].weights - (uint8_t *)r->mixed);
	return LC_OK;
}

/* The sums down the columns of a result row are complete: now sum along the row. */
static void
finish_row(struct lc__resize *r, uint32_t row)
{
	const struct lc__resize_plan *plan = &r->plan;
	const size_t at = row * plan->stride;

	if (plan->channels == 1) {
		plan->sums->across(r->mixed, r->first, r->weights, r->taps,
		    plan->x.target, plan->planes[0] + at);
		for (int c = 1; c < 3; c++)
			memcpy(plan->planes[c] + at, plan->planes[0] + at,
			    plan->x.target);
		return;
	}
	plan->sums->split(r->mixed, r->samples / 3, r->split);
	for (int c = 0; c < 3; c++)
		plan->sums->across(r->split[c], r->first, r->weights, r->taps,
		    plan->x.target, plan->planes[c] + at);
}

/* A band of source rows, with the one before it where it was kept. */
struct band {
	uint32_t y, rows;
	const uint8_t *pixels; /* from the first column that is needed */
	size_t stride;
};

static const uint8_t *
source_row(const struct lc__resize *r, const struct band *band, uint32_t y)
{
	return y < band->y ? r->kept : band->pixels + (y - band->y) * band->stride;
}

/* Add the next count source rows to a row of the result. */
static void
add_rows(struct lc__resize *r, struct lc__resize_row *row, const struct band *band,
    uint32_t count)
{
	const bool ends = row->used + count == row->count;
	const uint8_t *rows[LC__BAND + 2];
	int16_t weights[LC__BAND + 2];
	uint32_t n = count;

	memcpy(weights, row->weights + row->used, count * sizeof(*weights));
	for (uint32_t i = 0; i < count; i++)
		rows[i] = source_row(r, band, row->first + row->used + i);
	if (n % 2 != 0) {
		rows[n] = rows[n - 1];
		weights[n++] = 0;
	}
	r->plan.sums->down(rows, weights, n, r->samples, row->used > 0 ? row->sums : NULL,
	    ends ? NULL : row->sums, r->mixed);
	row->used += count;
}

/* Row i of the result, with its weights. */
static struct lc__resize_row *
open_row(struct lc__resize *r, uint32_t i)
{
	struct lc__resize_row *row = &r->open[i % LC__RESIZE_OPEN];
	uint32_t last;

	if (i == r->planned) {
		lc__filter_range(&r->plan.y, i, &row->first, &last);
		row->count = lc__filter_weights(&r->plan.y, i, row->weights);
		row->used = 0;
		r->planned++;
	}
	return row;
}

void
lc__resize_rows(struct lc__resize *r, uint32_t y, uint32_t rows, const uint8_t *pixels,
    size_t stride)
{
	const struct band band = { y, rows,
		pixels + (size_t)r->first_column * r->plan.channels, stride };
	const uint32_t last = y + rows - 1;

	for (uint32_t i = r->done; i < r->plan.y.target; i++) {
		struct lc__resize_row *row = open_row(r, i);
		const uint32_t next = row->first + row->used;
		const uint32_t end = row->first + row->count - 1;
		if (next > last)
			return;
		if (row->used == 0 && next == last && end > last) {
			memcpy(r->kept, source_row(r, &band, last), r->samples);
			return;
		}
		add_rows(r, row, &band, (end < last ? end : last) - next + 1);
		if (end <= last) {
			finish_row(r, i);
			r->done++;
		}
	}
}

/* ---- samples of 16 bits ------------------------------------------------------ */

/* Bits of the product of two weights. */
#define SHIFT 28

_Static_assert(LC__FILTER_ONE == 1 << (SHIFT / 2), "weights have half of the bits");

static uint64_t
lay_out_deep(struct lc__resize16 *r, uint8_t *block)
{
	const uint64_t columns = r->x.target;
	uint64_t used = 0;

	r->rows = lc__scratch_place(block, &used,
	    (uint64_t)r->y.taps * r->samples * sizeof(*r->rows));
	r->sums = lc__scratch_place(block, &used, r->samples * sizeof(*r->sums));
	r->first = lc__scratch_place(block, &used, columns * sizeof(*r->first));
	r->count = lc__scratch_place(block, &used, columns * sizeof(*r->count));
	r->weights = lc__scratch_place(block, &used,
	    columns * r->x.taps * sizeof(*r->weights));
	r->down = lc__scratch_place(block, &used, r->y.taps * sizeof(*r->down));
	return used;
}

lc_status
lc__resize16_begin(struct lc__resize16 *r, struct lc__scratch *memory)
{
	uint32_t first, last, ignored;
	uint8_t *block;
	uint64_t size;

	lc__filter_range(&r->x, 0, &r->first_column, &ignored);
	lc__filter_range(&r->x, r->x.target - 1, &ignored, &last);
	r->samples = (size_t)(last - r->first_column + 1) * r->channels;
	r->done = 0;
	size = lay_out_deep(r, NULL);
	block = lc__scratch_get(memory, 1, size);
	if (block == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for %llu bytes",
		    (unsigned long long)size);
	lay_out_deep(r, block);
	for (uint32_t i = 0; i < r->x.target; i++) {
		lc__filter_range(&r->x, i, &first, &last);
		r->first[i] = first - r->first_column;
		r->count[i] = lc__filter_weights(&r->x, i,
		    r->weights + (size_t)i * r->x.taps);
	}
	return LC_OK;
}

static uint16_t *
deep_row(const struct lc__resize16 *r, uint32_t y)
{
	return r->rows + (size_t)(y % r->y.taps) * r->samples;
}

static void
keep_deep_row(struct lc__resize16 *r, uint32_t y, const uint8_t *pixels)
{
	const size_t first = (size_t)r->first_column * r->channels;
	uint16_t *row = deep_row(r, y);

	if (r->deep) {
		memcpy(row, pixels + 2 * first, r->samples * sizeof(*row));
		return;
	}
	for (size_t i = 0; i < r->samples; i++)
		row[i] = (uint16_t)(pixels[first + i] * 257);
}

/* Row i of the result, when all its source rows, from @p first on, are there. */
static void
make_deep_row(struct lc__resize16 *r, uint32_t i, uint32_t first)
{
	const uint32_t n = lc__filter_weights(&r->y, i, r->down);

	memset(r->sums, 0, r->samples * sizeof(*r->sums));
	for (uint32_t k = 0; k < n; k++) {
		const uint16_t *row = deep_row(r, first + k);
		const uint32_t weight = (uint32_t)r->down[k];
		for (size_t s = 0; s < r->samples; s++)
			r->sums[s] += row[s] * weight;
	}
	for (uint32_t x = 0; x < r->x.target; x++) {
		const int16_t *weights = r->weights + (size_t)x * r->x.taps;
		for (unsigned c = 0; c < 3; c++) {
			const unsigned channel = r->channels == 1 ? 0 : c;
			uint64_t sum = (uint64_t)1 << (SHIFT - 1);
			for (uint32_t k = 0; k < r->count[x]; k++)
				sum += (uint64_t)r->sums[(size_t)(r->first[x] + k) *
					       r->channels +
					   channel] *
				    (uint64_t)weights[k];
			r->planes[c][i * r->stride + x] = (uint16_t)(sum >> SHIFT);
		}
	}
}

void
lc__resize16_rows(struct lc__resize16 *r, uint32_t y, uint32_t rows,
    const uint8_t *pixels, size_t stride)
{
	uint32_t first, last;

	for (uint32_t k = 0; k < rows; k++) {
		keep_deep_row(r, y + k, pixels + k * stride);
		for (; r->done < r->y.target; r->done++) {
			lc__filter_range(&r->y, r->done, &first, &last);
			if (last > y + k)
				break;
			make_deep_row(r, r->done, first);
		}
	}
}
