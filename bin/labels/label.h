/* SPDX-License-Identifier: BSD-2-Clause */
/* Filling a struct lc__label: what the readers of all layouts do. */
#ifndef CACHEX_LABELS_LABEL_H
#define CACHEX_LABELS_LABEL_H

#include "labels/dataset.h"

/**
 * Say why the frame is no sample: "FILE: TEXT", as one line of UTF-8, and drop its
 * boxes and extra. The start of a very long FILE is left out.
 * @return LC_OK, so that a reader can write `return lc__label_reject(...)`
 */
lc_status lc__label_reject(struct lc__label *label, enum lc__reject reason,
    const char *file, const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Forget the boxes and the metadata. */
void lc__label_free_boxes(struct lc__label *label);

/** A new box at the end, zero but for class_id -1; NULL without memory. */
struct lc__label_box *lc__label_add(struct lc__label *label);

/**
 * Set the path of the image: @p path as it stands in the label, below @p dir, both
 * from the root. An absolute path, or one that leaves the root, is a rejection.
 */
LC_CHECKED lc_status lc__label_image(struct lc__label *label, const char *file,
    const char *dir, const char *path);

#endif
