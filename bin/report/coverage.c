/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/coverage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "draw/axes.h"

#define HEAD 34      /* height of the title, in pixels */
#define BAR 26       /* height of the bar of all keys */
#define KEYS 118     /* height of that bar with its title, numbers and legend */
#define LINE 18      /* height of the row of a group */
#define PAIR_LINE 26 /* height of the row of a class or type: two bars */
#define TITLE 26     /* height of the title above a part */
#define GAP 28
#define CHART 230
#define FOOT 20         /* height of the note below a chart */
#define TWO_COLUMNS 700 /* from this width on the parts are side by side */

static const uint32_t colours[3] = { LC__COVERAGE_FIRST, LC__COVERAGE_BOTH,
	LC__COVERAGE_SECOND };

/* ---- rows ------------------------------------------------------------------------- */

static int
by_name(lc_id a, lc_id b)
{
	const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static uint64_t
sum_of(const struct lc__overlap *keys)
{
	return keys->first + keys->both + keys->second;
}

static int
by_keys(const void *a, const void *b)
{
	const struct lc__overlap_row *x = a, *y = b;
	const uint64_t m = sum_of(&x->keys), n = sum_of(&y->keys);

	return m != n ? (m < n) - (m > n) : by_name(x->name, y->name);
}

static int
by_count(const void *a, const void *b)
{
	const struct lc__count_row *x = a, *y = b;
	const uint64_t m = x->first + x->second, n = y->first + y->second;

	return m != n ? (m < n) - (m > n) : by_name(x->name, y->name);
}

static lc_id
others(size_t n, char room[40])
{
	snprintf(room, 40, "%zu others", n);
	return lc_id_of(room);
}

size_t
lc__overlap_rows(struct lc__overlap_row *rows, size_t n, char room[40])
{
	struct lc__overlap_row *last = &rows[LC__COVERAGE_ROWS - 1];

	if (n > 0)
		qsort(rows, n, sizeof(*rows), by_keys);
	if (n <= LC__COVERAGE_ROWS)
		return n;
	for (size_t i = LC__COVERAGE_ROWS; i < n; i++) {
		last->keys.first += rows[i].keys.first;
		last->keys.both += rows[i].keys.both;
		last->keys.second += rows[i].keys.second;
	}
	last->name = others(n - LC__COVERAGE_ROWS + 1, room);
	return LC__COVERAGE_ROWS;
}

size_t
lc__count_rows(struct lc__count_row *rows, size_t n, char room[40])
{
	struct lc__count_row *last = &rows[LC__COVERAGE_ROWS - 1];

	if (n > 0)
		qsort(rows, n, sizeof(*rows), by_count);
	if (n <= LC__COVERAGE_ROWS)
		return n;
	for (size_t i = LC__COVERAGE_ROWS; i < n; i++) {
		last->first += rows[i].first;
		last->second += rows[i].second;
	}
	last->name = others(n - LC__COVERAGE_ROWS + 1, room);
	return LC__COVERAGE_ROWS;
}

double
lc__histogram_distance(const struct lc__histogram *a, const struct lc__histogram *b)
{
	double sum = 0;

	if (a->n == 0 || b->n == 0)
		return a->n == b->n ? 0 : 1;
	for (uint32_t i = 0; i < a->bins + 2; i++)
		sum += fabs((double)lc__category(a, i) / (double)a->n -
		    (double)lc__category(b, i) / (double)b->n);
	return sum / 2;
}

/* ---- bars of three parts -------------------------------------------------------------- */

/* The parts of a bar have widths in proportion to their keys, but at least one pixel if
 * they have any. */
static void
split(const struct lc__overlap *keys, struct lc__rect bar, struct lc__rect parts[3])
{
	const double n[3] = { (double)keys->first, (double)keys->both,
		(double)keys->second };
	const double all = fmax(n[0] + n[1] + n[2], 1);
	double at = bar.x, sum = 0;

	for (int i = 0; i < 3; i++) {
		double end;
		sum += n[i];
		end = fmax(at, bar.x + fmin(round(bar.width * sum / all), bar.width));
		if (n[i] > 0 && end - at < 1)
			end = at + 1;
		parts[i] = (struct lc__rect){ at, bar.y, end - at, bar.height };
		at = end;
	}
}

void
lc__coverage_bar(const struct lc__overlap *keys, double width, struct lc__rect parts[3])
{
	const struct lc__rect bar = { LC__MARGIN, LC__MARGIN + HEAD + TITLE + 2,
		floor(width) - 2 * LC__MARGIN, BAR };

	split(keys, bar, parts);
}

static void
fill_parts(struct lc__picture *picture, const struct lc__rect parts[3])
{
	for (int i = 0; i < 3; i++)
		if (parts[i].width > 0)
			lc__picture_fill(picture, parts[i], colours[i]);
}

static void
draw_title(struct lc__picture *picture, double x, double y, const char *text,
    double width)
{
	const struct lc__font title = { .size = LC__HEADING, .colour = LC__INK };

	lc__picture_text(picture, x, y + 13, &title, lc_id_of(text), width);
}

/* "12,000 only in train, 34 %" with its colour, each on a line of its own. */
static void
draw_keys(struct lc__picture *picture, const struct lc__coverage *c)
{
	const struct lc__font font = { .size = LC__SMALL,
		.colour = LC__INK,
		.keep_end = true };
	const uint64_t n[3] = { c->keys.first, c->keys.both, c->keys.second };
	const double all = fmax((double)sum_of(&c->keys), 1);
	const double width = lc__picture_width(picture) - 2 * LC__MARGIN;
	struct lc__rect parts[3];
	char title[80];

	lc__coverage_bar(&c->keys, lc__picture_width(picture), parts);
	snprintf(title, sizeof(title), "Keys of all %s", c->what);
	draw_title(picture, LC__MARGIN, LC__MARGIN + HEAD, title, width);
	fill_parts(picture, parts);
	for (int i = 0; i < 3; i++) {
		const double y = parts[0].y + BAR + 18 + i * 17;
		const struct lc__rect mark = { LC__MARGIN, round(y) - 9, 10, 10 };
		char text[600], number[LC__TICKS_TEXT];
		snprintf(text, sizeof(text), "%s in %s%.400s, %.3g %%",
		    lc__ticks_text((double)n[i], number, sizeof(number)),
		    i == 1 ? "both" : "", i == 1 ? "" : c->names[i / 2],
		    100 * (double)n[i] / all);
		if (i != 1)
			snprintf(text, sizeof(text), "%s only in %.400s, %.3g %%", number,
			    c->names[i / 2], 100 * (double)n[i] / all);
		lc__picture_fill(picture, mark, colours[i]);
		lc__picture_text(picture, LC__MARGIN + 16, y, &font, lc_id_of(text),
		    width - 16);
	}
}

/* ---- lists ------------------------------------------------------------------------ */

/* The width of the names, at most a third of the row. */
static double
name_width(struct lc__picture *picture, const lc_id *name, size_t step, size_t n,
    double width)
{
	const struct lc__font font = { .size = LC__SMALL };
	double widest = 0;

	for (size_t i = 0; i < n; i++)
		widest = fmax(widest,
		    lc__picture_text_width(picture, &font,
			*(const lc_id *)((const char *)name + i * step)));
	return ceil(fmin(widest, width / 3)) + 8;
}

static void
draw_name(struct lc__picture *picture, double x, double y, lc_id name, double width)
{
	const struct lc__font font = { .size = LC__SMALL,
		.colour = LC__INK,
		.align = LC__RIGHT,
		.keep_end = true };

	lc__picture_text(picture, x + width - 6, y, &font, name, width - 8);
}

static void
draw_number(struct lc__picture *picture, double x, double y, uint64_t n)
{
	const struct lc__font font = { .size = LC__SMALL, .colour = LC__DIM_INK };
	char text[LC__TICKS_TEXT];

	lc__unit_text(LC__UNIT_COUNT, (double)n, text);
	lc__picture_text(picture, x, y, &font, lc_id_of(text), 0);
}

#define NUMBERS 46 /* pixels for a number after a bar */

static void
draw_groups(struct lc__picture *picture, const struct lc__coverage *c,
    struct lc__rect area)
{
	const double names = name_width(picture, &c->groups[0].name, sizeof(c->groups[0]),
	    c->n_groups, area.width);
	const double room = floor(area.width - names - NUMBERS);
	uint64_t most = 1;

	draw_title(picture, area.x, area.y, c->groups_title, area.width);
	for (size_t i = 0; i < c->n_groups; i++)
		if (sum_of(&c->groups[i].keys) > most)
			most = sum_of(&c->groups[i].keys);
	for (size_t i = 0; i < c->n_groups; i++) {
		const struct lc__overlap_row *row = &c->groups[i];
		const uint64_t n = sum_of(&row->keys);
		struct lc__rect bar = { floor(area.x + names),
			floor(area.y + TITLE + (double)i * LINE + 3),
			fmax(round(room * (double)n / (double)most), 1), 12 };
		struct lc__rect parts[3];
		split(&row->keys, bar, parts);
		draw_name(picture, area.x, bar.y + 10, row->name, names);
		fill_parts(picture, parts);
		draw_number(picture, parts[2].x + parts[2].width + 5, bar.y + 10, n);
	}
}

static void
draw_counts(struct lc__picture *picture, const struct lc__coverage *c,
    struct lc__rect area)
{
	const double names = name_width(picture, &c->counts[0].name, sizeof(c->counts[0]),
	    c->n_counts, area.width);
	const double room = floor(area.width - names - NUMBERS);
	uint64_t most = 1;

	draw_title(picture, area.x, area.y, c->counts_title, area.width);
	for (size_t i = 0; i < c->n_counts; i++) {
		most = c->counts[i].first > most ? c->counts[i].first : most;
		most = c->counts[i].second > most ? c->counts[i].second : most;
	}
	for (size_t i = 0; i < c->n_counts; i++) {
		const uint64_t n[2] = { c->counts[i].first, c->counts[i].second };
		const double y = floor(area.y + TITLE + (double)i * PAIR_LINE + 2);
		draw_name(picture, area.x, y + 14, c->counts[i].name, names);
		for (int k = 0; k < 2; k++) {
			struct lc__rect bar = { floor(area.x + names), y + k * 10,
				round(room * (double)n[k] / (double)most), 9 };
			if (n[k] > 0 && bar.width < 1)
				bar.width = 1;
			lc__picture_fill(picture, bar, colours[2 * k]);
			draw_number(picture, bar.x + bar.width + 5, bar.y + 9, n[k]);
		}
	}
}

/* ---- histograms --------------------------------------------------------------------- */

static double
share_of(const struct lc__histogram *h, uint32_t bin)
{
	return h->n > 0 ? (double)h->counts[bin] / (double)h->n : 0;
}

/* The outline of the second histogram, over the bars of the first. */
static void
draw_steps(struct lc__picture *picture, const struct lc__axes *axes,
    const struct lc__histogram *h, uint32_t first, uint32_t end)
{
	const struct lc__stroke stroke = { .width = 2, .colour = LC__COVERAGE_SECOND };
	struct lc__point points[2 * LC__HISTOGRAM_BINS + 2];
	size_t n = 0;

	points[n++] = (struct lc__point){ lc__axes_x(axes, axes->x.low),
		lc__axes_y(axes, 0) };
	for (uint32_t i = first; i < end; i++) {
		const double y = lc__axes_y(axes, share_of(h, i));
		points[n++] = (struct lc__point){
			lc__axes_x(axes, lc__histogram_edge(h, i)), y
		};
		points[n++] = (struct lc__point){
			lc__axes_x(axes, lc__histogram_edge(h, i + 1)), y
		};
	}
	points[n] = (struct lc__point){ points[n - 1].x, lc__axes_y(axes, 0) };
	n++;
	lc__picture_line(picture, points, n, &stroke);
}

static void
draw_pair(struct lc__picture *picture, const struct lc__coverage_pair *pair,
    struct lc__rect area)
{
	const struct lc__font font = { .size = LC__SMALL, .colour = LC__INK };
	const struct lc__histogram *a = pair->first, *b = pair->second;
	struct lc__axes axes = {
		.area = area,
		.title = a->title,
		.x = { .title = pair->axis, .unit = pair->unit, .no_grid = true },
		.y = { .unit = LC__UNIT_SHARE },
	};
	char text[3 * LC__TICKS_TEXT + 60], n[LC__TICKS_TEXT], m[LC__TICKS_TEXT];
	char more[LC__TICKS_TEXT];
	const uint64_t outside = a->below + a->above + b->below + b->above;
	uint32_t first, end;
	double most = 0;

	lc__histogram_used(a, b, &first, &end);
	for (uint32_t i = first; i < end; i++)
		most = fmax(most, fmax(share_of(a, i), share_of(b, i)));
	axes.x.low = lc__histogram_edge(a, first);
	axes.x.high = lc__histogram_edge(a, end);
	axes.y.high = lc__axis_top(LC__UNIT_SHARE, most);
	axes.area.height -= FOOT;
	lc__axes_lay(picture, &axes);
	lc__axes_grid(picture, &axes);
	for (uint32_t i = first; i < end; i++) {
		struct lc__rect bar = lc__axes_rect(&axes, lc__histogram_edge(a, i),
		    lc__histogram_edge(a, i + 1), 0, share_of(a, i));
		bar.width -= bar.width >= 4;
		lc__picture_fill(picture, bar, LC__COVERAGE_FIRST);
	}
	draw_steps(picture, &axes, b, first, end);
	lc__axes_draw(picture, &axes);
	snprintf(text, sizeof(text), "n = %s and %s, distance %.2g%s%s%s",
	    lc__ticks_text((double)a->n, n, sizeof(n)),
	    lc__ticks_text((double)b->n, m, sizeof(m)), lc__histogram_distance(a, b),
	    outside > 0 ? ", " : "",
	    outside > 0 ? lc__ticks_text((double)outside, more, sizeof(more)) : "",
	    outside > 0 ? " outside" : "");
	lc__picture_text(picture, axes.plot.x, axes.area.y + axes.area.height + 13, &font,
	    lc_id_of(text), area.width);
}

/* ---- the page ---------------------------------------------------------------------- */

static double
draw_lists(struct lc__picture *picture, const struct lc__coverage *c, double top,
    double width, unsigned across)
{
	const double each = floor((width - 2 * LC__MARGIN - (across - 1) * GAP) / across);
	const bool groups = c->n_groups > 1, counts = c->n_counts > 0;
	const double high = groups ? TITLE + LINE * (double)c->n_groups : 0;
	const double other = counts ? TITLE + PAIR_LINE * (double)c->n_counts : 0;
	const bool beside = across == 2 && groups && counts;
	const double at = beside || !groups ? top : top + high + GAP;
	const double x = beside ? LC__MARGIN + each + GAP : LC__MARGIN;

	/* The caller first measures, with picture NULL: a picture needs its size before
	 * it is drawn on. */
	if (picture != NULL && groups)
		draw_groups(picture, c, (struct lc__rect){ LC__MARGIN, top, each, high });
	if (picture != NULL && counts)
		draw_counts(picture, c, (struct lc__rect){ x, at, each, other });
	if (!groups && !counts)
		return top;
	return (beside          ? top + fmax(high, other)
		       : counts ? at + other
				: top + high) +
	    GAP;
}

lc_status
lc__coverage_draw(struct lc__picture *picture, const struct lc__coverage *c, double width)
{
	const struct lc__font large = { .size = LC__TITLE,
		.colour = LC__INK,
		.bold = true,
		.keep_end = true };
	const unsigned across = width >= TWO_COLUMNS ? 2 : 1;
	const double each = floor((width - 2 * LC__MARGIN - (across - 1) * GAP) / across);
	const double top = LC__MARGIN + HEAD + KEYS + GAP - 8;
	const double charts = draw_lists(NULL, c, top, width, across);
	const size_t down = (c->n_pairs + across - 1) / across;
	char title[1000];

	snprintf(title, sizeof(title), "%.480s and %.480s", c->names[0], c->names[1]);
	return_if_error(lc__picture_begin(picture, width,
	    charts + (double)down * (CHART + GAP) - GAP + LC__MARGIN, lc_id_of(title)));
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 14, &large, lc_id_of(title),
	    width - 2 * LC__MARGIN);
	draw_keys(picture, c);
	draw_lists(picture, c, top, width, across);
	for (size_t i = 0; i < c->n_pairs; i++)
		draw_pair(picture, &c->pairs[i],
		    (struct lc__rect){ LC__MARGIN + (double)(i % across) * (each + GAP),
			charts + (double)(i / across) * (CHART + GAP), each, CHART });
	return LC_OK;
}
