/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/resize16.h"

#include <string.h>

#include "base/error.h"

/* Bits of the product of two weights. */
#define SHIFT 28

_Static_assert(LC__FILTER_ONE == 1 << (SHIFT / 2), "weights have half of the bits");

static uint64_t
lay_out(struct lc__resize16 *r, uint8_t *block)
{
	const uint64_t columns = r->x.target;
	uint64_t used = 0;

	r->rows = lc__scratch_place(block, &used,
	    (uint64_t)r->y.taps * r->samples * sizeof(*r->rows));
	r->sums = lc__scratch_place(block, &used, r->samples * sizeof(*r->sums));
	r->first = lc__scratch_place(block, &used, columns * sizeof(*r->first));
	r->count = lc__scratch_place(block, &used, columns * sizeof(*r->count));
	r->weights = lc__scratch_place(block, &used, columns * r->x.taps * sizeof(*r->weights));
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
	size = lay_out(r, NULL);
	block = lc__scratch_get(memory, 1, size);
	if (block == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for %llu bytes",
		    (unsigned long long)size);
	lay_out(r, block);
	for (uint32_t i = 0; i < r->x.target; i++) {
		lc__filter_range(&r->x, i, &first, &last);
		r->first[i] = first - r->first_column;
		r->count[i] = lc__filter_weights(&r->x, i,
		    r->weights + (size_t)i * r->x.taps);
	}
	return LC_OK;
}

static uint16_t *
row_at(const struct lc__resize16 *r, uint32_t y)
{
	return r->rows + (size_t)(y % r->y.taps) * r->samples;
}

static void
keep_row(struct lc__resize16 *r, uint32_t y, const uint8_t *pixels)
{
	const size_t first = (size_t)r->first_column * r->channels;
	uint16_t *row = row_at(r, y);

	if (r->deep) {
		memcpy(row, pixels + 2 * first, r->samples * sizeof(*row));
		return;
	}
	for (size_t i = 0; i < r->samples; i++)
		row[i] = (uint16_t)(pixels[first + i] * 257);
}

/* Row i of the result, whose source rows are all there, the first of them @p first. */
static void
make_row(struct lc__resize16 *r, uint32_t i, uint32_t first)
{
	const uint32_t n = lc__filter_weights(&r->y, i, r->down);

	memset(r->sums, 0, r->samples * sizeof(*r->sums));
	for (uint32_t k = 0; k < n; k++) {
		const uint16_t *row = row_at(r, first + k);
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
				    r->channels + channel] * (uint64_t)weights[k];
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
		keep_row(r, y + k, pixels + k * stride);
		for (; r->done < r->y.target; r->done++) {
			lc__filter_range(&r->y, r->done, &first, &last);
			if (last > y + k)
				break;
			make_row(r, r->done, first);
		}
	}
}
