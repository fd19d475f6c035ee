/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking up in a snapshot: a chunk, a schema or a record by number, and the newest
 * record of a cache_id in all index runs.
 */
#ifndef LC_STORE_LOOKUP_H
#define LC_STORE_LOOKUP_H

#include "store/once.h"
#include "store/snapshot.h"

/* ---- by number ----------------------------------------------------------- */

/** The chunk; it must exist, else LC_CORRUPT. @p out is a copy that further look-ups do not
 *  change. */
LC_CHECKED lc_status lc__snapshot_chunk(struct lc__snapshot *snapshot, uint64_t id,
    struct lc__mapped_chunk *out);

/** The row with a chunk, if the chunk exists: it begins with the chunk, or with an older
 *  one of its block. @p first is the row's key. LC_NOT_FOUND without such a row. */
LC_CHECKED lc_status lc__chunk_row(struct lc__txn *txn, uint64_t id, uint64_t *first,
    struct lc__slice *out);

/** Drop a chunk's remembered address: a write transaction deletes or replaces the
 *  chunk. */
void lc__snapshot_forget_chunk(struct lc__snapshot *snapshot, uint64_t id);

/** The schema; it must exist, else LC_CORRUPT. */
LC_CHECKED lc_status lc__snapshot_schema(struct lc__snapshot *snapshot, uint32_t id,
    struct lc__known **out);

/** Record that a record of a chunk was read; each chunk once. */
static inline void
lc__snapshot_note_read(struct lc__snapshot *s, uint64_t location)
{
	const uint64_t id = lc__location_chunk(location);
	struct lc__chunk_slot *slot = &s->chunks[id % LC__CHUNK_SLOTS];

	if (slot->chunk.id != id || slot->read || s->nreads == LC__READS_NOTED)
		return;
	slot->read = true;
	s->reads[s->nreads++] = id;
}

/** Parse the record at a location; LC_CORRUPT if there is none. Only its lengths are
 *  checked. */
LC_CHECKED lc_status lc__snapshot_record(struct lc__snapshot *snapshot, uint64_t location,
    struct lc__record *out);

/** What this process has verified in the chunk of a location; nothing if there is no such
 *  chunk. */
struct lc__once_seen lc__snapshot_seen(struct lc__snapshot *snapshot, uint64_t location);

/** How much of a record was verified. */
struct lc__verified {
	bool head; /* everything before its tensors; all of a record with at most one
	            * tensor */
	bool all;
};

/** How much of a record this process has verified; @p seen is for the record's chunk. For
 *  a record with several tensors it cannot say that all was verified. */
struct lc__verified lc__record_verified(const struct lc__once_seen *seen,
    const struct lc__record *record);

/**
 * The directory of a chunk, in the map and verified: every offset is within the chunk,
 * but an intact record need not be there.
 * @return LC_OK; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__snapshot_directory(struct lc__snapshot *snapshot,
    const struct lc__mapped_chunk *chunk, struct lc__directory *out);

/* ---- by cache_id --------------------------------------------------------- */

/** The search for a cache_id. */
struct lc__lookup {
	lc_id id;          /* borrowed */
	uint64_t hash;     /* lc__run_hash() of it */
	uint64_t location; /* of the record, once it is found or guessed */
	uint32_t guess;    /* 1 + index of the run in which lc__index_guess() found the
	                    * location; 0 for none */
	bool reads;        /* the record's data will be read: prefetch it, too */
	struct lc__once
	    *once;        /* to verify once: what is known of records. NULL: always verify
	                   * */
	uint64_t fetched; /* the location to which seen belongs; UINT64_MAX: none yet */
	struct lc__once_seen seen;    /* of the chunk of the record */
	struct lc__verified verified; /* before this look-up, of the record found */
	struct lc__record record;     /* parsed, once it is found; not verified */
};

/** Begin a search: set id and hash; reads is false, once NULL. */
void lc__lookup_start(struct lc__lookup *lookup, struct lc__env *env, const void *id,
    size_t id_size);

/** Prefetch what lc__index_find() reads first. */
void lc__index_prefetch(const struct lc__snapshot *snapshot,
    const struct lc__lookup *lookup);

/**
 * Find the newest record of a cache_id.
 * @param verify  when the buckets of the index are compared with their checksums
 * @return LC_OK; LC_NOT_FOUND; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__index_find(struct lc__snapshot *snapshot,
    struct lc__lookup *lookup, lc_verify_mode verify);

/**
 * The first half of lc__index_find(), so that a batch can prefetch in between: finds a
 * location with the right fingerprint, without reading the record. lc__index_find()
 * continues from there.
 * @return LC_OK with lookup->location; LC_NOT_FOUND; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__index_guess(struct lc__snapshot *snapshot,
    struct lc__lookup *lookup, lc_verify_mode verify);

/** After lc__index_guess(): prefetch the memory that tells whether the record was
 *  verified. lookup->once must not be NULL. */
void lc__lookup_fetch_seen(const struct lc__snapshot *snapshot, struct lc__lookup *lookup,
    const struct lc__mapped_chunk *chunk);

/**
 * The cache_id that the index has for the record at an offset in a chunk, quoted for
 * messages; NULL if it has none. Walks the whole index: for records too damaged to read
 * it from them.
 */
const char *lc__index_key_at(struct lc__snapshot *snapshot, uint64_t chunk,
    uint64_t offset);

#endif
