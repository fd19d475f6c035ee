/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/font.h"

#include <string.h>

#include "base/utf8.h"

#define A_BAND 8 /* glyphs beside each other below */
#define OTHER 95 /* the last glyph */
#define DOTS 3   /* characters of "..." */
#define SHORT 12 /* a text cut to fewer characters keeps only its end */

/* Every glyph as it looks: capitals are 7 pixels high, 2 more go below the line. */
static const char *const glyphs[] = {
	/*       !     "     #     $     %     &     ' */
	"..... ..#.. .#.#. ..... ..#.. ##..# .##.. ..#..",
	"..... ..#.. .#.#. .#.#. .#### ##..# #..#. ..#..",
	"..... ..#.. .#.#. ##### #.#.. ...#. #..#. ..#..",
	"..... ..#.. ..... .#.#. .###. ..#.. .##.. .....",
	"..... ..#.. ..... .#.#. ..#.# .#... #..## .....",
	"..... ..... ..... ##### ####. #..## #..#. .....",
	"..... ..#.. ..... .#.#. ..#.. #..## .##.# .....",
	"..... ..... ..... ..... ..... ..... ..... .....",
	"..... ..... ..... ..... ..... ..... ..... .....",
	/* (     )     *     +     ,     -     .     / */
	"...#. .#... ..... ..... ..... ..... ..... ....#",
	"..#.. ..#.. ..#.. ..#.. ..... ..... ..... ....#",
	".#... ...#. #.#.# ..#.. ..... ..... ..... ...#.",
	".#... ...#. .###. ##### ..... ##### ..... ..#..",
	".#... ...#. #.#.# ..#.. ..... ..... ..... ..#..",
	".#... ...#. ..#.. ..#.. ..##. ..... ..##. .#...",
	"..#.. ..#.. ..... ..... ..##. ..... ..##. #....",
	"...#. .#... ..... ..... ...#. ..... ..... #....",
	"..... ..... ..... ..... ..#.. ..... ..... .....",
	/* 0     1     2     3     4     5     6     7 */
	".###. ..#.. .###. .###. ...#. ##### ..##. #####",
	"#...# ###.. #...# #...# ..##. #.... .#... ....#",
	"#..## ..#.. ....# ....# .#.#. ####. #.... ...#.",
	"#.#.# ..#.. ...#. ..##. #..#. ....# ####. ...#.",
	"##..# ..#.. ..#.. ....# ##### ....# #...# ..#..",
	"#...# ..#.. .#... #...# ...#. #...# #...# ..#..",
	".###. ##### ##### .###. ...#. .###. .###. ..#..",
	"..... ..... ..... ..... ..... ..... ..... .....",
	"..... ..... ..... ..... ..... ..... ..... .....",
	/* 8     9     :     ;     <     =     >     ? */
	".###. .###. ..... ..... ....# ..... #.... .###.",
	"#...# #...# ..##. ..##. ...#. ..... .#... #...#",
	"#...# #...# ..##. ..##. ..#.. ##### ..#.. ....#",
	".###. .#### ..... ..... .#... ..... ...#. ...#.",
	"#...# ....# ..... ..... ..#.. ##### ..#.. ..#..",
	"#...# ...#. ..##. ..##. ...#. ..... .#... .....",
	".###. .##.. ..##. ..##. ....# ..... #.... ..#..",
	"..... ..... ..... ...#. ..... ..... ..... .....",
	"..... ..... ..... ..#.. ..... ..... ..... .....",
	/* @     A     B     C     D     E     F     G */
	".###. ..#.. ####. .###. ###.. ##### ##### .###.",
	"#...# .#.#. #...# #...# #..#. #.... #.... #...#",
	"#.### .#.#. #...# #.... #...# #.... #.... #....",
	"#.#.# #...# ####. #.... #...# ####. ####. #.###",
	"#.### ##### #...# #.... #...# #.... #.... #...#",
	"#.... #...# #...# #...# #..#. #.... #.... #...#",
	".###. #...# ####. .###. ###.. ##### #.... .###.",
	"..... ..... ..... ..... ..... ..... ..... .....",
	"..... ..... ..... ..... ..... ..... ..... .....",
	/* H     I     J     K     L     M     N     O */
	"#...# .###. ..### #...# #.... #...# #...# .###.",
	"#...# ..#.. ...#. #..#. #.... ##.## ##..# #...#",
	"#...# ..#.. ...#. #.#.. #.... #.#.# ##..# #...#",
	"##### ..#.. ...#. ##... #.... #.#.# #.#.# #...#",
	"#...# ..#.. ...#. #.#.. #.... #...# #..## #...#",
	"#...# ..#.. #..#. #..#. #.... #...# #..## #...#",
	"#...# .###. .##.. #...# ##### #...# #...# .###.",
	"..... ..... ..... ..... ..... ..... ..... .....",
	"..... ..... ..... ..... ..... ..... ..... .....",
	/* P     Q     R     S     T     U     V     W */
	"####. .###. ####. .#### ##### #...# #...# #...#",
	"#...# #...# #...# #.... ..#.. #...# #...# #...#",
	"#...# #...# #...# #.... ..#.. #...# #...# #...#",
	"####. #...# ####. .###. ..#.. #...# .#.#. #.#.#",
	"#.... #.#.# #.#.. ....# ..#.. #...# .#.#. #.#.#",
	"#.... #..#. #..#. ....# ..#.. #...# .#.#. ##.##",
	"#.... .##.# #...# ####. ..#.. .###. ..#.. #...#",
	"..... ..... ..... ..... ..... ..... ..... .....",
	"..... ..... ..... ..... ..... ..... ..... .....",
	/* X     Y     Z     [     \     ]     ^     _ */
	"#...# #...# ##### .###. #.... .###. ..#.. .....",
	"#...# #...# ....# .#... #.... ...#. .#.#. .....",
	".#.#. .#.#. ...#. .#... .#... ...#. #...# .....",
	"..#.. .#.#. ..#.. .#... ..#.. ...#. ..... .....",
	".#.#. ..#.. .#... .#... ..#.. ...#. ..... .....",
	"#...# ..#.. #.... .#... ...#. ...#. ..... .....",
	"#...# ..#.. ##### .#... ....# ...#. ..... .....",
	"..... ..... ..... .###. ....# .###. ..... #####",
	"..... ..... ..... ..... ..... ..... ..... .....",
	/* `     a     b     c     d     e     f     g */
	".#... ..... #.... ..... ....# ..... ..##. .....",
	"..#.. ..... #.... ..... ....# ..... .#... .....",
	"..... .###. ####. .###. .#### .###. ####. .####",
	"..... ....# #...# #...# #...# #...# .#... #...#",
	"..... .#### #...# #.... #...# ##### .#... #...#",
	"..... #...# #...# #...# #...# #.... .#... #...#",
	"..... .#### ####. .###. .#### .###. .#... .####",
	"..... ..... ..... ..... ..... ..... ..... ....#",
	"..... ..... ..... ..... ..... ..... ..... .###.",
	/* h     i     j     k     l     m     n     o */
	"#.... ..#.. ...#. #.... .##.. ..... ..... .....",
	"#.... ..... ..... #.... ..#.. ..... ..... .....",
	"####. .##.. ..##. #..#. ..#.. ####. ####. .###.",
	"#...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...#",
	"#...# ..#.. ...#. ##... ..#.. #.#.# #...# #...#",
	"#...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...#",
	"#...# .###. ...#. #..#. .###. #.#.# #...# .###.",
	"..... ..... ...#. ..... ..... ..... ..... .....",
	"..... ..... .##.. ..... ..... ..... ..... .....",
	/* p     q     r     s     t     u     v     w */
	"..... ..... ..... ..... .#... ..... ..... .....",
	"..... ..... ..... ..... .#... ..... ..... .....",
	"####. .#### #.##. .#### ####. #...# #...# #...#",
	"#...# #...# ##... #.... .#... #...# #...# #.#.#",
	"#...# #...# #.... .###. .#... #...# .#.#. #.#.#",
	"#...# #...# #.... ....# .#... #...# .#.#. #.#.#",
	"####. .#### #.... ####. ..##. .#### ..#.. .#.#.",
	"#.... ....# ..... ..... ..... ..... ..... .....",
	"#.... ....# ..... ..... ..... ..... ..... .....",
	/* x     y     z     {     |     }     ~     any other */
	"..... ..... ..... ...## ..#.. ##... ..... #####",
	"..... ..... ..... ..#.. ..#.. ..#.. ..... #...#",
	"#...# #...# ##### ..#.. ..#.. ..#.. .#... #...#",
	".#.#. #...# ...#. .#... ..#.. ...#. #.#.# #...#",
	"..#.. #...# ..#.. ..#.. ..#.. ..#.. ...#. #...#",
	".#.#. #...# .#... ..#.. ..#.. ..#.. ..... #...#",
	"#...# .#### ##### ..#.. ..#.. ..#.. ..... #####",
	"..... ....# ..... ...## ..#.. ##... ..... .....",
	"..... .###. ..... ..... ..... ..... ..... .....",
};

static bool
is_set(size_t glyph, uint32_t x, uint32_t y)
{
	return glyphs[glyph / A_BAND * LC__GLYPH_HEIGHT + y]
		     [glyph % A_BAND * LC__GLYPH_STEP + x] == '#';
}

/* The glyph of the first character, which is taken off. */
static size_t
next_glyph(lc_id *text)
{
	const unsigned char *bytes = text->data;
	const size_t length = lc__utf8_length(bytes, text->size);
	const size_t step = length ? length : 1;

	text->data = bytes + step;
	text->size -= step;
	return length == 1 && *bytes >= ' ' && *bytes <= '~' ? *bytes - (size_t)' '
							     : OTHER;
}

size_t
lc__text_length(lc_id text)
{
	size_t n = 0;

	for (; text.size > 0; n++)
		(void)next_glyph(&text);
	return n;
}

uint32_t
lc__text_width(size_t length, uint32_t scale)
{
	const size_t gap = LC__GLYPH_STEP - LC__GLYPH_WIDTH;

	return length ? (uint32_t)(length * LC__GLYPH_STEP - gap) * scale : 0;
}

static void
draw_glyph(struct lc__canvas *canvas, int64_t x, int64_t y, struct lc__pen pen,
    size_t glyph)
{
	for (uint32_t j = 0; j < LC__GLYPH_HEIGHT; j++)
		for (uint32_t i = 0; i < LC__GLYPH_WIDTH; i++) {
			const struct lc__area dot = { x + i * pen.scale,
				y + j * pen.scale, pen.scale, pen.scale };
			if (is_set(glyph, i, j))
				lc__canvas_fill(canvas, dot, pen.colour);
		}
}

/* The first @p n characters; returns where the next one would be. */
static int64_t
draw_run(struct lc__canvas *canvas, int64_t x, int64_t y, struct lc__pen pen, lc_id text,
    size_t n)
{
	for (; n > 0 && text.size > 0; n--) {
		draw_glyph(canvas, x, y, pen, next_glyph(&text));
		x += LC__GLYPH_STEP * pen.scale;
	}
	return x;
}

void
lc__text_draw(struct lc__canvas *canvas, int64_t x, int64_t y, struct lc__pen pen,
    lc_id text)
{
	draw_run(canvas, x, y, pen, text, SIZE_MAX);
}

void
lc__text_draw_cut(struct lc__canvas *canvas, int64_t x, int64_t y, struct lc__pen pen,
    lc_id text, size_t most)
{
	const size_t length = lc__text_length(text);
	const size_t kept = most > DOTS ? most - DOTS : 0;
	const size_t head = kept < SHORT ? 0 : kept / 3;

	if (length <= most) {
		lc__text_draw(canvas, x, y, pen, text);
		return;
	}
	x = draw_run(canvas, x, y, pen, text, head);
	x = draw_run(canvas, x, y, pen, lc_id_of("..."), most < DOTS ? most : DOTS);
	for (size_t i = 0; i < length - (kept - head); i++)
		(void)next_glyph(&text);
	lc__text_draw(canvas, x, y, pen, text);
}

/* Characters of the first line; it ends after a blank or a slash if there is one. */
static size_t
line_length(lc_id text, size_t most)
{
	size_t n = 0, end = 0;

	while (text.size > 0 && n < most) {
		const size_t glyph = next_glyph(&text);
		n++;
		if (glyph == 0 || glyph == '/' - ' ')
			end = n;
	}
	return text.size > 0 && end > 0 ? end : n;
}

size_t
lc__text_lines(lc_id text, size_t most)
{
	size_t lines = 0;

	for (; text.size > 0; lines++)
		for (size_t n = line_length(text, most); n > 0; n--)
			(void)next_glyph(&text);
	return lines;
}

/* The last line that there is room for, with dots for what follows. */
static void
draw_last(struct lc__canvas *canvas, int64_t x, int64_t y, struct lc__pen pen, lc_id text,
    size_t most)
{
	if (lc__text_length(text) > most) {
		x = draw_run(canvas, x, y, pen, text, most > DOTS ? most - DOTS : 0);
		text = lc_id_of("...");
	}
	lc__text_draw(canvas, x, y, pen, text);
}

void
lc__text_draw_lines(struct lc__canvas *canvas, int64_t x, int64_t y, struct lc__pen pen,
    lc_id text, size_t most, size_t lines)
{
	for (size_t i = 1; i < lines; i++, y += LC__TEXT_LINE * (int64_t)pen.scale) {
		const size_t n = line_length(text, most);
		draw_run(canvas, x, y, pen, text, n);
		for (size_t k = 0; k < n; k++)
			(void)next_glyph(&text);
	}
	draw_last(canvas, x, y, pen, text, most);
}
