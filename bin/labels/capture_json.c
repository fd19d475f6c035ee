/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/error.h"
#include "base/mpack.h"
#include "labels/label.h"
#include "labels/metadata.h"
#include "labels/names.h"

#define TOLERANCE 1e-6
#define TOLERANCE_PX 0.5

/* What is being read, and where its messages come from. */
struct reader {
	const char *file;
	const char *run; /* the directory that image paths start from */
	struct lc__label *label;
};

static lc_status
unparsable(const struct reader *r, const char *what)
{
	return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, r->file, "%s", what);
}

static bool
is_rejected(const struct reader *r)
{
	return r->label->reason != LC__REJECT_NONE;
}

/* ---- metadata ----------------------------------------------------------------- */

/* The member whose number is the class of a label, or NULL. */
static const struct lc__json *
class_of(const struct lc__json *object)
{
	static const char *const names[] = { "class_id", "class", "category_id",
		"category", "label" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct lc__json *member = lc__json_get(object, names[i]);
		uint64_t number;

		if (lc__json_uint64(member, &number) && number <= INT64_MAX)
			return member;
	}
	return NULL;
}

/* lc__is_metadata of a label, whose class_of() is ctx. */
static bool
is_label_metadata(const void *ctx, const struct lc__json *member)
{
	return member != ctx && strcmp(member->name, "bbox_norm") != 0 &&
	    strcmp(member->name, "bbox_px") != 0;
}

static bool
is_frame_metadata(const void *ctx, const struct lc__json *member)
{
	uint64_t number;

	(void)ctx;
	if (strcmp(member->name, "frame_id") == 0)
		return !lc__json_uint64(member, &number);
	return strcmp(member->name, "image") != 0 &&
	    strcmp(member->name, "image_present") != 0 &&
	    strcmp(member->name, "labels") != 0;
}

static bool
pack_labels(const struct lc__json *labels, struct lc__buf *out)
{
	const struct lc__json *label;

	lc__mpack_array(out, labels->count);
	lc__json_each(label, labels)
	{
		const struct lc__json *class = class_of(label);

		lc__mpack_map(out, lc__metadata_count(label, is_label_metadata, class));
		if (!lc__metadata_pack(label, is_label_metadata, class, out))
			return false;
	}
	return true;
}

static bool
have_metadata(const struct lc__json *labels)
{
	const struct lc__json *label;

	lc__json_each(label, labels) if (lc__metadata_count(label, is_label_metadata,
					     class_of(label)) > 0) return true;
	return false;
}

/* The frame's other members, and `labels` in its place if they have others. */
static bool
pack_metadata(const struct lc__json *frame, struct lc__buf *out)
{
	const struct lc__json *labels = lc__json_get(frame, "labels"), *member;
	const bool inner = have_metadata(labels);
	const uint32_t n = lc__metadata_count(frame, is_frame_metadata, NULL) + inner;

	if (n == 0)
		return true;
	lc__mpack_map(out, n);
	lc__json_each(member, frame)
	{
		const bool here = member == labels && inner;

		if (!here && !is_frame_metadata(NULL, member))
			continue;
		lc__mpack_str(out, member->name);
		if (!(here ? pack_labels(member, out)
			   : lc__metadata_pack_value(member, out)))
			return false;
	}
	return true;
}

/* ---- labels -------------------------------------------------------------------- */

static bool
read_box(const struct reader *r, const struct lc__json *object, size_t number,
    const char *name, bool *has, double box[4])
{
	const struct lc__json *json = lc__json_get(object, name);

	*has = json != NULL && !lc__json_is(json, LC__JSON_NULL);
	if (!*has || lc__label_numbers(json, box))
		return true;
	(void)lc__label_reject(r->label, LC__REJECT_UNPARSABLE, r->file,
	    "label %zu: %s is no list of 4 numbers", number, name);
	return false;
}

static lc_status
read_label(const struct reader *r, const struct lc__json *object, size_t number)
{
	struct lc__label_box *box = lc__label_add(r->label);
	const struct lc__json *class = class_of(object);
	uint64_t id;

	if (box == NULL)
		return lc__no_memory(r->file);
	if (!lc__json_is(object, LC__JSON_OBJECT))
		return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, r->file,
		    "label %zu: not an object", number);
	if (!read_box(r, object, number, "bbox_norm", &box->has_norm, box->norm) ||
	    !read_box(r, object, number, "bbox_px", &box->has_px, box->px))
		return LC_OK;
	if (!box->has_norm && !box->has_px)
		return lc__label_reject(r->label, LC__REJECT_NO_BOX, r->file,
		    "label %zu: neither bbox_norm nor bbox_px", number);
	box->tolerance = TOLERANCE;
	box->tolerance_px = TOLERANCE_PX;
	if (lc__json_uint64(class, &id))
		box->class_id = (int64_t)id;
	return LC_OK;
}

static lc_status
read_labels(const struct reader *r, const struct lc__json *labels)
{
	const struct lc__json *label;
	size_t number = 0;

	lc__json_each(label, labels)
	{
		return_if_error(read_label(r, label, ++number));
		if (is_rejected(r))
			break;
	}
	return LC_OK;
}

/* ---- the frame ----------------------------------------------------------------- */

static lc_status
read_image(const struct reader *r, const struct lc__json *frame)
{
	const struct lc__json *image = lc__json_get(frame, "image");
	const struct lc__json *present = lc__json_get(frame, "image_present");

	if (lc__json_is(present, LC__JSON_FALSE) || lc__label_is_blank(image))
		return lc__label_reject(r->label, LC__REJECT_BLANK_IMAGE, r->file,
		    lc__json_is(present, LC__JSON_FALSE) ? "image_present is false"
							 : "no image");
	if (!lc__json_is(image, LC__JSON_STRING))
		return unparsable(r, "image is not a string");
	return lc__label_image(r->label, r->file, r->run, image->string);
}

static lc_status
check_frame(const struct reader *r, const struct lc__json *frame)
{
	const struct lc__json *present = lc__json_get(frame, "image_present");
	const struct lc__json *labels = lc__json_get(frame, "labels");

	if (!lc__json_is(frame, LC__JSON_OBJECT))
		return unparsable(r, "not an object");
	if (labels == NULL)
		return unparsable(r, "no member labels");
	if (!lc__json_is(labels, LC__JSON_ARRAY))
		return unparsable(r, "labels is not a list");
	if (present != NULL && present->kind != LC__JSON_TRUE &&
	    present->kind != LC__JSON_FALSE && present->kind != LC__JSON_NULL)
		return unparsable(r, "image_present is neither true nor false");
	return LC_OK;
}

static lc_status
read_frame(const struct reader *r, const struct lc__json *frame)
{
	lc_status status = check_frame(r, frame);
	struct lc__label *label = r->label;

	if (!is_rejected(r))
		status = read_image(r, frame);
	if (status == LC_OK && !is_rejected(r))
		status = read_labels(r, lc__json_get(frame, "labels"));
	if (status != LC_OK || is_rejected(r))
		return status;
	label->has_frame_id = lc__json_uint64(lc__json_get(frame, "frame_id"),
	    &label->frame_id);
	if (!pack_metadata(frame, &label->extra))
		return unparsable(r, "metadata nested too deep");
	return label->extra.failed ? lc__no_memory(r->file) : LC_OK;
}

/* "a" for "a/labels/f.json"; malloc'ed. */
static char *
run_dir(const char *label_path)
{
	char *dir = lc__name_dir(label_path);
	char *run = dir != NULL ? lc__name_dir(dir) : NULL;

	free(dir);
	return run;
}

lc_status
lc__capture_read(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	char *run = frame->label_path != NULL ? run_dir(frame->label_path) : NULL;
	const struct reader r = { frame->label_path, run, out };
	char why[256];
	struct lc__json_tree tree = { 0 };
	const struct lc__json *json = NULL;
	lc_status status;

	(void)dataset;
	if (frame->label_path == NULL)
		return lc__label_image(out, frame->image_path, "", frame->image_path);
	if (run == NULL)
		return lc__no_memory(frame->label_path);
	status = lc__label_parse(bytes, size, NULL, &tree, &json, why);
	if (status == LC_OK && json == NULL)
		status = unparsable(&r, why);
	else if (status == LC_OK)
		status = read_frame(&r, json);
	lc__json_free(&tree);
	free(run);
	return status;
}
