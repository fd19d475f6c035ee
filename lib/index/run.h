/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of an index run: the cache_ids of one commit (or of several, merged) with the
 * location of each. A hash table, one cache line for each bucket, serves look-ups; the
 * entries are in byte order for walks and merges. Does not use LMDB.
 */
#ifndef LC_INDEX_RUN_H
#define LC_INDEX_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

#define LC__RUN_HEADER 48
#define LC__RUN_BUCKET 64
#define LC__RUN_BLOCK 64 /* most entries in a block of the key section */

/** A location with this bit is a tombstone: the cache_id was deleted. */
#define LC__TOMBSTONE ((uint64_t)1 << 63)

/** A run whose header was checked; borrowed from its bytes. */
struct lc__run {
	uint64_t id;                /* run id */
	uint64_t entries;           /* tombstones included */
	uint32_t buckets;           /* of LC__RUN_BUCKET bytes */
	uint32_t level;             /* how often it was merged */
	const unsigned char *table; /* the buckets */
	const unsigned char *keys;  /* the key section */
	uint64_t keys_size;         /* its bytes */
	uint32_t blocks;            /* blocks in the key section */
	unsigned char *intact; /* a bit for each bucket that was verified; lent by the
	                        * owner of the bytes, NULL after lc__run_parse() */
};

/** Read and check a header and the sizes in it; out->intact is NULL. */
bool lc__run_parse(const unsigned char *bytes, uint64_t size, uint64_t id,
    struct lc__run *out);

/** The run's id as its header states it; false if the header is damaged. */
bool lc__run_says(const unsigned char *bytes, uint64_t size, uint64_t *id);

/** The bucket where the look-up of a hash starts, so that the caller can prefetch it. */
static inline const unsigned char *
lc__run_bucket(const struct lc__run *run, uint64_t hash)
{
	const uint64_t bucket = (uint64_t)(((unsigned __int128)hash * run->buckets) >>
	    64);

	return run->table + bucket * LC__RUN_BUCKET;
}

/** A search for one hash in one run; it may find several candidates. */
struct lc__run_probe {
	const struct lc__run *run;
	uint64_t hash;
	uint32_t bucket; /* current bucket */
	uint32_t slot;   /* next slot in it */
	uint32_t walked; /* buckets visited */
	uint32_t intact; /* a bucket of the run that was verified; UINT32_MAX for none */
	lc_verify_mode verify; /* when the check of a bucket is compared */
	unsigned char *known;  /* to verify once: run->intact */
};

enum lc__run_found {
	LC__RUN_END,    /* no further candidate */
	LC__RUN_MATCH,  /* a location whose hash matches: compare the cache_id */
	LC__RUN_DAMAGED /* a bucket's check is wrong */
};

/** With @p verify LC_VERIFY_ONCE, buckets that have a bit in run->intact are not verified
 *  again; verified buckets get one. One thread at a time may use the bits. */
void lc__run_probe_start(struct lc__run_probe *probe, const struct lc__run *run,
    uint64_t hash, lc_verify_mode verify);
/** The same for another hash in the same run; verified buckets stay so. Before the first
 *  hash, set intact to UINT32_MAX. */
void lc__run_probe_go_on(struct lc__run_probe *probe, const struct lc__run *run,
    uint64_t hash, lc_verify_mode verify);
enum lc__run_found lc__run_probe_next(struct lc__run_probe *probe, uint64_t *location);

/** Does the table of a run contain this location? */
bool lc__run_has(const struct lc__run *run, uint64_t hash, uint64_t location);

/** Are all buckets intact, and do they hold the number of entries in the header? */
bool lc__run_table_intact(const struct lc__run *run);

/** An entry of the key section. */
struct lc__run_entry {
	uint64_t location;
	const unsigned char *id;
	size_t id_size;
};

/** The cache_id of a tombstone that a probe found; false if damaged. */
bool lc__run_tombstone(const struct lc__run *run, uint64_t location,
    struct lc__run_entry *out);

/** A walk over the key section. */
struct lc__run_cursor {
	const struct lc__run *run;
	uint32_t block;               /* current block */
	uint32_t left;                /* entries left in it */
	const unsigned char *p, *end; /* next entry, end of the block */
	struct lc__run_entry entry;   /* the current one */
	bool damaged; /* a block with a wrong checksum or wrong lengths was found */
};

/** Move to the first entry >= id (all, with NULL); false at the end or if damaged. */
bool lc__run_seek(struct lc__run_cursor *cursor, const struct lc__run *run,
    const void *id, size_t id_size);
bool lc__run_next(struct lc__run_cursor *cursor);
/** Move to the position before the first entry of a block, whose entries cursor->left
 *  counts; false if the block is damaged. */
bool lc__run_enter(struct lc__run_cursor *cursor, const struct lc__run *run,
    uint32_t block);

/** memcmp order; a prefix comes before longer ids. */
int lc__id_compare(const void *a, size_t a_size, const void *b, size_t b_size);

/* The merged order of several runs: newest first among equal cache_ids. */

struct lc__run_merge;

/**
 * Start at the first cache_id >= @p from (all, with NULL) of @p n runs, oldest first.
 * NULL without memory. The runs must outlive the merge.
 */
struct lc__run_merge *lc__run_merge_open(const struct lc__run *runs, uint32_t n,
    const void *from, size_t from_size);

/**
 * The newest entry of the next cache_id, tombstones included.
 * @return LC_OK; LC_END at the end; LC_CORRUPT if a run is damaged: the merge continues
 * without it.
 */
LC_CHECKED lc_status lc__run_merge_next(struct lc__run_merge *merge,
    struct lc__run_entry *out);

void lc__run_merge_close(struct lc__run_merge *merge);

#endif
