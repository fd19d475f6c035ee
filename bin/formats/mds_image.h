/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns of MDS that hold images, as tensors. */
#ifndef CACHEX_FORMATS_MDS_IMAGE_H
#define CACHEX_FORMATS_MDS_IMAGE_H

#include "formats/incoming.h"
#include "formats/mds_column.h"

/**
 * The value of such a column in a sample: a tensor, a list of them, or with how->raw
 * the bytes that are there.
 * @param loaded  for the memory of tensors
 * @param out     owned by the caller
 */
LC_CHECKED lc_status lc__mds_image(enum lc__mds_kind kind, const void *bytes,
    size_t size, const struct lc__incoming_how *how, struct lc__loaded *loaded,
    lc_value **out);

#endif
