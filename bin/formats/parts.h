/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts under dotted paths, in any order, on their way to become one value: the
 * members of a .npz, the files of a directory, the fields of a command line.
 */
#ifndef CACHEX_FORMATS_PARTS_H
#define CACHEX_FORMATS_PARTS_H

#include "lmdbcache.h"

/** All zero is empty. */
struct lc__parts {
	struct lc__part_node *root; /* NULL while there is none */
};

/**
 * Put a part at a path, which value/path.h describes; @p part is owned from then
 * on, also on failure; NULL is a lack of memory.
 * @return LC_OK; LC_INVALID for a path that is no path, is there twice, or leads
 * through a part; LC_NO_MEMORY. The error does not name the path.
 */
LC_CHECKED lc_status lc__parts_add(struct lc__parts *parts, const char *path,
    lc_value *part);

/**
 * Make the value: maps in the order in which their names came first; where the
 * names are 0, 1 … n-1, in any order, a list. Nothing at all is an empty map.
 * Empties @p parts.
 */
LC_CHECKED lc_status lc__parts_build(struct lc__parts *parts, lc_value **out);

void lc__parts_free(struct lc__parts *parts);

#endif
