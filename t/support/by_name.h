/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples under ids that are C strings, and what a module says of itself. */
#ifndef T_BY_NAME_H
#define T_BY_NAME_H

#include <stdint.h>

#include "lmdbcache.h"

/** DIR/NAME; malloc'ed. */
char *join(const char *dir, const char *name);

/** Put the sample of (id, version). */
void put(lc_cache *cache, const char *id, uint64_t version);
/** It is there, and nothing else. */
void expect(lc_cache *cache, const char *id, uint64_t version);
void expect_missing(lc_cache *cache, const char *id);

uint64_t count_of(lc_cache *cache);
lc_stats stats_of(lc_cache *cache);

#endif
