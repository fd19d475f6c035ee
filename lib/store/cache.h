/* SPDX-License-Identifier: BSD-2-Clause */
/* The handle, and the checks that every call of the public API begins with. */
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
	atomic_uint refs;      /* the handle until it is closed, and what uses its LRU */
	atomic_uint users;     /* the handle until it is closed, sources, writers and
			      reservations */
	bool closed;           /* env is open for what is held only */
	struct lc__env *env;
	lc_options options;
	char *module_id;

	struct lc__flusher *flusher; /* the module's: its uncommitted writes */
	/* guarded by the lock of flusher: */
	struct lc_cache *next_writer; /* the next in flusher->writers */
	uint64_t told;    /* number of the failed commit that was last reported here */
	uint64_t gave_up; /* durable_seq when a call gave up waiting, until it is told */
	uint64_t warned_ns; /* start of the pin that the log was warned of */
	bool logging;       /* the flush thread is in the log's function */

	atomic_uint_fast64_t timeout_ms; /* of the calls that wait; UINT64_MAX for ever */
	struct lc__lru *lru;             /* NULL: the LRU is off */
	/* This rank writes. Else puts only reach the LRU, and inflight is of this handle. */
	bool writes;
	struct lc__inflight *inflight; /* keys that are being computed */
	atomic_uint_fast64_t computed, compute_failures, awaited;
};

/** Are puts through this handle committed? Else its rank does not write, or it only
 *  reads. */
static inline bool
lc__cache_commits(const struct lc_cache *cache)
{
	return cache->writes && !(cache->options.flags & LC_RDONLY);
}

/** Does the caller of a call on this handle want it to end? */
static inline bool
lc__cache_wants_end(const struct lc_cache *cache)
{
	const lc_options *options = &cache->options;

	return options->stop != NULL && options->stop(options->stop_ctx) != 0;
}

/** Keep the memory of a handle for a view or an iterator, which reads its env and its LRU.
 *  That env stays open is another matter: they have a pin or lc__env_hold(). */
void lc__cache_hold(struct lc_cache *cache);
/** End a hold, after that on env; the last one of a closed handle frees it. */
void lc__cache_let_go(struct lc_cache *cache);

/** Was a handle that is held closed? */
bool lc__cache_is_closed(const struct lc_cache *cache);

/** Keep the module of a handle open, and its memory, also after the handle is closed: for a
 *  source, a writer or a reservation. In a forked child it counts on. */
void lc__cache_keep_open(struct lc_cache *cache);
/** End that; the last one of a closed handle closes the module. */
void lc__cache_let_close(struct lc_cache *cache);

/** Refuse a cache_id that is empty or too long. */
LC_CHECKED lc_status lc__check_id(const char *operation, const void *id, size_t id_size);

/** LC_READONLY if the handle must not write. */
LC_CHECKED lc_status lc__check_writable(const struct lc_cache *cache,
    const char *operation);

/** LC_INVALID for a module that is filled by inputs. Costs next to nothing for others. */
LC_CHECKED lc_status lc__check_plain(struct lc_cache *cache, const char *operation);
/** The same in a transaction, which knows for sure. */
LC_CHECKED lc_status lc__check_plain_now(struct lc__snapshot *snapshot,
    const char *operation);

/** Send a line to the handle's log callback, if it has one. */
void lc__cache_log(const struct lc_cache *cache, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
