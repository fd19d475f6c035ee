/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A selection: which records of a chunk belong to a source that leaves some out. A bit
 * for each record, and counts that find the k'th selected one. Built once, then used by
 * many threads.
 */
#ifndef LC_STREAM_SELECTION_H
#define LC_STREAM_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lc__selection {
	uint64_t records; /* of the chunk */
	uint64_t n;       /* number of selected ones */
	uint64_t sum;     /* units of the selected ones */
	uint64_t *words;  /* bit i of word i / 64: record i is selected; malloc'ed */
	uint64_t *rank;   /* selected records before each word */
	uint64_t *units;  /* and their units */
};

/** Create an empty selection; NULL without memory. */
struct lc__selection *lc__selection_new(uint64_t records);
/** NULL is allowed. */
void lc__selection_free(struct lc__selection *selection);

/** Select a record after all selected ones. False if the units overflow. */
bool lc__selection_add(struct lc__selection *selection, uint64_t record, uint64_t units);

/** Compute the counts, after all were added. */
void lc__selection_end(struct lc__selection *selection);

/** The record that is the @p k'th selected one; @p k is below n. */
uint64_t lc__selection_at(const struct lc__selection *selection, uint64_t k);

/** Find the word with unit @p unit, below sum: the index of its first selected record
 *  among the selected ones, and the units before it. The caller continues the search from
 *  there. */
void lc__selection_find(const struct lc__selection *selection, uint64_t unit, uint64_t *k,
    uint64_t *before);

/** Words of the bits, for a hash. */
static inline size_t
lc__selection_words(const struct lc__selection *selection)
{
	return (size_t)(selection->records / 64 + (selection->records % 64 != 0));
}

#endif
