/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways of reading the records of a set in an order. */
#ifndef BENCH_ORDER_WAY_H
#define BENCH_ORDER_WAY_H

#include <stdbool.h>

#include "order_set.h"

/** What is read, and by whom. */
struct order_run {
	const struct order_set *set;
	enum order_kind kind;
	uint64_t examples; /* the first ones */
	unsigned readers;  /* each in a thread of its own */
	unsigned threads;  /* of each, which read ahead */
	bool sums;         /* all words are read and added up; else nobody looks at them */
};

struct order_way {
	const char *name;
	bool ahead;    /* it can have threads that read ahead */
	bool unsummed; /* there is something to do when nothing is added up */
	/** The file that is read. */
	const char *(*file)(const struct order_set *set);
	/** Open it; readers, threads and sums of @p run are not yet known. */
	void *(*open)(const struct order_run *run);
	/**
	 * What reader @p reader does. The sum of order_weighed() of its examples; if
	 * nothing is added up, their number.
	 */
	uint64_t (*read)(void *state, const struct order_run *run, unsigned reader);
	void (*close)(void *state);
};

extern const struct order_way order_mapped, order_pread, order_lmdb_in_place,
    order_lmdb_copied, order_copies, order_copies_verified, order_views,
    order_views_verified;

/**
 * The seconds that the readers of a run take together. Ends the program if they read
 * anything else than @p expected: the set's order_expected(), or how many examples.
 */
double order_seconds(const struct order_way *way, void *state,
    const struct order_run *run, uint64_t expected);

/** A plain reader's share: examples [*first, *end), whole batches. */
void order_share(const struct order_run *run, unsigned reader, uint64_t *first,
    uint64_t *end);

/** Room for a batch, 64-byte aligned. */
void *order_room(void);

/** The record that example @p x is. */
static inline uint64_t
order_record(const struct order_run *run, uint64_t x)
{
	return run->set->order[run->kind][x];
}

/** order_weighed() of @p n examples from @p first on, one behind the other. */
uint64_t order_sum_batch(const void *records, uint64_t first, uint64_t n);

#endif
