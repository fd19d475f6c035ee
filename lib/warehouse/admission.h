/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a warehouse may be used: what its manifest says before any shard is
 * read. */
#ifndef LC_WAREHOUSE_ADMISSION_H
#define LC_WAREHOUSE_ADMISSION_H

#include "warehouse/warehouse.h"

/** LC_VERSION if it is not the one asked for; LC_INVALID if that is no version. */
LC_CHECKED lc_status lc__admit_version(const struct lc_warehouse *warehouse,
    const char *version);

/** LC_CORRUPT if the version is not the SHA-256 of the recipe, in a manifest that this
 *  project wrote. */
LC_CHECKED lc_status lc__admit_recipe(const struct lc_warehouse *warehouse);

/** LC_FAILED if the summary exceeds the thresholds, unless they only warn. */
LC_CHECKED lc_status lc__admit_thresholds(const struct lc_warehouse *warehouse);

/**
 * Compare the sources; sets info.sources_seen. Differences go to progress->damage.
 * @return LC_OK; LC_STALE; LC_CORRUPT for a damaged list; LC_NOT_FOUND without
 * a list that has to be there; LC_NO_FILE without a dataset that has to be there.
 */
LC_CHECKED lc_status lc__admit_sources(struct lc_warehouse *warehouse,
    const lc_warehouse_options *options);

/** Compare the SHA-256 of rejected.jsonl, and of the sources where they were not to
 *  be looked at. */
LC_CHECKED lc_status lc__admit_texts(const struct lc_warehouse *warehouse,
    const lc_warehouse_options *options);

#endif
