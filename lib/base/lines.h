/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a file, a pipe or a terminal, one after another. The memory is that of the
 * longest line. A line ends with a newline, which is not part of it. What comes after the
 * last newline is a line too, unless it is empty. NUL bytes are bytes like others.
 */
#ifndef LC_BASE_LINES_H
#define LC_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/**
 * A reader of lines. The caller sets the first part and zeroes the rest;
 * lc__lines_free() frees it. One thread uses it at a time.
 */
struct lc__lines {
	int fd;           /* the caller's, where the first line begins */
	const char *path; /* for errors; the caller's */
	size_t limit;     /* bytes of a line without its end; 0: no limit */
	bool bounded;     /* read the first size bytes of the file, LC_CHANGED if it has
	                   * fewer; else to its end, wherever that is */
	uint64_t size;    /* not less than the offset */
	bool null;        /* lines end with a NUL byte, not with a newline */
	bool skip_mark;   /* U+FEFF before the first line is not part of it */
	/* NULL, or called before each read(2), which may wait for a pipe. Another status
	 * than LC_OK is returned to the caller, who may ask for the line again. */
	lc_status (*wait)(void *ctx);
	void *ctx;

	uint64_t
	    offset; /* in the file, of the next line; also the caller's to begin with */
	uint64_t number; /* of the line that was returned last, from 1; the same */

	char *data;           /* what was read and is not returned yet */
	size_t room, at, end; /* of data: allocated; the next line's begin; the end */
	bool ended;           /* there is nothing left to read */
	bool skipping;        /* what comes next belongs to a line that was too long */
};

/** A line without its end. */
struct lc__text_line {
	char *text; /* a NUL byte follows it; valid, and the caller's to change, until
	               * the next call */
	size_t size;
	bool newline; /* its end was there: false only for a last line that has none */
};

/**
 * The next line. lines->number and lines->offset are those after it.
 * @return LC_OK; LC_END; LC_INVALID, "PATH: line N is longer than 64
 * MiB", as soon as that is certain: lines->number counts the line, and the next call
 * goes on after its end; LC_CHANGED; what wait() returned; LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__lines_next(struct lc__lines *lines, struct lc__text_line *out);

/**
 * After LC_INVALID: read to the end of that line now, so that lines->offset is the next
 * line's. The errors of lc__lines_next(), but the end of the file is none.
 */
LC_CHECKED lc_status lc__lines_skip(struct lc__lines *lines);

/**
 * Go to byte @p offset of the file, where line number + 1 begins. What was read is
 * forgotten. LC_IO for what cannot be sought.
 */
LC_CHECKED lc_status lc__lines_seek(struct lc__lines *lines, uint64_t offset,
    uint64_t number);

void lc__lines_free(struct lc__lines *lines);

/** Has it nothing but blanks, tabs and carriage returns? */
bool lc__text_line_is_blank(const struct lc__text_line *line);

#endif
