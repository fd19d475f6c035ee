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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "fill/child.h"
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
	    "' sent an invalid answer: its length is 4294967295 bytes, the maximum is 16777216; its "
	    "first bytes are '\\xff\\xff\\xff\\xff'" },
	{ "talks", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, "; its first bytes are 'Load'" },
	{ "zero", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, " its length is 0 bytes, the maximum is 16777216" },
	{ "bytes", 2, 2, 2, 1, 0, 2, 0, 0, 2, 1,
	    "' sent an invalid answer: it is not one MessagePack object" },
	{ "claims", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, ": it is not one MessagePack object" },
	{ "behind", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, ": it is not one MessagePack object" },
	{ "wrong-batch", 2, 2, 2, 0, 0, 1, 0, 0, 1, 0, ": it is for batch 2 instead of 1" },
	{ "unknown", 2, 2, 2, 1, 0, 2, 0, 0, 2, 1,
	    ": it has 'nobody', which was not requested" },
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
	/* Its request is in the pipe already. */
	{ "closes-stdin", 2, 2, 2, 1, 0, 2, 2, 0, 0, 1, "' closed its standard input" },
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
	if (strncmp(bad[_i].mode, "closes", 6) == 0)
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

/* ---- what is told --------------------------------------------------------------------- */

static void
expect_line(const struct producing *p, const char *line)
{
	ck_assert_msg(strstr((char *)p->lines.data, line) != NULL, "%s",
	    (char *)p->lines.data);
}

START_TEST(no_command)
{
	struct producing p;

	producing_init(&p, 100, 10, "good");
	p.how.command = "nosuch";
	p.how.children = 3;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_FAILED);
	ck_assert_msg(strncmp(p.error, "producer 'nosuch' ended with status 127: ", 41) == 0 &&
	    strstr(p.error, "nosuch: not found") != NULL, "%s", p.error);
	ck_assert_uint_eq(p.given_back, 0);
	producing_free(&p);
}
END_TEST

/* One that has worked before may miss something later. */
START_TEST(no_command_later)
{
	struct producing p;
	char *mark = NULL;

	ck_assert_int_gt(asprintf(&mark, "%s/mark", run_scratch()), 0);
	producing_init(&p, 3, 1, "last");
	ck_assert_int_gt(asprintf((char **)&p.how.command, "test -e %s && exit 127; >%s; "
	    "exec %s last", mark, mark, producing_program("t/support/bad_producer")), 0);
	p.how.ahead = 0;
	p.how.retries = 0;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), 1);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_FAILED), 2);
	free((char *)p.how.command);
	free(mark);
	producing_free(&p);
}
END_TEST

START_TEST(standard_error)
{
	struct producing p;

	producing_init(&p, 4, 4, "noisy");
	p.refused = "item-0002";
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_str_eq(p.why[2], "NaN at [2]");
	ck_assert_uint_eq(p.attempts[2], 1);
	ck_assert_uint_eq(strlen(p.standard_error), 4096);
	ck_assert_str_eq(p.standard_error + 4096 - 12, "000\r\nthe end");
	expect_line(&p, "0: line 0 000");
	expect_line(&p, "000\n0: line 39999 000");
	expect_line(&p, "000\n0: the end\n");
	producing_free(&p);
}
END_TEST

START_TEST(status_at_the_end)
{
	struct producing p;

	producing_init(&p, 10, 5, "status");
	p.how.children = 2;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), 10);
	ck_assert_uint_eq(p.produced.died, 0);
	expect_line(&p, "0: ended with status 7\n");
	expect_line(&p, "1: ended with status 7\n");
	producing_free(&p);
}
END_TEST

START_TEST(ignores_the_end)
{
	struct producing p;

	producing_init(&p, 10, 5, "stays");
	p.how.end_timeout_ms = 100;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), 10);
	ck_assert_uint_eq(p.produced.died + p.produced.timed_out, 0);
	ck_assert_str_eq((char *)p.lines.data,
	    "0: did not end after the last request, and was killed\n");
	producing_free(&p);
}
END_TEST

/* ---- retries ---------------------------------------------------------------------------- */

START_TEST(another_one_can)
{
	static const struct {
		const char *mode;
		unsigned died, attempts;
	} rows[] = { { "crash-once", 1, 2 }, { "few-once", 0, 1 } };
	struct producing p;

	producing_init(&p, 60, 20, "%s %s/mark", rows[_i].mode, run_scratch());
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), 60);
	producing_check_values(&p);
	ck_assert_uint_eq(p.produced.started, 2);
	ck_assert_uint_eq(p.produced.died, rows[_i].died);
	ck_assert_uint_eq(p.attempts[0], rows[_i].attempts);
	ck_assert_uint_eq(p.attempts[19], 2);
	producing_free(&p);
}
END_TEST

/* One that ends after each answer has done nothing wrong. */
START_TEST(ends_after_each)
{
	struct producing p;

	producing_init(&p, 30, 3, "last");
	p.how.ahead = (unsigned)_i;
	p.how.retries = 0;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), 30);
	producing_check_values(&p);
	ck_assert_uint_eq(p.produced.started, 10);
	producing_free(&p);
}
END_TEST

/* Only what it worked on is held against it. */
START_TEST(others_are_not_blamed)
{
	struct producing p;

	producing_init(&p, 40, 4, "crash-on item-0013");
	p.how.ahead = 5;
	p.how.retries = 2;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_FAILED), 4);
	for (size_t i = 12; i < 16; i++) {
		ck_assert_int_eq(p.outcome[i], LC__ITEM_FAILED);
		ck_assert_uint_eq(p.attempts[i], 3);
	}
	ck_assert_uint_eq(p.produced.died, 3);
	producing_free(&p);
}
END_TEST

/* In halves until it stands alone. Its halves fail more often in a row than is allowed
 * for batches, but never two that make one. */
START_TEST(isolated)
{
	struct producing p;

	producing_init(&p, 1000, 500, "crash-on item-0740");
	p.how.isolate = true;
	p.how.children = 2;
	p.how.retries = 0;
	p.how.give_up = 2;
	producing_run(&p);
	ck_assert_msg(p.status == LC_OK, "%s", p.error);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_FAILED), 1);
	ck_assert_int_eq(p.outcome[740], LC__ITEM_FAILED);
	ck_assert_uint_eq(p.produced.died, 10);
	producing_check_values(&p);
	producing_free(&p);
}
END_TEST

/* retries, isolate; requests until it is enough */
static const struct {
	const char *mode;
	unsigned retries, isolate, give_up, died;
} hopeless[] = {
	{ "crash", 1, 0, 3, 6 },
	{ "crash", 0, 0, 1, 1 },
	{ "crash", 2, 1, 4, 10 },
	{ "few", 0, 0, 5, 0 },
};

START_TEST(gives_up)
{
	struct producing p;

	producing_init(&p, 1000, 10, "%s", hopeless[_i].mode);
	p.how.retries = hopeless[_i].retries;
	p.how.isolate = hopeless[_i].isolate != 0;
	p.how.give_up = hopeless[_i].give_up;
	if (strcmp(hopeless[_i].mode, "few") == 0) {
		/* Half of the items are done each time: there is no reason to. */
		producing_run(&p);
		ck_assert_int_eq(p.status, LC_OK);
	} else {
		producing_run(&p);
		ck_assert_int_eq(p.status, LC_FAILED);
		ck_assert_uint_eq(p.produced.died, hopeless[_i].died);
		ck_assert_msg(strstr(p.error, " batches in a row gave no value, the last "
		    "one because: producer 'exec ") != NULL, "%s", p.error);
		ck_assert_ptr_nonnull(strstr(p.error, "' ended with status 4"));
	}
	producing_free(&p);
}
END_TEST

START_TEST(refused_without_end)
{
	struct producing p;

	producing_init(&p, 100, 1, "good");
	p.twins = true;
	p.refused = "item-0000";
	p.how.give_up = 2;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_FAILED);
	ck_assert_str_eq(p.error, "2 batches in a row gave no value, the last one because: "
	    "NaN at [1]");
	producing_free(&p);
}
END_TEST

/* ---- time --------------------------------------------------------------------------------- */

/* Requests that nobody reads do not hold us up. */
START_TEST(stops_reading)
{
	struct producing p;

	producing_init(&p, 2, 1, "hang-early");
	p.payload = 4 << 20;
	p.how.retries = 0;
	p.how.start_timeout_ms = 100;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_FAILED), 2);
	ck_assert_uint_eq(p.produced.timed_out, 2);
	producing_free(&p);
}
END_TEST

START_TEST(closes_its_input)
{
	struct producing p;

	producing_init(&p, 1, 1, "closes-stdin");
	p.payload = 4 << 20;
	p.how.retries = 0;
	p.how.end_timeout_ms = 100;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_msg(strstr(p.why[0], "' closed its standard input") != NULL, "%s", p.why[0]);
	producing_free(&p);
}
END_TEST

/* An answer of more than a pipe holds, before a request of more than one was read. */
START_TEST(answers_before_it_has_read)
{
	struct producing p;
	size_t size;
	const void *bytes;

	producing_init(&p, 1, 1, "early");
	p.payload = 6 << 20;
	p.name = "x";
	producing_run(&p);
	ck_assert_msg(p.status == LC_OK, "%s", p.error);
	ck_assert_int_eq(p.outcome[0], LC__ITEM_DONE);
	ck_assert_int_eq(lc_value_as_bytes(p.value[0], &bytes, &size), LC_OK);
	ck_assert_uint_eq(size, 3 << 20);
	producing_free(&p);
}
END_TEST

/* What a caller takes for storing is not held against producers that wait for us. */
START_TEST(slow_callers)
{
	struct producing p;

	producing_init(&p, 6, 1, "good");
	p.payload = 3 << 20;
	p.store_ms = 2500;
	p.how.timeout_ms = p.how.start_timeout_ms = 2000;
	p.how.ahead = 2;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), 6);
	ck_assert_uint_eq(p.produced.timed_out, 0);
	producing_free(&p);
}
END_TEST

/* ---- stopping ------------------------------------------------------------------------------- */

START_TEST(stopped_by_idle)
{
	struct producing p;

	producing_init(&p, 100, 5, "hang");
	p.how.children = 4;
	p.idle_stops = 3;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_CANCELLED);
	ck_assert_str_eq(p.error, "stopped");
	ck_assert_uint_eq(p.idled, 3);
	ck_assert_uint_eq(p.given_back, 0);
	ck_assert_uint_eq(p.produced.started, 4);
	producing_free(&p);
}
END_TEST

START_TEST(stopped_by_next)
{
	struct producing p;

	producing_init(&p, 100, 5, "good");
	p.next_fails = LC_CORRUPT;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_CORRUPT);
	ck_assert_str_eq(p.error, "no next one");
	producing_free(&p);
}
END_TEST

START_TEST(held_up)
{
	struct producing p;

	producing_init(&p, 100, 5, "good");
	p.hold = 2;
	p.how.children = 3;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), 100);
	ck_assert_uint_le(p.produced.started, 2);
	producing_free(&p);
}
END_TEST

START_TEST(nobody_to_run)
{
	struct producing p;

	producing_init(&p, 1, 1, "good");
	p.how.children = 0;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_INVALID);
	producing_free(&p);
}
END_TEST

START_TEST(twins_are_both_done)
{
	struct producing p;

	producing_init(&p, 40, 8, "reversed");
	p.twins = true;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	producing_check_values(&p);
	producing_free(&p);
}
END_TEST

/* ---- processes ------------------------------------------------------------------------------- */

static const char *const surroundings[] = {
	"1 demo 0 16777216 group 1, signals 0000, death 9, others 0",
	"1 demo 1 16777216 group 1, signals 0000, death 9, others 0",
};

/* Whatever the process around us is like. */
START_TEST(surroundings_are_clean)
{
	struct producing p;
	sigset_t some;

	sigemptyset(&some);
	sigaddset(&some, SIGINT);
	sigaddset(&some, SIGUSR1);
	sigprocmask(SIG_BLOCK, &some, NULL);
	signal(SIGPIPE, SIG_IGN);
	setenv("CACHEX_WORKER", "many", 1);
	for (int i = 0; i < 20; i++)
		ck_assert_int_ge(dup2(2, 50 + 7 * i), 0);
	producing_init(&p, 10, 5, "surroundings");
	p.how.children = 2;
	p.how.ahead = 0;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	for (size_t i = 0; i < 10; i++) {
		const char *text;
		ck_assert_int_eq(lc_value_as_str(p.value[i], &text, NULL), LC_OK);
		ck_assert_str_eq(text, surroundings[strncmp(text, surroundings[1], 8) == 0]);
	}
	ck_assert_str_eq(getenv("CACHEX_WORKER"), "many");
	producing_free(&p);
}
END_TEST

START_TEST(no_descriptors)
{
	struct producing p;
	bool fine;
	int saved = fcntl(1, F_DUPFD_CLOEXEC, 100);

	producing_init(&p, 100, 10, "noisy");
	p.how.children = 2;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	producing_run(&p);
	fine = fcntl(0, F_GETFD) == -1 && fcntl(1, F_GETFD) == -1 && fcntl(2, F_GETFD) == -1;
	for (int fd = 0; fd < 3; fd++)
		dup2(saved, fd);
	ck_assert(fine);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), 100);
	producing_check_values(&p);
	producing_free(&p);
}
END_TEST

/* A producer that ends before it has read does not end us; signals are as they were. */
START_TEST(broken_pipe)
{
	struct producing p;
	sigset_t now;

	signal(SIGPIPE, _i == 1 ? SIG_IGN : SIG_DFL);
	if (_i == 2) {
		sigemptyset(&now);
		sigaddset(&now, SIGPIPE);
		sigprocmask(SIG_BLOCK, &now, NULL);
		raise(SIGPIPE);
	}
	producing_init(&p, 4, 1, "exits");
	p.payload = 4 << 20;
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_FAILED), 4);
	sigpending(&now);
	ck_assert_int_eq(sigismember(&now, SIGPIPE), _i == 2);
	sigprocmask(SIG_BLOCK, NULL, &now);
	ck_assert_int_eq(sigismember(&now, SIGPIPE), _i == 2);
	producing_free(&p);
}
END_TEST

/* The process that a producer has left behind. */
static pid_t
left_behind(const char *file)
{
	char text[20] = "";
	const int fd = open(file, O_RDONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	return (pid_t)atoi(text);
}

/* Pipes that somebody else still holds are nothing to wait for. */
START_TEST(daemons)
{
	static const char *const modes[] = { "leaves-daemon", "dies-behind-daemon" };
	struct producing p;
	char file[4200];

	snprintf(file, sizeof(file), "%s/daemon", run_scratch());
	producing_init(&p, 2, 2, "%s %s", modes[_i], file);
	p.how.retries = 0;
	producing_run(&p);
	ck_assert_int_eq(kill(left_behind(file), SIGKILL), 0);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_FAILED), _i == 0 ? 0 : 2);
	ck_assert_uint_eq(p.produced.died, (unsigned)_i);
	producing_free(&p);
}
END_TEST

/* Wait until no process has a file locked any more. */
static void
wait_for_lock(const char *file)
{
	const int fd = open(file, O_RDWR);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	close(fd);
}

/* The processes of a producer's group end with it. */
START_TEST(workers_of_producers)
{
	struct producing p;
	char file[4200];

	snprintf(file, sizeof(file), "%s/worker", run_scratch());
	producing_init(&p, 10, 2, "leaves-worker %s", file);
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	producing_check_values(&p);
	wait_for_lock(file);
	producing_free(&p);
}
END_TEST

/* Until a file has something in it. */
static void
wait_for_text(const char *file)
{
	struct stat status;

	while (stat(file, &status) != 0 || status.st_size == 0)
		usleep(1000);
}

/* When we are killed, a producer that would never see the end of its input is, too: as
 * the only process of its group, and as one that a shell waits for. */
START_TEST(killed_with_us)
{
	char file[4200], command[8600];
	struct producing p;
	pid_t pid;

	snprintf(file, sizeof(file), "%s/lock", run_scratch());
	snprintf(command, sizeof(command), "%s%s hang-locked %s%s", _i == 0 ? "exec " : "",
	    producing_program("t/support/bad_producer"), file, _i == 0 ? "" : "; exit 1");
	producing_init(&p, 10, 2, "good");
	p.how.command = command;
	pid = fork();
	if (pid == 0) {
		producing_run(&p);
		_exit(0);
	}
	wait_for_text(file);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	wait_for_lock(file);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------ */

/* Sixteen megabytes are claimed, a few bytes come: no more than a piece is allocated. */
START_TEST(claimed_memory)
{
	struct producing p;
	struct lc__produced count = { 0 };
	struct lc__child child = { .count = &count };

	producing_init(&p, 0, 1, "promises");
	child.how = &p.how;
	ck_assert_int_eq(lc__child_start(&child), LC_OK);
	while (child.frame.size < 10) {
		const enum lc__received got = lc__child_receive(&child);
		ck_assert_int_eq(got, LC__NOTHING);
		usleep(100);
	}
	ck_assert_uint_eq(child.frame_size, 1 << 24);
	ck_assert_uint_le(child.frame.room, 1 << 16);
	lc__child_free(&child);
}
END_TEST

/* ---- the examples -------------------------------------------------------------------------------- */

START_TEST(example_in_c)
{
	struct producing p;
	lc_tensor tensor;

	producing_init(&p, 100, 30, "good");
	p.payload = 20;
	p.how.command = producing_program("examples/producer");
	producing_run(&p);
	ck_assert_msg(p.status == LC_OK, "%s", p.error);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_DONE), 100);
	for (size_t i = 0; i < 100; i++) {
		ck_assert_int_eq(lc_value_as_tensor(p.value[i], &tensor), LC_OK);
		ck_assert_int_eq(tensor.dtype, LC_U16);
		ck_assert_uint_eq(tensor.nbytes, 42);
		for (size_t k = 0; k <= 20; k++)
			ck_assert_uint_eq(lc__get16((const char *)tensor.data + 2 * k),
			    k < 20 ? 'a' + i % 26 : 256);
	}
	producing_free(&p);
}
END_TEST

START_TEST(example_without_text)
{
	struct producing p;

	producing_init(&p, 10, 5, "good");
	p.how.command = producing_program("examples/producer");
	producing_run(&p);
	ck_assert_int_eq(p.status, LC_OK);
	ck_assert_uint_eq(producing_count(&p, LC__ITEM_FAILED), 10);
	ck_assert_str_eq(p.why[9], "the item has no text");
	producing_free(&p);
}
END_TEST

static void
add_retries(Suite *suite)
{
	TCase *tc = tcase_create("retries");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, another_one_can, 0, 2);
	tcase_add_loop_test(tc, ends_after_each, 0, 3);
	tcase_add_test(tc, others_are_not_blamed);
	tcase_add_test(tc, isolated);
	tcase_add_loop_test(tc, gives_up, 0, sizeof(hopeless) / sizeof(hopeless[0]));
	tcase_add_test(tc, refused_without_end);
	tcase_add_test(tc, stops_reading);
	tcase_add_test(tc, closes_its_input);
	tcase_add_test(tc, answers_before_it_has_read);
	tcase_add_test(tc, slow_callers);
	suite_add_tcase(suite, tc);
}

static void
add_processes(Suite *suite)
{
	TCase *tc = tcase_create("processes");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, stopped_by_idle);
	tcase_add_test(tc, stopped_by_next);
	tcase_add_test(tc, held_up);
	tcase_add_test(tc, nobody_to_run);
	tcase_add_test(tc, twins_are_both_done);
	tcase_add_test(tc, surroundings_are_clean);
	tcase_add_test(tc, no_descriptors);
	tcase_add_loop_test(tc, broken_pipe, 0, 3);
	tcase_add_loop_test(tc, daemons, 0, 2);
	tcase_add_test(tc, workers_of_producers);
	tcase_add_loop_test(tc, killed_with_us, 0, 2);
	tcase_add_test(tc, claimed_memory);
	tcase_add_test(tc, example_in_c);
	tcase_add_test(tc, example_without_text);
	suite_add_tcase(suite, tc);
}

int
main(void)
{
	Suite *suite = suite_create("produce");
	TCase *tc = tcase_create("produce");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, answers, 0, sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(tc, misbehaves, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tc, no_command);
	tcase_add_test(tc, no_command_later);
	tcase_add_test(tc, standard_error);
	tcase_add_test(tc, status_at_the_end);
	tcase_add_test(tc, ignores_the_end);
	suite_add_tcase(suite, tc);
	add_retries(suite);
	add_processes(suite);
	return run_suite(suite);
}
