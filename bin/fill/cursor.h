/* SPDX-License-Identifier: BSD-2-Clause */
/* Where in an input shard to go on: MessagePack {"offset": uint, "line": uint}. */
#ifndef CACHEX_FILL_CURSOR_H
#define CACHEX_FILL_CURSOR_H

#include "base/buf.h"
#include "lmdbcache.h"

/** A place between two lines. */
struct lc__line_place {
	uint64_t offset; /* bytes before it */
	uint64_t line;   /* lines before it */
};

/** Append; out->failed tells. */
void lc__cursor_encode(const struct lc__line_place *place, struct lc__buf *out);

/** Of an input's cursor; none at all is the beginning. LC_CORRUPT if it is anything
 *  else than lc__cursor_encode() writes. */
LC_CHECKED lc_status lc__cursor_decode(lc_id cursor, struct lc__line_place *out);

#endif
