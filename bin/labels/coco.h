/* SPDX-License-Identifier: BSD-2-Clause */
/* COCO's annotation file: finding it, and the parts of it kept while the dataset is
 * open. */
#ifndef CACHEX_LABELS_COCO_H
#define CACHEX_LABELS_COCO_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "labels/dataset_private.h"
#include "lmdbcache.h"

/** The place of an element in the file. */
struct lc__coco_place {
	uint64_t offset;
	uint32_t length;
	bool bad; /* the element could not be parsed when the file was listed */
};

/** An annotation whose image is not in the file. It becomes a frame of its own, which
 *  is rejected. */
struct lc__coco_stray {
	enum lc__reject reason;
	char detail[200];
};

/** An image: its element, and its annotations in the order of the file. */
struct lc__coco_image {
	struct lc__coco_place place;
	uint32_t n;     /* number of annotations */
	uint64_t first; /* index of the first one */
};

/** The layout's data, dataset->own. The number of a frame is the index of its image. */
struct lc__coco {
	int fd;
	char *path;       /* path of the file, as it is opened; malloc'ed */
	const char *name; /* path for messages: relative to the root, or absolute */
	struct lc__coco_image *images;
	size_t n_images;
	/* Places of annotations, grouped by image. */
	struct lc__coco_place *annotations;
	/* The numbers of their frames follow those of the images. */
	struct lc__coco_stray *strays;
	size_t n_strays;
	int64_t *categories; /* sorted ids */
	size_t n_categories;
};

/**
 * Find the first JSON file in annotations/ or the root that begins like a COCO file.
 * @p out is its path from the root, malloc'ed, or NULL.
 */
LC_CHECKED lc_status lc__coco_first(const char *root, char **out);
/** Find the only COCO file, or use @p labels, which is relative to the root or
 *  absolute. Sets `path`, and makes the file a shared file of the dataset. */
LC_CHECKED lc_status lc__coco_find(struct lc__dataset *dataset, const char *labels,
    struct lc__coco *coco);

/** Returns the file names of images, one per call, and then NULL. */
typedef const char *(*lc__coco_names)(void *ctx);
/**
 * Find the directory that file names are relative to, malloc'ed. The candidates are:
 * "", images, the directory of the labels, SPLIT and images/SPLIT for
 * "annotations/instances_SPLIT.json", then directories in the root and in images. The
 * first that contains one of the first few files is used; "" if none does.
 */
LC_CHECKED lc_status lc__coco_base(struct lc__dataset *dataset,
    const struct lc__coco *coco, lc__coco_names next, void *ctx, char **out);

/** Read an element of the file. False if the file has become shorter. */
LC_CHECKED lc_status lc__coco_part(const struct lc__coco *coco,
    const struct lc__coco_place *place, struct lc__buf *out);

/** Whether the file has this category, or no categories at all. */
bool lc__coco_has_category(const struct lc__coco *coco, int64_t id);

/** The layout's lc__label_read(). Only the classes of @p out are set before. */
LC_CHECKED lc_status lc__coco_read(const struct lc__dataset *dataset,
    const struct lc__frame *frame, const void *bytes, size_t size, struct lc__label *out);

#endif
