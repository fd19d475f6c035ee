/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures of values that this process has met in an environment. Each is kept
 * once, so two are equal if and only if their addresses are. They live until the
 * environment is closed. A separate lock guards them and is never held for long.
 */
#ifndef LC_STORE_SCHEMAS_H
#define LC_STORE_SCHEMAS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "env/env.h"
#include "value/schema.h"

/** lc__known.id of a structure that the module does not have, as far as this process
 *  knows. */
#define LC__SCHEMA_NEW UINT32_MAX

/* A row of the table schema is the bytes of a structure and a row's checksum. */

/**
 * Decode the row of schema @p id. Free the structure with lc__schema_free().
 * @return LC_OK; LC_CORRUPT; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__schema_row_decode(const void *bytes, size_t size, uint32_t id,
    struct lc__schema **out);

/** Store a structure as schema @p id, or replace the stored one. */
LC_CHECKED lc_status lc__schema_row_put(struct lc__txn *txn, uint32_t id,
    const struct lc__schema *schema);

/** A structure that this process has met. */
struct lc__known {
	struct lc__known *next;    /* in the same hash slot */
	struct lc__schema *schema; /* owned */
	atomic_uint_least32_t id;  /* in the module; once set, it never changes */
	bool fresh; /* it was put, and as far as known no commit has stored it */
};

struct lc__schemas;

struct lc__schemas *lc__schemas_new(void);
/** NULL is allowed. */
void lc__schemas_free(struct lc__schemas *schemas);
/** In a forked child, whose parent may have held the lock. */
void lc__schemas_after_fork(struct lc__schemas *schemas);

/** The structure of a tensor, if such a tensor was put, else NULL. Takes no lock. */
struct lc__known *lc__schemas_of_tensor(struct lc__schemas *schemas, lc_dtype dtype,
    uint32_t ndim);

/** The structure of a value, if it is the one kept last, else NULL. Takes no lock. */
struct lc__known *lc__schemas_of_value(struct lc__schemas *schemas,
    const lc_value *value);

/** Keep the structure of a put; free it if an equal one is kept already. LC_SCHEMA if the
 *  module would have more than LC__SCHEMAS_PUT. */
LC_CHECKED lc_status lc__schemas_intern(struct lc__schemas *schemas,
    struct lc__schema *schema, struct lc__known **out);

/** Would lc__schemas_intern() refuse this structure, as far as is known? */
bool lc__schemas_refuses(struct lc__schemas *schemas, const struct lc__schema *schema);

/** The structure of row @p id of the table schema, which the module has: it is never
 *  refused. */
LC_CHECKED lc_status lc__schemas_row(struct lc__schemas *schemas, uint32_t id,
    const void *bytes, size_t size, struct lc__known **out);

/** A commit has stored a structure as schema @p id. */
void lc__schemas_stored(struct lc__schemas *schemas, struct lc__known *known,
    uint32_t id);

/** The module has at least this many rows. */
void lc__schemas_count(struct lc__schemas *schemas, uint32_t rows);

#endif
