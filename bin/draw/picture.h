/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A picture of text, lines, areas and images, written as PNG, SVG or PDF.
 *
 *     struct lc__picture *picture;
 *     return_if_error(lc__picture_new(LC__PICTURE_SVG, &picture));
 *     width = lc__picture_text_width(picture, &font, text) + 2 * LC__MARGIN;
 *     status = lc__picture_begin(picture, width, 200, "title");
 *     ... lc__picture_fill(), lc__picture_text() ...
 *     if (status == LC_OK)
 *             status = lc__picture_finish(picture, &bytes);
 *     lc__picture_free(picture);
 *
 * Lengths are pixels of a PNG, and 1/96 inch in SVG and PDF. x grows to the right and y
 * downwards from (0, 0), the upper left corner. Areas on whole numbers fill whole pixels.
 * Functions that draw have no result: the first error is kept, and lc__picture_finish()
 * returns it. What lies outside of the picture is cut off.
 *
 * Text is any bytes: a byte that is not UTF-8, and a character without a shape, such as a
 * control character, is drawn as the replacement character; text too long for its place is
 * cut with "…". A process that draws the same gets the same bytes on a machine, at any time.
 *
 * One thread draws a picture. A build without cairo has no pictures: lc__picture_new()
 * says so.
 */
#ifndef CACHEX_DRAW_PICTURE_H
#define CACHEX_DRAW_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "draw/colours.h"
#include "draw/pixels.h"
#include "lmdbcache.h"

/** The longest side of a picture. */
#define LC__PICTURE_SIDE 32000

#define LC__MARGIN 16 /* around all that is drawn */

enum lc__picture_format { LC__PICTURE_PNG, LC__PICTURE_SVG, LC__PICTURE_PDF };
#define LC__PICTURE_FORMATS "png|svg|pdf" /* words by lc__picture_format */

/** The format of a file's name, by its suffix in either case. False for another suffix. */
bool lc__picture_format_of(const char *name, enum lc__picture_format *out);

struct lc__picture;

/** An area. */
struct lc__rect {
	double x, y; /* upper left corner */
	double width, height;
};

struct lc__point {
	double x, y;
};

enum lc__align { LC__LEFT, LC__CENTRE, LC__RIGHT };

/** How text is drawn. */
struct lc__font {
	double size;     /* height of a line of capitals and descenders: 11 is small */
	uint32_t colour; /* 0xRRGGBB */
	bool bold;       /* DejaVu Sans Bold */
	bool fixed;      /* DejaVu Sans Mono: characters of one width */
	enum lc__align align; /* which part of the text is at x */
	bool keep_end;        /* text that is too long loses its middle, not its end: keys
	                         and paths */
};

/* Sizes of text. */
#define LC__TITLE 18   /* of a page */
#define LC__HEADING 13 /* of a part */
#define LC__SMALL 11   /* all else */

/** From one line of text to the next. */
#define LC__LINE(size) ((size)*1.3)

/**
 * A picture without a size yet: text can be measured.
 * @param out  free with lc__picture_free()
 * @return LC_OK; LC_UNSUPPORTED in a build without cairo; LC_IO where cairo cannot be
 * loaded or finds no font; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__picture_new(enum lc__picture_format format,
    struct lc__picture **out);
/**
 * Give it its size, rounded up to whole numbers, on white. Called once.
 * @param title  for readers of SVG and PDF; it is not drawn
 * @return LC_OK; LC_INVALID for a side that is not above 0 or is above LC__PICTURE_SIDE,
 * and for more pixels than LC__PIXELS_MOST; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__picture_begin(struct lc__picture *picture, double width,
    double height, lc_id title);
/** Append the bytes of the file. Nothing can be drawn afterwards. The first error of what
 *  was drawn; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__picture_finish(struct lc__picture *picture, struct lc__buf *out);
void lc__picture_free(struct lc__picture *picture);

/** The size; 0 before lc__picture_begin(). */
double lc__picture_width(const struct lc__picture *picture);
double lc__picture_height(const struct lc__picture *picture);

/* ---- text ---------------------------------------------------------------------- */

/** How wide a line of text is. */
double lc__picture_text_width(struct lc__picture *picture, const struct lc__font *font,
    lc_id text);
/**
 * Draw a line of text on the base line @p y.
 * @param width  it is cut to this; 0 for no limit
 * @return the width that it takes
 */
double lc__picture_text(struct lc__picture *picture, double x, double y,
    const struct lc__font *font, lc_id text, double width);
/** The same upwards, on the base line @p x: the title of a vertical axis. */
double lc__picture_text_up(struct lc__picture *picture, double x, double y,
    const struct lc__font *font, lc_id text, double width);
/**
 * Draw text in lines of @p width at most, broken after blanks and slashes, LC__LINE()
 * apart, the first on the base line @p y. The last of @p most lines is cut.
 * @return how many lines it takes; with @p most 0 nothing is drawn and all are counted
 */
size_t lc__picture_text_lines(struct lc__picture *picture, double x, double y,
    const struct lc__font *font, lc_id text, double width, size_t most);

/* ---- areas and lines ----------------------------------------------------------- */

void lc__picture_fill(struct lc__picture *picture, struct lc__rect area, uint32_t colour);
/** The outline, @p line wide, inside of the area. */
void lc__picture_frame(struct lc__picture *picture, struct lc__rect area, double line,
    uint32_t colour);

/** How a line is drawn. */
struct lc__stroke {
	double width;
	uint32_t colour;
	bool dashed;
};

/** A line through @p n points, joined roundly. Points that are not finite are left out,
 *  and the line is interrupted there. */
void lc__picture_line(struct lc__picture *picture, const struct lc__point *points,
    size_t n, const struct lc__stroke *stroke);
/** The area inside of a closed line, @p opacity from 0 to 1. All points are finite. */
void lc__picture_shape(struct lc__picture *picture, const struct lc__point *points,
    size_t n, uint32_t colour, double opacity);
/** A disc. */
void lc__picture_dot(struct lc__picture *picture, struct lc__point centre, double radius,
    uint32_t colour);

/**
 * Draw an image over an area: lc__pixels_resize() to the pixels there; in SVG and PDF to
 * twice as many along each side, where it has as many.
 */
void lc__picture_image(struct lc__picture *picture, struct lc__rect area,
    const struct lc__pixels *pixels);

/** Keep an error of a caller that draws, as the picture's first. LC_OK is ignored. */
void lc__picture_failed(struct lc__picture *picture, lc_status status);

#endif
