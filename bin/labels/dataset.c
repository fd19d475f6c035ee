/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/dataset_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "labels/coco.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/strings.h"

/* ---- filling ---------------------------------------------------------------- */

/* The offset of a string in text. */
static uint64_t
keep(struct lc__dataset *dataset, const char *string)
{
	const uint64_t at = dataset->text.size;

	if (string == NULL)
		return 0;
	lc__buf_append(&dataset->text, string, strlen(string) + 1);
	return at;
}

static uint64_t
keep_printable(struct lc__dataset *dataset, const char *string)
{
	const uint64_t at = dataset->text.size;
	const size_t room = 4 * strlen(string) + 1;
	char *place = lc__buf_append(&dataset->text, NULL, room);

	if (place != NULL)
		dataset->text.size -= room - 1 - lc__printable(string, place, room);
	return at;
}

lc_status
lc__dataset_add(struct lc__dataset *dataset, const struct lc__frame *frame)
{
	struct lc__buf *const text = &dataset->text;
	struct lc__frame_row *row;
	size_t start;

	if (text->size == 0)
		lc__buf_append(text, "", 1);
	return_if_error(lc__array_reserve(&dataset->rows, &dataset->room, dataset->n + 1,
	    dataset->root));
	row = &dataset->rows[dataset->n];
	/* Frames of one run are consecutive, so the name of the run is stored once. */
	start = text->size;
	row->run = keep_printable(dataset, frame->run);
	if (dataset->n > 0 && !text->failed &&
	    strcmp((char *)text->data + row[-1].run, (char *)text->data + row->run) ==
		0) {
		text->size = start;
		row->run = row[-1].run;
	}
	row->name = keep_printable(dataset, frame->name);
	row->label = keep(dataset, frame->label_path);
	row->image = keep(dataset, frame->image_path);
	row->hash = frame->label_hash;
	row->number = frame->number;
	if (text->failed)
		return lc__no_memory(dataset->root);
	dataset->n++;
	return LC_OK;
}

lc_status
lc__dataset_add_files(struct lc__dataset *dataset, const char *run, const char *label,
    const char *image)
{
	char *name = lc__name_stem(image != NULL ? image : label);
	const struct lc__frame frame = {
		.run = run,
		.name = name,
		.label_path = label,
		.image_path = image,
	};
	lc_status status;

	if (name == NULL)
		return lc__no_memory(dataset->root);
	status = lc__dataset_add(dataset, &frame);
	free(name);
	return status;
}

lc_status
lc__dataset_note(struct lc__dataset *dataset, const char *format, ...)
{
	lc_status status;
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return lc__no_memory(dataset->root);
	status = lc__strings_add(&dataset->notes, text);
	free(text);
	return status;
}

/* ---- runs ------------------------------------------------------------------- */

lc_status
lc__dataset_list(struct lc__dataset *dataset, const char *dir, struct lc__listing *out)
{
	return_if_error(lc__listing_read(dataset->root, dir, out));
	return lc__strings_add(&dataset->dirs, dir);
}

/* List the directory @p name of a run. */
static lc_status
look_into(struct lc__dataset *dataset, const char *run, const struct lc__listing *listing,
    const char *name, lc__run_found found)
{
	const struct lc__entry *entry = lc__listing_find(listing, name);
	struct lc__listing labels = { .n = 0 };
	char *dir = lc__name_join(run, name);
	lc_status status = LC_OK;

	if (dir == NULL)
		return lc__no_memory(run);
	if (entry != NULL && entry->dir)
		status = lc__dataset_list(dataset, dir, &labels);
	if (status == LC_OK)
		status = found(dataset, run, dir, &labels);
	lc__listing_free(&labels);
	free(dir);
	return status;
}

lc_status
lc__dataset_runs(struct lc__dataset *dataset, const char *name, lc__run_found found)
{
	struct lc__listing root, listing;
	lc_status status = lc__dataset_list(dataset, "", &root);

	if (status == LC_OK)
		status = look_into(dataset, "", &root, name, found);
	for (size_t i = 0; status == LC_OK && i < root.n; i++) {
		const char *run = root.entries[i].name;
		if (!root.entries[i].dir || lc__order_names(run, name) == 0)
			continue;
		/* List each subdirectory, so that a directory of labels that appears
		 * later is noticed. */
		status = lc__dataset_list(dataset, run, &listing);
		if (status == LC_OK)
			status = look_into(dataset, run, &listing, name, found);
		lc__listing_free(&listing);
	}
	lc__listing_free(&root);
	return status;
}

/* ---- order ------------------------------------------------------------------ */

static int
compare_rows(const void *a, const void *b, void *dataset)
{
	const char *text = (char *)((struct lc__dataset *)dataset)->text.data;
	const struct lc__frame_row *x = a, *y = b;
	int order = 0;

	if (x->run != y->run)
		order = lc__order_names(text + x->run, text + y->run);
	return order != 0 ? order : lc__order_names(text + x->name, text + y->name);
}

static void
sort_rows(struct lc__dataset *dataset)
{
	qsort_r(dataset->rows, dataset->n, sizeof(*dataset->rows), compare_rows, dataset);
}

static bool
is_same(struct lc__dataset *dataset, size_t i, size_t k)
{
	return compare_rows(&dataset->rows[i], &dataset->rows[k], dataset) == 0;
}

/* Both "a.jpg" and "a.png" have the name "a"; such frames keep their extension. A label
 * whose image is not known keeps its name. */
static bool
name_apart(struct lc__dataset *dataset)
{
	bool changed = false;
	size_t end;

	/* Find all of them before anything is renamed. */
	for (size_t i = 0; i < dataset->n; i = end) {
		for (end = i + 1; end < dataset->n && is_same(dataset, i, end);)
			end++;
		for (size_t k = i; k < end && end > i + 1; k++) {
			struct lc__frame_row *row = &dataset->rows[k];
			char *base;
			if (row->image == 0)
				continue;
			changed = true;
			/* Copy the name, because the buffer moves when it grows. */
			base = strdup(
			    lc__name_base((char *)dataset->text.data + row->image));
			if (base == NULL)
				dataset->text.failed = true;
			else
				row->name = keep_printable(dataset, base);
			free(base);
		}
	}
	return changed;
}

static lc_status
order_frames(struct lc__dataset *dataset)
{
	struct lc__frame a, b;

	sort_rows(dataset);
	if (name_apart(dataset))
		sort_rows(dataset);
	if (dataset->text.failed)
		return lc__no_memory(dataset->root);
	for (size_t i = 0; i + 1 < dataset->n; i++) {
		if (!is_same(dataset, i, i + 1))
			continue;
		lc__dataset_frame(dataset, i, &a);
		lc__dataset_frame(dataset, i + 1, &b);
		return lc__error(LC_INVALID, 0,
		    "%s: two frames are named '%s%s%s': %s and %s", dataset->root, a.run,
		    *a.run ? "/" : "", a.name,
		    a.image_path != NULL ? a.image_path : a.label_path,
		    b.image_path != NULL ? b.image_path : b.label_path);
	}
	return LC_OK;
}

/* ---- opening ---------------------------------------------------------------- */

/* List the frames with the layout, sort them, and shrink the array to their number. */
static lc_status
fill(struct lc__dataset *dataset, enum lc__label_layout layout, const char *labels)
{
	struct lc__buf ignored = { 0 };
	uint64_t hash;
	lc_status status = LC_OK;
	void *shrunk;

	if (layout == LC__LAYOUT_AUTO && labels != NULL)
		layout = LC__LAYOUT_COCO;
	return_if_error(lc__layout_find(dataset->root, layout, &dataset->layout));
	layout = dataset->layout->layout;
	if (labels != NULL && layout != LC__LAYOUT_COCO)
		return lc__error(LC_INVALID, 0,
		    "%s: the layout '%s' does not have a single file of labels", labels,
		    dataset->layout->name);
	return_if_error(dataset->layout->list(dataset, labels));
	if (dataset->ignored.n > 0) {
		lc__images_ignored_text(&dataset->ignored, &ignored);
		lc__buf_append(&ignored, "", 1);
		if (ignored.failed)
			return lc__no_memory(dataset->root);
	}
	if (dataset->n == 0)
		status = lc__error(LC_INVALID, 0, "%s: no frames of the layout '%s'%s%s",
		    dataset->root, dataset->layout->name, ignored.size > 0 ? "; " : "",
		    ignored.size > 0 ? (char *)ignored.data : "");
	else if (ignored.size > 0)
		status = lc__strings_add(&dataset->notes, (char *)ignored.data);
	lc__buf_free(&ignored);
	return_if_error(status);
	lc__strings_sort(&dataset->dirs);
	return_if_error(order_frames(dataset));

	/* The list of names is part of the meaning of labels: with another list other
	 * labels may be rejected. For VOC and COCO it is in the hashes of the
	 * frames. */
	hash = dataset->classes.n;
	for (size_t i = 0; i < dataset->classes.n; i++)
		if (dataset->classes.items[i] == NULL)
			hash = lc__hash64_seed(&i, sizeof(i), hash);
	if (layout == LC__LAYOUT_YOLO || layout == LC__LAYOUT_CAPTURE)
		for (size_t i = 0; i < dataset->n && dataset->classes.n > 0; i++)
			if (dataset->rows[i].label != 0)
				dataset->rows[i].hash = hash;

	shrunk = realloc(dataset->rows, dataset->n * sizeof(*dataset->rows));
	if (shrunk != NULL) {
		dataset->rows = shrunk;
		dataset->room = dataset->n;
	}
	shrunk = realloc(dataset->text.data, dataset->text.size);
	if (shrunk != NULL) {
		dataset->text.data = shrunk;
		dataset->text.room = dataset->text.size;
	}
	return LC_OK;
}

lc_status
lc__dataset_open(const char *root, enum lc__label_layout layout, const char *labels,
    struct lc__dataset **out)
{
	struct lc__dataset *dataset = calloc(1, sizeof(*dataset));
	lc_status status;

	if (dataset != NULL)
		dataset->root = strdup(root);
	if (dataset == NULL || dataset->root == NULL)
		status = lc__no_memory(root);
	else
		status = fill(dataset, layout, labels);
	if (status == LC_OK)
		*out = dataset;
	else
		lc__dataset_close(dataset);
	return status;
}

void
lc__dataset_close(struct lc__dataset *dataset)
{
	if (dataset == NULL)
		return;
	if (dataset->layout != NULL && dataset->layout->close != NULL)
		dataset->layout->close(dataset);
	lc__strings_free(&dataset->dirs);
	lc__strings_free(&dataset->shared);
	lc__strings_free(&dataset->classes);
	lc__mapping_free(&dataset->mapping);
	lc__strings_free(&dataset->notes);
	lc__buf_free(&dataset->text);
	free(dataset->rows);
	free(dataset->root);
	free(dataset);
}

/* ---- classes ----------------------------------------------------------------- */

static bool
has_category(const void *dataset, int64_t id)
{
	const struct lc__coco *coco = ((const struct lc__dataset *)dataset)->own;

	return coco->n_categories > 0 && lc__coco_has_category(coco, id);
}

lc_status
lc__dataset_map_classes(struct lc__dataset *dataset, const struct lc__class_map *map)
{
	const enum lc__label_layout layout = dataset->layout->layout;
	const bool coco = layout == LC__LAYOUT_COCO;
	struct lc__buf text = { 0 };
	lc_status status;

	if (layout == LC__LAYOUT_UNLABELLED)
		return lc__error(LC_INVALID, 0,
		    "%s: the layout 'unlabelled' of %s has no classes", map->path,
		    dataset->root);
	return_if_error(lc__mapping_make(map, dataset->classes.items, dataset->classes.n,
	    coco ? has_category : NULL, dataset, &dataset->mapping));
	status = lc__class_map_format(map, &text);
	/* Add the map to the hash of each frame whose label may have boxes. */
	for (size_t i = 0; i < dataset->n && status == LC_OK; i++) {
		struct lc__frame_row *row = &dataset->rows[i];
		if (row->label != 0 || coco)
			row->hash = lc__hash64_seed(text.data, text.size, row->hash);
	}
	lc__buf_free(&text);
	return status;
}

/* ---- looking ---------------------------------------------------------------- */

enum lc__label_layout
lc__dataset_layout(const struct lc__dataset *dataset)
{
	return dataset->layout->layout;
}

uint64_t
lc__dataset_frames(const struct lc__dataset *dataset)
{
	return dataset->n;
}

void
lc__dataset_frame(const struct lc__dataset *dataset, uint64_t i, struct lc__frame *out)
{
	const struct lc__frame_row *row = &dataset->rows[i];
	const char *text = (const char *)dataset->text.data;

	out->run = text + row->run;
	out->name = text + row->name;
	out->label_path = row->label != 0 ? text + row->label : NULL;
	out->image_path = row->image != 0 ? text + row->image : NULL;
	out->label_hash = row->hash;
	out->number = row->number;
}

size_t
lc__dataset_dirs(const struct lc__dataset *dataset, const char *const **out)
{
	*out = (const char *const *)dataset->dirs.items;
	return dataset->dirs.n;
}

size_t
lc__dataset_shared(const struct lc__dataset *dataset, const char *const **out)
{
	*out = (const char *const *)dataset->shared.items;
	return dataset->shared.n;
}

size_t
lc__dataset_classes(const struct lc__dataset *dataset, const char *const **out)
{
	const struct lc__strings *names = dataset->mapping.on ? &dataset->mapping.names
							      : &dataset->classes;

	*out = (const char *const *)names->items;
	return names->n;
}

bool
lc__dataset_learned(const struct lc__dataset *dataset)
{
	return dataset->learned;
}

const struct lc__images_ignored *
lc__dataset_ignored(const struct lc__dataset *dataset)
{
	return &dataset->ignored;
}

size_t
lc__dataset_notes(const struct lc__dataset *dataset, const char *const **out)
{
	*out = (const char *const *)dataset->notes.items;
	return dataset->notes.n;
}

lc_status
lc__label_read(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	const struct lc__mapping *mapping = &dataset->mapping;
	const struct lc__strings *listed = &dataset->classes;
	const struct lc__strings *names = mapping->on ? &mapping->names : listed;
	size_t mark;

	memset(out, 0, sizeof(*out));
	if (names->n > 0) {
		out->classes = names->items;
		out->n_classes = names->n;
	}
	if (size > LC__LABEL_MAX_BYTES)
		return lc__label_reject(out, LC__REJECT_UNPARSABLE, frame->label_path,
		    "larger than %llu bytes", LC__LABEL_MAX_BYTES);
	mark = lc__utf8_mark(bytes, size);
	return_if_error(dataset->layout->read(dataset, frame,
	    mark > 0 ? (const char *)bytes + mark : bytes, size - mark, out));

	/* If names of classes are known, an id without a name is a mistake in the names
	 * or in the label. COCO's reader compares with all ids itself, including those
	 * too large for the list. */
	for (size_t i = 0;
	     i < out->n && listed->n > 0 && dataset->layout->layout != LC__LAYOUT_COCO;
	     i++) {
		const int64_t id = out->boxes[i].class_id;
		if (id >= 0 && ((uint64_t)id >= listed->n || listed->items[id] == NULL))
			return lc__label_reject(out, LC__REJECT_UNKNOWN_CLASS,
			    frame->label_path,
			    "label %zu: there is no name for class %lld among %zu", i + 1,
			    (long long)id, listed->n);
	}
	for (size_t i = 0; i < out->n && mapping->on; i++) {
		struct lc__label_box *box = &out->boxes[i];
		box->filtered = !lc__mapping_find(mapping, box->class_id, &box->class_id);
	}
	return LC_OK;
}
