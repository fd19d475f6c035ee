/* SPDX-License-Identifier: BSD-2-Clause */
/* Producers that work, and every way in which they do not. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "producing.h"

#define ANY UINT_MAX

/* ---- producers that answer ------------------------------------------------------------ */

static const struct {
	size_t items, batch, payload;
	unsigned children, ahead;
	const char *mode;
} good[] = {
	{ 1, 1, 0, 1, 0, "good" },
	{ 1000, 256, 0, 1, 1, "good" },
	{ 1000, 7, 10, 3, 1, "good" },
	{ 500, 1, 0, 2, 5, "good" },
	{ 100, 10, 100, 2, 0, "slow" },
	{ 300, 50, 0, 1, 1, "reversed" },
	{ 30, 10, 50, 1, 1, "pieces" },
	{ 20, 5, 0, 2, 1, "noisy" },
	{ 3, 1, 3000000, 1, 2, "good" },
	{ 60, 20, 60000, 2, 3, "reversed" },
	{ 10, 5, 0, 1, 1, "surroundings" },
	{ 0, 5, 0, 1, 1, "good" },
};

START_TEST(answers)
{
	struct producing p;

	producing_init(&p, good[_i].items, good[_i].batch, "%s", good[_i].mode);
	p.payload = good[_i].payload;
	p.how.children = good[_i].children;
	p.how.ahead = good[_i].ahead;
	producing_run(&p);
	ck_assert_msg(p.status == LC_OK, "%s", p.error);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), p.items);
	if (strcmp(good[_i].mode, "surroundings") != 0)
		producing_check_values(&p);
	ck_assert_uint_eq(p.produced.batches, (p.items + p.batch - 1) / p.batch);
	ck_assert_uint_le(p.produced.started, p.how.children);
	ck_assert_uint_eq(p.produced.died + p.produced.timed_out + p.produced.garbage +
	    p.produced.retried, 0);
	ck_assert_uint_ge(p.produced.sent_bytes, p.items * (14 + p.payload));
	for (size_t i = 0; i < p.items; i++)
		ck_assert_uint_eq(p.attempts[i], 1);
	producing_free(&p);
}
END_TEST

/* ---- producers that do not ------------------------------------------------------------ */

static const struct {
	const char *mode;
	size_t items, batch, failed;
	unsigned retries, isolate;
	unsigned started, died, timed_out, garbage, retried;
	const char *why; /* in the last failure */
} bad[] = {
	{ "crash-early", 2, 2, 2, 1, 0, 2, 2, 0, 0, 1, " ended with status 3: at all" },
	{ "crash-early", 2, 2, 2, 0, 0, 1, 1, 0, 0, 0, " ended with status 3: at all" },
	{ "exits", 2, 2, 2, 1, 0, 2, 2, 0, 0, 1, "' ended with status 0" },
	{ "crash", 5, 2, 5, 1, 0, 6, 6, 0, 0, ANY, "' ended with status 4" },
	{ "crash", 3, 3, 3, 3, 0, 4, 4, 0, 0, 3, "' ended with status 4" },
	{ "crash-on item-0003", 8, 4, 4, 1, 0, 3, 2, 0, 0, ANY,
	    "' was ended by signal 15, Terminated: cannot take item-0003" },
	{ "crash-on item-0003", 8, 8, 1, 1, 1, ANY, 5, 0, 0, ANY,
	    "' was ended by signal 15, Terminated: cannot take item-0003" },
	{ "crash-on item-0000", 32, 32, 1, 0, 1, ANY, 6, 0, 0, ANY, ": cannot take item-0000" },
	{ "hang", 3, 3, 3, 1, 0, 2, 0, 2, 0, 1, "' gave no answer for 200 ms" },
	{ "hang-early", 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, "' gave no answer for 200 ms" },
	{ "length", 2, 2, 2, 1, 0, 2, 0, 0, 2, 1,
	    "' answered garbage: its length is 4294967295 bytes, of 16777216 at most; its "
	    "first bytes are '\\xff\\xff\\xff\\xff'" },
	{ "talks", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, "; its first bytes are 'Load'" },
	{ "zero", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, " its length is 0 bytes, of 16777216 at most" },
	{ "bytes", 2, 2, 2, 1, 0, 2, 0, 0, 2, 1,
	    "' answered garbage: it is not one MessagePack object" },
	{ "claims", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, ": it is not one MessagePack object" },
	{ "behind", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, ": it is not one MessagePack object" },
	{ "wrong-batch", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, ": it is of batch 2 instead of 1" },
	{ "unknown", 2, 2, 2, 1, 0, 2, 0, 0, 2, 1,
	    ": it has 'nobody', which was not asked for" },
	{ "twice", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, ": it has 'item-0000' twice" },
	{ "few", 4, 4, 2, 0, 0, 1, 0, 0, 0, 0, "' left out 2 of 4 items" },
	{ "few", 4, 4, 1, 1, 0, 2, 0, 0, 0, 1, "' left out 1 of 2 items" },
	{ "few", 16, 16, 1, 9, 0, 10, 0, 0, 0, 9, "' left out 1 of 1 items" },
	{ "none", 4, 4, 4, 1, 1, 2, 0, 0, 0, 1, "' left out 4 of 4 items" },
	{ "half", 2, 2, 2, 0, 0, 1, 1, 0, 0, 0,
	    "' ended with status 0 in the middle of an answer" },
	{ "errors", 6, 3, 2, 1, 0, 1, 0, 0, 0, 0, "odd item ?" },
	{ "deep", 3, 3, 1, 1, 0, 1, 0, 0, 0, 0, ": nested deeper than 64" },
	{ "closes-stdout", 2, 2, 2, 1, 0, 2, 2, 0, 0, 1, "' closed its standard output" },
	{ "stray", 1, 1, 0, 1, 0, 1, 0, 0, ANY, 0, NULL },
};

START_TEST(misbehaves)
{
	struct producing p;
	const char *why = "";

	producing_init(&p, bad[_i].items, bad[_i].batch, "%s", bad[_i].mode);
	p.how.retries = bad[_i].retries;
	p.how.isolate = bad[_i].isolate != 0;
	if (strncmp(bad[_i].mode, "hang", 4) == 0)
		p.how.start_timeout_ms = p.how.timeout_ms = 200;
	p.how.end_timeout_ms = 200;
	producing_run(&p);
	ck_assert_msg(p.status == LC_OK, "%s", p.error);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_FAILED), bad[_i].failed);
	producing_check_values(&p);
	if (bad[_i].started != ANY)
		ck_assert_uint_eq(p.produced.started, bad[_i].started);
	ck_assert_uint_eq(p.produced.died, bad[_i].died);
	ck_assert_uint_eq(p.produced.timed_out, bad[_i].timed_out);
	if (bad[_i].garbage != ANY)
		ck_assert_uint_eq(p.produced.garbage, bad[_i].garbage);
	if (bad[_i].retried != ANY)
		ck_assert_uint_eq(p.produced.retried, bad[_i].retried);
	for (size_t i = 0; i < p.items; i++)
		if (p.why[i] != NULL)
			why = p.why[i];
	if (bad[_i].why != NULL)
		ck_assert_msg(strstr(why, bad[_i].why) != NULL, "%s", why);
	producing_free(&p);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("produce");
	TCase *tc = tcase_create("produce");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, answers, 0, sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(tc, misbehaves, 0, sizeof(bad) / sizeof(bad[0]));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
