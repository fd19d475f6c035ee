/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/cost.h"

unsigned
lc__cost_stripe(void)
{
	static _Atomic unsigned threads;
	static _Thread_local unsigned mine; /* 0: none yet */

	if (mine == 0)
		mine = 1 +
		    atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) %
			LC__COST_STRIPES;
	return mine - 1;
}

uint64_t
lc__cost_sum(const struct lc__cost *cost, enum lc__cost_kind kind)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LC__COST_STRIPES; i++)
		sum += atomic_load_explicit(&cost->stripes[i][kind],
		    memory_order_relaxed);
	return sum;
}
