/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture of the chunks of a module: their ages, sizes, dead shares and last
 * reads. */
#ifndef CACHEX_REPORT_STORE_MAP_H
#define CACHEX_REPORT_STORE_MAP_H

#include <stdbool.h>

#include "draw/picture.h"
#include "store/tool.h"

/** What to draw. All pointers are borrowed. */
struct lc__store_map {
	const char *module;
	/* In the order of their commits; at least 1. */
	const struct lc__chunk_facts *chunks;
	size_t n;
	/* Size of data.mdb; bytes of it that commits can reuse. */
	uint64_t file_bytes, free_bytes;
};

/** Sums over all chunks. */
struct lc__store_sums {
	/* All records; those neither replaced nor deleted. */
	uint64_t records, live;
	uint64_t bytes, live_bytes; /* bytes of all records; of live ones */
	/* Time of the newest commit or recorded read, ms since 1970. */
	uint64_t newest_ms;
	uint64_t oldest_ms; /* time of the oldest commit, ms since 1970 */
	/* Number of chunks whose row of the ledger is damaged. */
	size_t damaged;
	bool reads; /* the module records when chunks were last read */
};

struct lc__store_sums lc__store_sums_of(const struct lc__chunk_facts *chunks, size_t n);

/** The colour of a dead share from 0 to 1: from light blue to dark red, which are also
 *  light and dark when printed without colours. */
uint32_t lc__store_colour(double dead);

/** The smallest width of a map. */
#define LC__STORE_MAP_LEAST 360

/**
 * Draw a map that is @p width pixels wide; the function chooses the height.
 * @param picture  a picture without a size
 * @return errors as lc__picture_begin(); LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__store_map_draw(struct lc__picture *picture,
    const struct lc__store_map *map, double width);

/** The places of the rows that show the chunks one after another. */
struct lc__store_rows {
	struct lc__rect area; /* place of the first row */
	double apart;         /* pixels from the top of a row to the top of the next */
	unsigned n;
};

/** The places of the rows in a map of @p n chunks that is @p width pixels wide. */
struct lc__store_rows lc__store_rows_of(size_t n, double width);

#endif
