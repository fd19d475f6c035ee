/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks on inputs: each writer holds that of its input. Between processes it is a system
 * lock on one byte of the file inputs.lock next to data.mdb. It ends with its process,
 * and a forked child does not have it. Within a process a table tells its writers apart.
 * Closing any descriptor of the file would drop all locks of the process: so there is one
 * descriptor for each environment, open as long as the environment.
 */
#ifndef LC_STORE_INPUT_LOCK_H
#define LC_STORE_INPUT_LOCK_H

#include "env/env.h"

/** The locks of this process; part of struct lc__module, guarded by the environment's
 *  lock. */
struct lc__input_locks {
	int fd;        /* of inputs.lock; -1 until it is needed */
	bool writable; /* fd is open for writing: it can take locks */
	bool all;      /* this process holds all inputs, including those not declared yet
	                * */
	unsigned char *held; /* 1 for each input that this process holds; malloc'ed */
	size_t room;         /* bytes of held */
	uint32_t count;      /* number of inputs held */
};

void lc__input_locks_init(struct lc__input_locks *locks);
/** Release all locks. */
void lc__input_locks_free(struct lc__input_locks *locks);
/** In a forked child: the locks belong to the parent. */
void lc__input_locks_after_fork(struct lc__input_locks *locks);

/** Lock an input.
 *  @return LC_OK; LC_BUSY, naming it, if another writer holds it; LC_IO ... */
LC_CHECKED lc_status lc__input_lock(struct lc__env *env, uint32_t input,
    const char *name);
void lc__input_unlock(struct lc__env *env, uint32_t input);

/** Lock all inputs, including those that may be declared later.
 *  @return LC_OK; LC_BUSY; LC_IO ... */
LC_CHECKED lc_status lc__input_lock_all(struct lc__env *env, const char *operation);
void lc__input_unlock_all(struct lc__env *env);

/** Set the bytes of @p held (initially 0) for those of the first @p n inputs that any
 *  process holds. */
LC_CHECKED lc_status lc__input_locks_list(struct lc__env *env, uint32_t n,
    unsigned char *held);

#endif
