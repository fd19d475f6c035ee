/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of bytes that follow from a seed, as sample_fill() makes them. What is not as it
 * should be ends the process. */
#ifndef T_SEEDED_H
#define T_SEEDED_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** The record is a u8 tensor of the bytes that follow from @p seed. */
void seeded_expect(lc_cache *cache, const char *id, size_t size, uint64_t seed);

lc_stats seeded_stats(lc_cache *cache);

/** The module has so many records, and none is damaged. */
void seeded_intact(lc_cache *cache, uint64_t records);

/** The value of the newest chunk as it is stored, without its header; to be freed. No
 *  handle has the module open. */
unsigned char *seeded_last_record(const char *root, const char *module, size_t *size);

#endif
