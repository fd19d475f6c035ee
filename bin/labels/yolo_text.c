/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines "class cx cy w h", or "class x1 y1 x2 y2 x3 y3 ..." of a polygon. */
#include "labels/yolo.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "labels/label.h"
#include "labels/number.h"

#define TOLERANCE 0.01
/* No number needs more bytes. */
#define WORD 63

/* What is being read. */
struct reader {
	const char *file;
	struct lc__label *label;
	size_t line;          /* from 1 */
	const char *at, *end; /* what is left of the line */
};

static lc_status __attribute__((format(printf, 2, 3)))
unparsable(const struct reader *r, const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, r->file, "line %zu: %s",
	    r->line, text);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line, copied; false at the end of the line. */
static bool
next_word(struct reader *r, char word[WORD + 1])
{
	size_t n = 0;

	while (r->at < r->end && is_blank(*r->at))
		r->at++;
	while (r->at < r->end && !is_blank(*r->at)) {
		/* What is longer is no number, and cut is not taken for one. */
		word[n] = *r->at != '\0' ? *r->at : '?';
		n += n < WORD;
		r->at++;
	}
	if (n == WORD)
		word[n - 1] = '?';
	word[n] = '\0';
	return n > 0;
}

static void
set_box(struct lc__label_box *box, const double v[4])
{
	for (size_t i = 0; i < 2; i++) {
		box->norm[i] = v[i] - v[i + 2] / 2;
		box->norm[i + 2] = v[i] + v[i + 2] / 2;
	}
}

static void
stretch(struct lc__label_box *box, size_t axis, double v, bool first)
{
	/* A NaN stays: it is found when the box is checked. */
	if (first || !(v >= box->norm[axis]))
		box->norm[axis] = v;
	if (first || !(v <= box->norm[axis + 2]))
		box->norm[axis + 2] = v;
}

/*
 * The numbers behind the class. The first four are kept until it is known whether
 * there are more, and everything goes into the bounds of a polygon.
 */
static lc_status
read_numbers(struct reader *r, struct lc__label_box *box)
{
	double v, first[4] = { 0 };
	char word[WORD + 1];
	size_t n = 0;

	for (; next_word(r, word); n++) {
		if (!lc__number_parse(word, &v))
			return unparsable(r, "%s is no number",
			    lc__quote_id(word, strlen(word)));
		if (n < 4)
			first[n] = v;
		if (!isnan(box->norm[n % 2]))
			stretch(box, n % 2, v, n < 2);
	}
	if (n == 4)
		set_box(box, first);
	else if (n < 6 || n % 2 != 0)
		return unparsable(r,
		    "%zu columns: a box has 5, a polygon 7, 9, 11 and so on", n + 1);
	return LC_OK;
}

/* Class ids are written as floats too: "3.0". */
static bool
parse_class(const char *word, int64_t *out)
{
	double v;

	if (!lc__number_parse(word, &v) || !(v >= 0 && v <= INT32_MAX) || v != floor(v))
		return false;
	*out = (int64_t)v;
	return true;
}

static lc_status
read_line(struct reader *r)
{
	struct lc__label_box *box;
	char word[WORD + 1];

	if (!next_word(r, word))
		return LC_OK;
	box = lc__label_add(r->label);
	if (box == NULL)
		return lc__no_memory(r->file);
	box->has_norm = true;
	box->tolerance = TOLERANCE;
	if (!parse_class(word, &box->class_id))
		return unparsable(r, "%s is no class id",
		    lc__quote_id(word, strlen(word)));
	return read_numbers(r, box);
}

static lc_status
read_lines(struct reader *r, const char *text, size_t size)
{
	const char *end = text + size;
	lc_status status = LC_OK;

	while (text < end && status == LC_OK && r->label->reason == LC__REJECT_NONE) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		r->line++;
		r->at = text;
		r->end = stop != NULL ? stop : end;
		status = read_line(r);
		text = r->end + 1;
	}
	return status;
}

lc_status
lc__yolo_read(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	struct reader r = { .file = frame->label_path, .label = out };

	(void)dataset;
	if (frame->image_path == NULL)
		return lc__label_reject(out, LC__REJECT_NO_FILE, frame->label_path,
		    frame->number == LC__YOLO_OTHER_KIND
			? "its image is of a kind that is not read"
			: "there is no image of its name");
	return_if_error(lc__label_image(out, frame->image_path, "", frame->image_path));
	if (frame->label_path == NULL || size == 0)
		return LC_OK;
	return read_lines(&r, bytes, size);
}
