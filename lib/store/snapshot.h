/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots: pooled read transactions, each with the index runs of its commit. A snapshot
 * that is taken shows the newest commit; views pin it.
 */
#ifndef LC_STORE_SNAPSHOT_H
#define LC_STORE_SNAPSHOT_H

#include "env/env.h"
#include "env/rows.h"
#include "index/run.h"
#include "store/chunk.h"
#include "store/record.h"
#include "store/schemas.h"

/* How many chunks' addresses a snapshot remembers; a power of two. */
#define LC__CHUNK_SLOTS 1024

/* The most chunks that a call records as read. */
#define LC__READS_NOTED 16

/** A chunk in the map. Its bytes stay valid as long as the snapshot; in a write
 *  transaction, until the chunk is deleted. */
struct lc__mapped_chunk {
	uint64_t id; /* 0: none */
	const unsigned char *bytes;
	uint64_t size;    /* of the value */
	uint64_t end;     /* offset of the end of the last record */
	uint64_t records; /* as the chunk's header says */
};

/** A remembered chunk. Any look-up may refill the slot, so only look-up functions may
 *  keep a pointer to one. */
struct lc__chunk_slot {
	struct lc__mapped_chunk chunk;
	bool read; /* recorded as read since the snapshot was taken */
};

/** Which buckets of an index run's table were verified. */
struct lc__run_known {
	uint64_t run; /* its id */
	const unsigned char *table;
	unsigned char *intact; /* as in struct lc__run; malloc'ed, NULL without memory */
};

struct lc__snapshot {
	struct lc__txn *txn;
	struct lc__env *env;
	struct lc__snapshot *next; /* in one of the pool's lists */
	uint64_t loaded;      /* txn id + 1 of the commit that state and runs belong to; 0
				  for none */
	uint32_t map_version; /* version of the map that the runs point into */
	uint32_t epoch;       /* number of the process that made it */
	unsigned pins;        /* views and iterators that use it */
	bool in_use;          /* a call has taken it */
	bool filled;          /* by inputs, as of the loaded commit */
	uint64_t pinned_ns;   /* when it was first pinned */
	struct lc__state state;
	struct lc__run *runs;        /* state.nruns of them, oldest first */
	size_t runs_room;            /* of runs */
	struct lc__run_known *known; /* malloc'ed; for the runs to which it was last lent
	                              * */
	uint32_t nknown;             /* number of these runs */
	bool lent;                   /* the runs have theirs */
	struct lc__known **schemas;  /* by id; NULL: not read yet */
	size_t schemas_room;
	uint64_t hits, misses;           /* read counts since it was taken */
	uint32_t nreads;                 /* chunks noted as read since it was taken */
	uint64_t reads[LC__READS_NOTED]; /* their ids */
	bool remembers;                  /* a slot has been filled */
	struct lc__chunk_slot chunks[LC__CHUNK_SLOTS];
};

/* The pool of snapshots that no call is using; a part of struct lc__module. */
struct lc__pool *lc__pool_new(void);
/** NULL is allowed. */
void lc__pool_free(struct lc__pool *pool);
/** The environment is about to close: free all snapshots; none is active. The caller
 *  holds its lock. */
void lc__pool_empty_locked(struct lc__pool *pool);
/** In a forked child: drop the snapshots, which belong to the parent. */
void lc__pool_abandon(struct lc__pool *pool);

/** Take a snapshot of the newest commit. */
LC_CHECKED lc_status lc__snapshot_take(struct lc__env *env, struct lc__snapshot **out);
/** Give it back and add @p pins to it; lc__snapshot_unpin() removes one. */
void lc__snapshot_give(struct lc__snapshot *snapshot, unsigned pins);
void lc__snapshot_unpin(struct lc__snapshot *snapshot);
/** Keep a snapshot for long, as a walk does; it counts as pinned. */
void lc__snapshot_keep(struct lc__snapshot *snapshot);
/** Give back what lc__snapshot_keep() kept. */
void lc__snapshot_end_keep(struct lc__snapshot *snapshot);
/** The same, but leave a pin, which lc__snapshot_unpin() removes. */
void lc__snapshot_end_keep_pinned(struct lc__snapshot *snapshot);
/** When the oldest pinned snapshot of this process was pinned; 0 if there is none. A view
 *  or a walk pins it. */
uint64_t lc__pool_oldest_pin_ns(struct lc__env *env);

/** Load state and runs into a snapshot of any transaction, also of a writing one. */
LC_CHECKED lc_status lc__snapshot_load(struct lc__snapshot *snapshot);
/** Load the runs of snapshot->state. */
LC_CHECKED lc_status lc__snapshot_load_runs(struct lc__snapshot *snapshot);
void lc__snapshot_free_parts(struct lc__snapshot *snapshot);

/* The slow path of lc__snapshot_lend_intact(). */
void lc__snapshot_lend_anew(struct lc__snapshot *snapshot);

/** Give look-ups that verify once the record of which buckets of the runs were verified
 *  in this snapshot. Buckets written by later commits are not among them. */
static inline void
lc__snapshot_lend_intact(struct lc__snapshot *snapshot)
{
	if (!snapshot->lent)
		lc__snapshot_lend_anew(snapshot);
}

#endif
