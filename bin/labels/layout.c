/* SPDX-License-Identifier: BSD-2-Clause */
/* The layouts, detecting the layout of a dataset, and the layout without labels. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/image_name.h"
#include "labels/coco.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"

/* ---- by its number --------------------------------------------------------------- */

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

/* ---- by its labels --------------------------------------------------------------- */

/* The first label found of each layout, malloc'ed; NULL if there is none. */
struct survey {
	const char *root;
	bool images; /* the current run has a directory `images` */
	char *capture, *yolo, *coco, *voc;
	char *image; /* if there are no labels: the first image */
	/* If there are no labels: images of kinds that are not read. */
	struct lc__images_ignored ignored;
};

static lc_status
note(char **place, const char *dir, const char *name)
{
	if (*place == NULL)
		*place = lc__name_join(dir, name);
	return *place != NULL ? LC_OK : lc__no_memory(dir);
}

/* Note the files in a directory of labels and, if @p below, in its subdirectories. */
static lc_status
look_at_labels(struct survey *s, const char *dir, bool below)
{
	const char *base = lc__name_base(dir);
	const bool annotations = strcmp(base, "Annotations") == 0;
	struct lc__listing listing;
	lc_status status = lc__listing_read(s->root, dir, &listing);

	for (size_t i = 0; i < listing.n && status == LC_OK; i++) {
		const char *name = listing.entries[i].name;
		char *path = NULL;
		if (listing.entries[i].dir && below) {
			status = note(&path, dir, name);
			if (status == LC_OK)
				status = look_at_labels(s, path, false);
			free(path);
		} else if (listing.entries[i].dir) {
			continue;
		} else if (annotations && lc__name_has(name, ".xml")) {
			status = note(&s->voc, dir, name);
		} else if (!annotations && s->images && lc__name_has(name, ".txt")) {
			status = note(&s->yolo, dir, name);
		} else if (strcmp(base, "labels") == 0 && lc__name_has(name, ".json")) {
			status = note(&s->capture, dir, name);
		}
	}
	lc__listing_free(&listing);
	return status;
}

/* Look at the directories of labels in a run, or in the root and all of its
 * subdirectories. */
static lc_status
look_at_run(struct survey *s, const char *run)
{
	static const char *const names[] = { "labels", "Annotations" };
	struct lc__listing listing;
	lc_status status = lc__listing_read(s->root, run, &listing);

	if (status == LC_OK)
		s->images = lc__listing_find(&listing, "images") != NULL;
	for (size_t i = 0; i < 2 && status == LC_OK; i++) {
		const struct lc__entry *entry = lc__listing_find(&listing, names[i]);
		char *path = NULL;
		if (entry == NULL || !entry->dir)
			continue;
		status = note(&path, run, names[i]);
		if (status == LC_OK)
			status = look_at_labels(s, path, i == 0);
		free(path);
	}
	for (size_t i = 0; *run == '\0' && i < listing.n && status == LC_OK; i++)
		if (listing.entries[i].dir)
			status = look_at_run(s, listing.entries[i].name);
	lc__listing_free(&listing);
	return status;
}

static lc_status
note_image(void *ctx, const char *dir, const struct lc__listing *listing)
{
	struct survey *s = ctx;

	for (size_t i = 0; s->image == NULL && i < listing->n; i++)
		if (!listing->entries[i].dir &&
		    !lc__images_ignored_add(&s->ignored, listing->entries[i].name) &&
		    lc__name_is_image(listing->entries[i].name))
			return_if_error(note(&s->image, dir, listing->entries[i].name));
	return LC_OK;
}

static lc_status
decide(struct survey *s, const struct lc__label_layout_row **out)
{
	const struct {
		const char *found;
		const struct lc__label_layout_row *layout;
	} rows[] = {
		{ s->capture, &lc__layout_capture },
		{ s->yolo, &lc__layout_yolo },
		{ s->coco, &lc__layout_coco },
		{ s->voc, &lc__layout_voc },
	};
	struct lc__buf text = { 0 };
	size_t n = 0;
	lc_status status = LC_OK;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].found == NULL)
			continue;
		*out = rows[i].layout;
		lc__buf_printf(&text, "%s%s (%s)", n++ > 0 ? ", " : "",
		    rows[i].layout->name, rows[i].found);
	}
	if (n > 1)
		status = lc__error(LC_INVALID, 0,
		    "%s: labels of more than one layout: %.*s; choose one with --layout",
		    s->root, (int)text.size, text.data != NULL ? (char *)text.data : "");
	lc__buf_free(&text);
	if (n > 0)
		return status;

	return_if_error(lc__tree_walk(s->root, note_image, s));
	if (s->image != NULL)
		return lc__error(LC_INVALID, 0,
		    "%s: images (%s), but no labels; "
		    "--layout=unlabelled uses them without labels",
		    s->root, s->image);
	if (s->ignored.n > 0) {
		lc__buf_printf(&text, "; ");
		lc__images_ignored_text(&s->ignored, &text);
	}
	status = lc__error(LC_INVALID, 0, "%s: neither labels nor images%.*s", s->root,
	    (int)text.size, text.data != NULL ? (char *)text.data : "");
	lc__buf_free(&text);
	return status;
}

lc_status
lc__layout_find(const char *root, enum lc__label_layout layout,
    const struct lc__label_layout_row **out)
{
	struct survey s = { .root = root };
	lc_status status;

	*out = find_layout(layout);
	if (*out != NULL)
		return LC_OK;
	if (layout != LC__LAYOUT_AUTO)
		return lc__error(LC_INVALID, 0, "%s: no layout has the number %d", root,
		    (int)layout);
	status = look_at_run(&s, "");
	if (status == LC_OK)
		status = lc__coco_first(root, &s.coco);
	if (status == LC_OK)
		status = decide(&s, out);
	free(s.capture);
	free(s.yolo);
	free(s.coco);
	free(s.voc);
	free(s.image);
	return status;
}

/* ---- images anywhere below the root ------------------------------------------------ */

static lc_status
visit(void *ctx, const char *dir, const struct lc__listing *listing)
{
	struct lc__dataset *dataset = ctx;
	lc_status status = lc__strings_add(&dataset->dirs, dir);

	for (size_t i = 0; i < listing->n && status == LC_OK; i++) {
		const struct lc__entry *entry = &listing->entries[i];
		char *path;
		if (entry->dir ||
		    lc__images_ignored_add(&dataset->ignored, entry->name) ||
		    !lc__name_is_image(entry->name))
			continue;
		path = lc__name_join(dir, entry->name);
		if (path == NULL)
			return lc__no_memory(dir);
		status = lc__dataset_add_files(dataset, dir, NULL, path);
		free(path);
	}
	return status;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return lc__tree_walk(dataset->root, visit, dataset);
}

static lc_status
read_none(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	(void)dataset;
	(void)bytes;
	(void)size;
	return lc__label_image(out, frame->image_path, "", frame->image_path);
}

const struct lc__label_layout_row lc__layout_unlabelled = {
	.layout = LC__LAYOUT_UNLABELLED,
	.name = "unlabelled",
	.list = list,
	.read = read_none,
};
