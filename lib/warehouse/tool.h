/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions for the tool that are not in lmdbcache.h. This header includes no other
 * internal one, so that the tool sees none of the library's structs.
 */
#ifndef LC_WAREHOUSE_TOOL_H
#define LC_WAREHOUSE_TOOL_H

#include "lmdbcache.h"

struct lc__manifest;
struct lc__manifest_shard;
struct lc__warehouse_about;

/** Read only what the manifest says, which may be of a warehouse that cannot be opened:
 *  it has no shards, no samples, no info. LC_UNSUPPORTED for a manifest of parts. Close with
 *  lc_warehouse_close(). */
LC_CHECKED lc_status lc__warehouse_read(const char *path, lc_warehouse **out);

/* What is borrowed here is valid until lc_warehouse_close(). */

/** The directory of the version. */
const char *lc__warehouse_dir(const lc_warehouse *warehouse);
const char *lc__warehouse_manifest_path(const lc_warehouse *warehouse);
const struct lc__manifest *lc__warehouse_manifest(const lc_warehouse *warehouse);
/** The member `warehouse` of the manifest; NULL if it has none. */
const struct lc__warehouse_about *lc__warehouse_about(const lc_warehouse *warehouse);
/** Bytes of the file of shard @p i of the manifest, in a warehouse that is open. */
uint64_t lc__warehouse_shard_bytes(const lc_warehouse *warehouse, size_t i);
/* ---- checks of the manifest, before any shard is read ---------------------------- */
LC_CHECKED lc_status lc__warehouse_shard(const lc_warehouse *warehouse, size_t i,
    struct lc__manifest_shard *out);
/** LC_FAILED if the summary exceeds the thresholds, unless they only warn. */
LC_CHECKED lc_status lc__warehouse_shard_info(lc_warehouse *warehouse, size_t i,
    lc_shard_info *out);

/* ---- may it be used? What its manifest says before any shard is read ------------------ */

/** LC_VERSION if it is not the one asked for; LC_INVALID if that is no version. */
LC_CHECKED lc_status lc__admit_version(const lc_warehouse *warehouse,
    const char *version);

/** LC_CORRUPT if the version is not the SHA-256 of the recipe, in a manifest that this
 *  project wrote. */
LC_CHECKED lc_status lc__admit_recipe(const lc_warehouse *warehouse);

/** LC_FAILED if the summary exceeds the thresholds, unless they only warn. */
LC_CHECKED lc_status lc__admit_thresholds(const lc_warehouse *warehouse);

/**
 * Compare the sources; sets info.sources_seen. Differences go to progress->damage.
 * @return LC_OK; LC_STALE; LC_CORRUPT for a damaged list; LC_NOT_FOUND without
 * a list that has to be there; LC_NO_FILE without a dataset that has to be there.
 */
LC_CHECKED lc_status lc__admit_sources(lc_warehouse *warehouse,
    const lc_warehouse_options *options);

/** Compare the SHA-256 of rejected.jsonl, and of the sources if these were not to be
 *  compared. */
LC_CHECKED lc_status lc__admit_texts(const lc_warehouse *warehouse,
    const lc_warehouse_options *options);

#endif
