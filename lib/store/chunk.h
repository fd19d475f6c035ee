/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a chunk: a header and the records of one commit. Knows no LMDB.
 */
#ifndef LC_STORE_CHUNK_H
#define LC_STORE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
