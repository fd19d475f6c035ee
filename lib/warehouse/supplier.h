/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Provides the shards of a set that are not below its directory, but in a store with a
 * cache in front of it. The functions are called by any thread, several at once; errors
 * are those of lc__shardset_take().
 */
#ifndef LC_WAREHOUSE_SUPPLIER_H
#define LC_WAREHOUSE_SUPPLIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/manifest.h"
#include "lmdbcache.h"

struct lc__shardset;

struct lc__supplier {
	const char *url;          /* for messages: of shards without a file */
	struct lc__shardset *set; /* the set that it supplies; set when that is opened */
	/** Get the file of a part's manifest into its place. With @p again it was damaged
	 *  there, or removed. */
	lc_status (*part)(struct lc__supplier *supplier,
	    const struct lc__manifest_part *said, bool again);
	/**
	 * Get the file of shard @p i and keep it until give(). LC_NO_SPACE: there is no
	 * room for it.
	 * @param path   malloc'ed
	 * @param taken  for give() and mend(), not NULL
	 */
	lc_status (
	    *take)(struct lc__supplier *supplier, size_t i, char **path, void **taken);
	void (*give)(struct lc__supplier *supplier, void *taken);
	/** Read exactly these bytes of shard @p i from the store, without verifying
	 *  them. */
	lc_status (*read)(struct lc__supplier *supplier, size_t i, uint64_t from,
	    size_t size, void *out);
	/** The file that was taken is damaged. Write these bytes, which are right, to it;
	 *  if they are NULL, discard it. */
	void (*mend)(struct lc__supplier *supplier, void *taken, uint64_t from,
	    const void *bytes, size_t size);
};

#endif
