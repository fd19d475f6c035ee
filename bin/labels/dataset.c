/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/dataset_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "labels/coco.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/order.h"
#include "labels/printable.h"

static const struct lc__label_layout_row *const layouts[] = {
	&lc__layout_capture,
	&lc__layout_yolo,
	&lc__layout_coco,
	&lc__layout_voc,
	&lc__layout_unlabelled,
};

static const struct lc__label_layout_row *
find_layout(enum lc__label_layout layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i]->layout == layout)
			return layouts[i];
	return NULL;
}

const char *
lc__layout_name(enum lc__label_layout layout)
{
	const struct lc__label_layout_row *row = find_layout(layout);

	return row != NULL ? row->name : "auto";
}

/* ---- filling ---------------------------------------------------------------- */

/* A string's offset in text. */
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

/* Frames of one run come one after another: its name is kept once. */
static uint64_t
keep_run(struct lc__dataset *dataset, const char *run)
{
	const size_t start = dataset->text.size;
	uint64_t last, at = keep_printable(dataset, run);

	if (dataset->n == 0 || dataset->text.failed)
		return at;
	last = dataset->rows[dataset->n - 1].run;
	if (strcmp((char *)dataset->text.data + last, (char *)dataset->text.data + at) !=
	    0)
		return at;
	dataset->text.size = start;
	return last;
}

lc_status
lc__dataset_add(struct lc__dataset *dataset, const struct lc__frame *frame)
{
	struct lc__frame_row *row;

	if (dataset->text.size == 0)
		lc__buf_append(&dataset->text, "", 1);
	return_if_error(lc__array_reserve(&dataset->rows, &dataset->room, dataset->n + 1,
	    dataset->root));
	row = &dataset->rows[dataset->n];
	row->run = keep_run(dataset, frame->run);
	row->name = keep_printable(dataset, frame->name);
	row->label = keep(dataset, frame->label_path);
	row->image = keep(dataset, frame->image_path);
	row->hash = frame->label_hash;
	row->number = frame->number;
	if (dataset->text.failed)
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

/* Let names of rows from i to end be those of the images with extension; that of a label
 * whose image is not known stays. */
static bool
name_by_image(struct lc__dataset *dataset, size_t i, size_t end)
{
	bool any = false;

	for (; i < end; i++) {
		struct lc__frame_row *row = &dataset->rows[i];
		char *base;
		if (row->image == 0)
			continue;
		any = true;
		base = strdup(lc__name_base((char *)dataset->text.data + row->image));
		if (base == NULL)
			dataset->text.failed = true;
		else
			row->name = keep_printable(dataset, base);
		free(base);
	}
	return any;
}

/* "a.jpg" and "a.png" are both "a": such keep their extension. */
static bool
name_apart(struct lc__dataset *dataset)
{
	bool changed = false;
	size_t end;

	/* What is found before anything is renamed decides: a pass over all. */
	for (size_t i = 0; i < dataset->n; i = end) {
		for (end = i + 1; end < dataset->n && is_same(dataset, i, end);)
			end++;
		if (end > i + 1 && name_by_image(dataset, i, end))
			changed = true;
	}
	return changed;
}

static lc_status
refuse_same(struct lc__dataset *dataset, size_t i)
{
	struct lc__frame a, b;

	lc__dataset_frame(dataset, i, &a);
	lc__dataset_frame(dataset, i + 1, &b);
	return lc__error(LC_INVALID, 0, "%s: two frames are named '%s%s%s': %s and %s",
	    dataset->root, a.run, *a.run ? "/" : "", a.name,
	    a.image_path != NULL ? a.image_path : a.label_path,
	    b.image_path != NULL ? b.image_path : b.label_path);
}

static lc_status
order_frames(struct lc__dataset *dataset)
{
	sort_rows(dataset);
	if (name_apart(dataset))
		sort_rows(dataset);
	if (dataset->text.failed)
		return lc__no_memory(dataset->root);
	for (size_t i = 0; i + 1 < dataset->n; i++)
		if (is_same(dataset, i, i + 1))
			return refuse_same(dataset, i);
	return LC_OK;
}

/* What was kept for growing goes back. */
static void
shrink(struct lc__dataset *dataset)
{
	void *rows = realloc(dataset->rows, dataset->n * sizeof(*dataset->rows));
	unsigned char *text = realloc(dataset->text.data, dataset->text.size);

	if (rows != NULL) {
		dataset->rows = rows;
		dataset->room = dataset->n;
	}
	if (text != NULL) {
		dataset->text.data = text;
		dataset->text.room = dataset->text.size;
	}
}

/* ---- opening ---------------------------------------------------------------- */

static lc_status
no_frames(const struct lc__dataset *dataset)
{
	struct lc__buf text = { 0 };
	lc_status status;

	if (dataset->ignored.n > 0) {
		lc__buf_printf(&text, "; ");
		lc__images_ignored_text(&dataset->ignored, &text);
	}
	status = lc__error(LC_INVALID, 0, "%s: no frames of the layout '%s'%.*s",
	    dataset->root, dataset->layout->name, (int)text.size,
	    text.data != NULL ? (char *)text.data : "");
	lc__buf_free(&text);
	return status;
}

static lc_status
note_ignored(struct lc__dataset *dataset)
{
	struct lc__buf text = { 0 };
	lc_status status = LC_OK;

	if (dataset->ignored.n == 0)
		return LC_OK;
	lc__images_ignored_text(&dataset->ignored, &text);
	lc__buf_append(&text, "", 1);
	status = text.failed ? lc__no_memory(dataset->root)
			     : lc__strings_add(&dataset->notes, (char *)text.data);
	lc__buf_free(&text);
	return status;
}

/* Which ids have names is a part of what labels say: another list may reject others. VOC
 * and COCO have it in their hashes. */
static void
mix_classes(struct lc__dataset *dataset)
{
	const enum lc__label_layout layout = dataset->layout->layout;
	uint64_t hash = dataset->classes.n;

	if (hash == 0 || (layout != LC__LAYOUT_YOLO && layout != LC__LAYOUT_CAPTURE))
		return;
	for (size_t i = 0; i < dataset->classes.n; i++)
		if (dataset->classes.items[i] == NULL)
			hash = lc__hash64_seed(&i, sizeof(i), hash);
	for (size_t i = 0; i < dataset->n; i++)
		if (dataset->rows[i].label != 0)
			dataset->rows[i].hash = hash;
}

static lc_status
fill(struct lc__dataset *dataset, enum lc__label_layout layout, const char *labels)
{
	if (layout == LC__LAYOUT_AUTO && labels != NULL)
		layout = LC__LAYOUT_COCO;
	dataset->layout = find_layout(layout);
	if (layout == LC__LAYOUT_AUTO)
		return_if_error(lc__layout_detect(dataset->root, &dataset->layout));
	if (dataset->layout == NULL)
		return lc__error(LC_INVALID, 0, "%s: no layout has the number %d",
		    dataset->root, (int)layout);
	if (labels != NULL && dataset->layout->layout != LC__LAYOUT_COCO)
		return lc__error(LC_INVALID, 0,
		    "%s: the layout '%s' has no one file of labels", labels,
		    dataset->layout->name);
	return_if_error(dataset->layout->list(dataset, labels));
	if (dataset->n == 0)
		return no_frames(dataset);
	lc__strings_sort(&dataset->dirs);
	return_if_error(order_frames(dataset));
	mix_classes(dataset);
	shrink(dataset);
	return note_ignored(dataset);
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

/* Into the hash of each frame whose label may have boxes. */
static void
mix_map(struct lc__dataset *dataset, const struct lc__buf *map)
{
	const bool coco = dataset->layout->layout == LC__LAYOUT_COCO;

	for (size_t i = 0; i < dataset->n; i++) {
		struct lc__frame_row *row = &dataset->rows[i];
		if (row->label != 0 || coco)
			row->hash = lc__hash64_seed(map->data, map->size, row->hash);
	}
}

lc_status
lc__dataset_map_classes(struct lc__dataset *dataset, const struct lc__class_map *map)
{
	const enum lc__label_layout layout = dataset->layout->layout;
	struct lc__buf text = { 0 };
	lc_status status;

	if (layout == LC__LAYOUT_UNLABELLED)
		return lc__error(LC_INVALID, 0,
		    "%s: the layout 'unlabelled' of %s has no classes", map->path,
		    dataset->root);
	return_if_error(lc__mapping_make(map, dataset->classes.items, dataset->classes.n,
	    layout == LC__LAYOUT_COCO ? has_category : NULL, dataset, &dataset->mapping));
	status = lc__class_map_format(map, &text);
	if (status == LC_OK)
		mix_map(dataset, &text);
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

static bool
is_named(const struct lc__dataset *dataset, int64_t id)
{
	return id < 0 ||
	    ((uint64_t)id < dataset->classes.n && dataset->classes.items[id] != NULL);
}

/* Where names of classes are known, an id without one is a mistake of one or the other.
 * COCO's own reader compares with all ids, also those too large to be in the list. */
static lc_status
check_classes(const struct lc__dataset *dataset, const struct lc__frame *frame,
    struct lc__label *label)
{
	if (dataset->classes.n == 0 || dataset->layout->layout == LC__LAYOUT_COCO)
		return LC_OK;
	for (size_t i = 0; i < label->n; i++)
		if (!is_named(dataset, label->boxes[i].class_id))
			return lc__label_reject(label, LC__REJECT_UNKNOWN_CLASS,
			    frame->label_path,
			    "label %zu: there is no name for class %lld among %zu", i + 1,
			    (long long)label->boxes[i].class_id, dataset->classes.n);
	return LC_OK;
}

static void
map_classes(const struct lc__mapping *mapping, struct lc__label *label)
{
	for (size_t i = 0; mapping->on && i < label->n; i++) {
		struct lc__label_box *box = &label->boxes[i];
		box->filtered = !lc__mapping_find(mapping, box->class_id, &box->class_id);
	}
}

lc_status
lc__label_read(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	const struct lc__strings *names = dataset->mapping.on ? &dataset->mapping.names
							      : &dataset->classes;
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
	if (out->reason == LC__REJECT_NONE)
		return_if_error(check_classes(dataset, frame, out));
	if (out->reason == LC__REJECT_NONE)
		map_classes(&dataset->mapping, out);
	return LC_OK;
}
