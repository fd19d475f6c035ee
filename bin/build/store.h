/* SPDX-License-Identifier: BSD-2-Clause */
/* The module in which a warehouse keeps its samples between builds. */
#ifndef CACHEX_BUILD_STORE_H
#define CACHEX_BUILD_STORE_H

#include <stdbool.h>

#include "base/buf.h"
#include "build/ingest.h"
#include "build/sample.h"
#include "lmdbcache.h"

struct lc__store {
	lc_cache *cache;   /* NULL: nothing is stored */
	char prefix[13];   /* prefix of the cache_ids: the sample key's first digits */
	lc_cache **others; /* modules of other warehouses, read-only; malloc'ed */
	size_t n_others;
};

/** Open the module of a build's warehouse, and create it if it is missing. */
LC_CHECKED lc_status lc__store_open(struct lc__store *store,
    const struct lc__ingest *ingest, const char sample_key[65]);

/**
 * Open the modules of the other warehouses from which samples are taken.
 * @return LC_OK; LC_INVALID for one that has samples, but none with this sample key;
 * LC_NO_FILE, LC_CORRUPT ...
 */
LC_CHECKED lc_status lc__store_open_others(struct lc__store *store,
    const struct lc__ingest *ingest);

/** Close; pending samples are committed. */
lc_status lc__store_close(struct lc__store *store);

/** Make the cache_id of a frame: "0123456789ab/RUN/NAME", or "0123456789ab/NAME" if it
 *  has no run; followed by a NUL. False without memory. */
bool lc__store_key(const struct lc__store *store, const char *run, const char *name,
    struct lc__buf *out);

/**
 * Get the record of a frame: the first one that is not damaged, in the warehouse's own
 * module and then the others.
 * @param from  the module with it
 * @return as lc_get()
 */
LC_CHECKED lc_status lc__store_view(const struct lc__store *store, const char *key,
    lc_view *view, lc_cache **from);

/**
 * Get what is stored of a frame, without its tensors.
 * @param from  the module with it
 * @param out   the member LC__SAMPLE_ABOUT, free it with lc_value_free(); NULL if nothing
 *              is stored, or it is damaged
 */
LC_CHECKED lc_status lc__store_get(const struct lc__store *store, const char *key,
    lc_cache **from, lc_value **out);

/** Copy the pixels of a sample, which must have this dtype and @p size bytes, from one of
 *  the modules. *found is false if they are missing or damaged. */
LC_CHECKED lc_status lc__store_pixels(lc_cache *from, const char *key, lc_dtype dtype,
    size_t size, void *out, bool *found);

LC_CHECKED lc_status lc__store_put(const struct lc__store *store, const char *key,
    const struct lc__sample *sample);

/**
 * Times at which a frame's files had the stored content, later than those in the record:
 * a separate small record, so that a dataset that was copied does not need a second copy
 * of all samples.
 */
struct lc__seen {
	bool any;
	int64_t label_ns, image_ns; /* times; sizes are unchanged */
};

LC_CHECKED lc_status lc__store_note_seen(const struct lc__store *store, const char *key,
    const struct lc__seen *seen);

/**
 * Delete the records with this sample key for which @p keeps returns false.
 * @param name  "RUN/NAME"
 * @param gone  the number of frames deleted
 */
LC_CHECKED lc_status lc__store_sweep(const struct lc__store *store,
    bool (*keeps)(void *ctx, const char *name, size_t size), void *ctx, uint64_t *gone);

/** The number of frames stored under this sample key; a frame in several modules counts
 *  for each. */
LC_CHECKED lc_status lc__store_count(const struct lc__store *store, uint64_t *out);

/** Bytes that can be stored before the module's file grows. */
LC_CHECKED lc_status lc__store_room(const struct lc__store *store, uint64_t *out);

/** Remove dead records if they are the greater part. */
LC_CHECKED lc_status lc__store_tidy(const struct lc__store *store);

#endif
