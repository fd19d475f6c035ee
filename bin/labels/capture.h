/* SPDX-License-Identifier: BSD-2-Clause */
/* One frame of the capture layout. */
#ifndef CACHEX_LABELS_CAPTURE_H
#define CACHEX_LABELS_CAPTURE_H

#include "labels/dataset.h"

/** lc__label_read() of the layout; @p out is zeroed but for its classes. */
LC_CHECKED lc_status lc__capture_read(const struct lc__dataset *dataset,
    const struct lc__frame *frame, const void *bytes, size_t size, struct lc__label *out);

#endif
