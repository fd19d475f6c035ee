/* SPDX-License-Identifier: BSD-2-Clause */
/* From the bytes of a record to tensors and values: verified, decoded, rebuilt. */
#ifndef LC_STORE_DECODE_H
#define LC_STORE_DECODE_H

#include "store/cache.h"
#include "store/lru.h"

/** A record that values are read out of. */
struct lc__decoder {
	struct lc_cache *cache;    /* whose LRU and options count */
	const struct lc__schema *schema;
	struct lc__record record;  /* fits the schema; its head is verified */
	uint64_t location;         /* 0 for one that is not committed */
	bool verify;               /* check the parts */
	bool listed;               /* leave tensors alone: they have no data */
	struct lc__decoded_value *values; /* made so far */
};

/**
 * Start with decoder->record, which is one of a snapshot: its head is verified if
 * @p verify, and compared with its schema. End with lc__decoder_close().
 */
LC_CHECKED lc_status lc__decoder_open(struct lc__decoder *decoder,
    struct lc_cache *cache, struct lc__snapshot *snapshot, uint64_t location,
    bool verify);

/** The tensor of a record without parts, verified if @p verify, in place. */
LC_CHECKED lc_status lc__decode_alone(const struct lc_cache *cache,
    struct lc__snapshot *snapshot, const struct lc__record *record, bool verify,
    lc_tensor *out);

/** Does the LRU hold the first tensor of a committed record, decoded? */
bool lc__decode_cached(const struct lc_cache *cache, const struct lc__record *record,
    uint64_t location);

/** Start with decoder->record, which stands in this process's memory. */
LC_CHECKED lc_status lc__decoder_open_memory(struct lc__decoder *decoder,
    struct lc_cache *cache, const struct lc__schema *schema);

/**
 * The tensor of a record that is nothing else, verified.
 * @param block  gets what holds the data if it had to be decoded, to be dropped;
 *               else NULL
 */
LC_CHECKED lc_status lc__decoder_tensor(struct lc__decoder *decoder,
    lc_tensor *out, struct lc__block **block);

/** As lc_view_value(); valid until lc__decoder_close(). */
LC_CHECKED lc_status lc__decoder_value(struct lc__decoder *decoder,
    const char *path, const lc_value **out);

/** Free the values that were read. */
void lc__decoder_close(struct lc__decoder *decoder);

#endif
