/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recovery in progress: what a module's chunks and its index say, as far as they
 * can be read, and what follows from that. All of it points into the map.
 */
#ifndef LC_LIFE_RECOVER_H
#define LC_LIFE_RECOVER_H

#include "life/progress.h"
#include "store/change.h"
#include "store/record.h"

/** lc__recovery_claim.run of a record itself. */
#define LC__CLAIM_RECORD UINT32_MAX

/** Something that says where a cache_id is: an entry of a run, or a record itself. */
struct lc__recovery_claim {
	uint64_t prefix; /* lc__sort_prefix() of the cache_id */
	const unsigned char *id;
	uint32_t id_size;
	uint32_t run;      /* position of the run, or LC__CLAIM_RECORD */
	uint64_t location; /* or LC__TOMBSTONE */
};

/** A range of cache_ids whose entries in a run may be lost. */
struct lc__recovery_gap {
	uint32_t run;                       /* its position */
	struct lc__run_entry after, before; /* between these; id NULL: no bound */
};

/** A record that is whole. */
struct lc__recovery_record {
	uint64_t location;
	uint64_t moved_to; /* location afterwards */
	const unsigned char *bytes;
	uint32_t size;
	bool live;
	uint64_t length; /* as the ledger sums it */
};

/** Bytes of a chunk that are not a whole record. */
struct lc__recovery_span {
	uint64_t start, end; /* locations */
	bool counted;        /* as lost, by a cache_id that leads there */
};

/** A chunk. */
struct lc__recovery_chunk {
	uint64_t id;
	uint64_t first, count; /* its whole records */
	bool rewrite;          /* something of it is damaged */
	uint64_t digest;       /* of them, in a module with inputs */
};

/** Where the order says that a chunk came from. */
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
	bool index_damaged;         /* the runs must be written again */
	bool inputs_damaged;        /* inputs and order must be written again */
	bool chunk_missing;         /* the ledger has a row for one that is not there */
	bool trial;                 /* decide, but report and count nothing */
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

/** Read all chunks: chunks, records and spans, and a claim of each record. */
LC_CHECKED lc_status lc__recovery_read_chunks(struct lc__recovery *r);

/** Read all runs of the state: claims and gaps. */
LC_CHECKED lc_status lc__recovery_read_runs(struct lc__recovery *r);

/** Decide about every cache_id: which records are live; the new index. */
LC_CHECKED lc_status lc__recovery_decide(struct lc__recovery *r);

/** The whole record at a location, NULL if there is none. */
struct lc__recovery_record *lc__recovery_record_at(const struct lc__recovery *r,
    uint64_t location);

/* ---- small rows: recover_rows.c --------------------------------------------------- */

/** Read the state row, mended if one byte of it is wrong; else r->state_lost. */
LC_CHECKED lc_status lc__recovery_read_state(struct lc__recovery *r);

/** Make a state row that is lost again, from the tables. */
LC_CHECKED lc_status lc__recovery_rebuild_state(struct lc__recovery *r);

/** Mend the damaged schemas; a structure that is lost gets a placeholder. */
LC_CHECKED lc_status lc__recovery_mend_schemas(struct lc__recovery *r);

/** Mend the settings, or put the defaults in their place. */
LC_CHECKED lc_status lc__recovery_mend_settings(struct lc__recovery *r);
/** Mend the counters, or set them to 0. */
LC_CHECKED lc_status lc__recovery_mend_counters(struct lc__recovery *r);

/** Compare ledger and counters with what was decided, and find rows damaged. */
LC_CHECKED lc_status lc__recovery_check_counts(struct lc__recovery *r);

/** The first row of the ledger after chunk *id whose chunk is missing; LC_END without one. */
LC_CHECKED lc_status lc__recovery_orphan(struct lc__recovery *r, uint64_t *id);

/** Count all whole records. */
LC_CHECKED lc_status lc__recovery_count_usage(struct lc__recovery *r,
    struct lc__usage *usage);

/** The new ledger row of a chunk, with what can be read of the old one. */
LC_CHECKED lc_status lc__recovery_row(struct lc__recovery *r,
    const struct lc__recovery_chunk *chunk, struct lc__ledger_row *row, bool *intact);

/* ---- rows under another key than their own: recover_strays.c ----------------------
 *
 * A B-tree has no checksums: a flipped bit in a key takes a whole row away from where it is
 * looked for. The headers of chunks and index runs say their ids; the checksum of any other
 * row is right for its own key alone.
 */

/** Rows of meta; rows of unknown names are dropped. */
LC_CHECKED lc_status lc__recovery_put_back_meta(struct lc__recovery *r);

/** Tables that hold each other's rows, as these say themselves. */
LC_CHECKED lc_status lc__recovery_put_back_tables(struct lc__recovery *r);

/** Chunks and index runs, whose headers say their ids. With state_lost, or a state that
 *  was read. A chunk without a header keeps its key only if that may have been given
 *  out. */
LC_CHECKED lc_status lc__recovery_put_back_values(struct lc__recovery *r);

/** Schemas and rows of ledger and inputs; the chunks are where they belong, and the
 *  state is known, or made up. */
LC_CHECKED lc_status lc__recovery_put_back_rows(struct lc__recovery *r);

/** How many schemas the records name: 1 more than the largest one of a whole record. */
LC_CHECKED lc_status lc__recovery_count_schemas(struct lc__recovery *r, uint32_t *out);

/* ---- inputs and the published order: recover_inputs.c ----------------------------- */

/** Read what the order says of chunks whose ledger rows may be damaged. */
LC_CHECKED lc_status lc__recovery_read_origins(struct lc__recovery *r);

/** How many inputs the module has, as far as its rows and its ledger say. */
LC_CHECKED lc_status lc__recovery_count_inputs(struct lc__recovery *r, uint32_t *out);

/** Where a chunk came from, for a ledger row that is lost. */
void lc__recovery_get_origin(const struct lc__recovery *r, uint64_t chunk,
    struct lc__ledger_row *row);

/** Compare everything that verify does, and note if it must be written again. */
LC_CHECKED lc_status lc__recovery_check_inputs(struct lc__recovery *r);

/** Write inputs and order again from the ledger, if they are damaged; after
 *  lc__recovery_write(). */
LC_CHECKED lc_status lc__recovery_write_inputs(struct lc__recovery *r);

/* ---- writing: recover_write.c ----------------------------------------------------- */

/** Write chunks, ledger, index and counters as they follow from what was decided. */
LC_CHECKED lc_status lc__recovery_write(struct lc__recovery *r);

/** Give each chunk of the rows that hold several a row of its own; a commit. */
LC_CHECKED lc_status lc__recovery_unfold(struct lc__env *env);

#endif
