/* SPDX-License-Identifier: BSD-2-Clause */
/* The names in a directory that a dataset may take: files with an image's or a
 * label's extension, and subdirectories, these with a "/" behind. No dot files. */
#ifndef LC_WAREHOUSE_DIR_NAMES_H
#define LC_WAREHOUSE_DIR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

struct lc__dir_names {
	char **names; /* malloc'ed */
	size_t n, room;
};

/** Add a name of @p size bytes, unless it is one that does not matter. */
LC_CHECKED lc_status lc__dir_names_add(struct lc__dir_names *names, const char *name,
    size_t size, bool directory);
/** Add those in directory @p path, which is from @p dir. */
LC_CHECKED lc_status lc__dir_names_read(int dir, const char *path,
    struct lc__dir_names *names);
/** Sort, and leave one of each. */
void lc__dir_names_sort(struct lc__dir_names *names);
/** XXH3-128 of the sorted names, each followed by a NUL. */
LC_CHECKED lc_status lc__dir_names_hash(const struct lc__dir_names *names,
    uint64_t hash[2]);
/** Whether the sorted names have this one, with its "/" if it is a directory. */
bool lc__dir_names_has(const struct lc__dir_names *names, const char *name);
void lc__dir_names_free(struct lc__dir_names *names);

#endif
