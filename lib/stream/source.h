/* SPDX-License-Identifier: BSD-2-Clause */
/* What a stream reads, from the inside: modules and shards behind one face. */
#ifndef LC_STREAM_SOURCE_H
#define LC_STREAM_SOURCE_H

#include <stdbool.h>

#include "stream/layout.h"

/** The layout that the source stands on now; to be dropped. */
struct lc__layout *lc__source_layout(lc_source *source);

/**
 * The layout of an earlier generation, for a token.
 * @return LC_OK; LC_CHANGED if the source is not so far, or not the same any more.
 */
LC_CHECKED lc_status lc__source_layout_at(lc_source *source,
    uint64_t generation, struct lc__layout **out);

/** Its length field, "" for none; lives as long as the source. */
const char *lc__source_length_field(const lc_source *source);

/** Whether checksums are compared. */
bool lc__source_verifies(const lc_source *source);

/** The module's directory or the path of the shards, for errors. */
const char *lc__source_name(const lc_source *source);

#endif
