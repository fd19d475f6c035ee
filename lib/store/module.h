/* SPDX-License-Identifier: BSD-2-Clause */
/* What all handles of one environment share in this process. */
#ifndef LC_STORE_MODULE_H
#define LC_STORE_MODULE_H

#include "env/env.h"
#include "store/counters.h"
#include "store/input_lock.h"
#include "store/schemas.h"
#include "store/settings.h"

struct lc__flusher;
struct lc__inflight;
struct lc__once;
struct lc__pool;

struct lc__module {
	struct lc__env *env;
	struct lc__pool *pool;              /* snapshots that no call uses */
	struct lc__flusher *flusher;        /* writes that no commit holds yet */
	struct lc__inflight *inflight;      /* keys that are being computed */
	struct lc__schemas *schemas;        /* structures that this process has met */
	struct lc__once *once;              /* what this process has verified */
	struct lc__known_settings settings; /* as last seen */
	atomic_bool filled; /* as last seen: filled by inputs, so that puts are refused */
	/* guarded by the lock of env: */
	struct lc__counters counts; /* not saved by a commit yet */
	struct lc__counters saving; /* those of them that a running commit is saving */
	/* Reads of chunks, not saved yet; only for LC_EVICT_UNREAD. */
	struct lc__reads reads;
	struct lc__input_locks locks; /* of inputs that writers hold */
	uint64_t filled_txn;          /* the commit from which filled was learned */
};

/** Attach a module to an environment that has none, and read the settings. */
LC_CHECKED lc_status lc__module_attach(struct lc__env *env);

static inline struct lc__module *
lc__module_of(const struct lc__env *env)
{
	return lc__env_guest_of(env);
}

/** For lc__env_open(): store the rows of a new module, except those of lib/env. */
lc_status lc__meta_first_rows(struct lc__txn *txn);

/** Is this the name of a row of the table meta? */
bool lc__meta_knows(const struct lc__slice *name);

#endif
