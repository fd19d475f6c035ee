/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory that files go into one by one, each appearing whole; all are made
 * durable at once in the end. */
#ifndef CACHEX_FORMATS_OUTTREE_H
#define CACHEX_FORMATS_OUTTREE_H

#include "formats/outfile.h"

struct lc__out_tree {
	char *path; /* the directory */
	char *made; /* below it: the one that was made last; NULL if none was */
	struct lc__outgoing_how how; /* for files */
	bool new;                    /* the directory was not there */
	uint64_t files;              /* put in place */
	uint64_t bytes;              /* in them */
};

/** Begin: the directory is made, with those above it. LC_EXISTS if it has something
 *  in it and how->force is not set; LC_INVALID if it is no directory. */
LC_CHECKED lc_status lc__out_tree_begin(const char *path,
    const struct lc__outgoing_how *how, struct lc__out_tree *out);
/** Open a file at a path below it; directories are made as they are needed. LC_IO
 *  where one of them is a symbolic link, or is none. */
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

#endif
