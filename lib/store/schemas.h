/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures that this process has met in an environment, each kept once: so
 * that two are the same if their addresses are. They live as long as the
 * environment is open. Guarded by a lock of their own that is never held long.
 */
#ifndef LC_STORE_SCHEMAS_H
#define LC_STORE_SCHEMAS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "env/env.h"
#include "value/schema.h"

/** lc__known.id: not in the module yet, as far as this process knows. */
#define LC__SCHEMA_NEW UINT32_MAX

/* A row of the table schema is the bytes of a structure and the checksum of a row. */

/**
 * Read the row of schema @p id; free the structure with lc__schema_free().
 * @return LC_OK; LC_CORRUPT; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__schema_row_decode(const void *bytes, size_t size,
    uint32_t id, struct lc__schema **out);

/** Store a structure as schema @p id, in the place of another one if there is one. */
LC_CHECKED lc_status lc__schema_row_put(struct lc__txn *txn, uint32_t id,
    const struct lc__schema *schema);

/** A structure that was met. */
struct lc__known {
	struct lc__known *next;    /* of the same hash slot */
	struct lc__schema *schema; /* owned */
	atomic_uint_least32_t id;  /* in the module; set once, never changes */
	bool fresh;                /* put, and not stored yet as far as is known */
};

struct lc__schemas;

struct lc__schemas *lc__schemas_new(void);
/** NULL is harmless. */
void lc__schemas_free(struct lc__schemas *schemas);
/** In a forked child, whose parent may have held the lock. */
void lc__schemas_after_fork(struct lc__schemas *schemas);

/** The structure of a tensor alone if one was put, else NULL; without a lock. */
struct lc__known *lc__schemas_of_tensor(struct lc__schemas *schemas,
    lc_dtype dtype, uint32_t ndim);

/** Keep a structure that is put; frees it if there is one like it. LC_SCHEMA if with
 *  it the module would have more than LC__SCHEMAS_PUT. */
LC_CHECKED lc_status lc__schemas_intern(struct lc__schemas *schemas,
    struct lc__schema *schema, struct lc__known **out);

/** Would lc__schemas_intern() refuse a structure, as far as is known? */
bool lc__schemas_refuses(struct lc__schemas *schemas,
    const struct lc__schema *schema);

/** The structure of a row of the schema table, whose id is @p id. Nothing that the
 *  module has is refused. */
LC_CHECKED lc_status lc__schemas_row(struct lc__schemas *schemas, uint32_t id,
    const void *bytes, size_t size, struct lc__known **out);

/** A commit has stored a structure. */
void lc__schemas_stored(struct lc__schemas *schemas, struct lc__known *known,
    uint32_t id);

/** The module has so many rows, or more. */
void lc__schemas_count(struct lc__schemas *schemas, uint32_t rows);

#endif
