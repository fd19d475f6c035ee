/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/voc.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/mpack.h"
#include "labels/classes.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/number.h"
#include "labels/xml.h"

/* Some writers count pixels from 0. */
#define TOLERANCE_PX 1.0

/* What is being read. */
struct reader {
	const struct lc__dataset *dataset;
	const struct lc__frame *frame;
	const struct lc__xml *xml;
	struct lc__label *label;
};

static bool
is_rejected(const struct reader *r)
{
	return r->label->reason != LC__REJECT_NONE;
}

/* ---- metadata ----------------------------------------------------------------- */

/* Elements that are read, by the element that they are in; `part` has boxes of
 * parts, which are no objects. */
static bool
is_extra(const char *in, const char *name)
{
	static const char *const read[][2] = {
		{ "annotation", "filename" },
		{ "annotation", "object" },
		{ "annotation", "labels" },
		{ "size", "width" },
		{ "size", "height" },
		{ "object", "bndbox" },
		{ "object", "part" },
	};

	for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
		if (strcmp(in, read[i][0]) == 0 && strcmp(name, read[i][1]) == 0)
			return false;
	return true;
}

static bool
pack_objects(const struct reader *r, struct lc__buf *out)
{
	bool good = true;

	lc__mpack_str(out, "labels");
	lc__mpack_array(out, (uint32_t)r->label->n);
	for (size_t i = lc__xml_child(r->xml, 0, "object"); i != LC__XML_NONE;
	     i = lc__xml_next(r->xml, i))
		good = good && lc__xml_pack(r->xml, i, is_extra, 0, out);
	return good;
}

static lc_status
read_extra(const struct reader *r)
{
	struct lc__buf *const out = &r->label->extra;
	const uint32_t labels = r->label->n > 0;
	bool good = true;

	if (lc__xml_members(r->xml, 0, is_extra) + labels == 0)
		return LC_OK;
	good = lc__xml_pack(r->xml, 0, is_extra, labels, out);
	if (good && labels > 0)
		good = pack_objects(r, out);
	if (out->failed)
		return lc__no_memory(r->frame->label_path);
	if (good)
		return LC_OK;
	return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, r->frame->label_path,
	    "more than %d elements in one", LC__XML_MEMBERS);
}

/* ---- objects ------------------------------------------------------------------- */

static lc_status
read_box(const struct reader *r, size_t bndbox, struct lc__label_box *box)
{
	static const char *const names[4] = { "xmin", "ymin", "xmax", "ymax" };

	for (size_t i = 0; i < 4; i++) {
		const size_t side = lc__xml_child(r->xml, bndbox, names[i]);
		if (side == LC__XML_NONE)
			return lc__label_reject(r->label, LC__REJECT_NO_BOX,
			    r->frame->label_path, "label %zu: no %s", r->label->n,
			    names[i]);
		if (!lc__number_parse(lc__xml_text(r->xml, side), &box->px[i]))
			return lc__label_reject(r->label, LC__REJECT_UNPARSABLE,
			    r->frame->label_path, "label %zu: %s '%.60s' is no number",
			    r->label->n, names[i], lc__xml_text(r->xml, side));
	}
	/* Of the first and the last pixel inside, counted from 1. */
	box->px[0] -= 1;
	box->px[1] -= 1;
	box->has_px = true;
	box->tolerance_px = TOLERANCE_PX;
	return LC_OK;
}

static lc_status
read_object(const struct reader *r, size_t object)
{
	const char *name = lc__xml_text(r->xml, lc__xml_child(r->xml, object, "name"));
	const size_t bndbox = lc__xml_child(r->xml, object, "bndbox");
	struct lc__label_box *box = lc__label_add(r->label);

	if (box == NULL)
		return lc__no_memory(r->frame->label_path);
	if (bndbox == LC__XML_NONE)
		return lc__label_reject(r->label, LC__REJECT_NO_BOX, r->frame->label_path,
		    "label %zu: no bndbox", r->label->n);
	if (*name != '\0')
		box->class_id = lc__classes_find(r->dataset, name);
	if (*name != '\0' && r->dataset->classes.n > 0 && box->class_id == -1)
		return lc__label_reject(r->label, LC__REJECT_UNKNOWN_CLASS,
		    r->frame->label_path,
		    "label %zu: '%.60s' is not among the %zu names of classes",
		    r->label->n, name, r->dataset->classes.n);
	return read_box(r, bndbox, box);
}

static lc_status
read_objects(const struct reader *r)
{
	lc_status status = LC_OK;

	for (size_t i = lc__xml_child(r->xml, 0, "object");
	     status == LC_OK && !is_rejected(r) && i != LC__XML_NONE;
	     i = lc__xml_next(r->xml, i))
		status = read_object(r, i);
	return status;
}

/* ---- the image ----------------------------------------------------------------- */

static lc_status
read_side(const struct reader *r, const char *name, uint32_t *out)
{
	const size_t size = lc__xml_child(r->xml, 0, "size");
	const size_t side = lc__xml_child(r->xml, size, name);
	const char *text = lc__xml_text(r->xml, side);
	double v;

	if (*text == '\0')
		return LC_OK;
	if (!lc__number_parse(text, &v) || !(v >= 0 && v <= INT32_MAX) ||
	    v != (uint32_t)v)
		return lc__label_reject(r->label, LC__REJECT_UNPARSABLE,
		    r->frame->label_path, "%s '%.60s' is no number of pixels", name,
		    text);
	*out = (uint32_t)v;
	return LC_OK;
}

/* The directory of the images of a run, malloc'ed. */
static lc_status
images_dir(const struct reader *r, const char *run, char **out)
{
	const char *folder = lc__xml_text(r->xml, lc__xml_child(r->xml, 0, "folder"));
	bool inside, is = false;
	char *dir;

	if (r->frame->number == LC__VOC_IMAGES) {
		*out = lc__name_join(run, "JPEGImages");
		return *out != NULL ? LC_OK : lc__no_memory(run);
	}
	dir = lc__path_below(run, folder, &inside);
	if (dir == NULL)
		return lc__no_memory(run);
	if (inside && lc__tree_is_dir(r->dataset->root, dir, &is) != LC_OK) {
		free(dir);
		return lc_last_error()->status;
	}
	if (!is) {
		free(dir);
		dir = strdup(run);
	}
	*out = dir;
	return dir != NULL ? LC_OK : lc__no_memory(run);
}

static lc_status
read_image(const struct reader *r)
{
	const char *file = r->frame->label_path;
	const char *name = lc__xml_text(r->xml, lc__xml_child(r->xml, 0, "filename"));
	char *annotations, *run = NULL, *dir = NULL;
	lc_status status;

	if (*name == '\0')
		return lc__label_reject(r->label, LC__REJECT_BLANK_IMAGE, file,
		    "no filename");
	annotations = lc__name_dir(file);
	if (annotations != NULL)
		run = lc__name_dir(annotations);
	status = run != NULL ? images_dir(r, run, &dir) : lc__no_memory(file);
	if (status == LC_OK)
		status = lc__label_image(r->label, file, dir, name);
	free(annotations);
	free(run);
	free(dir);
	return status;
}

static lc_status
read_frame(const struct reader *r)
{
	lc_status status;

	if (strcmp(lc__xml_name(r->xml, 0), "annotation") != 0)
		return lc__label_reject(r->label, LC__REJECT_UNPARSABLE,
		    r->frame->label_path, "not an annotation, but '%.60s'",
		    lc__xml_name(r->xml, 0));
	status = read_image(r);
	if (status == LC_OK && !is_rejected(r))
		status = read_side(r, "width", &r->label->width);
	if (status == LC_OK && !is_rejected(r))
		status = read_side(r, "height", &r->label->height);
	if (status == LC_OK && !is_rejected(r))
		status = read_objects(r);
	if (status == LC_OK && !is_rejected(r))
		status = read_extra(r);
	return status;
}

lc_status
lc__voc_read(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	struct lc__xml xml = { 0 };
	const struct reader r = { dataset, frame, &xml, out };
	lc_status status;

	if (frame->label_path == NULL)
		return lc__label_image(out, frame->image_path, "", frame->image_path);
	status = lc__xml_parse(&xml, bytes, size);
	if (status != LC_OK)
		status = lc__no_memory(frame->label_path);
	else if (xml.why[0] != '\0')
		status = lc__label_reject(out, LC__REJECT_UNPARSABLE, frame->label_path,
		    "%s", xml.why);
	else
		status = read_frame(&r);
	lc__xml_free(&xml);
	return status;
}

lc_status
lc__voc_names(const struct lc__buf *text, struct lc__strings *names, size_t *nameless)
{
	const size_t mark = lc__utf8_mark(text->data, text->size);
	struct lc__xml xml = { 0 };
	lc_status status = lc__xml_parse(&xml, text->data + mark, text->size - mark);
	size_t i = LC__XML_NONE;

	if (status == LC_OK && xml.why[0] == '\0' &&
	    strcmp(lc__xml_name(&xml, 0), "annotation") == 0)
		i = lc__xml_child(&xml, 0, "object");
	for (; status == LC_OK && i != LC__XML_NONE; i = lc__xml_next(&xml, i)) {
		const char *name = lc__xml_text(&xml, lc__xml_child(&xml, i, "name"));
		if (*name != '\0')
			status = lc__strings_add(names, name);
		else
			++*nameless;
	}
	lc__xml_free(&xml);
	return status;
}
