/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A module of plain puts and a model of it: its live records in the order of their puts,
 * which is the order of a stream. Compaction does not change that order.
 *
 * Version v of key k is a tensor u32[flat_length(k, v)] of flat_word(k, v, 0), ...; its
 * cache_id is "k" and the key. Versions 0 and 1 are what puts take turns with, so that a
 * record often comes back with the bytes that it had before.
 */
#ifndef T_FLAT_MODEL_H
#define T_FLAT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

struct flat_record {
	uint32_t key;
	uint32_t version;
};

/** Live records in their order. */
struct flat_list {
	struct flat_record *records; /* malloc'ed */
	size_t n, room;
};

/** A record moves to the end, or comes there. */
void flat_put(struct flat_list *list, uint32_t key, uint32_t version);
/** No harm if it is not there. */
void flat_delete(struct flat_list *list, uint32_t key);
void flat_copy(struct flat_list *to, const struct flat_list *from);
void flat_free(struct flat_list *list);

/** 1 to FLAT_LENGTH_MAX: records of several sizes. */
#define FLAT_LENGTH_MAX 60
uint64_t flat_length(uint32_t key, uint32_t version);
uint32_t flat_word(uint32_t key, uint32_t version, uint64_t i);

/** The key of a cache_id. */
uint32_t flat_key(lc_id id);

/** Put it into the module; the status of lc_put(). */
LC_CHECKED lc_status flat_store(lc_cache *cache, uint32_t key, uint32_t version);
LC_CHECKED lc_status flat_remove(lc_cache *cache, uint32_t key);

/**
 * Where a batch of records, of one reader and in order, differs from the list from
 * record @p first on, with as many rows filled as the list has; NULL if it does not.
 */
const char *flat_differs(const struct flat_list *list, uint64_t first,
    const lc_batch *batch);
/** The same of a batch of windows over the length field ".". */
const char *flat_windows_differ(const struct flat_list *list, uint64_t window,
    const lc_batch *batch);

#endif
