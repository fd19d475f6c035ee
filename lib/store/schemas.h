/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures that this process has met in an environment, each kept once: so
 * that two are the same if their addresses are. They live as long as the
 * environment is open. Guarded by a lock of their own that is never held long.
 */
#ifndef LC_STORE_SCHEMAS_H
#define LC_STORE_SCHEMAS_H

#include <stdatomic.h>
#include <stdint.h>

#include "env/rows.h"
#include "value/schema.h"

/** lc__known.id: not in the module yet, as far as this process knows. */
#define LC__SCHEMA_NEW UINT32_MAX

/** A structure that was met. */
struct lc__known {
	struct lc__known *next;    /* of the same hash slot */
	struct lc__schema *schema; /* owned */
	atomic_uint_least32_t id;  /* in the module; set once, never changes */
};

struct lc__schemas;

struct lc__schemas *lc__schemas_new(void);
/** NULL is harmless. */
void lc__schemas_free(struct lc__schemas *schemas);
/** In a forked child, whose parent may have held the lock. */
void lc__schemas_after_fork(struct lc__schemas *schemas);

/** The structure of a tensor alone; without a lock once it was met. */
LC_CHECKED lc_status lc__schemas_of_tensor(struct lc__schemas *schemas,
    lc_dtype dtype, uint32_t ndim, struct lc__known **out);

/** Keep a structure; frees it if there is one like it. LC_SCHEMA above
 *  LC__SCHEMAS_MAX. */
LC_CHECKED lc_status lc__schemas_intern(struct lc__schemas *schemas,
    struct lc__schema *schema, struct lc__known **out);

/** The structure of a row of the schema table, whose id is @p id. */
LC_CHECKED lc_status lc__schemas_row(struct lc__schemas *schemas, uint32_t id,
    const void *bytes, size_t size, struct lc__known **out);

#endif
