/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots: a pooled read transaction with the index's runs of its commit and
 * what look-ups need. Taking one sees the newest commit; views pin it.
 */
#ifndef LC_STORE_SNAPSHOT_H
#define LC_STORE_SNAPSHOT_H

#include "env/env.h"
#include "env/rows.h"
#include "index/run.h"
#include "store/chunk.h"
#include "store/record.h"
#include "store/schemas.h"

/* Chunks whose address a snapshot remembers: a power of two. */
#define LC__CHUNK_SLOTS 1024

/* More chunks are not noted as read in one go. */
#define LC__READS_NOTED 16

/** A chunk in the map. Its bytes stay as long as the snapshot does; in a write
 *  transaction until the chunk is deleted. */
struct lc__mapped_chunk {
	uint64_t id;  /* 0: none */
	const unsigned char *bytes;
	uint64_t size; /* of the value */
	uint64_t end; /* offset after the last record */
	uint64_t records; /* as its header says */
};

/** A chunk whose address is remembered until another one needs the slot. Only the
 *  snapshot's own functions may point at a slot: any look-up may refill it. */
struct lc__chunk_slot {
	struct lc__mapped_chunk chunk;
	bool read;    /* noted as read */
};

struct lc__snapshot {
	struct lc__txn *txn;
	struct lc__env *env;
	struct lc__snapshot *next; /* in the pool, or of those that are kept */
	uint64_t loaded;       /* txn id + 1 that state and runs belong to, 0 for none */
	uint32_t map_version;  /* and the map's version */
	uint32_t epoch;        /* process it was made in */
	unsigned pins;         /* views and iterators that hold it */
	bool in_use;           /* taken by a call */
	bool filled;           /* the module is filled by inputs; as loaded */
	uint64_t pinned_ns;    /* since when */
	struct lc__state state;
	struct lc__run *runs;  /* state.nruns of them, oldest first */
	size_t runs_room;    /* allocated */
	struct lc__known **schemas; /* by id; NULL: not read yet */
	size_t schemas_room;
	uint64_t hits, misses;      /* since it was taken */
	uint32_t nreads;            /* chunks first read since it was taken */
	uint64_t reads[LC__READS_NOTED]; /* their ids */
	struct lc__chunk_slot chunks[LC__CHUNK_SLOTS];
};

/* The pool of idle snapshots, a part of struct lc__module. */
struct lc__pool *lc__pool_new(void);
/** NULL is harmless. */
void lc__pool_free(struct lc__pool *pool);
/** With the lock of the environment held, nothing active: it is about to close. */
void lc__pool_empty(struct lc__pool *pool);
/** In a forked child: the snapshots are the parent's. */
void lc__pool_abandon(struct lc__pool *pool);

/** Take a snapshot of the newest commit. */
LC_CHECKED lc_status lc__snapshot_take(struct lc__env *env,
    struct lc__snapshot **out);
/** Give it back, adding @p pins that lc__snapshot_unpin() takes off one by one. */
void lc__snapshot_give(struct lc__snapshot *snapshot, unsigned pins);
void lc__snapshot_unpin(struct lc__snapshot *snapshot);
/** Keep a taken snapshot for long, as a walk does; it counts as pinned. */
void lc__snapshot_keep(struct lc__snapshot *snapshot);
/** Give back what lc__snapshot_keep() kept. */
void lc__snapshot_end_keep(struct lc__snapshot *snapshot);
/** The same with a pin left on it, that lc__snapshot_unpin() takes off. */
void lc__snapshot_end_keep_pinned(struct lc__snapshot *snapshot);
/** Since when the oldest pinned snapshot of this process is, 0 without one: a view
 *  or a walk holds it. */
uint64_t lc__pool_oldest_pin_ns(struct lc__env *env);

/** Load state and runs into a snapshot of any transaction, also a writing one. */
LC_CHECKED lc_status lc__snapshot_load(struct lc__snapshot *snapshot);
/** Load the runs of snapshot->state. */
LC_CHECKED lc_status lc__snapshot_load_runs(struct lc__snapshot *snapshot);
void lc__snapshot_free_parts(struct lc__snapshot *snapshot);

#endif
