/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What came back of an input and is in no chunk yet: a file of entries, which outlives a
 * process that is killed. It is never synced: work that a loss of power takes is done
 * again, and so is what is damaged. Only the process that holds the input touches it.
 *
 * An entry is a batch that came back, as bytes. Numbers are little-endian.
 *
 *     0  "cxstash1"
 *     8  u64  XXH3 of what follows, up to the frames' bytes
 *    16  u64  bytes of the entry
 *    24  u64  the source: which input, and what its lines are
 *    32  u32  items, at least one
 *    36  u32  frames, at least one
 *    40  the items, in the order of their lines: u64 line, u64 XXH3 of the payload,
 *        u32 bytes of the id, the id
 *        the frames: u64 bytes, u64 XXH3
 *        the frames' bytes: answers as they came, without their lengths
 */
#ifndef CACHEX_FILL_STASH_H
#define CACHEX_FILL_STASH_H

#include "fill/protocol.h"
#include "fill/shard.h"

/* ---- entries --------------------------------------------------------------------- */

/** Identifies its input. */
uint64_t lc__stashed_source(lc_id fingerprint, const char *key);

/**
 * Append everything before the frames' bytes.
 * @param behind       the line of each item is the one before this position; by the
 *                     items' tags
 * @param first_frame  the batch's frames from here on
 */
LC_CHECKED lc_status lc__stashed_write(uint64_t source, const struct lc__items *batch,
    const struct lc__line_place *behind, size_t first_frame, struct lc__buf *out);

/** An entry that was read; borrowed from its bytes. */
struct lc__stashed {
	uint64_t source;
	uint32_t items, frames;
	uint64_t first, last;         /* lines */
	const unsigned char *item_at; /* where the items begin */
	const unsigned char *table;   /* of the frames */
	const unsigned char *data;    /* their bytes */
};

/** The size of the entry that begins here; 0 if there is none, or if it is longer than @p
 *  most. @p head has LC__STASHED_HEAD bytes. */
#define LC__STASHED_HEAD 40
uint64_t lc__stashed_size(const unsigned char *head, uint64_t most);

/** Read and check all of it. False for bytes that lc__stashed_write() and the frames
 *  cannot give. */
bool lc__stashed_read(const unsigned char *bytes, size_t size, struct lc__stashed *out);

/**
 * Give items of @p batch the values in the entry: for the same line, id and payload,
 * without an outcome, and accepted by @p check. Values point into the entry's bytes.
 * @param check  as in lc__work
 * @param found  their number
 */
LC_CHECKED lc_status lc__stashed_give(const struct lc__stashed *entry,
    struct lc__answer *answer,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch, const struct lc__line_place *behind,
    size_t *found);

/* ---- the file ------------------------------------------------------------------ */

struct lc__stash;

/** The path of an input's stash, malloc'ed; NULL without memory. */
char *lc__stash_path(const char *dir, uint32_t input);

/**
 * Open the stash of an input of which @p line lines are done. Damaged parts of the file
 * are dropped; without a file, none is created before something is added.
 */
LC_CHECKED lc_status lc__stash_open(const char *path, uint64_t source, uint64_t line,
    struct lc__stash **out);

/** Add a batch that came back, with its frames from @p first_frame on. */
LC_CHECKED lc_status lc__stash_add(struct lc__stash *stash, const struct lc__items *batch,
    const struct lc__line_place *behind, size_t first_frame);

/**
 * Give items of a batch the values that were in the file when it was opened; the frames
 * that contain them then belong to the batch. Batches come in the order of their lines.
 * @param check  as in lc__work
 * @param found  their number
 */
LC_CHECKED lc_status lc__stash_recall(struct lc__stash *stash,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch, const struct lc__line_place *behind,
    size_t *found);

/** This many lines of the input are done: drop what the stash has for them. */
void lc__stash_forget(struct lc__stash *stash, uint64_t line);

/** A file without useful entries is removed. NULL is allowed. */
void lc__stash_close(struct lc__stash *stash);

/** Remove the file of an input that is finished, if there is one. */
void lc__stash_remove(const char *dir, uint32_t input);

#endif
