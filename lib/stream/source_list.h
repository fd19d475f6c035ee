/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * List: the records of several sources in a given order, as one source.
 *
 * 1. Its chunks are those of member 0, then those of member 1 and so on. Rows of its
 *    layout are made from those of the members when they are asked for, so that to open a
 *    list reads no more than to open its members, and takes 64 bytes for each of them.
 * 2. All members but the last are what they were when the list was opened: what came to
 *    them later would move all that follows. Only the last one grows.
 * 3. A generation is a number of chunks, of all members together.
 * 4. The hash of a row is made of that of the member's row and of all members before it: of
 *    their chunks, records, units and hashes.
 * 5. A cursor has one of each member that it has been at. At a chunk all work is done by
 *    that of the member, lc__cursor.at: the list costs no more than to go there.
 */
#ifndef LC_STREAM_SOURCE_LIST_H
#define LC_STREAM_SOURCE_LIST_H

#include "stream/source.h"

#define LC__MOST_MEMBERS 65536u

/** What is counted before a member. */
enum lc__list_count {
	LC__LIST_CHUNKS,
	LC__LIST_RECORDS,
	LC__LIST_UNITS,
	LC__LIST_COUNTS
};

/** Where a member is in a layout of the list. */
struct lc__list_member {
	const lc_source *source;   /* borrowed from the list */
	struct lc__layout *layout; /* its own; held */
	uint64_t first[LC__LIST_COUNTS];
	uint64_t hash; /* of the members before it */
};

struct lc__list_source {
	lc_source source;
	size_t n;
	lc_source *members[]; /* each held */
};

static inline struct lc__list_source *
lc__list_source_of(lc_source *source)
{
	return (struct lc__list_source *)source;
}

/** The members in a layout of a list, as many as it has; as long as the layout. */
const struct lc__list_member *lc__list_members(const struct lc__layout *layout);

/** The number of the member that has chunk, record or unit @p i, which the list has;
 *  O(log members). */
size_t lc__list_find(const struct lc__list_member *members, size_t n,
    enum lc__list_count count, uint64_t i);

LC_CHECKED lc_status lc__list_cursor_new(lc_source *source, struct lc__cursor **out);

#endif
