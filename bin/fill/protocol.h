/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to producers: frames of cachex-producer(5), as bytes. */
#ifndef CACHEX_FILL_PROTOCOL_H
#define CACHEX_FILL_PROTOCOL_H

#include "base/buf.h"
#include "fill/items.h"

/** The version that producers are told of in CACHEX_PROTOCOL. */
#define LC__PROTOCOL 1

/** A frame begins with the bytes of its object, u32. */
#define LC__FRAME_HEAD 4

/**
 * Append the frame that asks for the items of a portion.
 * @return LC_OK; LC_UNSUPPORTED if they do not fit into a frame; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__request_write(const struct lc__portion *portion,
    uint64_t number, struct lc__buf *out);

#endif
