/* SPDX-License-Identifier: BSD-2-Clause */
/* The images of a directory by their stems, and those that have no label. */
#ifndef CACHEX_LABELS_PICTURES_H
#define CACHEX_LABELS_PICTURES_H

#include <stdbool.h>
#include <stddef.h>

#include "labels/dataset_private.h"

struct lc__image_file {
	char *stem;       /* "a" of "a.jpg", malloc'ed */
	const char *name; /* borrowed from the listing */
	bool is_read;     /* the image is of a kind that is read */
	bool taken;       /* a label belongs to the image */
};

/** Sorted by stem, then by name. All zero is empty. */
struct lc__pictures {
	struct lc__image_file *items;
	size_t n;
};

/** Find the images in a listing, which must outlive @p out. LC_NO_MEMORY; free with
 *  lc__pictures_free(), also after a failure. */
LC_CHECKED lc_status lc__pictures_of(const struct lc__listing *listing,
    struct lc__pictures *out);
void lc__pictures_free(struct lc__pictures *pictures);
/** The first image with this stem, and the number of such images; NULL and 0 if there
 *  is none. */
struct lc__image_file *lc__pictures_find(const struct lc__pictures *pictures,
    const char *stem, size_t *n);

/** A directory of labels, each of which names its image, and the directory of the
 *  images. */
struct lc__labelled_dir {
	const char *run;                   /* name of the run */
	const char *labels;                /* directory of the labels, from the root */
	const struct lc__listing *listing; /* listing of the labels' directory */
	const char *extension;             /* extension of labels, ".xml" */
	const char *images;                /* directory of the images, from the root */
	uint64_t number;                   /* number of the frames of these labels */
};

/**
 * Add a frame for each image in dir->images that has no label. An image has a label if
 * it is the only one with the label's stem; if none or several have it, the label is
 * read to find out. Images of kinds that are not read are counted in dataset->ignored,
 * unless there is a label with their stem. If the directory does not exist, nothing
 * happens.
 */
LC_CHECKED lc_status lc__dataset_add_pictures(struct lc__dataset *dataset,
    const struct lc__labelled_dir *dir);

#endif
