/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recovery under way: what a module's chunks and its index say, as far as they
 * can be read, and what follows from that. All of it points into the map.
 */
#ifndef LC_LIFE_RECOVERY_H
#define LC_LIFE_RECOVERY_H

#include "life/found.h"
#include "store/change.h"
#include "store/length.h"

/** lc__claim.run of a record itself. */
#define LC__CLAIM_RECORD UINT32_MAX

/** Something that says where a cache_id is: an entry of a run, or a record. */
struct lc__claim {
	uint64_t prefix;   /* lc__sort_prefix() of the cache_id */
	const unsigned char *id;
	uint32_t id_size;
	uint32_t run;      /* position of the run, or LC__CLAIM_RECORD */
	uint64_t location; /* or LC__TOMBSTONE */
};

/** Cache_ids of which a run may hold entries that cannot be read. */
struct lc__gap {
	uint32_t run;      /* its position */
	struct lc__run_entry after, before; /* between these; id NULL: no bound */
};

/** A record that is whole. */
struct lc__sound {
	uint64_t location;
	uint64_t moved_to; /* location afterwards */
	const unsigned char *bytes;
	uint32_t size;
	bool live;
	uint64_t length; /* as the ledger sums it */
};

/** Bytes of a chunk that are no whole record. */
struct lc__span {
	uint64_t start, end; /* locations */
	bool counted;        /* as lost, by a cache_id that leads there */
};

/** A chunk. */
struct lc__found {
	uint64_t id;
	uint64_t first, count; /* its sound records */
	bool rewrite;          /* something of it is damaged */
	uint64_t digest;       /* of them, in a module with inputs */
};

/** Where the order says that a chunk came from. */
struct lc__placed {
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
	bool state_lost;     /* the order of the runs is that of their ids */
	bool index_damaged;  /* the runs are to be written anew */
	bool inputs_damaged; /* inputs and order are to be written anew */
	bool chunk_missing;  /* the ledger has a row for one that is not there */
	bool trial;          /* decide without telling and counting */
	uint64_t done;       /* bytes read */
	/* malloc'ed, with counts and rooms */
	struct lc__run *runs; /* by position */
	struct lc__claim *claims;
	struct lc__gap *gaps;
	struct lc__sound *sounds; /* by location */
	struct lc__span *spans;   /* by location */
	struct lc__found *chunks; /* by id */
	struct lc__new_entry *live; /* the index to be, by cache_id */
	struct lc__placed *placed; /* by chunk */
	uint64_t nruns, nclaims, ngaps, nsounds, nspans, nchunks, nlive, nplaced;
	size_t runs_room, claims_room, gaps_room, sounds_room, spans_room,
	    chunks_room, live_room, placed_room;
};

/** Read all chunks: chunks, sounds and spans, and a claim of each record. */
LC_CHECKED lc_status lc__recovery_read_chunks(struct lc__recovery *r);

/** Read all runs of the state: claims and gaps. */
LC_CHECKED lc_status lc__recovery_read_runs(struct lc__recovery *r);

/** Decide about every cache_id: which sounds are live; the index to be. */
LC_CHECKED lc_status lc__recovery_decide(struct lc__recovery *r);

/** The sound record at a location, NULL if there is none. */
struct lc__sound *lc__recovery_sound(const struct lc__recovery *r,
    uint64_t location);

#endif
