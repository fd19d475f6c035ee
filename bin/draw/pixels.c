/* SPDX-License-Identifier: BSD-2-Clause */
#include "draw/pixels.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static lc_status
allocate(uint32_t width, uint32_t height, struct lc__pixels *out)
{
	const uint64_t n = (uint64_t)width * height;
	uint8_t *data;

	if (n == 0 || n > LC__PIXELS_MOST)
		return lc__error(LC_INVALID, 0,
		    "an image of %u x %u pixels; 1 to %llu pixels are allowed", width,
		    height, (unsigned long long)LC__PIXELS_MOST);
	data = malloc(n * 3);
	if (data == NULL)
		return lc__error(LC_NO_MEMORY, 0,
		    "out of memory for an image of %u x %u pixels", width, height);
	*out = (struct lc__pixels){ width, height, data };
	return LC_OK;
}

lc_status
lc__pixels_new(uint32_t width, uint32_t height, uint32_t colour, struct lc__pixels *out)
{
	return_if_error(allocate(width, height, out));
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			lc__pixels_set(out, x, y, colour);
	return LC_OK;
}

void
lc__pixels_free(struct lc__pixels *pixels)
{
	free(pixels->data);
	memset(pixels, 0, sizeof(*pixels));
}

/*
 * The part of the source that one pixel of the result covers along an axis, in parts of a
 * pixel: a pixel has as many parts as the result has pixels, so that all are whole.
 */
struct span {
	uint64_t first, end; /* pixels of the source */
	uint64_t from, to;   /* in parts */
	uint64_t unit;       /* parts of a pixel of the source */
};

static struct span
find_span(uint64_t at, uint64_t size, uint64_t source)
{
	struct span span = {
		.from = at * source,
		.to = (at + 1) * source,
		.unit = size,
	};

	if (size >= source) {
		span.first = (2 * at + 1) * source / (2 * size);
		span.end = span.first + 1;
		span.from = span.first;
		span.to = span.end;
		span.unit = 1;
	} else {
		span.first = span.from / size;
		span.end = (span.to + size - 1) / size;
	}
	return span;
}

static uint64_t
weight(const struct span *span, uint64_t i)
{
	const uint64_t from = i * span->unit, to = from + span->unit;

	return (to < span->to ? to : span->to) - (from > span->from ? from : span->from);
}

static uint32_t
mean_colour(const struct lc__pixels *source, const struct span *x, const struct span *y)
{
	const uint64_t total = (x->to - x->from) * (y->to - y->from);
	uint64_t sums[3] = { 0 };
	uint32_t colour = 0;

	for (uint64_t j = y->first; j < y->end; j++) {
		const uint8_t *pixel = source->data + (j * source->width + x->first) * 3;
		const uint64_t row = weight(y, j);
		for (uint64_t i = x->first; i < x->end; i++, pixel += 3) {
			const uint64_t share = row * weight(x, i);
			for (int c = 0; c < 3; c++)
				sums[c] += share * pixel[c];
		}
	}
	for (int c = 0; c < 3; c++)
		colour = colour << 8 | (uint32_t)((sums[c] + total / 2) / total);
	return colour;
}

lc_status
lc__pixels_resize(const struct lc__pixels *pixels, uint32_t width, uint32_t height,
    struct lc__pixels *out)
{
	struct lc__pixels made;

	return_if_error(allocate(width, height, &made));
	for (uint32_t y = 0; y < height; y++) {
		const struct span down = find_span(y, height, pixels->height);
		for (uint32_t x = 0; x < width; x++) {
			const struct span across = find_span(x, width, pixels->width);
			lc__pixels_set(&made, x, y, mean_colour(pixels, &across, &down));
		}
	}
	*out = made;
	return LC_OK;
}
