/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/sheet.h"

#include <math.h>

#include "base/error.h"

#define HEAD 46         /* title and line */
#define GAP 12          /* between cells */
#define LEAST_WIDTH 360 /* of the cells' place, for the title */
#define THICK_CELL 160  /* side from which on boxes have thick lines */
#define CROSS 0xd9a09bu /* of a cell without a picture */
#define INSET 8         /* of text in a cell */

lc_status
lc__sheet_begin(struct lc__picture *picture, lc_id title, lc_id line, uint32_t n,
    uint32_t columns, uint32_t cell, struct lc__sheet *out)
{
	const struct lc__font large = { .size = LC__TITLE,
		.colour = LC__INK,
		.bold = true,
		.keep_end = true };
	const struct lc__font small = { .size = LC__SMALL, .colour = LC__DIM_INK };
	const double used = fmin(columns, n), rows = ceil((double)n / columns);
	const double width = fmax(used * (cell + GAP) - GAP, LEAST_WIDTH);
	const double height = HEAD + rows * (cell + LC__SHEET_CAPTION + GAP) - GAP;

	return_if_error(lc__picture_begin(picture, width + 2 * LC__MARGIN,
	    height + 2 * LC__MARGIN, title));
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 14, &large, title, width);
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 33, &small, line, width);
	*out = (struct lc__sheet){ picture, columns, cell, { NULL, NULL } };
	return LC_OK;
}

struct lc__rect
lc__sheet_cell(const struct lc__sheet *sheet, uint32_t i)
{
	return (struct lc__rect){ LC__MARGIN +
		    (double)(i % sheet->columns) * (sheet->cell + GAP),
		LC__MARGIN + HEAD +
		    (double)(i / sheet->columns) *
			(sheet->cell + LC__SHEET_CAPTION + GAP),
		sheet->cell, sheet->cell };
}

/* Sides scaled to whole pixels. */
struct lc__rect
lc__sheet_place(const struct lc__sheet *sheet, uint32_t i, uint32_t width,
    uint32_t height)
{
	const struct lc__rect cell = lc__sheet_cell(sheet, i);
	const double longer = width > height ? width : height;
	const double wide = fmax(round(cell.width * width / longer), 1);
	const double high = fmax(round(cell.height * height / longer), 1);

	return (struct lc__rect){ cell.x + floor((cell.width - wide) / 2),
		cell.y + floor((cell.height - high) / 2), wide, high };
}

/* Facts are separated by two blanks: keep the first ones that fit. */
static lc_id
fit_note(struct lc__sheet *sheet, const struct lc__font *font, lc_id note)
{
	const char *text = note.data;

	for (size_t n = note.size; n > 0; n--) {
		if (n + 2 > note.size || text[n] != ' ' || text[n + 1] != ' ')
			continue;
		if (lc__picture_text_width(sheet->picture, font, note) <= sheet->cell)
			break;
		note.size = n;
	}
	return note;
}

static void
draw_caption(struct lc__sheet *sheet, uint32_t i, struct lc__caption caption,
    uint32_t note_colour)
{
	const struct lc__rect cell = lc__sheet_cell(sheet, i);
	const struct lc__font name = { .size = LC__SMALL,
		.colour = LC__INK,
		.keep_end = true };
	const struct lc__font note = { .size = LC__SMALL, .colour = note_colour };
	const double y = cell.y + cell.height + 14;

	lc__picture_text(sheet->picture, cell.x, y, &name, caption.name, sheet->cell);
	lc__picture_text(sheet->picture, cell.x, y + LC__LINE(LC__SMALL), &note,
	    fit_note(sheet, &note, caption.note), sheet->cell);
}

/* The ground around an image of a cell, with a frame. */
static void
draw_ground(struct lc__sheet *sheet, uint32_t i, struct lc__rect place)
{
	lc__picture_fill(sheet->picture, lc__sheet_cell(sheet, i), LC__WASH);
	lc__picture_frame(sheet->picture,
	    (struct lc__rect){ place.x - 1, place.y - 1, place.width + 2,
		place.height + 2 },
	    1, LC__RULE);
}

void
lc__sheet_image(struct lc__sheet *sheet, uint32_t i, const struct lc__pixels *image,
    const struct lc__box *boxes, size_t n, struct lc__caption caption)
{
	const struct lc__rect place = lc__sheet_place(sheet, i, image->width,
	    image->height);

	draw_ground(sheet, i, place);
	lc__picture_image(sheet->picture, place, image);
	lc__boxes_draw(sheet->picture, place, boxes, n, sheet->cell >= THICK_CELL ? 2 : 1,
	    &sheet->names);
	draw_caption(sheet, i, caption, LC__DIM_INK);
}

struct lc__rect
lc__sheet_heat(struct lc__sheet *sheet, uint32_t i, const struct lc__heat_map *map,
    const struct lc__heat_scale *scale, struct lc__caption caption)
{
	const struct lc__rect cell = lc__sheet_cell(sheet, i);
	const struct lc__rect place = { cell.x + floor((cell.width - map->width) / 2),
		cell.y + floor((cell.height - map->height) / 2), map->width,
		map->height };

	draw_ground(sheet, i, place);
	lc__heat_map_draw(map, scale, sheet->picture, place.x, place.y);
	draw_caption(sheet, i, caption, LC__DIM_INK);
	return place;
}

/* Lines of text on a ground of its own in the middle of a cell. */
static void
draw_text(struct lc__sheet *sheet, struct lc__rect cell, lc_id text,
    const struct lc__font *font, uint32_t frame)
{
	const double line = LC__LINE(font->size), width = cell.width - 2 * INSET - 4;
	const size_t room = (size_t)fmax((cell.height - 2 * INSET) / line, 1);
	const size_t all = lc__picture_text_lines(sheet->picture, 0, 0, font, text, width,
	    0);
	const size_t lines = all < room ? all : room;
	const double height = ceil((double)lines * line) + 8;
	const struct lc__rect ground = { cell.x + INSET - 2,
		cell.y + floor((cell.height - height) / 2), cell.width - 2 * INSET + 4,
		height };

	lc__picture_fill(sheet->picture, ground, LC__PAPER);
	lc__picture_frame(sheet->picture, ground, 1, frame);
	lc__picture_text_lines(sheet->picture, cell.x + INSET + 2,
	    ground.y + 4 + font->size, font, text, width, lines);
}

void
lc__sheet_text(struct lc__sheet *sheet, uint32_t i, lc_id text,
    struct lc__caption caption)
{
	const struct lc__font font = { .size = LC__SMALL, .colour = LC__INK };
	const struct lc__rect cell = lc__sheet_cell(sheet, i);

	lc__picture_fill(sheet->picture, cell, LC__WASH);
	draw_text(sheet, cell, text, &font, LC__RULE);
	draw_caption(sheet, i, caption, LC__DIM_INK);
}

void
lc__sheet_missing(struct lc__sheet *sheet, uint32_t i, lc_id reason,
    struct lc__caption caption)
{
	const struct lc__font font = { .size = LC__SMALL, .colour = LC__ALARM };
	const struct lc__stroke stroke = { 1, CROSS, false };
	const struct lc__rect cell = lc__sheet_cell(sheet, i);
	const double right = cell.x + cell.width, bottom = cell.y + cell.height;

	lc__picture_fill(sheet->picture, cell, LC__WASH);
	lc__picture_line(sheet->picture,
	    (const struct lc__point[]){ { cell.x, cell.y }, { right, bottom } }, 2,
	    &stroke);
	lc__picture_line(sheet->picture,
	    (const struct lc__point[]){ { right, cell.y }, { cell.x, bottom } }, 2,
	    &stroke);
	lc__picture_frame(sheet->picture, cell, 1, CROSS);
	draw_text(sheet, cell, reason, &font, CROSS);
	draw_caption(sheet, i, caption, LC__ALARM);
}
