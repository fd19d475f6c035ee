/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a chunk's directory: what the header says of it, and the tables
 * behind the records. lmdbcache(5) describes them.
 */
#ifndef LC_STORE_DIRECTORY_LAYOUT_H
#define LC_STORE_DIRECTORY_LAYOUT_H

#include <stdint.h>

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

#endif
