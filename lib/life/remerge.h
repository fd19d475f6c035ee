/* SPDX-License-Identifier: BSD-2-Clause */
/* Merging all runs of the index, including those that are too large for a commit. */
#ifndef LC_LIFE_REMERGE_H
#define LC_LIFE_REMERGE_H

#include "store/change.h"

/** A merge of all runs, range by range, in several changes. */
struct lc__remerge {
	uint64_t step_bytes; /* approximate size of a new run, and the memory of a step;
	                      * set by the caller */
	uint64_t *old;       /* ids of the runs that will be replaced; malloc'ed */
	uint32_t nold;
	unsigned char *from; /* the first cache_id that is left; NULL at the start */
	size_t from_size;
	unsigned char *next; /* where the next step begins, malloc'ed */
	size_t next_size;
	bool done;
	bool needless; /* too little would be gained: nothing was done */
};

/**
 * One step, in a commit of its own: step_bytes of entries of all runs go into a new run
 * that is newer than all others. After the last step the old runs are dropped. Until then
 * they only repeat entries of the new ones, so a merge may stop after any step. It is
 * needless if less than a quarter of all entries are superseded or deletions.
 * @return LC_OK; LC_CORRUPT if a run is damaged; as lc__change_run().
 */
LC_CHECKED lc_status lc__remerge_step(struct lc__remerge *remerge, struct lc__env *env,
    lc_durability durability);
void lc__remerge_free(struct lc__remerge *remerge);

#endif
