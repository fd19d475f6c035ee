/* SPDX-License-Identifier: BSD-2-Clause */
/* A commit: pending writes become a chunk, an index run and a ledger row. */
#ifndef LC_STORE_COMMIT_H
#define LC_STORE_COMMIT_H

#include "env/env.h"
#include "store/pending.h"

struct lc__input_step;

/**
 * Commit everything in @p pending in one transaction; durable on LC_OK.
 * @param step  NULL for puts and deletes of a handle, which a module with inputs refuses;
 *              else pending is the next chunk of an input, and if it has no records only
 *              the input's row changes
 * @return also LC_EXISTS, for an input, if the module has one of the keys.
 */
LC_CHECKED lc_status lc__commit(struct lc__env *env, const struct lc__pending *pending,
    lc_durability durability, struct lc__input_step *step);

#endif
