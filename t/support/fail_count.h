/* SPDX-License-Identifier: BSD-2-Clause */
/* Which call fails: for allocations and for system calls, each with counters of its own. */
#ifndef T_FAIL_COUNT_H
#define T_FAIL_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>

struct fail_count {
	atomic_long left;    /* calls until the one that fails; 0: none fails */
	atomic_bool forever; /* and all after it */
	atomic_long hits;    /* that have failed */
};

static inline void
fail_count_start(struct fail_count *count, long n, bool and_on)
{
	atomic_store(&count->left, 0);
	atomic_store(&count->forever, and_on);
	atomic_store(&count->hits, 0);
	atomic_store(&count->left, n);
}

/* Does this call fail? The first that does is 1, the next 2; 0: it does not. */
static inline long
fail_count_next(struct fail_count *count)
{
	long now = atomic_load(&count->left);

	/* 1 stays 1 if all that follow are to fail. */
	do {
		if (now == 0)
			return 0;
		if (now == 1 && atomic_load(&count->forever))
			break;
	} while (!atomic_compare_exchange_weak(&count->left, &now, now - 1));
	return now == 1 ? atomic_fetch_add(&count->hits, 1) + 1 : 0;
}

#endif
