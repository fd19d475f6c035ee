/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that read and decode files ahead, handed over in the files' order. */
#ifndef CACHEX_CMD_DECODE_H
#define CACHEX_CMD_DECODE_H

#include "formats/incoming.h"
#include "cmd/sources.h"

struct decode;

/** Begin with @p threads threads; NULL without memory or threads. */
struct decode *decode_begin(const struct sources *sources,
    const struct lc__incoming_how *how, unsigned threads);
/**
 * The next source, for lc__loaded_free(); the error stands in lc_last_error() of
 * the calling thread.
 */
LC_CHECKED lc_status decode_next(struct decode *decode, struct lc__loaded *out);
/** Stop, also before the last one. NULL is harmless. */
void decode_end(struct decode *decode);

#endif
