/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shards of an open warehouse: their bytes in whatever place the mode gives
 * them, what was verified of them so far, and which of them has a sample.
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
	char *path;            /* of its file */
	struct lc__twh1 twh1;  /* its parts; twh1.file is the map, the memory, or, in mode
	                          STREAM, memory that has only the sections */
	uint64_t first;        /* number of its first sample in the warehouse */
	lc_sample form;        /* every sample without addresses, id and row */
	lc_shard *mapped;      /* mode MAP */
	unsigned char *memory; /* the others: what to give back */
	uint64_t memory_size;  /* its bytes */
	struct lc__wfile file; /* mode STREAM */
	_Atomic uint64_t *good;  /* a bit a block: its checksum was right once; NULL
	                            without checksums or with LC_VERIFY_NEVER */
	_Atomic uint64_t *known; /* a word a sample, see read.h; NULL where
	                            there is nothing to find out */
	bool always;             /* compare blocks that were right, too */
	lc_error *error;         /* why it is refused, or NULL */
	uint64_t open_ns;        /* how long it took */
};

struct lc__shardset {
	struct lc__wshard *shards; /* malloc'ed, in the manifest's order */
	size_t n;
	uint64_t samples; /* of all */
	lc_warehouse_mode mode;
	lc_verify_mode verify;
	bool verify_files; /* as in lc_warehouse_options */
	uint32_t *jump;    /* sample >> jump_shift -> the shard that has it */
	unsigned jump_shift;
	struct lc__wfiles files; /* mode STREAM */
	struct lc__cost cost;
};

/**
 * Open all shards that a manifest names.
 * @param progress  may be NULL; gets a line for each shard that is damaged
 * @return LC_OK; LC_CORRUPT for damage, of which the first is the error;
 * LC_CANCELLED, LC_PERMISSION, LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__shardset_open(struct lc__shardset *set, const char *dir,
    const struct lc__manifest *manifest, const lc_progress *progress);
void lc__shardset_close(struct lc__shardset *set);

/** The shard that has sample @p i, which must exist; its place there to *at. */
struct lc__wshard *lc__shardset_find(const struct lc__shardset *set, uint64_t i,
    uint64_t *at);

#endif
