/* SPDX-License-Identifier: BSD-2-Clause */
/* Pictures by cairo: the only file that includes <cairo.h>. */
#include "config.h"

#include "draw/picture.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

bool
lc__picture_format_of(const char *name, enum lc__picture_format *out)
{
	static const char *const suffixes[] = { ".png", ".svg", ".pdf" };
	const size_t size = strlen(name);

	for (int i = 0; i < 3; i++)
		if (size > 4 && strcasecmp(name + size - 4, suffixes[i]) == 0) {
			*out = (enum lc__picture_format)i;
			return true;
		}
	return false;
}

#ifdef HAVE_LIBCAIRO

#include <math.h>
#include <stdlib.h>

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

#include "base/lazy.h"
#include "base/utf8.h"

/* Loaded when the first of them is needed: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(cairo_arc) X(cairo_close_path) X(cairo_create) X(cairo_destroy) \
	X(cairo_fill) X(cairo_font_options_create) X(cairo_font_options_destroy) \
	X(cairo_font_options_set_antialias) X(cairo_font_options_set_hint_metrics) \
	X(cairo_font_options_set_hint_style) X(cairo_image_surface_create) \
	X(cairo_image_surface_get_data) X(cairo_image_surface_get_stride) X(cairo_line_to) \
	X(cairo_move_to) X(cairo_new_path) X(cairo_paint) X(cairo_pattern_set_filter) \
	X(cairo_pdf_surface_create_for_stream) X(cairo_pdf_surface_set_metadata) \
	X(cairo_rectangle) X(cairo_restore) X(cairo_rotate) X(cairo_save) X(cairo_scale) \
	X(cairo_select_font_face) X(cairo_set_dash) X(cairo_set_font_options) \
	X(cairo_set_font_size) X(cairo_set_line_cap) X(cairo_set_line_join) \
	X(cairo_set_line_width) X(cairo_set_source_rgb) X(cairo_set_source_rgba) \
	X(cairo_set_source_surface) X(cairo_get_source) X(cairo_show_text) X(cairo_status) \
	X(cairo_status_to_string) X(cairo_stroke) X(cairo_surface_destroy) \
	X(cairo_surface_finish) X(cairo_surface_mark_dirty) X(cairo_surface_status) \
	X(cairo_surface_write_to_png_stream) X(cairo_svg_surface_create_for_stream) \
	X(cairo_svg_surface_set_document_unit) X(cairo_text_extents) X(cairo_translate)
/* clang-format on */
LC__LAZY(lib, "libcairo", LIBCAIRO_FILE, CALLS)

#define POINT 0.75 /* points of PDF in a pixel */
#define LONG_TEXT \
	1024      /* characters of a text that are looked at: of a longer one the
                           first and the last half of them */
#define DENSITY 2 /* pixels of an image in a pixel of SVG and PDF */
#define DOTS "\xe2\x80\xa6"        /* U+2026, three dots */
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

struct lc__picture {
	enum lc__picture_format format;
	cairo_surface_t *surface; /* before begin() of one pixel, to measure text on */
	cairo_t *cairo;
	double width, height;  /* 0 before begin() */
	struct lc__buf bytes;  /* written by cairo */
	struct lc__buf texts;  /* of SVG: all texts as elements <text> */
	struct lc__buf title;  /* of SVG */
	uint64_t image_pixels; /* of all images so far */
	lc_status failed;      /* the first error */
	char why[1000]; /* its text: later errors of the caller may replace the last */
};

void
lc__picture_failed(struct lc__picture *picture, lc_status status)
{
	if (picture->failed != LC_OK || status == LC_OK)
		return;
	picture->failed = status;
	snprintf(picture->why, sizeof(picture->why), "%s", lc_last_error()->text);
}

static lc_status
cairo_failed(cairo_status_t status)
{
	switch (status) {
	case CAIRO_STATUS_SUCCESS: return LC_OK;
	case CAIRO_STATUS_NO_MEMORY: return lc__no_memory("picture");
	default:
		return lc__error(LC_IO, 0, "cairo: %s",
		    lib.cairo_status_to_string(status));
	}
}

static cairo_status_t
on_write(void *bytes, const unsigned char *data, unsigned size)
{
	return lc__buf_append(bytes, data, size) != NULL || size == 0
	    ? CAIRO_STATUS_SUCCESS
	    : CAIRO_STATUS_NO_MEMORY;
}

/* ---- texts that are safe ------------------------------------------------------- */

/* Without a shape, or not allowed in XML: controls, marks of direction, U+FFFE. */
static bool
is_shapeless(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	    (c & 0xfffe) == 0xfffe;
}

static uint32_t
character(const unsigned char *text, size_t n)
{
	uint32_t c = n == 1 ? text[0] : text[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (text[i] & 0x3f);
	return c;
}

/* A text as characters that can be drawn. */
struct line {
	struct lc__buf text; /* UTF-8 */
	size_t *ends;        /* where each character ends in it */
	size_t n;            /* characters */
};

static void
line_free(struct line *line)
{
	lc__buf_free(&line->text);
	free(line->ends);
}

/* Characters of a text, where a byte that is not UTF-8 counts as one. */
static size_t
count(const unsigned char *text, size_t size)
{
	size_t n = 0;

	for (size_t at = 0; at < size; n++) {
		const size_t length = lc__utf8_length(text + at, size - at);
		at += length ? length : 1;
	}
	return n;
}

static bool
line_of(struct lc__picture *picture, lc_id text, struct line *out)
{
	const unsigned char *data = text.data;
	const size_t all = count(data, text.size);
	size_t i = 0;

	memset(out, 0, sizeof(*out));
	out->ends = calloc((all < LONG_TEXT ? all : LONG_TEXT) + 1, sizeof(*out->ends));
	if (out->ends == NULL) {
		lc__picture_failed(picture, lc__no_memory("picture"));
		return false;
	}
	for (size_t at = 0; at < text.size; i++) {
		const size_t length = lc__utf8_length(data + at, text.size - at);
		const uint32_t c = length ? character(data + at, length) : 0;
		const size_t size = length ? length : 1;
		if (all > LONG_TEXT && i == LONG_TEXT / 2) {
			lc__buf_append(&out->text, DOTS, 3);
			out->ends[out->n++] = out->text.size;
		} else if (all > LONG_TEXT && i > LONG_TEXT / 2 &&
		    i <= all - LONG_TEXT / 2) {
			;
		} else {
			if (c == '\n' || c == '\t')
				lc__buf_append(&out->text, " ", 1);
			else if (is_shapeless(c))
				lc__buf_append(&out->text, REPLACEMENT, 3);
			else
				lc__buf_append(&out->text, data + at, size);
			out->ends[out->n++] = out->text.size;
		}
		at += size;
	}
	lc__buf_append(&out->text, "", 1); /* a C string */
	if (out->text.failed) {
		line_free(out);
		lc__picture_failed(picture, lc__no_memory("picture"));
		return false;
	}
	return true;
}

static void
choose_font(struct lc__picture *picture, const struct lc__font *font)
{
	lib.cairo_select_font_face(picture->cairo,
	    font->fixed ? "DejaVu Sans Mono" : "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
	    font->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	lib.cairo_set_font_size(picture->cairo, font->size);
}

/* Of a C string, in the font that is chosen. */
static double
measure(struct lc__picture *picture, const char *text)
{
	cairo_text_extents_t extents = { 0 };

	lib.cairo_text_extents(picture->cairo, text, &extents);
	return extents.x_advance;
}

/*
 * The characters [first, end) of a line, of which all before @p head and all after the last
 * @p tail are replaced by three dots, unless they are all.
 */
static bool
piece(const struct line *line, size_t first, size_t end, size_t head, size_t tail,
    struct lc__buf *out)
{
	const unsigned char *text = line->text.data;
	const size_t from = first ? line->ends[first - 1] : 0;
	const size_t to = end ? line->ends[end - 1] : 0;

	out->size = 0;
	if (head + tail >= end - first) {
		lc__buf_append(out, text + from, to - from);
	} else {
		const size_t left = head ? line->ends[first + head - 1] : from;
		const size_t right = end - tail ? line->ends[end - tail - 1] : 0;
		lc__buf_append(out, text + from, left - from);
		lc__buf_append(out, DOTS, 3);
		lc__buf_append(out, text + right, to - right);
	}
	lc__buf_append(out, "", 1);
	return !out->failed;
}

/*
 * The characters [first, end) of a line in a width: as many as fit, with dots for the
 * others. A C string in @p out; returns its width.
 */
static double
fit(struct lc__picture *picture, const struct line *line, size_t first, size_t end,
    const struct lc__font *font, double width, struct lc__buf *out)
{
	size_t fits = 0, too_many = end - first;
	double wide = 0;

	if (!piece(line, first, end, end - first, 0, out))
		goto failed;
	wide = measure(picture, (const char *)out->data);
	if (!(width > 0) || wide <= width)
		return wide;
	while (too_many - fits > 1) {
		const size_t n = (fits + too_many) / 2;
		const size_t head = font->keep_end ? n / 3 : n;
		if (!piece(line, first, end, head, n - head, out))
			goto failed;
		if (measure(picture, (const char *)out->data) <= width)
			fits = n;
		else
			too_many = n;
	}
	if (!piece(line, first, end, font->keep_end ? fits / 3 : fits,
		font->keep_end ? fits - fits / 3 : 0, out))
		goto failed;
	wide = measure(picture, (const char *)out->data);
	/* Not even the dots. */
	if (wide > width) {
		out->data[0] = '\0';
		wide = 0;
	}
	return wide;
failed:
	lc__picture_failed(picture, lc__no_memory("picture"));
	return 0;
}

/* ---- text ---------------------------------------------------------------------- */

static void
put_escaped(struct lc__buf *out, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '&': lc__buf_append(out, "&amp;", 5); break;
		case '<': lc__buf_append(out, "&lt;", 4); break;
		case '>': lc__buf_append(out, "&gt;", 4); break;
		case '"': lc__buf_append(out, "&quot;", 6); break;
		default: lc__buf_append(out, text, 1);
		}
}

/*
 * cairo draws text in SVG as shapes, which look the same everywhere. For readers that
 * search, select or speak, the text itself is put over them, transparent.
 */
static void
keep_text(struct lc__picture *picture, double x, double y, bool up,
    const struct lc__font *font, const char *text, double width)
{
	struct lc__buf *out = &picture->texts;

	if (picture->format != LC__PICTURE_SVG || picture->width == 0 || *text == '\0')
		return;
	lc__buf_printf(out,
	    "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" textLength=\"%.1f\"", x, y,
	    font->size, width);
	if (up)
		lc__buf_printf(out, " transform=\"rotate(-90 %.1f %.1f)\"", x, y);
	if (font->fixed)
		lc__buf_printf(out, " font-family=\"DejaVu Sans Mono, monospace\"");
	if (font->bold)
		lc__buf_printf(out, " font-weight=\"bold\"");
	lc__buf_append(out, ">", 1);
	put_escaped(out, text);
	lc__buf_printf(out, "</text>\n");
}

static void
set_colour(struct lc__picture *picture, uint32_t colour)
{
	lib.cairo_set_source_rgb(picture->cairo, (colour >> 16 & 0xff) / 255.0,
	    (colour >> 8 & 0xff) / 255.0, (colour & 0xff) / 255.0);
}

/* Characters [first, end) of a line. */
static double
draw_line(struct lc__picture *picture, double x, double y, bool up,
    const struct lc__font *font, const struct line *line, size_t first, size_t end,
    double width)
{
	struct lc__buf text = { 0 };
	double wide;

	choose_font(picture, font);
	wide = fit(picture, line, first, end, font, width, &text);
	if (picture->failed == LC_OK) {
		const double back = font->align == LC__LEFT ? 0
		    : font->align == LC__CENTRE             ? wide / 2
							    : wide;
		if (up)
			y += back;
		else
			x -= back;
		set_colour(picture, font->colour);
		lib.cairo_save(picture->cairo);
		lib.cairo_translate(picture->cairo, x, y);
		if (up)
			lib.cairo_rotate(picture->cairo, -1.57079632679489661923);
		lib.cairo_move_to(picture->cairo, 0, 0);
		lib.cairo_show_text(picture->cairo, (const char *)text.data);
		lib.cairo_new_path(picture->cairo);
		lib.cairo_restore(picture->cairo);
		keep_text(picture, x, y, up, font, (const char *)text.data, wide);
	}
	lc__buf_free(&text);
	return wide;
}

double
lc__picture_text_width(struct lc__picture *picture, const struct lc__font *font,
    lc_id text)
{
	struct line line;
	double width;

	if (!line_of(picture, text, &line))
		return 0;
	choose_font(picture, font);
	width = measure(picture, (const char *)line.text.data);
	line_free(&line);
	return width;
}

static double
draw_text(struct lc__picture *picture, double x, double y, bool up,
    const struct lc__font *font, lc_id text, double width)
{
	struct line line;
	double wide;

	if (!line_of(picture, text, &line))
		return 0;
	wide = draw_line(picture, x, y, up, font, &line, 0, line.n, width);
	line_free(&line);
	return wide;
}

double
lc__picture_text(struct lc__picture *picture, double x, double y,
    const struct lc__font *font, lc_id text, double width)
{
	return draw_text(picture, x, y, false, font, text, width);
}

double
lc__picture_text_up(struct lc__picture *picture, double x, double y,
    const struct lc__font *font, lc_id text, double width)
{
	return draw_text(picture, x, y, true, font, text, width);
}

/* Where the line that begins at @p first ends: after a blank or a slash, if there is one
 * among the characters that fit. */
static size_t
line_end(struct lc__picture *picture, const struct line *line, size_t first, double width,
    struct lc__buf *room)
{
	size_t fits = first + 1, end = line->n;

	if (fits >= end)
		return end;
	while (end > fits) {
		const size_t middle = fits + (end - fits + 1) / 2;
		if (!piece(line, first, middle, middle - first, 0, room)) {
			lc__picture_failed(picture, lc__no_memory("picture"));
			return line->n;
		}
		if (measure(picture, (const char *)room->data) <= width)
			fits = middle;
		else
			end = middle - 1;
	}
	if (fits == line->n)
		return fits;
	for (end = fits; end > first + 1; end--) {
		const char last = (char)line->text.data[line->ends[end - 1] - 1];
		if (last == ' ' || last == '/')
			return end;
	}
	return fits;
}

size_t
lc__picture_text_lines(struct lc__picture *picture, double x, double y,
    const struct lc__font *font, lc_id text, double width, size_t most)
{
	struct lc__buf room = { 0 };
	struct line line;
	size_t lines = 0;

	if (!line_of(picture, text, &line))
		return 0;
	choose_font(picture, font);
	for (size_t first = 0; first < line.n && (most == 0 || lines < most); lines++) {
		const size_t end = most > 0 && lines + 1 == most
		    ? line.n
		    : line_end(picture, &line, first, width, &room);
		if (most > 0)
			draw_line(picture, x, y + (double)lines * LC__LINE(font->size),
			    false, font, &line, first, end, width);
		first = end;
	}
	lc__buf_free(&room);
	line_free(&line);
	return lines;
}

/* ---- areas and lines ----------------------------------------------------------- */

/* cairo has 24 bits for a whole pixel. */
static double
near(double x)
{
	return fmin(fmax(x, -2 * LC__PICTURE_SIDE), 2 * LC__PICTURE_SIDE);
}

void
lc__picture_fill(struct lc__picture *picture, struct lc__rect area, uint32_t colour)
{
	const double x = near(area.x), y = near(area.y);
	const double width = near(area.x + area.width) - x;
	const double height = near(area.y + area.height) - y;

	if (!(width > 0) || !(height > 0))
		return;
	set_colour(picture, colour);
	lib.cairo_rectangle(picture->cairo, x, y, width, height);
	lib.cairo_fill(picture->cairo);
}

void
lc__picture_frame(struct lc__picture *picture, struct lc__rect area, double line,
    uint32_t colour)
{
	const double across = fmin(line, area.width), down = fmin(line, area.height);
	const double between = area.height - 2 * down;

	if (!(area.width > 0) || !(area.height > 0))
		return;
	lc__picture_fill(picture, (struct lc__rect){ area.x, area.y, area.width, down },
	    colour);
	lc__picture_fill(picture,
	    (struct lc__rect){ area.x, area.y + area.height - down, area.width, down },
	    colour);
	lc__picture_fill(picture,
	    (struct lc__rect){ area.x, area.y + down, across, between }, colour);
	lc__picture_fill(picture,
	    (struct lc__rect){ area.x + area.width - across, area.y + down, across,
		between },
	    colour);
}

void
lc__picture_line(struct lc__picture *picture, const struct lc__point *points, size_t n,
    const struct lc__stroke *stroke)
{
	const double dashes[] = { 4 * stroke->width, 2.5 * stroke->width };
	bool drawing = false;

	set_colour(picture, stroke->colour);
	lib.cairo_set_line_width(picture->cairo, stroke->width);
	lib.cairo_set_dash(picture->cairo, dashes, stroke->dashed ? 2 : 0, 0);
	for (size_t i = 0; i < n; i++) {
		const bool finite = isfinite(points[i].x) && isfinite(points[i].y);
		if (finite && drawing)
			lib.cairo_line_to(picture->cairo, near(points[i].x),
			    near(points[i].y));
		else if (finite)
			lib.cairo_move_to(picture->cairo, near(points[i].x),
			    near(points[i].y));
		drawing = finite;
	}
	lib.cairo_stroke(picture->cairo);
}

void
lc__picture_shape(struct lc__picture *picture, const struct lc__point *points, size_t n,
    uint32_t colour, double opacity)
{
	lib.cairo_set_source_rgba(picture->cairo, (colour >> 16 & 0xff) / 255.0,
	    (colour >> 8 & 0xff) / 255.0, (colour & 0xff) / 255.0, opacity);
	for (size_t i = 0; i < n; i++)
		if (i == 0)
			lib.cairo_move_to(picture->cairo, near(points[i].x),
			    near(points[i].y));
		else
			lib.cairo_line_to(picture->cairo, near(points[i].x),
			    near(points[i].y));
	lib.cairo_close_path(picture->cairo);
	lib.cairo_fill(picture->cairo);
}

void
lc__picture_dot(struct lc__picture *picture, struct lc__point centre, double radius,
    uint32_t colour)
{
	set_colour(picture, colour);
	lib.cairo_new_path(picture->cairo);
	lib.cairo_arc(picture->cairo, near(centre.x), near(centre.y), near(radius), 0,
	    2 * 3.14159265358979323846);
	lib.cairo_fill(picture->cairo);
}

/* ---- images -------------------------------------------------------------------- */

/* Pixels of an image along a side of @p length: what is shown, and where it has as many,
 * DENSITY times that. */
static uint32_t
image_side(const struct lc__picture *picture, double length, uint32_t source)
{
	const double shown = fmin(fmax(round(length), 1), LC__PICTURE_SIDE);

	if (picture->format == LC__PICTURE_PNG || source <= shown)
		return (uint32_t)shown;
	return (uint32_t)fmin(shown * DENSITY, source);
}

static lc_status
draw_image(struct lc__picture *picture, struct lc__rect area,
    const struct lc__pixels *pixels)
{
	const uint32_t width = image_side(picture, area.width, pixels->width);
	const uint32_t height = image_side(picture, area.height, pixels->height);
	struct lc__pixels shown;
	cairo_surface_t *surface;
	unsigned char *data;
	int stride;

	/* cairo keeps them all until the end. */
	if ((picture->image_pixels += (uint64_t)width * height) > 2 * LC__PIXELS_MOST)
		return lc__error(LC_INVALID, 0,
		    "a picture with images of more than %llu pixels",
		    (unsigned long long)(2 * LC__PIXELS_MOST));
	return_if_error(lc__pixels_resize(pixels, width, height, &shown));
	surface = lib.cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width,
	    (int)height);
	if (lib.cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) {
		const cairo_status_t status = lib.cairo_surface_status(surface);
		lib.cairo_surface_destroy(surface);
		lc__pixels_free(&shown);
		return cairo_failed(status);
	}
	data = lib.cairo_image_surface_get_data(surface);
	stride = lib.cairo_image_surface_get_stride(surface);
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++) {
			const uint32_t colour = lc__pixels_get(&shown, x, y);
			memcpy(data + (size_t)y * (size_t)stride + (size_t)x * 4, &colour,
			    4);
		}
	lc__pixels_free(&shown);
	lib.cairo_surface_mark_dirty(surface);
	lib.cairo_save(picture->cairo);
	lib.cairo_rectangle(picture->cairo, area.x, area.y, area.width, area.height);
	lib.cairo_translate(picture->cairo, area.x, area.y);
	lib.cairo_scale(picture->cairo, area.width / width, area.height / height);
	lib.cairo_set_source_surface(picture->cairo, surface, 0, 0);
	lib.cairo_pattern_set_filter(lib.cairo_get_source(picture->cairo),
	    CAIRO_FILTER_NEAREST);
	lib.cairo_fill(picture->cairo);
	lib.cairo_restore(picture->cairo);
	lib.cairo_surface_destroy(surface);
	return LC_OK;
}

void
lc__picture_image(struct lc__picture *picture, struct lc__rect area,
    const struct lc__pixels *pixels)
{
	if (picture->failed == LC_OK && picture->width > 0 && area.width > 0 &&
	    area.height > 0)
		lc__picture_failed(picture, draw_image(picture, area, pixels));
}

/* ---- the whole ----------------------------------------------------------------- */

/* A context on the picture's surface; the layout of text is the same in all formats. */
static lc_status
open_context(struct lc__picture *picture)
{
	cairo_font_options_t *options;

	return_if_error(cairo_failed(lib.cairo_surface_status(picture->surface)));
	picture->cairo = lib.cairo_create(picture->surface);
	options = lib.cairo_font_options_create();
	lib.cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	lib.cairo_font_options_set_hint_style(options,
	    picture->format == LC__PICTURE_PNG ? CAIRO_HINT_STYLE_SLIGHT
					       : CAIRO_HINT_STYLE_NONE);
	lib.cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	lib.cairo_set_font_options(picture->cairo, options);
	lib.cairo_font_options_destroy(options);
	lib.cairo_set_line_join(picture->cairo, CAIRO_LINE_JOIN_ROUND);
	return cairo_failed(lib.cairo_status(picture->cairo));
}

static void
close_context(struct lc__picture *picture)
{
	if (picture->cairo != NULL)
		lib.cairo_destroy(picture->cairo);
	if (picture->surface != NULL)
		lib.cairo_surface_destroy(picture->surface);
	picture->cairo = NULL;
	picture->surface = NULL;
}

static lc_status
check_font(struct lc__picture *picture)
{
	const struct lc__font font = { .size = LC__SMALL };

	if (lc__picture_text_width(picture, &font, lc_id_of("x")) > 0)
		return LC_OK;
	return_if_error(picture->failed);
	if (lib.cairo_status(picture->cairo) == CAIRO_STATUS_NO_MEMORY)
		return lc__no_memory("picture");
	return lc__error(LC_IO, 0,
	    "no font for the text of a picture; install DejaVu Sans (fonts-dejavu-core)");
}

lc_status
lc__picture_new(enum lc__picture_format format, struct lc__picture **out)
{
	struct lc__picture *picture;
	lc_status status;

	return_if_error(lib_load());
	picture = calloc(1, sizeof(*picture));
	if (picture == NULL)
		return lc__no_memory("picture");
	picture->format = format;
	picture->surface = lib.cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1, 1);
	status = open_context(picture);
	if (status == LC_OK)
		status = check_font(picture);
	if (status != LC_OK) {
		lc__picture_free(picture);
		return status;
	}
	*out = picture;
	return LC_OK;
}

static cairo_surface_t *
create_surface(struct lc__picture *picture, double width, double height,
    const char *title)
{
	cairo_surface_t *surface;

	switch (picture->format) {
	case LC__PICTURE_SVG:
		surface = lib.cairo_svg_surface_create_for_stream(on_write,
		    &picture->bytes, width, height);
		lib.cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
		return surface;
	case LC__PICTURE_PDF:
		surface = lib.cairo_pdf_surface_create_for_stream(on_write,
		    &picture->bytes, width * POINT, height * POINT);
		lib.cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE,
		    title);
		/* The time of drawing would make each file another one. */
		lib.cairo_pdf_surface_set_metadata(surface,
		    CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");
		return surface;
	default:
		return lib.cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width,
		    (int)height);
	}
}

lc_status
lc__picture_begin(struct lc__picture *picture, double width, double height, lc_id title)
{
	struct line line;

	width = ceil(width);
	height = ceil(height);
	if (!(width > 0 && width <= LC__PICTURE_SIDE) ||
	    !(height > 0 && height <= LC__PICTURE_SIDE) ||
	    width * height > (double)LC__PIXELS_MOST)
		return lc__error(LC_INVALID, 0,
		    "a picture of %.0f x %.0f pixels; each side may have up to %d, both "
		    "together up to %llu",
		    width, height, LC__PICTURE_SIDE, (unsigned long long)LC__PIXELS_MOST);
	if (!line_of(picture, title, &line))
		return picture->failed;
	close_context(picture);
	picture->surface = create_surface(picture, width, height,
	    (const char *)line.text.data);
	put_escaped(&picture->title, (const char *)line.text.data);
	line_free(&line);
	return_if_error(open_context(picture));
	picture->width = width;
	picture->height = height;
	if (picture->format == LC__PICTURE_PDF)
		lib.cairo_scale(picture->cairo, POINT, POINT);
	lc__picture_fill(picture, (struct lc__rect){ 0, 0, width, height }, LC__PAPER);
	return cairo_failed(lib.cairo_status(picture->cairo));
}

/* The title after the first element's beginning, the texts before its end. */
static lc_status
append_svg(struct lc__picture *picture, struct lc__buf *out)
{
	static const char end[] = "</svg>";
	const struct lc__buf *bytes = &picture->bytes;
	const unsigned char *root = memmem(bytes->data, bytes->size, "<svg", 4);
	const unsigned char *after = root == NULL
	    ? NULL
	    : memchr(root, '>', bytes->size - (size_t)(root - bytes->data));
	size_t tail = bytes->size;

	while (tail > 0 && memcmp(bytes->data + tail - 1, "<", 1) != 0)
		tail--;
	if (after == NULL || tail == 0 || bytes->size - tail + 1 < sizeof(end) - 1 ||
	    memcmp(bytes->data + tail - 1, end, sizeof(end) - 1) != 0)
		return lc__error(LC_IO, 0, "cairo: an SVG file without an end");
	lc__buf_append(out, bytes->data, (size_t)(after + 1 - bytes->data));
	lc__buf_printf(out, "\n<title>");
	lc__buf_append(out, picture->title.data, picture->title.size);
	lc__buf_printf(out, "</title>");
	lc__buf_append(out, after + 1, tail - 1 - (size_t)(after + 1 - bytes->data));
	lc__buf_printf(out,
	    "<g opacity=\"0\" font-family=\"DejaVu Sans, Verdana, sans-serif\" "
	    "style=\"white-space:pre\">\n");
	lc__buf_append(out, picture->texts.data, picture->texts.size);
	lc__buf_printf(out, "</g>\n%s\n", end);
	return LC_OK;
}

lc_status
lc__picture_finish(struct lc__picture *picture, struct lc__buf *out)
{
	cairo_status_t status;

	if (picture->failed != LC_OK)
		return lc__error(picture->failed, 0, "%s", picture->why);
	return_if_error(cairo_failed(lib.cairo_status(picture->cairo)));
	if (picture->format == LC__PICTURE_PNG) {
		status = lib.cairo_surface_write_to_png_stream(picture->surface, on_write,
		    out);
	} else {
		lib.cairo_surface_finish(picture->surface);
		status = lib.cairo_surface_status(picture->surface);
	}
	return_if_error(cairo_failed(status));
	if (picture->format == LC__PICTURE_SVG)
		return_if_error(append_svg(picture, out));
	else if (picture->format == LC__PICTURE_PDF)
		lc__buf_append(out, picture->bytes.data, picture->bytes.size);
	/* cairo may ignore that bytes could not be kept. */
	if (out->failed || picture->bytes.failed || picture->texts.failed ||
	    picture->title.failed)
		return lc__no_memory("picture");
	return LC_OK;
}

void
lc__picture_free(struct lc__picture *picture)
{
	if (picture == NULL)
		return;
	close_context(picture);
	lc__buf_free(&picture->bytes);
	lc__buf_free(&picture->texts);
	lc__buf_free(&picture->title);
	free(picture);
}

double
lc__picture_width(const struct lc__picture *picture)
{
	return picture->width;
}

double
lc__picture_height(const struct lc__picture *picture)
{
	return picture->height;
}

#if defined(__SANITIZE_ADDRESS__)
/* fontconfig keeps some pointers as distances, which a leak checker cannot follow. */
const char *__lsan_default_suppressions(void) __attribute__((visibility("default")));
const char *
__lsan_default_suppressions(void)
{
	return "leak:libfontconfig\n";
}
const char *__lsan_default_options(void) __attribute__((visibility("default")));
const char *
__lsan_default_options(void)
{
	return "print_suppressions=0";
}
#endif

#else
/* There are no pictures: nothing is drawn on one. */

lc_status
lc__picture_new(enum lc__picture_format format, struct lc__picture **out)
{
	(void)format;
	(void)out;
	return lc__error(LC_UNSUPPORTED, 0,
	    "this build cannot draw pictures: it was configured without cairo");
}

lc_status
lc__picture_begin(struct lc__picture *picture, double width, double height, lc_id title)
{
	(void)picture;
	(void)width;
	(void)height;
	(void)title;
	return LC_UNSUPPORTED;
}

lc_status
lc__picture_finish(struct lc__picture *picture, struct lc__buf *out)
{
	(void)picture;
	(void)out;
	return LC_UNSUPPORTED;
}

void
lc__picture_free(struct lc__picture *picture)
{
	(void)picture;
}

void
lc__picture_failed(struct lc__picture *picture, lc_status status)
{
	(void)picture;
	(void)status;
}

double
lc__picture_width(const struct lc__picture *picture)
{
	(void)picture;
	return 0;
}

double
lc__picture_height(const struct lc__picture *picture)
{
	(void)picture;
	return 0;
}

double
lc__picture_text_width(struct lc__picture *picture, const struct lc__font *font,
    lc_id text)
{
	(void)picture;
	(void)font;
	(void)text;
	return 0;
}

double
lc__picture_text(struct lc__picture *picture, double x, double y,
    const struct lc__font *font, lc_id text, double width)
{
	(void)picture;
	(void)x;
	(void)y;
	(void)font;
	(void)text;
	(void)width;
	return 0;
}

double
lc__picture_text_up(struct lc__picture *picture, double x, double y,
    const struct lc__font *font, lc_id text, double width)
{
	return lc__picture_text(picture, x, y, font, text, width);
}

size_t
lc__picture_text_lines(struct lc__picture *picture, double x, double y,
    const struct lc__font *font, lc_id text, double width, size_t most)
{
	(void)most;
	return (size_t)lc__picture_text(picture, x, y, font, text, width);
}

void
lc__picture_fill(struct lc__picture *picture, struct lc__rect area, uint32_t colour)
{
	(void)picture;
	(void)area;
	(void)colour;
}

void
lc__picture_frame(struct lc__picture *picture, struct lc__rect area, double line,
    uint32_t colour)
{
	(void)line;
	lc__picture_fill(picture, area, colour);
}

void
lc__picture_line(struct lc__picture *picture, const struct lc__point *points, size_t n,
    const struct lc__stroke *stroke)
{
	(void)picture;
	(void)points;
	(void)n;
	(void)stroke;
}

void
lc__picture_shape(struct lc__picture *picture, const struct lc__point *points, size_t n,
    uint32_t colour, double opacity)
{
	(void)picture;
	(void)points;
	(void)n;
	(void)colour;
	(void)opacity;
}

void
lc__picture_dot(struct lc__picture *picture, struct lc__point centre, double radius,
    uint32_t colour)
{
	(void)picture;
	(void)centre;
	(void)radius;
	(void)colour;
}

void
lc__picture_image(struct lc__picture *picture, struct lc__rect area,
    const struct lc__pixels *pixels)
{
	(void)picture;
	(void)area;
	(void)pixels;
}

#endif
