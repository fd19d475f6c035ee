/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/heat_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "value/dtype.h"

#define ONE_ROW 64         /* elements of the longest vector that is drawn as one row */
#define MOST_ZOOM 32       /* pixels of an element */
#define THIN 24            /* pixels that a slice gets at least, where possible */
#define SAMPLED (1u << 20) /* cells that a scale is computed from, at most twice */
#define PERCENTILE 0.01

/* ---- where things go ------------------------------------------------------------ */

static uint64_t
divide_up(uint64_t n, uint64_t by)
{
	return n / by + (n % by > 0);
}

/* Rows of a folded vector have a power of two of elements, so that positions are easy to
 * count. */
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

/* Pixels of each of n slices along a side, with its label. */
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
	const double y = (room_of(side, down) - map->label) / (double)map->rows;

	return fmin(x, y);
}

/* No more slices beside each other than fit. */
static uint32_t
choose_across(const struct lc__heat_map *map, uint32_t side)
{
	const uint32_t most = side / (LC__HEAT_GAP + map->label + 2);
	uint32_t best = 0;

	for (uint32_t i = 1; i <= map->shown && i <= most; i++)
		if ((map->shown + i - 1) / i <= most &&
		    (best == 0 || scale_of(map, side, i) > scale_of(map, side, best)))
			best = i;
	return best ? best : most;
}

/* The elements of a cell along an axis of n: as many as along the other axis, or fewer if
 * the slice would be too thin. */
static uint64_t
choose_mean(uint64_t n, uint64_t both, uint32_t room)
{
	uint64_t mean = both;

	while (mean > 1 && divide_up(n, mean) < THIN)
		mean--;
	while (divide_up(n, mean) > room)
		mean++;
	return mean;
}

/* The pixels of a cell along an axis of n cells: as many as fit on both axes, more if the
 * slice is thin. */
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
	const uint32_t high = room_of(side, down) - map->label;
	const uint64_t x = divide_up(map->columns, wide), y = divide_up(map->rows, high);
	const uint64_t both = x > y ? x : y;
	uint32_t zoom;

	map->mean_x = choose_mean(map->columns, both, wide);
	map->mean_y = choose_mean(map->rows, both, high);
	map->cells_x = (uint32_t)divide_up(map->columns, map->mean_x);
	map->cells_y = (uint32_t)divide_up(map->rows, map->mean_y);
	zoom = (uint32_t)fmin(fmin(wide / map->cells_x, high / map->cells_y), MOST_ZOOM);
	map->zoom_x = choose_zoom(map->cells_x, zoom, wide);
	map->zoom_y = choose_zoom(map->cells_y, zoom, high);
	map->slice_width = map->cells_x * map->zoom_x;
	map->slice_height = map->cells_y * map->zoom_y;
	map->width = map->across * (map->slice_width + LC__HEAT_GAP) - LC__HEAT_GAP;
	map->height = down * (map->label + map->slice_height + LC__HEAT_GAP) -
	    LC__HEAT_GAP;
}

void
lc__heat_map_plan(const lc_tensor *tensor, uint32_t side, bool labels,
    struct lc__heat_map *out)
{
	uint32_t fit;

	memset(out, 0, sizeof(*out));
	out->tensor = tensor;
	if (tensor->nbytes == 0)
		return;
	find_shape(tensor, out);
	out->label = labels && out->slices > 1 ? LC__HEAT_LABEL : 0;
	fit = side / (LC__HEAT_GAP + out->label + 2);
	out->shown = (uint32_t)fmin(fmin((double)out->slices, LC__HEAT_SLICES),
	    (double)fit * fit);
	out->across = choose_across(out, side);
	choose_scale(out, side);
}

struct lc__rect
lc__heat_map_slice(const struct lc__heat_map *map, double x, double y, uint32_t i)
{
	return (
	    struct lc__rect){ x + (i % map->across) * (map->slice_width + LC__HEAT_GAP),
		y + (i / map->across) * (map->label + map->slice_height + LC__HEAT_GAP) +
		    map->label,
		map->slice_width, map->slice_height };
}

/* ---- values --------------------------------------------------------------------- */

/* The elements that one cell shows. */
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
			/* A running mean, because the sum of doubles may overflow. */
			patch.mean += value / (double)patch.n -
			    patch.mean / (double)patch.n;
		}
	return patch;
}

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

lc_status
lc__heat_map_scale(const struct lc__heat_map *map, struct lc__heat_scale *out)
{
	const uint64_t slice = (uint64_t)map->cells_x * map->cells_y;
	const uint64_t cells = map->shown * slice;
	const uint64_t step = cells / SAMPLED + 1;
	struct lc__heat_scale scale = { LC__COLOURS_HEAT, 1, 0, 0, 0 };
	double *values;
	size_t n = 0;

	values = malloc((cells / step + 1) * sizeof(*values));
	if (values == NULL)
		return lc__no_memory("heat map");
	for (uint64_t i = 0; i < cells; i += step) {
		const struct patch patch = read_patch(map, i / slice,
		    i % slice % map->cells_x * map->mean_x,
		    i % slice / map->cells_x * map->mean_y);
		if (patch.n > 0 && !patch.not_finite)
			values[n++] = patch.mean;
	}
	if (n > 0) {
		const double last = (double)(n - 1);
		qsort(values, n, sizeof(*values), by_value);
		scale.low = values[(size_t)floor(PERCENTILE * last)];
		scale.high = values[(size_t)ceil((1 - PERCENTILE) * last)];
		if (!(scale.low < scale.high)) {
			scale.low = values[0];
			scale.high = values[n - 1];
		}
		if (scale.low < 0 && scale.high > 0) {
			scale.map = LC__COLOURS_DIVERGING;
			scale.high = fmax(-scale.low, scale.high);
			scale.low = -scale.high;
		}
		for (size_t i = 0; i < n; i++) {
			scale.below += step * (values[i] < scale.low);
			scale.above += step * (values[i] > scale.high);
		}
	}
	free(values);
	*out = scale;
	return LC_OK;
}

/* ---- drawing -------------------------------------------------------------------- */

static uint32_t
colour_of(const struct lc__heat_scale *scale, const struct patch *patch)
{
	/* Halve first: the difference of two doubles may overflow. */
	const double size = scale->high / 2 - scale->low / 2;

	if (patch->not_finite)
		return LC__COLOUR_NOT_FINITE;
	if (patch->n == 0)
		return LC__WASH;
	return lc__colour_at(scale->map,
	    size > 0 ? (patch->mean / 2 - scale->low / 2) / size : 0.5);
}

static lc_status
draw_slice(const struct lc__heat_map *map, const struct lc__heat_scale *scale,
    struct lc__picture *picture, struct lc__rect area, uint32_t slice)
{
	struct lc__pixels cells;

	return_if_error(lc__pixels_new(map->cells_x, map->cells_y, LC__WASH, &cells));
	for (uint32_t y = 0; y < map->cells_y; y++)
		for (uint32_t x = 0; x < map->cells_x; x++) {
			const struct patch patch = read_patch(map, slice, x * map->mean_x,
			    y * map->mean_y);
			lc__pixels_set(&cells, x, y, colour_of(scale, &patch));
		}
	lc__picture_image(picture, area, &cells);
	lc__pixels_free(&cells);
	return LC_OK;
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

void
lc__heat_map_draw(const struct lc__heat_map *map, const struct lc__heat_scale *scale,
    struct lc__picture *picture, double x, double y)
{
	const struct lc__font font = { .size = LC__SMALL, .colour = LC__DIM_INK };

	for (uint32_t i = 0; i < map->shown; i++) {
		const struct lc__rect area = lc__heat_map_slice(map, x, y, i);
		lc__picture_failed(picture, draw_slice(map, scale, picture, area, i));
		if (map->label > 0) {
			char name[LC_MAX_NDIM * 21 + 1];
			name_slice(map->tensor, i, name, sizeof(name));
			if (lc__picture_text_width(picture, &font, lc_id_of(name)) <=
			    map->slice_width + LC__HEAT_GAP - 1)
				lc__picture_text(picture, area.x, area.y - 3, &font,
				    lc_id_of(name), 0);
		}
	}
}
