/* SPDX-License-Identifier: BSD-2-Clause */
/* The tensors of a stored record, decoded, and its digest. */
#ifndef LC_LIFE_DECODED_H
#define LC_LIFE_DECODED_H

#include "store/lru.h"
#include "store/record.h"

struct lc__decoded {
	uint32_t count;
	lc_tensor *tensors;             /* decoded */
	const lc_tensor **pointers;     /* to them */
	struct lc__block **blocks;      /* memory of the tensors that were coded */
	struct lc__record_part *stored; /* as they are in the record */
};

/** Decode a record that fits its schema; free the result in any case.
 *  @return LC_OK; LC_CORRUPT with the key; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__decode(const struct lc__record *record,
    const struct lc__schema *schema, struct lc__decoded *out);
void lc__decoded_free(struct lc__decoded *decoded);

/** The lc__digest() of a stored record; statuses as lc__decode(). */
LC_CHECKED lc_status lc__digest_stored(const struct lc__record *record,
    const struct lc__schema *schema, uint64_t *out);

#endif
