/* SPDX-License-Identifier: BSD-2-Clause */
/* <root>/<run>/labels/ *.json: found and read. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mpack.h"
#include "labels/classes.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/label_json.h"
#include "labels/names.h"
#include "labels/pictures.h"

static lc_status
add_labels(struct lc__dataset *dataset, const char *run, const char *dir,
    const struct lc__listing *listing)
{
	struct lc__labelled_dir labelled = {
		.run = run,
		.labels = dir,
		.listing = listing,
		.extension = ".json",
	};
	lc_status status = LC_OK;
	char *images;

	for (size_t i = 0; i < listing->n && status == LC_OK; i++) {
		const struct lc__entry *entry = &listing->entries[i];
		char *path;
		if (entry->dir || !lc__name_has(entry->name, ".json"))
			continue;
		path = lc__name_join(dir, entry->name);
		if (path == NULL)
			return lc__no_memory(dir);
		status = lc__dataset_add_files(dataset, run, path, NULL);
		free(path);
	}
	return_if_error(status);

	/* Add the images of RUN/images that have no label. */
	labelled.images = images = lc__name_join(run, "images");
	status = images != NULL ? lc__dataset_add_pictures(dataset, &labelled)
				: lc__no_memory(run);
	free(images);
	return status;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return_if_error(lc__classes_read(dataset));
	return lc__dataset_runs(dataset, "labels", add_labels);
}

/* ---- metadata ----------------------------------------------------------------- */

/* The member that holds the number of a label's class, or NULL. */
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

/* lc__is_metadata for a label; ctx is the result of class_of(). */
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

/* Append the frame's other members; among them, at its place, `labels`, if any label
 * has other members. False if they are nested too deep. */
static bool
pack_metadata(const struct lc__json *frame, struct lc__buf *out)
{
	const struct lc__json *labels = lc__json_get(frame, "labels"), *member, *label;
	uint32_t n = lc__metadata_count(frame, is_frame_metadata, NULL);
	bool inner = false;

	lc__json_each(label, labels)
	{
		inner |= lc__metadata_count(label, is_label_metadata, class_of(label)) >
		    0;
	}
	n += inner;
	if (n == 0)
		return true;
	lc__mpack_map(out, n);
	lc__json_each(member, frame)
	{
		if (is_frame_metadata(NULL, member)) {
			lc__mpack_str(out, member->name);
			if (!lc__metadata_pack_value(member, out))
				return false;
		}
		if (member != labels || !inner)
			continue;
		lc__mpack_str(out, member->name);
		lc__mpack_array(out, labels->count);
		lc__json_each(label, labels)
		{
			const struct lc__json *class = class_of(label);

			lc__mpack_map(out,
			    lc__metadata_count(label, is_label_metadata, class));
			if (!lc__metadata_pack(label, is_label_metadata, class, out))
				return false;
		}
	}
	return true;
}

/* ---- the label ------------------------------------------------------------------ */

#define TOLERANCE 1e-6
#define TOLERANCE_PX 0.5

/* False, after rejecting the label, if the member is present and is not a box. */
static bool
read_box(struct lc__label *out, const char *file, const struct lc__json *object,
    const char *name, bool *has, double box[4])
{
	const struct lc__json *json = lc__json_get(object, name);

	*has = json != NULL && !lc__json_is(json, LC__JSON_NULL);
	if (!*has || lc__label_numbers(json, box))
		return true;
	(void)lc__label_reject(out, LC__REJECT_UNPARSABLE, file,
	    "label %zu: %s is not a list of 4 numbers", out->n, name);
	return false;
}

static lc_status
read_boxes(struct lc__label *out, const char *file, const struct lc__json *labels)
{
	const struct lc__json *object;

	lc__json_each(object, labels)
	{
		struct lc__label_box *box = lc__label_add(out);
		uint64_t id;

		if (box == NULL)
			return lc__no_memory(file);
		if (!lc__json_is(object, LC__JSON_OBJECT))
			return lc__label_reject(out, LC__REJECT_UNPARSABLE, file,
			    "label %zu: not an object", out->n);
		if (!read_box(out, file, object, "bbox_norm", &box->has_norm,
			box->norm) ||
		    !read_box(out, file, object, "bbox_px", &box->has_px, box->px))
			return LC_OK;
		if (!box->has_norm && !box->has_px)
			return lc__label_reject(out, LC__REJECT_NO_BOX, file,
			    "label %zu: neither bbox_norm nor bbox_px", out->n);
		box->tolerance = TOLERANCE;
		box->tolerance_px = TOLERANCE_PX;
		if (lc__json_uint64(class_of(object), &id))
			box->class_id = (int64_t)id;
	}
	return LC_OK;
}

/* Paths of images are relative to @p run. */
static lc_status
read_object(struct lc__label *out, const char *file, const char *run,
    const struct lc__json *frame)
{
	const struct lc__json *image = lc__json_get(frame, "image");
	const struct lc__json *present = lc__json_get(frame, "image_present");
	const struct lc__json *labels = lc__json_get(frame, "labels");
	const char *wrong = NULL;

	if (!lc__json_is(frame, LC__JSON_OBJECT))
		wrong = "not an object";
	else if (labels == NULL)
		wrong = "no member labels";
	else if (!lc__json_is(labels, LC__JSON_ARRAY))
		wrong = "labels is not a list";
	else if (present != NULL && present->kind != LC__JSON_TRUE &&
	    present->kind != LC__JSON_FALSE && present->kind != LC__JSON_NULL)
		wrong = "image_present is neither true nor false";
	if (wrong != NULL)
		return lc__label_reject(out, LC__REJECT_UNPARSABLE, file, "%s", wrong);

	if (lc__json_is(present, LC__JSON_FALSE))
		return lc__label_reject(out, LC__REJECT_BLANK_IMAGE, file,
		    "image_present is false");
	if (lc__label_is_blank(image))
		return lc__label_reject(out, LC__REJECT_BLANK_IMAGE, file, "no image");
	if (!lc__json_is(image, LC__JSON_STRING))
		return lc__label_reject(out, LC__REJECT_UNPARSABLE, file,
		    "image is not a string");
	return_if_error(lc__label_image(out, file, run, image->string));
	if (out->reason == LC__REJECT_NONE)
		return_if_error(read_boxes(out, file, labels));
	if (out->reason != LC__REJECT_NONE)
		return LC_OK;

	out->has_frame_id = lc__json_uint64(lc__json_get(frame, "frame_id"),
	    &out->frame_id);
	if (!pack_metadata(frame, &out->extra))
		return lc__label_reject(out, LC__REJECT_UNPARSABLE, file,
		    "metadata nested too deep");
	return out->extra.failed ? lc__no_memory(file) : LC_OK;
}

static lc_status
read_capture(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	const char *const file = frame->label_path;
	char *labels, *run = NULL; /* for example "a/labels" and "a" */
	struct lc__json_tree tree = { 0 };
	const struct lc__json *json = NULL;
	char why[256];
	lc_status status;

	(void)dataset;
	if (file == NULL)
		return lc__label_image(out, frame->image_path, "", frame->image_path);
	labels = lc__name_dir(file);
	if (labels != NULL)
		run = lc__name_dir(labels);
	free(labels);
	if (run == NULL)
		return lc__no_memory(file);
	status = lc__label_parse(bytes, size, NULL, &tree, &json, why);
	if (status == LC_OK && json == NULL)
		status = lc__label_reject(out, LC__REJECT_UNPARSABLE, file, "%s", why);
	else if (status == LC_OK)
		status = read_object(out, file, run, json);
	lc__json_free(&tree);
	free(run);
	return status;
}

const struct lc__label_layout_row lc__layout_capture = {
	.layout = LC__LAYOUT_CAPTURE,
	.name = "capture",
	.list = list,
	.read = read_capture,
};
