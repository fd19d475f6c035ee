/* SPDX-License-Identifier: BSD-2-Clause */
/* From the bytes of a record to tensors and values: verify, decode, rebuild. */
#ifndef LC_STORE_DECODE_H
#define LC_STORE_DECODE_H

#include "store/cache.h"
#include "store/lru.h"
#include "store/once.h"

/** A record whose values are being decoded. */
struct lc__decoder {
	struct lc_cache *cache; /* whose LRU and options apply */
	const struct lc__schema *schema;
	struct lc__record record;         /* fits the schema; its head is verified */
	uint64_t location;                /* 0: not committed */
	bool verify;                      /* verify the parts */
	struct lc__once_seen seen;        /* parts that need not be verified again */
	bool listed;                      /* skip the tensors: they get no data */
	struct lc__decoded_value *values; /* decoded so far */
};

/**
 * Begin with decoder->record, a record of a snapshot: verify its head if @p verify, and
 * compare it with its schema. End with lc__decoder_close().
 */
LC_CHECKED lc_status lc__decoder_open(struct lc__decoder *decoder, struct lc_cache *cache,
    struct lc__snapshot *snapshot, uint64_t location, bool verify);

/** The tensor of a record without parts, in place; verified if @p verify. */
LC_CHECKED lc_status lc__decode_alone(const struct lc_cache *cache,
    struct lc__snapshot *snapshot, const struct lc__record *record, uint64_t location,
    bool verify, lc_tensor *out);

/** What need not be verified again in the chunk of a record: nothing, unless the handle
 *  verifies once. */
struct lc__once_seen lc__decode_seen(const struct lc_cache *cache,
    struct lc__snapshot *snapshot, uint64_t location);

/** Does the LRU have the decoded first tensor of a committed record? */
bool lc__decode_cached(const struct lc_cache *cache, const struct lc__record *record,
    uint64_t location);

/** Begin with decoder->record, whose bytes are in this process's memory and known to be
 *  intact. */
LC_CHECKED lc_status lc__decoder_open_memory(struct lc__decoder *decoder,
    struct lc_cache *cache, const struct lc__schema *schema);

/**
 * The tensor of a record that holds a single tensor, verified.
 * @param block  gets the memory of a decoded tensor, which the caller drops; NULL if the
 *               tensor is in place
 */
LC_CHECKED lc_status lc__decoder_tensor(struct lc__decoder *decoder, lc_tensor *out,
    struct lc__block **block);

/** The kind of the record's value. */
LC_CHECKED lc_status lc__decoder_kind(struct lc__decoder *decoder, lc_kind *out);

/**
 * Copy the tensor of node @p node, verified; @p tensor and @p part are from
 * lc__record_tensors(). After LC_CORRUPT the content of @p out is undefined.
 * @param all  size of all copies made together with this one, its own included
 */
LC_CHECKED lc_status lc__decoder_copy(const struct lc__decoder *decoder, uint32_t node,
    const lc_tensor *tensor, const struct lc__record_part *part, void *out, size_t all);

/** As lc_view_value(). The value is valid until lc__decoder_close(). */
LC_CHECKED lc_status lc__decoder_value(struct lc__decoder *decoder, const char *path,
    const lc_value **out);

/** Free the decoded values. */
void lc__decoder_close(struct lc__decoder *decoder);

#endif
