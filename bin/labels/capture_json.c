/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mpack.h"
#include "labels/json_extra.h"
#include "labels/json_load.h"
#include "labels/label.h"
#include "labels/names.h"

#define TOLERANCE 1e-6
#define TOLERANCE_PX 0.5

/* What is being read, and where its messages come from. */
struct reader {
	const char *file;
	const char *run;         /* the directory that image paths start from */
	struct lc__label *label;
};

static lc_status
unparsable(const struct reader *r, const char *what)
{
	return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, r->file, "%s",
	    what);
}

static bool
is_rejected(const struct reader *r)
{
	return r->label->reason != LC__REJECT_NONE;
}

/* ---- metadata ----------------------------------------------------------------- */

/* The name whose number is the class of a label, or NULL. */
static const char *
class_name(const json_t *object)
{
	static const char *const names[] = {
		"class_id", "class", "category_id", "category", "label"
	};
	uint64_t number;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (lc__json_uint(json_object_get(object, names[i]), &number) &&
		    number <= INT64_MAX)
			return names[i];
	return NULL;
}

static bool
is_label_extra(const json_t *object, const char *name, const json_t *member)
{
	const char *class = class_name(object);

	(void)member;
	return strcmp(name, "bbox_norm") != 0 && strcmp(name, "bbox_px") != 0 &&
	    (class == NULL || strcmp(name, class) != 0);
}

static bool
is_frame_extra(const json_t *object, const char *name, const json_t *member)
{
	uint64_t number;

	(void)object;
	if (strcmp(name, "frame_id") == 0)
		return !lc__json_uint(member, &number);
	return strcmp(name, "image") != 0 && strcmp(name, "image_present") != 0 &&
	    strcmp(name, "labels") != 0;
}

static bool
pack_labels_extra(const json_t *labels, struct lc__buf *out)
{
	lc__mpack_array(out, (uint32_t)json_array_size(labels));
	for (size_t i = 0; i < json_array_size(labels); i++) {
		const json_t *label = json_array_get(labels, i);
		lc__mpack_map(out, lc__json_count_extra(label, is_label_extra));
		if (!lc__json_pack_extra(label, is_label_extra, out))
			return false;
	}
	return true;
}

static bool
have_labels_extra(const json_t *labels)
{
	for (size_t i = 0; i < json_array_size(labels); i++)
		if (lc__json_count_extra(json_array_get(labels, i),
		    is_label_extra) > 0)
			return true;
	return false;
}

/* The frame's other members, and `labels` in its place if they have others. */
static bool
pack_extra(const json_t *frame, struct lc__buf *out)
{
	const json_t *labels = json_object_get(frame, "labels");
	const bool inner = have_labels_extra(labels);
	const uint32_t n = lc__json_count_extra(frame, is_frame_extra) + inner;
	const char *name;
	json_t *member;
	bool good = true;

	if (n == 0)
		return true;
	lc__mpack_map(out, n);
	json_object_foreach((json_t *)frame, name, member) {
		const bool here = member == labels && inner;
		if (!here && !is_frame_extra(frame, name, member))
			continue;
		lc__mpack_str(out, name);
		good = good && (here ? pack_labels_extra(member, out) :
		    lc__json_pack(member, out));
	}
	return good;
}

/* ---- labels -------------------------------------------------------------------- */

static bool
read_box(const struct reader *r, const json_t *object, size_t number,
    const char *name, bool *has, double box[4])
{
	const json_t *json = json_object_get(object, name);

	*has = json != NULL && !json_is_null(json);
	if (!*has || lc__json_box(json, box))
		return true;
	(void)lc__label_reject(r->label, LC__REJECT_UNPARSABLE, r->file,
	    "label %zu: %s is no list of 4 numbers", number, name);
	return false;
}

static lc_status
read_label(const struct reader *r, const json_t *object, size_t number)
{
	struct lc__label_box *box = lc__label_add(r->label);
	const char *class = class_name(object);
	uint64_t id;

	if (box == NULL)
		return lc__no_memory(r->file);
	if (!json_is_object(object))
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
	if (class != NULL && lc__json_uint(json_object_get(object, class), &id))
		box->class_id = (int64_t)id;
	return LC_OK;
}

static lc_status
read_labels(const struct reader *r, const json_t *labels)
{
	lc_status status = LC_OK;

	for (size_t i = 0; status == LC_OK && !is_rejected(r) &&
	    i < json_array_size(labels); i++)
		status = read_label(r, json_array_get(labels, i), i + 1);
	return status;
}

/* ---- the frame ----------------------------------------------------------------- */

static lc_status
read_image(const struct reader *r, const json_t *frame)
{
	const json_t *image = json_object_get(frame, "image");
	const json_t *present = json_object_get(frame, "image_present");

	if (json_is_false(present) || lc__json_is_blank(image))
		return lc__label_reject(r->label, LC__REJECT_BLANK_IMAGE, r->file,
		    json_is_false(present) ? "image_present is false" :
		    "no image");
	if (!lc__json_is_text(image))
		return unparsable(r, "image is not a string");
	return lc__label_image(r->label, r->file, r->run,
	    json_string_value(image));
}

static lc_status
check_frame(const struct reader *r, const json_t *frame)
{
	const json_t *present = json_object_get(frame, "image_present");
	const json_t *labels = json_object_get(frame, "labels");

	if (!json_is_object(frame))
		return unparsable(r, "not an object");
	if (labels == NULL)
		return unparsable(r, "no member labels");
	if (!json_is_array(labels))
		return unparsable(r, "labels is not a list");
	if (present != NULL && !json_is_boolean(present) && !json_is_null(present))
		return unparsable(r, "image_present is neither true nor false");
	return LC_OK;
}

static lc_status
read_frame(const struct reader *r, const json_t *frame)
{
	lc_status status = check_frame(r, frame);
	struct lc__label *label = r->label;

	if (!is_rejected(r))
		status = read_image(r, frame);
	if (status == LC_OK && !is_rejected(r))
		status = read_labels(r, json_object_get(frame, "labels"));
	if (status != LC_OK || is_rejected(r))
		return status;
	label->has_frame_id = lc__json_uint(json_object_get(frame, "frame_id"),
	    &label->frame_id);
	if (!pack_extra(frame, &label->extra))
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
	json_t *json = NULL;
	lc_status status;

	(void)dataset;
	if (frame->label_path == NULL)
		return lc__label_image(out, frame->image_path, "", frame->image_path);
	if (run == NULL)
		return lc__no_memory(frame->label_path);
	status = lc__json_load(bytes, size, &json, why);
	if (status == LC_OK && json == NULL)
		status = unparsable(&r, why);
	else if (status == LC_OK)
		status = read_frame(&r, json);
	json_decref(json);
	free(run);
	return status;
}
