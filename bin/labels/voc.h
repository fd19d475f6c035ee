/* SPDX-License-Identifier: BSD-2-Clause */
/* One annotation of the Pascal VOC layout. */
#ifndef CACHEX_LABELS_VOC_H
#define CACHEX_LABELS_VOC_H

#include "labels/dataset.h"
#include "labels/strings.h"

/** What a frame's number says of its run. */
enum lc__voc_images {
	LC__VOC_IMAGES, /* it has a directory JPEGImages */
	LC__VOC_FOLDER, /* it has not: what the annotation calls folder, or itself */
};

/** lc__label_read() of the layout; @p out is zeroed but for its classes. */
LC_CHECKED lc_status lc__voc_read(const struct lc__dataset *dataset,
    const struct lc__frame *frame, const void *bytes, size_t size, struct lc__label *out);

/**
 * Add the names of the objects in an annotation to @p names, each object's its own, and
 * count those without one. Nothing is added from a text that is no annotation.
 */
LC_CHECKED lc_status lc__voc_names(const struct lc__buf *text, struct lc__strings *names,
    size_t *nameless);

#endif
