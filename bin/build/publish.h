/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Versions of a warehouse as directories: one is built under a hidden name derived from
 * its final one, and is renamed when it is complete. Until then a directory with the
 * final name is not touched.
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

/** The identity of a version. */
struct lc__edition {
	char version[65], fingerprint[65]; /* keys of the version */
	char rejected_sha256[65];          /* SHA-256 of rejected.jsonl */
	char name[LC__VERSION_NAME];       /* name of the version's directory */
	const struct lc__sources *sources; /* sorted; borrowed, as the next */
	const struct lc__summary *summary;
};

/** An existing version. All zero is none. */
struct lc__built_version {
	char *dir; /* malloc'ed */
	struct lc__manifest manifest;
	struct lc__warehouse_about about;
};

/** Read the version to which `current` points. LC_NOT_FOUND if there is none. */
LC_CHECKED lc_status lc__built_version_current(const char *warehouse,
    struct lc__built_version *out);
/** The size of its shards. */
uint64_t lc__built_version_bytes(const struct lc__built_version *built);
void lc__built_version_free(struct lc__built_version *built);

/**
 * Find a version of this edition, of any date: `current`, another one, or one that is
 * complete but still has its hidden name.
 */
LC_CHECKED lc_status lc__built_version_find(const char *warehouse,
    const struct lc__edition *edition, struct lc__built_version *out, bool *is_current);

/** The hidden directory in which an edition is built; malloc'ed, NULL without memory. */
char *lc__publish_place(const char *warehouse, const struct lc__edition *edition);
/** Remove what builds have left in hidden directories; except that of @p edition, unless
 *  it is NULL. */
LC_CHECKED lc_status lc__publish_clean(const char *warehouse,
    const struct lc__edition *edition);
/** Remove files that a killed build has left in a version's directory. */
LC_CHECKED lc_status lc__publish_tidy(const char *place);
/** Rename the complete version in @p place to its name, and point `current` to it. */
LC_CHECKED lc_status lc__publish(const char *warehouse, const char *place,
    const struct lc__edition *edition);

#endif
