/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/label.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "labels/names.h"
#include "labels/strings.h"

/* ---- reasons ------------------------------------------------------------------ */

static const char *const names[LC__REJECTS] = {
	[LC__REJECT_NONE] = "none",
	[LC__REJECT_BLANK_IMAGE] = "blank_image",
	[LC__REJECT_NO_FILE] = "no_file",
	[LC__REJECT_UNREADABLE] = "unreadable",
	[LC__REJECT_UNPARSABLE] = "unparsable",
	[LC__REJECT_NO_LABELS] = "no_labels",
	[LC__REJECT_NO_BOX] = "no_box",
	[LC__REJECT_NOT_FINITE] = "not_finite",
	[LC__REJECT_OUT_OF_RANGE] = "out_of_range",
	[LC__REJECT_MIN_MAX] = "min_max",
	[LC__REJECT_UNDECODABLE] = "undecodable",
	[LC__REJECT_SIZE_MISMATCH] = "size_mismatch",
	[LC__REJECT_UNKNOWN_CLASS] = "unknown_class",
};

const char *
lc__reject_name(enum lc__reject reason)
{
	return (unsigned)reason < LC__REJECTS ? names[reason] : NULL;
}

enum lc__reject
lc__reject_parse(const char *name)
{
	unsigned reason = 0;

	while (reason < LC__REJECTS && strcmp(names[reason], name) != 0)
		reason++;
	return (enum lc__reject)reason;
}

uint64_t *
lc__reject_counter(struct lc__counts *counts, enum lc__reject reason)
{
	assert(reason != LC__REJECT_NONE && (unsigned)reason < LC__REJECTS);
	switch (reason) {
	case LC__REJECT_BLANK_IMAGE: return &counts->missing_image;
	case LC__REJECT_NO_FILE: return &counts->missing_file;
	case LC__REJECT_NO_LABELS: return &counts->empty;
	default: return &counts->invalid;
	}
}

/* ---- filling ------------------------------------------------------------------ */

void
lc__label_free_boxes(struct lc__label *label)
{
	free(label->boxes);
	label->boxes = NULL;
	label->n = label->room = 0;
	lc__buf_free(&label->extra);
}

lc_status
lc__label_reject(struct lc__label *label, enum lc__reject reason, const char *file,
    const char *format, ...)
{
	enum { shown = 300 };
	const size_t size = strlen(file);
	char *const out = label->detail;
	char text[sizeof(label->detail)];
	size_t n = 0;
	va_list args;

	if (size > shown) {
		file += size - shown;
		n = (size_t)sprintf(out, "…");
		/* Do not begin within a character. */
		while (((unsigned char)*file & 0xc0) == 0x80)
			file++;
	}
	n += lc__printable(file, out + n, shown + 8);
	n += (size_t)sprintf(out + n, ": ");
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	lc__printable(text, out + n, sizeof(label->detail) - n);

	label->reason = reason;
	lc__label_free_boxes(label);
	return LC_OK;
}

struct lc__label_box *
lc__label_add(struct lc__label *label)
{
	const size_t n = label->n;

	if (lc__array_reserve(&label->boxes, &label->room, n + 1, NULL) != LC_OK)
		return NULL;
	memset(&label->boxes[n], 0, sizeof(label->boxes[n]));
	label->boxes[n].class_id = -1;
	label->n++;
	return &label->boxes[n];
}

lc_status
lc__label_image(struct lc__label *label, const char *file, const char *dir,
    const char *path)
{
	bool inside;

	free(label->image_path);
	label->image_path = lc__path_below(dir, path, &inside);
	if (label->image_path == NULL)
		return lc__no_memory(file);
	if (inside)
		return LC_OK;
	free(label->image_path);
	label->image_path = NULL;
	return lc__label_reject(label, LC__REJECT_UNPARSABLE, file,
	    "image '%.200s' is outside of the dataset", path);
}

void
lc__label_free(struct lc__label *label)
{
	free(label->image_path);
	free(label->boxes);
	lc__buf_free(&label->extra);
	memset(label, 0, sizeof(*label));
}

/* ---- checking ----------------------------------------------------------------- */

/* Larger coordinates are not valid in any image. */
#define PX_MAX 1e9
/* How much norm and px may differ: in pixels, or as a fraction of the side. */
#define APART_PX 2.0
#define APART_SHARE 0.01

static const char *const corner[4] = { "x0", "y0", "x1", "y1" };

/* The box being checked, for messages. */
struct place {
	struct lc__label *label;
	const char *file;
	size_t number; /* of the label, from 1 */
	const char *field;
};

static bool
bad(const struct place *at, enum lc__reject reason, const char *what, double v,
    const char *rest, double limit)
{
	(void)lc__label_reject(at->label, reason, at->file,
	    "label %zu: %s: %s %.9g %s %.9g", at->number, at->field, what, v, rest,
	    limit);
	return false;
}

/* Clamp them to 0 and to width and height, which are NaN if they are not known. */
static bool
check_corners(const struct place *at, double v[4], double width, double height,
    double tolerance)
{
	for (size_t i = 0; i < 4; i++) {
		if (!isfinite(v[i])) {
			(void)lc__label_reject(at->label, LC__REJECT_NOT_FINITE, at->file,
			    "label %zu: %s: %s %g is not finite", at->number, at->field,
			    corner[i], v[i]);
			return false;
		}
		if (fabs(v[i]) > PX_MAX)
			return bad(at, LC__REJECT_NOT_FINITE, corner[i], v[i],
			    "is beyond", PX_MAX);
	}
	for (size_t i = 0; i < 4; i++) {
		const double limit = i % 2 == 0 ? width : height;
		if (v[i] < -tolerance)
			return bad(at, LC__REJECT_OUT_OF_RANGE, corner[i], v[i],
			    "is below", 0);
		if (v[i] > limit + tolerance)
			return bad(at, LC__REJECT_OUT_OF_RANGE, corner[i], v[i],
			    "is above", limit);
		if (v[i] < 0)
			v[i] = 0;
		if (v[i] > limit)
			v[i] = limit;
	}
	for (size_t i = 0; i < 2; i++)
		if (!(v[i] < v[i + 2]))
			return bad(at, LC__REJECT_MIN_MAX, corner[i], v[i],
			    i == 0 ? "is not below x1" : "is not below y1", v[i + 2]);
	return true;
}

/* The sides are NaN if they are not known. */
static bool
check_box(struct place *at, struct lc__label_box *box, const double side[2])
{
	at->field = "bbox_norm";
	if (box->has_norm && !check_corners(at, box->norm, 1, 1, box->tolerance))
		return false;
	at->field = "bbox_px";
	if (box->has_px &&
	    !check_corners(at, box->px, side[0], side[1], box->tolerance_px))
		return false;
	if (!box->has_norm || isnan(side[0]) || isnan(side[1]))
		return true;

	/* Are both boxes of one image, judging by their positions? */
	for (size_t i = 0; i < 4 && box->has_px; i++) {
		const double px = box->norm[i] * side[i % 2];
		const double apart = fmax(APART_PX, APART_SHARE * side[i % 2]);
		if (fabs(px - box->px[i]) > apart)
			return bad(at, LC__REJECT_SIZE_MISMATCH, corner[i], box->px[i],
			    "differs from bbox_norm,", px);
	}
	for (size_t i = 0; i < 4; i++)
		box->px[i] = box->norm[i] * side[i % 2];
	return true;
}

static bool
check_size(struct lc__label *label, const char *name, uint32_t width, uint32_t height)
{
	char stated[32];

	if ((label->width == 0 || label->width == width) &&
	    (label->height == 0 || label->height == height))
		return true;
	if (label->width == 0)
		snprintf(stated, sizeof(stated), "%u high", label->height);
	else if (label->height == 0)
		snprintf(stated, sizeof(stated), "%u wide", label->width);
	else
		snprintf(stated, sizeof(stated), "of %ux%u", label->width, label->height);
	(void)lc__label_reject(label, LC__REJECT_SIZE_MISMATCH, name,
	    "the label is of an image %s, the image is %ux%u", stated, width, height);
	return false;
}

static double
known_side(uint32_t image, uint32_t stated)
{
	const uint32_t side = image != 0 ? image : stated;

	return side != 0 ? side : (double)NAN;
}

void
lc__label_check(struct lc__label *label, const char *name, uint32_t width,
    uint32_t height)
{
	const double side[2] = { known_side(width, label->width),
		known_side(height, label->height) };
	struct place at = { .label = label, .file = name };

	if (label->reason != LC__REJECT_NONE)
		return;
	if (width != 0 && height != 0 && !check_size(label, name, width, height))
		return;
	for (size_t i = 0; i < label->n; i++) {
		struct lc__label_box *box = &label->boxes[i];
		at.number = i + 1;
		if (!box->has_norm && !box->has_px) {
			(void)lc__label_reject(label, LC__REJECT_NO_BOX, name,
			    "label %zu: no box", i + 1);
			return;
		}
		if (!check_box(&at, box, side))
			return;
	}
}
