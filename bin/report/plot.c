/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/plot.h"

#include <math.h>

#include "draw/ticks.h"
#include "report/page.h"

/* The picture and, in it, the plane of the bars, in units of SVG. */
#define WIDTH 360
#define HEIGHT 190
#define LEFT 44.0
#define RIGHT 342.0
#define TOP 8.0
#define BOTTOM 148.0

struct lc__plotted
lc__plotted_of(const struct lc__metric_row *row)
{
	return (struct lc__plotted){ .title = row->title,
		.axis = row->axis,
		.of = lc__subject_name(row->subject),
		.log2 = row->log2 };
}

/* The bins that are drawn, and the range of the vertical axis. */
struct plane {
	const struct lc__plotted *what;
	uint32_t first, end; /* bins [first, end) */
	double low, high;    /* edges of the first and the last bin */
	double most;         /* upper end of the vertical axis, at a tick */
	struct lc__ticks y;  /* ticks of the vertical axis */
};

static void
choose_bins(struct plane *plane, const struct lc__histogram *a,
    const struct lc__histogram *b)
{
	lc__histogram_used(a, b, &plane->first, &plane->end);
	plane->low = lc__histogram_edge(a, plane->first);
	plane->high = lc__histogram_edge(a, plane->end);
}

static void
choose_height(struct plane *plane, double most, double least_step)
{
	plane->y = lc__ticks_of(0, fmax(most, 1e-3), 5, least_step);
	/* The last tick is above the highest bar. */
	if (lc__ticks_value(&plane->y, plane->y.count - 1) < most)
		plane->y.count++;
	plane->most = lc__ticks_value(&plane->y, plane->y.count - 1);
	if (!(plane->most > 0))
		plane->most = 1;
}

static double
x_of(const struct plane *plane, double value)
{
	return LEFT + (RIGHT - LEFT) * (value - plane->low) / (plane->high - plane->low);
}

static double
y_of(const struct plane *plane, double value)
{
	return BOTTOM - (BOTTOM - TOP) * value / plane->most;
}

/* A number on an axis, or the edge of a bin. */
static void
put_value(FILE *out, const struct lc__plotted *what, double value)
{
	char text[LC__TICKS_TEXT];

	if (what->bytes)
		fputs(lc__unit_text(LC__UNIT_BYTES, what->log2 ? exp2(value) : value,
			  text),
		    out);
	else if (what->log2 && value < 0 && value == floor(value))
		fprintf(out, "1/%.0f", exp2(-value));
	else if (what->log2)
		fprintf(out, "%.4g", exp2(value));
	else
		fprintf(out, "%.6g", value);
}

static void
put_tick(FILE *out, double value)
{
	if (value >= 1e6)
		fprintf(out, "%.4gM", value / 1e6);
	else if (value >= 1e4)
		fprintf(out, "%.4gk", value / 1e3);
	else
		fprintf(out, "%.4g", value);
}

static void
draw_x_axis(FILE *out, const struct plane *plane)
{
	const struct lc__ticks ticks = lc__ticks_of(plane->low, plane->high, 7,
	    plane->what->log2 ? 1 : 0);

	fprintf(out,
	    "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
	    LEFT, BOTTOM, RIGHT, BOTTOM);
	for (uint32_t i = 0; i < ticks.count; i++) {
		const double value = lc__ticks_value(&ticks, i);
		const double x = x_of(plane, value);
		fprintf(out,
		    "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" "
		    "x2=\"%.1f\" y2=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
		    "text-anchor=\"middle\">",
		    x, BOTTOM, x, BOTTOM + 4, x, BOTTOM + 15);
		put_value(out, plane->what, value);
		fputs("</text>\n", out);
	}
	fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
	    (LEFT + RIGHT) / 2, HEIGHT - 8);
	lc__page_str(out, plane->what->axis);
	fputs("</text>\n", out);
}

static void
draw_y_axis(FILE *out, const struct plane *plane, const char *unit)
{
	for (uint32_t i = 0; i < plane->y.count; i++) {
		const double value = lc__ticks_value(&plane->y, i);
		const double y = y_of(plane, value);
		if (i > 0)
			fprintf(out,
			    "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" "
			    "x2=\"%.1f\" y2=\"%.1f\"/>",
			    LEFT, y, RIGHT, y);
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 5,
		    y + 3.5);
		put_tick(out, value);
		fprintf(out, "%s</text>\n", unit);
	}
}

/* The tooltip of a bar: "0.1 to 0.12: 34 boxes (2.1 %)". */
static void
put_bin(FILE *out, const struct plane *plane, const struct lc__histogram *of, uint32_t i)
{
	put_value(out, plane->what, lc__histogram_edge(of, i));
	fputs(" to ", out);
	put_value(out, plane->what, lc__histogram_edge(of, i + 1));
	fputs(": ", out);
	lc__page_count(out, of->counts[i]);
	putc(' ', out);
	lc__page_str(out, plane->what->of);
	fputs(" (", out);
	lc__page_share(out, of->counts[i], of->n);
	fputs(")", out);
}

/* Draw bars as high as the counts times @p scale. */
static void
draw_bars(FILE *out, const struct plane *plane, const struct lc__histogram *of,
    double scale, const char *class)
{
	for (uint32_t i = plane->first; i < plane->end; i++) {
		const double x = x_of(plane, lc__histogram_edge(of, i));
		const double end = x_of(plane, lc__histogram_edge(of, i + 1));
		const double y = y_of(plane, (double)of->counts[i] * scale);
		if (of->counts[i] == 0)
			continue;
		fprintf(out,
		    "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" "
		    "width=\"%.2f\" height=\"%.2f\"><title>",
		    class, x + 0.3, y, end - x - 0.6, BOTTOM - y);
		put_bin(out, plane, of, i);
		fputs("</title></rect>\n", out);
	}
}

/* Draw the outline of the bars. */
static void
draw_steps(FILE *out, const struct plane *plane, const struct lc__histogram *of,
    double scale)
{
	fprintf(out, "<path class=\"new\" d=\"M%.2f %.2f", LEFT, BOTTOM);
	for (uint32_t i = plane->first; i < plane->end; i++)
		fprintf(out, "V%.2fH%.2f", y_of(plane, (double)of->counts[i] * scale),
		    x_of(plane, lc__histogram_edge(of, i + 1)));
	fprintf(out, "V%.2f\"/>\n", BOTTOM);
}

static double
highest(const struct lc__histogram *histogram)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < histogram->bins; i++)
		if (histogram->counts[i] > most)
			most = histogram->counts[i];
	return (double)most;
}

static void
begin_figure(FILE *out, const struct lc__plotted *what)
{
	fputs("<figure>\n<figcaption><b>", out);
	lc__page_str(out, what->title);
	fputs("</b>", out);
}

static void
begin_picture(FILE *out, const struct lc__plotted *what)
{
	fprintf(out,
	    "</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH,
	    HEIGHT);
	lc__page_str(out, what->title);
	fputs("\">\n", out);
}

static void
end_figure(FILE *out)
{
	fputs("</svg>\n</figure>\n", out);
}

static void
put_outside(FILE *out, uint64_t n, const char *where)
{
	if (n == 0)
		return;
	fputs(", ", out);
	lc__page_count(out, n);
	fprintf(out, " %s the range", where);
}

/* If each bin is one integer, the median is an integer, too. */
static double
median_of(const struct lc__plotted *what, const struct lc__histogram *histogram)
{
	const double median = lc__histogram_quantile(histogram, 0.5);

	return histogram->high - histogram->low == histogram->bins && !what->log2
	    ? floor(median)
	    : median;
}

/* Three digits; numbers from 100 to 1e9 without a fraction. */
static void
put_short(FILE *out, const struct lc__plotted *what, double value)
{
	if (what->log2)
		value = exp2(value);
	if (what->bytes)
		lc__page_bytes(out, (uint64_t)value);
	else if (fabs(value) >= 100 && fabs(value) < 1e9)
		fprintf(out, "%.0f", value);
	else
		fprintf(out, "%.3g", value);
}

static void
put_numbers(FILE *out, const struct lc__plotted *what,
    const struct lc__histogram *histogram)
{
	fputs("<span>", out);
	lc__page_count(out, histogram->n);
	putc(' ', out);
	lc__page_str(out, what->of);
	if (histogram->n > 0) {
		fputs(", median about ", out);
		put_short(out, what, median_of(what, histogram));
		fputs(", ", out);
		put_short(out, what, histogram->least);
		fputs(" to ", out);
		put_short(out, what, histogram->most);
	}
	put_outside(out, histogram->below, "below");
	put_outside(out, histogram->above, "above");
	fputs("</span>", out);
}

void
lc__plot(FILE *out, const struct lc__plotted *what, const struct lc__histogram *histogram)
{
	struct plane plane = { .what = what };

	begin_figure(out, what);
	put_numbers(out, what, histogram);
	begin_picture(out, what);
	choose_bins(&plane, histogram, NULL);
	choose_height(&plane, highest(histogram), 1);
	draw_y_axis(out, &plane, "");
	draw_bars(out, &plane, histogram, 1, "bar");
	draw_x_axis(out, &plane);
	end_figure(out);
}

static double
percent_of_one(const struct lc__histogram *histogram)
{
	return histogram->n > 0 ? 100 / (double)histogram->n : 0;
}

void
lc__plot_pair(FILE *out, const struct lc__plotted *what, const struct lc__histogram *old,
    const struct lc__histogram *new, const char *note)
{
	const double a = percent_of_one(old), b = percent_of_one(new);
	struct plane plane = { .what = what };

	begin_figure(out, what);
	fprintf(out, "<span>%s</span>", note);
	begin_picture(out, what);
	choose_bins(&plane, old, new);
	choose_height(&plane, fmax(highest(old) * a, highest(new) * b), 0);
	draw_y_axis(out, &plane, " %");
	draw_bars(out, &plane, old, a, "old");
	draw_steps(out, &plane, new, b);
	draw_x_axis(out, &plane);
	end_figure(out);
}
