/* SPDX-License-Identifier: BSD-2-Clause */
/* One commit: pending writes become a chunk, an index run and a ledger row. */
#ifndef LC_STORE_COMMIT_H
#define LC_STORE_COMMIT_H

#include "env/env.h"
#include "store/pending.h"

/** Commit everything in @p pending in one transaction; durable on LC_OK. */
LC_CHECKED lc_status lc__commit(struct lc__env *env,
    const struct lc__pending *pending, lc_durability durability);

#endif
