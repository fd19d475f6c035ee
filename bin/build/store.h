/* SPDX-License-Identifier: BSD-2-Clause */
/* The module that a warehouse keeps its samples in, between builds. */
#ifndef CACHEX_BUILD_STORE_H
#define CACHEX_BUILD_STORE_H

#include <stdbool.h>

#include "base/buf.h"
#include "build/ingest.h"
#include "build/sample.h"
#include "lmdbcache.h"

struct lc__store {
	lc_cache *cache;   /* NULL: nothing is stored, and nothing is there */
	char prefix[13];   /* of the cache_ids: the sample key's first digits */
	lc_cache **others; /* modules of other warehouses, to read only; malloc'ed */
	size_t n_others;
};

/** Open the module of a build's warehouse, made if it is missing. */
LC_CHECKED lc_status lc__store_open(struct lc__store *store,
    const struct lc__ingest *ingest, const char sample_key[65]);

/**
 * Open the modules of the other warehouses that samples are taken from.
 * @return LC_OK; LC_INVALID for one that has samples, but none of this sample key;
 * LC_NO_FILE, LC_CORRUPT ...
 */
LC_CHECKED lc_status lc__store_open_others(struct lc__store *store,
    const struct lc__ingest *ingest);

/** Close; what is pending is committed. */
lc_status lc__store_close(struct lc__store *store);

/** "0123456789ab/RUN/NAME", the cache_id of a frame, or "0123456789ab/NAME" where it
 *  has no run; ended by a NUL. False without memory. */
bool lc__store_key(const struct lc__store *store, const char *run, const char *name,
    struct lc__buf *out);

/**
 * The record of a frame: the first that is not damaged, of the warehouse's own module and
 * the others in their order.
 * @param from  gets the module
 * @return as lc_get()
 */
LC_CHECKED lc_status lc__store_view(const struct lc__store *store, const char *key,
    lc_view *view, lc_cache **from);

/**
 * What is stored of a frame, without its tensors.
 * @param from  gets the module that has it
 * @param out   the part LC__SAMPLE_ABOUT, to be freed with lc_value_free(); NULL if
 *              there is nothing, or it is damaged
 */
LC_CHECKED lc_status lc__store_get(const struct lc__store *store, const char *key,
    lc_cache **from, lc_value **out);

/** Copy the pixels of a sample, which must have this dtype and @p size bytes, from one of
 *  the modules. *found is false if they are not there, or damaged. */
LC_CHECKED lc_status lc__store_pixels(lc_cache *from, const char *key, lc_dtype dtype,
    size_t size, void *out, bool *found);

LC_CHECKED lc_status lc__store_put(const struct lc__store *store, const char *key,
    const struct lc__sample *sample);

/**
 * Times at which a frame's files were seen with the content that is stored, later
 * than those that the record itself has: a small record of its own, so that a
 * dataset that was copied costs no second copy of all samples.
 */
struct lc__seen {
	bool any;
	int64_t label_ns, image_ns; /* times; sizes have not changed */
};

LC_CHECKED lc_status lc__store_note_seen(const struct lc__store *store, const char *key,
    const struct lc__seen *seen);

/**
 * Delete the records of this sample key for which @p keeps says no.
 * @param name  "RUN/NAME"
 * @param gone  gets how many frames
 */
LC_CHECKED lc_status lc__store_sweep(const struct lc__store *store,
    bool (*keeps)(void *ctx, const char *name, size_t size), void *ctx, uint64_t *gone);

/** How many frames are stored under this sample key; one of several modules counts each time. */
LC_CHECKED lc_status lc__store_count(const struct lc__store *store, uint64_t *out);

/** Bytes that can be stored without the module's file growing. */
LC_CHECKED lc_status lc__store_room(const struct lc__store *store, uint64_t *out);

/** Take dead records out if they are most of what is there. */
LC_CHECKED lc_status lc__store_tidy(const struct lc__store *store);

#endif
