/* SPDX-License-Identifier: BSD-2-Clause */
/* Converting values into the parts of a record, and back. */
#ifndef LC_VALUE_VALUE_RECORD_H
#define LC_VALUE_VALUE_RECORD_H

#include "base/buf.h"
#include "lmdbcache.h"
#include "value/schema.h"

/** The MessagePack extensions within a plain leaf, for kinds that MessagePack does not
 *  have. */
enum lc__ext {
	LC__TUPLE_EXT = 1, /* its bytes are an array */
	LC__TAGGED_EXT,    /* a map of one: the tag and the child */
	LC__PAIRS_EXT      /* an array of keys and children in turn */
};

/**
 * Get the leaves of a value in the order of its schema (lc__schema_infer() of the value):
 * @p tensors has room for schema->tensors; the plain leaves are appended to @p plain as
 * MessagePack objects, with the extensions above.
 */
LC_CHECKED lc_status lc__value_leaves(const lc_value *value, const lc_tensor **tensors,
    struct lc__buf *plain);

/**
 * Restore the part at node @p node of a schema.
 * @param tensors  those of the part: schema->node[node].first_tensor is tensors[0]; their
 *                 data is borrowed
 * @param plain    all plain data of the record, copied as needed; names of the schema are
 *                 borrowed: it must outlive the value
 * @return LC_OK, free the value with lc_value_free(); LC_CORRUPT if the plain data is
 * malformed, nested too deeply, or not schema->plains objects; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__value_restore(const struct lc__schema *schema, uint32_t node,
    const lc_tensor *tensors, const void *plain, size_t plain_size, lc_value **out);

#endif
