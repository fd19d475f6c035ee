/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that would wait for another process or thread, and have a limit. The other one
 * holds on until the test tells it to go on, so that nothing here depends on time. */
#include "run.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "by_name.h"
#include "computing.h"
#include "need.h"
#include "rawdb.h"
#include "sample.h"

#define EVER UINT64_MAX

/* The thread that wrote last through O_DSYNC, as LMDB does the page that makes a commit
 * durable. */
static atomic_int committed_by;

__attribute__((visibility("default"))) ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	if (fcntl(fd, F_GETFL) & O_DSYNC)
		atomic_store(&committed_by, gettid());
	return syscall(SYS_pwrite64, fd, data, size, offset);
}

/* ---- a process that holds the writers' lock -------------------------------- */

struct holder {
	char dir[600]; /* of the module */
	int told[2];   /* pipe: a byte for each step that the test asks for */
	int done[2];   /* pipe: a byte for each step that was done */
	pid_t pid;
};

static void
await_byte(int fd)
{
	char byte;

	need(read(fd, &byte, 1) == 1);
}

static void
send_byte(int fd)
{
	need(write(fd, "x", 1) == 1);
}

/* Hold the lock for one step, then release it. */
static void
hold(void *ctx)
{
	struct holder *holder = ctx;
	MDB_env *env = rawdb_open_env(holder->dir, 0);
	MDB_txn *txn = rawdb_begin(env, 0);

	send_byte(holder->done[1]);
	await_byte(holder->told[0]);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

/* Take the module's description away under the lock, so that no commit can succeed, take
 * the lock again at the next step, and bring the description back at the last. */
static void
spoil(void *ctx)
{
	struct holder *holder = ctx;
	MDB_env *env = rawdb_open_env(holder->dir, 0);
	MDB_txn *txn = rawdb_begin(env, 0);
	MDB_dbi meta = rawdb_table(txn, "meta", 0);
	MDB_val key = { strlen("module"), (void *)(uintptr_t)"module" }, row, kept;

	rawdb_must(mdb_get(txn, meta, &key, &row));
	kept.mv_size = row.mv_size;
	kept.mv_data = malloc(row.mv_size);
	need(kept.mv_data != NULL);
	memcpy(kept.mv_data, row.mv_data, row.mv_size);
	rawdb_must(mdb_del(txn, meta, &key, NULL));
	send_byte(holder->done[1]);
	await_byte(holder->told[0]);
	rawdb_must(mdb_txn_commit(txn));

	await_byte(holder->told[0]);
	txn = rawdb_begin(env, 0);
	send_byte(holder->done[1]);
	await_byte(holder->told[0]);
	rawdb_must(mdb_put(txn, meta, &key, &kept, 0));
	rawdb_must(mdb_txn_commit(txn));
	free(kept.mv_data);
	mdb_env_close(env);
}

/* Make a module "m" that holds "old", and start a process that holds its lock. */
static const char *
start(struct holder *holder, void (*fn)(void *ctx))
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);

	assert_ok(sample_put(cache, "old", 3, 1, SAMPLE_SMALL));
	assert_ok(lc_close(cache));
	snprintf(holder->dir, sizeof(holder->dir), "%s/m", root);
	ck_assert_int_eq(pipe(holder->told), 0);
	ck_assert_int_eq(pipe(holder->done), 0);
	holder->pid = child_start(fn, holder);
	await_byte(holder->done[0]);
	return root;
}

static void
finish(struct holder *holder)
{
	send_byte(holder->told[1]);
	ck_assert_int_eq(child_wait(holder->pid), 0);
	for (int i = 0; i < 2; i++) {
		close(holder->told[i]);
		close(holder->done[i]);
	}
}

static lc_options
no_wait(void)
{
	lc_options options = sample_options();

	options.timeout_ms = 0;
	return options;
}

/* The module holds these one-letter keys, and "old". */
static void
expect_keys(const char *root, const char *keys)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	uint64_t n;

	assert_ok(lc_count(cache, &n));
	ck_assert_uint_eq(n, strlen(keys) + 1);
	for (; *keys != '\0'; keys++) {
		lc_view view;

		assert_ok(lc_get(cache, keys, 1, &view));
		ck_assert(sample_is(&view.tensor, keys, 1, 1, SAMPLE_SMALL));
		lc_view_release(&view);
	}
	assert_ok(lc_close(cache));
}

/* ---- copy ---------------------------------------------------------------------- */

struct asked {
	struct holder *holder;
	unsigned times, last; /* calls, and the one that ends it */
	bool stops;
};

/* At the last call the lock is released, or the copy stopped. */
static int
ask(void *ctx, uint64_t done, uint64_t total)
{
	struct asked *asked = ctx;

	(void)done;
	(void)total;
	if (++asked->times != asked->last)
		return 0;
	if (!asked->stops)
		send_byte(asked->holder->told[1]);
	return asked->stops;
}

/* A copy into a module that is locked goes on, and asks in between. */
START_TEST(a_copy_awaits_its_target)
{
	struct holder holder;
	struct asked asked = { &holder, 0, 200, _i == 1 };
	const char *root = start(&holder, hold), *keys = "abcdefgh";
	lc_options options = no_wait();
	lc_cache *from = sample_open(run_scratch(), "from", NULL), *to;
	lc_copy_options how;
	lc_copy_result result;

	for (const char *key = keys; *key != '\0'; key++)
		assert_ok(sample_put(from, key, 1, 1, SAMPLE_SMALL));
	options.flush_every = 1;
	to = sample_open(root, "m", &options);
	lc_copy_options_init(&how);
	how.progress.step = ask;
	how.progress.ctx = &asked;
	if (asked.stops) {
		assert_status(lc_copy(from, to, &how, &result), LC_CANCELLED);
		ck_assert_str_eq(lc_last_error()->text, "copy: cancelled");
		ck_assert_uint_eq(asked.times, 200);
		send_byte(holder.told[1]);
	} else {
		assert_ok(lc_copy(from, to, &how, &result));
		ck_assert_uint_ge(asked.times, 200);
		ck_assert_uint_eq(result.copied, 8);
	}
	finish(&holder);
	assert_ok(lc_close(from));
	lc_set_timeout(to, EVER);
	assert_ok(lc_flush(to));
	lc_discard(to);
	if (!asked.stops)
		expect_keys(root, keys);
}
END_TEST

/* ---- flush, put, close ------------------------------------------------------ */

START_TEST(a_flush_ends_in_time)
{
	struct holder holder;
	const char *root = start(&holder, hold);
	lc_options options = no_wait();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_iter *iter;
	uint64_t n;

	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	for (int i = 0; i < 3; i++) {
		lc_set_timeout(cache, (uint64_t)i);
		assert_status(lc_flush(cache), LC_TIMEOUT);
	}
	ck_assert_str_eq(lc_last_error()->text,
	    "m: its commit is not complete after 2 ms; nothing is lost: call again");
	assert_status(lc_count(cache, &n), LC_TIMEOUT);
	assert_status(lc_iter_open(cache, LC_BY_KEY, NULL, 0, &iter), LC_TIMEOUT);
	assert_status(lc_clear(cache), LC_TIMEOUT);
	/* What was put is still there to be read, and there is room for more. */
	assert_ok(lc_contains(cache, "a", 1));
	assert_ok(sample_put(cache, "b", 1, 1, SAMPLE_SMALL));
	assert_status(lc_flush(cache), LC_TIMEOUT);

	finish(&holder);
	lc_set_timeout(cache, EVER);
	assert_ok(lc_flush(cache));
	lc_discard(cache);
	expect_keys(root, "ab");
}
END_TEST

#define FLUSHERS 16

struct flushing {
	lc_cache *cache;
	unsigned key;
};

static void *
put_and_flush(void *ctx)
{
	const struct flushing *f = ctx;
	char id[16];

	need_ok(sample_put(f->cache, id,
	    (size_t)snprintf(id, sizeof(id), "key-%u", f->key), 1, SAMPLE_SMALL));
	need_ok(lc_flush(f->cache));
	return NULL;
}

/* Wait until so many records are pending; the limit is no part of the contract. */
static void
await_pending(lc_cache *cache, uint64_t records)
{
	const struct timespec pause = { 0, 1000000 };
	const time_t end = time(NULL) + 60;

	while (stats_of(cache).pending_records != records) {
		ck_assert(time(NULL) <= end);
		nanosleep(&pause, NULL);
	}
}

/* While one commit waits, threads flush what they have put, through two handles: a second
 * commit has all of it. */
START_TEST(flushes_that_wait_share_a_commit)
{
	struct holder holder;
	const char *root = start(&holder, hold);
	const lc_options options = sample_options();
	lc_cache *caches[2] = { sample_open(root, "m", &options),
		sample_open(root, "m", &options) };
	const uint64_t before = stats_of(caches[0]).generation;
	struct flushing flushing[FLUSHERS];
	pthread_t threads[FLUSHERS];

	for (unsigned i = 0; i < FLUSHERS; i++) {
		flushing[i] = (struct flushing){ caches[i % 2], i };
		ck_assert_int_eq(
		    pthread_create(&threads[i], NULL, put_and_flush, &flushing[i]), 0);
	}
	await_pending(caches[0], FLUSHERS);
	finish(&holder);
	for (unsigned i = 0; i < FLUSHERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(stats_of(caches[0]).records, 1 + FLUSHERS);
	ck_assert_uint_ge(stats_of(caches[0]).generation - before, 1);
	ck_assert_uint_le(stats_of(caches[0]).generation - before, 2);
	for (int i = 0; i < 2; i++)
		assert_ok(lc_close(caches[i]));
}
END_TEST

/* A flush without a limit commits in its own thread: the flush thread is not needed. */
START_TEST(a_flush_commits_by_itself)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);

	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	atomic_store(&committed_by, 0);
	assert_ok(lc_flush(cache));
	ck_assert_int_eq(atomic_load(&committed_by), gettid());
	/* With a limit it is the other thread that commits. */
	lc_set_timeout(cache, 60000);
	assert_ok(sample_put(cache, "b", 1, 1, SAMPLE_SMALL));
	assert_ok(lc_flush(cache));
	ck_assert_int_ne(atomic_load(&committed_by), gettid());
	ck_assert_uint_eq(count_of(cache), 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* With limits of a millisecond one of the calls is the last. */
START_TEST(short_flushes_reach_the_end)
{
	struct holder holder;
	const char *root = start(&holder, hold);
	lc_options options = sample_options();
	lc_cache *cache;
	lc_status status;

	options.timeout_ms = 1;
	cache = sample_open(root, "m", &options);
	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	assert_status(lc_flush(cache), LC_TIMEOUT);
	finish(&holder);
	while ((status = lc_flush(cache)) == LC_TIMEOUT)
		;
	assert_ok(status);
	lc_discard(cache);
	expect_keys(root, "a");
}
END_TEST

/* A commit that failed while nobody waited is reported, and not just tried again. */
START_TEST(short_flushes_report_a_failure)
{
	struct holder holder;
	const char *root = start(&holder, spoil);
	lc_options options = no_wait();
	lc_cache *cache = sample_open(root, "m", &options), *other;

	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	assert_status(lc_flush(cache), LC_TIMEOUT);
	send_byte(holder.told[1]);
	/* Another handle has time to wait for it, and hears of it, too. */
	options.timeout_ms = EVER;
	other = sample_open(root, "m", &options);
	assert_status(lc_flush(other), LC_CORRUPT);
	send_byte(holder.told[1]);
	await_byte(holder.done[0]);
	assert_status(lc_flush(cache), LC_CORRUPT);
	/* Now it is tried again. */
	assert_status(lc_flush(cache), LC_TIMEOUT);
	finish(&holder);
	lc_set_timeout(cache, EVER);
	assert_ok(lc_flush(cache));
	lc_discard(cache);
	lc_discard(other);
	expect_keys(root, "a");
}
END_TEST

START_TEST(a_put_without_room_is_not_taken)
{
	struct holder holder;
	const char *root = start(&holder, hold);
	const lc_id ids[] = { lc_id_of("x"), { "", 0 }, lc_id_of("y") };
	const lc_tensor tensors[3] = { sample_bytes("x", 1), sample_bytes("x", 1),
		sample_bytes("y", 1) };
	lc_status statuses[3];
	lc_options options = no_wait();
	lc_cache *cache;

	options.flush_every = 1;
	cache = sample_open(root, "m", &options);
	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	assert_ok(sample_put(cache, "b", 1, 1, SAMPLE_SMALL));
	assert_status(sample_put(cache, "c", 1, 1, SAMPLE_SMALL), LC_TIMEOUT);
	assert_status(lc_contains(cache, "c", 1), LC_NOT_FOUND);
	assert_status(lc_delete(cache, "old", 3), LC_TIMEOUT);
	assert_ok(lc_contains(cache, "old", 3));
	/* Those after it must not overtake an item. */
	assert_status(lc_put_batch(cache, 3, ids, tensors, statuses), LC_TIMEOUT);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(statuses[i], LC_TIMEOUT);
	ck_assert_str_eq(lc_last_error()->text,
	    "item 0: m: its commit is not complete after 0 ms; nothing is lost: call again");

	finish(&holder);
	lc_set_timeout(cache, EVER);
	assert_ok(sample_put(cache, "c", 1, 1, SAMPLE_SMALL));
	assert_ok(lc_close(cache));
	expect_keys(root, "abc");
}
END_TEST

START_TEST(a_close_leaves_the_handle_open)
{
	struct holder holder;
	const char *root = start(&holder, hold);
	const lc_options options = no_wait();
	lc_cache *cache = sample_open(root, "m", &options);

	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	assert_status(lc_close(cache), LC_TIMEOUT);
	assert_status(lc_close(cache), LC_TIMEOUT);
	assert_ok(lc_contains(cache, "a", 1));
	assert_ok(sample_put(cache, "b", 1, 1, SAMPLE_SMALL));
	finish(&holder);
	lc_set_timeout(cache, EVER);
	assert_ok(lc_close(cache));
	expect_keys(root, "ab");
}
END_TEST

/* A close that has only counters to save has a limit too. */
START_TEST(a_close_saves_counters_in_time)
{
	struct holder holder;
	const char *root = start(&holder, hold);
	const lc_options options = no_wait();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_counters counters;
	lc_view view;

	assert_ok(lc_get(cache, "old", 3, &view));
	lc_view_release(&view);
	assert_status(lc_close(cache), LC_TIMEOUT);
	assert_status(lc_close(cache), LC_TIMEOUT);
	assert_ok(lc_get(cache, "old", 3, &view));
	lc_view_release(&view);
	finish(&holder);
	lc_set_timeout(cache, EVER);
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	counters = counters_of(cache);
	ck_assert_uint_eq(counters.hits, 2);
	assert_ok(lc_close(cache));
}
END_TEST

static void
put_and_exit(void *ctx)
{
	const lc_options options = no_wait();
	lc_cache *cache = sample_open(ctx, "m", &options);

	need_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	exit(0);
}

/* Nobody can call again after an exit: it flushes without a limit. */
START_TEST(an_exit_waits)
{
	struct holder holder;
	const char *root = start(&holder, hold);

	finish(&holder);
	ck_assert_int_eq(child_run(put_and_exit, (void *)(uintptr_t)root), 0);
	expect_keys(root, "a");
}
END_TEST

/* ---- an exit beside forks ------------------------------------------------------- */

/* The allocator of a sanitizer may be locked for ever in a child of a process with threads. */
#if !defined(__SANITIZE_ADDRESS__) && !RUN_THREAD_SANITIZER
#define FORKS_BESIDE_EXIT

static struct exit_fork {
	struct holder holder;
	const char *root;
	int begun[2]; /* pipe: the exit has begun */
} exit_fork;

static void
say_begun(void)
{
	send_byte(exit_fork.begun[1]);
}

/* Fork while the exit awaits its commit, which ends when this has. */
static void *
fork_beside_exit(void *unused)
{
	(void)unused;
	await_byte(exit_fork.begun[0]);
	for (int i = 0; i < 50; i++) {
		const pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		need(pid > 0 && child_wait(pid) == 0);
	}
	send_byte(exit_fork.holder.told[1]);
	return NULL;
}

static void
exit_beside_forks(void *unused)
{
	const lc_options options = no_wait();
	lc_cache *cache = sample_open(exit_fork.root, "m", &options);
	pthread_t thread;

	(void)unused;
	/* It runs before what lc_open() registered. */
	need(atexit(say_begun) == 0);
	need_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	need(pthread_create(&thread, NULL, fork_beside_exit, NULL) == 0);
	exit(0);
}

/* A fork takes the locks that a commit takes, and an exit awaits a commit. */
START_TEST(an_exit_that_waits_lets_others_fork)
{
	exit_fork.root = start(&exit_fork.holder, hold);
	ck_assert_int_eq(pipe(exit_fork.begun), 0);
	ck_assert_int_eq(child_run(exit_beside_forks, NULL), 0);
	ck_assert_int_eq(child_wait(exit_fork.holder.pid), 0);
	expect_keys(exit_fork.root, "a");
}
END_TEST

#endif /* FORKS_BESIDE_EXIT */

/* ---- get or compute --------------------------------------------------------- */

START_TEST(another_thread_is_awaited_in_time)
{
	const lc_options options = no_wait();
	struct slow slow = { .cache = sample_open(run_scratch(), "m", &options) };
	struct job job = { .cache = slow.cache };
	lc_id ids[2];
	lc_view views[2];

	make_names();
	ids[0] = key_of(0);
	ids[1] = key_of(1);
	slow_start(&slow);
	/* The key that this call computes is there all the same. */
	assert_status(lc_get_or_compute(slow.cache, ids, 2, compute_samples, &job, views),
	    LC_TIMEOUT);
	ck_assert_int_eq(views[0].status, LC_TIMEOUT);
	ck_assert(is_sample(&views[1], 1));
	lc_views_release(views, 2);

	slow_finish(&slow);
	assert_ok(lc_get_or_compute(slow.cache, ids, 2, compute_samples, &job, views));
	ck_assert(is_sample(&views[0], 0));
	ck_assert_uint_eq(job.calls, 1);
	lc_views_release(views, 2);
	lc_discard(slow.cache);
}
END_TEST

/* ---- open ------------------------------------------------------------------- */

/* Lock @p name of the module "m", as a process does that opens or rewrites it. */
static int
lock_of(const char *root, const char *name, int how)
{
	char path[700];
	int fd;

	snprintf(path, sizeof(path), "%s/m/%s", root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	need(fd != -1 && flock(fd, how) == 0);
	return fd;
}

static void
make_module(const char *root)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);

	assert_ok(sample_put(cache, "old", 3, 1, SAMPLE_SMALL));
	assert_ok(lc_close(cache));
}

START_TEST(an_open_ends_in_time)
{
	static const char *const names[] = { ".", "data.mdb" };
	const char *root = run_scratch();
	lc_options options = no_wait();
	char expected[800];

	make_module(root);
	snprintf(expected, sizeof(expected),
	    "%s/m: another process is opening or rewriting the module", root);
	for (size_t i = 0; i < 2; i++) {
		const int fd = lock_of(root, names[i], LOCK_EX);
		lc_cache *cache;

		options.timeout_ms = 3;
		assert_status(lc_open(root, "m", &options, &cache), LC_TIMEOUT);
		ck_assert_str_eq(lc_last_error()->text, expected);
		options.timeout_ms = 0;
		assert_status(lc_open(root, "m", &options, &cache), LC_TIMEOUT);
		close(fd);
		assert_ok(lc_open(root, "m", &options, &cache));
		assert_ok(lc_contains(cache, "old", 3));
		assert_ok(lc_close(cache));
	}
}
END_TEST

static void *
open_and_wait(void *root)
{
	const lc_options options = sample_options();

	lc_discard(sample_open(root, "m", &options));
	return NULL;
}

/* A thread that waits for a process keeps no other from opening and closing. */
START_TEST(an_open_that_waits_disturbs_no_other)
{
	const char *root = run_scratch();
	const lc_options options = no_wait();
	lc_cache *cache;
	pthread_t thread;
	int fd;

	make_module(root);
	fd = lock_of(root, "data.mdb", LOCK_EX);
	ck_assert_int_eq(
	    pthread_create(&thread, NULL, open_and_wait, (void *)(uintptr_t)root), 0);
	for (int i = 0; i < 100; i++) {
		assert_ok(lc_open(root, "n", &options, &cache));
		lc_discard(cache);
	}
	close(fd);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("timeout");
	TCase *one = tcase_create("timeout");

	tcase_add_test(one, a_flush_ends_in_time);
	tcase_add_test(one, flushes_that_wait_share_a_commit);
	tcase_add_test(one, a_flush_commits_by_itself);
	tcase_add_test(one, short_flushes_reach_the_end);
	tcase_add_test(one, short_flushes_report_a_failure);
	tcase_add_test(one, a_put_without_room_is_not_taken);
	tcase_add_loop_test(one, a_copy_awaits_its_target, 0, 2);
	tcase_add_test(one, a_close_leaves_the_handle_open);
	tcase_add_test(one, a_close_saves_counters_in_time);
	tcase_add_test(one, an_exit_waits);
#ifdef FORKS_BESIDE_EXIT
	tcase_add_test(one, an_exit_that_waits_lets_others_fork);
#endif
	tcase_add_test(one, another_thread_is_awaited_in_time);
	tcase_add_test(one, an_open_ends_in_time);
	tcase_add_test(one, an_open_that_waits_disturbs_no_other);
	suite_add_tcase(suite, one);
	return run_suite(suite);
}
