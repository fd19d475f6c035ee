/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of the small rows: state, ledger, module. Does not use LMDB. */
#ifndef LC_ENV_ROWS_H
#define LC_ENV_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** The format of modules that this library writes and reads. */
#define LC__FORMAT 1

/** The most schemas of a module to which a put adds one. Records share a few; more is a
 *  mistake, such as a name that contains data. */
#define LC__SCHEMAS_PUT 4096
/** A module with more is damaged. The distance to the limit above lets several processes
 *  each add a last one: a record that was put must not fail at the commit. */
#define LC__SCHEMAS_MAX 65536

/** The largest chunk id: together with the offset in the chunk it is a location, whose
 *  highest bit has another meaning. */
#define LC__CHUNK_ID_MAX (((uint64_t)1 << 39) - 1)

/** Run ids and generations are below this, so that counting on from them never wraps. */
#define LC__RUN_ID_MAX ((uint64_t)1 << 62)

/* The checksum of a row. Every row of the tables meta, schema, ledger, input and order
 * ends with the XXH3 of its other bytes, seeded with its key, so that a row under another
 * row's key counts as damaged. */

/** Bytes of the checksum. */
#define LC__ROW_SUM 8

/** The seed for a row of meta, whose key is a name; in the other tables the seed is the
 *  key itself. */
uint64_t lc__row_seed(const char *name);
/** The checksum of @p size bytes of a row. */
uint64_t lc__row_sum(const void *bytes, size_t size, uint64_t seed);
/** Does a row of @p size bytes end with the right checksum? */
bool lc__row_intact(const void *row, size_t size, uint64_t seed);
/**
 * Repair a row with one wrong byte: the checksum determines which one and its value.
 * @return false for a row with more damage, and for one that is too large to try
 */
bool lc__row_mend(unsigned char *row, size_t size, uint64_t seed);

/** One index run in the list of the state row. */
struct lc__run_row {
	uint64_t id;      /* key in the index table */
	uint64_t entries; /* live and tombstones */
	uint64_t bytes;   /* size of the value */
	uint32_t level;   /* how often its entries were merged */
};

/** The state row: counters and the index's runs of one commit. */
struct lc__state {
	uint64_t generation;      /* commits so far */
	uint64_t live;            /* live records */
	uint64_t records;         /* records in chunks, dead ones included */
	uint64_t live_bytes;      /* bytes of live records */
	uint64_t bytes;           /* bytes of all records in chunks */
	uint64_t next_chunk;      /* id of the next chunk */
	uint64_t next_run;        /* id of the next run */
	uint32_t next_schema;     /* id of the next schema */
	uint32_t nruns;           /* runs that follow */
	size_t room;              /* room of the array */
	struct lc__run_row *runs; /* oldest first, malloc'ed */
};

bool lc__state_encode(const struct lc__state *state, struct lc__buf *out);
/**
 * Read a state row into @p state, reusing its array.
 * @return LC_OK; LC_CORRUPT; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__state_decode(const void *bytes, size_t size,
    struct lc__state *state);
/** Append a run; false without memory. */
bool lc__state_push_run(struct lc__state *state, const struct lc__run_row *run);
/** Remove @p n runs from position @p from. */
void lc__state_drop_runs(struct lc__state *state, uint32_t from, uint32_t n);
void lc__state_free(struct lc__state *state);

/** The ledger row of a chunk. */
struct lc__ledger_row {
	uint64_t records;    /* records in the chunk */
	uint64_t live;       /* records neither replaced nor deleted since */
	uint64_t bytes;      /* bytes of all records */
	uint64_t live_bytes; /* of the live ones */
	uint64_t source;     /* source shard */
	uint64_t ordinal;    /* position in the source; for plain puts a hash of which
	                      * records live: equal chunks have equal hashes */
	uint64_t hash;       /* XXH3-64 over the records' checksums in order */
	uint64_t time_ms;    /* of the commit, since 1970 */
	uint64_t read_ms;    /* of the last read that was recorded, 0 for none */
	uint64_t length;     /* sum of the lengths of the live records */
};

#define LC__LEDGER_ROW 88
void lc__ledger_encode(const struct lc__ledger_row *row, uint64_t chunk,
    unsigned char out[LC__LEDGER_ROW]);
bool lc__ledger_decode(const void *bytes, size_t size, uint64_t chunk,
    struct lc__ledger_row *out);

/** The module row, written once. */
struct lc__module_row {
	uint32_t format;     /* LC__FORMAT */
	uint8_t uuid[16];    /* random */
	uint64_t created_ms; /* since 1970 */
};

void lc__module_encode(const struct lc__module_row *row, struct lc__buf *out);
/** @return LC_OK; LC_CORRUPT; LC_VERSION for an intact row of a later format. */
LC_CHECKED lc_status lc__module_decode(const void *bytes, size_t size,
    struct lc__module_row *out);

#endif
