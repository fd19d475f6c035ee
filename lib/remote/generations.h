/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generations of a store, and the manifests of the parts that they name, read and
 * checked: cachex-store(5). A named object that is missing is damage: LC_CORRUPT, which
 * names it.
 */
#ifndef LC_REMOTE_GENERATIONS_H
#define LC_REMOTE_GENERATIONS_H

#include <stdint.h>

#include "base/buf.h"
#include "format/manifest.h"
#include "lmdbcache.h"
#include "objects/objects.h"

/** Most bytes of a manifest. */
#define LC__STORED_MANIFEST ((uint64_t)1 << 30)

/** The generations, from the oldest to the newest. */
struct lc__generations {
	struct lc__generation {
		uint64_t number, time_ms, bytes;
	} * all; /* malloc'ed */
	size_t n, room;
};

/**
 * List them. A listing may not yet have one published a moment ago: so the number after
 * the last one listed is also tried.
 */
LC_CHECKED lc_status lc__generations_list(struct lc__objects *store,
    struct lc__generations *out);

/** Read one. LC_NO_FILE if the number does not exist, else as above.
 *  @param text  gets its bytes too; or NULL */
LC_CHECKED lc_status lc__generation_read(struct lc__objects *store, uint64_t number,
    struct lc__buf *text, struct lc__manifest *out);

/** Read the manifest of a part, whose bytes are compared with their name.
 *  @param text  gets them too; or NULL */
LC_CHECKED lc_status lc__part_read(struct lc__objects *store, const char *sha256,
    struct lc__buf *text, struct lc__manifest *out);

#endif
