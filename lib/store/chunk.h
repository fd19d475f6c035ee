/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a chunk: a header and the records of one commit. Knows no LMDB.
 */
#ifndef LC_STORE_CHUNK_H
#define LC_STORE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"
#include "store/record.h"

/* A value on LMDB overflow pages starts at byte 16 of a page: 48 more and the
 * first record, and so every record, is on a 64-byte boundary of the map. */
#define LC__CHUNK_HEADER 48

/** A record's place: chunk id << 24 | offset behind the header in units of 64. */
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

/** Offset of the record in the chunk, in bytes. */
static inline uint64_t
lc__location_offset(uint64_t location)
{
	return LC__CHUNK_HEADER +
	    (location & (((uint64_t)1 << LC__LOCATION_UNIT_BITS) - 1)) * 64;
}

/** What a chunk's header says. */
struct lc__chunk {
	uint64_t id;      /* chunk id, rising in commit order */
	uint64_t records; /* how many */
	uint64_t bytes;   /* of all records; they start at LC__CHUNK_HEADER */
	uint32_t directory; /* LC__DIRECTORY and others */
	uint32_t length;  /* of each record, where the directory says so */
};

/** Bytes of the tables behind the records, 0 without any. */
uint64_t lc__chunk_tables(const struct lc__chunk *chunk);

/**
 * Size of the value of a chunk: never so small that LMDB would keep it on a
 * leaf page, where nothing is aligned.
 */
uint64_t lc__chunk_size(const struct lc__chunk *chunk, uint64_t page_size);

/** Write the header, LC__CHUNK_HEADER bytes. */
void lc__chunk_encode(unsigned char *out, const struct lc__chunk *chunk);

/** What a whole header says that the chunk's id is; false if it is damaged. */
bool lc__chunk_says(const unsigned char *bytes, uint64_t size, uint64_t *id);

/** Read and check a header; false unless it is chunk @p id and fits @p size. */
bool lc__chunk_parse(const unsigned char *bytes, uint64_t size, uint64_t id,
    struct lc__chunk *out);

/* ---- the directory ------------------------------------------------------- */

/* Flags in the header. */
#define LC__DIRECTORY 0x01u         /* always set */
#define LC__DIRECTORY_OFFSETS 0x02u /* a table of offsets; else all sizes are equal */
#define LC__DIRECTORY_HAS_LENGTHS 0x04u /* the module had a length field */
#define LC__DIRECTORY_LENGTHS 0x08u /* a table of lengths; else all are equal */
#define LC__DIRECTORY_TABLES (LC__DIRECTORY_OFFSETS | LC__DIRECTORY_LENGTHS)
#define LC__DIRECTORY_KNOWN (LC__DIRECTORY | LC__DIRECTORY_TABLES | \
    LC__DIRECTORY_HAS_LENGTHS)

/* Offsets in the tables, which stand behind the last record. */
enum {
	lc__at_tables_magic = 0,   /* "LCCD" */
	lc__at_tables_flags = 4,   /* u32, as in the header */
	lc__at_tables_records = 8, /* u64 */
	lc__at_tables = 16         /* offsets and zeros to a multiple of 8; lengths;
	                              u64, XXH3-64 of all before, seeded with the id */
};

#define LC__TABLES_MAGIC "LCCD"

/** Bytes of the tables; 0 if there are none. @p records is below 2^32. */
static inline uint64_t
lc__tables_size(uint32_t flags, uint64_t records)
{
	const uint64_t offsets = (flags & LC__DIRECTORY_OFFSETS) != 0 ?
	    (records * 4 + 7) / 8 * 8 : 0;
	const uint64_t lengths = (flags & LC__DIRECTORY_LENGTHS) != 0 ?
	    records * 8 : 0;

	return (flags & LC__DIRECTORY_TABLES) == 0 ? 0 :
	    lc__at_tables + offsets + lengths + 8;
}

struct lc__directory {
	uint64_t records;    /* in the chunk, dead ones included */
	uint64_t stride;     /* bytes of each record, if all are alike; else 0 */
	const unsigned char *offsets; /* u32 of each, little-endian: bytes / 64 behind the
	                        chunk's header; NULL with a stride */
	uint64_t length;     /* of each record, if all are alike and lengths NULL */
	const unsigned char *lengths; /* u64 of each, little-endian; else NULL */
	bool has_lengths;    /* the module had a length field when the chunk was written */
};

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

/** What is known of the records so far. Zero-initialised but for has_lengths. */
struct lc__directory_build {
	bool has_lengths;       /* the module has a length field */
	uint64_t records, bytes; /* added */
	uint64_t stride, length; /* of the first record */
	struct lc__buf offsets; /* the table; empty while all sizes are equal */
	struct lc__buf lengths; /* the same of lengths */
};

/** Add the next record. Without memory lc__directory_done() fails. */
void lc__directory_add(struct lc__directory_build *build, uint64_t size,
    uint64_t length);

/** Say in a chunk's header where its records are; no more are added.
 *  @return LC_OK; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__directory_done(const struct lc__directory_build *build,
    struct lc__chunk *chunk);

/** Write the tables, lc__chunk_tables() bytes, behind the records. */
void lc__directory_write(const struct lc__directory_build *build,
    const struct lc__chunk *chunk, unsigned char *out);

void lc__directory_free(struct lc__directory_build *build);

#endif
