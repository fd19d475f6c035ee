/* SPDX-License-Identifier: BSD-2-Clause */
/* May a value of some structure be put? */
#ifndef LC_STORE_ADMIT_H
#define LC_STORE_ADMIT_H

#include "store/cache.h"

/**
 * In a strict module, compare a structure with the first one; the first put of
 * all makes its structure the first, in a commit of its own, so that no two
 * processes can each have their own.
 * @return LC_OK; LC_SCHEMA with both; or why it could not be told.
 */
LC_CHECKED lc_status lc__admit(struct lc_cache *cache,
    const struct lc__schema *schema);

/** Admit a structure and keep it; it is freed if that fails, or if there is one
 *  like it. LC_SCHEMA also if the module has too many. */
LC_CHECKED lc_status lc__admit_new(struct lc_cache *cache,
    struct lc__schema *schema, struct lc__known **out);

#endif
