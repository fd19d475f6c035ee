/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of an import: found, named, and free of duplicates. */
#ifndef CACHEX_CMD_SOURCES_H
#define CACHEX_CMD_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/image_name.h"
#include "lmdbcache.h"

struct source {
	char *path;    /* to open */
	size_t below;  /* where in it the part below the given directory begins */
	char *id;      /* its cache_id */
	size_t id_size;
	size_t order;  /* position in the import */
	bool named;    /* by the user: it may be a pipe or a device, unlike what a
	                  directory has */
};

struct sources {
	struct source *items;
	size_t count, room;
	bool keep_going;     /* go on after directories that cannot be read */
	uint64_t unreadable; /* such directories, and what cannot be told from one */
	struct lc__images_ignored ignored; /* in directories */
};

/**
 * Append a file, or all .npy files and images of kinds that are read below a directory in
 * byte order; images of other kinds are counted. Reports what cannot be read; an exit
 * status. What is no regular file, or may be none, is appended as well: its reader
 * reports it.
 */
int sources_add(struct sources *sources, const char *path);
/**
 * Give every source its cache_id. Reports ids that are empty or too long, and
 * every two sources of one id; an exit status.
 */
int sources_name(struct sources *sources, const char *pattern);
/** Take out those for which @p fn returns true; how many. */
size_t sources_drop(struct sources *sources,
    bool (*fn)(void *ctx, const struct source *source), void *ctx);
void sources_free(struct sources *sources);

#endif
