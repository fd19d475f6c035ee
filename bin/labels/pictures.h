/* SPDX-License-Identifier: BSD-2-Clause */
/* The images of a directory, by their stems, and those without a label. */
#ifndef CACHEX_LABELS_PICTURES_H
#define CACHEX_LABELS_PICTURES_H

#include <stdbool.h>
#include <stddef.h>

#include "labels/dataset_private.h"

struct lc__image_file {
	char *stem;       /* "a" of "a.jpg", malloc'ed */
	const char *name; /* borrowed from the listing */
	bool is_read;     /* of a kind that is read */
	bool taken;       /* a label has it */
};

/** Ordered by stem, then by name. All zero is empty. */
struct lc__pictures {
	struct lc__image_file *items;
	size_t n;
};

/** Find the images in a listing, which must outlive them. LC_NO_MEMORY; free with
 *  lc__pictures_free(), also on failure. */
LC_CHECKED lc_status lc__pictures_of(const struct lc__listing *listing,
    struct lc__pictures *out);
void lc__pictures_free(struct lc__pictures *pictures);
/** The first of the images of this stem, and how many there are; NULL and 0 if none. */
struct lc__image_file *lc__pictures_find(const struct lc__pictures *pictures,
    const char *stem, size_t *n);

/** A directory of labels, each of which names its image, and where the images are. */
struct lc__labelled_dir {
	const char *run;                   /* its name */
	const char *labels;                /* from the root */
	const struct lc__listing *listing; /* of labels */
	const char *extension;             /* of labels, ".xml" */
	const char *images;                /* from the root */
	uint64_t number;                   /* of the labels' frames */
};

/**
 * Add a frame without a label for each image of dir->images that no label has. A label
 * has the only image of its stem; where there is none, or more, the label is read to
 * know. Images of kinds that are not read are counted in dataset->ignored unless a
 * label of their stem is there. Nothing happens without such a directory.
 */
LC_CHECKED lc_status lc__dataset_add_pictures(struct lc__dataset *dataset,
    const struct lc__labelled_dir *dir);

#endif
