/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What came back of an input and is in no chunk yet: a file of entries (stashed.h), which
 * outlives a process that is killed. It is never synced: work that a loss of power takes
 * is done again, and so is what is damaged. Only who holds the input touches it.
 */
#ifndef CACHEX_FILL_STASH_H
#define CACHEX_FILL_STASH_H

#include "fill/stashed.h"

struct lc__stash;

/** The path of an input's stash, malloc'ed; NULL without memory. */
char *lc__stash_path(const char *dir, uint32_t input);

/**
 * Open the stash of an input that has @p line lines behind it. What is no good of the
 * file is forgotten; where there is none, none is made before something is added.
 */
LC_CHECKED lc_status lc__stash_open(const char *path, uint64_t source, uint64_t line,
    struct lc__stash **out);

/** Add a batch that came back, with its frames from @p first_frame on. */
LC_CHECKED lc_status lc__stash_add(struct lc__stash *stash, const struct lc__items *batch,
    const struct lc__line_place *behind, size_t first_frame);

/**
 * Give items of a batch the values that were in the file when it was opened; frames that
 * they lie in are the batch's then. Batches come in the order of their lines.
 * @param check  as in lc__work
 * @param found  how many
 */
LC_CHECKED lc_status lc__stash_recall(struct lc__stash *stash,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch, const struct lc__line_place *behind,
    size_t *found);

/** So many lines are behind the input now: what it has of them is forgotten. */
void lc__stash_forget(struct lc__stash *stash, uint64_t line);

/** A file with nothing of use is removed. NULL is harmless. */
void lc__stash_close(struct lc__stash *stash);

/** Remove the file of an input that is finished, if there is one. */
void lc__stash_remove(const char *dir, uint32_t input);

#endif
