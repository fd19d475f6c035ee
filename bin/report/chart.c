/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/ticks.h"
#include "image/canvas.h"
#include "image/font.h"
#include "image/scale.h"

#define BAR 0x5b8db8u      /* a bar */
#define BAR_EDGE 0x3f6f98u /* its outline, where it is wide enough */
#define GRID 0xe6e6e6u     /* lines at round counts */
#define MEAN 0xd9480fu
#define MEDIAN 0x1e6b34u
#define LEFT 64 /* place of the counts */
#define RIGHT 12
#define ABOVE 24   /* place of the title */
#define BELOW 44   /* of the values and the notes */
#define TICK 4     /* pixels */
#define A_LABEL 64 /* pixels that a label along the axis takes */
#define COUNTS 7   /* round counts beside the axis, about */
#define EDGED 5    /* pixels of a bar that gets an outline */

struct lc__area
lc__chart_plot(struct lc__area area)
{
	const struct lc__area plot = { area.x + LEFT, area.y + ABOVE,
		area.width - LEFT - RIGHT, area.height - ABOVE - BELOW };

	return plot;
}

/* Counts beside the axis: round numbers from 0 to above the highest bar. */
static struct lc__ticks
count_ticks(const struct lc__histogram *histogram)
{
	uint64_t most = 1;
	struct lc__ticks ticks;

	for (uint32_t i = 0; i < histogram->bins; i++)
		if (histogram->counts[i] > most)
			most = histogram->counts[i];
	ticks = lc__ticks_of(0, (double)most, COUNTS, 1);
	ticks.count = (uint32_t)ceil((double)most / ticks.step - 1e-9) + 1;
	return ticks;
}

uint64_t
lc__chart_top(const struct lc__histogram *histogram)
{
	const struct lc__ticks ticks = count_ticks(histogram);

	return (uint64_t)llround(lc__ticks_value(&ticks, ticks.count - 1));
}

/* The place of a value along the axis. */
static int64_t
place_of(const struct lc__histogram *histogram, struct lc__area plot, double value)
{
	const double share = (value - histogram->low) /
	    (histogram->high - histogram->low);

	return plot.x + llround(fmin(fmax(share, 0), 1) * (double)plot.width);
}

struct lc__area
lc__chart_bar(const struct lc__chart *chart, struct lc__area area, uint32_t i)
{
	const struct lc__histogram *histogram = chart->histogram;
	const struct lc__area plot = lc__chart_plot(area);
	const uint64_t count = histogram->counts[i];
	const double share = (double)count / (double)lc__chart_top(histogram);
	const int64_t left = place_of(histogram, plot, lc__histogram_edge(histogram, i));
	const int64_t right = place_of(histogram, plot,
	    lc__histogram_edge(histogram, i + 1));
	const int64_t high = llround(share * (double)plot.height);
	struct lc__area bar = { left, 0, right - left, high };

	if (count > 0 && high == 0)
		bar.height = 1;
	bar.y = plot.y + plot.height - bar.height;
	return bar;
}

/* ---- text ----------------------------------------------------------------------- */

static void
value_text(const struct lc__chart *chart, double value, char *out, size_t room)
{
	if (chart->log2)
		snprintf(out, room, "%.3g:1", exp2(value));
	else
		snprintf(out, room, "%.4g", value);
}

/* Text that ends at x, or has it in its middle. */
static void
draw_ending(struct lc__canvas *canvas, int64_t x, int64_t y, const char *text)
{
	const struct lc__pen pen = { LC__DIM_INK, 1 };

	lc__text_draw(canvas, x - lc__text_width(strlen(text), 1), y, pen,
	    lc_id_of(text));
}

static void
draw_centred(struct lc__canvas *canvas, int64_t x, int64_t y, const char *text)
{
	draw_ending(canvas, x + lc__text_width(strlen(text), 1) / 2, y, text);
}

/* ---- axes ----------------------------------------------------------------------- */

static void
draw_counts(const struct lc__chart *chart, struct lc__canvas *canvas,
    struct lc__area plot)
{
	const struct lc__ticks ticks = count_ticks(chart->histogram);
	const double top = lc__ticks_value(&ticks, ticks.count - 1);
	char text[LC__TICKS_TEXT];

	for (uint32_t i = 0; i < ticks.count; i++) {
		const double value = lc__ticks_value(&ticks, i);
		const int64_t y = plot.y + plot.height -
		    llround(value / top * (double)plot.height);
		const struct lc__area line = { plot.x, y, plot.width, 1 };
		if (i > 0)
			lc__canvas_fill(canvas, line, GRID);
		draw_ending(canvas, plot.x - TICK - 3, y - 3,
		    lc__ticks_text(value, text, sizeof(text)));
	}
}

/* In the middle under its tick, cut to what is free up to the next one. */
static void
draw_name(struct lc__canvas *canvas, int64_t x, int64_t y, const char *name, double room)
{
	const struct lc__pen pen = { LC__DIM_INK, 1 };
	const lc_id text = lc_id_of(name);
	size_t most = (size_t)(room / LC__GLYPH_STEP);

	most = most > 1 ? most - 1 : 1;
	if (lc__text_length(text) < most)
		most = lc__text_length(text);
	lc__text_draw_cut(canvas, x - lc__text_width(most, 1) / 2, y, pen, text, most);
}

static void
draw_values(const struct lc__chart *chart, struct lc__canvas *canvas,
    struct lc__area plot)
{
	const struct lc__histogram *histogram = chart->histogram;
	const struct lc__ticks ticks = lc__ticks_of(histogram->low, histogram->high,
	    (uint32_t)(plot.width / A_LABEL) + 1, chart->log2 || chart->whole ? 1 : 0);
	const double apart = ticks.step * (double)plot.width /
	    (histogram->high - histogram->low);
	const int64_t y = plot.y + plot.height;
	const struct lc__area axis = { plot.x - 1, y, plot.width + 1, 1 };
	char text[LC__TICKS_TEXT];

	lc__canvas_fill(canvas, axis, LC__DIM_INK);
	for (uint32_t i = 0; i < ticks.count; i++) {
		const double value = lc__ticks_value(&ticks, i);
		const int64_t x = place_of(histogram, plot, value);
		const struct lc__area tick = { x, y, 1, TICK };
		const char *name = chart->classes.find == NULL
		    ? NULL
		    : chart->classes.find(chart->classes.ctx, (int64_t)value);
		lc__canvas_fill(canvas, tick, LC__DIM_INK);
		if (chart->log2)
			/* "1:4", "1:1", "2:1" */
			snprintf(text, sizeof(text), value < 0 ? "1:%.4g" : "%.4g:1",
			    exp2(fabs(value)));
		else
			lc__ticks_text(value, text, sizeof(text));
		if (name != NULL)
			draw_name(canvas, x, y + TICK + 4, name, apart);
		else
			draw_centred(canvas, x, y + TICK + 4, text);
	}
}

/* ---- bars and labels ------------------------------------------------------------ */

/* A dashed line up the plot. */
static void
draw_mark(const struct lc__chart *chart, struct lc__canvas *canvas, struct lc__area plot,
    double value, uint32_t colour)
{
	const int64_t x = place_of(chart->histogram, plot, value);

	for (int64_t y = 0; y < plot.height; y += 6) {
		const struct lc__area dash = { x - 1, plot.y + y, 2,
			plot.height - y < 4 ? plot.height - y : 4 };
		lc__canvas_fill(canvas, dash, colour);
	}
}

/* A note in a colour of its own; returns where the next one begins. */
static int64_t
draw_note(struct lc__canvas *canvas, int64_t x, int64_t y, uint32_t colour,
    const char *text)
{
	const struct lc__pen pen = { colour, 1 };

	lc__text_draw(canvas, x, y, pen, lc_id_of(text));
	return x + lc__text_width(strlen(text), 1) + 3 * LC__GLYPH_STEP;
}

static void
draw_notes(const struct lc__chart *chart, struct lc__canvas *canvas, struct lc__area plot)
{
	const struct lc__histogram *histogram = chart->histogram;
	const int64_t y = plot.y + plot.height + 28;
	const uint64_t outside = histogram->below + histogram->above;
	char text[LC__TICKS_TEXT + 16] = "n = ";
	int64_t x = plot.x;

	lc__ticks_text((double)histogram->n, text + strlen(text), LC__TICKS_TEXT);
	x = draw_note(canvas, x, y, LC__INK, text);
	if (histogram->n > 0 && !chart->names) {
		const double mean = histogram->sum / (double)histogram->n;
		double median = lc__histogram_quantile(histogram, 0.5);
		if (chart->whole)
			median = round(median);
		draw_mark(chart, canvas, plot, median, MEDIAN);
		draw_mark(chart, canvas, plot, mean, MEAN);
		strcpy(text, "median ");
		value_text(chart, median, text + strlen(text), LC__TICKS_TEXT);
		x = draw_note(canvas, x, y, MEDIAN, text);
		strcpy(text, "mean ");
		value_text(chart, mean, text + strlen(text), LC__TICKS_TEXT);
		draw_note(canvas, x, y, MEAN, text);
	}
	if (outside > 0) {
		lc__ticks_text((double)outside, text, LC__TICKS_TEXT);
		strcat(text, " outside");
		draw_ending(canvas, plot.x + plot.width, plot.y - LC__TEXT_LINE, text);
	}
}

void
lc__chart_draw(const struct lc__chart *chart, struct lc__canvas *canvas,
    struct lc__area area)
{
	const struct lc__area plot = lc__chart_plot(area);
	const struct lc__pen pen = { LC__INK, 1 };

	lc__text_draw_cut(canvas, area.x, area.y, pen, lc_id_of(chart->histogram->title),
	    (size_t)(area.width / LC__GLYPH_STEP));
	draw_counts(chart, canvas, plot);
	for (uint32_t i = 0; i < chart->histogram->bins; i++) {
		struct lc__area bar = lc__chart_bar(chart, area, i);
		lc__canvas_fill(canvas, bar, BAR);
		if (bar.width >= EDGED)
			lc__canvas_frame(canvas, bar, 1, BAR_EDGE);
	}
	draw_values(chart, canvas, plot);
	draw_notes(chart, canvas, plot);
}
