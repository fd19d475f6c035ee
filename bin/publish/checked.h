/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that are compared with their SHA-256 while they go to a store, before they get a
 * name there: only what is whole and right is ever named. */
#ifndef CACHEX_PUBLISH_CHECKED_H
#define CACHEX_PUBLISH_CHECKED_H

#include <stdbool.h>

#include "base/team.h"
#include "lmdbcache.h"
#include "objects/objects.h"

/** Bytes that have a SHA-256. */
struct lc__source {
	struct lc__body body;
	const char *sha256;    /* hex */
	const char *what;      /* for messages: the file or the object */
	struct lc__team *team; /* told of the bytes, or NULL */
};

/** Put them. LC_CORRUPT, and nothing is named, if they are others; else as put_new() or, to
 *  @p replace, as put(). */
LC_CHECKED lc_status lc__put_checked(struct lc__objects *store, const char *name,
    const struct lc__source *source, bool replace);
/** Read and compare them. LC_CORRUPT if they are others. */
LC_CHECKED lc_status lc__compare(const struct lc__source *source);

/** The bytes of a file, read with pread(2); @p fd stays the caller's. */
struct lc__body lc__body_of_file(const int *fd, uint64_t size);

/** An object. */
struct lc__stored_object {
	struct lc__objects *store;
	const char *name;
};

/** Its bytes. */
struct lc__body lc__body_of_object(const struct lc__stored_object *stored, uint64_t size);

#endif
