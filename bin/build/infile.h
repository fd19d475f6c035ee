/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A source file, read whole, with a note of what it was: what was read is what the
 * note says, also if somebody writes the file meanwhile.
 */
#ifndef CACHEX_BUILD_INFILE_H
#define CACHEX_BUILD_INFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "build/sample.h"

/** A file whose time is not older than this when it is read may change once more
 *  without a change of its time: time stamps of some file systems are as coarse. */
#define LC__SETTLED_NS INT64_C(2000000000)

enum lc__infile_fate {
	LC__INFILE_GOOD,
	LC__INFILE_MISSING,  /* there is no such file */
	LC__INFILE_BAD,      /* no regular file, too large, changing */
	LC__INFILE_REFUSED,  /* the system does not let it be read (EIO, EACCES …), which
	                        says nothing about its content: lc_last_error() */
	LC__INFILE_FATAL     /* out of memory or descriptors: lc_last_error() */
};

/** A file that is open. */
struct lc__infile {
	int fd;
	const char *path;    /* from the root; borrowed */
	struct stat st;
	char detail[512];    /* of MISSING, BAD and REFUSED: one line that names the file */
};

/** Open @p path below the directory @p root; never waits for a pipe or a device. */
enum lc__infile_fate lc__infile_open(struct lc__infile *file, int root,
    const char *path, uint64_t limit);
/** Append its bytes, and describe them. */
enum lc__infile_fate lc__infile_read(struct lc__infile *file, struct lc__buf *out,
    struct lc__source_note *note);
/** Harmless on one that is not open. */
void lc__infile_close(struct lc__infile *file);

#endif
