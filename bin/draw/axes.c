/* SPDX-License-Identifier: BSD-2-Clause */
#include "draw/axes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ABOVE 26       /* pixels of the title above a plane */
#define TOP 8          /* above the plane without one: half a number */
#define TITLE 18       /* of an axis' title */
#define TICK 4         /* of a tick */
#define NUMBER 16      /* of the numbers below the plane */
#define APART 12       /* between numbers along an axis */
#define BETWEEN 24     /* from one number beside the plane to the next, at least */
#define MOST_NUMBERS 9 /* beside the plane */

#define BAR_LINE 18 /* from one named bar to the next */
#define BAR_HEIGHT 12

static const struct lc__font number_font = { .size = LC__SMALL, .colour = LC__DIM_INK };
static const struct lc__font title_font = { .size = LC__HEADING, .colour = LC__INK };

double
lc__axis_top(enum lc__unit unit, double most)
{
	struct lc__ticks ticks;

	if (!(most > 0) || !isfinite(most))
		most = 1;
	ticks = lc__ticks_in(unit, 0, most, 4);
	if (!(ticks.step > 0))
		return most;
	return ceil(most / ticks.step - 1e-9) * ticks.step;
}

static double
number_width(struct lc__picture *picture, const struct lc__axis *axis, uint32_t i)
{
	char text[LC__TICKS_TEXT];

	return lc__picture_text_width(picture, &number_font,
	    lc_id_of(lc__unit_text(axis->unit, lc__ticks_value(&axis->ticks, i), text)));
}

static double
widest_number(struct lc__picture *picture, const struct lc__axis *axis)
{
	double widest = 0;

	for (uint32_t i = 0; i < axis->ticks.count; i++)
		widest = fmax(widest, number_width(picture, axis, i));
	return widest;
}

void
lc__axes_lay(struct lc__picture *picture, struct lc__axes *axes)
{
	const double above = axes->title != NULL ? ABOVE : TOP;
	const double below = TICK + NUMBER + (axes->x.title != NULL ? TITLE : 0);
	const double height = fmax(floor(axes->area.height - above - below), 1);
	const uint32_t most = (uint32_t)fmin(fmax(height / BETWEEN, 2), MOST_NUMBERS);
	double left, width;

	axes->y.ticks = lc__ticks_in(axes->y.unit, axes->y.low, axes->y.high, most);
	/* If possible with a number at the upper end. */
	for (uint32_t n = most; n > 1; n--) {
		const struct lc__ticks ticks = lc__ticks_in(axes->y.unit, axes->y.low,
		    axes->y.high, n);
		if (ticks.count > 1 &&
		    axes->y.high - lc__ticks_value(&ticks, ticks.count - 1) <
			ticks.step * 1e-6) {
			axes->y.ticks = ticks;
			break;
		}
	}
	left = ceil(widest_number(picture, &axes->y)) + TICK + 4 +
	    (axes->y.title != NULL ? TITLE : 0);
	/* The last number below the plane may be half outside of it. */
	width = fmax(floor(axes->area.width - left - 20), 1);
	for (uint32_t n = (uint32_t)fmax(width / 40, 2); n > 0; n--) {
		double apart;
		axes->x.ticks = lc__ticks_in(axes->x.unit, axes->x.low, axes->x.high, n);
		apart = axes->x.ticks.step / (axes->x.high - axes->x.low) * width;
		if (widest_number(picture, &axes->x) + APART <= apart)
			break;
	}
	axes->plot = (struct lc__rect){ floor(axes->area.x + left),
		floor(axes->area.y + above), width, height };
}

static double
share(const struct lc__axis *axis, double value)
{
	/* Halves first: the difference of two doubles may overflow. */
	const double size = axis->high / 2 - axis->low / 2;

	return size > 0 ? fmin(fmax((value / 2 - axis->low / 2) / size, 0), 1) : 0.5;
}

double
lc__axes_x(const struct lc__axes *axes, double value)
{
	return axes->plot.x + share(&axes->x, value) * axes->plot.width;
}

double
lc__axes_y(const struct lc__axes *axes, double value)
{
	return axes->plot.y + (1 - share(&axes->y, value)) * axes->plot.height;
}

struct lc__rect
lc__axes_rect(const struct lc__axes *axes, double x0, double x1, double y0, double y1)
{
	const double left = round(lc__axes_x(axes, x0));
	const double right = round(lc__axes_x(axes, x1));
	const double bottom = round(lc__axes_y(axes, y0));
	const double top = round(lc__axes_y(axes, y1));

	return (struct lc__rect){ left, top, right - left, bottom - top };
}

void
lc__axes_grid(struct lc__picture *picture, const struct lc__axes *axes)
{
	const struct lc__rect plot = axes->plot;

	for (uint32_t i = 0; i < axes->x.ticks.count && !axes->x.no_grid; i++) {
		const double x = lc__axes_x(axes, lc__ticks_value(&axes->x.ticks, i));
		lc__picture_fill(picture,
		    (struct lc__rect){ round(x), plot.y, 1, plot.height }, LC__GRID);
	}
	for (uint32_t i = 0; i < axes->y.ticks.count && !axes->y.no_grid; i++) {
		const double y = lc__axes_y(axes, lc__ticks_value(&axes->y.ticks, i));
		lc__picture_fill(picture,
		    (struct lc__rect){ plot.x, round(y), plot.width, 1 }, LC__GRID);
	}
}

void
lc__axes_draw(struct lc__picture *picture, const struct lc__axes *axes)
{
	const struct lc__rect plot = axes->plot;
	const double bottom = plot.y + plot.height;
	struct lc__font font = number_font;
	char text[LC__TICKS_TEXT];

	lc__picture_fill(picture,
	    (struct lc__rect){ plot.x - 1, bottom, plot.width + 1, 1 }, LC__DIM_INK);
	lc__picture_fill(picture, (struct lc__rect){ plot.x - 1, plot.y, 1, plot.height },
	    LC__DIM_INK);
	font.align = LC__CENTRE;
	for (uint32_t i = 0; i < axes->x.ticks.count; i++) {
		const double value = lc__ticks_value(&axes->x.ticks, i);
		const double x = lc__axes_x(axes, value);
		lc__picture_fill(picture, (struct lc__rect){ round(x), bottom, 1, TICK },
		    LC__DIM_INK);
		lc__picture_text(picture, x, bottom + TICK + 12, &font,
		    lc_id_of(lc__unit_text(axes->x.unit, value, text)), 0);
	}
	font.align = LC__RIGHT;
	for (uint32_t i = 0; i < axes->y.ticks.count; i++) {
		const double value = lc__ticks_value(&axes->y.ticks, i);
		const double y = lc__axes_y(axes, value);
		lc__picture_fill(picture,
		    (struct lc__rect){ plot.x - TICK, round(y), TICK, 1 }, LC__DIM_INK);
		lc__picture_text(picture, plot.x - TICK - 3, y + 4, &font,
		    lc_id_of(lc__unit_text(axes->y.unit, value, text)), 0);
	}
	font.align = LC__CENTRE;
	if (axes->x.title != NULL)
		lc__picture_text(picture, plot.x + plot.width / 2,
		    bottom + TICK + NUMBER + 13, &font, lc_id_of(axes->x.title),
		    plot.width);
	if (axes->y.title != NULL)
		lc__picture_text_up(picture, axes->area.x + 11, plot.y + plot.height / 2,
		    &font, lc_id_of(axes->y.title), plot.height);
	if (axes->title != NULL)
		lc__picture_text(picture, axes->area.x, axes->area.y + 13, &title_font,
		    lc_id_of(axes->title), axes->area.width);
}

/* ---- colours ------------------------------------------------------------------- */

#define STRIPE 14 /* pixels of the colours' width */

/* A number beside the colours, at the height @p y. */
static void
label_bar(struct lc__picture *picture, struct lc__rect area, double y, enum lc__unit unit,
    double value)
{
	char text[LC__TICKS_TEXT];
	struct lc__font font = { .size = LC__SMALL, .colour = LC__INK };

	/* The ends are no round numbers. */
	if (unit == LC__UNIT_NUMBER)
		snprintf(text, sizeof(text), "%.4g", value == 0 ? 0 : value);
	else
		lc__unit_text(unit, value, text);
	lc__picture_fill(picture, (struct lc__rect){ area.x + STRIPE, y, 4, 1 }, LC__INK);
	lc__picture_text(picture, area.x + STRIPE + 7, y + 4, &font, lc_id_of(text),
	    LC__COLOUR_BAR - STRIPE - 7);
}

void
lc__colour_bar(struct lc__picture *picture, struct lc__rect area, enum lc__colour_map map,
    double low, double high, enum lc__unit unit)
{
	const uint32_t height = (uint32_t)fmax(round(area.height), 2);
	const struct lc__axis axis = { .low = low, .high = high };
	const struct lc__ticks ticks = lc__ticks_in(unit, low, high,
	    (uint32_t)fmax(height / 40.0, 1));
	struct lc__pixels stripe;
	const lc_status status = lc__pixels_new(1, height, 0, &stripe);

	if (status != LC_OK) {
		lc__picture_failed(picture, status);
		return;
	}
	for (uint32_t i = 0; i < height; i++)
		lc__pixels_set(&stripe, 0, i,
		    lc__colour_at(map,
			low < high ? (double)(height - 1 - i) / (height - 1) : 0.5));
	lc__picture_image(picture, (struct lc__rect){ area.x, area.y, STRIPE, height },
	    &stripe);
	lc__pixels_free(&stripe);
	lc__picture_frame(picture, (struct lc__rect){ area.x, area.y, STRIPE, height }, 1,
	    LC__RULE);
	if (!(low < high)) {
		label_bar(picture, area, area.y + floor(height / 2.0), unit, low);
		return;
	}
	label_bar(picture, area, area.y, unit, high);
	label_bar(picture, area, area.y + height - 1, unit, low);
	for (uint32_t i = 0; i < ticks.count; i++) {
		const double value = lc__ticks_value(&ticks, i);
		const double y = round((1 - share(&axis, value)) * (height - 1));
		/* Not over the numbers at the ends. */
		if (y >= 13 && y < height - 13)
			label_bar(picture, area, area.y + y, unit, value);
	}
}

double
lc__legend(struct lc__picture *picture, double x, double y, uint32_t colour,
    const char *text)
{
	const struct lc__font font = { .size = LC__SMALL, .colour = LC__INK };
	const struct lc__rect area = { round(x), round(y) - 9, 10, 10 };

	lc__picture_fill(picture, area, colour);
	lc__picture_frame(picture, area, 1, LC__RULE);
	return 15 + lc__picture_text(picture, x + 15, y, &font, lc_id_of(text), 0) + 14;
}

/* ---- bars with names ----------------------------------------------------------- */

double
lc__named_bars_height(size_t n, bool title)
{
	return (title ? ABOVE : 0) + (double)n * BAR_LINE;
}

/* Pixels of the names and of the values after the bars. */
struct sides {
	double names, values;
	double most; /* the value of the longest bar */
};

static const char *
bar_text(const struct lc__named_bars *list, size_t i, char *room)
{
	return list->bars[i].text != NULL
	    ? list->bars[i].text
	    : lc__unit_text(list->unit, list->bars[i].value, room);
}

static struct sides
find_sides(struct lc__picture *picture, const struct lc__named_bars *list)
{
	struct sides sides = { .most = list->most };
	char room[LC__TICKS_TEXT];

	for (size_t i = 0; i < list->n; i++) {
		sides.names = fmax(sides.names,
		    lc__picture_text_width(picture, &number_font, list->bars[i].name));
		sides.values = fmax(sides.values,
		    lc__picture_text_width(picture, &number_font,
			lc_id_of(bar_text(list, i, room))));
		if (!(list->most > 0))
			sides.most = fmax(sides.most, list->bars[i].value);
	}
	sides.names = list->names > 0 ? list->names
				      : ceil(fmin(sides.names, list->area.width / 3)) + 8;
	sides.values = list->values > 0
	    ? list->values
	    : ceil(fmin(sides.values, list->area.width / 3)) + 6;
	return sides;
}

static struct lc__rect
place_bar(const struct lc__named_bars *list, const struct sides *sides, size_t i)
{
	const double room = fmax(list->area.width - sides->names - sides->values, 1);
	const double value = list->bars[i].value;
	double width = sides->most > 0 ? round(room * fmin(value / sides->most, 1)) : 0;

	if (value > 0 && width < 1)
		width = 1;
	return (struct lc__rect){ round(list->area.x + sides->names),
		round(list->area.y + (list->title != NULL ? ABOVE : 0) +
		    (double)i * BAR_LINE + (BAR_LINE - BAR_HEIGHT) / 2.0),
		width, BAR_HEIGHT };
}

struct lc__rect
lc__named_bars_bar(struct lc__picture *picture, const struct lc__named_bars *list,
    size_t i)
{
	const struct sides sides = find_sides(picture, list);

	return place_bar(list, &sides, i);
}

void
lc__named_bars_draw(struct lc__picture *picture, const struct lc__named_bars *list)
{
	const struct sides sides = find_sides(picture, list);
	struct lc__font name = { .size = LC__SMALL,
		.colour = LC__INK,
		.align = LC__RIGHT };
	char room[LC__TICKS_TEXT];

	if (list->title != NULL)
		lc__picture_text(picture, list->area.x, list->area.y + 13, &title_font,
		    lc_id_of(list->title), list->area.width);
	for (size_t i = 0; i < list->n; i++) {
		const struct lc__rect bar = place_bar(list, &sides, i);
		lc__picture_text(picture, bar.x - 6, bar.y + 10, &name,
		    list->bars[i].name, sides.names - 8);
		lc__picture_fill(picture, bar, list->bars[i].colour);
		lc__picture_text(picture, bar.x + bar.width + 5, bar.y + 10, &number_font,
		    lc_id_of(bar_text(list, i, room)), sides.values);
	}
}
