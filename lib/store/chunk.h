/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a chunk: a header, the records of one commit, and a directory. This file
 * does not use LMDB. The directory tells where the records are and how long they are,
 * without a walk over them. If all records have the same size, it is in the header;
 * otherwise tables after the records hold it. lmdbcache(5) describes the bytes.
 */
#ifndef LC_STORE_CHUNK_H
#define LC_STORE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"
#include "store/record.h"

/* A value on LMDB overflow pages starts at byte 16 of a page. With 48 bytes more, the first
 * record, and so every record, is on a 64-byte boundary of the map. */
#define LC__CHUNK_HEADER 48

/** The location of a record: chunk id << 24 | offset after the header in units of 64. */
#define LC__LOCATION_UNIT_BITS 24

static inline uint64_t
lc__location(uint64_t chunk, uint64_t unit)
{
	return chunk << LC__LOCATION_UNIT_BITS | unit;
}

static inline uint64_t
lc__location_chunk(uint64_t location)
{
	return location >> LC__LOCATION_UNIT_BITS;
}

/** Offset of the record in the chunk's value, in bytes. */
static inline uint64_t
lc__location_offset(uint64_t location)
{
	return LC__CHUNK_HEADER +
	    (location & (((uint64_t)1 << LC__LOCATION_UNIT_BITS) - 1)) * 64;
}

/** The content of a chunk's header. */
struct lc__chunk {
	uint64_t id;        /* ids ascend in commit order */
	uint64_t records;   /* number of records */
	uint64_t bytes;     /* of all records; they start at LC__CHUNK_HEADER */
	uint32_t directory; /* flags: LC__DIRECTORY and others */
	uint32_t length;    /* of each record, if the directory says so */
};

/** Bytes of the tables after the records; 0 if there are none. */
uint64_t lc__chunk_tables(const struct lc__chunk *chunk);

/**
 * Size of a chunk's value: never so small that LMDB would keep it on a leaf page, where it
 * would not be aligned.
 */
uint64_t lc__chunk_size(const struct lc__chunk *chunk, uint64_t page_size);

/** Write the header, LC__CHUNK_HEADER bytes. */
void lc__chunk_encode(unsigned char *out, const struct lc__chunk *chunk);

/** The id in an intact header; false if it is damaged. */
bool lc__chunk_says(const unsigned char *bytes, uint64_t size, uint64_t *id);

/** Read and check a header; false unless it is chunk @p id and fits @p size. */
bool lc__chunk_parse(const unsigned char *bytes, uint64_t size, uint64_t id,
    struct lc__chunk *out);

/* ---- rows of several chunks ----------------------------------------------- */

/*
 * Small chunks are "folded" into one row of the table of chunks: a list of offsets, the
 * chunks as they were written, each at a multiple of LC__RECORD_ALIGN, and the list again
 * in the last bytes, so that a lost page cannot hide other chunks. They belong to one
 * block of ids. The key of the row is the smallest of its ids; no other row has an id
 * between its smallest and its largest one. A folded chunk keeps its id, its ledger row
 * and the locations of its records.
 */

/** Ids in a block; the first is a multiple of this. */
#define LC__FOLD_BLOCK 64

/** The most bytes in the pages of such a row: it is rewritten when one of its chunks is
 *  deleted. */
#define LC__FOLDED_MAX ((uint64_t)64 << 10)

/** Size of the list of offsets. */
#define LC__FOLDED_LIST 192

/** A chunk in a row. */
struct lc__folded {
	uint64_t id;
	uint64_t at;   /* where it begins in the value */
	uint64_t size; /* up to the next one, or to the second list */
};

/** Is this the value of a row of several chunks, even if its list is damaged? */
bool lc__is_folded(const unsigned char *value, uint64_t size);

/* The list is either the first one in the value, or the second one, at the end of the
 * value. The size is always that of the value. Only the list is read. */

/** Is a list intact, and made for a value of this size? */
bool lc__folded_intact(const unsigned char *list, uint64_t size);

/** Find a chunk; false if the list does not have it, or it is outside of the value. */
bool lc__folded_find(const unsigned char *list, uint64_t size, uint64_t id,
    struct lc__folded *out);

/** The chunk after @p chunk, which is all zero before the first; false after the last. */
bool lc__folded_next(const unsigned char *list, uint64_t size, struct lc__folded *chunk);

/** Write the list. @p block is the first id of the block, @p places are offsets in the value,
 *  0 for a chunk that is not in the row. */
void lc__folded_encode(unsigned char out[LC__FOLDED_LIST], uint64_t block,
    const uint64_t places[LC__FOLD_BLOCK]);

/* ---- the directory ------------------------------------------------------- */

/* Flags of the directory, in the header. */
#define LC__DIRECTORY 0x01u /* always set */
#define LC__DIRECTORY_OFFSETS \
	0x02u /* table of offsets; else all records have the same size */
#define LC__DIRECTORY_HAS_LENGTHS 0x04u /* the module had a length field */
#define LC__DIRECTORY_LENGTHS \
	0x08u /* table of lengths; else all records have the same
				       length */
#define LC__DIRECTORY_TABLES (LC__DIRECTORY_OFFSETS | LC__DIRECTORY_LENGTHS)
#define LC__DIRECTORY_KNOWN \
	(LC__DIRECTORY | LC__DIRECTORY_TABLES | LC__DIRECTORY_HAS_LENGTHS)

/* Offsets in the tables, which follow the last record. */
enum {
	lc__at_tables_magic = 0,   /* "LCCD" */
	lc__at_tables_flags = 4,   /* u32, as in the header */
	lc__at_tables_records = 8, /* u64 */
	lc__at_tables = 16         /* the table of offsets, with zeros to a multiple of 8;
				      the table of lengths; u64, XXH3-64 of all before it,
				      seeded with the chunk's id */
};

#define LC__TABLES_MAGIC "LCCD"

/** Bytes of the tables; 0 if there are none. @p records must be below 2^32. */
static inline uint64_t
lc__tables_size(uint32_t flags, uint64_t records)
{
	const uint64_t offsets = (flags & LC__DIRECTORY_OFFSETS) != 0
	    ? (records * 4 + 7) / 8 * 8
	    : 0;
	const uint64_t lengths = (flags & LC__DIRECTORY_LENGTHS) != 0 ? records * 8 : 0;

	return (flags & LC__DIRECTORY_TABLES) == 0
	    ? 0
	    : lc__at_tables + offsets + lengths + 8;
}

struct lc__directory {
	uint64_t records; /* in the chunk, dead ones included */
	uint64_t stride;  /* size of each record, if all are equal; else 0 */
	const unsigned char
	    *offsets;    /* u32 of each record, little-endian: offset after the
					 chunk's header / 64; NULL with a stride */
	uint64_t length; /* of each record, if lengths is NULL */
	const unsigned char
	    *lengths;     /* u64 of each record, little-endian; NULL if all are
					 equal */
	bool has_lengths; /* the module had a length field when the chunk was written */
};

/** Read the directory of a chunk whose header was parsed; false if it is damaged. */
bool lc__directory_parse(const unsigned char *value, uint64_t size,
    const struct lc__chunk *chunk, struct lc__directory *out);

/** Offset of record @p i, below directory->records, after the chunk's header. */
uint64_t lc__directory_offset(const struct lc__directory *directory, uint64_t i);

/** Length of record @p i; only with has_lengths. */
uint64_t lc__directory_length(const struct lc__directory *directory, uint64_t i);

/** Bytes of the intact tables that start at @p bytes; 0 if there are none. For chunks whose
 *  header is lost. */
uint64_t lc__directory_tables_at(const unsigned char *bytes, uint64_t room,
    uint64_t chunk);

/** A directory that is being built. Zero-initialised except for has_lengths. */
struct lc__directory_build {
	bool has_lengths;        /* the module has a length field */
	uint64_t records, bytes; /* of the records that were added */
	uint64_t stride, length; /* of the first record */
	struct lc__buf offsets;  /* table; empty while all sizes are equal */
	struct lc__buf lengths;  /* table; empty while all lengths are equal */
};

/** Add the next record. If there is no memory, lc__directory_done() fails. */
void lc__directory_add(struct lc__directory_build *build, uint64_t size, uint64_t length);

/** Set the directory's fields of a chunk's header, after the last record.
 *  @return LC_OK; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__directory_done(const struct lc__directory_build *build,
    struct lc__chunk *chunk);

/** Write the tables, lc__chunk_tables() bytes, after the records. */
void lc__directory_write(const struct lc__directory_build *build,
    const struct lc__chunk *chunk, unsigned char *out);

void lc__directory_free(struct lc__directory_build *build);

#endif
