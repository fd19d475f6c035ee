/* SPDX-License-Identifier: BSD-2-Clause */
/* The content of directories, sorted. Works on names, not on their meaning. */
#ifndef CACHEX_LABELS_TREE_H
#define CACHEX_LABELS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** How deep lc__tree_walk() follows directories. */
#define LC__TREE_DEPTH 64

struct lc__entry {
	char *name;
	bool dir; /* a directory or a link to one, else a file */
};

/** One directory, ordered by lc__order_names(). */
struct lc__listing {
	struct lc__entry *entries;
	size_t n, room;
};

/**
 * List @p dir, from @p root, "" for the root itself. Names that begin with a dot
 * are left out; a link is what it leads to. One to nothing is a file if it has the name
 * of an image or a label, else LC_IO. Whatever is not a directory counts as a file, which its
 * reader opens with lc__open_regular() or refuses as that does.
 * @return LC_OK; LC_NO_FILE if it is not a directory; LC_PERMISSION, LC_IO,
 * LC_NO_MEMORY. Free with lc__listing_free(), also on failure.
 */
LC_CHECKED lc_status lc__listing_read(const char *root, const char *dir,
    struct lc__listing *out);
void lc__listing_free(struct lc__listing *listing);
/** The entry with this name, or NULL. */
const struct lc__entry *lc__listing_find(const struct lc__listing *listing,
    const char *name);

/** Is @p dir, from @p root, a directory or a link to one? False without permission to
 *  look. LC_IO, LC_NO_MEMORY … */
LC_CHECKED lc_status lc__tree_is_dir(const char *root, const char *dir, bool *out);
/** Is @p path, from @p root, a file or a link to one? As lc__tree_is_dir(). */
LC_CHECKED lc_status lc__tree_is_file(const char *root, const char *path, bool *out);

typedef lc_status (
    *lc__tree_visit)(void *ctx, const char *dir, const struct lc__listing *listing);

/**
 * Visit the root and every directory below it, each before those in it. A link
 * back to a directory that is being walked is left out.
 * @return what @p visit returned first that is not LC_OK; LC_INVALID for nesting
 * deeper than LC__TREE_DEPTH; what lc__listing_read() returns
 */
LC_CHECKED lc_status lc__tree_walk(const char *root, lc__tree_visit visit, void *ctx);

#endif
