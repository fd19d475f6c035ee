/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the records of a chunk stand and how long they are, without a walk over
 * them. Chunks of alike records need no table; others have one behind the records.
 */
#ifndef LC_STORE_DIRECTORY_H
#define LC_STORE_DIRECTORY_H

#include "store/length.h"
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
 * The directory of a chunk, in the map and verified: every offset is that of bytes
 * in the chunk, though not of a record that can be parsed.
 * @return LC_OK; LC_CORRUPT if it is damaged.
 */
LC_CHECKED lc_status lc__directory_read(struct lc__snapshot *snapshot,
    const struct lc__mapped_chunk *chunk, struct lc__directory *out);

/** The same of the value of a chunk with a header that was parsed; false if it is
 *  damaged. */
bool lc__directory_parse(const unsigned char *value, uint64_t size,
    const struct lc__chunk *chunk, struct lc__directory *out);

/** Where record @p i, below directory->records, stands behind the chunk's header. */
uint64_t lc__directory_offset(const struct lc__directory *directory, uint64_t i);

/** Its length, with has_lengths. */
uint64_t lc__directory_length(const struct lc__directory *directory, uint64_t i);

/** Bytes of the tables of a chunk's directory that stand here and are whole; 0 if
 *  there are none. For chunks without their header. */
uint64_t lc__directory_tables_at(const unsigned char *bytes, uint64_t room,
    uint64_t chunk);

#endif
