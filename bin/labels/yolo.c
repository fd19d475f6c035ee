/* SPDX-License-Identifier: BSD-2-Clause */
/* images/ and labels/ *.txt: finding them; yolo_text.c reads them. */
#include "labels/yolo.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/image_name.h"
#include "labels/classes.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/pictures.h"

/* The other directory of images or labels: which replaces the last of the two words in
 * the path. */
struct place {
	const char *dir;            /* that is visited, from the root */
	char *beside;               /* its labels or its images, malloc'ed */
	char *run;                  /* the path without the word, malloc'ed */
	struct lc__listing listing; /* of beside; empty if there is no such directory */
};

/* Names of classes that are kept among the labels. */
static bool
is_label(const char *name)
{
	return lc__name_has(name, ".txt") && strcasecmp(name, "classes.txt") != 0;
}

/* The last component of a path that is `images` or `labels`, or NULL. */
static const char *
find_word(const char *dir)
{
	const size_t size = strlen("images");
	const char *last = NULL;

	_Static_assert(sizeof("images") == sizeof("labels"), "one length");
	for (const char *p = dir; *p != '\0';) {
		const size_t n = strcspn(p, "/");
		if (n == size &&
		    (memcmp(p, "images", size) == 0 || memcmp(p, "labels", size) == 0))
			last = p;
		p += n + (p[n] == '/');
	}
	return last;
}

/* "BEFORE/AFTER" for @p dir with what is put for its word. */
static char *
replace(const char *dir, const char *word, const char *with)
{
	const char *after = word + strlen("images");
	struct lc__buf out = { 0 };

	lc__buf_append(&out, dir, (size_t)(word - dir));
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
list_beside(struct lc__dataset *dataset, struct place *place)
{
	lc_status status = lc__listing_read(dataset->root, place->beside,
	    &place->listing);

	/* Images without any labels: the directory above is watched. */
	if (status == LC_NO_FILE) {
		char *path = lc__path_join(dataset->root, place->beside);

		lc__listing_free(&place->listing);
		status = path != NULL ? lc__no_lost_link(path)
				      : lc__no_memory(place->beside);
		free(path);
		return status;
	}
	if (status != LC_OK)
		return status;
	return lc__strings_add(&dataset->dirs, place->beside);
}

/* ---- images, with their labels if they have any ---------------------------------- */

static lc_status
add_image(struct lc__dataset *dataset, const struct place *place, const char *name)
{
	char *image = lc__name_join(place->dir, name);
	char *label = lc__name_label(place->beside, name, ".txt");
	lc_status status;

	if (image == NULL || label == NULL)
		status = lc__no_memory(place->dir);
	else
		status = lc__dataset_add_files(dataset, place->run,
		    lc__listing_find(&place->listing, lc__name_base(label)) ? label
									    : NULL,
		    image);
	free(label);
	free(image);
	return status;
}

static lc_status
add_images(struct lc__dataset *dataset, const struct place *place,
    const struct lc__listing *listing)
{
	lc_status status = LC_OK;

	for (size_t i = 0; i < listing->n && status == LC_OK; i++) {
		const struct lc__entry *entry = &listing->entries[i];
		if (!entry->dir && lc__name_is_image(entry->name))
			status = add_image(dataset, place, entry->name);
		else if (!entry->dir)
			(void)lc__images_ignored_add(&dataset->ignored, entry->name);
	}
	return status;
}

/* ---- labels without an image ------------------------------------------------------ */

static lc_status
add_label(struct lc__dataset *dataset, const struct place *place,
    const struct lc__pictures *images, const char *name)
{
	char *label = lc__name_join(place->dir, name), *stem = lc__name_stem(name);
	struct lc__frame frame = {
		.run = place->run,
		.name = stem,
		.label_path = label,
		.number = LC__YOLO_NO_IMAGE,
	};
	const struct lc__image_file *found = NULL;
	lc_status status = LC_OK;
	bool has_image = false;
	size_t n = 0;

	if (label == NULL || stem == NULL)
		status = lc__no_memory(place->dir);
	else
		found = lc__pictures_find(images, stem, &n);
	if (n > 0)
		frame.number = LC__YOLO_OTHER_KIND;
	for (size_t i = 0; i < n; i++)
		has_image |= found[i].is_read;
	if (status == LC_OK && !has_image)
		status = lc__dataset_add(dataset, &frame);
	free(label);
	free(stem);
	return status;
}

static lc_status
add_labels(struct lc__dataset *dataset, const struct place *place,
    const struct lc__listing *listing)
{
	struct lc__pictures images;
	lc_status status = lc__pictures_of(&place->listing, &images);

	for (size_t i = 0; i < listing->n && status == LC_OK; i++)
		if (!listing->entries[i].dir && is_label(listing->entries[i].name))
			status = add_label(dataset, place, &images,
			    listing->entries[i].name);
	lc__pictures_free(&images);
	return status;
}

/* ---- all of them ------------------------------------------------------------------- */

static lc_status
visit(void *ctx, const char *dir, struct lc__listing *listing)
{
	const char *word = find_word(dir);
	const bool images = word != NULL && *word == 'i';
	struct lc__dataset *dataset = ctx;
	struct place place = { .dir = dir };
	lc_status status = lc__strings_add(&dataset->dirs, dir);

	if (word == NULL || status != LC_OK)
		return status;
	place.beside = replace(dir, word, images ? "labels" : "images");
	place.run = replace(dir, word, "");
	if (place.beside == NULL || place.run == NULL)
		status = lc__no_memory(dir);
	else
		status = list_beside(dataset, &place);
	if (status == LC_OK)
		status = images ? add_images(dataset, &place, listing)
				: add_labels(dataset, &place, listing);
	lc__listing_free(&place.listing);
	free(place.beside);
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

const struct lc__label_layout_row lc__layout_yolo = { LC__LAYOUT_YOLO, "yolo", list,
	lc__yolo_read, NULL };
