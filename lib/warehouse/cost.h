/* SPDX-License-Identifier: BSD-2-Clause */
/* What reading cost: counters that many threads add to without meeting. */
#ifndef LC_WAREHOUSE_COST_H
#define LC_WAREHOUSE_COST_H

#include <stdatomic.h>
#include <stdint.h>

#define LC__COST_STRIPES 16

enum lc__cost_kind {
	LC__COST_SAMPLES,        /* handed out or copied */
	LC__COST_BYTES_READ,     /* by read() */
	LC__COST_BYTES_VERIFIED, /* by checksums */
	LC__COST_VERIFY_NS,      /* time that took */
	LC__COST_KINDS
};

/** Room for the kinds and for a cache line, so that no two stripes share one. */
#define LC__COST_STRIDE (LC__COST_KINDS + 64 / sizeof(uint64_t))

struct lc__cost {
	_Atomic uint64_t stripes[LC__COST_STRIPES][LC__COST_STRIDE];
};

/** The calling thread's stripe. */
unsigned lc__cost_stripe(void);

static inline void
lc__cost_add(struct lc__cost *cost, enum lc__cost_kind kind, uint64_t n)
{
	atomic_fetch_add_explicit(&cost->stripes[lc__cost_stripe()][kind], n,
	    memory_order_relaxed);
}

/** All stripes. */
uint64_t lc__cost_sum(const struct lc__cost *cost, enum lc__cost_kind kind);

#endif
