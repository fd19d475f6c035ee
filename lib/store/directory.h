/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the records of a chunk stand and how long they are, without a walk over
 * them. Chunks of alike records need no table; others have one behind the records.
 */
#ifndef LC_STORE_DIRECTORY_H
#define LC_STORE_DIRECTORY_H

#include "store/snapshot.h"

struct lc__directory {
	uint64_t records;    /* in the chunk, dead ones included */
	uint64_t stride;     /* bytes of each record, if all are alike; else 0 */
	const unsigned char *offsets; /* u32 of each, little-endian: bytes / 64 behind the
	                        chunk's header; NULL with a stride */
	uint64_t length;     /* of each record, if all are alike and lengths NULL */
	const unsigned char *lengths; /* u64 of each, little-endian; else NULL */
	bool has_lengths;    /* the module had a length field when the chunk was written */
};

/**
 * The directory of a chunk, in the map and verified.
 * @return LC_OK; LC_NOT_FOUND for a chunk of an earlier version, which has none;
 * LC_CORRUPT if it is damaged.
 */
LC_CHECKED lc_status lc__directory_read(struct lc__snapshot *snapshot,
    const struct lc__chunk_slot *chunk, struct lc__directory *out);

/** The length of a record by a field, 0 if it has no such tensor, 1 if that is a
 *  scalar. Reads the record's head only. */
uint64_t lc__record_length(const struct lc__record *record,
    const struct lc__schema *schema, const char *field);

#endif
