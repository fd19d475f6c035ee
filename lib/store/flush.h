/* SPDX-License-Identifier: BSD-2-Clause */
/* The pending writes of a handle, and the thread that commits them. */
#ifndef LC_STORE_FLUSH_H
#define LC_STORE_FLUSH_H

#include "store/cache.h"

/** Add a put (or with tensor NULL a delete), waiting for room. */
LC_CHECKED lc_status lc__flush_add(struct lc_cache *cache, const void *id,
    size_t id_size, const lc_tensor *tensor);
/** Commit everything that was put so far. */
LC_CHECKED lc_status lc__flush_all(struct lc_cache *cache);
/** End the flush thread without committing. */
void lc__flush_stop(struct lc_cache *cache);

/** What a handle's pending writes say of a cache_id. */
enum lc__pending_answer {
	LC__PENDING_UNKNOWN, /* nothing: look at the commits */
	LC__PENDING_PUT,
	LC__PENDING_DELETED
};

/**
 * Look among the pending writes. With @p out, a put's tensor is copied into
 * aligned memory that lc_tensor_free() frees, or into @p buf of @p room bytes.
 */
LC_CHECKED lc_status lc__flush_peek(struct lc_cache *cache, const void *id,
    size_t id_size, void *buf, size_t room, lc_tensor *out,
    enum lc__pending_answer *answer);

#endif
