/* SPDX-License-Identifier: BSD-2-Clause */
/* What a COCO file is made of, as it is read: an element at a time, of which little
 * more is kept than where it stands. */
#ifndef CACHEX_LABELS_COCO_ELEMENTS_H
#define CACHEX_LABELS_COCO_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json_tree.h"
#include "labels/coco.h"
#include "lmdbcache.h"

struct lc__coco_image_row {
	int64_t id;
	struct lc__coco_place place;
	uint64_t name; /* offset of its file name in names, 0 without one */
	uint64_t hash; /* of its text */
};

struct lc__coco_annotation {
	int64_t image, category; /* their ids */
	int64_t id;
	bool has_id, has_image;
	struct lc__coco_place place;
	uint64_t hash;
};

struct lc__coco_category {
	int64_t id;
	uint64_t hash; /* of its name */
};

/** A list of elements of one kind. */
struct lc__coco_table {
	void *rows;
	size_t n, room;
};

struct lc__coco_elements {
	struct lc__dataset *dataset;              /* gets the classes */
	const struct lc__coco *coco;              /* the file, open */
	struct lc__coco_table images, categories; /* by their ids */
	struct lc__coco_table annotations;        /* in the order of the file */
	struct lc__buf names;      /* of files, each with a NUL; begins with one */
	struct lc__json_tree tree; /* of an element */
	struct lc__buf compact;    /* an element without blanks */
};

/**
 * Read them all; only dataset and coco are set before.
 * @return LC_OK; LC_CORRUPT, LC_IO, LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__coco_elements_read(struct lc__coco_elements *elements);
void lc__coco_elements_free(struct lc__coco_elements *elements);

/** The image of this id, NULL if there is none. */
const struct lc__coco_image_row *
lc__coco_elements_image(const struct lc__coco_elements *elements, int64_t id);
/** The hash of a category's name; 1 if the file has others but not this one, 0 if it has
 *  none. */
uint64_t lc__coco_elements_category(const struct lc__coco_elements *elements, int64_t id);

#endif
