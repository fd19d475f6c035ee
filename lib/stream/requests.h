/* SPDX-License-Identifier: BSD-2-Clause */
/* The records that a batch needs, in the order of reading. */
#ifndef LC_STREAM_REQUESTS_H
#define LC_STREAM_REQUESTS_H

#include <stdbool.h>

#include "stream/cursor.h"

/** Units of one record, for one row of the batch. */
struct lc__request {
	uint32_t source;
	uint32_t row;
	uint64_t position; /* of the chunk */
	uint64_t record;   /* in the chunk; of a piece of a window that was not looked up
	                      yet: its first unit in the chunk */
	uint64_t from;     /* first unit of the record */
	uint64_t units;
	uint64_t at;                  /* units of the row before them */
	const unsigned char *address; /* of the record in memory, and the bytes that it */
	uint64_t stored;              /* takes there; set by lc__prefetch() */
};

struct lc__requests {
	struct lc__request *item; /* malloc'ed */
	size_t n, room;
};

/** Append one; NULL without memory. */
struct lc__request *lc__requests_add(struct lc__requests *requests);

/** Sort by source, chunk, and record or unit; stable. */
LC_CHECKED lc_status lc__requests_sort(struct lc__requests *requests);

/** Are they for the same record? */
bool lc__requests_same(const struct lc__request *a, const struct lc__request *b);

/** The rows of its record that request @p i needs, after sorting. Requests for one record
 *  are consecutive, with ascending first rows: all rows from there to the end of the
 *  previous request were read. */
void lc__requests_rows(const struct lc__requests *requests, size_t i,
    struct lc__row_span *out);

/** The end of the requests of one chunk that begin at @p i. */
size_t lc__requests_chunk(const struct lc__requests *requests, size_t i);

/** The end of the run that begins at @p i: requests of one chunk, each for the same
 *  record as the previous one or for the next record. */
size_t lc__requests_run(const struct lc__requests *requests, size_t i);

void lc__requests_free(struct lc__requests *requests);

#endif
