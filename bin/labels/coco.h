/* SPDX-License-Identifier: BSD-2-Clause */
/* COCO's file of annotations: finding it, and what is kept of it while the dataset is
 * open. */
#ifndef CACHEX_LABELS_COCO_H
#define CACHEX_LABELS_COCO_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "labels/dataset_private.h"
#include "lmdbcache.h"

/** The position of an element in the file. */
struct lc__coco_place {
	uint64_t offset;
	uint32_t length;
	bool bad; /* it could not be parsed when the file was listed */
};

/** An annotation without an image in the file: it becomes a separate frame, which is
 *  rejected. */
struct lc__coco_stray {
	enum lc__reject reason;
	char detail[200];
};

/** An image: its row, and its annotations in the order of the file. */
struct lc__coco_image {
	struct lc__coco_place place;
	uint32_t n;     /* annotations */
	uint64_t first; /* of them */
};

/** dataset->own; a frame's number is the index of its image. */
struct lc__coco {
	int fd;
	char *path;       /* of the file, as it can be opened */
	const char *name; /* its name in messages, relative to the root or absolute */
	struct lc__coco_image *images;
	size_t n_images;
	struct lc__coco_place *annotations; /* image by image */
	struct lc__coco_stray *strays; /* their frames are numbered after the images */
	size_t n_strays;
	int64_t *categories; /* ids, sorted */
	size_t n_categories;
};

/**
 * The first JSON file of annotations/ or of the root that begins as COCO's do,
 * from the root, malloc'ed; NULL if there is none.
 */
LC_CHECKED lc_status lc__coco_first(const char *root, char **out);
/** Find the only such file, or use @p labels, which is relative to the root or absolute.
 *  Sets path, and makes it a shared file of the dataset. */
LC_CHECKED lc_status lc__coco_find(struct lc__dataset *dataset, const char *labels,
    struct lc__coco *coco);

/** Returns the file names of images, one after another; NULL after the last. */
typedef const char *(*lc__coco_names)(void *ctx);
/**
 * The directory that file names start from, malloc'ed: the first of "", images, that
 * of the labels, SPLIT and images/SPLIT of "annotations/instances_SPLIT.json", and
 * of directories in the root and in images that has one of the first few files; ""
 * if none has.
 */
LC_CHECKED lc_status lc__coco_base(struct lc__dataset *dataset,
    const struct lc__coco *coco, lc__coco_names next, void *ctx, char **out);

/** Read a part of the file; false if the file has become shorter. */
LC_CHECKED lc_status lc__coco_part(const struct lc__coco *coco,
    const struct lc__coco_place *place, struct lc__buf *out);

/** Does the file have this category, or no categories at all? */
bool lc__coco_has_category(const struct lc__coco *coco, int64_t id);

/** lc__label_read() of the layout; @p out is zero except for its classes. */
LC_CHECKED lc_status lc__coco_read(const struct lc__dataset *dataset,
    const struct lc__frame *frame, const void *bytes, size_t size, struct lc__label *out);

#endif
