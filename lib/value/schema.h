/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structure of a value, which a module's records share: for a single
 * tensor its dtype and rank. Stored once a module as MessagePack.
 */
#ifndef LC_VALUE_SCHEMA_H
#define LC_VALUE_SCHEMA_H

#include "base/buf.h"
#include "lmdbcache.h"

struct lc__schema {
	lc_dtype dtype;
	uint32_t ndim;
};

/** Append the MessagePack of a schema and its XXH3-64. */
void lc__schema_encode(const struct lc__schema *schema, struct lc__buf *out);

/**
 * Read what lc__schema_encode() wrote.
 * @return LC_OK; LC_CORRUPT if it is anything else; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__schema_decode(const void *bytes, size_t size, struct lc__schema *out);

#endif
