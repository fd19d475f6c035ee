/* SPDX-License-Identifier: BSD-2-Clause */
/* What all handles of one environment share in this process. */
#ifndef LC_STORE_MODULE_H
#define LC_STORE_MODULE_H

#include "env/env.h"
#include "store/input_lock.h"
#include "store/schemas.h"
#include "store/settings.h"
#include "store/stat.h"

struct lc__pool;

/* Chunks that were read since the last commit, for the eviction of those that were not. A
 * sample if there are very many. */
struct lc__reads {
	uint64_t *chunks; /* ids, which may repeat; malloc'ed */
	uint32_t count, room;
};
#define LC__READS_MAX 65536

struct lc__module {
	struct lc__env *env;
	struct lc__pool *pool;       /* snapshots that no call uses */
	struct lc__schemas *schemas; /* structures that this process has met */
	struct lc__known_settings settings; /* as last seen */
	atomic_bool filled;          /* as last seen: filled by inputs, so that puts are
					refused */
	/* guarded by the lock of env: */
	struct lc__counters counts;    /* not saved by a commit yet */
	struct lc__counters saving;    /* those of them that a running commit saves */
	struct lc__reads reads;      /* likewise; only for LC_EVICT_UNREAD */
	struct lc__input_locks locks;    /* of inputs that writers hold */
	uint64_t filled_txn;         /* the commit that filled was learned from */
};

/** Give an environment its module, if it has none, and read the settings. */
LC_CHECKED lc_status lc__module_attach(struct lc__env *env);

/** Learn whether a commit's module is filled by inputs, unless a later commit is known: a
 *  reader may be late. The caller holds the environment's lock. */
void lc__module_learn_filled_locked(struct lc__module *module, uint64_t txn,
    bool filled);

/** Forget the first @p n reads, which a commit has noted. Two commits may note the same
 *  ones. The caller holds the environment's lock. */
void lc__module_forget_reads_locked(struct lc__module *module, uint32_t n);

/** Remember that chunks were read. The caller holds the environment's lock. */
void lc__module_note_reads_locked(struct lc__module *module, const uint64_t *chunks,
    uint32_t n);

/** Take what this process counted and no commit saved or is saving. Then call
 *  lc__module_settle_counts(). */
void lc__module_take_counts(struct lc__env *env, struct lc__counters *out);
/** The counts that were taken are @p saved, or else can be taken again. */
void lc__module_settle_counts(struct lc__env *env,
    const struct lc__counters *taken, bool saved);

/** Save what this process counted since its last commit, if there is anything. A loss of
 *  power may undo this commit. */
LC_CHECKED lc_status lc__module_save_counts(struct lc__env *env);

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
