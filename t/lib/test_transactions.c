/* SPDX-License-Identifier: BSD-2-Clause */
/* Transactions of several processes and threads: who writes next, what a reader sees,
 * what a dead one holds up. */
#include "run.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fileio.h"
#include "env/env.h"
#include "need.h"
#include "pages/page_layout.h"

static lc_status
add_no_rows(struct lc__txn *txn)
{
	(void)txn;
	return LC_OK;
}

static struct lc__env *
open_env(const char *root)
{
	char *dir = lc__path_join(root, "m");
	struct lc__env *env;
	lc_options options;

	lc_options_init(&options);
	need_ok(lc__env_open(dir, &options, add_no_rows, &env));
	free(dir);
	return env;
}

static void *
share(size_t size)
{
	void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	    -1, 0);

	ck_assert(shared != MAP_FAILED);
	return shared;
}

static lc_status
begin_read(struct lc__env *env, struct lc__txn **out)
{
	lc_status status;

	lc__env_lock(env);
	status = lc__env_enter_locked(env);
	lc__env_unlock(env);
	return status == LC_OK ? lc__txn_begin_read(env, out) : status;
}

/* ---- writers that wait ----------------------------------------------------------- */

/* What a writer and one that waits for it share. */
struct turns {
	const char *root;
	atomic_bool wrote; /* the one that waited has written */
};

static void
write_nothing(struct turns *turns, struct lc__env *env)
{
	struct lc__txn *txn;

	need_ok(lc__txn_begin_write(env, LC_DURABLE_FULL, &txn));
	turns->wrote = true;
	lc__txn_abort(txn);
}

static void
write_in_a_process(void *ctx)
{
	struct turns *turns = ctx;
	struct lc__env *env = open_env(turns->root);

	write_nothing(turns, env);
	lc__env_close(env);
}

/* The one that waits has the next turn: it writes before the one that asks again. */
static void
end_and_write_again(struct turns *turns, struct lc__env *env, struct lc__txn *first)
{
	struct lc__txn *second;

	lc__txn_abort(first);
	assert_ok(lc__txn_begin_write(env, LC_DURABLE_FULL, &second));
	ck_assert(turns->wrote);
	lc__txn_abort(second);
}

/* Does another process wait with the lock that says so? */
static bool
is_awaited(const char *root)
{
	struct flock first_byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	char *path = lc__path_join(root, "m/data.mdb");
	const int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETLK, &first_byte), 0);
	close(fd);
	free(path);
	return first_byte.l_type != F_UNLCK;
}

START_TEST(processes_write_in_turn)
{
	struct turns *turns = share(sizeof(*turns));
	struct lc__env *env;
	struct lc__txn *txn;
	pid_t pid;

	turns->root = run_scratch();
	env = open_env(turns->root);
	assert_ok(lc__txn_begin_write(env, LC_DURABLE_FULL, &txn));
	pid = child_start(write_in_a_process, turns);
	while (!is_awaited(turns->root))
		usleep(1000);
	end_and_write_again(turns, env, txn);
	ck_assert_int_eq(child_wait(pid), 0);
	lc__env_close(env);
}
END_TEST

struct waiting_thread {
	struct turns turns;
	struct lc__env *env;
	atomic_long number; /* of the thread; 0 before it begins */
};

static void *
write_in_a_thread(void *ctx)
{
	struct waiting_thread *waiting = ctx;

	waiting->number = syscall(SYS_gettid);
	write_nothing(&waiting->turns, waiting->env);
	return NULL;
}

/* Does a thread of this process wait for a mutex? Yes where the system does not say. */
static bool
waits_for_mutex(long thread)
{
	long number = SYS_futex;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/syscall", thread);
	file = fopen(path, "r");
	if (file == NULL)
		return true;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1; /* "running" */
	fclose(file);
	return number == SYS_futex;
}

START_TEST(threads_write_in_turn)
{
	struct waiting_thread waiting = { .env = open_env(run_scratch()) };
	struct lc__txn *txn;
	pthread_t thread;

	assert_ok(lc__txn_begin_write(waiting.env, LC_DURABLE_FULL, &txn));
	ck_assert_int_eq(pthread_create(&thread, NULL, write_in_a_thread, &waiting), 0);
	while (waiting.number == 0 || !waits_for_mutex(waiting.number))
		usleep(1000);
	end_and_write_again(&waiting.turns, waiting.env, txn);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	lc__env_close(waiting.env);
}
END_TEST

/* ---- what a reader sees ------------------------------------------------------------ */

#define ROW 1 /* its value is the number of the commit that wrote it */
#define COMMITS 3000
#define READERS 6 /* more than processors: they are interrupted anywhere */

/* A module that a process writes to until it has done so often enough. */
struct watched {
	const char *root;
	struct lc__env *env; /* of the readers */
	atomic_bool written;
	atomic_ulong wrong;  /* reads of another commit than the transaction says */
};

static void
write_numbers(void *ctx)
{
	struct watched *w = ctx;
	struct lc__env *env = open_env(w->root);
	unsigned char number[8];

	for (unsigned i = 0; i < COMMITS; i++) {
		struct lc__txn *txn;

		need_ok(lc__txn_begin_write(env, LC_DURABLE_RELAXED, &txn));
		lc__set64(number, lc__txn_id(txn));
		need_ok(lc__txn_put(txn, LC__CHUNK, ROW, number, sizeof(number)));
		need_ok(lc__txn_commit(txn));
	}
	w->written = true;
	lc__env_close(env);
}

static void *
read_numbers(void *ctx)
{
	struct watched *w = ctx;
	struct lc__txn *txn;

	need_ok(begin_read(w->env, &txn));
	while (!w->written) {
		struct lc__slice row;

		lc__env_lock(w->env);
		lc__txn_reset_locked(txn);
		need_ok(lc__env_enter_locked(w->env));
		lc__env_unlock(w->env);
		need_ok(lc__txn_renew(txn));
		if (lc__txn_get(txn, LC__CHUNK, ROW, &row) == LC_OK &&
		    lc__get64(row.data) != lc__txn_id(txn))
			w->wrong++;
	}
	lc__txn_abort(txn);
	return NULL;
}

START_TEST(readers_see_the_commit_that_they_say)
{
	struct watched *w = share(sizeof(*w));
	pthread_t threads[READERS];
	pid_t writer;

	w->root = run_scratch();
	lc__env_close(open_env(w->root));
	writer = child_start(write_numbers, w);
	w->env = open_env(w->root);
	for (unsigned i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_numbers, w), 0);
	ck_assert_int_eq(child_wait(writer), 0);
	for (unsigned i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(w->wrong, 0);
	lc__env_close(w->env);
}
END_TEST

/* ---- readers that died --------------------------------------------------------------- */

static void
die_in_a_snapshot(void *root)
{
	struct lc__txn *txn;

	need_ok(begin_read(open_env(root), &txn));
	raise(SIGKILL);
}

/* The pages that it held are used again, without a minute of growth. */
START_TEST(dead_readers_do_not_let_the_file_grow)
{
	const size_t size = 256 << 10;
	char *root = (char *)(uintptr_t)run_scratch(), *value = calloc(1, size);
	struct lc__env *env = open_env(root);
	struct lc__env_stats stats;
	struct lc__txn *txn;

	for (unsigned i = 0; i < 300; i++) {
		if (i == 1)
			ck_assert_int_eq(child_run(die_in_a_snapshot, root), 128 + SIGKILL);
		assert_ok(lc__txn_begin_write(env, LC_DURABLE_RELAXED, &txn));
		assert_ok(lc__txn_put(txn, LC__CHUNK, ROW, value, size));
		assert_ok(lc__txn_commit(txn));
	}
	assert_ok(begin_read(env, &txn));
	assert_ok(lc__env_stat(env, &stats));
	lc__txn_abort(txn);
	ck_assert_uint_lt(stats.file_bytes, 24 << 20);
	ck_assert_uint_le(stats.readers, 2);
	lc__env_close(env);
	free(value);
}
END_TEST

/* ---- copies ------------------------------------------------------------------------- */

static uint64_t
put_number(struct lc__env *env, uint64_t number)
{
	unsigned char row[8];
	struct lc__txn *txn;

	lc__set64(row, number);
	need_ok(lc__txn_begin_write(env, LC_DURABLE_FULL, &txn));
	need_ok(lc__txn_put(txn, LC__LEDGER, ROW, row, sizeof(row)));
	need_ok(lc__txn_commit(txn));
	return lc__env_last_txn(env);
}

/* It has the newest commit in both meta pages, and nothing of the one in progress. */
START_TEST(copies_wait_for_no_writer)
{
	char *root = (char *)(uintptr_t)run_scratch(), *to = lc__path_join(root, "to");
	char *dir = lc__path_join(to, "m"), *data = lc__path_join(dir, "data.mdb");
	struct lc__env *env = open_env(root), *copy;
	const uint64_t newest = (put_number(env, 1), put_number(env, 2));
	const size_t page = lc__env_page_size(env);
	unsigned char metas[2 * 65536];
	struct lc__slice row = { NULL, 0 };
	struct lc__txn *writing, *txn;
	int fd;

	assert_ok(lc__make_dirs(dir));
	fd = open(data, O_RDWR | O_CREAT | O_EXCL, 0666);
	ck_assert_int_ne(fd, -1);
	assert_ok(lc__txn_begin_write(env, LC_DURABLE_FULL, &writing));
	assert_ok(lc__txn_put(writing, LC__LEDGER, ROW + 1, "new", 3));
	assert_ok(lc__env_copy(env, fd, data, false));
	lc__txn_abort(writing);
	lc__env_close(env);

	ck_assert_int_eq(pread(fd, metas, 2 * page, 0), (ssize_t)(2 * page));
	for (unsigned i = 0; i < 2; i++)
		ck_assert_uint_eq(lc__get64(metas + i * page + META_TXNID),
		    newest - (newest % 2 != i));
	ck_assert_mem_eq(metas + META_MAGIC, metas + page + META_MAGIC,
	    META_TXNID - META_MAGIC);
	close(fd);
	copy = open_env(to);
	assert_ok(begin_read(copy, &txn));
	ck_assert_uint_eq(lc__txn_id(txn), newest);
	assert_ok(lc__txn_get(txn, LC__LEDGER, ROW, &row));
	ck_assert_uint_eq(lc__get64(row.data), 2);
	assert_status(lc__txn_get(txn, LC__LEDGER, ROW + 1, &row), LC_NOT_FOUND);
	assert_ok(lc__env_check_pages(copy, NULL, NULL));
	lc__txn_abort(txn);
	lc__env_close(copy);
	free(data);
	free(dir);
	free(to);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("transactions");
	TCase *tc = tcase_create("transactions");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, processes_write_in_turn);
	tcase_add_test(tc, threads_write_in_turn);
	tcase_add_test(tc, readers_see_the_commit_that_they_say);
	tcase_add_test(tc, dead_readers_do_not_let_the_file_grow);
	tcase_add_test(tc, copies_wait_for_no_writer);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
