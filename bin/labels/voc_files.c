/* SPDX-License-Identifier: BSD-2-Clause */
/* <root>/[<run>/]Annotations/ *.xml: finding them; voc.c reads them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "labels/classes.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/pictures.h"
#include "labels/voc.h"

/* What the labels of a run have in common. */
struct run {
	const char *name, *dir; /* it, and its Annotations */
	enum lc__voc_images images;
	uint64_t hash; /* of what they depend on beside their files */
};

static lc_status
add_label(struct lc__dataset *dataset, const struct run *run, const char *file)
{
	char *name = lc__name_stem(file), *path = lc__name_join(run->dir, file);
	const struct lc__frame frame = {
		.run = run->name,
		.name = name,
		.label_path = path,
		.label_hash = run->hash,
		.number = run->images,
	};
	lc_status status;

	if (name == NULL || path == NULL)
		status = lc__no_memory(run->dir);
	else
		status = lc__dataset_add(dataset, &frame);
	free(name);
	free(path);
	return status;
}

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

/* Class ids come from the list of classes; images, without JPEGImages, from
 * directories that an annotation may name. */
static void
look_at_run(const struct lc__dataset *dataset, const struct lc__listing *listing,
    struct run *run)
{
	const struct lc__entry *images = lc__listing_find(listing, "JPEGImages");
	const bool have = images != NULL && images->dir;

	run->images = have ? LC__VOC_IMAGES : LC__VOC_FOLDER;
	mix_classes(dataset, &run->hash);
	for (size_t i = 0; !have && i < listing->n; i++)
		if (listing->entries[i].dir)
			mix(&run->hash, listing->entries[i].name);
}

/* Images that no annotation has: of JPEGImages, else of the directory itself. */
static lc_status
add_pictures(struct lc__dataset *dataset, const struct run *run,
    const struct lc__listing *listing)
{
	char *images = run->images == LC__VOC_IMAGES
	    ? lc__name_join(run->name, "JPEGImages")
	    : strdup(run->name);
	const struct lc__labelled_dir labelled = {
		.run = run->name,
		.labels = run->dir,
		.listing = listing,
		.extension = ".xml",
		.images = images,
		.number = run->images,
	};
	lc_status status = images != NULL ? lc__dataset_add_pictures(dataset, &labelled)
					  : lc__no_memory(run->name);

	free(images);
	return status;
}

/* A directory without annotations may be anything, unless it has JPEGImages. */
static lc_status
add_labels(struct lc__dataset *dataset, const char *name, const char *dir,
    const struct lc__listing *listing)
{
	struct run run = { .name = name, .dir = dir };
	struct lc__listing beside;
	lc_status status = lc__listing_read(dataset->root, name, &beside);

	if (status == LC_OK)
		look_at_run(dataset, &beside, &run);
	lc__listing_free(&beside);
	for (size_t i = 0; i < listing->n && status == LC_OK; i++)
		if (!listing->entries[i].dir &&
		    lc__name_has(listing->entries[i].name, ".xml"))
			status = add_label(dataset, &run, listing->entries[i].name);
	if (status != LC_OK || (listing->n == 0 && run.images == LC__VOC_FOLDER))
		return status;
	return add_pictures(dataset, &run, listing);
}

/* ---- names of classes that no list has -------------------------------------------- */

/* The names are sorted, each only once, whenever so many have been added. */
#define UNSORTED_MAX ((size_t)1 << 16)

/* What was met on the way. */
struct learned {
	size_t nameless;   /* objects without a name */
	size_t unreadable; /* annotations that the system does not let be read */
};

/* Add the names of an annotation's objects. What is wrong with the file is found when its
 * frame's turn comes. */
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
		status = lc__voc_names(&text, &dataset->classes, &learned->nameless);
	} else if (status != LC_NO_MEMORY) {
		learned->unreadable += status == LC_IO || status == LC_PERMISSION;
		status = LC_OK;
	}
	lc__buf_free(&text);
	return status;
}

static lc_status __attribute__((format(printf, 2, 3)))
add_note(struct lc__dataset *dataset, const char *format, ...)
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

/* What a build says before it begins. */
static lc_status
note_learned(struct lc__dataset *dataset, const struct learned *learned)
{
	if (learned->nameless > 0)
		return_if_error(
		    add_note(dataset, "%zu object%s no name: %s box%s no class",
			learned->nameless, learned->nameless == 1 ? " has" : "s have",
			learned->nameless == 1 ? "its" : "their",
			learned->nameless == 1 ? " has" : "es have"));
	if (learned->unreadable > 0)
		return_if_error(add_note(dataset,
		    "%zu annotation%s could not be read: "
		    "names that only %s has are not learned, and ids of others may move "
		    "when it can be read",
		    learned->unreadable, learned->unreadable == 1 ? "" : "s",
		    learned->unreadable == 1 ? "it" : "one"));
	return LC_OK;
}

/* Ids are the places of the names in their order by bytes: the same annotations give the
 * same ids, and another name may move all of them. */
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
	return note_learned(dataset, &learned);
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

const struct lc__label_layout_row lc__layout_voc = { LC__LAYOUT_VOC, "voc", list,
	lc__voc_read, NULL };
