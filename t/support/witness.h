/* SPDX-License-Identifier: BSD-2-Clause */
/* What a module should hold and in which order, for tests that rearrange it. */
#ifndef T_WITNESS_H
#define T_WITNESS_H

#include "lmdbcache.h"
#include "sample.h"

#define WITNESS_KEYS 400

struct witness {
	struct sample_range range;
	uint64_t versions[WITNESS_KEYS]; /* 0: not stored */
	uint64_t order[WITNESS_KEYS];    /* number of the put that stored it */
	uint64_t puts;                   /* so far */
};

/** Put or delete in the module and remember it. */
void witness_put(struct witness *w, lc_cache *cache, unsigned key);
void witness_delete(struct witness *w, lc_cache *cache, unsigned key);
/** Some random puts and deletes, a tenth of them deletes. */
void witness_change(struct witness *w, lc_cache *cache, unsigned n, uint64_t *random);
/** How many keys are stored. */
uint64_t witness_count(const struct witness *w);

/** The module verifies, has these records and no others, by commit in this order. */
void witness_check(const struct witness *w, lc_cache *cache);

#endif
