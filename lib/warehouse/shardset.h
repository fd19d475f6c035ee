/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shards of an open warehouse: their bytes in whatever place the mode gives
 * them, what was verified of them so far, and which of them has a sample.
 *
 * A set of few shards has all of them open. Of a larger one each is opened when somebody
 * takes it, and at most so many stay open as the set may have: the one that was not taken
 * for the longest time gives its place to the next one. Those in use stay: if all places
 * are in use, a shard is opened for its taker alone and closed when he gives it back.
 *
 * The shards of a set may be objects of a store: then its supplier has their files, as long
 * as they are open. A shard for which it has no room is read by ranges: memory of its size
 * has its sections, and the blocks of those samples that are in use, which are verified
 * before they are put there.
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

/* ---- what reading cost: counters that many threads add to without meeting ---------------- */

#define LC__COST_STRIPES 16

enum lc__cost_kind {
	LC__COST_SAMPLES,        /* handed out or copied */
	LC__COST_BYTES_READ,     /* by read() */
	LC__COST_BYTES_VERIFIED, /* by checksums */
	LC__COST_VERIFY_NS,      /* time that took */
	LC__COST_KINDS
};

/** Room for the kinds and for a cache line, so that no two stripes share one. */
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

/** One shard. After opening only `good` and `known` change. */
struct lc__wshard {
	size_t number;         /* in the set */
	uint32_t place;        /* where it is kept, from 1; 0: it is its taker's alone */
	char *path;            /* of its file */
	struct lc__twh1 twh1;  /* its parts; twh1.file is the map, the memory, or, in mode
	                          STREAM, memory that has only the sections */
	lc_sample form;        /* every sample without addresses, id and row */
	lc_shard *mapped;      /* mode MAP */
	unsigned char *memory; /* the others: what to give back */
	uint64_t memory_size;  /* its bytes */
	struct lc__supplier *supplier; /* or NULL */
	void *taken;                   /* its file, from the supplier, or NULL */
	struct lc__trylock putting;    /* of blocks into the memory */
	bool ranged; /* the memory has only the sections, and blocks that are good */
	bool whole;  /* the memory has all bytes */
	struct lc__wfile file;   /* mode STREAM */
	_Atomic uint64_t *good;  /* a bit a block: its checksum was right once; NULL
	                            without checksums or with LC_VERIFY_NEVER */
	_Atomic uint64_t *known; /* a word a sample, see read.h; NULL where
	                            there is nothing to find out */
	bool always;             /* compare blocks that were right, too */
	lc_error *error;         /* why it is refused, or NULL */
	uint64_t open_ns;        /* how long it took */
};

#define LC__OPEN_SHARDS 1024u /* unless somebody says otherwise */

struct lc__wplace;

struct lc__shardset {
	struct lc__setparts said;  /* by the manifest */
	struct lc__wshard *shards; /* all of them, malloc'ed; NULL of a large set */
	size_t n;
	uint64_t samples; /* of all */
	lc_warehouse_mode mode;
	lc_verify_mode verify;
	bool verify_files; /* as in lc_warehouse_options */
	uint32_t limit;    /* open at a time; 0: LC__OPEN_SHARDS */
	uint32_t *jump;    /* sample >> jump_shift -> the shard that has it */
	unsigned jump_shift;
	struct lc__wfiles files;       /* mode STREAM */
	struct lc__supplier *supplier; /* mode MAP; or NULL. Set before it is opened */
	struct lc__cost cost;
	/* Of a large set: */
	struct lc__trylock lock;   /* guards the places' shards, and used */
	struct lc__wplace *places; /* `limit` of them */
	uint32_t used;             /* of them, the first ones */
	_Atomic uint32_t
	    *place_of;          /* of each shard: its place, from 1; 0 if it has none */
	_Atomic uint64_t clock; /* shards opened so far */
	_Atomic uint64_t n_open, bytes_open;
};

/**
 * Open a set: all shards of a small one, none of a large one, unless their checksums are to
 * be compared now. In mode MEMORY all are read.
 * @param manifest  must stay until the set is closed
 * @param progress  may be NULL; gets a line for each shard that is damaged
 * @return LC_OK; LC_CORRUPT for damage, of which the first is the error;
 * LC_CANCELLED, LC_PERMISSION, LC_IO, LC_NO_MEMORY. With a supplier no shard is opened.
 */
LC_CHECKED lc_status lc__shardset_open(struct lc__shardset *set, const char *dir,
    const struct lc__manifest *manifest, const lc_progress *progress);
void lc__shardset_close(struct lc__shardset *set);

/** Of a large set: close the shards that nobody has taken, but those that are wanted. */
void lc__shardset_shut(struct lc__shardset *set, bool (*wanted)(void *ctx, size_t i),
    void *ctx);

/** The number of the shard that has sample @p i, which must exist; its place there to *at. */
size_t lc__shardset_find(const struct lc__shardset *set, uint64_t i, uint64_t *at);

/** Bytes of the file of shard @p i; 0 if only the file knows and it was not opened. */
uint64_t lc__shardset_bytes(const struct lc__shardset *set, size_t i);

/** lc__shardset_take() and _give() of a large set. */
LC_CHECKED lc_status lc__shardset_take_large(struct lc__shardset *set, size_t i,
    struct lc__wshard **out);
void lc__shardset_give_large(struct lc__shardset *set, struct lc__wshard *shard);

/**
 * Have shard @p i open until lc__shardset_give(). Any thread; no thread waits for another,
 * nor, after fork(2), for one that is not there.
 * @return LC_OK; LC_CORRUPT, naming the file, if it is damaged, another one than its
 * manifest says, or gone; LC_PERMISSION, LC_IO, LC_NO_MEMORY; with a supplier LC_NO_SPACE,
 * LC_TIMEOUT, LC_CANCELLED, too, and a damaged file is fetched again first. Of a small set
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
