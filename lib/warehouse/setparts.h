/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the manifest of a set says about its shards. For a manifest of parts, the file of
 * a part is read when one of its shards is needed, and its content then stays in memory:
 * 56 bytes for each shard, and its path unless that is the name of an object in a store.
 */
#ifndef LC_WAREHOUSE_SETPARTS_H
#define LC_WAREHOUSE_SETPARTS_H

#include <stddef.h>
#include <stdint.h>

#include "format/manifest.h"
#include "lmdbcache.h"
#include "warehouse/supplier.h"

struct lc__setpart;

/** All zero is empty. */
struct lc__setparts {
	const struct lc__manifest *manifest; /* borrowed */
	char *dir;                           /* directory of the manifest's file */
	size_t n;                            /* shards */
	uint64_t *first;           /* n + 1: samples before each shard, and all of them */
	struct lc__setpart *parts; /* of a manifest of parts */
	struct lc__supplier
	    *supplier; /* of their files; or NULL. Set before it is opened */
};

/** Use a manifest, which must stay valid; LC_CORRUPT if it has too many samples. */
LC_CHECKED lc_status lc__setparts_open(const char *dir,
    const struct lc__manifest *manifest, struct lc__setparts *out);
void lc__setparts_close(struct lc__setparts *set);

/** The entry of a shard; must not be moved. */
struct lc__said {
	/* A part's shard has no id and no samples_hash. Its path is valid as long as this
	 * and the set. */
	struct lc__manifest_shard shard;
	const char *dir; /* to which the path is relative; as long as the set */
	char path[80];   /* room for it */
};

/**
 * Get the entry of shard @p i. Any thread.
 * @return LC_OK; LC_CORRUPT, naming the file, if its part is damaged, missing or has
 * other shards; LC_PERMISSION, LC_IO, LC_NO_MEMORY. Without parts always LC_OK.
 */
LC_CHECKED lc_status lc__setparts_said(const struct lc__setparts *set, size_t i,
    struct lc__said *out);

/** The sources of the part with shard @p i, if its manifest was read; else NULL. */
const char *lc__setparts_name(const struct lc__setparts *set, size_t i);

/** The layout of shard @p i; reads no part. */
struct lc__manifest_layout lc__setparts_layout(const struct lc__setparts *set, size_t i);

/** The number of the part with shard @p i, and the shard's index there. Only for a
 *  manifest of parts. */
size_t lc__setparts_part_of(const struct lc__setparts *set, size_t i, size_t *place);

/** The number of samples of shard @p i. */
static inline uint64_t
lc__setparts_samples(const struct lc__setparts *set, size_t i)
{
	return set->first[i + 1] - set->first[i];
}

#endif
