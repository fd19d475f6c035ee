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

enum lc__infile_fate {
	LC__INFILE_GOOD,
	LC__INFILE_MISSING, /* there is no such file */
	LC__INFILE_BAD,     /* no regular file, too large, changing */
	LC__INFILE_REFUSED, /* the system does not let it be read (EIO, EACCES …), which
	                        says nothing about its content: lc_last_error() */
	LC__INFILE_FATAL    /* out of memory or descriptors: lc_last_error() */
};

/** A file that is open. */
struct lc__infile {
	int fd;
	const char *path; /* from the root; borrowed */
	struct stat st;
	char detail[512]; /* of MISSING, BAD and REFUSED: one line that names the file */
};

/** Open @p path below the directory @p root; never waits for a pipe or a device. */
enum lc__infile_fate lc__infile_open(struct lc__infile *file, int root, const char *path,
    uint64_t limit);

/** Append its bytes, and describe them. */
enum lc__infile_fate lc__infile_read(struct lc__infile *file, struct lc__buf *out,
    struct lc__source_note *note);

/** Harmless on one that is not open. */
void lc__infile_close(struct lc__infile *file);

/** A picture as it is seen, turned as its EXIF data say unless they are ignored. */
struct lc__header {
	uint32_t width, height;
	bool ignore_orientation; /* set by the caller */
	uint64_t bytes_read;     /* added to, also on failure */
};

/**
 * Read no more of the file than its header needs: 256 KiB, or 16 MiB where metadata
 * are that long, or a whole TIFF or WebP file where they are at its end.
 * @param buf  scratch memory, used again for the next file
 * @return LC_OK; as lc__image_probe(); LC_IO.
 */
LC_CHECKED lc_status lc__header_read(const struct lc__infile *file, struct lc__buf *buf,
    struct lc__header *out);

#endif
