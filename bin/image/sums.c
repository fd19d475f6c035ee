/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/sums.h"

#include <string.h>

/* Samples whose sums stay in registers or the first cache. */
#define BLOCK 64

static void
down_block(const uint8_t *const *rows, const int16_t *weights, unsigned count, size_t x,
    size_t n, int32_t *restrict sums)
{
	for (unsigned k = 0; k < count; k++) {
		const uint8_t *restrict row = rows[k] + x;
		const int32_t weight = weights[k];
		if (n == BLOCK)
			for (size_t i = 0; i < BLOCK; i++)
				sums[i] += row[i] * weight;
		else
			for (size_t i = 0; i < n; i++)
				sums[i] += row[i] * weight;
	}
}

static void
down(const uint8_t *const *rows, const int16_t *weights, unsigned count, size_t n,
    const int32_t *before, int32_t *after, int16_t *out)
{
	lc__sums_down_from(rows, weights, count, 0, n, before, after, out);
}

void
lc__sums_down_from(const uint8_t *const *rows, const int16_t *weights, unsigned count,
    size_t first, size_t n, const int32_t *before, int32_t *after, int16_t *out)
{
	int32_t sums[BLOCK];

	for (size_t x = first; x < n; x += BLOCK) {
		const size_t size = n - x < BLOCK ? n - x : BLOCK;
		memset(sums, 0, sizeof(sums));
		if (before != NULL)
			memcpy(sums, before + x, size * sizeof(*sums));
		down_block(rows, weights, count, x, size, sums);
		if (after != NULL)
			memcpy(after + x, sums, size * sizeof(*sums));
		for (size_t i = 0; after == NULL && i < size; i++)
			out[x + i] = (int16_t)((sums[i] + LC__SUMS_DOWN_HALF) >>
			    LC__SUMS_DOWN_SHIFT);
	}
}

static void
split(const int16_t *pixels, size_t n, int16_t *const rows[3])
{
	for (int c = 0; c < 3; c++) {
		int16_t *restrict row = rows[c];
		for (size_t i = 0; i < n; i++)
			row[i] = pixels[3 * i + (size_t)c];
	}
}

static void
across(const int16_t *in, const uint32_t *first, const int16_t *weights, unsigned taps,
    size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i++, weights += taps) {
		const int16_t *from = in + first[i];
		int32_t sum = LC__SUMS_ACROSS_HALF;
		for (unsigned k = 0; k < taps; k++)
			sum += from[k] * weights[k];
		out[i] = (uint8_t)(sum >> LC__SUMS_ACROSS_SHIFT);
	}
}

static const struct lc__sums plain = { "plain", down, split, across };

size_t
lc__sums_all(const struct lc__sums *out[4])
{
	out[0] = &plain;
	return 1 + lc__sums_x86(out + 1);
}

const struct lc__sums *
lc__sums_best(void)
{
	const struct lc__sums *all[4];

	return all[lc__sums_all(all) - 1];
}
