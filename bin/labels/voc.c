/* SPDX-License-Identifier: BSD-2-Clause */
/* <root>/[<run>/]Annotations/ *.xml: finds and reads them. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "base/mpack.h"
#include "labels/classes.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/strings.h"
#include "labels/pictures.h"
#include "base/xml.h"

/* Some writers number pixels from 0, others from 1. */
#define TOLERANCE_PX 1.0

/* The number of a frame tells where its run has the images. */
enum {
	IMAGES, /* in the run's directory JPEGImages */
	FOLDER, /* there is none: in the annotation's folder, or in the run itself */
};

/* The state while an annotation is read. */
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

/* Elements that the reader uses, by their parent. `part` contains boxes of parts, which
 * are not objects. */
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

static lc_status
read_extra(const struct reader *r)
{
	struct lc__buf *const out = &r->label->extra;
	const uint32_t labels = r->label->n > 0;
	bool good;

	if (lc__xml_members(r->xml, 0, is_extra) + labels == 0)
		return LC_OK;
	good = lc__xml_pack(r->xml, 0, is_extra, labels, out);
	if (good && labels > 0) {
		lc__mpack_str(out, "labels");
		lc__mpack_array(out, (uint32_t)r->label->n);
		for (size_t i = lc__xml_child(r->xml, 0, "object");
		     i != LC__XML_NONE && good; i = lc__xml_next(r->xml, i))
			good = lc__xml_pack(r->xml, i, is_extra, 0, out);
	}
	if (out->failed)
		return lc__no_memory(r->frame->label_path);
	if (good)
		return LC_OK;
	return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, r->frame->label_path,
	    "more than %d elements in one", LC__XML_MEMBERS);
}

/* ---- objects and the image ------------------------------------------------------- */

static lc_status
read_object(const struct reader *r, size_t object)
{
	static const char *const sides[4] = { "xmin", "ymin", "xmax", "ymax" };
	const struct lc__strings *classes = &r->dataset->classes;
	const char *file = r->frame->label_path;
	const char *name = lc__xml_text(r->xml, lc__xml_child(r->xml, object, "name"));
	const size_t bndbox = lc__xml_child(r->xml, object, "bndbox");
	struct lc__label_box *box = lc__label_add(r->label);

	if (box == NULL)
		return lc__no_memory(file);
	if (bndbox == LC__XML_NONE)
		return lc__label_reject(r->label, LC__REJECT_NO_BOX, file,
		    "label %zu: no bndbox", r->label->n);
	if (*name != '\0')
		box->class_id = lc__classes_find(r->dataset, name);
	if (*name != '\0' && classes->n > 0 && box->class_id == -1)
		return lc__label_reject(r->label, LC__REJECT_UNKNOWN_CLASS, file,
		    "label %zu: '%.60s' is not among the %zu names of classes",
		    r->label->n, name, classes->n);

	for (size_t i = 0; i < 4; i++) {
		const size_t side = lc__xml_child(r->xml, bndbox, sides[i]);
		const char *text = lc__xml_text(r->xml, side);
		if (side == LC__XML_NONE)
			return lc__label_reject(r->label, LC__REJECT_NO_BOX, file,
			    "label %zu: no %s", r->label->n, sides[i]);
		if (!lc__number_parse(text, &box->px[i]))
			return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, file,
			    "label %zu: %s '%.60s' is not a number", r->label->n,
			    sides[i], text);
	}
	/* The first and the last pixel inside, counted from 1. */
	box->px[0] -= 1;
	box->px[1] -= 1;
	box->has_px = true;
	box->tolerance_px = TOLERANCE_PX;
	return LC_OK;
}

/* The directory of a run's images, malloc'ed. */
static lc_status
images_dir(const struct reader *r, const char *run, char **out)
{
	const char *folder = lc__xml_text(r->xml, lc__xml_child(r->xml, 0, "folder"));
	bool inside, is = false;
	char *dir;

	if (r->frame->number == IMAGES) {
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
read_annotation(const struct reader *r)
{
	static const char *const names[2] = { "width", "height" };
	uint32_t *const sides[2] = { &r->label->width, &r->label->height };
	const char *file = r->frame->label_path;
	const char *image = lc__xml_text(r->xml, lc__xml_child(r->xml, 0, "filename"));
	const size_t size = lc__xml_child(r->xml, 0, "size");
	char *annotations, *run = NULL, *dir = NULL;
	lc_status status;

	if (strcmp(lc__xml_name(r->xml, 0), "annotation") != 0)
		return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, file,
		    "not an annotation, but '%.60s'", lc__xml_name(r->xml, 0));
	if (*image == '\0')
		return lc__label_reject(r->label, LC__REJECT_BLANK_IMAGE, file,
		    "no filename");
	annotations = lc__name_dir(file);
	if (annotations != NULL)
		run = lc__name_dir(annotations);
	status = run != NULL ? images_dir(r, run, &dir) : lc__no_memory(file);
	if (status == LC_OK)
		status = lc__label_image(r->label, file, dir, image);
	free(annotations);
	free(run);
	free(dir);
	if (status != LC_OK || is_rejected(r))
		return status;

	for (size_t i = 0; i < 2; i++) {
		const char *text = lc__xml_text(r->xml,
		    lc__xml_child(r->xml, size, names[i]));
		double v;
		if (*text == '\0')
			continue;
		if (!lc__number_parse(text, &v) || !(v >= 0 && v <= INT32_MAX) ||
		    v != (uint32_t)v)
			return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, file,
			    "%s '%.60s' is not a number of pixels", names[i], text);
		*sides[i] = (uint32_t)v;
	}
	for (size_t i = lc__xml_child(r->xml, 0, "object"); i != LC__XML_NONE;
	     i = lc__xml_next(r->xml, i)) {
		return_if_error(read_object(r, i));
		if (is_rejected(r))
			return LC_OK;
	}
	return read_extra(r);
}

static lc_status
read_voc(const struct lc__dataset *dataset, const struct lc__frame *frame,
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
		status = read_annotation(&r);
	lc__xml_free(&xml);
	return status;
}

/*
 * Add the names of the objects in an annotation to @p names, and count the objects
 * without a name. A text that is not an annotation adds nothing.
 */
static lc_status
add_names(const struct lc__buf *text, struct lc__strings *names, size_t *nameless)
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

/* ---- finding them ---------------------------------------------------------------- */

/* Hash a text or the names of all classes: data that labels depend on besides their
 * files. */
static void
mix(uint64_t *hash, const char *text)
{
	*hash = lc__hash64_seed(text, strlen(text), *hash);
}

static void
mix_classes(const struct lc__dataset *dataset, uint64_t *hash)
{
	for (size_t i = 0; i < dataset->classes.n; i++)
		mix(hash,
		    dataset->classes.items[i] != NULL ? dataset->classes.items[i] : "");
}

/* Add the labels of a run, and the images without a label: those in JPEGImages, or else
 * in the run's own directory. A directory without annotations may be anything, unless
 * it has JPEGImages. */
static lc_status
add_labels(struct lc__dataset *dataset, const char *run, const char *dir,
    const struct lc__listing *listing)
{
	struct lc__labelled_dir labelled = {
		.run = run,
		.labels = dir,
		.listing = listing,
		.extension = ".xml",
		.number = FOLDER,
	};
	const struct lc__entry *found;
	struct lc__listing beside;
	uint64_t hash = 0;
	char *images;
	lc_status status = lc__listing_read(dataset->root, run, &beside);

	/* A label keeps its meaning while the ids of classes, which come from their
	 * list, are the same and, without JPEGImages, the directories that it may
	 * name. */
	if (status == LC_OK) {
		found = lc__listing_find(&beside, "JPEGImages");
		if (found != NULL && found->dir)
			labelled.number = IMAGES;
		mix_classes(dataset, &hash);
		for (size_t i = 0; labelled.number == FOLDER && i < beside.n; i++)
			if (beside.entries[i].dir)
				mix(&hash, beside.entries[i].name);
	}
	lc__listing_free(&beside);
	for (size_t i = 0; i < listing->n && status == LC_OK; i++) {
		const char *file = listing->entries[i].name;
		char *name, *path;
		if (listing->entries[i].dir || !lc__name_has(file, ".xml"))
			continue;
		name = lc__name_stem(file);
		path = lc__name_join(dir, file);
		status = name == NULL || path == NULL ? lc__no_memory(dir)
						      : lc__dataset_add(dataset,
							    &(struct lc__frame){
								.run = run,
								.name = name,
								.label_path = path,
								.label_hash = hash,
								.number = labelled.number,
							    });
		free(name);
		free(path);
	}
	if (status != LC_OK || (listing->n == 0 && labelled.number == FOLDER))
		return status;

	labelled.images = images = labelled.number == IMAGES
	    ? lc__name_join(run, "JPEGImages")
	    : strdup(run);
	status = images != NULL ? lc__dataset_add_pictures(dataset, &labelled)
				: lc__no_memory(run);
	free(images);
	return status;
}

/* ---- names of classes that no list has -------------------------------------------- */

/* After this many additions names are sorted and duplicates are removed. */
#define UNSORTED_MAX ((size_t)1 << 16)

/* Counts for the notes. */
struct learned {
	size_t nameless;   /* number of objects without a name */
	size_t unreadable; /* number of annotations that could not be read from disk */
};

/* Add the names of an annotation's objects. Errors in the file are ignored here; they
 * are reported when its frame is read. */
static lc_status
learn_from(struct lc__dataset *dataset, const char *label, struct learned *learned)
{
	char *path = lc__path_join(dataset->root, label);
	struct lc__buf text = { 0 };
	lc_status status;

	if (path == NULL)
		return lc__no_memory(label);
	status = lc__read_regular(path, LC__LABEL_MAX_BYTES, &text);
	free(path);
	if (status == LC_OK) {
		status = add_names(&text, &dataset->classes, &learned->nameless);
	} else if (status != LC_NO_MEMORY) {
		learned->unreadable += status == LC_IO || status == LC_PERMISSION;
		status = LC_OK;
	}
	lc__buf_free(&text);
	return status;
}

/* The id of a name is its place in the order of the bytes: the same annotations give
 * the same ids, but a new name may change all of them. */
static lc_status
learn_classes(struct lc__dataset *dataset)
{
	struct lc__strings *const names = &dataset->classes;
	struct learned learned = { 0 };
	size_t sorted = 0;

	for (size_t i = 0; i < dataset->n; i++) {
		const uint64_t label = dataset->rows[i].label;
		if (label == 0)
			continue;
		return_if_error(
		    learn_from(dataset, (char *)dataset->text.data + label, &learned));
		if (names->n < sorted + UNSORTED_MAX)
			continue;
		lc__strings_sort(names);
		sorted = names->n;
	}
	lc__strings_sort(names);
	dataset->learned = names->n > 0;
	for (size_t i = 0; i < dataset->n; i++)
		if (dataset->rows[i].label != 0)
			mix_classes(dataset, &dataset->rows[i].hash);

	/* Add the notes that a build prints before it begins. */
	if (learned.nameless > 0)
		return_if_error(
		    lc__dataset_note(dataset, "%zu object%s no name: %s box%s no class",
			learned.nameless, learned.nameless == 1 ? " has" : "s have",
			learned.nameless == 1 ? "its" : "their",
			learned.nameless == 1 ? " has" : "es have"));
	if (learned.unreadable > 0)
		return_if_error(lc__dataset_note(dataset,
		    "%zu annotation%s could not be read: "
		    "names that only %s has are not learned, and ids of others may move "
		    "when it can be read",
		    learned.unreadable, learned.unreadable == 1 ? "" : "s",
		    learned.unreadable == 1 ? "it" : "one"));
	return LC_OK;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return_if_error(lc__classes_read(dataset));
	const bool listed = dataset->classes.n > 0;
	return_if_error(lc__dataset_runs(dataset, "Annotations", add_labels));
	return listed ? LC_OK : learn_classes(dataset);
}

const struct lc__label_layout_row lc__layout_voc = {
	.layout = LC__LAYOUT_VOC,
	.name = "voc",
	.list = list,
	.read = read_voc,
};
