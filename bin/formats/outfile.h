/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that appears whole: written under another name beside its place. The path "-"
 * is standard output, which is written as the bytes come. */
#ifndef CACHEX_FORMATS_OUTFILE_H
#define CACHEX_FORMATS_OUTFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/newfile.h"
#include "formats/outgoing.h"

/** A file on its way. LC__OUT_FILE_NONE is closed. */
struct lc__out_file {
	char *path;             /* where it will be */
	struct lc__newfile new; /* closed if it is standard output, and in a dry run */
	int fd;      /* where bytes go; -1 if it is not open, and in a dry run */
	bool stream; /* it is standard output */
	bool force;  /* may replace an existing file */
	unsigned char *buffer; /* small writes wait here */
	size_t used;           /* bytes that wait */
	uint64_t size;         /* bytes in all */
	uint64_t started;      /* of them, those whose writing to disk has begun */
};

#define LC__OUT_FILE_NONE \
	{ \
		.new = LC__NEWFILE_NONE, .fd = -1 \
	}

/** Does this path mean standard output? */
bool lc__out_is_stdout(const char *path);
/** Begin. LC_EXISTS if something is there and how->force is not set; LC_INVALID if it is
 *  no regular file, which is never replaced. With how->dry_run nothing is written. */
LC_CHECKED lc_status lc__out_file_open(const char *path,
    const struct lc__outgoing_how *how, struct lc__out_file *out);
LC_CHECKED lc_status lc__out_file_write(struct lc__out_file *file, const void *data,
    size_t size);
/** Write anew what was written at @p offset, such as a header that is known last; not
 *  on standard output. */
LC_CHECKED lc_status lc__out_file_rewrite(struct lc__out_file *file, uint64_t offset,
    const void *data, size_t size);
/** Put it in place, on disk. Closes it, also on failure. */
LC_CHECKED lc_status lc__out_file_finish(struct lc__out_file *file);
/** Put it in place; it is not on disk before its file system is synced. Closes it. */
LC_CHECKED lc_status lc__out_file_place(struct lc__out_file *file);
/** Give up; what was there stays. Harmless on a closed one. */
void lc__out_file_discard(struct lc__out_file *file);

#endif
