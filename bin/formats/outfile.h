/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that an export writes, each of which appears whole. */
#ifndef CACHEX_FORMATS_OUTFILE_H
#define CACHEX_FORMATS_OUTFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/newfile.h"
#include "formats/formats.h"

/** A file that is written under another name beside its place. The path "-" is standard
 *  output, which is written as the bytes come. LC__OUT_FILE_NONE is closed. */
struct lc__out_file {
	char *path;             /* where it will be */
	struct lc__newfile new; /* closed if it is standard output, and in a dry run */
	int fd;      /* where bytes go; -1 if it is not open, and in a dry run */
	bool stream; /* it is standard output */
	bool force;  /* may replace an existing file */
	unsigned char *buffer; /* small writes wait here */
	size_t used;           /* bytes that wait */
	uint64_t size;         /* bytes in all */
	uint64_t started;      /* bytes whose writing to disk has begun */
};

#define LC__OUT_FILE_NONE \
	{ \
		.new = LC__NEWFILE_NONE, .fd = -1 \
	}

/** Does this path mean standard output? */
bool lc__out_is_stdout(const char *path);
/** Begin. LC_EXISTS if something is there and how->force is not set; LC_INVALID if it is
 *  not a regular file, which is never replaced. With how->dry_run nothing is written. */
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

/* ---- directories ----------------------------------------------------------------- */

/** A directory that files go into one by one; all are made durable at once in the end. */
struct lc__out_tree {
	char *path; /* the directory */
	char *made; /* below it: the one that was made last; NULL if none was */
	struct lc__outgoing_how how; /* for files */
	bool new;                    /* the directory was not there */
	uint64_t files;              /* put in place */
	uint64_t bytes;              /* in them */
};

/** Begin: the directory is made, with those above it. LC_EXISTS if it has something
 *  in it and how->force is not set; LC_INVALID if it is not a directory. */
LC_CHECKED lc_status lc__out_tree_begin(const char *path,
    const struct lc__outgoing_how *how, struct lc__out_tree *out);
/** Open a file at a path below it; directories are made as they are needed. LC_IO
 *  if one of them is a symbolic link, or not a directory. */
LC_CHECKED lc_status lc__out_tree_open(struct lc__out_tree *tree, const char *name,
    struct lc__out_file *out);
/** Put a file in place. */
LC_CHECKED lc_status lc__out_tree_place(struct lc__out_tree *tree,
    struct lc__out_file *file);
/** Have everything on disk. Frees the tree, also on failure. */
LC_CHECKED lc_status lc__out_tree_finish(struct lc__out_tree *tree, uint64_t *bytes);
/** Give up; files in place stay, empty directories go if all is new. All zero is
 *  harmless. */
void lc__out_tree_discard(struct lc__out_tree *tree);

/* ---- bytes that wait -------------------------------------------------------------- */

/** Bytes that wait on disk, in a file without a name, until all of them are known. */
struct lc__spill {
	int fd;              /* -1 if it is closed */
	struct lc__buf wait; /* small writes */
	uint64_t size;       /* bytes in all */
};

#define LC__SPILL_NONE \
	{ \
		.fd = -1 \
	}

/** @param dir  where the file is; NULL for where temporary files go */
LC_CHECKED lc_status lc__spill_open(const char *dir, struct lc__spill *out);
LC_CHECKED lc_status lc__spill_write(struct lc__spill *spill, const void *data,
    size_t size);
/** Have all bytes in the file, which @p spill->fd reads. */
LC_CHECKED lc_status lc__spill_flush(struct lc__spill *spill);
/** Append them to a file, and begin anew. */
LC_CHECKED lc_status lc__spill_move(struct lc__spill *spill, struct lc__out_file *to);
/** Harmless on a closed one. */
void lc__spill_close(struct lc__spill *spill);

#endif
