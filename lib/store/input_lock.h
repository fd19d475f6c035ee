/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which inputs writers hold. Among processes a claim is a lock of the system on one
 * byte of the file inputs.lock beside data.mdb: it goes when its process does,
 * however that ends, and a forked child does not have it. Within the process a table
 * tells writers from one another.
 *
 * Closing any descriptor of the file would drop all locks of the process, so there
 * is one an environment, which stays open as long as that.
 */
#ifndef LC_STORE_INPUT_LOCK_H
#define LC_STORE_INPUT_LOCK_H

#include "env/env.h"

/** A part of struct lc__module, guarded by the lock of the environment. */
struct lc__input_locks {
	int fd;               /* of inputs.lock, -1 before it is needed */
	bool writable;        /* opened to write: locks can be taken */
	bool all;             /* this process holds all inputs, declared or not */
	unsigned char *held;  /* by this process: a byte each; malloc'ed */
	size_t room;        /* of held */
	uint32_t count;       /* set in held */
};

void lc__input_locks_init(struct lc__input_locks *locks);
/** Lets go of everything. */
void lc__input_locks_free(struct lc__input_locks *locks);
/** In a forked child: what is held is the parent's. */
void lc__input_locks_after_fork(struct lc__input_locks *locks);

/** Hold an input. @return LC_OK; LC_BUSY, naming it, if somebody does; LC_IO … */
LC_CHECKED lc_status lc__input_lock(struct lc__env *env, uint32_t input,
    const char *name);
void lc__input_unlock(struct lc__env *env, uint32_t input);

/** Hold all inputs there are and may be. @return LC_OK; LC_BUSY; LC_IO … */
LC_CHECKED lc_status lc__input_lock_all(struct lc__env *env, const char *operation);
void lc__input_unlock_all(struct lc__env *env);

/** Which of the first @p n inputs are held by any process: sets bytes of @p held,
 *  which are 0 before. */
LC_CHECKED lc_status lc__input_locks_list(struct lc__env *env, uint32_t n,
    unsigned char *held);

#endif
