/* SPDX-License-Identifier: BSD-2-Clause */
/* Work for producers in tests, and what became of it. */
#ifndef T_PRODUCING_H
#define T_PRODUCING_H

#include "fill/produce.h"

#define PRODUCING_MAX 2000

/** Items "item-0000" … in batches; the test sets the first members. */
struct producing {
	size_t items, batch;       /* how many, and how many a batch */
	size_t payload;            /* bytes of it, of "text"; 0: items have none */
	bool twins;                /* two items each have one id */
	const char *name;          /* the id of all items; NULL: each has its own */
	unsigned store_ms;         /* how long done() takes the first time */
	size_t hold;               /* LC_BUSY while so many batches are out; 0: never */
	const char *refused;       /* check() refuses the item of this id */
	unsigned idle_stops;       /* idle() stops at its n-th call; 0: never */
	lc_status next_fails;      /* of the second call of next() */

	struct lc__producers how;
	struct lc__produced produced;
	lc_status status;
	char error[1000];

	/* By item: outcome, why (malloc'ed), attempts, and the bytes of what was produced. */
	enum lc__item_outcome outcome[PRODUCING_MAX];
	char *why[PRODUCING_MAX];
	unsigned attempts[PRODUCING_MAX];
	lc_value *value[PRODUCING_MAX]; /* a copy */
	char standard_error[5000]; /* of the last batch with a failed item */
	struct lc__buf lines;      /* what line() was told, "0: text\n" */

	size_t made, out, given_back; /* items; batches; batches */
	unsigned idled;
};

/** How bad_producer is run in a mode; producing is all zero otherwise. */
void producing_init(struct producing *p, size_t items, size_t batch,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
/** Run it; asserts what must hold however it ends. */
void producing_run(struct producing *p);
/** How many items have that outcome. */
size_t producing_count(const struct producing *p, enum lc__item_outcome outcome);
/** Assert that what is done is what bad_producer makes of the items. */
void producing_check_values(const struct producing *p);
void producing_free(struct producing *p);

/** The path of a program that was built. Never freed. */
const char *producing_program(const char *name);

#endif
