/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock that nobody waits for long: a thread that does not get it goes on without. So a child
 * forked while another thread held it is slower, and not stuck.
 */
#ifndef LC_WAREHOUSE_TRYLOCK_H
#define LC_WAREHOUSE_TRYLOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define LC__TRYLOCK_TRIES 200 /* far longer than anyone holds it */

struct lc__trylock {
	_Atomic bool held;
};

static inline bool
lc__trylock(struct lc__trylock *lock)
{
	for (int i = 0; i < LC__TRYLOCK_TRIES; i++) {
		if (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
		    !atomic_exchange_explicit(&lock->held, true, memory_order_acquire))
			return true;
		sched_yield();
	}
	return false;
}

static inline void
lc__tryunlock(struct lc__trylock *lock)
{
	atomic_store_explicit(&lock->held, false, memory_order_release);
}

#endif
