/* SPDX-License-Identifier: BSD-2-Clause */
/* Building index runs: from sorted entries, or by merging runs. Does not use LMDB. */
#ifndef LC_INDEX_RUN_BUILD_H
#define LC_INDEX_RUN_BUILD_H

#include "lmdbcache.h"
#include "index/run.h"

/* Entries between the prefetch of a bucket and the insertion. */
#define LC__RUN_AHEAD 16

/** A run under construction. */
struct lc__run_builder {
	uint64_t seed;    /* of the module's hash */
	uint64_t entries; /* entries added so far */
	uint64_t limit;   /* entries that fit */
	uint32_t buckets;
	uint32_t blocks;      /* finished blocks */
	unsigned char *bytes; /* malloc'ed: header, buckets, key section */
	size_t room;          /* of bytes */
	size_t keys;          /* offset of the key section */
	size_t used;          /* bytes up to the current entry */
	size_t block;         /* offset of the current block, 0 for none */
	uint32_t *offsets;    /* of the blocks in the key section, malloc'ed */
	struct {
		uint64_t hash, location;
	} ahead[LC__RUN_AHEAD]; /* ring of entries waiting for insertion into the table */
};

/**
 * Start a run that will have at most @p entries entries, whose cache_ids have at most @p
 * id_bytes bytes together.
 */
LC_CHECKED lc_status lc__run_build_start(struct lc__run_builder *builder, uint64_t seed,
    uint64_t entries, uint64_t id_bytes);

/**
 * Add an entry; entries come in byte order. @p hash is that of the cache_id; for a
 * deletion, the location is just LC__TOMBSTONE.
 */
void lc__run_build_add(struct lc__run_builder *builder, uint64_t hash, uint64_t location,
    const void *id, size_t id_size);

/** Finish: builder->bytes and builder->used become the value of run @p id. */
void lc__run_build_finish(struct lc__run_builder *builder, uint64_t id, uint32_t level);

void lc__run_build_free(struct lc__run_builder *builder);

/**
 * Merge @p n runs, oldest first, into a started builder: of equal cache_ids the newest is
 * kept. Set @p drop_tombstones if there are no older runs.
 * @return LC_OK; LC_CORRUPT for a damaged block; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__run_build_merged(struct lc__run_builder *builder,
    const struct lc__run *runs, uint32_t n, bool drop_tombstones);

/** The hash of a cache_id that the table uses. */
uint64_t lc__run_hash(uint64_t seed, const void *id, size_t id_size);

#endif
