/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A change of a module: a write transaction, and the rows that every kind of change
 * writes: a chunk, ledger rows, an index run and the state row.
 */
#ifndef LC_STORE_CHANGE_H
#define LC_STORE_CHANGE_H

#include "index/run_build.h"
#include "store/chunk.h"
#include "store/counters.h"
#include "store/snapshot.h"

/** A change in progress. */
struct lc__change {
	struct lc__snapshot
	    snapshot;           /* of the write transaction; its state is the one to be
	                         * stored */
	struct lc__usage usage; /* loaded when the first record is counted */
	uint64_t *gone; /* deleted chunks whose rows still have to be rewritten; malloc'ed
	                 * */
	size_t ngone, gone_room;
};

/**
 * Run @p body in a write transaction, store the state and commit; durable on LC_OK. If @p
 * body fails, nothing changes. If the map is full, it grows and @p body runs again from
 * the start, so @p body must not keep anything from its previous run.
 */
LC_CHECKED lc_status lc__change_run(struct lc__env *env, lc_durability durability,
    lc_status (*body)(struct lc__change *change, void *ctx), void *ctx);

/** As lc__change_run(), for a module that may be too damaged to be read: @p body sets
 *  snapshot.state. */
LC_CHECKED lc_status lc__change_run_unread(struct lc__env *env,
    lc_status (*body)(struct lc__change *change, void *ctx), void *ctx);

/**
 * Get the id of a structure in the module: that of one of the first @p stored rows, which
 * existed before this change, or else of a new row. After the commit call
 * lc__schemas_stored().
 */
LC_CHECKED lc_status lc__change_schema(struct lc__change *change,
    struct lc__known *wanted, uint32_t stored, uint32_t *out);

/**
 * Add a chunk after all others, and count its records in the state, all of them live.
 * Before any other call the caller fills *records, which is row->bytes long; then it sets
 * row->hash and stores the row with lc__change_put_ledger().
 * @param row        its counts and bytes of records are set
 * @param directory  all records were added to it
 * @param id         gets the chunk's id
 */
LC_CHECKED lc_status lc__change_add_chunk(struct lc__change *change,
    const struct lc__ledger_row *row, const struct lc__directory_build *directory,
    uint64_t *id, unsigned char **records);

/** As lc__change_add_chunk(), replacing chunk @p id, which this change has dropped. */
LC_CHECKED lc_status lc__change_put_chunk(struct lc__change *change, uint64_t id,
    const struct lc__ledger_row *row, const struct lc__directory_build *directory,
    unsigned char **records);

/** Delete a chunk and its ledger row, which is @p row, and subtract them from the state. */
LC_CHECKED lc_status lc__change_drop_chunk(struct lc__change *change, uint64_t id,
    const struct lc__ledger_row *row);

/** Add a record to the counts and the hash of a ledger row. */
void lc__ledger_count(struct lc__ledger_row *row, uint64_t size, uint64_t length);
void lc__ledger_hash(struct lc__ledger_row *row, const unsigned char *record);

/**
 * Set the ordinal of a chunk of plain puts with new records. The ordinal identifies which
 * of the chunk's records live, and in which order: it starts as the hash of all of them,
 * and each record that dies is hashed into it. A chunk that is rewritten with its live
 * records keeps its ordinal, even if they are coded differently.
 */
void lc__ledger_name_records(struct lc__ledger_row *row);

/** Add a record to the usage of its schema, or with @p sign -1 subtract it.
 *  lc__change_drop_chunk() does this itself. */
LC_CHECKED lc_status lc__change_count(struct lc__change *change,
    const struct lc__record *record, const struct lc__schema *schema, int sign);

/** Store the ledger row of a chunk. */
LC_CHECKED lc_status lc__change_put_ledger(struct lc__change *change, uint64_t chunk,
    const struct lc__ledger_row *row);

/**
 * Find the first ledger row from chunk @p from on; *id is its chunk. If the row is
 * damaged, *intact is false and *row all zero.
 * @return LC_OK; LC_END after the last row.
 */
LC_CHECKED lc_status lc__ledger_seek(struct lc__snapshot *snapshot, uint64_t from,
    uint64_t *id, struct lc__ledger_row *row, bool *intact);

/** The same for the first row after chunk @p last, which may be any number. */
LC_CHECKED lc_status lc__ledger_after(struct lc__snapshot *snapshot, uint64_t last,
    uint64_t *id, struct lc__ledger_row *row, bool *intact);

/** A record that a change makes dead. */
struct lc__dead {
	uint64_t chunk;
	uint64_t bytes;    /* of the record */
	uint64_t length;   /* of the record, as the ledger counts it */
	uint64_t checksum; /* of the record */
};

/**
 * Subtract records from the live ones of their chunks and of the module. Sorts @p dead. A
 * damaged ledger row is left alone; verify reports it. The index must no longer lead to
 * the dead records.
 * @param drop  drop the chunks that have no live record left
 */
LC_CHECKED lc_status lc__change_bury(struct lc__change *change, struct lc__dead *dead,
    uint32_t n, bool drop);

/** An index entry that a change adds. */
struct lc__new_entry {
	uint64_t prefix;   /* first 8 bytes of the cache_id, big-endian: for sorting */
	lc_id id;          /* borrowed */
	uint64_t hash;     /* lc__run_hash() of the id */
	uint64_t location; /* location of the record, or LC__TOMBSTONE */
};

/** The sort prefix of a cache_id. */
uint64_t lc__sort_prefix(const lc_id *id);

/**
 * Add a run with @p n entries, one or more, each cache_id once. Then merge the newest
 * runs if there are enough of them. Sorts @p entries. To look up keys in the change after
 * that, load the runs again, with lc__snapshot_load_runs().
 */
LC_CHECKED lc_status lc__change_add_run(struct lc__change *change,
    struct lc__new_entry *entries, uint32_t n);

/** Store a finished run, whose id is state.next_run, as the newest one. */
LC_CHECKED lc_status lc__change_push_run(struct lc__change *change,
    const struct lc__run_builder *builder, uint32_t level);

/** This many runs of one level are merged into one of the next level. */
#define LC__MERGE_FANOUT 8
/** Larger runs are not merged any more, which limits the size of a commit. */
#define LC__MERGE_LIMIT ((uint64_t)64 << 20)
/** The level of runs that are never merged again. */
#define LC__LEVEL_FULL UINT32_MAX

/**
 * Merge the newest runs of @p snapshot, which is of a write transaction, while there are
 * enough of them. Updates snapshot->state, which the caller stores, but not snapshot->runs.
 */
LC_CHECKED lc_status lc__merge_runs(struct lc__snapshot *snapshot);

/**
 * Merge all runs into one if their entries exceed three times the live records plus
 * 32,768, and the merged run would have at most about LC__MERGE_LIMIT bytes; considered
 * in one of 8 commits. As lc__merge_runs().
 */
LC_CHECKED lc_status lc__merge_superseded(struct lc__snapshot *snapshot);

#endif
