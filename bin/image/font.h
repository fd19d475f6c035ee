/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text on a picture. All characters are of one width. ASCII has glyphs; any other
 * character, and any byte that is not valid UTF-8, is shown as a box.
 */
#ifndef CACHEX_IMAGE_FONT_H
#define CACHEX_IMAGE_FONT_H

#include <stddef.h>

#include "image/canvas.h"

#define LC__GLYPH_WIDTH 5  /* pixels of a glyph */
#define LC__GLYPH_HEIGHT 9 /* 7 above the line, 2 below */
#define LC__GLYPH_STEP 6   /* from one character to the next */
#define LC__TEXT_LINE 12   /* from one line to the next */

/** How text is drawn: 0xRRGGBB, and how many pixels one of the font becomes. */
struct lc__pen {
	uint32_t colour;
	uint32_t scale;
};

/** How many characters. */
size_t lc__text_length(lc_id text);
/** Width in pixels of a text of @p length characters, without the gap after the last. */
uint32_t lc__text_width(size_t length, uint32_t scale);
/** Draw a line whose capitals begin at (x, y). */
void lc__text_draw(struct lc__canvas *canvas, int64_t x, int64_t y, struct lc__pen pen,
    lc_id text);
/**
 * The same with "..." in the middle if it has more than @p most characters; more of
 * its end stays than of its beginning.
 */
void lc__text_draw_cut(struct lc__canvas *canvas, int64_t x, int64_t y,
    struct lc__pen pen, lc_id text, size_t most);
/** Lines that a text takes if each has @p most characters at most, 1 at least. */
size_t lc__text_lines(lc_id text, size_t most);
/**
 * Draw a text in @p lines lines, broken after blanks and slashes. A text that does
 * not fit ends in "...".
 */
void lc__text_draw_lines(struct lc__canvas *canvas, int64_t x, int64_t y,
    struct lc__pen pen, lc_id text, size_t most, size_t lines);

#endif
