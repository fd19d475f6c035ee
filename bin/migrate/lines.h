/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of a file, one after another, in memory that the longest one takes. */
#ifndef CACHEX_MIGRATE_LINES_H
#define CACHEX_MIGRATE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** A longer line is an error. */
#define LC__TEXT_LINE_MAX ((size_t)256 << 20)

struct lc__text_lines {
	int fd;             /* the caller's */
	const char *path;   /* for errors; the caller's */
	char *data;         /* malloc'ed */
	size_t room, at, size; /* of data: where the next line begins, where what was read
	                       ends */
	bool ended;         /* nothing is left to read */
	uint64_t offset;    /* in the file, of the next line */
	uint64_t number;    /* of the line that was returned last, from 1 */
};

/** A line, without its end; the first one without the mark U+FEFF before it. Valid until the next call. */
struct lc__record_line {
	const char *text;
	size_t size;
	bool ended; /* a newline follows; the last line may have none */
};

/** Begin at an offset where line number + 1 begins; zero-initialised before. */
LC_CHECKED lc_status lc__text_lines_seek(struct lc__text_lines *lines, uint64_t offset,
    uint64_t number);
/** LC_END at the end of the file; LC_INVALID for a line above LC__TEXT_LINE_MAX. */
LC_CHECKED lc_status lc__text_lines_next(struct lc__text_lines *lines, struct lc__record_line *out);
void lc__text_lines_free(struct lc__text_lines *lines);

/** Nothing but blanks? */
bool lc__record_line_is_blank(const struct lc__record_line *line);

#endif
