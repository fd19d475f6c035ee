/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An input shard: a regular file of lines, read from any position between two lines. A
 * line ends with a newline, which is not part of it, nor is a carriage return right
 * before it. Bytes after the last newline are a line too, if there are any. All other
 * bytes count, including NUL. In a JSONL shard and in a list of files, blank lines are
 * skipped; in text they are lines.
 */
#ifndef CACHEX_FILL_SHARD_H
#define CACHEX_FILL_SHARD_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** A position between two lines. */
struct lc__line_place {
	uint64_t offset; /* bytes before it */
	uint64_t line;   /* lines before it */
};

/** Append it; check out->failed. */
void lc__cursor_encode(const struct lc__line_place *place, struct lc__buf *out);

/** The position in an input's cursor; an empty cursor is the beginning. LC_CORRUPT if
 *  lc__cursor_encode() has not written it. */
LC_CHECKED lc_status lc__cursor_decode(lc_id cursor, struct lc__line_place *out);

#define LC__LINE_MAX ((size_t)64 << 20)

/** What the lines are. */
enum lc__shard_kind {
	LC__SHARD_TEXT,  /* any bytes */
	LC__SHARD_JSONL, /* a JSON object each */
	LC__SHARD_FILES  /* the path of a file each */
};

/** The kind of a file by its name: JSONL for .jsonl and .ndjson, else text. */
enum lc__shard_kind lc__shard_kind_of(const char *path);

/** The name of a line in a request: "json", "path" or "text". */
const char *lc__shard_key(enum lc__shard_kind kind);

/** A line, valid until the next call with the shard. */
struct lc__line {
	const unsigned char *data;
	size_t size;
	uint64_t number;              /* from 0, skipped ones included */
	struct lc__line_place behind; /* where the next one begins */
};

struct lc__shard;

/**
 * Open a shard at the beginning of a line. It is read up to its present size.
 * @return LC_OK; LC_STALE if no line begins there; LC_INVALID if it is not a regular
 * file; LC_NO_FILE, LC_PERMISSION, LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__shard_open(const char *path, enum lc__shard_kind kind,
    const struct lc__line_place *at, struct lc__shard **out);

/**
 * Get the next line.
 * @return LC_OK; LC_END at the end, which is then out->behind; LC_INVALID for a line that
 * is too long or wrong for its kind: in a list a line with a NUL byte, in a JSONL shard a
 * line that is not an object. Then all members but its bytes are set, and the next call
 * continues after it. LC_CHANGED if the file became shorter; LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__shard_next(struct lc__shard *shard, struct lc__line *out);

/** NULL is allowed. */
void lc__shard_close(struct lc__shard *shard);

#endif
