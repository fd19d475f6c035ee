/* SPDX-License-Identifier: BSD-2-Clause */
/* Filling at its edges: what users give to a shell, and what producers do about it. */
#include "run.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fill/fill.h"
#include "fill/spawn.h"
#include "need.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* ---- commands ------------------------------------------------------------------- */

static const struct {
	const char *command;
	const char *script; /* NULL: the same */
} commands[] = {
	{ "./encode", "exec ./encode" },
	{ "python3 encode.py --fast", "exec python3 encode.py --fast" },
	{ " \tpython3\tx", " \texec python3\tx" },
	{ "GPU=1 NAME='a b' python3 x", "GPU=1 NAME='a b' exec python3 x" },
	{ "A=1", NULL },
	{ "1A=1 x", "exec 1A=1 x" },
	{ "prog 2>&1 <in >out", "exec prog 2>&1 <in >out" },
	{ "prog & other", NULL },
	{ "prog 2>log&", NULL },
	{ "cd there && prog", NULL },
	{ "prog; other", NULL },
	{ "prog\nother", NULL },
	{ "prog | tee log", NULL },
	{ "(prog)", NULL },
	{ "prog `other`", NULL },
	{ "prog $(other)", NULL },
	{ "prog \"$(other)\"", "exec prog \"$(other)\"" },
	{ "prog 'a;b' \"c&d\\\";e\" f\\;g", "exec prog 'a;b' \"c&d\\\";e\" f\\;g" },
	{ "prog 'a;b", NULL },
	{ "prog \"a\\\"", NULL },
	{ "prog a\\", NULL },
	{ "'/my dir/prog' x", "exec '/my dir/prog' x" },
	{ "$PROGRAM x", "exec $PROGRAM x" },
	{ "exec prog", NULL },
	{ "exit 3", NULL },
	{ "! prog", NULL },
	{ ". ./setup", NULL },
	{ "cdr x", "exec cdr x" },
	{ ">out prog", NULL },
	{ "-x", NULL },
	{ "# nothing", NULL },
	{ "", NULL },
	{ "  ", NULL },
};

START_TEST(single_commands_take_the_place_of_the_shell)
{
	const char *wanted = commands[_i].script != NULL ? commands[_i].script :
	    commands[_i].command;
	struct lc__buf script = { 0 };

	lc__shell_script(commands[_i].command, &script);
	ck_assert(!script.failed);
	ck_assert_str_eq((char *)script.data, wanted);
	ck_assert_uint_eq(script.size, strlen(wanted) + 1);
	lc__buf_free(&script);
}
END_TEST

/* What cat(1) gives back when it runs. */
static void
echo(const struct lc__spawned *process)
{
	struct pollfd out = { .fd = process->out, .events = POLLIN };
	char byte;

	ck_assert_int_eq(write(process->in, "x", 1), 1);
	ck_assert_int_eq(poll(&out, 1, -1), 1);
	ck_assert_int_eq(read(process->out, &byte, 1), 1);
}

/* So it is killed with us, and its end and that of its pipes are seen. */
START_TEST(the_process_is_the_producer)
{
	char path_of[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	char *const environment[] = { path_of, NULL };
	const struct lc__command command = {
		.text = "NAME='a b' cat -u", .environment = environment
	};
	struct lc__spawned process;
	char path[64], name[64] = "";
	FILE *comm;

	assert_ok(lc__spawn(&command, &process));
	echo(&process);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)process.pid);
	comm = fopen(path, "r");
	ck_assert_ptr_nonnull(comm);
	ck_assert_ptr_nonnull(fgets(name, sizeof(name), comm));
	fclose(comm);
	kill(-process.pid, SIGKILL);
	ck_assert_int_eq(waitpid(process.pid, NULL, 0), process.pid);
	close(process.in);
	close(process.out);
	close(process.err);
	ck_assert_str_eq(name, "cat\n");
}
END_TEST

/* ---- what no commit holds ------------------------------------------------------- */

START_TEST(the_last_puts_are_those_that_no_commit_holds)
{
	struct lc__fill_uncommitted afloat = { 0 };
	uint64_t pending = 0, bytes;

	/* Commits come after 5,000 puts, and leave 3 of them. */
	for (uint64_t i = 0; i < 100000; i++) {
		pending = pending == 5000 ? 3 : pending + 1;
		assert_ok(lc__fill_uncommitted_add(&afloat, i, pending));
	}
	ck_assert_uint_lt(afloat.room, 20000);
	ck_assert_uint_eq(lc__fill_uncommitted_count(&afloat, pending, &bytes), pending);
	ck_assert_uint_eq(bytes, pending * (200000 - pending - 1) / 2);
	ck_assert_uint_eq(lc__fill_uncommitted_count(&afloat, 2, &bytes), 2);
	ck_assert_uint_eq(bytes, 99998 + 99999);
	ck_assert_uint_eq(lc__fill_uncommitted_count(&afloat, 0, &bytes), 0);
	ck_assert_uint_eq(bytes, 0);
	lc__fill_uncommitted_free(&afloat);
	/* What somebody else put before counts among what is pending. */
	assert_ok(lc__fill_uncommitted_add(&afloat, 7, 10));
	ck_assert_uint_eq(lc__fill_uncommitted_count(&afloat, 10, &bytes), 1);
	ck_assert_uint_eq(bytes, 7);
	lc__fill_uncommitted_free(&afloat);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fill_edges");
	TCase *tcase = tcase_create("fill_edges");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, single_commands_take_the_place_of_the_shell, 0,
	    ROWS(commands));
	tcase_add_test(tcase, the_process_is_the_producer);
	tcase_add_test(tcase, the_last_puts_are_those_that_no_commit_holds);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
