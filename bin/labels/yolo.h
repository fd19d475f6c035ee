/* SPDX-License-Identifier: BSD-2-Clause */
/* One label of the YOLO layout. */
#ifndef CACHEX_LABELS_YOLO_H
#define CACHEX_LABELS_YOLO_H

#include "labels/dataset.h"

/** What a frame's number says of its image. */
enum lc__yolo_image {
	LC__YOLO_IMAGE,      /* it is there */
	LC__YOLO_NO_IMAGE,   /* no image has the stem of the label */
	LC__YOLO_OTHER_KIND, /* one has, of a kind that is not read */
};

/** lc__label_read() of the layout; @p out is zeroed but for its classes. */
LC_CHECKED lc_status lc__yolo_read(const struct lc__dataset *dataset,
    const struct lc__frame *frame, const void *bytes, size_t size, struct lc__label *out);

#endif
