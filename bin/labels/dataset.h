/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a labelled dataset, whatever layout it has.
 *
 * Opening lists the frames, in order, from directories (and COCO's one file);
 * reading a frame's label is a call of its own, which any thread may make. A
 * frame costs its names and some 64 bytes while the dataset is open.
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

/** A frame before its label is read. Borrowed from the dataset. */
struct lc__frame {
	const char *run;        /* name of its run, "" where a dataset has no runs */
	const char *name;       /* unique in its run: the label's or image's name
	                           without its extension. Both are UTF-8 without
	                           control characters: such bytes are \xNN */
	const char *label_path; /* relative to the root, as in the file system; NULL if it
	                         * has no label file of its own */
	const char *image_path; /* the same; NULL if only the label knows it */
	uint64_t label_hash;    /* of what its label says that is not in label_path:
	                           its part of a shared file, where classes get their
	                           numbers from; else 0 */
	uint64_t number;        /* for the dataset: the position of its label */
};

struct lc__dataset;

/**
 * List the frames below @p root, ordered by (run, name): digits in names compare
 * as numbers ("f2" before "f10"), then bytes.
 * @param labels  COCO: its file, from the root or absolute; NULL looks for annotations/
 *                *.json or *.json, of which there must be one. Other layouts have none:
 *                NULL
 * @return LC_OK; LC_INVALID for an invalid dataset, or one without frames;
 * LC_NO_FILE, LC_PERMISSION, LC_CORRUPT (COCO's file), LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__dataset_open(const char *root, enum lc__label_layout layout,
    const char *labels, struct lc__dataset **out);
enum lc__label_layout lc__dataset_layout(const struct lc__dataset *dataset);
uint64_t lc__dataset_frames(const struct lc__dataset *dataset);
void lc__dataset_frame(const struct lc__dataset *dataset, uint64_t i,
    struct lc__frame *out);
/** Directories that were listed, relative to the root ("" is the root itself), sorted;
 *  they are compared later to find files that appear or disappear. */
size_t lc__dataset_dirs(const struct lc__dataset *dataset, const char *const **out);
/** Label files shared by frames (COCO's, lists of classes), relative to the root or
 *  absolute. */
size_t lc__dataset_shared(const struct lc__dataset *dataset, const char *const **out);

/**
 * Let labels that are read from now on have the classes of a map: see class_map.h. It
 * becomes a part of what label_hash says. Call it once, before any label is read.
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
