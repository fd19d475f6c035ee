/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/pictures.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/image_name.h"
#include "labels/label.h"
#include "labels/names.h"

static int
compare_pictures(const void *a, const void *b)
{
	const struct lc__image_file *x = a, *y = b;
	const int order = strcmp(x->stem, y->stem);

	return order != 0 ? order : strcmp(x->name, y->name);
}

lc_status
lc__pictures_of(const struct lc__listing *listing, struct lc__pictures *out)
{
	*out = (struct lc__pictures){
		.items = calloc(listing->n + 1, sizeof(*out->items)),
	};
	if (out->items == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < listing->n; i++) {
		const struct lc__entry *entry = &listing->entries[i];
		struct lc__image_file *picture = &out->items[out->n];
		if (entry->dir || !lc__is_any_image_name(entry->name))
			continue;
		picture->name = entry->name;
		picture->is_read = lc__name_is_image(entry->name);
		picture->stem = lc__name_stem(entry->name);
		if (picture->stem == NULL)
			return lc__no_memory(NULL);
		out->n++;
	}
	qsort(out->items, out->n, sizeof(*out->items), compare_pictures);
	return LC_OK;
}

void
lc__pictures_free(struct lc__pictures *pictures)
{
	for (size_t i = 0; i < pictures->n; i++)
		free(pictures->items[i].stem);
	free(pictures->items);
	*pictures = (struct lc__pictures){ .n = 0 };
}

struct lc__image_file *
lc__pictures_find(const struct lc__pictures *pictures, const char *stem, size_t *n)
{
	size_t low = 0, high = pictures->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (strcmp(pictures->items[middle].stem, stem) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (*n = 0;
	     low + *n < pictures->n && strcmp(pictures->items[low + *n].stem, stem) == 0;)
		++*n;
	return *n > 0 ? &pictures->items[low] : NULL;
}

/* ---- images without a label ---------------------------------------------------- */

/* Mark the image at @p path as taken, if it is one of these images. */
static lc_status
take_path(const struct lc__labelled_dir *dir, struct lc__pictures *pictures,
    const char *path)
{
	char *below = lc__name_dir(path), *stem = lc__name_stem(path);
	struct lc__image_file *found = NULL;
	size_t n = 0;
	lc_status status = LC_OK;

	if (below == NULL || stem == NULL)
		status = lc__no_memory(path);
	else if (strcmp(below, dir->images) == 0)
		found = lc__pictures_find(pictures, stem, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(found[i].name, lc__name_base(path)) == 0)
			found[i].taken = true;
	free(below);
	free(stem);
	return status;
}

/* Mark the image that a label names. Errors in the label are ignored here; they are
 * reported when its frame is read. */
static lc_status
take_named(struct lc__dataset *dataset, const struct lc__labelled_dir *dir,
    struct lc__pictures *pictures, const char *path)
{
	const struct lc__frame frame = {
		.run = dir->run,
		.name = "",
		.label_path = path,
		.number = dir->number,
	};
	char *full = lc__path_join(dataset->root, path);
	struct lc__buf text = { 0 };
	struct lc__label label = { 0 };
	lc_status status;

	if (full == NULL)
		return lc__no_memory(path);
	status = lc__read_file(full, LC__LABEL_MAX_BYTES, &text);
	free(full);
	if (status == LC_OK)
		status = lc__label_read(dataset, &frame, text.data, text.size, &label);
	if (status == LC_OK && label.image_path != NULL)
		status = take_path(dir, pictures, label.image_path);
	lc__label_free(&label);
	lc__buf_free(&text);
	return status == LC_NO_MEMORY ? status : LC_OK;
}

/* Mark the image of a label if only one has its stem. Images of kinds that are not read
 * count only if there is no other. False if it is not clear which image it is. */
static bool
take_only(struct lc__image_file *found, size_t n)
{
	size_t is_read = 0;

	for (size_t i = 0; i < n; i++)
		is_read += found[i].is_read;
	for (size_t i = 0; i < n && is_read < 2; i++)
		found[i].taken |= found[i].is_read == (is_read == 1);
	return n > 0 && is_read < 2;
}

/* Mark all images that have labels. */
static lc_status
take_pictures(struct lc__dataset *dataset, const struct lc__labelled_dir *dir,
    struct lc__pictures *pictures)
{
	struct lc__strings unsure = { 0 };
	lc_status status = LC_OK;
	size_t free_ones = 0;

	for (size_t i = 0; i < dir->listing->n && status == LC_OK; i++) {
		const struct lc__entry *entry = &dir->listing->entries[i];
		struct lc__image_file *picture;
		char *stem, *path;
		size_t n;
		if (entry->dir || !lc__name_has(entry->name, dir->extension))
			continue;
		stem = lc__name_stem(entry->name);
		path = lc__name_join(dir->labels, entry->name);
		picture = stem != NULL ? lc__pictures_find(pictures, stem, &n) : NULL;
		if (stem == NULL || path == NULL)
			status = lc__no_memory(dir->labels);
		else if (picture == NULL || !take_only(picture, n))
			status = lc__strings_add(&unsure, path);
		free(stem);
		free(path);
	}
	for (size_t i = 0; i < pictures->n; i++)
		free_ones += !pictures->items[i].taken;
	for (size_t i = 0; i < unsure.n && free_ones > 0 && status == LC_OK; i++)
		status = take_named(dataset, dir, pictures, unsure.items[i]);
	lc__strings_free(&unsure);
	return status;
}

lc_status
lc__dataset_add_pictures(struct lc__dataset *dataset, const struct lc__labelled_dir *dir)
{
	struct lc__pictures pictures = { 0 };
	struct lc__listing listing;
	bool is;
	lc_status status;

	return_if_error(lc__tree_is_dir(dataset->root, dir->images, &is));
	if (!is)
		return LC_OK;
	status = lc__dataset_list(dataset, dir->images, &listing);
	if (status == LC_OK)
		status = lc__pictures_of(&listing, &pictures);
	if (status == LC_OK)
		status = take_pictures(dataset, dir, &pictures);
	for (size_t i = 0; i < pictures.n && status == LC_OK; i++) {
		const struct lc__image_file *picture = &pictures.items[i];
		char *path;
		if (picture->taken)
			continue;
		if (!picture->is_read) {
			(void)lc__images_ignored_add(&dataset->ignored, picture->name);
			continue;
		}
		path = lc__name_join(dir->images, picture->name);
		status = path != NULL
		    ? lc__dataset_add_files(dataset, dir->run, NULL, path)
		    : lc__no_memory(dir->images);
		free(path);
	}
	lc__pictures_free(&pictures);
	lc__listing_free(&listing);
	return status;
}
