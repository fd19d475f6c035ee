/* SPDX-License-Identifier: BSD-2-Clause */
/* What a batch asks of chunks, in the order in which it is read. */
#ifndef LC_STREAM_REQUESTS_H
#define LC_STREAM_REQUESTS_H

#include <stdbool.h>

#include "stream/cursor.h"

/** Units of one chunk that belong to one row. */
struct lc__request {
	uint32_t source;
	uint32_t row;
	uint64_t position; /* of the chunk */
	uint64_t record;   /* in the chunk; of a part that was not looked up yet, its
	                      first unit in the chunk */
	uint64_t from;     /* first unit of the record */
	uint64_t units;
	uint64_t at;       /* units of the row before them */
	const unsigned char *place; /* where the record begins, and bytes that it */
	uint64_t stored;   /* takes there; known when the system was asked for it */
};

struct lc__requests {
	struct lc__request *item; /* malloc'ed */
	size_t n, room;
};

/** A new one at the end; NULL without memory. */
struct lc__request *lc__requests_add(struct lc__requests *requests);

/** In the order of (source, chunk, record or unit); those alike stay as they are. */
LC_CHECKED lc_status lc__requests_sort(struct lc__requests *requests);

/** Are they of one record? */
bool lc__requests_same(const struct lc__request *a, const struct lc__request *b);

/** The rows that request @p i of sorted ones needs of its record. Those of one record
 *  follow each other, and in it the first row rises, so that all from there up to the end
 *  of the request before were read. */
void lc__requests_rows(const struct lc__requests *requests, size_t i,
    struct lc__row_span *out);

/** Where the requests of one chunk end that begin at @p i. */
size_t lc__requests_chunk(const struct lc__requests *requests, size_t i);

/** Where the run of neighbours ends that begins at @p i: requests of one chunk, each of
 *  the record of the one before it or of the next. */
size_t lc__requests_run(const struct lc__requests *requests, size_t i);

void lc__requests_free(struct lc__requests *requests);

#endif
