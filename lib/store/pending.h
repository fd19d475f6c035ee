/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A buffer of uncommitted puts and deletes: encoded records in one block of memory, large
 * ones in memory of their own, and a table that finds them by cache_id. It has no lock of
 * its own: its owner guards it.
 */
#ifndef LC_STORE_PENDING_H
#define LC_STORE_PENDING_H

#include "lmdbcache.h"
#include "store/large.h"
#include "store/record.h"
#include "store/schemas.h"

/** One put or delete. */
struct lc__pending_entry {
	uint64_t hash;    /* of the cache_id */
	uint32_t unit;    /* offset of the record in the buffer / 64; if it is large, its
	                   * index in lc__pending.large */
	uint16_t schema;  /* position in lc__pending.schemas */
	bool deletes : 1; /* a delete: the record holds only the cache_id */
	bool dead : 1;    /* a later entry replaces it */
	bool large : 1;   /* the record has its own memory */
};

struct lc__pending {
	unsigned char *bytes;     /* mapped; records in put order */
	size_t room;              /* bytes mapped */
	size_t used;              /* bytes in use, without large records */
	struct lc__large **large; /* memory of the large records; malloc'ed */
	size_t nlarge;
	size_t large_room;
	size_t large_bytes;                /* of all large records */
	struct lc__pending_entry *entries; /* in put order; malloc'ed */
	uint32_t count;                    /* entries in use */
	size_t entries_room;
	uint32_t *table; /* by hash: position in entries + 1, or 0 for none; malloc'ed */
	uint32_t table_size; /* a power of two, or 0 */
	struct lc__pending_schema {
		struct lc__known *known;
		uint32_t id; /* ids with which its records are sealed; LC__SCHEMA_NEW: not
		         * sealed yet */
	} * schemas;         /* that the entries use; malloc'ed */
	uint32_t nschemas;
	size_t schemas_room;
	/* for its owner: */
	uint64_t last_seq;        /* number of the last put in it */
	uint64_t due_ns;          /* when to commit it; UINT64_MAX for never */
	uint64_t interval_ms;     /* the shortest interval that counts for due_ns */
	lc_durability durability; /* durability of the commit */
};

/**
 * Add a put, or with @p known NULL a delete; it replaces an entry with the same cache_id.
 * The record is sealed if its schema has an id in the module; else the commit seals it.
 * Call lc__pending_reserve() first.
 * @param size  lc__record_size() of the draft
 */
LC_CHECKED lc_status lc__pending_add(struct lc__pending *pending, uint64_t hash,
    const struct lc__draft *draft, size_t size, struct lc__known *known);

/** Add a put of a record that is encoded already; it is sealed anew. */
LC_CHECKED lc_status lc__pending_add_record(struct lc__pending *pending, uint64_t hash,
    const struct lc__record *record, struct lc__known *known);

/** Add a put of a record that is encoded in memory of its own, whose ownership passes on
 *  LC_OK. It is sealed anew. Needs no lc__pending_reserve(). */
LC_CHECKED lc_status lc__pending_add_large(struct lc__pending *pending, uint64_t hash,
    struct lc__large *large, struct lc__known *known);

/** Bytes of all records. */
static inline size_t
lc__pending_bytes(const struct lc__pending *pending)
{
	return pending->used + pending->large_bytes;
}

/** The newest entry of a cache_id; NULL if there is none. */
const struct lc__pending_entry *lc__pending_find(const struct lc__pending *pending,
    uint64_t hash, const void *id, size_t id_size);

/** Parse the record of an entry. Its tensors may be elsewhere: lc__pending_rest(). */
void lc__pending_record(const struct lc__pending *pending,
    const struct lc__pending_entry *entry, struct lc__record *out);

/** The draft of a record that has only its head in the buffer; else NULL. */
static inline const struct lc__draft *
lc__pending_rest(const struct lc__pending *pending, const struct lc__pending_entry *entry)
{
	return entry->large ? pending->large[entry->unit]->rest : NULL;
}

/** If the record of this draft has only its head in the buffer, copy its tensors: then
 *  the draft is no longer needed. */
void lc__pending_complete(struct lc__pending *pending, const struct lc__draft *draft);

/** Remove all entries. Keep the memory unless it exceeds @p keep bytes; memory of large
 *  records goes to the pool, with the same limit. The buffer of a writer has no pool. */
void lc__pending_clear(struct lc__pending *pending, size_t keep,
    struct lc__large_pool *pool);
/** Free all but the struct itself. */
void lc__pending_free_parts(struct lc__pending *pending);
/** NULL is allowed. */
void lc__pending_free(struct lc__pending *pending);

/** Give the buffer at least @p room bytes of memory, which may move. */
LC_CHECKED lc_status lc__pending_reserve(struct lc__pending *pending, size_t room);

#endif
