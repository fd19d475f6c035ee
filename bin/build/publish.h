/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Versions of a warehouse as directories: one is built aside, under a hidden name
 * that says what it will be, and takes its own name when it is whole. Until then the
 * directory that has this name is not touched.
 */
#ifndef CACHEX_BUILD_PUBLISH_H
#define CACHEX_BUILD_PUBLISH_H

#include <stdbool.h>

#include "format/manifest.h"
#include "format/summary.h"
#include "lmdbcache.h"
#include "warehouse/about.h"
#include "warehouse/place.h"
#include "warehouse/sources.h"

/** What a version is made of. */
struct lc__edition {
	char version[65], fingerprint[65]; /* its keys */
	char rejected_sha256[65];          /* of the frames that are not in it */
	char name[LC__VERSION_NAME];       /* of its directory */
	const struct lc__sources *sources; /* sorted; borrowed, as the next */
	const struct lc__summary *summary;
};

/** A version that is there. Zeroed is none. */
struct lc__built_version {
	char *dir; /* malloc'ed */
	struct lc__manifest manifest;
	struct lc__warehouse_about about;
};

/** Read what `current` points to, whatever it is. LC_NOT_FOUND if there is none. */
LC_CHECKED lc_status lc__built_version_current(const char *warehouse,
    struct lc__built_version *out);
/** Bytes of its shards. */
uint64_t lc__built_version_bytes(const struct lc__built_version *built);
void lc__built_version_free(struct lc__built_version *built);

/**
 * Any version of this edition, whatever its day: `current`, another one, or one
 * that is whole but still has its hidden name.
 */
LC_CHECKED lc_status lc__built_version_find(const char *warehouse,
    const struct lc__edition *edition, struct lc__built_version *out, bool *is_current);

/** The hidden directory to build an edition in; malloc'ed, NULL without memory. */
char *lc__publish_place(const char *warehouse, const struct lc__edition *edition);
/** Remove what builds have left in hidden directories; but for that of @p edition,
 *  unless it is NULL. */
LC_CHECKED lc_status lc__publish_clean(const char *warehouse,
    const struct lc__edition *edition);
/** Remove from a version's directory what a killed build has left beside its files. */
LC_CHECKED lc_status lc__publish_tidy(const char *place);
/** Give what is whole in @p place its name, and point `current` to it. */
LC_CHECKED lc_status lc__publish(const char *warehouse, const char *place,
    const struct lc__edition *edition);

#endif
