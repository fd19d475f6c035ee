/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the shards of a set are, if they are not below its directory: in a store, and in a
 * cache before it. The functions are called by any thread, by several at once; errors are
 * those of lc__shardset_take().
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
	struct lc__shardset *set; /* that it supplies; set when that is opened */
	/** Have the file of a part's manifest in its place. With @p again it was damaged
	 *  there, or gone. */
	lc_status (*part)(struct lc__supplier *supplier,
	    const struct lc__manifest_part *said, bool again);
	/**
	 * Have the file of shard @p i until give(). LC_NO_SPACE: there is no room for it.
	 * @param path   malloc'ed
	 * @param taken  for give() and mend(), not NULL
	 */
	lc_status (
	    *take)(struct lc__supplier *supplier, size_t i, char **path, void **taken);
	void (*give)(struct lc__supplier *supplier, void *taken);
	/** Read exactly these bytes of shard @p i from the store; they are not verified. */
	lc_status (*read)(struct lc__supplier *supplier, size_t i, uint64_t from,
	    size_t size, void *out);
	/** The file that was taken is damaged. These bytes are right: write them there. With
	 *  NULL: get rid of it. */
	void (*mend)(struct lc__supplier *supplier, void *taken, uint64_t from,
	    const void *bytes, size_t size);
};

#endif
