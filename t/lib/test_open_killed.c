/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process dies while LMDB makes lock.mdb for it, or has its lock for another reason,
 * and another one waits for it: LMDB would let that one in with a table that nobody has
 * filled, whose writers begin again with transaction 1.
 */
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "sample.h"

#define KEYS 200

/* At its next look at data.mdb after it has got the lock: the table is made then, and
 * does not have the number of the last transaction. */
static bool stops, has_lock;

/* Before it opens lock.mdb within LMDB: it has just waited for those that die there. */
static bool stops_before_lmdb;

/* Before it makes lock.mdb, and whenever it has got a lock alone on it. */
static bool stops_at_lock_file;

static int
call_fcntl(int fd, int command, void *argument)
{
	const int rc = (int)syscall(SYS_fcntl, fd, command, argument);

	if (stops && command == F_SETLK && rc == 0)
		has_lock |= ((const struct flock *)argument)->l_type == F_WRLCK;
	if (stops_at_lock_file && command == F_SETLK && rc == 0 &&
	    ((const struct flock *)argument)->l_type == F_WRLCK)
		raise(SIGSTOP);
	if (stops_before_lmdb && command == F_SETLKW) {
		stops_before_lmdb = false;
		raise(SIGSTOP);
	}
	return rc;
}

static ssize_t
call_pread(int fd, void *data, size_t size, off_t offset)
{
	if (has_lock)
		raise(SIGSTOP);
	return syscall(SYS_pread64, fd, data, size, offset);
}

/* These take the places of those of the C library. */
#pragma GCC visibility push(default)

int
fcntl64(int fd, int command, ...)
{
	va_list ap;
	void *argument;

	va_start(ap, command);
	argument = va_arg(ap, void *);
	va_end(ap);
	return call_fcntl(fd, command, argument);
}

int
fcntl(int fd, int command, ...)
{
	va_list ap;
	void *argument;

	va_start(ap, command);
	argument = va_arg(ap, void *);
	va_end(ap);
	return call_fcntl(fd, command, argument);
}

int
flock(int fd, int operation)
{
	/* That of a file that is being made. */
	if (stops_at_lock_file && (operation & LOCK_NB) != 0)
		raise(SIGSTOP);
	return (int)syscall(SYS_flock, fd, operation);
}

ssize_t
pread(int fd, void *data, size_t size, off_t offset)
{
	return call_pread(fd, data, size, offset);
}

ssize_t
pread64(int fd, void *data, size_t size, off64_t offset)
{
	return call_pread(fd, data, size, offset);
}

#pragma GCC visibility pop

/* ---- two processes ------------------------------------------------------------------ */

static void
put_keys(const char *root, unsigned first, unsigned n)
{
	lc_cache *cache = sample_open(root, "m", NULL);
	char id[SAMPLE_ID_ROOM];

	for (unsigned i = first; i < first + n; i++) {
		need_ok(sample_put(cache, id, sample_id(id, i), 1, SAMPLE_SMALL));
		if (i % 10 == 9)
			need_ok(lc_flush(cache));
	}
	need_ok(lc_close(cache));
}

static void
open_and_stop(void *ctx)
{
	stops = true;
	put_keys(ctx, 0, 1);
}

static void
put_more(void *ctx)
{
	put_keys(ctx, KEYS / 2, KEYS / 2);
}

/* Does a process wait for a lock of a file? */
static bool
waits(pid_t pid)
{
	FILE *file = fopen("/proc/locks", "r");
	char line[400], number[30];
	bool found = false;

	snprintf(number, sizeof(number), " %ld ", (long)pid);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		found |= strstr(line, "->") != NULL && strstr(line, number) != NULL;
	if (file != NULL)
		fclose(file);
	return found;
}

START_TEST(the_next_one_begins_anew)
{
	const char *root = run_scratch();
	char id[SAMPLE_ID_ROOM];
	lc_verify_result result;
	pid_t first, second;
	lc_cache *cache;
	lc_view view;
	int status;

	put_keys(root, 0, KEYS / 2);
	first = child_start(open_and_stop, (void *)(uintptr_t)root);
	ck_assert_int_eq(waitpid(first, &status, WUNTRACED), first);
	ck_assert(WIFSTOPPED(status));
	second = child_start(put_more, (void *)(uintptr_t)root);
	/* Where locks cannot be seen, this tests less. */
	for (unsigned i = 0; i < 200 && !waits(second); i++)
		usleep(10000);
	ck_assert_int_eq(kill(first, SIGKILL), 0);
	ck_assert_int_eq(child_wait(first), 128 + SIGKILL);
	ck_assert_int_eq(child_wait(second), 0);

	cache = sample_open(root, "m", NULL);
	assert_ok(lc_verify(cache, NULL, &result));
	ck_assert_uint_eq(result.live, KEYS);
	for (unsigned i = 0; i < KEYS; i++) {
		const size_t size = sample_id(id, i);

		assert_ok(lc_get(cache, id, size, &view));
		ck_assert(sample_is(&view.tensor, id, size, 1, SAMPLE_SMALL));
		lc_view_release(&view);
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- a file whose making was cut off --------------------------------------------------- */

static void
look_and_put(void *ctx)
{
	stops_at_lock_file = true;
	put_keys(ctx, 0, KEYS / 2);
}

static void
open_and_put(void *ctx)
{
	stops_before_lmdb = true;
	put_keys(ctx, KEYS / 2, KEYS / 2);
}

/* Let a stopped process go on until it stops again, ends or waits for a lock. True, and
 * its status, if it has ended. */
static bool
go_on(pid_t pid, int *status)
{
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	for (unsigned i = 0; i < 200 && !waits(pid); i++) {
		if (waitpid(pid, status, WNOHANG | WUNTRACED) == pid)
			return !WIFSTOPPED(*status);
		usleep(10000);
	}
	return false;
}

/* The first one has seen that the file holds nothing; another one empties it, as here,
 * and the second one begins to open it; then the first one goes on. */
START_TEST(emptying_keeps_off_openers)
{
	const char *root = run_scratch();
	int status_of_first = 0, status_of_second = 0;
	bool first_ended, second_ended;
	lc_verify_result result;
	char path[4200];
	pid_t first, second;
	lc_cache *cache;
	int fd;

	snprintf(path, sizeof(path), "%s/m", root);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(ftruncate(fd, 2 * sysconf(_SC_PAGESIZE)), 0);
	first = child_start(look_and_put, (void *)(uintptr_t)root);
	ck_assert_int_eq(waitpid(first, &status_of_first, WUNTRACED), first);
	ck_assert(WIFSTOPPED(status_of_first));
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	close(fd);
	second = child_start(open_and_put, (void *)(uintptr_t)root);
	ck_assert_int_eq(waitpid(second, &status_of_second, WUNTRACED), second);
	ck_assert(WIFSTOPPED(status_of_second));

	first_ended = go_on(first, &status_of_first);
	second_ended = go_on(second, &status_of_second);
	while (!first_ended)
		first_ended = go_on(first, &status_of_first);
	if (!second_ended)
		ck_assert_int_eq(waitpid(second, &status_of_second, 0), second);
	ck_assert_int_eq(status_of_first, 0);
	ck_assert_int_eq(status_of_second, 0);
	cache = sample_open(root, "m", NULL);
	assert_ok(lc_verify(cache, NULL, &result));
	ck_assert_uint_eq(result.live, KEYS);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("open_killed");
	TCase *tcase = tcase_create("open_killed");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, the_next_one_begins_anew);
	tcase_add_test(tcase, emptying_keeps_off_openers);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
