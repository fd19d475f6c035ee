/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions for the tool that are not in lmdbcache.h. This header includes no other
 * internal one, so that the tool sees none of the library's structs.
 */
#ifndef LC_STORE_TOOL_H
#define LC_STORE_TOOL_H

#include <stdbool.h>

#include "lmdbcache.h"

/** LC_INVALID if this is not a valid name of a module. */
LC_CHECKED lc_status lc__check_module_id(const char *module_id);

/** The directory of the module; borrowed from the handle. */
const char *lc__cache_dir(const lc_cache *cache);

/** How many records of this handle are not committed. Any thread. */
uint64_t lc__cache_uncommitted(const lc_cache *cache);

/** What the ledger knows about a chunk. */
struct lc__chunk_facts {
	uint64_t chunk; /* number of the chunk */
	/* All its records; those neither replaced nor deleted. */
	uint64_t records, live;
	uint64_t bytes, live_bytes; /* bytes of all its records; of live ones */
	uint64_t input;             /* 0, or 1 plus the index of its input */
	uint64_t time_ms;           /* time of its commit, ms since 1970 */
	uint64_t read_ms;           /* time of the last recorded read, or 0 */
	bool damaged;               /* the row is damaged: all else but chunk is 0 */
};

/** The chunks of the newest commit, by number. *out is never NULL; the caller frees it.
 *  LC_NO_MEMORY, LC_IO, LC_CORRUPT. */
LC_CHECKED lc_status lc__cache_chunks(lc_cache *cache, struct lc__chunk_facts **out,
    size_t *n);

/** The state of a cache_id. */
enum lc__stored {
	LC__STORED_MISSING,
	LC__STORED_DONE,
	LC__STORED_WRONG /* refused by the check or by a strict module, or damaged */
};

struct lc__stored_check {
	bool deep; /* read whole records, with their checksums; else only heads */
	/** Called for the value of ids[i], whose tensors have no data unless deep; NULL:
	 *  no check. LC_NOT_FOUND, LC_CORRUPT, LC_SCHEMA and LC_INVALID refuse the value,
	 *  other statuses end the look-up. */
	lc_status (*fn)(void *ctx, size_t i, const lc_value *value);
	void *ctx;
};

/** Look @p n cache_ids up in one snapshot. Records that this handle has not committed yet
 *  count as done. @p out has room for n. */
LC_CHECKED lc_status lc__stored_look(lc_cache *cache, const lc_id *ids, size_t n,
    const struct lc__stored_check *how, enum lc__stored *out);

/** Does the module accept values of this structure? LC_SCHEMA if it is strict and does
 *  not. */
LC_CHECKED lc_status lc__stored_admits(lc_cache *cache, const lc_value *value);

#endif
