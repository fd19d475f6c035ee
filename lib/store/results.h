/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of one call of a caller's function, as it fills them. */
#ifndef LC_STORE_RESULTS_H
#define LC_STORE_RESULTS_H

#include "store/cache.h"
#include "store/flush.h"

/** One result. */
struct lc__result {
	enum { LC__RESULT_UNSET, LC__RESULT_SET, LC__RESULT_FAILED } state;
	struct lc__peeked record; /* if it is set */
	lc_status status;         /* if it failed: LC_FAILED, or LC_NO_MEMORY here */
	char *why;                /* if it failed; NULL without memory for it */
};

struct lc_results {
	struct lc_cache *cache;
	const lc_id *keys;
	const size_t *missing; /* positions in keys, of each result */
	size_t n;
	struct lc__result *items; /* of n */
};

/** Fail what the function left unset; @p status is what it returned. */
void lc__results_end(lc_results *results, lc_status status);

/** Drop what was set, and the array. */
void lc__results_free(lc_results *results);

#endif
