/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules that are filled by inputs: what several tests do to them. */
#ifndef T_FILLING_H
#define T_FILLING_H

#include <stdint.h>

#include "lmdbcache.h"

/** Declare @p n inputs "in0", "in1" ...; fingerprints "fp0" ... */
LC_CHECKED lc_status filling_declare(lc_cache *cache, unsigned n);

/** Open "in" and its number. */
LC_CHECKED lc_status filling_open(lc_cache *cache, unsigned input,
    lc_writer **out);

/** Records of a chunk: 1 to 5, as follows from its place. */
unsigned filling_records(unsigned input, uint64_t ordinal);

/** Put the records of the writer's next chunk, with automatic ids: u8 tensors of 8
 *  bytes and more that follow from input, chunk and number. */
void filling_put(lc_writer *writer);

/** filling_put(), and commit with the number of chunks as cursor, or finish. */
LC_CHECKED lc_status filling_commit(lc_writer *writer, int finish);

/** What lc_fill_get() says. */
lc_fill filling_state(lc_cache *cache);
/** The same of the module "m", opened for it. */
lc_fill filling_state_of(const char *root);

/** All records of a chunk are there and right. */
void filling_check_chunk(lc_cache *cache, unsigned input, uint64_t ordinal);

#endif
