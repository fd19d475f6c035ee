/* SPDX-License-Identifier: BSD-2-Clause */
/* The handle, and the checks that every call of the public API begins with. */
#ifndef LC_STORE_CACHE_H
#define LC_STORE_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "env/env.h"
#include "store/module.h"
#include "store/pending.h"
#include "store/snapshot.h"
#include "store/tool.h"

struct lc_cache {
	struct lc_cache *next; /* the next handle */
	atomic_uint refs;      /* the handle until it is closed, and what uses its LRU */
	atomic_uint users;     /* the handle until it is closed, sources and writers */
	bool closed;           /* env is open for what is held only */
	struct lc__env *env;
	lc_options options;
	char *module_id;

	pthread_mutex_t lock;     /* guards what follows */
	pthread_cond_t work;      /* wakes the flush thread: it has work, or must stop */
	pthread_cond_t done;      /* wakes callers: a commit ended */
	struct lc__pending *open; /* takes puts; NULL before the first */
	struct lc__pending *sealed; /* being committed; NULL if none */
	struct lc__pending *spare;  /* an empty one to swap in */
	uint64_t put_seq;           /* puts and deletes so far */
	uint64_t durable_seq;       /* those of them that are committed */
	bool failed;    /* the commit of sealed failed and waits for a retry */
	bool retry;     /* asks the flush thread to try sealed again */
	bool reported;  /* a caller has got the error */
	bool owed;      /* a caller gave up waiting for the commit: it has not heard of a
			   failure */
	bool saving;    /* asks the flush thread to save the counters */
	bool held;      /* nothing is committed; see lc__flush_hold() */
	lc_error error; /* of the failed commit */
	bool stop;      /* the flush thread must end */
	bool running;   /* the flush thread exists */
	pthread_t thread;
	uint64_t warned_ns; /* start of the pin that the log was warned of; flush
				     thread only */

	atomic_uint_fast64_t timeout_ms; /* of the calls that wait; UINT64_MAX for ever */
	atomic_uint_fast64_t
	    pending; /* entries not committed; 0 lets reads skip the lock */

	struct lc__lru *lru; /* NULL: the LRU is off */
	bool writes;         /* this rank writes; else puts only reach the LRU */
	struct lc__inflight *inflight; /* keys that are being computed */
	atomic_uint_fast64_t computed, compute_failures, awaited;
};

/** Keep the memory of a handle for a view or an iterator, which reads its env and its LRU.
 *  That env stays open is another matter: they have a pin or lc__env_hold(). */
void lc__cache_hold(struct lc_cache *cache);
/** End a hold, after that on env; the last one of a closed handle frees it. */
void lc__cache_let_go(struct lc_cache *cache);

/** Keep the module of a handle open, and its memory, also after the handle is closed: for a
 *  source or a writer. In a forked child it counts on. */
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
