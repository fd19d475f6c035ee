/* SPDX-License-Identifier: BSD-2-Clause */
/* The handle: what every call of the public API starts from. */
#ifndef LC_STORE_CACHE_H
#define LC_STORE_CACHE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lmdbcache.h"
#include "env/env.h"
#include "store/module.h"
#include "store/pending.h"
#include "store/tool.h"
#include "store/snapshot.h"

struct lc_cache {
	struct lc_cache *next; /* in the list of open handles */
	struct lc__env *env;
	lc_options options;
	char *module_id;

	pthread_mutex_t lock;     /* guards what follows */
	pthread_cond_t work;      /* tells the flush thread of work, or to stop */
	pthread_cond_t done;      /* tells callers that a commit ended */
	struct lc__pending *open;   /* takes puts; NULL until the first */
	struct lc__pending *sealed; /* being committed; NULL if none */
	struct lc__pending *spare;  /* an empty one to go on with */
	uint64_t put_seq;         /* puts and deletes so far */
	uint64_t durable_seq;     /* of them, those committed */
	bool failed;              /* the commit of sealed failed; waits for a retry */
	bool retry;               /* asks the flush thread to try sealed again */
	bool reported;            /* a caller was told of the failure */
	bool held;                /* see lc__flush_hold() */
	lc_error error;           /* the failure */
	bool stop;                /* the flush thread shall end */
	bool running;             /* the flush thread exists */
	pthread_t thread;
	uint64_t warned_ns;       /* start of the pin that was told of; flush thread only */

	atomic_uint_fast64_t pending; /* entries not committed: 0 lets reads skip the lock */

	struct lc__lru *lru;      /* NULL: off */
	bool writes;              /* this rank writes; else puts reach the LRU only */
	struct lc__inflight *inflight; /* keys being computed */
	atomic_uint_fast64_t computed, compute_failures, awaited;
};

/** Refuse ids that are empty or too long. */
LC_CHECKED lc_status lc__check_id(const char *operation, const void *id,
    size_t id_size);
/** LC_READONLY if the handle may not write. */
LC_CHECKED lc_status lc__check_writable(const struct lc_cache *cache,
    const char *operation);

/** Tell the log callback, if there is one. */
void lc__cache_log(const struct lc_cache *cache, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
