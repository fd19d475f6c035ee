/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/sheet.h"

#include "base/error.h"
#include "image/canvas.h"
#include "image/font.h"

#define HEAD 46         /* title and line */
#define GAP 12          /* between cells */
#define CAPTION 30      /* below a cell */
#define LEAST_WIDTH 360 /* of the cells' place, for the title */
#define THICK_CELL 160  /* from which on boxes have thick lines */
#define CROSS 0xd9a09bu /* of a cell without a picture */

lc_status
lc__sheet_new(lc_id title, lc_id line, uint32_t n, uint32_t columns, uint32_t cell,
    struct lc__sheet *out)
{
	const struct lc__pen large = { LC__INK, 2 }, small = { LC__DIM_INK, 1 };
	const uint64_t used = columns < n ? columns : n;
	const uint64_t rows = (n + (uint64_t)columns - 1) / columns;
	const uint64_t cells = used * (cell + GAP) - GAP;
	const uint64_t width = cells > LEAST_WIDTH ? cells : LEAST_WIDTH;
	const uint64_t height = HEAD + rows * (cell + CAPTION + GAP) - GAP;
	struct lc__sheet sheet = { .columns = columns, .cell = cell };

	if (width > LC__CANVAS_PIXELS || height > LC__CANVAS_PIXELS)
		return lc__error(LC_INVALID, 0,
		    "%u cells of %u pixels are too many for one picture", n, cell);
	return_if_error(lc__canvas_new((uint32_t)width + 2 * LC__MARGIN,
	    (uint32_t)height + 2 * LC__MARGIN, LC__PAPER, &sheet.canvas));
	lc__text_draw_cut(&sheet.canvas, LC__MARGIN, LC__MARGIN, large, title,
	    (size_t)width / (2 * LC__GLYPH_STEP));
	lc__text_draw_cut(&sheet.canvas, LC__MARGIN, LC__MARGIN + 25, small, line,
	    (size_t)width / LC__GLYPH_STEP);
	*out = sheet;
	return LC_OK;
}

void
lc__sheet_free(struct lc__sheet *sheet)
{
	lc__canvas_free(&sheet->canvas);
}

struct lc__area
lc__sheet_cell(const struct lc__sheet *sheet, uint32_t i)
{
	const struct lc__area area = { LC__MARGIN +
		    (int64_t)(i % sheet->columns) * (sheet->cell + GAP),
		LC__MARGIN + HEAD +
		    (int64_t)(i / sheet->columns) * (sheet->cell + CAPTION + GAP),
		sheet->cell, sheet->cell };

	return area;
}

struct lc__area
lc__sheet_place(const struct lc__sheet *sheet, uint32_t i, uint32_t width,
    uint32_t height)
{
	struct lc__area area = lc__sheet_cell(sheet, i);
	const int64_t longer = width > height ? width : height;
	const int64_t wide = (area.width * width + longer / 2) / longer;
	const int64_t high = (area.height * height + longer / 2) / longer;

	area.x += (area.width - wide) / 2;
	area.y += (area.height - high) / 2;
	area.width = wide ? wide : 1;
	area.height = high ? high : 1;
	return area;
}

/* Facts are separated by two blanks: keep as many as fit, from the first on. */
static lc_id
fit_note(lc_id note, size_t most)
{
	const char *text = note.data;

	for (size_t n = note.size; n > 0 && note.size > most; n--)
		if (n + 2 <= note.size && text[n] == ' ' && text[n + 1] == ' ')
			note.size = n;
	return note;
}

static void
draw_caption(struct lc__sheet *sheet, uint32_t i, struct lc__caption caption,
    uint32_t note_colour)
{
	const struct lc__area cell = lc__sheet_cell(sheet, i);
	const struct lc__pen name = { LC__INK, 1 }, note = { note_colour, 1 };
	const size_t most = (sheet->cell + 1) / LC__GLYPH_STEP;
	const int64_t y = cell.y + cell.height + 6;

	lc__text_draw_cut(&sheet->canvas, cell.x, y, name, caption.name, most);
	lc__text_draw_cut(&sheet->canvas, cell.x, y + LC__TEXT_LINE, note,
	    fit_note(caption.note, most), most);
}

void
lc__sheet_picture(struct lc__sheet *sheet, uint32_t i, const struct lc__canvas *picture,
    const struct lc__box *boxes, size_t n, struct lc__caption caption)
{
	const struct lc__area place = lc__sheet_place(sheet, i, picture->width,
	    picture->height);
	const struct lc__area around = { place.x - 1, place.y - 1, place.width + 2,
		place.height + 2 };

	lc__canvas_fill(&sheet->canvas, lc__sheet_cell(sheet, i), LC__WASH);
	lc__canvas_frame(&sheet->canvas, around, 1, LC__RULE);
	lc__canvas_blit(&sheet->canvas, place, picture);
	lc__boxes_draw_named(&sheet->canvas, place, boxes, n,
	    sheet->cell >= THICK_CELL ? 2 : 1,
	    sheet->names.find != NULL ? &sheet->names : NULL);
	draw_caption(sheet, i, caption, LC__DIM_INK);
}

/* On a white ground that is as high as its lines. */
static void
draw_reason(struct lc__sheet *sheet, struct lc__area cell, lc_id reason)
{
	const struct lc__pen pen = { LC__ALARM, 1 };
	const int64_t inset = cell.width >= 96 ? 11 : 6;
	const size_t most = (size_t)(cell.width - 2 * inset) / LC__GLYPH_STEP;
	const size_t room = (size_t)cell.height / LC__TEXT_LINE - 1;
	const size_t all = lc__text_lines(reason, most);
	const size_t lines = all < room ? all : room;
	const int64_t height = (int64_t)lines * LC__TEXT_LINE + 8;
	const struct lc__area ground = { cell.x + inset - 5,
		cell.y + (cell.height - height) / 2, cell.width - 2 * inset + 10,
		height };

	lc__canvas_fill(&sheet->canvas, ground, LC__PAPER);
	lc__canvas_frame(&sheet->canvas, ground, 1, CROSS);
	lc__text_draw_lines(&sheet->canvas, cell.x + inset, ground.y + 6, pen, reason,
	    most, lines);
}

void
lc__sheet_missing(struct lc__sheet *sheet, uint32_t i, lc_id reason,
    struct lc__caption caption)
{
	const struct lc__area cell = lc__sheet_cell(sheet, i);

	lc__canvas_fill(&sheet->canvas, cell, LC__WASH);
	lc__canvas_cross(&sheet->canvas, cell, CROSS);
	lc__canvas_frame(&sheet->canvas, cell, 1, CROSS);
	draw_reason(sheet, cell, reason);
	draw_caption(sheet, i, caption, LC__ALARM);
}
