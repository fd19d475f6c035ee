/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A source file, read whole, and a description of it that belongs to the bytes read, even
 * if the file is written meanwhile.
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
	LC__INFILE_MISSING, /* the file is missing */
	LC__INFILE_BAD,     /* not a regular file, too large, or changing */
	LC__INFILE_REFUSED, /* the system refuses to read it (EIO, EACCES ...), which says
	                     * nothing about its content: lc_last_error() */
	LC__INFILE_FATAL    /* out of memory or descriptors: lc_last_error() */
};

/** An open file. */
struct lc__infile {
	int fd;
	const char *path; /* relative to the root; borrowed */
	struct stat st;
	char detail[512]; /* for MISSING, BAD and REFUSED: one line that names the file */
};

/** Open @p path below the directory @p root; does not block on a pipe or a device. */
enum lc__infile_fate lc__infile_open(struct lc__infile *file, int root, const char *path,
    uint64_t limit);

/** Append its bytes, and describe the file. */
enum lc__infile_fate lc__infile_read(struct lc__infile *file, struct lc__buf *out,
    struct lc__source_note *note);

/** Does nothing if it is not open. */
void lc__infile_close(struct lc__infile *file);

/** The size of an image as displayed: turned according to its EXIF data unless they are
 *  ignored. */
struct lc__header {
	uint32_t width, height;
	bool ignore_orientation; /* set by the caller */
	uint64_t bytes_read;     /* increased, also on failure */
};

/**
 * Read only as much of the file as its header needs: 256 KiB, or 16 MiB if metadata are
 * that long, or a whole TIFF or WebP file if they are at its end.
 * @param buf  scratch memory, reused for the next file
 * @return LC_OK; as lc__image_probe(); LC_IO.
 */
LC_CHECKED lc_status lc__header_read(const struct lc__infile *file, struct lc__buf *buf,
    struct lc__header *out);

#endif
