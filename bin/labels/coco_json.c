/* SPDX-License-Identifier: BSD-2-Clause */
/* One image of a COCO file and its annotations. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mpack.h"
#include "labels/coco.h"
#include "labels/json_extra.h"
#include "labels/json_load.h"
#include "labels/json_slim.h"
#include "labels/label.h"
#include "labels/names.h"

#define TOLERANCE_PX 1.0
/* Longer text is no metadata of a box. */
#define TEXT_MAX 256

lc_status
lc__coco_part(const struct lc__coco *coco, const struct lc__coco_place *place,
    struct lc__buf *out)
{
	unsigned char *bytes = lc__buf_append(out, NULL, place->length);
	size_t done = 0;

	if (bytes == NULL)
		return lc__no_memory(coco->path);
	while (done < place->length) {
		const ssize_t n = pread(coco->fd, bytes + done,
		    place->length - done, (off_t)(place->offset + done));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return lc__error_sys(errno, "%s: read", coco->path);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	out->size -= place->length - done;
	return LC_OK;
}

/* What is being read. */
struct reader {
	const struct lc__coco *coco;
	struct lc__label *label;
	int64_t image;          /* id */
	struct lc__buf text;    /* of the part that is read */
	struct lc__buf slim;    /* of what is kept of it */
	struct lc__buf objects; /* metadata of the boxes: a map for each */
	bool any_object;        /* one of them is not empty */
	uint32_t crowds;        /* annotations that are of many objects */
};

static bool
is_rejected(const struct reader *r)
{
	return r->label->reason != LC__REJECT_NONE;
}

static lc_status __attribute__((format(printf, 3, 4)))
reject(const struct reader *r, enum lc__reject reason, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return lc__label_reject(r->label, reason, r->coco->name, "%s", text);
}

/* Read and parse; @p slim leaves out what is not kept of an annotation. */
static lc_status
parse(struct reader *r, const struct lc__coco_place *place, bool slim,
    json_t **out, char why[256])
{
	struct lc__buf *text = &r->text;

	r->text.size = r->slim.size = 0;
	return_if_error(lc__coco_part(r->coco, place, &r->text));
	if (slim) {
		lc__json_slim((char *)text->data, text->size, "bbox", &r->slim);
		text = &r->slim;
	}
	if (text->failed)
		return lc__no_memory(r->coco->path);
	return lc__json_load(text->data, text->size, out, why);
}

/* An element of the file as it is now; NULL with a rejection if it is another. */
static lc_status
load(struct reader *r, const struct lc__coco_place *place, bool slim,
    json_t **out)
{
	char why[256];
	lc_status status;

	*out = NULL;
	status = parse(r, place, slim, out, why);
	if (status == LC_IO)
		return reject(r, LC__REJECT_UNREADABLE, "%s",
		    lc_last_error()->text);
	if (status != LC_OK || json_is_object(*out))
		return status;
	if (place->bad)
		status = reject(r, LC__REJECT_UNPARSABLE, "image %lld: annotation at "
		    "byte %llu: %s", (long long)r->image,
		    (unsigned long long)place->offset,
		    *out != NULL ? "not an object" : why);
	else
		status = reject(r, LC__REJECT_UNPARSABLE,
		    "was changed since it was listed");
	json_decref(*out);
	*out = NULL;
	return status;
}

/* ---- metadata ------------------------------------------------------------------ */

static bool
is_one_of(const char *name, const char *const *names)
{
	while (*names != NULL && strcmp(name, *names) != 0)
		names++;
	return *names != NULL;
}

/* `labels` and `crowds` are what is added to them. */
static bool
is_image_extra(const json_t *object, const char *name, const json_t *member)
{
	static const char *const read[] = { "id", "file_name", "width", "height",
		"labels", "crowds", NULL };

	(void)object;
	(void)member;
	return !is_one_of(name, read);
}

/* Outlines and the like are data of their own, and not kept. */
static bool
is_object_extra(const json_t *object, const char *name, const json_t *member)
{
	static const char *const read[] = { "image_id", "bbox", "iscrowd", NULL };

	(void)object;
	if (strcmp(name, "category_id") == 0)
		return !json_is_integer(member) || json_integer_value(member) < 0;
	return !is_one_of(name, read) && !json_is_object(member) &&
	    !json_is_array(member) && json_string_length(member) <= TEXT_MAX;
}

static lc_status
read_extra(struct reader *r, const json_t *image)
{
	struct lc__buf *const out = &r->label->extra;
	const bool crowds = r->crowds > 0;
	const uint32_t n = lc__json_count_extra(image, is_image_extra) + r->any_object +
	    crowds;

	if (n == 0)
		return LC_OK;
	lc__mpack_map(out, n);
	if (!lc__json_pack_extra(image, is_image_extra, out))
		return reject(r, LC__REJECT_UNPARSABLE, "image %lld: metadata nested "
		    "too deep", (long long)r->image);
	if (crowds) {
		lc__mpack_str(out, "crowds");
		lc__mpack_uint(out, r->crowds);
	}
	if (r->any_object) {
		lc__mpack_str(out, "labels");
		lc__mpack_array(out, (uint32_t)r->label->n);
		lc__buf_append(out, r->objects.data, r->objects.size);
	}
	return out->failed || r->objects.failed ?
	    lc__no_memory(r->coco->path) : LC_OK;
}

/* ---- annotations --------------------------------------------------------------- */

static bool
is_crowd(const json_t *object)
{
	const json_t *crowd = json_object_get(object, "iscrowd");

	return json_is_true(crowd) || json_number_value(crowd) != 0;
}

static lc_status
bad_object(const struct reader *r, enum lc__reject reason, const json_t *object,
    const char *what)
{
	return reject(r, reason, "image %lld: label %zu: annotation %lld: %s",
	    (long long)r->image, r->label->n,
	    (long long)json_integer_value(json_object_get(object, "id")), what);
}

static lc_status
unknown_category(const struct reader *r, const json_t *object, int64_t id)
{
	char what[60];

	snprintf(what, sizeof(what), "there is no category %lld", (long long)id);
	return bad_object(r, LC__REJECT_UNKNOWN_CLASS, object, what);
}

static lc_status
read_object(struct reader *r, const json_t *object)
{
	struct lc__label_box *box = lc__label_add(r->label);
	const json_t *bbox = json_object_get(object, "bbox");
	const json_t *class = json_object_get(object, "category_id");
	const uint32_t n = lc__json_count_extra(object, is_object_extra);
	double v[4];

	if (box == NULL)
		return lc__no_memory(r->coco->path);
	if (bbox == NULL || json_is_null(bbox) ||
	    (json_is_array(bbox) && json_array_size(bbox) == 0))
		return bad_object(r, LC__REJECT_NO_BOX, object, "no bbox");
	if (!lc__json_box(bbox, v))
		return bad_object(r, LC__REJECT_UNPARSABLE, object,
		    "bbox is no list of 4 numbers");
	for (size_t i = 0; i < 2; i++) {
		box->px[i] = v[i];
		box->px[i + 2] = v[i] + v[i + 2];
	}
	box->has_px = true;
	box->tolerance_px = TOLERANCE_PX;
	if (json_is_integer(class) &&
	    !lc__coco_has_category(r->coco, json_integer_value(class)))
		return unknown_category(r, object, json_integer_value(class));
	if (json_is_integer(class) && json_integer_value(class) >= 0)
		box->class_id = json_integer_value(class);
	r->any_object |= n > 0;
	lc__mpack_map(&r->objects, n);
	/* Only scalars, which are never nested too deep. */
	(void)lc__json_pack_extra(object, is_object_extra, &r->objects);
	return LC_OK;
}

static lc_status
read_annotation(struct reader *r, const struct lc__coco_place *place)
{
	json_t *object, *image;
	lc_status status = load(r, place, true, &object);

	if (status != LC_OK || is_rejected(r))
		return status;
	image = json_object_get(object, "image_id");
	if (!json_is_integer(image) || json_integer_value(image) != r->image)
		status = reject(r, LC__REJECT_UNPARSABLE,
		    "was changed since it was listed");
	else if (is_crowd(object))
		r->crowds++;
	else
		status = read_object(r, object);
	json_decref(object);
	return status;
}

/* All of them: the first that is bad is the frame's reason, and others are counted. */
static lc_status
read_annotations(struct reader *r, const struct lc__coco_image *image)
{
	struct lc__label *label = r->label;
	enum lc__reject reason = LC__REJECT_NONE;
	char detail[sizeof(label->detail)];
	uint32_t bad = 0;

	for (uint32_t i = 0; i < image->n; i++) {
		return_if_error(read_annotation(r,
		    &r->coco->annotations[image->first + i]));
		if (!is_rejected(r))
			continue;
		if (bad++ == 0) {
			reason = label->reason;
			strcpy(detail, label->detail);
		}
		label->reason = LC__REJECT_NONE;
	}
	if (bad == 0)
		return LC_OK;
	if (bad > 1)
		snprintf(detail + strlen(detail), sizeof(detail) - strlen(detail),
		    " (and %u more of its annotations)", bad - 1);
	lc__label_free_boxes(label);
	label->reason = reason;
	strcpy(label->detail, detail);
	return LC_OK;
}

/* ---- the image ----------------------------------------------------------------- */

static lc_status
read_side(const struct reader *r, const json_t *image, const char *name,
    uint32_t *out)
{
	const json_t *json = json_object_get(image, name);
	double v;

	if (json == NULL || json_is_null(json))
		return LC_OK;
	if (!lc__json_float(json, &v) || !(v >= 0 && v <= INT32_MAX) ||
	    v != (uint32_t)v)
		return reject(r, LC__REJECT_UNPARSABLE, "image %lld: %s is no number "
		    "of pixels", (long long)r->image, name);
	*out = (uint32_t)v;
	return LC_OK;
}

static lc_status
read_file(const struct reader *r, const struct lc__frame *frame,
    const json_t *image)
{
	const json_t *name = json_object_get(image, "file_name");

	if (lc__json_is_blank(name))
		return reject(r, LC__REJECT_BLANK_IMAGE, "image %lld: no file_name",
		    (long long)r->image);
	if (frame->image_path == NULL)
		return reject(r, LC__REJECT_UNPARSABLE, "image %lld: file_name "
		    "'%.200s' is outside of the dataset", (long long)r->image,
		    json_string_value(name));
	return lc__label_image(r->label, r->coco->name, "", frame->image_path);
}

static lc_status
read_image(struct reader *r, const struct lc__frame *frame,
    const struct lc__coco_image *place, const json_t *image)
{
	lc_status status = read_file(r, frame, image);

	if (status == LC_OK && !is_rejected(r))
		status = read_side(r, image, "width", &r->label->width);
	if (status == LC_OK && !is_rejected(r))
		status = read_side(r, image, "height", &r->label->height);
	if (status == LC_OK && !is_rejected(r))
		status = read_annotations(r, place);
	if (status == LC_OK && !is_rejected(r))
		status = read_extra(r, image);
	if (r->image >= 0) {
		r->label->has_frame_id = true;
		r->label->frame_id = (uint64_t)r->image;
	}
	return status;
}

lc_status
lc__coco_read(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	const struct lc__coco *coco = dataset->own;
	const struct lc__coco_image *place;
	struct reader r = { .coco = coco, .label = out };
	json_t *image;
	lc_status status;

	(void)bytes;
	(void)size;
	if (frame->number >= coco->n_images) {
		const struct lc__coco_stray *stray =
		    &coco->strays[frame->number - coco->n_images];
		return reject(&r, stray->reason, "%s", stray->detail);
	}
	place = &coco->images[frame->number];
	status = load(&r, &place->place, false, &image);
	if (status == LC_OK && !is_rejected(&r)) {
		r.image = json_integer_value(json_object_get(image, "id"));
		status = read_image(&r, frame, place, image);
	}
	json_decref(image);
	lc__buf_free(&r.text);
	lc__buf_free(&r.slim);
	lc__buf_free(&r.objects);
	return status;
}
