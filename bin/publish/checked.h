/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that are compared with their SHA-256 on the way to a store, before they get a
 * name there: only complete and correct objects are ever named. */
#ifndef CACHEX_PUBLISH_CHECKED_H
#define CACHEX_PUBLISH_CHECKED_H

#include <stdbool.h>

#include "base/team.h"
#include "lmdbcache.h"
#include "objects/objects.h"

/** Bytes with a known SHA-256. */
struct lc__source {
	struct lc__body body;
	const char *sha256;    /* hex */
	const char *what;      /* for messages: the file or the object */
	struct lc__team *team; /* counts the bytes, or NULL */
};

/** Put them. LC_CORRUPT, and nothing is named, if they differ; else as put_new() or, to
 *  @p replace, as put(). */
LC_CHECKED lc_status lc__put_checked(struct lc__objects *store, const char *name,
    const struct lc__source *source, bool replace);
/** The bytes of a file, read with pread(2); the caller keeps @p fd. */
struct lc__body lc__body_of_file(const int *fd, uint64_t size);

/** An object with a known SHA-256. */
struct lc__stored_object {
	struct lc__objects *store;
	const char *name;
	uint64_t size;
	const char *sha256;    /* hex */
	struct lc__team *team; /* counts the bytes, or NULL */
};

/**
 * Read an object, compare it, and pass its bytes on as they arrive.
 * @param sink  NULL: only compare it
 * @return LC_CORRUPT if it differs, LC_NO_FILE if it is missing; else as get(). After a
 * failure discard everything that the sink got.
 */
LC_CHECKED lc_status lc__get_checked(const struct lc__stored_object *wanted,
    const struct lc__object_sink *sink);

#endif
