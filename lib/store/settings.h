/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings row, which applies to all users of a module. */
#ifndef LC_STORE_SETTINGS_H
#define LC_STORE_SETTINGS_H

#include <stdatomic.h>

#include "env/env.h"

/** The settings of the newest commit that this process has seen, for puts and commits. */
struct lc__known_settings {
	atomic_int codec, level, policy, evict;
	atomic_uint_fast64_t max_bytes;
	/* Transaction of that commit; guarded by the environment's lock. */
	uint64_t txn;
};

/** Set the settings of a new module. */
void lc__known_settings_init(struct lc__known_settings *known);

/** The settings of a new module. */
void lc__settings_default(lc_settings *out);

/** Decode a row; false if it is damaged. */
bool lc__settings_parse(const void *bytes, size_t size, lc_settings *out);

/** Read the row in any transaction. Every module has it: a writer must not assume the
 *  defaults, which may allow more than the module's owner does.
 *  @return LC_OK; LC_CORRUPT, with the defaults, if the row is missing or damaged. */
LC_CHECKED lc_status lc__settings_load(struct lc__env *env, struct lc__txn *txn,
    lc_settings *out);

/** Store the row of a new module. */
LC_CHECKED lc_status lc__settings_reset(struct lc__txn *txn);

/** Store the row. */
LC_CHECKED lc_status lc__settings_store(struct lc__txn *txn, const lc_settings *settings);

/** LC_INVALID unless every field has a valid value. */
LC_CHECKED lc_status lc__settings_check(const lc_settings *settings);

/** Learn the settings of a commit, unless those of a later commit are known: a reader may
 *  be behind. The caller holds the environment's lock. */
void lc__settings_learn_locked(struct lc__known_settings *known, uint64_t txn,
    const lc_settings *settings);

#endif
