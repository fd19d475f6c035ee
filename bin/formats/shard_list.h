/* SPDX-License-Identifier: BSD-2-Clause */
/* The archives of a series: those in a directory, and in its bucket_* directories. */
#ifndef CACHEX_FORMATS_SHARD_LIST_H
#define CACHEX_FORMATS_SHARD_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** Paths in the order of their bytes, those in the directory itself first. */
struct lc__shard_list {
	char **paths;
	size_t count, room;
	bool named; /* the one path is the caller's own, not found in a directory */
};

/** Is it the name of a tar archive, compressed or not? */
bool lc__is_tar_name(const char *name);

/** A directory's archives, by their names, regular files or not: opening them
 *  shows that. Anything but a directory is itself the one archive. LC_NO_FILE, LC_IO …
 *  The list is to be freed also on failure. */
LC_CHECKED lc_status lc__shard_list_read(const char *path, struct lc__shard_list *out);

/** Is it a directory with archives, and without files that are imported one by one? */
LC_CHECKED lc_status lc__shard_list_is(const char *path, bool *is);

void lc__shard_list_free(struct lc__shard_list *list);

#endif
