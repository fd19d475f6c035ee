/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lc__produce() without processes: takes the place of that of libfill, so that a test
 * decides when which batch comes back and with what.
 */
#ifndef T_FAKE_PRODUCE_H
#define T_FAKE_PRODUCE_H

#include "fill/produce.h"

struct fake_produce {
	/** The outcome of an item: its value, which is then owned, or NULL with *why as text
	 *  that is not freed. */
	lc_value *(*make)(void *ctx, const struct lc__item *item, const char **why);
	/** Told of each batch that is given out and of each that comes back. */
	void (*given)(void *ctx, const struct lc__items *batch);
	void (*back)(void *ctx, const struct lc__items *batch);
	void *ctx;
	uint64_t seed;      /* of which batch comes back first; 0: the oldest */
	uint64_t stop_after; /* batches, then with LC_CANCELLED; 0: never */
	uint64_t kill_after; /* batches that are back, then the process is killed; 0: never */
	uint64_t most_out;  /* gets the most batches that were out at once */
};

/** What the next runs do. */
extern struct fake_produce fake_produce;

/** The value of an item: u8 of its payload and id, so that a mix-up is seen. */
lc_value *fake_value(const struct lc__item *item);

#endif
