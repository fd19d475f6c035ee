/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/curves.h"

#include "report/page.h"

/* The picture and, in it, the plane of the curves, in units of SVG. */
#define WIDTH 720.0
#define HEIGHT 300.0
#define LEFT 78.0
#define RIGHT 704.0
#define TOP 20.0
#define BOTTOM 254.0
#define MANY 50   /* a curve with more points draws them small */
#define LEAST 0.6 /* least width and height of a drawn span, in units of SVG */

/* Maps values to places. */
struct plane {
	double x_low, x_high, y_most;
	double y_top, y_bottom; /* places of y_most and y_least */
	double y_least;         /* 0, or the least value if that is negative */
};

static double
x_of(const struct plane *p, double x)
{
	return LEFT +
	    (p->x_high > p->x_low
		    ? (RIGHT - LEFT) * (x - p->x_low) / (p->x_high - p->x_low)
		    : 0);
}

static double
y_of(const struct plane *p, double y)
{
	return p->y_bottom -
	    (p->y_bottom - p->y_top) * (y - p->y_least) / (p->y_most - p->y_least);
}

static void
begin(FILE *out, const char *class, const char *title, const char *note)
{
	fprintf(out, "<figure class=\"%s\">\n<figcaption><b>", class);
	lc__page_str(out, title);
	fputs("</b><span>", out);
	lc__page_str(out, note);
	fputs("</span>", out);
}

/* An entry of the legend: a patch of a colour, and a name. */
static void
key(FILE *out, unsigned class, const char *name)
{
	fprintf(out, "<span class=\"label\"><i class=\"key s%u\"></i>", class);
	lc__page_str(out, name);
	fputs("</span> ", out);
}

static void
begin_picture(FILE *out, const char *title)
{
	fprintf(out,
	    "</figcaption>\n<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
	    "aria-label=\"",
	    WIDTH, HEIGHT);
	lc__page_str(out, title);
	fputs("\">\n", out);
}

static void
end(FILE *out)
{
	fputs("</svg>\n</figure>\n", out);
}

static void
line(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
	fprintf(out,
	    "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
	    class, x1, y1, x2, y2);
}

static void
draw_x_axis(FILE *out, const struct plane *p, enum lc__unit unit, const char *title)
{
	const struct lc__ticks ticks = lc__ticks_in(unit, p->x_low, p->x_high, 8);
	char text[LC__TICKS_TEXT];

	line(out, "axis", LEFT, BOTTOM, RIGHT, BOTTOM);
	for (uint32_t i = 0; i < ticks.count; i++) {
		const double value = lc__ticks_value(&ticks, i), x = x_of(p, value);

		line(out, "axis", x, BOTTOM, x, BOTTOM + 4);
		fprintf(out,
		    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x,
		    BOTTOM + 16, lc__unit_text(unit, value, text));
	}
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
	    (LEFT + RIGHT) / 2, HEIGHT - 10, title);
}

static void
draw_y_axis(FILE *out, const struct plane *p, enum lc__unit unit)
{
	const struct lc__ticks ticks = lc__ticks_in(unit, p->y_least, p->y_most, 6);
	char text[LC__TICKS_TEXT];

	for (uint32_t i = 0; i < ticks.count; i++) {
		const double value = lc__ticks_value(&ticks, i), y = y_of(p, value);

		if (value != p->y_least)
			line(out, "grid", LEFT, y, RIGHT, y);
		fprintf(out,
		    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		    LEFT - 6, y + 3.5, lc__unit_text(unit, value, text));
	}
}

/* ---- curves ------------------------------------------------------------------------------ */

static double
lowest(const struct lc__curves *c)
{
	double least = 0;

	for (size_t k = 0; k < c->n_curves; k++)
		for (size_t i = 0; i < c->n; i++)
			if (c->curves[k].y[i] < least)
				least = c->curves[k].y[i];
	return 1.05 * least;
}

static double
highest(const struct lc__curves *c)
{
	double most = 0;

	for (size_t k = 0; k < c->n_curves; k++)
		for (size_t i = 0; i < c->n; i++)
			if (c->curves[k].y[i] > most)
				most = c->curves[k].y[i];
	return most > 0 ? 1.05 * most : lowest(c) < 0 ? 0 : 1;
}

/* Each point has a tooltip with its values. */
static void
draw_curve(FILE *out, const struct plane *p, const struct lc__curves *c, size_t k)
{
	const struct lc__curve *curve = &c->curves[k];
	char x[LC__TICKS_TEXT], y[LC__TICKS_TEXT];

	fprintf(out, "<path class=\"line s%zu\" d=\"", k);
	for (size_t i = 0; i < c->n; i++)
		fprintf(out, "%c%.1f %.1f", i == 0 ? 'M' : 'L', x_of(p, c->x[i]),
		    y_of(p, curve->y[i]));
	fputs("\"/>\n", out);
	for (size_t i = 0; i < c->n; i++) {
		fprintf(out,
		    "<circle class=\"point s%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>",
		    k, x_of(p, c->x[i]), y_of(p, curve->y[i]),
		    c->n > MANY ? "1.5" : "2.5");
		lc__page_str(out, curve->name);
		fprintf(out, ", %s: %s</title></circle>\n",
		    lc__unit_text(c->x_unit, c->x[i], x),
		    lc__unit_text(c->y_unit, curve->y[i], y));
	}
}

void
lc__curves_draw(FILE *out, const struct lc__curves *c)
{
	const struct plane p = { c->x[0], c->x[c->n - 1], highest(c), TOP, BOTTOM,
		lowest(c) };

	begin(out, "curves", c->title, c->note);
	for (size_t k = 0; k < c->n_curves && c->n_curves > 1; k++)
		key(out, (unsigned)k, c->curves[k].name);
	begin_picture(out, c->title);
	draw_y_axis(out, &p, c->y_unit);
	draw_x_axis(out, &p, c->x_unit, c->x_title);
	if (c->marked) {
		const double x = x_of(&p, c->mark);
		const bool right = x > (LEFT + RIGHT) / 2;

		line(out, "mark", x, TOP, x, BOTTOM);
		fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
		    right ? x - 4 : x + 4, TOP - 6, right ? "end" : "start",
		    c->mark_name);
	}
	for (size_t k = 0; k < c->n_curves; k++)
		draw_curve(out, &p, c, k);
	end(out);
}

/* ---- spans ------------------------------------------------------------------------------- */

static void
draw_span(FILE *out, const struct plane *p, const struct lc__span *span, double height)
{
	const double x = x_of(p, span->from);
	const double width = x_of(p, span->to) - x;

	fprintf(out,
	    "<rect class=\"span s%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
	    "height=\"%.2f\"/>\n",
	    span->strong ? 2 : 1, x, y_of(p, span->row), width > LEAST ? width : LEAST,
	    height);
}

void
lc__spans_draw(FILE *out, const struct lc__spans *s)
{
	/* Rows go down. */
	const struct plane p = { 0, s->end > 0 ? s->end : 1, s->rows > 0 ? s->rows : 1,
		BOTTOM, TOP, 0 };
	const double height = (BOTTOM - TOP) / p.y_most;

	begin(out, "spans", s->title, s->note);
	key(out, 2, s->strong_name);
	key(out, 1, s->weak_name);
	begin_picture(out, s->title);
	draw_y_axis(out, &p, LC__UNIT_COUNT);
	draw_x_axis(out, &p, LC__UNIT_COUNT, s->x_title);
	fprintf(out,
	    "<text x=\"14\" y=\"%.1f\" text-anchor=\"middle\" "
	    "transform=\"rotate(-90 14 %.1f)\">%s</text>\n",
	    (TOP + BOTTOM) / 2, (TOP + BOTTOM) / 2, s->y_title);
	for (size_t i = 0; i < s->n; i++)
		draw_span(out, &p, &s->all[i], height > LEAST ? height : LEAST);
	for (size_t i = 0; i < s->n_lines; i++)
		line(out, "mark", x_of(&p, s->lines[i]), TOP, x_of(&p, s->lines[i]),
		    BOTTOM);
	end(out);
}
