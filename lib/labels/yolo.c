/* SPDX-License-Identifier: BSD-2-Clause */
/* images/ and labels/ *.txt: finding them; yolo_text.c reads them. */
#include "labels/yolo.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "labels/classes.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"

/* A directory of images: what its path says, and its labels. */
struct place {
	const char *images;         /* from the root */
	char *labels;               /* beside it, malloc'ed */
	char *run;                  /* the path without `images`, malloc'ed */
	struct lc__listing listing; /* of labels; empty if there are none */
};

/* The last component `images` of a path, or NULL. */
static const char *
find_images(const char *dir)
{
	const size_t size = strlen("images");
	const char *last = NULL;

	for (const char *p = dir; *p != '\0';) {
		const size_t n = strcspn(p, "/");
		if (n == size && memcmp(p, "images", size) == 0)
			last = p;
		p += n + (p[n] == '/');
	}
	return last;
}

/* "BEFORE/AFTER" for @p dir with what is put for its `images`. */
static char *
replace(const char *dir, const char *images, const char *with)
{
	const char *after = images + strlen("images");
	struct lc__buf out = { 0 };

	lc__buf_append(&out, dir, (size_t)(images - dir));
	lc__buf_append(&out, with, strlen(with));
	/* Without a word in between, one of two slashes is too much. */
	if (*with == '\0' && *after == '/')
		after++;
	else if (*with == '\0' && out.size > 0)
		out.size--;
	lc__buf_append(&out, after, strlen(after) + 1);
	if (out.failed)
		lc__buf_free(&out);
	return (char *)out.data;
}

static lc_status
list_labels(struct lc__dataset *dataset, struct place *place)
{
	lc_status status = lc__listing_read(dataset->root, place->labels,
	    &place->listing);

	/* Images without any labels: the directory above is watched. */
	if (status == LC_NOT_FOUND) {
		char *path = lc__path_join(dataset->root, place->labels);

		lc__listing_free(&place->listing);
		status = path != NULL ? lc__no_lost_link(path) :
		    lc__label_no_memory(place->labels);
		free(path);
		return status;
	}
	if (status != LC_OK)
		return status;
	return lc__strings_add(&dataset->dirs, place->labels);
}

static lc_status
add_image(struct lc__dataset *dataset, const struct place *place,
    const char *name)
{
	char *image = lc__name_join(place->images, name);
	char *label = lc__name_label(place->labels, name, ".txt");
	lc_status status;

	if (image == NULL || label == NULL)
		status = lc__label_no_memory(place->images);
	else
		status = lc__dataset_add_files(dataset, place->run,
		    lc__listing_find(&place->listing, lc__name_base(label)) ?
		    label : NULL, image);
	free(label);
	free(image);
	return status;
}

static lc_status
add_images(struct lc__dataset *dataset, struct place *place,
    const struct lc__listing *listing)
{
	lc_status status = LC_OK;

	if (place->labels == NULL || place->run == NULL)
		return lc__label_no_memory(place->images);
	status = list_labels(dataset, place);
	for (size_t i = 0; i < listing->n && status == LC_OK; i++)
		if (!listing->entries[i].dir &&
		    lc__name_is_image(listing->entries[i].name))
			status = add_image(dataset, place,
			    listing->entries[i].name);
	return status;
}

static lc_status
visit(void *ctx, const char *dir, struct lc__listing *listing)
{
	const char *images = find_images(dir);
	struct lc__dataset *dataset = ctx;
	struct place place = { .images = dir };
	lc_status status = lc__strings_add(&dataset->dirs, dir);

	/* Labels are listed with their images. */
	for (size_t i = 0; images == NULL && i < listing->n; i++)
		if (strcmp(listing->entries[i].name, "labels") == 0)
			listing->entries[i].skip = true;
	if (images == NULL || status != LC_OK)
		return status;
	place.labels = replace(dir, images, "labels");
	place.run = replace(dir, images, "");
	status = add_images(dataset, &place, listing);
	lc__listing_free(&place.listing);
	free(place.labels);
	free(place.run);
	return status;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return_if_error(lc__classes_read(dataset));
	return lc__tree_walk(dataset->root, visit, dataset);
}

const struct lc__layout_row lc__layout_yolo = {
	LC__LAYOUT_YOLO, "yolo", list, lc__yolo_read, NULL
};
