/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/embedding_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "draw/axes.h"

#define HEAD 46         /* height of title and notes, in pixels */
#define TWO_COLUMNS 700 /* from this width on the regions are beside the map */
#define LIST 250        /* width of the list of regions there */
#define GAP 24
#define ROW 66      /* height of a region that has an image */
#define TEXT_ROW 38 /* height of a region that has none */
#define IMAGE 56
#define BADGE 9           /* radius of the disc with a region's number */
#define FOOT 24           /* height of the scale below the plane */
#define DOTS_MOST 1500    /* up to so many points are drawn as dots, too */
#define CELLS 160         /* cells along the longer side, when peaks are searched */
#define APART 0.09        /* least distance of two peaks, as a share of that side */
#define LOWEST (1.0 / 12) /* least height of a peak, as a share of the highest */

/* ---- the plane -------------------------------------------------------------------- */

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The range of the values, without the outliers that are far from all others. */
static lc_status
find_range(const double *points, size_t n, int axis, double *low, double *high)
{
	double *values = malloc(n * sizeof(*values));
	size_t cut = n / 500;
	double margin;

	if (values == NULL)
		return lc__no_memory("view");
	for (size_t i = 0; i < n; i++)
		values[i] = points[2 * i + axis];
	qsort(values, n, sizeof(*values), by_value);
	margin = (values[n - 1 - cut] - values[cut]) * 0.15;
	*low = fmax(values[0], values[cut] - margin);
	*high = fmin(values[n - 1], values[n - 1 - cut] + margin);
	free(values);
	return LC_OK;
}

/* Standard deviation of the Gaussian that smooths the density, as a share of the longer
 * side. Many points need less smoothing. */
static double
smoothing(size_t n)
{
	return fmin(fmax(0.11 / pow((double)n, 0.25), 0.007), 0.035);
}

static lc_status
find_plane(const double *points, size_t n, struct lc__plane *out)
{
	double side[2], longer;

	for (int axis = 0; axis < 2; axis++) {
		return_if_error(
		    find_range(points, n, axis, &out->low[axis], &out->high[axis]));
		side[axis] = out->high[axis] - out->low[axis];
	}
	longer = fmax(side[0], side[1]);
	if (!(longer > 0))
		longer = 1;
	for (int axis = 0; axis < 2; axis++) {
		/* The margin has room for the tails of the Gaussian. No side is shorter
		 * than half of the other. */
		const double more = fmax(side[axis], longer * 0.5) - side[axis];
		const double margin = longer * fmax(3 * smoothing(n), 0.05);
		out->low[axis] -= more / 2 + margin;
		out->high[axis] += more / 2 + margin;
	}
	out->outside = 0;
	for (size_t i = 0; i < n; i++)
		for (int axis = 0; axis < 2; axis++)
			if (points[2 * i + axis] < out->low[axis] ||
			    points[2 * i + axis] > out->high[axis]) {
				out->outside++;
				break;
			}
	return LC_OK;
}

/* ---- the density ------------------------------------------------------------------ */

/* The density in the cells of a plane; row 0 has the smallest y. */
struct density {
	float *cells; /* malloc'ed */
	size_t width, height;
	float most;
};

/* Blur along one axis: replace each cell by the weighted sum of its neighbours. */
static void
blur(float *cells, size_t lines, size_t n, size_t line_step, size_t step,
    const float *weights, size_t reach, float *room)
{
	for (size_t line = 0; line < lines; line++) {
		float *at = cells + line * line_step;
		memset(room, 0, n * sizeof(*room));
		for (size_t i = 0; i < n; i++) {
			const float cell = at[i * step];
			const size_t first = i > reach ? i - reach : 0;
			const size_t end = i + reach < n ? i + reach + 1 : n;
			for (size_t j = first; cell != 0 && j < end; j++)
				room[j] += cell * weights[j > i ? j - i : i - j];
		}
		for (size_t i = 0; i < n; i++)
			at[i * step] = room[i];
	}
}

static lc_status
find_density(const double *points, size_t n, const struct lc__plane *plane, size_t width,
    size_t height, struct density *out)
{
	const double sigma = smoothing(n) * (double)(width > height ? width : height);
	const double x_scale = (double)width / (plane->high[0] - plane->low[0]);
	const double y_scale = (double)height / (plane->high[1] - plane->low[1]);
	const size_t reach = (size_t)ceil(4 * sigma);
	float *room = malloc((width > height ? width : height) * sizeof(*room));
	float *weights = malloc((reach + 1) * sizeof(*weights));

	*out = (struct density){ calloc(width * height, sizeof(*out->cells)), width,
		height, 0 };
	if (room == NULL || weights == NULL || out->cells == NULL) {
		free(room);
		free(weights);
		free(out->cells);
		return lc__no_memory("view");
	}
	for (size_t i = 0; i <= reach; i++)
		weights[i] = (float)exp(-0.5 * (double)(i * i) / (sigma * sigma));
	for (size_t i = 0; i < n; i++) {
		const double x = (points[2 * i] - plane->low[0]) * x_scale;
		const double y = (points[2 * i + 1] - plane->low[1]) * y_scale;
		if (x >= 0 && y >= 0 && x < (double)width && y < (double)height)
			out->cells[(size_t)y * width + (size_t)x]++;
	}
	blur(out->cells, height, width, width, 1, weights, reach, room);
	blur(out->cells, width, height, 1, width, weights, reach, room);
	for (size_t i = 0; i < width * height; i++)
		if (out->cells[i] > out->most)
			out->most = out->cells[i];
	free(room);
	free(weights);
	return LC_OK;
}

/* ---- the regions ------------------------------------------------------------------- */

struct peak {
	float height;
	size_t x, y;
};

static int
by_height(const void *a, const void *b)
{
	const struct peak *p = a, *q = b;

	if (p->height != q->height)
		return p->height < q->height ? 1 : -1;
	return p->y != q->y ? (p->y > q->y) - (p->y < q->y)
			    : (p->x > q->x) - (p->x < q->x);
}

static bool
is_peak(const struct density *density, size_t x, size_t y)
{
	const float here = density->cells[y * density->width + x];

	if (here < density->most * LOWEST)
		return false;
	for (int dy = -1; dy <= 1; dy++)
		for (int dx = -1; dx <= 1; dx++) {
			const size_t i = x + (size_t)dx, j = y + (size_t)dy;
			/* x - 1 and y - 1 wrap around below 0, and then are not less
			 * than the size. */
			if (i < density->width && j < density->height &&
			    density->cells[j * density->width + i] > here)
				return false;
		}
	return true;
}

/* Take the highest peaks that are far enough from each other. */
static lc_status
find_peaks(const struct density *density, struct lc__regions *out)
{
	const struct lc__plane *plane = &out->plane;
	const double apart = APART * CELLS;
	struct peak *peaks = malloc(density->width * density->height * sizeof(*peaks));
	size_t n = 0;

	if (peaks == NULL)
		return lc__no_memory("view");
	for (size_t y = 0; y < density->height; y++)
		for (size_t x = 0; x < density->width; x++)
			if (is_peak(density, x, y))
				peaks[n++] = (struct peak){
					density->cells[y * density->width + x], x, y
				};
	qsort(peaks, n, sizeof(*peaks), by_height);
	for (size_t i = 0; i < n && out->n < LC__REGIONS_MOST; i++) {
		const double x = plane->low[0] +
		    (plane->high[0] - plane->low[0]) * ((double)peaks[i].x + 0.5) /
			(double)density->width;
		const double y = plane->low[1] +
		    (plane->high[1] - plane->low[1]) * ((double)peaks[i].y + 0.5) /
			(double)density->height;
		const double cell = (plane->high[0] - plane->low[0]) /
		    (double)density->width;
		bool far = true;
		for (size_t k = 0; k < out->n; k++)
			far &= hypot(out->all[k].x - x, out->all[k].y - y) >=
			    apart * cell;
		if (far)
			out->all[out->n++] = (struct lc__region){ .x = x, .y = y };
	}
	free(peaks);
	return LC_OK;
}

static void
assign_points(const double *points, size_t n, struct lc__regions *out)
{
	double nearest[LC__REGIONS_MOST];

	for (size_t k = 0; k < out->n; k++)
		nearest[k] = INFINITY;
	for (size_t i = 0; i < n; i++) {
		double least = INFINITY;
		size_t mine = 0;
		for (size_t k = 0; k < out->n; k++) {
			const double far = hypot(points[2 * i] - out->all[k].x,
			    points[2 * i + 1] - out->all[k].y);
			if (far < least) {
				least = far;
				mine = k;
			}
			if (far < nearest[k]) {
				nearest[k] = far;
				out->all[k].example = i;
			}
		}
		out->all[mine].points++;
	}
}

lc_status
lc__regions_find(const double *points, size_t n, struct lc__regions *out)
{
	struct density density;
	double side[2], longer;
	lc_status status;

	memset(out, 0, sizeof(*out));
	return_if_error(find_plane(points, n, &out->plane));
	for (int axis = 0; axis < 2; axis++)
		side[axis] = out->plane.high[axis] - out->plane.low[axis];
	longer = fmax(side[0], side[1]);
	return_if_error(find_density(points, n, &out->plane,
	    (size_t)fmax(round(CELLS * side[0] / longer), 1),
	    (size_t)fmax(round(CELLS * side[1] / longer), 1), &density));
	status = find_peaks(&density, out);
	free(density.cells);
	if (status == LC_OK)
		assign_points(points, n, out);
	return status;
}

/* ---- the map ---------------------------------------------------------------------- */

static lc_status
draw_density(struct lc__picture *picture, const struct lc__embedding_map *map,
    const struct lc__axes *axes)
{
	const struct lc__rect plot = axes->plot;
	const struct lc__plane plane = { { axes->x.low, axes->y.low },
		{ axes->x.high, axes->y.high }, 0 };
	struct density density;
	struct lc__pixels pixels;
	lc_status status;

	return_if_error(find_density(map->points, map->n, &plane, (size_t)plot.width,
	    (size_t)plot.height, &density));
	status = lc__pixels_new((uint32_t)plot.width, (uint32_t)plot.height, LC__PAPER,
	    &pixels);
	if (status == LC_OK) {
		for (size_t y = 0; y < density.height; y++)
			for (size_t x = 0; x < density.width; x++) {
				const float cell = density.cells[y * density.width + x];
				/* The square root makes regions of low density visible,
				 * too. */
				lc__pixels_set(&pixels, (uint32_t)x,
				    (uint32_t)(density.height - 1 - y),
				    lc__colour_at(LC__COLOURS_DENSITY,
					density.most > 0 ? sqrt(cell / density.most)
							 : 0));
			}
		lc__picture_image(picture, plot, &pixels);
		lc__pixels_free(&pixels);
	}
	free(density.cells);
	return status;
}

static void
draw_badge(struct lc__picture *picture, double x, double y, size_t number)
{
	const struct lc__font font = { .size = LC__SMALL,
		.colour = LC__INK,
		.bold = true,
		.align = LC__CENTRE };
	char text[8];

	lc__picture_dot(picture, (struct lc__point){ x, y }, BADGE, LC__INK);
	lc__picture_dot(picture, (struct lc__point){ x, y }, BADGE - 1.2, LC__PAPER);
	snprintf(text, sizeof(text), "%zu", number % 100);
	lc__picture_text(picture, x, y + 4, &font, lc_id_of(text), 0);
}

/* Draw the legend, "few [colours] many vectors", and the number of vectors outside of
 * the map. */
static void
draw_scale(struct lc__picture *picture, const struct lc__embedding_map *map, double x,
    double y, double width)
{
	const struct lc__font font = { .size = LC__SMALL, .colour = LC__INK };
	struct lc__rect area = { 0, round(y) - 9, 2, 10 };
	char text[LC__TICKS_TEXT + 40], n[LC__TICKS_TEXT];
	const double from = x;

	x += lc__picture_text(picture, x, y, &font, lc_id_of("few"), 0) + 6;
	area.x = round(x);
	for (int i = 0; i < 50; i++, area.x += 2)
		lc__picture_fill(picture, area,
		    lc__colour_at(LC__COLOURS_DENSITY, i / 49.0));
	lc__picture_frame(picture, (struct lc__rect){ round(x), area.y, 100, 10 }, 1,
	    LC__RULE);
	x = area.x + 6;
	x += lc__picture_text(picture, x, y, &font, lc_id_of("many vectors"), 0);
	if (map->regions->plane.outside == 0)
		return;
	snprintf(text, sizeof(text), "%s outside",
	    lc__ticks_text((double)map->regions->plane.outside, n, sizeof(n)));
	lc__picture_text(picture, x + 16, y, &font, lc_id_of(text),
	    from + width - x - 16);
}

/* Give both axes one scale: widen the range of the axis that has room. */
static void
lay(struct lc__picture *picture, struct lc__axes *axes)
{
	struct lc__axis *all[] = { &axes->x, &axes->y };
	double unit;

	lc__axes_lay(picture, axes);
	const double sides[] = { axes->plot.width, axes->plot.height };
	unit = fmax((axes->x.high - axes->x.low) / sides[0],
	    (axes->y.high - axes->y.low) / sides[1]);
	for (int i = 0; i < 2; i++) {
		const double more = unit * sides[i] - (all[i]->high - all[i]->low);
		all[i]->low -= more / 2;
		all[i]->high += more / 2;
	}
	lc__axes_lay(picture, axes);
}

static lc_status
draw_plane(struct lc__picture *picture, const struct lc__embedding_map *map,
    struct lc__axes *axes)
{
	lay(picture, axes);
	return_if_error(draw_density(picture, map, axes));
	for (size_t i = 0; map->n <= DOTS_MOST && i < map->n; i++) {
		const double x = map->points[2 * i], y = map->points[2 * i + 1];
		if (x >= axes->x.low && x <= axes->x.high && y >= axes->y.low &&
		    y <= axes->y.high)
			lc__picture_dot(picture,
			    (struct lc__point){ lc__axes_x(axes, x),
				lc__axes_y(axes, y) },
			    1.1, LC__INK);
	}
	for (size_t k = map->regions->n; k-- > 0;)
		draw_badge(picture, lc__axes_x(axes, map->regions->all[k].x),
		    lc__axes_y(axes, map->regions->all[k].y), k + 1);
	lc__axes_draw(picture, axes);
	return LC_OK;
}

/* ---- the list of regions ------------------------------------------------------------- */

static double
row_height(const struct lc__regions *regions)
{
	for (size_t k = 0; k < regions->n; k++)
		if (regions->all[k].image.width > 0)
			return ROW;
	return TEXT_ROW;
}

static void
draw_region(struct lc__picture *picture, const struct lc__embedding_map *map, size_t k,
    struct lc__rect area)
{
	const struct lc__region *region = &map->regions->all[k];
	const struct lc__font name = { .size = LC__SMALL,
		.colour = LC__INK,
		.keep_end = true };
	const struct lc__font note = { .size = LC__SMALL, .colour = LC__DIM_INK };
	const bool images = area.height == ROW;
	const double left = area.x + 2 * BADGE + 10 + (images ? IMAGE + 10 : 0);
	const double middle = area.y + (images ? IMAGE : TEXT_ROW - 6) / 2.0;
	char text[LC__TICKS_TEXT + 40], n[LC__TICKS_TEXT];

	draw_badge(picture, area.x + BADGE, middle, k + 1);
	if (region->image.width > 0) {
		const double longer = fmax(region->image.width, region->image.height);
		const double w = fmax(round(IMAGE * region->image.width / longer), 1);
		const double h = fmax(round(IMAGE * region->image.height / longer), 1);
		const struct lc__rect place = { area.x + 2 * BADGE + 10 +
			    floor((IMAGE - w) / 2),
			area.y + floor((IMAGE - h) / 2), w, h };
		lc__picture_image(picture, place, &region->image);
		lc__picture_frame(picture, place, 1, LC__RULE);
	}
	lc__picture_text(picture, left, middle - 2, &name, region->id,
	    area.x + area.width - left);
	snprintf(text, sizeof(text), "%s vector%s, %.3g %%",
	    lc__ticks_text((double)region->points, n, sizeof(n)),
	    region->points == 1 ? "" : "s",
	    100 * (double)region->points / (double)map->n);
	lc__picture_text(picture, left, middle + 12, &note, lc_id_of(text),
	    area.x + area.width - left);
}

static void
draw_regions(struct lc__picture *picture, const struct lc__embedding_map *map, double x,
    double y, double width)
{
	const struct lc__font title = { .size = LC__HEADING, .colour = LC__INK };
	const double row = row_height(map->regions);

	lc__picture_text(picture, x, y + 13, &title,
	    lc_id_of("Regions, each with an example"), width);
	for (size_t k = 0; k < map->regions->n; k++)
		draw_region(picture, map, k,
		    (struct lc__rect){ x, y + 28 + (double)k * row, width, row });
}

static void
draw_head(struct lc__picture *picture, const struct lc__embedding_map *map)
{
	const struct lc__font large = { .size = LC__TITLE,
		.colour = LC__INK,
		.bold = true,
		.keep_end = true };
	const struct lc__font small = { .size = LC__SMALL, .colour = LC__DIM_INK };
	const double width = lc__picture_width(picture) - 2 * LC__MARGIN;

	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 14, &large,
	    lc_id_of(map->title), width);
	lc__picture_text_lines(picture, LC__MARGIN, LC__MARGIN + 33, &small,
	    lc_id_of(map->note), width, 2);
}

lc_status
lc__embedding_map_draw(struct lc__picture *picture, const struct lc__embedding_map *map,
    double width)
{
	const struct lc__plane *plane = &map->regions->plane;
	const double room = width - 2 * LC__MARGIN;
	const bool beside = width >= TWO_COLUMNS;
	const double across = beside ? room - LIST - GAP : room;
	const double row = row_height(map->regions);
	/* Both axes have one scale, so the width determines the height; numbers and
	 * titles take about this much. */
	const double plot = across - 70;
	const double high = fmin(round(plot * (plane->high[1] - plane->low[1]) /
				     (plane->high[0] - plane->low[0])),
	    1.25 * plot);
	const double list = 28 + row * (double)map->regions->n;
	const double below = high + 46 + FOOT;
	struct lc__axes axes = {
		.area = { LC__MARGIN, LC__MARGIN + HEAD + 10, across, high + 46 },
		.x = { map->axes[0], plane->low[0], plane->high[0], LC__UNIT_NUMBER,
		    .no_grid = true },
		.y = { map->axes[1], plane->low[1], plane->high[1], LC__UNIT_NUMBER,
		    .no_grid = true },
	};

	return_if_error(lc__picture_begin(picture, width,
	    2 * LC__MARGIN + HEAD + 10 +
		(beside ? fmax(below, list) : below + GAP + list),
	    lc_id_of(map->title)));
	draw_head(picture, map);
	return_if_error(draw_plane(picture, map, &axes));
	draw_scale(picture, map, axes.plot.x, axes.area.y + axes.area.height + 16,
	    axes.plot.width);
	if (beside)
		draw_regions(picture, map, LC__MARGIN + across + GAP, axes.area.y - 6,
		    LIST);
	else
		draw_regions(picture, map, LC__MARGIN, axes.area.y + below + GAP - 10,
		    room);
	return LC_OK;
}
