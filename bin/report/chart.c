/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NOTES 24 /* pixels of the line of text below the axes */
#define APART 4  /* least width in pixels of a bar that gets a gap after it */

struct lc__axes
lc__chart_axes(const struct lc__chart *chart, struct lc__picture *picture,
    struct lc__rect area)
{
	const struct lc__histogram *histogram = chart->histogram;
	struct lc__axes axes = {
		.area = area,
		.title = histogram->title,
		.x = { .title = chart->axis, .unit = chart->unit, .no_grid = true },
		.y = { .unit = LC__UNIT_COUNT },
	};
	uint32_t first = 0, end = histogram->bins;
	uint64_t most = 1;

	if (chart->used)
		lc__histogram_used(histogram, NULL, &first, &end);
	axes.x.low = lc__histogram_edge(histogram, first);
	axes.x.high = lc__histogram_edge(histogram, end);
	for (uint32_t i = 0; i < histogram->bins; i++)
		if (histogram->counts[i] > most)
			most = histogram->counts[i];
	axes.area.height -= NOTES;
	axes.y.high = lc__axis_top(LC__UNIT_COUNT, (double)most);
	lc__axes_lay(picture, &axes);
	return axes;
}

struct lc__rect
lc__chart_bar(const struct lc__chart *chart, const struct lc__axes *axes, uint32_t i)
{
	const struct lc__histogram *histogram = chart->histogram;
	struct lc__rect bar = lc__axes_rect(axes, lc__histogram_edge(histogram, i),
	    lc__histogram_edge(histogram, i + 1), 0, (double)histogram->counts[i]);

	if (histogram->counts[i] > 0 && bar.height < 1) {
		bar.y -= 1;
		bar.height = 1;
	}
	return bar;
}

/* ---- marks ---------------------------------------------------------------------- */

static void
draw_mark(const struct lc__axes *axes, struct lc__picture *picture, double value,
    uint32_t colour)
{
	const struct lc__stroke stroke = { 2, colour, true };
	const double x = round(lc__axes_x(axes, value));
	const struct lc__point line[] = { { x, axes->plot.y + axes->plot.height },
		{ x, axes->plot.y } };

	lc__picture_line(picture, line, 2, &stroke);
}

/* A note in a colour of its own; returns where the next one begins. */
static double
draw_note(struct lc__picture *picture, double x, double y, uint32_t colour,
    const char *text)
{
	const struct lc__font font = { .size = LC__SMALL, .colour = colour };

	return x + lc__picture_text(picture, x, y, &font, lc_id_of(text), 0) + 18;
}

static void
draw_named(const struct lc__chart *chart, struct lc__picture *picture, double *x,
    double y, uint32_t colour, const char *name, double value)
{
	char text[LC__TICKS_TEXT + 16];

	if (chart->unit == LC__UNIT_POWER2)
		snprintf(text, sizeof(text), "%s %.3g", name, exp2(value));
	else if (chart->unit == LC__UNIT_LOG2)
		snprintf(text, sizeof(text), "%s %.3g:1", name, exp2(value));
	else
		snprintf(text, sizeof(text), "%s %.4g", name, value);
	*x = draw_note(picture, *x, y, colour, text);
}

static void
draw_notes(const struct lc__chart *chart, struct lc__picture *picture,
    const struct lc__axes *axes)
{
	const struct lc__histogram *histogram = chart->histogram;
	const double y = axes->area.y + axes->area.height + NOTES - 8;
	const uint64_t outside = histogram->below + histogram->above;
	char number[LC__TICKS_TEXT], text[LC__TICKS_TEXT + 16];
	double x = axes->plot.x;

	snprintf(text, sizeof(text), "n = %s",
	    lc__ticks_text((double)histogram->n, number, sizeof(number)));
	x = draw_note(picture, x, y, LC__INK, text);
	if (histogram->n > 0) {
		const double mean = histogram->sum / (double)histogram->n;
		double median = lc__histogram_quantile(histogram, 0.5);
		if (chart->unit == LC__UNIT_COUNT)
			median = round(median);
		draw_mark(axes, picture, median, LC__CHART_MEDIAN);
		draw_mark(axes, picture, mean, LC__CHART_MEAN);
		draw_named(chart, picture, &x, y, LC__CHART_MEDIAN, "median", median);
		draw_named(chart, picture, &x, y, LC__CHART_MEAN, "mean", mean);
	}
	if (outside > 0) {
		snprintf(text, sizeof(text), "%s outside",
		    lc__ticks_text((double)outside, number, sizeof(number)));
		draw_note(picture, x, y, LC__DIM_INK, text);
	}
}

void
lc__chart_draw(const struct lc__chart *chart, struct lc__picture *picture,
    struct lc__rect area)
{
	const struct lc__axes axes = lc__chart_axes(chart, picture, area);

	lc__axes_grid(picture, &axes);
	for (uint32_t i = 0; i < chart->histogram->bins; i++) {
		struct lc__rect bar = lc__chart_bar(chart, &axes, i);
		if (chart->histogram->counts[i] == 0)
			continue;
		if (bar.width >= APART)
			bar.width -= 1;
		lc__picture_fill(picture, bar, LC__BAR);
	}
	lc__axes_draw(picture, &axes);
	draw_notes(chart, picture, &axes);
}
