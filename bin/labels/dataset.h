/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a labelled dataset, whatever its layout. Opening a dataset lists its
 * frames, in order, from directories (and from COCO's file). Labels are read later, one
 * per call, by any thread. An open dataset takes the names of each frame and some 64
 * bytes.
 */
#ifndef CACHEX_LABELS_DATASET_H
#define CACHEX_LABELS_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/image_name.h"
#include "labels/class_map.h"
#include "labels/label.h"
#include "lmdbcache.h"

enum lc__label_layout {
	LC__LAYOUT_AUTO = 0,  /* detected; an error if it is ambiguous */
	LC__LAYOUT_CAPTURE,   /* <root>/<run>/labels/ *.json */
	LC__LAYOUT_YOLO,      /* <root>/[<run>/]images/ and labels/ *.txt */
	LC__LAYOUT_COCO,      /* one JSON file of annotations */
	LC__LAYOUT_VOC,       /* <root>/Annotations/ *.xml and JPEGImages/ */
	LC__LAYOUT_UNLABELLED /* images anywhere below the root */
};

/** "auto", "capture", "yolo", "coco", "voc", "unlabelled". */
const char *lc__layout_name(enum lc__label_layout layout);

/** A frame whose label has not been read. Its strings belong to the dataset. */
struct lc__frame {
	const char *run; /* name of the run; "" in datasets without runs */
	/* Name of the label or image without its extension; unique in the run. Run and
	 * name are UTF-8 without control characters: other bytes are written \xNN. */
	const char *name;
	/* Path of the label file from the root, as in the file system; NULL if the
	 * frame has no label file of its own. */
	const char *label_path;
	/* Path of the image from the root, as in the file system; NULL if only the
	 * label has it. */
	const char *image_path;
	/* Hash of the part of the label that is not in label_path: its part of a shared
	 * file, and the list from which classes get their ids. 0 if there is none. */
	uint64_t label_hash;
	uint64_t number; /* for the dataset's use: the position of the label */
};

struct lc__dataset;

/**
 * List the frames below @p root, ordered by (run, name): digits in names compare as
 * numbers ("f2" before "f10"), other characters as bytes.
 * @param labels  COCO's file, from the root or absolute; NULL looks for annotations/
 *                *.json and *.json, of which there must be one. Other layouts: NULL
 * @return LC_OK; LC_INVALID for an invalid dataset, or one without frames; LC_NO_FILE,
 * LC_PERMISSION, LC_CORRUPT (COCO's file), LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__dataset_open(const char *root, enum lc__label_layout layout,
    const char *labels, struct lc__dataset **out);
enum lc__label_layout lc__dataset_layout(const struct lc__dataset *dataset);
uint64_t lc__dataset_frames(const struct lc__dataset *dataset);
void lc__dataset_frame(const struct lc__dataset *dataset, uint64_t i,
    struct lc__frame *out);
/** The directories that were listed, relative to the root ("" is the root), sorted.
 *  Listing them again later shows files that appeared or disappeared. */
size_t lc__dataset_dirs(const struct lc__dataset *dataset, const char *const **out);
/** Label files that frames share (COCO's file, lists of classes), relative to the root
 *  or absolute. */
size_t lc__dataset_shared(const struct lc__dataset *dataset, const char *const **out);

/**
 * Apply a class map (class_map.h) to all labels read from now on. The map becomes part
 * of label_hash. Call this once, before any label is read.
 * @return as lc__mapping_make(); LC_INVALID for a layout without classes
 */
LC_CHECKED lc_status lc__dataset_map_classes(struct lc__dataset *dataset,
    const struct lc__class_map *map);

/** Names of classes by id, NULL for an id without one; returns 0 if no names are known.
 *  With a map the new names. */
size_t lc__dataset_classes(const struct lc__dataset *dataset, const char *const **out);

/** Do the names come from the labels themselves? Then another label may change the ids of
 *  the same names. */
bool lc__dataset_learned(const struct lc__dataset *dataset);

/** Images of kinds that are not read, which are not frames. Borrowed. */
const struct lc__images_ignored *lc__dataset_ignored(const struct lc__dataset *dataset);

/** What a user should know of the dataset that is not a reason to refuse it, a line
 *  each, such as how many images of kinds that are not read were ignored. */
size_t lc__dataset_notes(const struct lc__dataset *dataset, const char *const **out);

/** A larger label file is rejected as unparsable. */
#define LC__LABEL_MAX_BYTES (64ull << 20)

/**
 * Parse a frame's label from the bytes of its label file (NULL, 0 where the
 * frame has none). Any thread. A bad label is a reason in @p out, not a failure.
 * @return LC_OK, or LC_NO_MEMORY. Free with lc__label_free() in any case.
 */
LC_CHECKED lc_status lc__label_read(const struct lc__dataset *dataset,
    const struct lc__frame *frame, const void *bytes, size_t size, struct lc__label *out);

void lc__dataset_close(struct lc__dataset *dataset);

#endif
