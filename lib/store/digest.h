/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The digest of a record: its cache_id, structure and values, whatever codec they are
 * stored with and whatever number its structure has in the module. lmdbcache(5) has
 * the formula.
 */
#ifndef LC_STORE_DIGEST_H
#define LC_STORE_DIGEST_H

#include "store/record.h"

/** XXH3-64; the tensors of @p draft are not coded. */
uint64_t lc__digest(const struct lc__draft *draft);

/** The digest of a chunk whose last record has digest @p record; 0 before the first. */
uint64_t lc__digest_add(uint64_t chunk, uint64_t record);

#endif
