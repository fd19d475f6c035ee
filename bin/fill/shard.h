/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An input shard: a regular file of lines, read from any place between two of them.
 *
 * A line ends with a newline, which is not part of it, nor is a carriage return right
 * before that. What stands behind the last newline is a line too, unless it is nothing.
 * Everything else counts, NUL bytes too.
 *
 * Of a JSONL shard and of a list of files, lines of nothing but blanks are passed over;
 * of text they are lines.
 */
#ifndef CACHEX_FILL_SHARD_H
#define CACHEX_FILL_SHARD_H

#include <stdbool.h>

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

#define LC__LINE_MAX ((size_t)64 << 20)

/** What the lines are. */
enum lc__shard_kind {
	LC__SHARD_TEXT,  /* any bytes */
	LC__SHARD_JSONL, /* a JSON object each */
	LC__SHARD_FILES  /* the path of a file each */
};

/** The kind that a name tells: JSONL for .jsonl and .ndjson, else text. */
enum lc__shard_kind lc__shard_kind_of(const char *path);

/** What a line is called in a request: "json", "path" or "text". */
const char *lc__shard_key(enum lc__shard_kind kind);

/** A line, valid until the next call with the shard. */
struct lc__line {
	const unsigned char *data;
	size_t size;
	uint64_t number;              /* from 0, those that are passed over included */
	struct lc__line_place behind; /* where the next one begins */
};

struct lc__shard;

/**
 * Open a shard at a place where a line begins. It is read up to the size that it has
 * then.
 * @return LC_OK; LC_STALE if no line begins there; LC_INVALID if it is not a regular file;
 * LC_NO_FILE, LC_PERMISSION, LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__shard_open(const char *path, enum lc__shard_kind kind,
    const struct lc__line_place *at, struct lc__shard **out);

/**
 * The next line.
 * @return LC_OK; LC_END at the end, and out->behind is that; LC_INVALID for a line that is too long, or
 * for its kind: a list's with a NUL byte, a JSONL shard's that is no object. Then
 * everything is told of it but its bytes, and the next call goes on behind it.
 * LC_CHANGED if the file became shorter; LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__shard_next(struct lc__shard *shard, struct lc__line *out);

/** NULL is harmless. */
void lc__shard_close(struct lc__shard *shard);

#endif
