/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/tensor_picture.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "draw/ticks.h"
#include "image/canvas.h"
#include "image/font.h"
#include "image/scale.h"
#include "image/tensor_image.h"
#include "value/dtype.h"
#include "value/tensor.h"

#define HEAD 44         /* title and type */
#define LEAST_WIDTH 400 /* of a page's content */
#define LEAST_HEIGHT 96 /* of the drawing's place, for the scale beside it */
#define BAR_GAP 16      /* from the drawing to the scale */
#define BAR_WIDTH 14
#define BAR_LABELS 72 /* pixels beside the scale */
#define A_LABEL 56    /* pixels of the scale that a label gets */
#define NOTES 5       /* lines below */
#define ENLARGED 320  /* small images are enlarged to about this */

/* A page being made. */
struct page {
	const lc_tensor *tensor;
	struct lc__tensor_picture facts;
	struct lc__canvas image; /* its pixels, if it is one */
	struct lc__canvas canvas;
	char notes[NOTES][160];
	int n_notes;
};

/* ---- the notes ------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void
note(struct page *page, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(page->notes[page->n_notes++], sizeof(page->notes[0]), format, args);
	va_end(args);
}

static void
note_image(struct page *page)
{
	const struct lc__tensor_picture *facts = &page->facts;
	const struct lc__canvas *image = &page->image;

	if (page->tensor->dtype != LC_U8)
		note(page, "black is %.4g, white is %.4g", facts->range.low,
		    facts->range.high);
	if (facts->width < image->width)
		note(page, "reduced from %u x %u to %u x %u pixels by averaging",
		    image->width, image->height, facts->width, facts->height);
	else if (facts->width > image->width)
		note(page, "each of %u x %u pixels enlarged to %u x %u", image->width,
		    image->height, facts->width / image->width,
		    facts->width / image->width);
}

static void
note_slices(struct page *page)
{
	const struct lc__heat_map *map = &page->facts.map;

	if (map->slices > 1)
		note(page, "%llu slices of %llu x %llu, left to right, then down",
		    (unsigned long long)map->slices, (unsigned long long)map->rows,
		    (unsigned long long)map->columns);
	else if (page->tensor->ndim == 1 && map->rows > 1)
		note(page, "a vector in rows of %llu", (unsigned long long)map->columns);
	if (map->shown < map->slices)
		note(page, "only the first %u slices are shown", map->shown);
	if (map->mean_x > 1 || map->mean_y > 1)
		note(page, "each point is the mean of %llu x %llu elements",
		    (unsigned long long)map->mean_y, (unsigned long long)map->mean_x);
}

static void
note_heat(struct page *page)
{
	const struct lc__value_range *range = &page->facts.range;
	const lc_dtype dtype = page->tensor->dtype;
	const char *of = lc__dtype_is_complex(dtype) ? "absolute values" : "values";

	if (page->tensor->nbytes == 0) {
		note(page, "no elements");
		return;
	}
	if (range->low <= range->high)
		note(page, "%s from %.6g to %.6g", of, range->low, range->high);
	note_slices(page);
}

/* ---- the drawing ---------------------------------------------------------------- */

/* Small images are enlarged by a whole number, large ones reduced to the side. */
static void
fit_image(struct page *page, uint32_t side)
{
	const struct lc__canvas *image = &page->image;
	const uint32_t longer = image->width > image->height ? image->width
							     : image->height;
	const uint32_t most = ENLARGED < side ? ENLARGED : side;
	const uint32_t zoom = longer < most ? most / longer : 1;
	uint64_t width = (uint64_t)image->width * zoom;
	uint64_t height = (uint64_t)image->height * zoom;

	if (longer > side) {
		width = ((uint64_t)image->width * side + longer / 2) / longer;
		height = ((uint64_t)image->height * side + longer / 2) / longer;
	}
	page->facts.width = width ? (uint32_t)width : 1;
	page->facts.height = height ? (uint32_t)height : 1;
}

static void
draw_image(struct page *page, int64_t x, int64_t y)
{
	const struct lc__area area = { x, y, page->facts.width, page->facts.height };
	const struct lc__area around = { x - 1, y - 1, area.width + 2, area.height + 2 };

	lc__canvas_frame(&page->canvas, around, 1, LC__RULE);
	lc__canvas_blit(&page->canvas, area, &page->image);
}

/* The colours from high to low. */
static void
draw_bar(struct page *page, int64_t x, int64_t y, uint32_t height)
{
	const bool flat = !(page->facts.range.low < page->facts.range.high);
	uint32_t colours[LC__HEAT_COLOURS];

	lc__colour_heat(colours);
	for (uint32_t i = 0; i < height; i++) {
		const struct lc__area line = { x, y + i, BAR_WIDTH, 1 };
		const uint32_t at = (height - 1 - i) * (LC__HEAT_COLOURS - 1) /
		    (height - 1);
		lc__canvas_fill(&page->canvas, line,
		    colours[flat ? LC__HEAT_COLOURS / 2 : at]);
	}
}

/* A value beside the bar, at the height @p y. */
static void
label_bar(struct page *page, int64_t x, int64_t y, const char *text)
{
	const struct lc__pen pen = { LC__INK, 1 };
	const struct lc__area tick = { x + BAR_WIDTH, y, 4, 1 };

	lc__canvas_fill(&page->canvas, tick, LC__INK);
	lc__text_draw(&page->canvas, x + BAR_WIDTH + 7, y - 3, pen, lc_id_of(text));
}

static void
label_end(struct page *page, int64_t x, int64_t y, double value)
{
	char text[LC__TICKS_TEXT];

	snprintf(text, sizeof(text), "%.5g", value);
	label_bar(page, x, y, text);
}

/* Round numbers that do not come near the ends. */
static void
label_middle(struct page *page, int64_t x, int64_t y, uint32_t height)
{
	const struct lc__value_range *range = &page->facts.range;
	const struct lc__ticks ticks = lc__ticks_of(range->low, range->high,
	    height / A_LABEL, 0);
	char text[LC__TICKS_TEXT];

	for (uint32_t i = 0; i < ticks.count; i++) {
		const double value = lc__ticks_value(&ticks, i);
		const int64_t at = llround(
		    (1 - lc__value_range_share(range, value)) * (height - 1));
		if (at >= LC__TEXT_LINE && at < (int64_t)height - LC__TEXT_LINE)
			label_bar(page, x, y + at,
			    lc__ticks_text(value, text, sizeof(text)));
	}
}

static void
draw_scale(struct page *page, int64_t x, int64_t y, uint32_t height)
{
	const struct lc__value_range *range = &page->facts.range;

	draw_bar(page, x, y, height);
	if (range->low < range->high) {
		label_end(page, x, y, range->high);
		label_middle(page, x, y, height);
		label_end(page, x, y + height - 1, range->low);
	} else {
		label_end(page, x, y + height / 2, range->low);
	}
}

static void
draw_heat(struct page *page, int64_t x, int64_t y)
{
	const struct lc__heat_map *map = &page->facts.map;
	const uint32_t height = map->height > LEAST_HEIGHT ? map->height : LEAST_HEIGHT;

	lc__heat_map_draw(map, &page->facts.range, &page->canvas, x, y);
	if (page->facts.range.low <= page->facts.range.high)
		draw_scale(page, x + map->width + BAR_GAP, y, height);
}

/* ---- the page ------------------------------------------------------------------- */

static void
draw_head(struct page *page, lc_id title)
{
	const struct lc__pen large = { LC__INK, 2 }, small = { LC__DIM_INK, 1 };
	const uint32_t width = page->canvas.width - 2 * LC__MARGIN;
	char type[LC__TENSOR_TEXT];

	lc__text_draw_cut(&page->canvas, LC__MARGIN, LC__MARGIN, large, title,
	    width / (LC__GLYPH_STEP * 2));
	lc__tensor_describe(page->tensor, type, sizeof(type));
	lc__text_draw_cut(&page->canvas, LC__MARGIN, LC__MARGIN + 24, small,
	    lc_id_of(type), width / LC__GLYPH_STEP);
}

/* The line about elements that are not finite, with their colour before it. */
static void
draw_not_finite(struct page *page, int64_t y)
{
	const struct lc__value_range *range = &page->facts.range;
	const struct lc__pen pen = { LC__ALARM, 1 };
	const struct lc__area swatch = { LC__MARGIN, y - 1, 9, 9 };
	char text[100];

	snprintf(text, sizeof(text), "%llu NaN, %llu infinite",
	    (unsigned long long)range->nan, (unsigned long long)range->infinite);
	lc__canvas_fill(&page->canvas, swatch, LC__COLOUR_NOT_FINITE);
	lc__text_draw(&page->canvas, LC__MARGIN + 15, y, pen, lc_id_of(text));
}

static void
draw_notes(struct page *page, int64_t y)
{
	const struct lc__pen pen = { LC__DIM_INK, 1 };

	for (int i = 0; i < page->n_notes; i++, y += LC__TEXT_LINE)
		lc__text_draw(&page->canvas, LC__MARGIN, y, pen,
		    lc_id_of(page->notes[i]));
	if (page->facts.range.nan + page->facts.range.infinite > 0)
		draw_not_finite(page, y);
}

static lc_status
draw_page(struct page *page, lc_id title)
{
	const struct lc__tensor_picture *facts = &page->facts;
	const bool bad = facts->range.nan + facts->range.infinite > 0;
	uint32_t width = facts->width, height = facts->height;

	if (!facts->image && width > 0) {
		width += BAR_GAP + BAR_WIDTH + BAR_LABELS;
		height = height > LEAST_HEIGHT ? height : LEAST_HEIGHT;
	}
	width = width > LEAST_WIDTH ? width : LEAST_WIDTH;
	return_if_error(lc__canvas_new(width + 2 * LC__MARGIN,
	    2 * LC__MARGIN + HEAD + height +
		LC__TEXT_LINE * (uint32_t)(page->n_notes + bad),
	    LC__PAPER, &page->canvas));
	draw_head(page, title);
	if (facts->image)
		draw_image(page, LC__MARGIN, LC__MARGIN + HEAD);
	else
		draw_heat(page, LC__MARGIN, LC__MARGIN + HEAD);
	draw_notes(page, LC__MARGIN + HEAD + height + 8);
	return LC_OK;
}

static void
prepare_heat(struct page *page, uint32_t side)
{
	struct lc__tensor_picture *facts = &page->facts;

	facts->range = lc__value_range_of(page->tensor);
	lc__heat_map_plan(page->tensor, side, &facts->map);
	facts->width = facts->map.width;
	facts->height = facts->map.height;
	note_heat(page);
}

lc_status
lc__tensor_picture(const lc_tensor *tensor, lc_id title, bool heat, uint32_t side,
    struct lc__canvas *out, struct lc__tensor_picture *facts)
{
	struct page page = { .tensor = tensor };
	struct lc__image_form form;
	lc_status status = LC_OK;

	return_if_error(lc__dtype_need_numbers(tensor->dtype));
	page.facts.image = !heat && lc__image_form_of(tensor, &form);
	if (page.facts.image) {
		status = lc__image_pixels(tensor, &form, &page.image, &page.facts.range);
		if (status == LC_OK) {
			fit_image(&page, side);
			note_image(&page);
		}
	} else {
		prepare_heat(&page, side);
	}
	if (status == LC_OK)
		status = draw_page(&page, title);
	lc__canvas_free(&page.image);
	if (status != LC_OK)
		return status;
	*out = page.canvas;
	*facts = page.facts;
	return LC_OK;
}
