/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles of one process on one module: what they share, and what each has for itself. */
#include "run.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "by_name.h"
#include "computing.h"
#include "need.h"
#include "rawdb.h"
#include "sample.h"

#define EVER UINT64_MAX

/* LMDB writes the page that makes a commit durable through O_DSYNC, a relaxed one not. */
static pthread_mutex_t durable_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t durable_more = PTHREAD_COND_INITIALIZER;
static unsigned durable_writes;

__attribute__((visibility("default"))) ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	const ssize_t written = syscall(SYS_pwrite64, fd, data, size, offset);

	if (fcntl(fd, F_GETFL) & O_DSYNC) {
		pthread_mutex_lock(&durable_lock);
		durable_writes++;
		pthread_cond_broadcast(&durable_more);
		pthread_mutex_unlock(&durable_lock);
	}
	return written;
}

/* Durable commits of this process so far. */
static unsigned
count_durable(void)
{
	unsigned count;

	pthread_mutex_lock(&durable_lock);
	count = durable_writes;
	pthread_mutex_unlock(&durable_lock);
	return count;
}

static lc_cache *
open_with(const char *root, const lc_options *options)
{
	return sample_open(root, "m", options);
}

/* Wait until so many commits are over, after which nothing is pending. */
static void
await_durable(lc_cache *cache, unsigned count)
{
	pthread_mutex_lock(&durable_lock);
	while (durable_writes < count)
		pthread_cond_wait(&durable_more, &durable_lock);
	pthread_mutex_unlock(&durable_lock);
	/* It awaits the end of the last one, and has nothing to commit. */
	assert_ok(lc_flush(cache));
	ck_assert_uint_eq(count_durable(), count);
}

/* ---- pending writes ---------------------------------------------------------- */

START_TEST(each_reads_what_the_other_puts)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *a = open_with(root, &options), *b = open_with(root, &options);
	const lc_id ids[3] = { { "y", 1 }, { "none", 4 }, { "x", 1 } };
	lc_stats sa, sb;
	lc_view views[3];
	size_t missing[3], n_missing;

	put(a, "x", 1);
	put(b, "y", 1);
	put(b, "x", 2);
	put(a, "y", 2);
	/* The last call counts, whichever handle it was on. */
	for (int i = 0; i < 2; i++) {
		lc_cache *cache = i == 0 ? a : b;

		expect(cache, "x", 2);
		expect(cache, "y", 2);
		assert_ok(lc_get_batch(cache, 3, ids, views, NULL, NULL));
		ck_assert(sample_is(&views[0].tensor, "y", 1, 2, SAMPLE_SMALL));
		ck_assert_int_eq(views[1].status, LC_NOT_FOUND);
		ck_assert(sample_is(&views[2].tensor, "x", 1, 2, SAMPLE_SMALL));
		lc_views_release(views, 3);
		assert_ok(lc_contains_batch(cache, 3, ids, missing, &n_missing));
		ck_assert_uint_eq(n_missing, 1);
		ck_assert_uint_eq(missing[0], 1);
	}
	sa = stats_of(a);
	sb = stats_of(b);
	ck_assert_uint_eq(sa.records, 0);
	ck_assert_uint_eq(sa.pending_records, 4);
	ck_assert_uint_eq(sb.pending_records, 4);
	ck_assert_uint_eq(sa.pending_bytes, sb.pending_bytes);
	ck_assert_mem_eq(sa.uuid, sb.uuid, 16);

	assert_ok(lc_delete(a, "y", 1));
	expect_missing(b, "y");
	assert_status(lc_delete(b, "y", 1), LC_NOT_FOUND);
	/* A flush by one is a flush of all, in one commit. */
	assert_ok(lc_flush(b));
	sa = stats_of(a);
	ck_assert_uint_eq(sa.generation, 1);
	ck_assert_uint_eq(sa.records, 1);
	ck_assert_uint_eq(sa.pending_records, 0);
	put(a, "z", 1);
	ck_assert_uint_eq(count_of(b), 2);
	assert_ok(lc_close(a));
	assert_ok(lc_close(b));
}
END_TEST

/* The file is what counts, not its path. */
START_TEST(paths_to_one_module)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	char *real = join(root, "real"), *link = join(root, "link"), *dots, *moved;
	lc_cache *a, *b, *c, *d;

	a = sample_open(real, "m", &options);
	put(a, "x", 1);
	ck_assert_int_eq(symlink("real", link), 0);
	b = sample_open(link, "m", &options);
	expect(b, "x", 1);
	dots = join(real, "../real/.");
	c = sample_open(dots, "m", &options);
	expect(c, "x", 1);
	put(c, "x", 2);
	expect(a, "x", 2);
	/* The same path, when another module has taken the place, is another one. */
	moved = join(root, "moved");
	ck_assert_int_eq(rename(real, moved), 0);
	d = sample_open(real, "m", &options);
	expect_missing(d, "x");
	put(d, "x", 3);
	expect(b, "x", 2);
	assert_ok(lc_close(d));
	assert_ok(lc_close(a));
	lc_discard(b);
	assert_ok(lc_close(c));
	a = sample_open(moved, "m", &options);
	expect(a, "x", 2);
	assert_ok(lc_close(a));
	free(real);
	free(link);
	free(dots);
	free(moved);
}
END_TEST

/* ---- options ------------------------------------------------------------------- */

START_TEST(limits_are_those_of_the_handle_that_puts)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *many, *two, *soon;
	unsigned before;

	many = open_with(root, &options);
	options.flush_every = 2;
	two = open_with(root, &options);
	options.flush_every = 1000;
	options.flush_interval_ms = 1;
	soon = open_with(root, &options);

	before = count_durable();
	put(many, "a", 1);
	put(many, "b", 1);
	put(many, "c", 1);
	ck_assert_uint_eq(stats_of(many).pending_records, 3);
	/* It finds two pending: they go before it is put. */
	put(two, "d", 1);
	put(two, "e", 1);
	await_durable(many, before + 2);
	ck_assert_uint_eq(stats_of(many).generation, 2);
	/* What is due soon takes along what had time. */
	put(many, "f", 1);
	put(soon, "g", 1);
	await_durable(many, before + 3);
	ck_assert_uint_eq(stats_of(many).records, 7);
	lc_discard(two);
	lc_discard(soon);
	/* No handle is there any more that is in a hurry. */
	for (uint64_t i = 1; i <= 100; i++)
		put(many, "h", i);
	ck_assert_uint_eq(stats_of(many).pending_records, 100);
	assert_ok(lc_close(many));
}
END_TEST

/* Durable writes that flushing puts of these handles takes. */
static unsigned
writes_of_flush(lc_cache *first, lc_cache *second, lc_cache *flushes)
{
	const unsigned before = count_durable();

	put(first, "a", 1);
	put(second, "b", 1);
	assert_ok(lc_flush(flushes));
	return count_durable() - before;
}

START_TEST(the_most_durable_counts)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *full = open_with(root, &options), *relaxed;

	options.durability = LC_DURABLE_RELAXED;
	relaxed = open_with(root, &options);
	ck_assert_uint_eq(writes_of_flush(full, full, relaxed), 1);
	ck_assert_uint_eq(writes_of_flush(full, relaxed, relaxed), 1);
	ck_assert_uint_eq(writes_of_flush(relaxed, full, relaxed), 1);
	ck_assert_uint_eq(writes_of_flush(relaxed, relaxed, relaxed), 0);
	assert_ok(lc_close(full));
	assert_ok(lc_close(relaxed));
}
END_TEST

START_TEST(a_reader_reads_what_a_writer_puts)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	const lc_tensor tensor = sample_bytes("x", 1);
	lc_cache *writer = open_with(root, &options), *reader, *other;

	options.flags = LC_RDONLY;
	reader = open_with(root, &options);
	other = open_with(root, &options);
	put(writer, "a", 1);
	expect(reader, "a", 1);
	assert_status(lc_put(reader, "b", 1, &tensor), LC_READONLY);
	assert_status(lc_delete(reader, "a", 1), LC_READONLY);
	/* Closing a reader commits nothing, counting does. */
	assert_ok(lc_close(other));
	ck_assert_uint_eq(stats_of(writer).pending_records, 1);
	ck_assert_uint_eq(count_of(reader), 1);
	ck_assert_uint_eq(stats_of(writer).pending_records, 0);
	put(writer, "b", 1);
	put(writer, "a", 2);
	lc_discard(writer);
	/* The last that writes is gone, and what was pending. */
	expect_missing(reader, "b");
	expect(reader, "a", 1);
	ck_assert_uint_eq(stats_of(reader).pending_records, 0);
	assert_ok(lc_flush(reader));
	writer = open_with(root, NULL);
	put(writer, "c", 1);
	expect(reader, "c", 1);
	assert_ok(lc_close(writer));
	expect(reader, "c", 1);
	assert_ok(lc_close(reader));
}
END_TEST

/* A rank that does not write has its own puts before all others, and for itself. */
START_TEST(a_rank_that_does_not_write)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *writer = open_with(root, &options), *rank;

	options.rank = 1;
	options.writer_rank = 0;
	rank = open_with(root, &options);
	put(writer, "a", 1);
	put(writer, "b", 1);
	expect(rank, "a", 1);
	put(rank, "a", 2);
	put(rank, "c", 1);
	expect(rank, "a", 2);
	expect(rank, "b", 1);
	expect(writer, "a", 1);
	expect_missing(writer, "c");
	ck_assert_uint_eq(stats_of(rank).pending_records, 2);
	assert_ok(lc_close(rank));
	ck_assert_uint_eq(stats_of(writer).pending_records, 2);
	assert_ok(lc_close(writer));
}
END_TEST

/* ---- closing -------------------------------------------------------------------- */

START_TEST(a_close_flushes_what_all_have_put)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *a = open_with(root, &options), *b = open_with(root, &options);

	put(a, "a", 1);
	put(b, "b", 1);
	assert_ok(lc_close(a));
	ck_assert_uint_eq(stats_of(b).records, 2);
	put(b, "b", 2);
	expect(b, "b", 2);
	assert_ok(lc_close(b));
	a = open_with(root, &options);
	expect(a, "b", 2);
	assert_ok(lc_close(a));
}
END_TEST

/* Other handles have read it: it stays until the last one is discarded. */
START_TEST(a_discard_leaves_what_is_pending_to_others)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *a = open_with(root, &options), *b = open_with(root, &options);

	put(a, "a", 1);
	put(b, "b", 1);
	lc_discard(a);
	ck_assert_uint_eq(stats_of(b).pending_records, 2);
	expect(b, "a", 1);
	if (_i == 0)
		lc_discard(b);
	else
		assert_ok(lc_close(b));
	a = open_with(root, &options);
	ck_assert_uint_eq(count_of(a), _i == 0 ? 0 : 2);
	put(a, "c", 1);
	assert_ok(lc_flush(a));
	assert_ok(lc_close(a));
}
END_TEST

/* Views of a pending record, read through the handle that did not put it. */
START_TEST(views_outlive_both_handles)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *a = open_with(root, &options), *b = open_with(root, &options);
	lc_value *map = lc_value_map();
	const lc_value *field;
	int64_t number = 0;
	lc_view tensor, value;

	lc_value_set(map, "n", lc_value_integer(7));
	put(a, "t", 1);
	assert_ok(lc_put_value(a, "v", 1, map));
	lc_value_free(map);
	assert_ok(lc_get(b, "t", 1, &tensor));
	assert_ok(lc_get(b, "v", 1, &value));
	lc_discard(a);
	lc_discard(b);
	ck_assert(sample_is(&tensor.tensor, "t", 1, 1, SAMPLE_SMALL));
	assert_ok(lc_view_value(&value, "n", &field));
	assert_ok(lc_value_as_integer(field, &number));
	ck_assert_int_eq(number, 7);
	/* The module lives on for the view, and what was pending does not. */
	a = open_with(root, &options);
	expect_missing(a, "t");
	put(a, "t", 2);
	lc_view_release(&value);
	lc_view_release(&tensor);
	expect(a, "t", 2);
	assert_ok(lc_close(a));
}
END_TEST

static void
leave_both_open(void *root)
{
	const lc_options options = sample_options();
	lc_cache *a = open_with(root, &options), *b = open_with(root, &options);

	need_ok(sample_put(a, "a", 1, 1, SAMPLE_SMALL));
	need_ok(sample_put(b, "b", 1, 1, SAMPLE_SMALL));
	exit(0);
}

START_TEST(an_exit_flushes_once)
{
	const char *root = run_scratch();
	lc_cache *cache;

	ck_assert_int_eq(child_run(leave_both_open, (void *)(uintptr_t)root), 0);
	cache = open_with(root, NULL);
	ck_assert_uint_eq(stats_of(cache).generation, 1);
	ck_assert_uint_eq(count_of(cache), 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- failures ------------------------------------------------------------------- */

/* In another process: take the module's description away, so that no commit succeeds, and
 * keep it in a file; or bring it back. */
static void
spoil(void *root)
{
	char *dir = join(root, "m"), *path = join(root, "kept");
	MDB_env *env = rawdb_open_env(dir, 0);
	MDB_txn *txn = rawdb_begin(env, 0);
	MDB_dbi meta = rawdb_table(txn, "meta", 0);
	MDB_val key = { strlen("module"), (void *)(uintptr_t)"module" }, row;
	FILE *kept = fopen(path, "w");

	need(kept != NULL);
	rawdb_must(mdb_get(txn, meta, &key, &row));
	need(fwrite(row.mv_data, 1, row.mv_size, kept) == row.mv_size);
	need(fclose(kept) == 0);
	rawdb_must(mdb_del(txn, meta, &key, NULL));
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
	free(dir);
	free(path);
}

static void
mend(void *root)
{
	char *dir = join(root, "m"), *path = join(root, "kept"), bytes[4096];
	MDB_env *env = rawdb_open_env(dir, 0);
	MDB_txn *txn = rawdb_begin(env, 0);
	MDB_dbi meta = rawdb_table(txn, "meta", 0);
	MDB_val key = { strlen("module"), (void *)(uintptr_t)"module" }, row;
	FILE *kept = fopen(path, "r");

	need(kept != NULL);
	row.mv_data = bytes;
	row.mv_size = fread(bytes, 1, sizeof(bytes), kept);
	need(row.mv_size > 0);
	need(fclose(kept) == 0);
	rawdb_must(mdb_put(txn, meta, &key, &row, 0));
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
	free(dir);
	free(path);
}

START_TEST(each_handle_learns_of_a_failure)
{
	const char *root = run_scratch();
	void *ctx = (void *)(uintptr_t)root;
	const lc_options options = sample_options();
	lc_cache *a = open_with(root, &options), *b = open_with(root, &options), *c;

	put(a, "a", 1);
	put(b, "b", 1);
	ck_assert_int_eq(child_run(spoil, ctx), 0);
	assert_status(lc_flush(a), LC_CORRUPT);
	/* Only once. A handle that comes later has lost nothing by it. */
	put(a, "a", 2);
	c = open_with(root, &options);
	put(c, "c", 1);
	assert_status(sample_put(b, "b", 1, 2, SAMPLE_SMALL), LC_CORRUPT);
	expect(b, "b", 1);
	put(b, "b", 3);
	/* What a close could not commit stays with the others. */
	assert_status(lc_close(a), LC_CORRUPT);
	expect(b, "a", 2);
	ck_assert_int_eq(child_run(mend, ctx), 0);
	assert_ok(lc_flush(b));
	ck_assert_uint_eq(stats_of(b).records, 3);
	assert_ok(lc_close(b));
	expect(c, "a", 2);
	expect(c, "b", 3);
	expect(c, "c", 1);

	put(c, "c", 2);
	ck_assert_int_eq(child_run(spoil, ctx), 0);
	assert_status(lc_close(c), LC_CORRUPT);
	ck_assert_int_eq(child_run(mend, ctx), 0);
	a = open_with(root, &options);
	expect(a, "c", 1);
	assert_ok(lc_close(a));
}
END_TEST

/* ---- computing ------------------------------------------------------------------ */

START_TEST(a_key_is_computed_once_for_all)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	struct slow slow = { .cache = open_with(root, &options) };
	lc_cache *other = open_with(root, &options);
	struct job job = { .cache = other };
	lc_id id;
	lc_view view;

	make_names();
	id = key_of(0);
	slow_start(&slow);
	lc_set_timeout(other, 0);
	assert_status(lc_get_or_compute(other, &id, 1, compute_samples, &job, &view),
	    LC_TIMEOUT);
	slow_finish(&slow);
	assert_ok(lc_get_or_compute(other, &id, 1, compute_samples, &job, &view));
	ck_assert(is_sample(&view, 0));
	lc_view_release(&view);
	ck_assert_uint_eq(job.calls, 0);
	ck_assert_uint_eq(counters_of(slow.cache).computed, 1);
	ck_assert_uint_eq(counters_of(other).computed, 0);
	lc_set_timeout(other, EVER);
	assert_ok(lc_close(slow.cache));
	assert_ok(lc_close(other));
}
END_TEST

/* ---- threads -------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 40
#define PUTS 12

struct worker {
	const char *root;
	unsigned number;
};

/* Open, put, read, close or discard, while others do the same. One handle stays open. */
static void *
come_and_go(void *ctx)
{
	const struct worker *worker = ctx;
	lc_options options = sample_options();
	char id[40], common[] = "common";

	options.durability = LC_DURABLE_RELAXED;
	options.flush_every = 1 + worker->number * 5;
	options.flush_interval_ms = worker->number % 2;
	for (unsigned round = 0; round < ROUNDS; round++) {
		lc_cache *cache = open_with(worker->root, &options);
		lc_view view;

		for (unsigned i = 0; i < PUTS; i++) {
			const int size = snprintf(id, sizeof(id), "%u/%u/%u",
			    worker->number, round, i);

			need_ok(sample_put(cache, id, (size_t)size, 1, SAMPLE_SMALL));
			need_ok(lc_get(cache, id, (size_t)size, &view));
			need(sample_is(&view.tensor, id, (size_t)size, 1, SAMPLE_SMALL));
			lc_view_release(&view);
			need_ok(sample_put(cache, common, 6, 1, SAMPLE_SMALL));
			need_ok(lc_contains(cache, common, 6));
		}
		if (round % 3 == 0)
			need_ok(lc_flush(cache));
		if (round % 2 == 0)
			need_ok(lc_close(cache));
		else
			lc_discard(cache);
	}
	return NULL;
}

START_TEST(handles_come_and_go)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *stays = open_with(root, &options);
	pthread_t threads[THREADS];
	struct worker workers[THREADS];
	lc_verify_result result;

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ root, i };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go,
		    &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(count_of(stays), THREADS * ROUNDS * PUTS + 1);
	assert_ok(lc_verify(stays, NULL, &result));
	ck_assert_uint_eq(result.damaged, 0);
	assert_ok(lc_close(stays));
}
END_TEST

/* Without a handle that stays, the last one that leaves ends the thread, while another may
 * come. */
static void *
alone_or_not(void *ctx)
{
	const struct worker *worker = ctx;
	const lc_options options = sample_options();
	char id[40];

	for (unsigned round = 0; round < ROUNDS; round++) {
		const int size = snprintf(id, sizeof(id), "%u/%u", worker->number, round);
		lc_cache *cache = open_with(worker->root, &options);

		need_ok(sample_put(cache, id, (size_t)size, 1, SAMPLE_SMALL));
		need_ok(lc_close(cache));
	}
	return NULL;
}

START_TEST(the_last_one_ends_the_thread)
{
	const char *root = run_scratch();
	pthread_t threads[THREADS];
	struct worker workers[THREADS];
	lc_cache *cache;

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ root, i };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, alone_or_not,
		    &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	cache = open_with(root, NULL);
	ck_assert_uint_eq(count_of(cache), THREADS * ROUNDS);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("handles");
	TCase *tc = tcase_create("handles");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, each_reads_what_the_other_puts);
	tcase_add_test(tc, paths_to_one_module);
	tcase_add_test(tc, limits_are_those_of_the_handle_that_puts);
	tcase_add_test(tc, the_most_durable_counts);
	tcase_add_test(tc, a_reader_reads_what_a_writer_puts);
	tcase_add_test(tc, a_rank_that_does_not_write);
	tcase_add_test(tc, a_close_flushes_what_all_have_put);
	tcase_add_loop_test(tc, a_discard_leaves_what_is_pending_to_others, 0, 2);
	tcase_add_test(tc, views_outlive_both_handles);
	tcase_add_test(tc, an_exit_flushes_once);
	tcase_add_test(tc, each_handle_learns_of_a_failure);
	tcase_add_test(tc, a_key_is_computed_once_for_all);
	tcase_add_test(tc, handles_come_and_go);
	tcase_add_test(tc, the_last_one_ends_the_thread);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
