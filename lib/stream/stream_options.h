/* SPDX-License-Identifier: BSD-2-Clause */
/* What a caller asks of a stream, checked and made plain. */
#ifndef LC_STREAM_OPTIONS_H
#define LC_STREAM_OPTIONS_H

#include "lmdbcache.h"

#define LC__MOST_IDEALISED 65536u
#define LC__MOST_WEIGHT ((uint64_t)1 << 32)

/**
 * Check options for so many sources; @p given NULL for the defaults. What is left to
 * a default is filled in: @p out->stride of windows is above 0.
 */
LC_CHECKED lc_status lc__stream_options_take(const lc_stream_options *given,
    size_t sources, lc_stream_options *out);

/** The hash of what makes the order; see lmdbcache_stream(3). @p length_fields has one
 *  name a source. */
LC_CHECKED lc_status lc__stream_order_hash(const lc_stream_options *options,
    size_t sources, const char *const *length_fields, uint64_t *out);

#endif
