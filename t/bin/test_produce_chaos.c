/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation fails once: the run says so, or does not need it, and leaves nothing. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "fail_malloc.h"
#include "producing.h"

#define BATCHES 3
#define ITEMS 4

/* producer, retries, isolate */
static const struct {
	const char *mode;
	unsigned retries;
	bool isolate;
} rows[] = {
	{ "good", 0, false },
	{ "reversed", 0, false },
	{ "crash-on b1", 1, true },
	{ "few", 1, false },
	{ "errors", 0, false },
	{ "unknown", 0, false },
};

struct work {
	size_t made, back; /* batches */
	size_t items;      /* with an outcome */
};

static lc_status
next(void *ctx, struct lc__items **out)
{
	static const char *const ids[] = { "a0", "b0", "c0", "d0", "a1", "b1", "c1", "d1",
	    "a2", "b2", "c2", "d2" };
	struct work *work = ctx;
	struct lc__items *batch;

	if (work->made == BATCHES)
		return LC_END;
	batch = lc__items_new(ITEMS);
	if (batch == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	for (size_t i = 0; i < ITEMS; i++)
		batch->items[i].id = lc_id_of(ids[work->made * ITEMS + i]);
	work->made++;
	*out = batch;
	return LC_OK;
}

static lc_status
done(void *ctx, struct lc__items *batch)
{
	struct work *work = ctx;

	work->back++;
	for (size_t i = 0; i < batch->count; i++)
		work->items += batch->items[i].outcome != LC__ITEM_OPEN;
	lc__items_free(batch);
	return LC_OK;
}

START_TEST(each_allocation)
{
	char command[4400];
	const struct lc__producers how = {
		.command = command, .module = "demo", .children = 1, .ahead = 1,
		.retries = rows[_i].retries, .isolate = rows[_i].isolate,
		.frame_max = 1 << 20
	};
	bool failed = true;

	snprintf(command, sizeof(command), "exec %s %s", producing_program("t/support/bad_producer"),
	    rows[_i].mode);
	for (long n = 1; failed; n++) {
		struct work mine = { 0, 0, 0 };
		const struct lc__work work = { .next = next, .done = done, .ctx = &mine };
		struct lc__produced count;
		lc_status status;
		fail_malloc(n, false);
		status = lc__produce(&how, &work, &count);
		failed = fail_malloc_hits() > 0;
		fail_malloc(0, false);
		ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
		ck_assert_int_eq(errno, ECHILD);
		ck_assert(status == LC_OK || (status == LC_NO_MEMORY && failed));
		ck_assert_uint_eq(count.batches, mine.back);
		ck_assert_uint_eq(mine.items, ITEMS * mine.back);
		ck_assert(status != LC_OK || mine.back == BATCHES);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("produce_chaos");
	TCase *tc = tcase_create("produce_chaos");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, each_allocation, 0, sizeof(rows) / sizeof(rows[0]));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
