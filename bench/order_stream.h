/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream over a module, with what it stands on. */
#ifndef BENCH_ORDER_STREAM_H
#define BENCH_ORDER_STREAM_H

#include <stdbool.h>

#include "lmdbcache.h"

struct order_stream {
	lc_cache *cache;
	lc_source *source;
	lc_stream *stream;
};

/** Open a module, to be read only. */
void order_module_open(struct order_stream *out, const char *root, const char *module);
/** Open the source. */
void order_source_open(struct order_stream *stream, bool verify);
/** Open both, but no stream. */
void order_module_source(struct order_stream *out, const char *root,
    const char *module, bool verify);
/** Open the stream. */
void order_stream_open(struct order_stream *stream, const lc_stream_options *options);
/** Close the stream, if there is one, but not the source. */
void order_stream_end(struct order_stream *stream);
/** Close all. */
void order_stream_close(struct order_stream *stream);

/** A reader of the whole of each batch. */
lc_reader *order_reader(const struct order_stream *stream, unsigned threads);

/** Read an epoch, which has so many records, in the caller's thread: records a second of
 *  processor time. */
double order_epoch(const struct order_stream *stream, uint64_t records);

#endif
