/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets in an index run, for its reader and its builder. */
#ifndef LC_INDEX_RUN_LAYOUT_H
#define LC_INDEX_RUN_LAYOUT_H

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "index/run.h"

/* Header. */
enum {
	run_at_magic = 0,    /* "LCIX" */
	run_at_version = 4,  /* u16 */
	run_at_header = 6,   /* u16, size of the header */
	run_at_id = 8,       /* u64 */
	run_at_entries = 16, /* u64 */
	run_at_buckets = 24, /* u32 */
	run_at_level = 28,   /* u32 */
	run_at_keys = 32,    /* u64, bytes of the key section */
	run_at_checksum = 40 /* u64, XXH3-64 of all before */
};

#define RUN_MAGIC "LCIX"
#define RUN_VERSION 1

/* Bucket: five slots of u64 location and u32 fingerprint, then u32 check. */
enum { bucket_slots = 5, slot_size = 12, bucket_at_check = 60 };
#define BUCKET_OVERFLOW 0x80000000u /* the search continues in the next bucket */
#define SLOT_EMPTY UINT64_MAX

/* Key section: blocks, then u32 offset of each, then u32 number of blocks. cache_ids are
 * stored whole, so that entries can be borrowed from the map; bench/README tells what
 * front coding would save. */
enum {
	block_at_size = 0,     /* u32, bytes of the block */
	block_at_entries = 4,  /* u32 */
	block_at_checksum = 8, /* u64, XXH3-64 of what follows, seeded */
	block_header = 16,
	entry_head = 10 /* u64 location, u16 cache_id size - 1 */
};

/* The check of a bucket: over its slots, its overflow bit and its number. */
static inline uint32_t
bucket_check(const unsigned char *bucket, uint32_t number, uint32_t overflow)
{
	return (uint32_t)lc__hash64_seed(bucket, bucket_at_check,
		   (uint64_t)number << 32 | overflow) &
	    ~BUCKET_OVERFLOW;
}

/* The checksum of a block: seeded with its number, so that no block can replace
 * another. */
static inline uint64_t
block_checksum(const unsigned char *block, uint32_t size, uint32_t number,
    uint32_t entries)
{
	return lc__hash64_seed(block + block_header, size - block_header,
	    (uint64_t)number << 32 | entries);
}

#endif
