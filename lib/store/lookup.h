/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding things in a snapshot: a chunk, a schema and a record by their numbers, and the
 * newest record of a cache_id in all index runs.
 */
#ifndef LC_STORE_LOOKUP_H
#define LC_STORE_LOOKUP_H

#include "store/snapshot.h"

/* ---- by number ----------------------------------------------------------- */

/** The chunk, or LC_CORRUPT: it must be there. @p out is a copy: further look-ups
 *  do not change it. */
LC_CHECKED lc_status lc__snapshot_chunk(struct lc__snapshot *snapshot,
    uint64_t id, struct lc__mapped_chunk *out);

/** Forget where a chunk stands: a write transaction deletes or replaces it. */
void lc__snapshot_forget_chunk(struct lc__snapshot *snapshot, uint64_t id);

/** The schema, or LC_CORRUPT: it must be there. */
LC_CHECKED lc_status lc__snapshot_schema(struct lc__snapshot *snapshot,
    uint32_t id, struct lc__known **out);

/** Note that a record of a chunk was read, once a commit. */
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

/** Take apart the record at a location; LC_CORRUPT if it is none. */
LC_CHECKED lc_status lc__snapshot_record(struct lc__snapshot *snapshot,
    uint64_t location, struct lc__record *out);

/**
 * The directory of a chunk, in the map and verified: every offset is that of bytes
 * in the chunk, though not of a record that can be parsed.
 * @return LC_OK; LC_CORRUPT if it is damaged.
 */
LC_CHECKED lc_status lc__snapshot_directory(struct lc__snapshot *snapshot,
    const struct lc__mapped_chunk *chunk, struct lc__directory *out);

/* ---- by cache_id --------------------------------------------------------- */

/** A cache_id on its way through the index. */
struct lc__lookup {
	lc_id id;              /* borrowed */
	uint64_t hash;         /* lc__run_hash() of it */
	uint64_t location;     /* of the record, once found or guessed */
	uint32_t guess;        /* position + 1 of the run that a guess met, 0 for none */
	struct lc__record record; /* taken apart, once found; not verified */
};

/** Set id and hash. */
void lc__lookup_start(struct lc__lookup *lookup, struct lc__env *env,
    const void *id, size_t id_size);

/** Ask for the cache lines that lc__index_find() will read first. */
void lc__index_prefetch(const struct lc__snapshot *snapshot,
    const struct lc__lookup *lookup);

/**
 * Find the newest record of a cache_id.
 * @p checked verifies the index as it is read.
 * @return LC_OK; LC_NOT_FOUND; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__index_find(struct lc__snapshot *snapshot,
    struct lc__lookup *lookup, bool checked);

/**
 * The first half of lc__index_find(), so that a batch can prefetch in between:
 * finds a location whose fingerprint agrees, and touches no record.
 * lc__index_find() goes on from there.
 * @return LC_OK with lookup->location; LC_NOT_FOUND; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__index_guess(struct lc__snapshot *snapshot,
    struct lc__lookup *lookup, bool checked);

/**
 * The cache_id that the index has for the record at a byte of a chunk, quoted for messages; NULL if it
 * has none there. For records that cannot say it themselves: it walks the whole index.
 */
const char *lc__index_key_at(struct lc__snapshot *snapshot, uint64_t chunk,
    uint64_t offset);

#endif
