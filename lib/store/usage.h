/* SPDX-License-Identifier: BSD-2-Clause */
/* The usage row: what a module's chunks hold under each schema, dead or alive. */
#ifndef LC_STORE_USAGE_H
#define LC_STORE_USAGE_H

#include "env/env.h"
#include "store/record.h"

/** Of one schema. */
struct lc__schema_usage {
	uint64_t records;
	uint64_t raw_bytes;    /* of tensors, decoded */
	uint64_t stored_bytes; /* of tensors, as stored, without padding */
	uint64_t tensors[LC_CODEC_COUNT]; /* by codec */
};

/** Of all. */
struct lc__usage {
	struct lc__schema_usage *schemas; /* by id; malloc'ed */
	uint32_t count;
	size_t room;  /* allocated */
	bool loaded;
	bool damaged; /* the row is missing or damaged */
	bool changed; /* since it was loaded */
};

/** Read the row, or nothing if it is missing or damaged, which usage->damaged says: it
 *  is a summary that others can do without. */
LC_CHECKED lc_status lc__usage_load(struct lc__usage *usage,
    struct lc__txn *txn);

/** Are the counts of a schema the same in both? */
bool lc__usage_same(const struct lc__usage *a, const struct lc__usage *b,
    uint32_t schema);

/** Count a record in, or with @p sign -1 out. It fits the schema. */
LC_CHECKED lc_status lc__usage_count(struct lc__usage *usage,
    const struct lc__record *record, const struct lc__schema *schema, int sign);

/** Put the row of a new module. */
LC_CHECKED lc_status lc__usage_reset(struct lc__txn *txn);

/** Forget all counts. */
LC_CHECKED lc_status lc__usage_clear(struct lc__usage *usage,
    struct lc__txn *txn);

/** Write the row if it changed. */
LC_CHECKED lc_status lc__usage_store(struct lc__usage *usage,
    struct lc__txn *txn);

void lc__usage_free(struct lc__usage *usage);

#endif
