/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads one image of a COCO file and its annotations. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mpack.h"
#include "labels/coco.h"
#include "labels/label.h"
#include "labels/label_json.h"
#include "labels/names.h"

#define TOLERANCE_PX 1.0
/* Longer texts are not kept as metadata of a box. */
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
		const ssize_t n = pread(coco->fd, bytes + done, place->length - done,
		    (off_t)(place->offset + done));
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

/* An element of the file, parsed. */
struct element {
	struct lc__buf text;
	struct lc__json_tree tree; /* memory of the parsed element */
};

/* The state while a label is read. */
struct reader {
	const struct lc__coco *coco;
	struct lc__label *label;
	int64_t image;                        /* id of the image */
	struct element image_row, annotation; /* the elements that are read */
	/* Metadata of the boxes, a map for each. */
	struct lc__buf objects;
	bool any_object; /* one of the maps is not empty */
	uint32_t crowds; /* number of annotations with iscrowd */
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

/* Read an element of the file as it is now. NULL, after rejecting the label, if the
 * element there is another one. Lists and objects in an annotation are not parsed,
 * except its box. */
static lc_status
load(struct reader *r, const struct lc__coco_place *place,
    const struct lc__json_rules *rules, struct element *into, const struct lc__json **out)
{
	char why[256];
	lc_status status;

	*out = NULL;
	into->text.size = 0;
	status = lc__coco_part(r->coco, place, &into->text);
	if (status == LC_IO)
		return reject(r, LC__REJECT_UNREADABLE, "%s", lc_last_error()->text);
	if (status == LC_OK)
		status = lc__label_parse(into->text.data, into->text.size, rules,
		    &into->tree, out, why);
	if (status == LC_NO_MEMORY)
		return lc__no_memory(r->coco->path);
	if (status != LC_OK || lc__json_is(*out, LC__JSON_OBJECT))
		return status;
	if (place->bad)
		status = reject(r, LC__REJECT_UNPARSABLE,
		    "image %lld: annotation at byte %llu: %s", (long long)r->image,
		    (unsigned long long)place->offset,
		    *out != NULL ? "not an object" : why);
	else
		status = reject(r, LC__REJECT_UNPARSABLE,
		    "was changed since it was listed");
	*out = NULL;
	return status;
}

/* ---- metadata ------------------------------------------------------------------ */

/* Whether the member is in a NULL-terminated list. */
static bool
is_one_of(const struct lc__json *member, const char *const *names)
{
	while (*names != NULL && strcmp(member->name, *names) != 0)
		names++;
	return *names != NULL;
}

/* The reader adds `labels` and `crowds` to the metadata itself, so members of these
 * names are not kept. */
static bool
is_image_metadata(const void *ctx, const struct lc__json *member)
{
	static const char *const read[] = { "id", "file_name", "width", "height",
		"labels", "crowds", NULL };

	(void)ctx;
	return !is_one_of(member, read);
}

/* Outlines and similar members are not kept as metadata. */
static bool
is_object_metadata(const void *ctx, const struct lc__json *member)
{
	static const char *const read[] = { "image_id", "bbox", "iscrowd", NULL };
	int64_t id;

	(void)ctx;
	if (strcmp(member->name, "category_id") == 0)
		return !lc__json_int64(member, &id) || id < 0;
	return !is_one_of(member, read) && member->kind != LC__JSON_OBJECT &&
	    member->kind != LC__JSON_ARRAY && member->string_size <= TEXT_MAX;
}

static lc_status
read_metadata(struct reader *r, const struct lc__json *image)
{
	struct lc__buf *const out = &r->label->extra;
	const bool crowds = r->crowds > 0;
	const uint32_t n = lc__metadata_count(image, is_image_metadata, NULL) +
	    r->any_object + crowds;

	if (n == 0)
		return LC_OK;
	lc__mpack_map(out, n);
	if (!lc__metadata_pack(image, is_image_metadata, NULL, out))
		return reject(r, LC__REJECT_UNPARSABLE,
		    "image %lld: metadata nested too deep", (long long)r->image);
	if (crowds) {
		lc__mpack_str(out, "crowds");
		lc__mpack_uint(out, r->crowds);
	}
	if (r->any_object) {
		lc__mpack_str(out, "labels");
		lc__mpack_array(out, (uint32_t)r->label->n);
		lc__buf_append(out, r->objects.data, r->objects.size);
	}
	return out->failed || r->objects.failed ? lc__no_memory(r->coco->path) : LC_OK;
}

/* ---- annotations --------------------------------------------------------------- */

static lc_status
read_object(struct reader *r, const struct lc__json *object)
{
	struct lc__label_box *box = lc__label_add(r->label);
	const struct lc__json *bbox = lc__json_get(object, "bbox");
	const uint32_t n = lc__metadata_count(object, is_object_metadata, NULL);
	enum lc__reject reason = LC__REJECT_NONE;
	int64_t class, id = 0;
	char wrong[60];
	double v[4];

	if (box == NULL)
		return lc__no_memory(r->coco->path);
	if (bbox == NULL || bbox->kind == LC__JSON_NULL ||
	    (bbox->kind == LC__JSON_ARRAY && bbox->count == 0)) {
		reason = LC__REJECT_NO_BOX;
		strcpy(wrong, "no bbox");
	} else if (!lc__label_numbers(bbox, v)) {
		reason = LC__REJECT_UNPARSABLE;
		strcpy(wrong, "bbox is not a list of 4 numbers");
	} else if (lc__json_int64(lc__json_get(object, "category_id"), &class)) {
		if (!lc__coco_has_category(r->coco, class)) {
			reason = LC__REJECT_UNKNOWN_CLASS;
			snprintf(wrong, sizeof(wrong), "there is no category %lld",
			    (long long)class);
		} else if (class >= 0) {
			box->class_id = class;
		}
	}
	if (reason != LC__REJECT_NONE) {
		(void)lc__json_int64(lc__json_get(object, "id"), &id);
		return reject(r, reason, "image %lld: label %zu: annotation %lld: %s",
		    (long long)r->image, r->label->n, (long long)id, wrong);
	}

	for (size_t i = 0; i < 2; i++) {
		box->px[i] = v[i];
		box->px[i + 2] = v[i] + v[i + 2];
	}
	box->has_px = true;
	box->tolerance_px = TOLERANCE_PX;
	r->any_object |= n > 0;
	lc__mpack_map(&r->objects, n);
	/* Keep only scalars: they cannot be nested too deep. */
	(void)lc__metadata_pack(object, is_object_metadata, NULL, &r->objects);
	return LC_OK;
}

static lc_status
read_annotation(struct reader *r, const struct lc__coco_place *place)
{
	static const struct lc__json_rules only_box = { .only = "bbox" };
	const struct lc__json *object, *crowd;
	lc_status status = load(r, place, &only_box, &r->annotation, &object);
	int64_t image;
	double number;

	if (status != LC_OK || is_rejected(r))
		return status;
	if (!lc__json_int64(lc__json_get(object, "image_id"), &image) ||
	    image != r->image)
		return reject(r, LC__REJECT_UNPARSABLE,
		    "was changed since it was listed");
	crowd = lc__json_get(object, "iscrowd");
	if (!lc__json_is(crowd, LC__JSON_TRUE) &&
	    (!lc__json_double(crowd, &number) || number == 0))
		return read_object(r, object);
	r->crowds++;
	return LC_OK;
}

/* Read all annotations. The first bad one gives the reason of the rejection; the others
 * are counted. */
static lc_status
read_annotations(struct reader *r, const struct lc__coco_image *image)
{
	struct lc__label *label = r->label;
	enum lc__reject reason = LC__REJECT_NONE;
	char detail[sizeof(label->detail)];
	uint32_t bad = 0;

	for (uint32_t i = 0; i < image->n; i++) {
		return_if_error(
		    read_annotation(r, &r->coco->annotations[image->first + i]));
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
read_image(struct reader *r, const struct lc__frame *frame,
    const struct lc__coco_image *place, const struct lc__json *image)
{
	static const char *const names[2] = { "width", "height" };
	uint32_t *const sides[2] = { &r->label->width, &r->label->height };
	const struct lc__json *name = lc__json_get(image, "file_name");

	if (lc__label_is_blank(name))
		return reject(r, LC__REJECT_BLANK_IMAGE, "image %lld: no file_name",
		    (long long)r->image);
	if (frame->image_path == NULL)
		return reject(r, LC__REJECT_UNPARSABLE,
		    "image %lld: file_name '%.200s' is outside of the dataset",
		    (long long)r->image, lc__json_text(name));
	return_if_error(lc__label_image(r->label, r->coco->name, "", frame->image_path));
	for (size_t i = 0; i < 2 && !is_rejected(r); i++) {
		const struct lc__json *json = lc__json_get(image, names[i]);
		double v;
		if (json == NULL || json->kind == LC__JSON_NULL)
			continue;
		if (!lc__json_double(json, &v) || !(v >= 0 && v <= INT32_MAX) ||
		    v != (uint32_t)v)
			return reject(r, LC__REJECT_UNPARSABLE,
			    "image %lld: %s is not a number of pixels",
			    (long long)r->image, names[i]);
		*sides[i] = (uint32_t)v;
	}
	if (!is_rejected(r))
		return_if_error(read_annotations(r, place));
	return is_rejected(r) ? LC_OK : read_metadata(r, image);
}

lc_status
lc__coco_read(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	const struct lc__coco *coco = dataset->own;
	const struct lc__coco_image *place;
	struct reader r = { .coco = coco, .label = out };
	const struct lc__json *image;
	lc_status status;

	(void)bytes;
	(void)size;
	if (frame->number >= coco->n_images) {
		const struct lc__coco_stray *stray =
		    &coco->strays[frame->number - coco->n_images];
		return reject(&r, stray->reason, "%s", stray->detail);
	}
	place = &coco->images[frame->number];
	status = load(&r, &place->place, NULL, &r.image_row, &image);
	if (status == LC_OK && !is_rejected(&r)) {
		(void)lc__json_int64(lc__json_get(image, "id"), &r.image);
		status = read_image(&r, frame, place, image);
		if (r.image >= 0) {
			out->has_frame_id = true;
			out->frame_id = (uint64_t)r.image;
		}
	}
	lc__buf_free(&r.image_row.text);
	lc__json_free(&r.image_row.tree);
	lc__buf_free(&r.annotation.text);
	lc__json_free(&r.annotation.tree);
	lc__buf_free(&r.objects);
	return status;
}
