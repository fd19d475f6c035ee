/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shards of an open warehouse: their bytes, in the place that the mode decides; which
 * of them were verified; and which shard has a given sample.
 *
 * A small set has all of its shards open. In a larger one each shard is opened when a
 * caller takes it, and a limited number stays open: the least recently used one is closed
 * to open the next. Shards in use stay open: if all slots are in use, a shard is opened
 * for one caller only and closed when it is given back.
 *
 * The shards of a set may be objects of a store: then its supplier provides their files
 * as long as they are open. A shard for which the supplier has no room is read by ranges:
 * memory of its size holds its sections, and the blocks of the samples in use, which are
 * verified before they are stored there.
 */
#ifndef LC_WAREHOUSE_SHARDSET_H
#define LC_WAREHOUSE_SHARDSET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/manifest.h"
#include "format/twh1.h"
#include "lmdbcache.h"
#include "warehouse/files.h"
#include "warehouse/setparts.h"
#include "warehouse/supplier.h"

/* ---- statistics: counters that threads add to without contention ----------------- */

#define LC__COST_STRIPES 16

enum lc__cost_kind {
	LC__COST_SAMPLES,        /* handed out or copied */
	LC__COST_BYTES_READ,     /* by read() */
	LC__COST_BYTES_VERIFIED, /* by checksums */
	LC__COST_VERIFY_NS,      /* time that took */
	LC__COST_KINDS
};

/** Room for the counters, and a cache line more, so that no two stripes share one. */
#define LC__COST_STRIDE (LC__COST_KINDS + 64 / sizeof(uint64_t))

struct lc__cost {
	_Atomic uint64_t stripes[LC__COST_STRIPES][LC__COST_STRIDE];
};

/** The calling thread's stripe. */
unsigned lc__cost_stripe(void);

static inline void
lc__cost_add(struct lc__cost *cost, enum lc__cost_kind kind, uint64_t n)
{
	atomic_fetch_add_explicit(&cost->stripes[lc__cost_stripe()][kind], n,
	    memory_order_relaxed);
}

/** All stripes. */
uint64_t lc__cost_sum(const struct lc__cost *cost, enum lc__cost_kind kind);

/* ---- shards -------------------------------------------------------------------------- */

/** One shard. After it was opened only `good` and `known` change. */
struct lc__wshard {
	size_t number;         /* in the set */
	uint32_t place;        /* its slot, from 1; 0: it belongs to one taker only */
	char *path;            /* path of the file */
	struct lc__twh1 twh1;  /* its regions; twh1.file is the map, the memory, or, in
	                        * mode STREAM, memory with only the sections */
	lc_sample form;        /* a sample without addresses, id and row: the same for all
	                        * */
	lc_shard *mapped;      /* mode MAP */
	unsigned char *memory; /* the other modes: what to free */
	uint64_t memory_size;  /* its bytes */
	struct lc__supplier *supplier; /* may be NULL */
	void *taken;                   /* its file, from the supplier, or NULL */
	struct lc__trylock putting;    /* reads blocks into the memory */
	bool ranged; /* the memory has only the sections, and blocks that are good */
	bool whole;  /* the memory has all bytes */
	struct lc__wfile file;   /* mode STREAM */
	_Atomic uint64_t *good;  /* a bit for each block: its checksum was right once;
	                          * NULL without checksums or with LC_VERIFY_NEVER */
	_Atomic uint64_t *known; /* a word for each sample, see read.h; NULL if nothing
	                          * needs to be remembered */
	bool always;             /* verify blocks that were right before, too */
	lc_error *error;         /* why it is refused, or NULL */
	uint64_t open_ns;        /* how long it took */
};

#define LC__OPEN_SHARDS 1024u /* the default number */

struct lc__wplace;

struct lc__shardset {
	struct lc__setparts said;  /* from the manifest */
	struct lc__wshard *shards; /* all of them, malloc'ed; NULL in a large set */
	size_t n;
	uint64_t samples; /* samples in all shards */
	lc_warehouse_mode mode;
	lc_verify_mode verify;
	bool verify_files; /* as in lc_warehouse_options */
	uint32_t limit;    /* open at a time; 0: LC__OPEN_SHARDS */
	uint32_t *jump;    /* sample >> jump_shift -> the shard with it */
	unsigned jump_shift;
	struct lc__wfiles files;       /* mode STREAM */
	struct lc__supplier *supplier; /* mode MAP; or NULL. Set before it is opened */
	struct lc__cost cost;
	/* For a large set: */
	struct lc__trylock lock;   /* guards the slots' shards, and used */
	struct lc__wplace *places; /* `limit` of them */
	uint32_t used;             /* the first ones are in use */
	_Atomic uint32_t
	    *place_of;          /* for each shard: its slot, from 1; 0 if it has none */
	_Atomic uint64_t clock; /* shards opened so far */
	_Atomic uint64_t n_open, bytes_open;
};

/**
 * Open a set: all shards of a small one; none of a large one, unless their checksums are
 * to be compared now. In mode MEMORY all are read.
 * @param manifest  must stay valid until the set is closed
 * @param progress  may be NULL; gets a line for each damaged shard
 * @return LC_OK; LC_CORRUPT for damage, the first of which is the error; LC_CANCELLED,
 * LC_PERMISSION, LC_IO, LC_NO_MEMORY. With a supplier no shard is opened.
 */
LC_CHECKED lc_status lc__shardset_open(struct lc__shardset *set, const char *dir,
    const struct lc__manifest *manifest, const lc_progress *progress);
void lc__shardset_close(struct lc__shardset *set);

/** Of a large set: close the shards that are not wanted, and those that are read by ranges,
 *  since there may be copies when they are opened again. False if one of them is in use, or
 *  another thread opens one: then call it again. */
bool lc__shardset_shut(struct lc__shardset *set, bool (*wanted)(void *ctx, size_t i),
    void *ctx);

/** The index of the shard with sample @p i, which must exist; *at is the sample's index
 *  there. */
size_t lc__shardset_find(const struct lc__shardset *set, uint64_t i, uint64_t *at);

/** The size of the file of shard @p i; 0 if only the file knows it and was not opened. */
uint64_t lc__shardset_bytes(const struct lc__shardset *set, size_t i);

/** lc__shardset_take() and _give() for a large set. */
LC_CHECKED lc_status lc__shardset_take_large(struct lc__shardset *set, size_t i,
    struct lc__wshard **out);
void lc__shardset_give_large(struct lc__shardset *set, struct lc__wshard *shard);

/**
 * Keep shard @p i open until lc__shardset_give(). Any thread; no thread waits for another
 * one, nor, after fork(2), for one that does not exist.
 * @return LC_OK; LC_CORRUPT, naming the file, if it is damaged, missing or not the one in
 * its manifest; LC_PERMISSION, LC_IO, LC_NO_MEMORY; with a supplier also LC_NO_SPACE,
 * LC_TIMEOUT, LC_CANCELLED, and a damaged file is first fetched again. In a small set
 * always LC_OK.
 */
LC_CHECKED static inline lc_status
lc__shardset_take(struct lc__shardset *set, size_t i, struct lc__wshard **out)
{
	if (set->shards == NULL)
		return lc__shardset_take_large(set, i, out);
	*out = &set->shards[i];
	return LC_OK;
}

static inline void
lc__shardset_give(struct lc__shardset *set, struct lc__wshard *shard)
{
	if (set->shards == NULL)
		lc__shardset_give_large(set, shard);
}

#endif
