/* SPDX-License-Identifier: BSD-2-Clause */
/* One file of a WebDataset's sample as a value, by what its extension says. */
#ifndef CACHEX_FORMATS_WEBDATASET_MEMBER_H
#define CACHEX_FORMATS_WEBDATASET_MEMBER_H

#include "formats/incoming.h"

/**
 * Read a file. Pickled data is never loaded; with how->raw it is kept as bytes, as
 * are images and what has no type here.
 * @param bytes  empty afterwards in any case
 * @param out    memory of tensors goes here; its value is not touched
 * @param part   the value, owned by the caller
 * @return LC_OK; LC_UNSUPPORTED; LC_CORRUPT and LC_INVALID for what is not of the
 * type that it claims; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__wds_load(const char *extension, struct lc__buf *bytes,
    const struct lc__incoming_how *how, struct lc__loaded *out, lc_value **part);

#endif
