/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the live records of a chunk stand and what units they have, as far as that
 * has to be worked out: a chunk whose own directory says it needs none of this.
 *
 * What was worked out is kept for all cursors of a source. It is found by what the
 * chunk was then, so it stays true whatever is committed later.
 */
#ifndef LC_STREAM_PLACES_H
#define LC_STREAM_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "store/chunk.h"
#include "store/snapshot.h"

/** What places belong to. */
struct lc__places_key {
	uint64_t chunk;   /* id */
	uint64_t records; /* in it */
	uint64_t live;    /* of them */
	uint64_t hash;    /* of the chunk, as its ledger row says */
	uint64_t ordinal; /* likewise: which of the records live */
};

/** A record, in units of LC__RECORD_ALIGN. */
struct lc__place {
	uint32_t at;   /* behind the chunk's header */
	uint32_t size;
};

/** Immutable once made; counted. */
struct lc__places {
	atomic_uint refs;
	struct lc__places_key key;
	uint64_t stride;        /* bytes of each record, if they follow each other and are
	                           alike; else 0 */
	struct lc__place *at;   /* of each, without a stride; NULL if the chunk's own
	                           directory is to be asked. malloc'ed */
	uint64_t length;        /* units of each, if all have the same */
	uint64_t *ends;         /* else units up to each and with it; else NULL. malloc'ed */
	uint64_t units;         /* of all */
	struct lc__places *next;  /* of the same hash slot */
	struct lc__places *newer, *older; /* by use */
};

/** What they are worked out from. */
struct lc__places_ask {
	const struct lc__ledger_row *row;         /* of the chunk */
	const struct lc__directory *directory;    /* of the chunk */
	const char *length_field;                 /* "" for none */
	bool own_lengths;                         /* it is the one the directory is about */
};

/**
 * Work them out, from the directory as far as it goes, else from the records' heads.
 * For the caller to drop.
 * @return LC_OK; LC_CORRUPT; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__places_read(struct lc__snapshot *snapshot,
    const struct lc__places_key *key, const struct lc__places_ask *ask,
    struct lc__places **out);

/** NULL is harmless. */
void lc__places_drop(struct lc__places *places);

/** Places that are kept, the least recently used of which leave first. */
struct lc__places_cache;

/** Of at most @p limit bytes; NULL without memory. */
struct lc__places_cache *lc__places_cache_new(uint64_t limit);
/** NULL is harmless. */
void lc__places_cache_free(struct lc__places_cache *cache);

/** Held for the caller; NULL if there are none. */
struct lc__places *lc__places_cache_get(struct lc__places_cache *cache,
    const struct lc__places_key *key);

/** Keep places; those that are larger than the limit are not. If others were faster,
 *  the caller's become theirs. */
void lc__places_cache_put(struct lc__places_cache *cache,
    struct lc__places **places);

/** Bytes that are kept, at most the limit. */
uint64_t lc__places_cache_bytes(struct lc__places_cache *cache);

#endif
