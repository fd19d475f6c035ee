/* SPDX-License-Identifier: BSD-2-Clause */
/* Rewriting a group of chunks as one. */
#ifndef LC_LIFE_REWRITE_H
#define LC_LIFE_REWRITE_H

#include "life/group.h"

/** A group on its way through a change, and what became of it. */
struct lc__rewrite {
	const struct lc__group *group;
	const lc_compact_options *options;
	uint64_t next;      /* chunk to go on with */
	uint64_t rewritten; /* chunks */
	uint64_t moved;     /* live records */
	uint64_t dropped;   /* dead records */
};

/**
 * Make one chunk of the live records of a group, under the id of its first chunk.
 * A damaged chunk ends the group; rewrite->next is its id then. A body for
 * lc__change_run(), with a struct lc__rewrite.
 * @return LC_OK; LC_NOT_FOUND if meanwhile it is not worth it any more;
 * LC_CORRUPT if the first chunk is damaged: rewrite->next is behind it.
 */
LC_CHECKED lc_status lc__rewrite(struct lc__change *change, void *rewrite);

#endif
