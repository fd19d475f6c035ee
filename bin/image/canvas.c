/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

lc_status
lc__canvas_new(uint32_t width, uint32_t height, uint32_t colour, struct lc__canvas *out)
{
	const uint64_t pixels = (uint64_t)width * height;
	const struct lc__area all = { 0, 0, width, height };
	struct lc__canvas canvas = { .width = width, .height = height };

	if (pixels == 0 || pixels > LC__CANVAS_PIXELS)
		return lc__error(LC_INVALID, 0,
		    "a picture of %u x %u pixels: there may be 1 to %llu", width, height,
		    (unsigned long long)LC__CANVAS_PIXELS);
	canvas.pixels = malloc(pixels * 3);
	if (canvas.pixels == NULL)
		return lc__error(LC_NO_MEMORY, 0,
		    "out of memory for a picture of %u x %u pixels", width, height);
	lc__canvas_fill(&canvas, all, colour);
	*out = canvas;
	return LC_OK;
}

void
lc__canvas_free(struct lc__canvas *canvas)
{
	free(canvas->pixels);
	memset(canvas, 0, sizeof(*canvas));
}

static void
set(struct lc__canvas *canvas, int64_t x, int64_t y, uint32_t colour)
{
	uint8_t *pixel;

	if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height)
		return;
	pixel = canvas->pixels + ((size_t)y * canvas->width + (size_t)x) * 3;
	pixel[0] = (uint8_t)(colour >> 16);
	pixel[1] = (uint8_t)(colour >> 8);
	pixel[2] = (uint8_t)colour;
}

/* The part of [at, at + size) that lies in [0, limit). */
static void
clip(int64_t at, int64_t size, uint32_t limit, int64_t *first, int64_t *end)
{
	*first = at < 0 ? 0 : at;
	*end = at >= limit || size > limit - at ? limit : at + size;
}

void
lc__canvas_fill(struct lc__canvas *canvas, struct lc__area area, uint32_t colour)
{
	int64_t x0, x1, y0, y1;

	clip(area.x, area.width, canvas->width, &x0, &x1);
	clip(area.y, area.height, canvas->height, &y0, &y1);
	for (int64_t y = y0; y < y1; y++)
		for (int64_t x = x0; x < x1; x++)
			set(canvas, x, y, colour);
}

void
lc__canvas_frame(struct lc__canvas *canvas, struct lc__area area, uint32_t line,
    uint32_t colour)
{
	const int64_t across = area.width < line ? area.width : line;
	const int64_t down = area.height < line ? area.height : line;
	const struct lc__area sides[] = {
		{ area.x, area.y, area.width, down },
		{ area.x, area.y + area.height - down, area.width, down },
		{ area.x, area.y, across, area.height },
		{ area.x + area.width - across, area.y, across, area.height },
	};

	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
		lc__canvas_fill(canvas, sides[i], colour);
}

void
lc__canvas_cross(struct lc__canvas *canvas, struct lc__area area, uint32_t colour)
{
	const int64_t wide = area.width - 1, high = area.height - 1;
	const int64_t steps = wide > high ? wide : high;

	for (int64_t i = 0; i <= steps; i++) {
		const int64_t x = steps ? (2 * i * wide + steps) / (2 * steps) : 0;
		const int64_t y = steps ? (2 * i * high + steps) / (2 * steps) : 0;
		set(canvas, area.x + x, area.y + y, colour);
		set(canvas, area.x + x, area.y + high - y, colour);
	}
}

/* ---- scaling -------------------------------------------------------------------- */

/*
 * What one pixel of the target covers of the source along an axis, in parts of a
 * pixel: no more parts than the source has pixels, so that sums fit.
 */
struct span {
	uint64_t first, end; /* pixels of the source */
	uint64_t from, to;   /* in parts */
	uint64_t unit;       /* parts a pixel of the source */
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
mean_colour(const struct lc__canvas *source, const struct span *x, const struct span *y)
{
	const uint64_t total = (x->to - x->from) * (y->to - y->from);
	uint64_t sums[3] = { 0 };
	uint32_t colour = 0;

	for (uint64_t j = y->first; j < y->end; j++) {
		const uint8_t *pixel = source->pixels +
		    (j * source->width + x->first) * 3;
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

void
lc__canvas_blit(struct lc__canvas *canvas, struct lc__area area,
    const struct lc__canvas *source)
{
	int64_t x0, x1, y0, y1;

	clip(area.x, area.width, canvas->width, &x0, &x1);
	clip(area.y, area.height, canvas->height, &y0, &y1);
	for (int64_t y = y0; y < y1; y++) {
		const struct span down = find_span((uint64_t)(y - area.y),
		    (uint64_t)area.height, source->height);
		for (int64_t x = x0; x < x1; x++) {
			const struct span across = find_span((uint64_t)(x - area.x),
			    (uint64_t)area.width, source->width);
			set(canvas, x, y, mean_colour(source, &across, &down));
		}
	}
}

void
lc__colour_heat(uint32_t out[LC__HEAT_COLOURS])
{
	memcpy(out, lc__colours(LC__COLOURS_HEAT), LC__HEAT_COLOURS * sizeof(*out));
}
