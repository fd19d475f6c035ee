/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recovery in progress: the readable content of a module's chunks and index, and the
 * conclusions from it. All pointers are into the map.
 */
#ifndef LC_LIFE_RECOVER_H
#define LC_LIFE_RECOVER_H

#include "life/progress.h"
#include "store/change.h"
#include "store/record.h"

/** lc__recovery_claim.run of a record itself. */
#define LC__CLAIM_RECORD UINT32_MAX

/** A statement of where a cache_id is: an entry of a run, or a record itself. */
struct lc__recovery_claim {
	uint64_t prefix; /* lc__sort_prefix() of the cache_id */
	const unsigned char *id;
	uint32_t id_size;
	uint32_t run;      /* index of the run, or LC__CLAIM_RECORD */
	uint64_t location; /* or LC__TOMBSTONE */
};

/** A range of cache_ids whose entries in a run may be lost. */
struct lc__recovery_gap {
	uint32_t run;                       /* index of the run */
	struct lc__run_entry after, before; /* between these; id NULL: no bound */
};

/** An intact record. */
struct lc__recovery_record {
	uint64_t location;
	uint64_t moved_to; /* its new location */
	const unsigned char *bytes;
	uint32_t size;
	bool live;
	uint64_t length; /* as the ledger counts it */
};

/** Bytes of a chunk that are not an intact record. */
struct lc__recovery_span {
	uint64_t start, end; /* locations */
	bool counted;        /* reported as lost, under a cache_id that leads there */
};

/** A chunk. */
struct lc__recovery_chunk {
	uint64_t id;
	uint64_t first, count; /* its intact records */
	bool rewrite;          /* some of it is damaged */
	uint64_t digest;       /* digest of these records, in a module with inputs */
};

/** The origin of a chunk according to the order. */
struct lc__recovery_origin {
	uint64_t chunk;
	uint32_t input;
	uint64_t ordinal;
};

struct lc__recovery {
	struct lc__change *change;
	const lc_progress *progress;
	lc_recover_result result;
	lc_settings settings;
	struct lc__measure measure; /* by their length field */
	bool state_lost;            /* the order of the runs is that of their ids */
	bool index_damaged;         /* the runs must be rewritten */
	bool inputs_damaged;        /* inputs and order must be rewritten */
	bool chunk_missing;         /* the ledger has a row for a missing chunk */
	bool trial;                 /* decide, but do not report or count */
	uint64_t done;              /* bytes read */
	/* malloc'ed, with counts and rooms */
	struct lc__run *runs; /* by position */
	struct lc__recovery_claim *claims;
	struct lc__recovery_gap *gaps;
	struct lc__recovery_record *records; /* by location */
	struct lc__recovery_span *spans;     /* by location */
	struct lc__recovery_chunk *chunks;   /* by id */
	struct lc__new_entry *live;          /* the new index, by cache_id */
	struct lc__recovery_origin *origins; /* by chunk */
	uint64_t nruns, nclaims, ngaps, nrecords, nspans, nchunks, nlive, norigins;
	size_t runs_room, claims_room, gaps_room, records_room, spans_room, chunks_room,
	    live_room, origins_room;
};

/* ---- chunks and index: recover_read.c, recover_decide.c -------------------------- */

/** Read all chunks: chunks, records and damaged spans, and a claim for each record. */
LC_CHECKED lc_status lc__recovery_read_chunks(struct lc__recovery *r);

/** Read all runs listed in the state: claims and gaps. */
LC_CHECKED lc_status lc__recovery_read_runs(struct lc__recovery *r);

/** Decide for every cache_id which record is live; compute the new index. */
LC_CHECKED lc_status lc__recovery_decide(struct lc__recovery *r);

/** The intact record at a location, NULL if there is none. */
struct lc__recovery_record *lc__recovery_record_at(const struct lc__recovery *r,
    uint64_t location);

/* ---- small rows: recover_rows.c --------------------------------------------------- */

/** Read the state row, repaired if one byte of it is wrong; else set r->state_lost. */
LC_CHECKED lc_status lc__recovery_read_state(struct lc__recovery *r);

/** Reconstruct a lost state row from the tables. */
LC_CHECKED lc_status lc__recovery_rebuild_state(struct lc__recovery *r);

/** Repair damaged schemas; a lost structure gets a placeholder. */
LC_CHECKED lc_status lc__recovery_mend_schemas(struct lc__recovery *r);

/** Repair the settings, or replace them by the defaults. */
LC_CHECKED lc_status lc__recovery_mend_settings(struct lc__recovery *r);
/** Repair the counters, or set them to 0. */
LC_CHECKED lc_status lc__recovery_mend_counters(struct lc__recovery *r);

/** Compare ledger and counters with the decisions, and find damaged rows. */
LC_CHECKED lc_status lc__recovery_check_counts(struct lc__recovery *r);

/** The first row of the ledger after chunk *id whose chunk is missing; LC_END if there is
 *  none. */
LC_CHECKED lc_status lc__recovery_orphan(struct lc__recovery *r, uint64_t *id);

/** Count all intact records. */
LC_CHECKED lc_status lc__recovery_count_usage(struct lc__recovery *r,
    struct lc__usage *usage);

/** The new ledger row of a chunk, with the readable parts of the old one. */
LC_CHECKED lc_status lc__recovery_row(struct lc__recovery *r,
    const struct lc__recovery_chunk *chunk, struct lc__ledger_row *row, bool *intact);

/* ---- rows under another key than their own: recover_strays.c ----------------------
 *
 * A B-tree has no checksums: a flipped bit in a key takes a whole row away from where it is
 * looked for. The headers of chunks and index runs say their ids; the checksum of any other
 * row is right for its own key alone.
 */

/** Rows of meta; rows with unknown names are dropped. */
LC_CHECKED lc_status lc__recovery_put_back_meta(struct lc__recovery *r);

/** Tables that contain each other's rows, according to the rows themselves. */
LC_CHECKED lc_status lc__recovery_put_back_tables(struct lc__recovery *r);

/** Chunks and index runs, whose headers contain their ids. Needs state_lost, or a state
 *  that was read. A chunk without a header keeps its key only if that id may have been
 *  assigned. */
LC_CHECKED lc_status lc__recovery_put_back_values(struct lc__recovery *r);

/** Schemas, and rows of ledger and inputs; the chunks are in place by now, and the state
 *  is known or reconstructed. */
LC_CHECKED lc_status lc__recovery_put_back_rows(struct lc__recovery *r);

/** How many schemas the records use: 1 more than the largest id in an intact record. */
LC_CHECKED lc_status lc__recovery_count_schemas(struct lc__recovery *r, uint32_t *out);

/* ---- inputs and the published order: recover_inputs.c ----------------------------- */

/** Read what the order knows of chunks whose ledger rows may be damaged. */
LC_CHECKED lc_status lc__recovery_read_origins(struct lc__recovery *r);

/** The number of inputs, according to the module's rows and ledger. */
LC_CHECKED lc_status lc__recovery_count_inputs(struct lc__recovery *r, uint32_t *out);

/** Set the origin of a chunk in a ledger row that was lost. */
void lc__recovery_get_origin(const struct lc__recovery *r, uint64_t chunk,
    struct lc__ledger_row *row);

/** Compare everything that verify compares, and record whether it must be rewritten. */
LC_CHECKED lc_status lc__recovery_check_inputs(struct lc__recovery *r);

/** Rewrite inputs and order from the ledger if they are damaged; call it after
 *  lc__recovery_write(). */
LC_CHECKED lc_status lc__recovery_write_inputs(struct lc__recovery *r);

/* ---- writing: recover_write.c ----------------------------------------------------- */

/** Write chunks, ledger, index and counters according to the decisions. */
LC_CHECKED lc_status lc__recovery_write(struct lc__recovery *r);

/** Give each chunk in a row of several a row of its own; this is one commit. */
LC_CHECKED lc_status lc__recovery_unfold(struct lc__env *env);

#endif
