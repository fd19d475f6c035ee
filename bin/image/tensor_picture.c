/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/tensor_picture.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "draw/axes.h"
#include "image/tensor_image.h"
#include "value/dtype.h"
#include "value/tensor.h"

#define HEAD 46         /* title and type */
#define LEAST_WIDTH 400 /* of a page's content */
#define LEAST_HEIGHT 96 /* of the drawing's place, for the scale beside it */
#define BAR_GAP 16      /* from the drawing to the scale */
#define NOTES 6         /* lines below, at most */
#define ENLARGED 320    /* small images are enlarged to about this */

/* A page being drawn. */
struct page {
	const lc_tensor *tensor;
	struct lc__tensor_picture facts;
	struct lc__pixels image; /* its pixels, if it is one */
	struct lc__picture *picture;
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
	const struct lc__pixels *image = &page->image;
	const uint32_t width = (uint32_t)facts->place.width;

	if (page->tensor->dtype != LC_U8)
		note(page, "black is %.4g, white is %.4g", facts->range.low,
		    facts->range.high);
	if (width < image->width)
		note(page, "reduced from %u x %u to %.0f x %.0f pixels by averaging",
		    image->width, image->height, facts->place.width, facts->place.height);
	else if (width > image->width)
		note(page, "each of %u x %u pixels enlarged to %u x %u", image->width,
		    image->height, width / image->width, width / image->width);
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
		note(page, "each cell is the mean of %llu x %llu elements",
		    (unsigned long long)map->mean_y, (unsigned long long)map->mean_x);
	if (map->zoom_x * map->mean_y != map->zoom_y * map->mean_x)
		note(page,
		    "the aspect is not that of the shape, so that thin sides show");
}

static void
note_heat(struct page *page)
{
	const struct lc__tensor_picture *facts = &page->facts;
	const char *of = lc__dtype_is_complex(page->tensor->dtype) ? "absolute values"
								   : "values";

	if (page->tensor->nbytes == 0) {
		note(page, "no elements");
		return;
	}
	if (facts->range.low <= facts->range.high)
		note(page, "%s from %.6g to %.6g", of, facts->range.low,
		    facts->range.high);
	if (facts->scale.below + facts->scale.above > 0)
		note(page, "%llu cells are below the scale, %llu above",
		    (unsigned long long)facts->scale.below,
		    (unsigned long long)facts->scale.above);
	note_slices(page);
}

/* ---- the drawing ---------------------------------------------------------------- */

/* Small images are enlarged by a whole number, large ones reduced to the side. */
static void
fit_image(struct page *page, uint32_t side)
{
	const struct lc__pixels *image = &page->image;
	const double longer = fmax(image->width, image->height);
	const double most = fmin(ENLARGED, side);
	double scale = longer < most ? floor(most / longer) : 1;

	if (longer > side)
		scale = side / longer;
	page->facts.place.width = fmax(round(image->width * scale), 1);
	page->facts.place.height = fmax(round(image->height * scale), 1);
}

static void
draw_image(struct page *page)
{
	const struct lc__rect place = page->facts.place;

	lc__picture_frame(page->picture,
	    (struct lc__rect){ place.x - 1, place.y - 1, place.width + 2,
		place.height + 2 },
	    1, LC__RULE);
	lc__picture_image(page->picture, place, &page->image);
}

static void
draw_heat(struct page *page)
{
	const struct lc__tensor_picture *facts = &page->facts;
	const struct lc__rect bar = { facts->place.x + facts->place.width + BAR_GAP,
		facts->place.y + facts->map.label, LC__COLOUR_BAR,
		fmax(facts->place.height - facts->map.label, LEAST_HEIGHT) };

	lc__heat_map_draw(&facts->map, &facts->scale, page->picture, facts->place.x,
	    facts->place.y);
	if (facts->scale.low <= facts->scale.high)
		lc__colour_bar(page->picture, bar, facts->scale.map, facts->scale.low,
		    facts->scale.high, LC__UNIT_NUMBER);
}

/* ---- the page ------------------------------------------------------------------- */

static void
draw_head(struct page *page, lc_id title)
{
	const struct lc__font large = { .size = LC__TITLE,
		.colour = LC__INK,
		.bold = true,
		.keep_end = true };
	const struct lc__font small = { .size = LC__SMALL, .colour = LC__DIM_INK };
	const double width = lc__picture_width(page->picture) - 2 * LC__MARGIN;
	char type[LC__TENSOR_TEXT];

	lc__picture_text(page->picture, LC__MARGIN, LC__MARGIN + 14, &large, title,
	    width);
	lc__tensor_describe(page->tensor, type, sizeof(type));
	lc__picture_text(page->picture, LC__MARGIN, LC__MARGIN + 33, &small,
	    lc_id_of(type), width);
}

static void
draw_notes(struct page *page, double y)
{
	const struct lc__value_range *range = &page->facts.range;
	struct lc__font font = { .size = LC__SMALL, .colour = LC__DIM_INK };
	const double width = lc__picture_width(page->picture) - 2 * LC__MARGIN;
	char text[100];

	for (int i = 0; i < page->n_notes; i++, y += LC__LINE(LC__SMALL))
		lc__picture_text(page->picture, LC__MARGIN, y, &font,
		    lc_id_of(page->notes[i]), width);
	if (range->nan + range->infinite == 0)
		return;
	/* Each with the colour that it is drawn in before it. */
	snprintf(text, sizeof(text), "%llu NaN, %llu infinite",
	    (unsigned long long)range->nan, (unsigned long long)range->infinite);
	font.colour = LC__ALARM;
	lc__picture_fill(page->picture,
	    (struct lc__rect){ LC__MARGIN, floor(y - 9), 9, 9 }, LC__COLOUR_NOT_FINITE);
	lc__picture_text(page->picture, LC__MARGIN + 15, y, &font, lc_id_of(text),
	    width - 15);
}

static lc_status
draw_page(struct page *page, lc_id title)
{
	struct lc__tensor_picture *facts = &page->facts;
	const bool bad = facts->range.nan + facts->range.infinite > 0;
	double width = facts->place.width, height = facts->place.height;

	if (!facts->image && width > 0) {
		width += BAR_GAP + LC__COLOUR_BAR;
		height = fmax(height, LEAST_HEIGHT + facts->map.label);
	}
	return_if_error(
	    lc__picture_begin(page->picture, fmax(width, LEAST_WIDTH) + 2 * LC__MARGIN,
		2 * LC__MARGIN + HEAD + height + 10 +
		    LC__LINE(LC__SMALL) * (page->n_notes + bad),
		title));
	facts->place.x = LC__MARGIN;
	facts->place.y = LC__MARGIN + HEAD;
	draw_head(page, title);
	if (facts->image)
		draw_image(page);
	else
		draw_heat(page);
	draw_notes(page, facts->place.y + height + 20);
	return LC_OK;
}

static lc_status
prepare_heat(struct page *page, uint32_t side)
{
	struct lc__tensor_picture *facts = &page->facts;

	facts->range = lc__value_range_of(page->tensor);
	lc__heat_map_plan(page->tensor, side, true, &facts->map);
	return_if_error(lc__heat_map_scale(&facts->map, &facts->scale));
	facts->place.width = facts->map.width;
	facts->place.height = facts->map.height;
	note_heat(page);
	return LC_OK;
}

lc_status
lc__tensor_picture(const lc_tensor *tensor, lc_id title, bool heat, uint32_t side,
    struct lc__picture *picture, struct lc__tensor_picture *facts)
{
	struct page page = { .tensor = tensor, .picture = picture };
	struct lc__image_form form;
	lc_status status;

	return_if_error(lc__dtype_need_numbers(tensor->dtype));
	page.facts.image = !heat && lc__image_form_of(tensor, &form);
	if (page.facts.image) {
		status = lc__image_pixels(tensor, &form, &page.image, &page.facts.range);
		if (status == LC_OK) {
			fit_image(&page, side);
			note_image(&page);
		}
	} else {
		status = prepare_heat(&page, side);
	}
	if (status == LC_OK)
		status = draw_page(&page, title);
	lc__pixels_free(&page.image);
	*facts = page.facts;
	return status;
}
