/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of the table meta: which there are, and which there must be. */
#ifndef LC_STORE_META_H
#define LC_STORE_META_H

#include "env/env.h"

/** For lc__env_open(): the rows of a new module but those of lib/env. */
lc_status lc__meta_first_rows(struct lc__txn *txn);

/** Has a row of meta this name? */
bool lc__meta_knows(const struct lc__slice *name);

#endif
