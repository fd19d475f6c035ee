/* SPDX-License-Identifier: BSD-2-Clause */
/* The handle, and the checks at the start of every call of the public API. */
#ifndef LC_STORE_CACHE_H
#define LC_STORE_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "env/env.h"
#include "store/module.h"
#include "store/snapshot.h"
#include "store/tool.h"

struct lc_cache {
	struct lc_cache *next; /* the next handle */
	atomic_uint refs;      /* held by the handle until it is closed, and by users of
	                        * its LRU */
	atomic_uint users;     /* held by the handle until it is closed, and by sources,
	                        * writers and reservations */
	bool closed;           /* env stays open only for its holders */
	struct lc__env *env;
	lc_options options;
	char *module_id;

	struct lc__flusher *flusher; /* the module's: its uncommitted writes */
	/* guarded by the lock of flusher: */
	struct lc_cache *next_writer; /* the next in flusher->writers */
	uint64_t told;      /* number of the failed commit that was last reported here */
	uint64_t gave_up;   /* durable_seq when a call gave up waiting, until that is
	                   * reported */
	uint64_t warned_ns; /* start of the pin about which the log was warned */
	bool logging;       /* the flush thread is calling the log function */

	atomic_uint_fast64_t timeout_ms; /* time limit of calls that wait; UINT64_MAX:
	                                  * none */
	struct lc__lru *lru;             /* NULL: the LRU is off */
	/* This rank writes. Otherwise puts only go into the LRU, and inflight belongs to
	 * this handle. */
	bool writes;
	struct lc__inflight *inflight; /* keys that are being computed */
	atomic_uint_fast64_t computed, compute_failures, awaited;
};

/** Are puts through this handle committed? If not, its rank does not write, or it is
 *  read-only. */
static inline bool
lc__cache_commits(const struct lc_cache *cache)
{
	return cache->writes && !(cache->options.flags & LC_RDONLY);
}

/** Has the caller cancelled the present call on this handle? */
static inline bool
lc__cache_wants_end(const struct lc_cache *cache)
{
	const lc_options *options = &cache->options;

	return options->stop != NULL && options->stop(options->stop_ctx) != 0;
}

/** Keep the memory of a handle for a view or an iterator, which uses its env and its LRU.
 *  This does not keep the env open: a pin or lc__env_hold() does. */
void lc__cache_hold(struct lc_cache *cache);
/** End such a hold, and then that on env; the last hold of a closed handle frees it. */
void lc__cache_let_go(struct lc_cache *cache);

/** Was a held handle closed? */
bool lc__cache_is_closed(const struct lc_cache *cache);

/** Keep the module of a handle open, and its memory, even after the handle is closed: for
 *  a source, a writer or a reservation. Remains valid in a forked child. */
void lc__cache_keep_open(struct lc_cache *cache);
/** End that; the last one of a closed handle closes the module. */
void lc__cache_let_close(struct lc_cache *cache);

/** Refuse a cache_id that is empty or too long. */
LC_CHECKED lc_status lc__check_id(const char *operation, const void *id, size_t id_size);

/** LC_READONLY if the handle must not write. */
LC_CHECKED lc_status lc__check_writable(const struct lc_cache *cache,
    const char *operation);

/** LC_INVALID for a module that is filled by inputs. Costs almost nothing for others. */
LC_CHECKED lc_status lc__check_plain(struct lc_cache *cache, const char *operation);
/** The same inside a transaction, where the answer is certain. */
LC_CHECKED lc_status lc__check_plain_now(struct lc__snapshot *snapshot,
    const char *operation);

/** Send a line to the handle's log callback, if it has one. */
void lc__cache_log(const struct lc_cache *cache, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
