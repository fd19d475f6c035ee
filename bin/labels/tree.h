/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the contents of directories, sorted. */
#ifndef CACHEX_LABELS_TREE_H
#define CACHEX_LABELS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** The depth to which lc__tree_walk() follows directories. */
#define LC__TREE_DEPTH 64

struct lc__entry {
	char *name;
	bool dir; /* a directory, or a link to one */
};

/** The entries of one directory, ordered by lc__order_names(). */
struct lc__listing {
	struct lc__entry *entries;
	size_t n, room;
};

/**
 * List @p dir, which is relative to @p root; "" is the root itself. Names that begin
 * with a dot are left out. Links are followed; a dangling link counts as a file if its
 * name is that of an image or a label, and is LC_IO otherwise. All entries but
 * directories count as files: their reader opens them with lc__open_regular(), or
 * refuses them as that does.
 * @return LC_OK; LC_NO_FILE if it is not a directory; LC_PERMISSION, LC_IO,
 * LC_NO_MEMORY. Free with lc__listing_free(), also after a failure.
 */
LC_CHECKED lc_status lc__listing_read(const char *root, const char *dir,
    struct lc__listing *out);
void lc__listing_free(struct lc__listing *listing);
/** The entry with this name, or NULL. */
const struct lc__entry *lc__listing_find(const struct lc__listing *listing,
    const char *name);

/** Whether @p dir, relative to @p root, is a directory or a link to one. False without
 *  permission to examine it. LC_IO, LC_NO_MEMORY */
LC_CHECKED lc_status lc__tree_is_dir(const char *root, const char *dir, bool *out);
/** Whether @p path, relative to @p root, is a file or a link to one; otherwise as
 *  lc__tree_is_dir(). */
LC_CHECKED lc_status lc__tree_is_file(const char *root, const char *path, bool *out);

typedef lc_status (
    *lc__tree_visit)(void *ctx, const char *dir, const struct lc__listing *listing);

/**
 * Visit the root and all directories below it, parents first. A link back to a
 * directory on the way to it is skipped.
 * @return the first status of @p visit that is not LC_OK; LC_INVALID for nesting deeper
 * than LC__TREE_DEPTH; the errors of lc__listing_read()
 */
LC_CHECKED lc_status lc__tree_walk(const char *root, lc__tree_visit visit, void *ctx);

#endif
