/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns before rows: adding up rows is the cheapest way to make 12 megapixels
 * few, and needs no more memory than two rows of sums, however tall the picture.
 *
 * A row of the result takes what it needs from each band of source rows and is
 * finished in the band that has its last one. One that a band would only begin
 * with its last row waits for the next band; that source row is kept for it. So
 * enlarging, where many rows of the result lie between the same two source rows,
 * needs no sums that outlast a band, and shrinking, where the rows of the result
 * are as far apart as the filter reaches, two.
 */
#include "image/resize.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/sink.h"

/* lc__sums reads columns and weights in groups of so many. */
#define GROUP 8

/* ---- setting up ------------------------------------------------------------------- */

/* Give every array its place in the block; returns what they need. */
static uint64_t
lay_out(struct lc__resize *r, uint8_t *block)
{
	const uint64_t columns = lc__round_up(r->plan.x.target, GROUP);
	const uint64_t margin = LC__SUMS_MARGIN + r->taps;
	const uint64_t samples = r->samples, row = samples / r->plan.channels + margin;
	uint64_t used = 0;

	r->first = lc__scratch_place(block, &used, columns * sizeof(*r->first));
	r->weights = lc__scratch_place(block, &used, columns * r->taps * sizeof(*r->weights));
	r->mixed = lc__scratch_place(block, &used, (samples + margin) * sizeof(*r->mixed));
	for (int c = 0; c < 3; c++)
		r->split[c] = lc__scratch_place(block, &used, row * sizeof(**r->split));
	for (int i = 0; i < LC__RESIZE_OPEN; i++) {
		r->open[i].weights = lc__scratch_place(block, &used,
		    (uint64_t)r->plan.y.taps * sizeof(int16_t));
		r->open[i].sums = lc__scratch_place(block, &used, samples * sizeof(int32_t));
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
	r->taps = plan->x.taps <= 4 ? 4 :
	    (unsigned)lc__round_up(plan->x.taps, GROUP);
	size = lay_out(r, NULL);
	block = lc__scratch_get(memory, 1, size);
	if (block == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for %llu bytes",
		    (unsigned long long)size);
	lay_out(r, block);
	plan_columns(r);
	/* Margins are multiplied with weights of zero, but read. */
	memset(r->mixed, 0, (uint8_t *)r->open[0].weights - (uint8_t *)r->mixed);
	return LC_OK;
}

/* ---- rows ------------------------------------------------------------------------- */

/* The sums of one row of the result are complete: along the row. */
static void
finish_row(struct lc__resize *r, uint32_t row)
{
	const struct lc__resize_plan *plan = &r->plan;
	const size_t at = row * plan->stride;

	if (plan->channels == 1) {
		plan->sums->across(r->mixed, r->first, r->weights, r->taps,
		    plan->x.target, plan->planes[0] + at);
		for (int c = 1; c < 3; c++)
			memcpy(plan->planes[c] + at, plan->planes[0] + at, plan->x.target);
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
	r->plan.sums->down(rows, weights, n, r->samples,
	    row->used > 0 ? row->sums : NULL, ends ? NULL : row->sums, r->mixed);
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
lc__resize_rows(struct lc__resize *r, uint32_t y, uint32_t rows,
    const uint8_t *pixels, size_t stride)
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
