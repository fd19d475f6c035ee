/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The puts and deletes of a handle that are not committed yet: encoded records
 * in one buffer, and a table to find them by cache_id. Not locked: the handle
 * guards it.
 */
#ifndef LC_STORE_PENDING_H
#define LC_STORE_PENDING_H

#include "lmdbcache.h"
#include "store/record.h"
#include "store/schemas.h"

/** One put or delete. */
struct lc__pending_entry {
	uint64_t hash;  /* of the cache_id */
	uint32_t unit;  /* offset of the record in the buffer / 64 */
	uint16_t schema; /* position in lc__pending.schemas */
	bool deletes;   /* a delete: the record holds only the cache_id */
	bool dead;      /* a later entry replaces it */
};

struct lc__pending {
	unsigned char *bytes; /* mapped; records in put order */
	size_t room;          /* of bytes */
	size_t used;          /* of bytes */
	struct lc__pending_entry *entries; /* malloc'ed */
	uint32_t count;       /* entries */
	size_t entries_room;
	uint32_t *table;      /* position in entries + 1 by hash, 0 empty; malloc'ed */
	uint32_t table_size;  /* a power of two, or 0 */
	struct lc__pending_schema {
		struct lc__known *known;
		uint32_t id; /* its records are sealed with; LC__SCHEMA_NEW: not yet */
	} *schemas;           /* those in use; malloc'ed */
	uint32_t nschemas;
	size_t schemas_room;
	uint64_t last_seq;    /* number of the last put on the handle */
	uint64_t first_ns;    /* when the first entry came */
};

/**
 * Add a put, or with known NULL a delete. Replaces an entry of the same id. The
 * record is sealed if its schema's id in the module is known; else that is left
 * to the commit. lc__pending_reserve() has made the room.
 * @param size  lc__record_size() of the draft
 */
LC_CHECKED lc_status lc__pending_add(struct lc__pending *pending, uint64_t hash,
    const struct lc__draft *draft, size_t size, struct lc__known *known);

/** Add a put of a record that is encoded already, with whatever seal. */
LC_CHECKED lc_status lc__pending_add_record(struct lc__pending *pending,
    uint64_t hash, const struct lc__record *record, struct lc__known *known);

/** The newest entry of a cache_id, NULL if there is none. */
const struct lc__pending_entry *lc__pending_find(
    const struct lc__pending *pending, uint64_t hash, const void *id,
    size_t id_size);

/** Take apart the record of an entry. */
void lc__pending_record(const struct lc__pending *pending,
    const struct lc__pending_entry *entry, struct lc__record *out);

/** Forget everything, keep the memory unless it is above @p keep bytes. */
void lc__pending_clear(struct lc__pending *pending, size_t keep);
/** All but the struct itself. */
void lc__pending_free_parts(struct lc__pending *pending);
/** NULL is harmless. */
void lc__pending_free(struct lc__pending *pending);

/** Make sure that the buffer has @p room bytes; it may move. */
LC_CHECKED lc_status lc__pending_reserve(struct lc__pending *pending,
    size_t room);

#endif
