/* SPDX-License-Identifier: BSD-2-Clause */
/* What the layouts share: the table of frames that they fill. */
#ifndef CACHEX_LABELS_DATASET_PRIVATE_H
#define CACHEX_LABELS_DATASET_PRIVATE_H

#include "base/buf.h"
#include "base/image_name.h"
#include "labels/class_map.h"
#include "labels/dataset.h"
#include "labels/strings.h"
#include "labels/tree.h"

/** A layout: how its frames are found and its labels are read. */
struct lc__label_layout_row {
	enum lc__label_layout layout;
	const char *name;
	/** Add the frames, in any order, and the directories that were listed.
	 *  @p labels is lc__dataset_open()'s. */
	lc_status (*list)(struct lc__dataset *dataset, const char *labels);
	/** lc__label_read() with @p out zeroed. */
	lc_status (*read)(const struct lc__dataset *dataset,
	    const struct lc__frame *frame, const void *bytes, size_t size,
	    struct lc__label *out);
	/** Free dataset->own; may be NULL. */
	void (*close)(struct lc__dataset *dataset);
};

extern const struct lc__label_layout_row lc__layout_capture, lc__layout_yolo,
    lc__layout_coco, lc__layout_voc, lc__layout_unlabelled;

/** A frame in memory: strings are offsets in text, 0 for none. */
struct lc__frame_row {
	uint64_t name, label, image;
	uint64_t hash, number;
	uint64_t run;
};

struct lc__dataset {
	const struct lc__label_layout_row *layout;
	char *root;
	struct lc__buf text; /* strings of all frames; begins with a NUL */
	struct lc__frame_row *rows;
	size_t n, room;
	struct lc__strings dirs, shared;
	struct lc__strings classes; /* names by class id; NULL if an id has none */
	bool learned; /* they are learned from the labels, not read from a list */
	struct lc__mapping mapping; /* the new classes, as returned by lc__label_read() */
	struct lc__images_ignored ignored; /* images of kinds that are not read */
	/* The lines that lc__dataset_notes() returns. */
	struct lc__strings notes;
	void *own; /* the layout's */
};

/**
 * Add a frame. Its strings are copied; run and name become printable UTF-8; hash
 * and number do not change.
 */
LC_CHECKED lc_status lc__dataset_add(struct lc__dataset *dataset,
    const struct lc__frame *frame);

/** lc__dataset_add() with the stem of the label, or without one of the image. */
LC_CHECKED lc_status lc__dataset_add_files(struct lc__dataset *dataset, const char *run,
    const char *label, const char *image);

/** List a directory, relative to the root, and remember that it was listed. */
LC_CHECKED lc_status lc__dataset_list(struct lc__dataset *dataset, const char *dir,
    struct lc__listing *out);

/**
 * Call @p found for the root and for every directory in it with the listing of its
 * directory @p name, which is empty if there is none: there may still be images. @p run
 * is the directory, "" or "a".
 */
typedef lc_status (*lc__run_found)(struct lc__dataset *dataset, const char *run,
    const char *dir, const struct lc__listing *listing);
LC_CHECKED lc_status lc__dataset_runs(struct lc__dataset *dataset, const char *name,
    lc__run_found found);

/** Add a line for lc__dataset_notes(). */
LC_CHECKED lc_status lc__dataset_note(struct lc__dataset *dataset, const char *format,
    ...) __attribute__((format(printf, 2, 3)));

/** The layout of this number; LC__LAYOUT_AUTO: the one that @p root has, by a look at
 *  its labels. LC_INVALID if there is none, or if it is not clear. */
LC_CHECKED lc_status lc__layout_find(const char *root, enum lc__label_layout layout,
    const struct lc__label_layout_row **out);

#endif
