/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a file, a pipe or a terminal, in order. Memory is that of the longest
 * line. A line ends with a newline, which is not part of it. Bytes after the last newline
 * are a line too, if there are any. NUL bytes are ordinary bytes.
 */
#ifndef LC_BASE_LINES_H
#define LC_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/**
 * A reader of lines. The caller sets the first group of members and zeroes the rest;
 * lc__lines_free() frees it. One thread uses it at a time.
 */
struct lc__lines {
	int fd;           /* set by the caller; the first line begins there */
	const char *path; /* for errors; borrowed from the caller */
	size_t limit;     /* limit of a line in bytes without its end; 0: none */
	bool bounded;     /* read the first size bytes of the file, LC_CHANGED if it has
	                   * fewer; else to its end, wherever that is */
	uint64_t size;    /* not less than the offset */
	bool null;        /* lines end with a NUL byte, not with a newline */
	bool skip_mark;   /* U+FEFF before the first line is not part of it */
	/* NULL, or called before each read(2), which may block on a pipe. A status other
	 * than LC_OK is returned to the caller, which may request the line again. */
	lc_status (*wait)(void *ctx);
	void *ctx;

	uint64_t
	    offset; /* in the file, of the next line; also the caller's to begin with */
	uint64_t number; /* of the line that was returned last, from 1; the same */

	char *data;           /* read and not returned yet */
	size_t room, at, end; /* of data: size allocated, begin of the next line, end */
	bool ended;           /* the end of the file is reached */
	bool skipping;        /* the next bytes belong to a line that is too long */
};

/** A line without its end. */
struct lc__text_line {
	char *text; /* a NUL byte follows it; valid, and the caller's to change, until
	               * the next call */
	size_t size;
	bool newline; /* it had an end: false only for a last line without one */
};

/**
 * Read the next line. lines->number and lines->offset are those after it.
 * @return LC_OK; LC_END; LC_INVALID, "PATH: line N is longer than 64 MiB", as soon as
 * that is certain: lines->number counts the line, and the next call continues after its
 * end; LC_CHANGED; the status of wait(); LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__lines_next(struct lc__lines *lines, struct lc__text_line *out);

/**
 * After LC_INVALID: read to the end of that line now, so that lines->offset is that of
 * the next line. Errors as for lc__lines_next(), except that the end of the file is not
 * an error.
 */
LC_CHECKED lc_status lc__lines_skip(struct lc__lines *lines);

/**
 * Move to byte @p offset of the file, where line number + 1 begins, and drop what was
 * read. LC_IO if the file cannot seek.
 */
LC_CHECKED lc_status lc__lines_seek(struct lc__lines *lines, uint64_t offset,
    uint64_t number);

void lc__lines_free(struct lc__lines *lines);

/** Does the line hold only blanks, tabs and carriage returns? */
bool lc__text_line_is_blank(const struct lc__text_line *line);

#endif
