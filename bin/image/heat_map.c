/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/heat_map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "image/canvas.h"
#include "image/font.h"
#include "value/dtype.h"

#define ONE_ROW 64   /* elements of a vector that is not folded */
#define MOST_ZOOM 32 /* pixels of an element */
#define THIN 24      /* pixels that a slice has at least, if it can */

/* ---- where things go ------------------------------------------------------------ */

static uint64_t
divide_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* A vector's rows are a power of two long, so that positions can be counted. */
static void
fold_vector(uint64_t n, struct lc__heat_map *map)
{
	map->columns = n;
	if (n > ONE_ROW)
		for (map->columns = 1; map->columns < divide_up(n, map->columns);)
			map->columns *= 2;
	map->rows = divide_up(n, map->columns);
}

static void
find_shape(const lc_tensor *tensor, struct lc__heat_map *map)
{
	const uint32_t n = tensor->ndim;

	map->slices = map->rows = map->columns = 1;
	if (n == 1)
		fold_vector(tensor->shape[0], map);
	if (n < 2)
		return;
	map->columns = tensor->shape[n - 1];
	map->rows = tensor->shape[n - 2];
	for (uint32_t i = 0; i + 2 < n; i++)
		map->slices *= tensor->shape[i];
}

static uint32_t
label_height(const struct lc__heat_map *map)
{
	return map->slices > 1 ? LC__HEAT_LABEL : 0;
}

/* Pixels that each of n slices gets along a side, its label counted. */
static uint32_t
room_of(uint32_t side, uint32_t n)
{
	return (side - (n - 1) * LC__HEAT_GAP) / n;
}

static double
scale_of(const struct lc__heat_map *map, uint32_t side, uint32_t across)
{
	const uint32_t down = (map->shown + across - 1) / across;
	const double x = room_of(side, across) / (double)map->columns;
	const double y = (room_of(side, down) - label_height(map)) / (double)map->rows;

	return fmin(x, y);
}

/* No more slices beside each other than fit. */
static uint32_t
choose_across(const struct lc__heat_map *map, uint32_t side)
{
	const uint32_t most = side / (LC__HEAT_GAP + LC__HEAT_LABEL + 2);
	uint32_t best = 0;

	for (uint32_t i = 1; i <= map->shown && i <= most; i++)
		if ((map->shown + i - 1) / i <= most &&
		    (best == 0 || scale_of(map, side, i) > scale_of(map, side, best)))
			best = i;
	return best ? best : most;
}

/* The zoom of an axis of n pixels: all that both axes can have, more if it is thin. */
static uint32_t
choose_zoom(uint64_t n, uint32_t both, uint32_t room)
{
	uint32_t zoom = both;

	while (zoom < MOST_ZOOM && n * zoom < THIN && n * (zoom + 1) <= room)
		zoom++;
	return zoom;
}

static void
choose_scale(struct lc__heat_map *map, uint32_t side)
{
	const uint32_t down = (map->shown + map->across - 1) / map->across;
	const uint32_t wide = room_of(side, map->across);
	const uint32_t high = room_of(side, down) - label_height(map);
	uint64_t x, y;
	uint32_t zoom;

	map->mean_x = divide_up(map->columns, wide);
	map->mean_y = divide_up(map->rows, high);
	x = divide_up(map->columns, map->mean_x);
	y = divide_up(map->rows, map->mean_y);
	zoom = (uint32_t)fmin(fmin((double)(wide / x), (double)(high / y)), MOST_ZOOM);
	map->zoom_x = choose_zoom(x, zoom, wide);
	map->zoom_y = choose_zoom(y, zoom, high);
	map->slice_width = (uint32_t)x * map->zoom_x;
	map->slice_height = (uint32_t)y * map->zoom_y;
	map->width = map->across * (map->slice_width + LC__HEAT_GAP) - LC__HEAT_GAP;
	map->height = down * (label_height(map) + map->slice_height + LC__HEAT_GAP) -
	    LC__HEAT_GAP;
}

void
lc__heat_map_plan(const lc_tensor *tensor, uint32_t side, struct lc__heat_map *out)
{
	const uint32_t fit = side / (LC__HEAT_GAP + LC__HEAT_LABEL + 2);

	memset(out, 0, sizeof(*out));
	out->tensor = tensor;
	if (tensor->nbytes == 0)
		return;
	find_shape(tensor, out);
	out->shown = (uint32_t)fmin(fmin((double)out->slices, LC__HEAT_SLICES),
	    (double)fit * fit);
	out->across = choose_across(out, side);
	choose_scale(out, side);
}

struct lc__area
lc__heat_map_slice(const struct lc__heat_map *map, int64_t x, int64_t y, uint32_t i)
{
	const uint32_t label = label_height(map);
	const struct lc__area area = { x +
		    (i % map->across) * (map->slice_width + LC__HEAT_GAP),
		y + (i / map->across) * (label + map->slice_height + LC__HEAT_GAP) +
		    label,
		map->slice_width, map->slice_height };

	return area;
}

/* ---- colours -------------------------------------------------------------------- */

/* The elements that one pixel shows. */
struct patch {
	double mean;     /* of the finite elements */
	uint64_t n;      /* how many those are */
	bool not_finite; /* some element is not finite */
};

static struct patch
read_patch(const struct lc__heat_map *map, uint64_t slice, uint64_t x, uint64_t y)
{
	const lc_tensor *tensor = map->tensor;
	const size_t size = lc_dtype_size(tensor->dtype);
	const uint64_t elements = tensor->nbytes / size;
	struct patch patch = { 0 };

	for (uint64_t j = y; j < y + map->mean_y && j < map->rows; j++)
		for (uint64_t i = x; i < x + map->mean_x && i < map->columns; i++) {
			const uint64_t at = (slice * map->rows + j) * map->columns + i;
			double value;
			if (at >= elements) /* after the end of a folded vector */
				return patch;
			value = lc__element_real(tensor->dtype,
			    (const char *)tensor->data + at * size);
			if (!isfinite(value)) {
				patch.not_finite = true;
				continue;
			}
			patch.n++;
			/* A running mean: the sum of doubles may be too large for one. */
			patch.mean += value / (double)patch.n -
			    patch.mean / (double)patch.n;
		}
	return patch;
}

static void
draw_slice(const struct lc__heat_map *map, const struct lc__value_range *range,
    const uint32_t colours[LC__HEAT_COLOURS], struct lc__canvas *canvas,
    struct lc__area area, uint32_t slice)
{
	for (uint32_t y = 0; y < map->slice_height / map->zoom_y; y++)
		for (uint32_t x = 0; x < map->slice_width / map->zoom_x; x++) {
			const struct lc__area dot = { area.x + x * map->zoom_x,
				area.y + y * map->zoom_y, map->zoom_x, map->zoom_y };
			const struct patch patch = read_patch(map, slice, x * map->mean_x,
			    y * map->mean_y);
			if (patch.not_finite)
				lc__canvas_fill(canvas, dot, LC__COLOUR_NOT_FINITE);
			else if (patch.n > 0)
				lc__canvas_fill(canvas, dot,
				    colours[lround(
					lc__value_range_share(range, patch.mean) *
					(LC__HEAT_COLOURS - 1))]);
		}
}

/* "3" or "1,3": the leading indices of a slice. */
static void
name_slice(const lc_tensor *tensor, uint64_t slice, char *out, size_t room)
{
	char text[LC_MAX_NDIM * 21 + 1];
	size_t at = sizeof(text) - 1;

	text[at] = '\0';
	for (uint32_t i = tensor->ndim - 2; i-- > 0;) {
		char part[24];
		const int n = snprintf(part, sizeof(part), "%llu%s",
		    (unsigned long long)(slice % tensor->shape[i]), text[at] ? "," : "");
		at -= (size_t)n;
		memcpy(text + at, part, (size_t)n);
		slice /= tensor->shape[i];
	}
	snprintf(out, room, "%s", text + at);
}

static void
label_slice(const struct lc__heat_map *map, struct lc__canvas *canvas,
    struct lc__area area, uint32_t slice)
{
	const struct lc__pen pen = { LC__DIM_INK, 1 };
	char name[LC_MAX_NDIM * 21 + 1];

	name_slice(map->tensor, slice, name, sizeof(name));
	if (lc__text_width(strlen(name), 1) <= map->slice_width)
		lc__text_draw(canvas, area.x, area.y - LC__GLYPH_HEIGHT, pen,
		    lc_id_of(name));
}

void
lc__heat_map_draw(const struct lc__heat_map *map, const struct lc__value_range *range,
    struct lc__canvas *canvas, int64_t x, int64_t y)
{
	uint32_t colours[LC__HEAT_COLOURS];

	lc__colour_heat(colours);
	for (uint32_t i = 0; i < map->shown; i++) {
		const struct lc__area area = lc__heat_map_slice(map, x, y, i);
		draw_slice(map, range, colours, canvas, area, i);
		if (map->slices > 1)
			label_slice(map, canvas, area, i);
	}
}
