/* SPDX-License-Identifier: BSD-2-Clause */
/* The chunks of a module on one picture: by age, size, dead share and last read. */
#ifndef CACHEX_REPORT_STORE_MAP_H
#define CACHEX_REPORT_STORE_MAP_H

#include <stdbool.h>

#include "draw/picture.h"
#include "store/tool.h"

/** A map; all is borrowed. */
struct lc__store_map {
	const char *module;
	const struct lc__chunk_facts *chunks; /* in the order of commits, 1 at least */
	size_t n;
	uint64_t file_bytes, free_bytes; /* of data.mdb, and what commits can reuse */
};

/** What is known of all chunks together. */
struct lc__store_sums {
	uint64_t records, live;     /* in them, and those not replaced or deleted */
	uint64_t bytes, live_bytes; /* of both */
	uint64_t newest_ms;         /* time of the newest commit or recorded read */
	uint64_t oldest_ms;         /* of the oldest commit */
	size_t damaged;             /* chunks whose row of the ledger is damaged */
	bool reads;                 /* the last read of a chunk is recorded */
};

struct lc__store_sums lc__store_sums_of(const struct lc__chunk_facts *chunks, size_t n);

/** The colour of a dead share from 0 to 1: from a light blue to a dark red, which print as
 *  light and dark. */
uint32_t lc__store_colour(double dead);

/** The smallest width of a map. */
#define LC__STORE_MAP_LEAST 360

/**
 * Draw a map @p width pixels wide; its height follows from that.
 * @param picture  without a size yet
 * @return errors as lc__picture_begin(); LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__store_map_draw(struct lc__picture *picture,
    const struct lc__store_map *map, double width);

/** The places of the rows in which the chunks lie one after another. */
struct lc__store_rows {
	struct lc__rect area; /* of the first row */
	double apart;         /* from one row to the next */
	unsigned n;
};

/** The rows of a map of @p n chunks that is @p width wide. */
struct lc__store_rows lc__store_rows_of(size_t n, double width);

#endif
