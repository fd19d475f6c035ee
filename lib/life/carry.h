/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Carrying chunks of inputs from one module into another. Chunks stay as they are, with
 * their records as stored. A commit takes many of them.
 */
#ifndef LC_LIFE_CARRY_H
#define LC_LIFE_CARRY_H

#include "store/cache.h"
#include "store/change.h"
#include "store/chunk_order.h"
#include "store/put.h"

/** Zero-initialised except for the first members. */
struct lc__carry {
	struct lc__snapshot *from;  /* of the source */
	struct lc_cache *to;        /* the caller has locked its inputs */
	struct lc__measure measure; /* by the length field of both */
	bool reads_only;            /* check the records, store nothing */
	const char *input;          /* name of the present input, for messages */
	uint64_t bytes; /* of the records read so far; the caller may reset it */

	struct lc__known_by_id known; /* the source's structures in the target */
	uint32_t *ids; /* their ids in the target, for one commit; malloc'ed */
	size_t ids_room;
	/* Content of the next commit; malloc'ed. */
	struct lc__carried *chunks;
	size_t nchunks, chunks_room;
	struct lc__carried_input *inputs;
	size_t ninputs, inputs_room;
	struct lc__new_entry *entries; /* of the records, in their order unless sorted */
	bool sorted;
	size_t nentries, entries_room;
	uint64_t pending; /* approximate size of the chunks in the target's file */
};

/**
 * Read the input's next chunk, verify its records, and add it to the next commit, which
 * may happen now.
 * @return LC_OK; LC_CORRUPT, naming the chunk; as lc__carry_commit().
 */
LC_CHECKED lc_status lc__carry_chunk(struct lc__carry *carry,
    const struct lc__placed_chunk *chunk);

/** The input is complete with @p chunks chunks: the next commit finishes it, with its
 *  cursor, which is borrowed until then. */
LC_CHECKED lc_status lc__carry_finish(struct lc__carry *carry, uint32_t input,
    uint64_t chunks, const lc_id *cursor);

/**
 * Commit what is left.
 * @return LC_OK; LC_EXISTS if a cache_id is in the target, or is carried twice; LC_BUSY
 * if an input of the target changed; as lc__change_run().
 */
LC_CHECKED lc_status lc__carry_commit(struct lc__carry *carry);

void lc__carry_free(struct lc__carry *carry);

#endif
