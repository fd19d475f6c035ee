/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of one file in an archive or a database, as a value. */
#ifndef CACHEX_FORMATS_PAYLOAD_H
#define CACHEX_FORMATS_PAYLOAD_H

#include "formats/incoming.h"

/** What bytes are. */
enum lc__payload_kind { LC__PAYLOAD_OTHER, LC__PAYLOAD_NPY, LC__PAYLOAD_IMAGE };

/** By its first bytes. */
enum lc__payload_kind lc__payload_kind_of(const void *bytes, size_t size);

/**
 * A .npy file or an image as a tensor; with how->raw images as bytes, and anything
 * else too, which otherwise is LC_UNSUPPORTED. Takes @p bytes over, which are empty
 * afterwards in any case.
 * @param out   memory of the tensor goes here; its value is not touched
 * @param part  the value, owned by the caller
 */
LC_CHECKED lc_status lc__payload_load(struct lc__buf *bytes,
    const struct lc__incoming_how *how, struct lc__loaded *out, lc_value **part);

#endif
