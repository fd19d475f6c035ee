/* SPDX-License-Identifier: BSD-2-Clause */
/* What a label must be before its boxes are believed. */
#include "labels/dataset.h"

#include <math.h>
#include <stdio.h>

#include "labels/label.h"

/* Pixels beyond this are no pixels of any image. */
#define PX_MAX 1e9
/* How far norm and px may lie apart: pixels, or this share of the side. */
#define APART_PX 2.0
#define APART_SHARE 0.01

static const char *const corner[4] = { "x0", "y0", "x1", "y1" };

/* Where the box that is checked stands, for messages. */
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

static bool
not_finite(const struct place *at, const char *what, double v)
{
	(void)lc__label_reject(at->label, LC__REJECT_NOT_FINITE, at->file,
	    "label %zu: %s: %s %g is not finite", at->number, at->field, what, v);
	return false;
}

/* Into 0 to limit, which is NaN where it is not known. */
static bool
clamp(const struct place *at, size_t i, double *v, double limit, double tolerance)
{
	if (*v < -tolerance)
		return bad(at, LC__REJECT_OUT_OF_RANGE, corner[i], *v, "is below", 0);
	if (*v > limit + tolerance)
		return bad(at, LC__REJECT_OUT_OF_RANGE, corner[i], *v, "is above", limit);
	if (*v < 0)
		*v = 0;
	if (*v > limit)
		*v = limit;
	return true;
}

static bool
check_corners(const struct place *at, double v[4], double width, double height,
    double tolerance)
{
	for (size_t i = 0; i < 4; i++)
		if (!isfinite(v[i]))
			return not_finite(at, corner[i], v[i]);
		else if (fabs(v[i]) > PX_MAX)
			return bad(at, LC__REJECT_NOT_FINITE, corner[i], v[i],
			    "is beyond", PX_MAX);
	for (size_t i = 0; i < 4; i++)
		if (!clamp(at, i, &v[i], i % 2 == 0 ? width : height, tolerance))
			return false;
	for (size_t i = 0; i < 2; i++)
		if (!(v[i] < v[i + 2]))
			return bad(at, LC__REJECT_MIN_MAX, corner[i], v[i],
			    i == 0 ? "is not below x1" : "is not below y1", v[i + 2]);
	return true;
}

/* Both boxes are of one image, if they lie where they do. */
static bool
check_same(const struct place *at, const struct lc__label_box *box, const double side[2])
{
	for (size_t i = 0; i < 4; i++) {
		const double px = box->norm[i] * side[i % 2];
		const double apart = fmax(APART_PX, APART_SHARE * side[i % 2]);
		if (fabs(px - box->px[i]) > apart)
			return bad(at, LC__REJECT_SIZE_MISMATCH, corner[i], box->px[i],
			    "is not where bbox_norm has it,", px);
	}
	return true;
}

/* The sides are NaN where they are not known. */
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
	if (box->has_px && !check_same(at, box, side))
		return false;
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
