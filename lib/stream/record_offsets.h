/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The offsets and lengths of the live records of a chunk. They are computed for a chunk
 * whose own directory does not have them: because some of its records are dead, or
 * because the source counts its units by another field. A cache keeps them for all
 * cursors of a source. The key is the content of the chunk, so that they stay valid
 * whatever is committed later.
 */
#ifndef LC_STREAM_RECORD_OFFSETS_H
#define LC_STREAM_RECORD_OFFSETS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "store/snapshot.h"

/** A chunk and its content at that time. */
struct lc__record_offsets_key {
	uint64_t chunk;   /* id */
	uint64_t records; /* in it */
	uint64_t live;    /* of them */
	uint64_t hash;    /* of the chunk, from its ledger row */
	uint64_t ordinal; /* likewise: changes with the set of live records */
};

/** The position of a record, in units of LC__RECORD_ALIGN. */
struct lc__record_offset {
	uint32_t at; /* from the end of the chunk's header */
	uint32_t size;
};

/** Immutable once computed; shared and counted. */
struct lc__record_offsets {
	atomic_uint refs;
	struct lc__record_offsets_key key;
	uint64_t stride; /* size of each record, if all have the same size and are
	                  * adjacent; else 0 */
	struct lc__record_offset *at; /* of each, malloc'ed; NULL with a stride, and if
	                               * the chunk's directory has them */
	uint64_t length;              /* units of each, if all have the same number */
	uint64_t *ends;               /* else the cumulative units, malloc'ed; or NULL */
	uint64_t units;               /* of all */
	struct lc__record_offsets *next;          /* in the same slot of the hash table */
	struct lc__record_offsets *newer, *older; /* by use */
};

/** What they are computed from. */
struct lc__record_offsets_input {
	const struct lc__ledger_row *row; /* of the chunk */
	const char *length_field;         /* "" for none */
	bool own_lengths;                 /* it is the field that the directory counts */
};

/**
 * Compute them, held by the caller.
 * @return LC_OK; LC_CORRUPT; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__record_offsets_read(struct lc__snapshot *snapshot,
    const struct lc__record_offsets_key *key,
    const struct lc__record_offsets_input *input, struct lc__record_offsets **out);

/** NULL is allowed. */
void lc__record_offsets_drop(struct lc__record_offsets *offsets);

/* ---- the cache ---------------------------------------------------------------------- */

/** Keeps offsets, and removes the least recently used first. Used by many threads. */
struct lc__offsets_cache;

/** A cache of at most @p limit bytes; NULL without memory. */
struct lc__offsets_cache *lc__offsets_cache_new(uint64_t limit);
/** NULL is allowed. */
void lc__offsets_cache_free(struct lc__offsets_cache *cache);

/** Get them, held by the caller; NULL if they are not there. */
struct lc__record_offsets *lc__offsets_cache_get(struct lc__offsets_cache *cache,
    const struct lc__record_offsets_key *key);

/** Keep offsets, unless they are larger than the limit. If another thread stored the same
 *  ones before, the caller's are released and @p offsets is set to those. */
void lc__offsets_cache_put(struct lc__offsets_cache *cache,
    struct lc__record_offsets **offsets);

/** Get the offsets of a chunk, or compute and keep them; held by the caller. @p known
 *  tells whether they were there. */
LC_CHECKED lc_status lc__offsets_cache_need(struct lc__offsets_cache *cache,
    struct lc__snapshot *snapshot, uint64_t chunk,
    const struct lc__record_offsets_input *input, struct lc__record_offsets **out,
    bool *known);

/** The size of what is kept, at most the limit. */
uint64_t lc__offsets_cache_bytes(struct lc__offsets_cache *cache);

#endif
