/* SPDX-License-Identifier: BSD-2-Clause */
/* Which layout a dataset has: what its first labels look like. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/image_name.h"
#include "labels/coco.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"

/* A label of each layout, or NULL; malloc'ed. */
struct survey {
	const char *root;
	bool images; /* the run that is looked at has a directory images */
	char *capture, *yolo, *coco, *voc;
	char *image;                       /* of a dataset without any */
	struct lc__images_ignored ignored; /* the same */
};

static lc_status
note(char **place, const char *dir, const char *name)
{
	if (*place == NULL)
		*place = lc__name_join(dir, name);
	return *place != NULL ? LC_OK : lc__no_memory(dir);
}

static lc_status
note_file(struct survey *s, const char *dir, const char *name)
{
	const char *base = lc__name_base(dir);
	const bool annotations = strcmp(base, "Annotations") == 0;

	if (annotations && lc__name_has(name, ".xml"))
		return note(&s->voc, dir, name);
	if (!annotations && s->images && lc__name_has(name, ".txt"))
		return note(&s->yolo, dir, name);
	if (strcmp(base, "labels") == 0 && lc__name_has(name, ".json"))
		return note(&s->capture, dir, name);
	return LC_OK;
}

/* The files of a directory of labels, and those @p below it. */
static lc_status
look_at_labels(struct survey *s, const char *dir, bool below)
{
	struct lc__listing listing;
	lc_status status = lc__listing_read(s->root, dir, &listing);

	for (size_t i = 0; i < listing.n && status == LC_OK; i++) {
		const struct lc__entry *entry = &listing.entries[i];
		char *path = NULL;
		if (!entry->dir) {
			status = note_file(s, dir, entry->name);
		} else if (below) {
			status = note(&path, dir, entry->name);
			if (status == LC_OK)
				status = look_at_labels(s, path, false);
		}
		free(path);
	}
	lc__listing_free(&listing);
	return status;
}

static lc_status
look_at_run(struct survey *s, const char *run, const struct lc__listing *listing)
{
	static const char *const names[] = { "labels", "Annotations" };
	lc_status status = LC_OK;

	s->images = lc__listing_find(listing, "images") != NULL;
	for (size_t i = 0; i < 2 && status == LC_OK; i++) {
		const struct lc__entry *entry = lc__listing_find(listing, names[i]);
		char *path = NULL;
		if (entry == NULL || !entry->dir)
			continue;
		status = note(&path, run, names[i]);
		if (status == LC_OK)
			status = look_at_labels(s, path, i == 0);
		free(path);
	}
	return status;
}

static lc_status
list_run(struct survey *s, const char *run)
{
	struct lc__listing listing;
	lc_status status = lc__listing_read(s->root, run, &listing);

	if (status == LC_OK)
		status = look_at_run(s, run, &listing);
	lc__listing_free(&listing);
	return status;
}

static lc_status
look_at_root(struct survey *s)
{
	struct lc__listing listing;
	lc_status status = lc__listing_read(s->root, "", &listing);

	if (status == LC_OK)
		status = look_at_run(s, "", &listing);
	for (size_t i = 0; i < listing.n && status == LC_OK; i++)
		if (listing.entries[i].dir)
			status = list_run(s, listing.entries[i].name);
	lc__listing_free(&listing);
	if (status == LC_OK)
		status = lc__coco_first(s->root, &s->coco);
	return status;
}

static lc_status
note_image(void *ctx, const char *dir, struct lc__listing *listing)
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
	lc_status status;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].found == NULL)
			continue;
		*out = rows[i].layout;
		lc__buf_printf(&text, "%s%s (%s)", n++ > 0 ? ", " : "",
		    rows[i].layout->name, rows[i].found);
	}
	status = n == 1
	    ? LC_OK
	    : lc__error(LC_INVALID, 0,
		  "%s: labels of more than one layout: %.*s; say which with --layout",
		  s->root, (int)text.size, text.data != NULL ? (char *)text.data : "");
	lc__buf_free(&text);
	if (n > 0)
		return status;
	return_if_error(lc__tree_walk(s->root, note_image, s));
	if (s->image != NULL)
		return lc__error(LC_INVALID, 0,
		    "%s: images (%s), but no labels; "
		    "--layout=unlabelled takes them without",
		    s->root, s->image);
	if (s->ignored.n > 0)
		lc__buf_printf(&text, "; ");
	if (s->ignored.n > 0)
		lc__images_ignored_text(&s->ignored, &text);
	status = lc__error(LC_INVALID, 0, "%s: neither labels nor images%.*s", s->root,
	    (int)text.size, text.data != NULL ? (char *)text.data : "");
	lc__buf_free(&text);
	return status;
}

lc_status
lc__layout_detect(const char *root, const struct lc__label_layout_row **out)
{
	struct survey s = { .root = root };
	lc_status status = look_at_root(&s);

	if (status == LC_OK)
		status = decide(&s, out);
	free(s.capture);
	free(s.yolo);
	free(s.coco);
	free(s.voc);
	free(s.image);
	return status;
}
