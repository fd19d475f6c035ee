/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that are written in place: lc_reserve(), its end, and what may happen between. */
#include "run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"
#include "seeded.h"

/* Around each size at which something changes: nothing, a line, a block of the checksum,
 * memory of its own, a huge page. */
static const size_t sizes[] = { 0, 1, 63, 64, 65, 4096, 65000, 65408, 65535, 65536, 65537,
	131072, 1 << 20, (2 << 20) - 1, (2 << 20) + 100, 5000003 };
#define SIZES ((int)(sizeof(sizes) / sizeof(*sizes)))

static lc_cache *
open_module(const char *root)
{
	const lc_options options = sample_options();

	return sample_open(root, "m", &options);
}

static lc_reservation *
reserve(lc_cache *cache, const char *id, size_t size, void **data)
{
	const lc_tensor tensor = sample_bytes(NULL, size);
	lc_reservation *reservation;

	need_ok(lc_reserve(cache, id, strlen(id), &tensor, data, &reservation));
	need((uintptr_t)*data % 64 == 0);
	return reservation;
}

/* Put the bytes that follow from @p seed, in place. */
static void
put(lc_cache *cache, const char *id, size_t size, uint64_t seed)
{
	void *data;
	lc_reservation *reservation = reserve(cache, id, size, &data);

	sample_fill(data, size, seed);
	need_ok(lc_reserve_commit(reservation));
}

static void
expect_missing(lc_cache *cache, const char *id)
{
	need_status(lc_contains(cache, id, strlen(id)), LC_NOT_FOUND);
}

/* ---- bytes ----------------------------------------------------------------- */

START_TEST(bytes_come_back)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);
	char id[40];

	for (int i = 0; i < SIZES; i++) {
		snprintf(id, sizeof(id), "reserved %d", i);
		put(cache, id, sizes[i], (uint64_t)i + 1);
		seeded_expect(cache, id, sizes[i], (uint64_t)i + 1);
	}
	assert_ok(lc_flush(cache));
	for (int i = 0; i < SIZES; i++) {
		snprintf(id, sizeof(id), "reserved %d", i);
		seeded_expect(cache, id, sizes[i], (uint64_t)i + 1);
	}
	assert_ok(lc_close(cache));
	cache = open_module(root);
	for (int i = 0; i < SIZES; i++) {
		snprintf(id, sizeof(id), "reserved %d", i);
		seeded_expect(cache, id, sizes[i], (uint64_t)i + 1);
	}
	seeded_intact(cache, (uint64_t)SIZES);
	assert_ok(lc_close(cache));
}
END_TEST

/* It is the one that lc_put() makes, to the last byte of its padding. */
START_TEST(record_is_that_of_a_put)
{
	static const char *const modules[] = { "reserved", "put" };
	const size_t size = sizes[_i];
	const lc_options options = sample_options();
	const char *root = run_scratch();
	unsigned char *bytes = malloc(size + 1), *records[2];
	size_t record_sizes[2];

	ck_assert_ptr_nonnull(bytes);
	sample_fill(bytes, size, 9);
	for (int i = 0; i < 2; i++) {
		lc_cache *cache = sample_open(root, modules[i], &options);
		const lc_tensor tensor = sample_bytes(bytes, size);

		/* The memory of a former record is not zero. */
		put(cache, "other", size + 40, 3);
		assert_ok(lc_flush(cache));
		if (i == 0)
			put(cache, "key", size, 9);
		else
			assert_ok(lc_put(cache, "key", 3, &tensor));
		assert_ok(lc_flush(cache));
		seeded_intact(cache, 2);
		assert_ok(lc_close(cache));
		records[i] = seeded_last_record(root, modules[i], &record_sizes[i]);
	}
	ck_assert_uint_eq(record_sizes[0], record_sizes[1]);
	ck_assert(memcmp(records[0], records[1], record_sizes[0]) == 0);
	free(records[0]);
	free(records[1]);
	free(bytes);
}
END_TEST

/* ---- order ------------------------------------------------------------------ */

START_TEST(last_commit_of_a_key_counts)
{
	lc_cache *cache = open_module(run_scratch());
	lc_reservation *first, *second;
	void *a, *b;

	first = reserve(cache, "key", 100000, &a);
	second = reserve(cache, "key", 100000, &b);
	ck_assert_ptr_ne(a, b);
	sample_fill(a, 100000, 1);
	sample_fill(b, 100000, 2);
	expect_missing(cache, "key");
	assert_ok(lc_reserve_commit(second));
	seeded_expect(cache, "key", 100000, 2);
	assert_ok(lc_reserve_commit(first));
	seeded_expect(cache, "key", 100000, 1);
	assert_ok(lc_flush(cache));
	seeded_expect(cache, "key", 100000, 1);

	first = reserve(cache, "key", 100000, &a);
	sample_fill(a, 100000, 3);
	assert_ok(lc_delete(cache, "key", 3));
	assert_ok(lc_reserve_commit(first));
	assert_ok(lc_flush(cache));
	seeded_expect(cache, "key", 100000, 3);
	seeded_intact(cache, 1);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(flush_does_not_wait)
{
	lc_cache *cache = open_module(run_scratch());
	lc_reservation *open;
	void *data;

	put(cache, "before", 200000, 1);
	open = reserve(cache, "open", 200000, &data);
	sample_fill(data, 100000, 2);
	assert_ok(lc_flush(cache));
	seeded_expect(cache, "before", 200000, 1);
	expect_missing(cache, "open");
	for (int i = 0; i < 20; i++) {
		put(cache, "between", 200000, (uint64_t)i);
		assert_ok(lc_flush(cache));
	}
	sample_fill(data, 200000, 2);
	assert_ok(lc_reserve_commit(open));
	seeded_expect(cache, "open", 200000, 2);
	assert_ok(lc_flush(cache));
	seeded_expect(cache, "open", 200000, 2);
	seeded_intact(cache, 3);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(cancel_stores_nothing)
{
	lc_cache *cache = open_module(run_scratch());
	lc_reservation *open;
	void *data;

	lc_reserve_cancel(NULL);
	put(cache, "key", 70000, 1);
	open = reserve(cache, "key", 70000, &data);
	sample_fill(data, 70000, 2);
	lc_reserve_cancel(open);
	open = reserve(cache, "other", 70000, &data);
	lc_reserve_cancel(open);
	ck_assert_uint_eq(seeded_stats(cache).pending_records, 1);
	ck_assert_uint_ge(seeded_stats(cache).pending_bytes, 70000);
	assert_ok(lc_flush(cache));
	ck_assert_uint_eq(seeded_stats(cache).pending_bytes, 0);
	seeded_expect(cache, "key", 70000, 1);
	seeded_intact(cache, 1);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- the handle -------------------------------------------------------------- */

START_TEST(closed_handle_leaves_only_cancel)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);
	lc_reservation *open = NULL;
	void *data;

	open = reserve(cache, "key", 100000, &data);
	assert_ok(lc_close(cache));
	/* Its memory is still there. */
	sample_fill(data, 100000, 1);
	assert_status(lc_reserve_commit(open), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "put: 'key': its handle is closed");
	/* Like all that is held, it keeps the module open. */
	assert_status(lc_drop(root, "m"), LC_BUSY);
	lc_reserve_cancel(open);
	assert_ok(lc_drop(root, "m"));
}
END_TEST

static void
commit_in_child(void *ctx)
{
	lc_reservation *open = ctx;

	need_ok(lc_reserve_commit(open));
}

START_TEST(fork_gives_each_side_its_own)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);
	lc_reservation *open;
	void *data;

	put(cache, "stored", 100000, 1);
	assert_ok(lc_flush(cache));
	open = reserve(cache, "key", 100000, &data);
	sample_fill(data, 100000, 2);
	ck_assert_int_eq(child_run(commit_in_child, open), 0);
	sample_fill(data, 100000, 3);
	assert_ok(lc_reserve_commit(open));
	assert_ok(lc_flush(cache));
	seeded_expect(cache, "key", 100000, 3);
	seeded_intact(cache, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- other ways to store ------------------------------------------------------ */

START_TEST(codec_codes_at_the_commit)
{
	lc_options options = sample_options();
	lc_cache *cache;
	lc_reservation *open;
	unsigned char *data;
	lc_view view;

	options.codec = LC_CODEC_LZ4;
	cache = sample_open(run_scratch(), "m", &options);
	open = reserve(cache, "zeros", 1000000, (void **)&data);
	memset(data, 0, 1000000);
	assert_ok(lc_reserve_commit(open));
	/* This one cannot be made smaller. */
	put(cache, "random", 300000, 5);
	assert_ok(lc_flush(cache));
	ck_assert_uint_lt(seeded_stats(cache).live_bytes, 320000);
	assert_ok(lc_get(cache, "zeros", 5, &view));
	ck_assert_uint_eq(view.tensor.nbytes, 1000000);
	for (size_t i = 0; i < 1000000; i++)
		ck_assert_int_eq(((const unsigned char *)view.tensor.data)[i], 0);
	lc_view_release(&view);
	seeded_expect(cache, "random", 300000, 5);
	seeded_intact(cache, 2);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(rank_that_does_not_write_keeps_it_in_memory)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *writer = open_module(root), *cache;

	options.rank = 1;
	options.writer_rank = 0;
	options.lru_bytes = 1 << 20;
	cache = sample_open(root, "m", &options);
	put(cache, "key", 100000, 1);
	seeded_expect(cache, "key", 100000, 1);
	expect_missing(writer, "key");
	assert_ok(lc_close(cache));
	assert_ok(lc_close(writer));
}
END_TEST

/* ---- what is refused ---------------------------------------------------------- */

START_TEST(bad_reservations)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);
	const uint64_t huge[1] = { (uint64_t)1 << 31 }, strange[2] = { 10, 10 };
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_options options = sample_options();
	lc_tensor tensor = sample_bytes(NULL, 100000), other;
	lc_reservation *out = NULL;
	void *data = NULL;

	assert_status(lc_reserve(cache, "", 0, &tensor, &data, &out), LC_INVALID);
	assert_status(lc_reserve(cache, "key", 3, NULL, &data, &out), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "put: 'key': no tensor");
	assert_ok(lc_tensor_init(&other, LC_U8, 1, huge, NULL));
	assert_status(lc_reserve(cache, "key", 3, &other, &data, &out), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "put: 'key': its record is above the limit of 2 GiB");
	other.dtype = (lc_dtype)99;
	assert_status(lc_reserve(cache, "key", 3, &other, &data, &out), LC_INVALID);
	assert_status(lc_reserve_commit(NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "put: no reservation");

	put(cache, "key", 100000, 1);
	assert_ok(lc_flush(cache));
	assert_ok(lc_settings_get(cache, &settings));
	settings.policy = LC_STRICT;
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(lc_tensor_init(&other, LC_F32, 2, strange, NULL));
	assert_status(lc_reserve(cache, "new", 3, &other, &data, &out), LC_SCHEMA);
	ck_assert_ptr_null(out);
	ck_assert_ptr_null(data);
	assert_ok(lc_close(cache));

	options.flags = LC_RDONLY;
	cache = sample_open(root, "m", &options);
	assert_status(lc_reserve(cache, "key", 3, &tensor, &data, &out), LC_READONLY);
	assert_ok(lc_close(cache));
}
END_TEST

/* A strict module may get its structure while a reservation is open. */
START_TEST(refused_commit_leaves_it_open)
{
	lc_cache *cache = open_module(run_scratch());
	lc_settings settings = { .struct_size = sizeof(settings) };
	const float floats[4] = { 1, 2, 3, 4 };
	const uint64_t shape[2] = { 2, 2 };
	lc_reservation *open;
	lc_tensor other;
	void *data;

	assert_ok(lc_tensor_init(&other, LC_F32, 2, shape, floats));
	assert_ok(lc_settings_get(cache, &settings));
	open = reserve(cache, "key", 100000, &data);
	sample_fill(data, 100000, 1);
	assert_ok(lc_put(cache, "first", 5, &other));
	assert_ok(lc_flush(cache));
	settings.policy = LC_STRICT;
	assert_ok(lc_settings_set(cache, &settings));
	assert_status(lc_reserve_commit(open), LC_SCHEMA);
	settings.policy = LC_EVOLVE;
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(lc_reserve_commit(open));
	seeded_expect(cache, "key", 100000, 1);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- threads ------------------------------------------------------------------ */

#define THREADS 4
#define EACH 30

struct worker {
	lc_cache *cache;
	unsigned number;
};

static void *
work(void *ctx)
{
	const struct worker *worker = ctx;
	char id[40];

	for (unsigned i = 0; i < EACH; i++) {
		const size_t size = 1000 + (size_t)i * 9000;
		const uint64_t seed = worker->number * 100 + i;
		void *data;
		lc_reservation *open;

		snprintf(id, sizeof(id), "%u of %u", i, worker->number);
		open = reserve(worker->cache, id, size, &data);
		sample_fill(data, size, seed);
		if (i % 7 == 3) {
			lc_reserve_cancel(open);
			continue;
		}
		need_ok(lc_reserve_commit(open));
		seeded_expect(worker->cache, id, size, seed);
		if (i % 10 == worker->number)
			need_ok(lc_flush(worker->cache));
	}
	return NULL;
}

START_TEST(threads_write_at_once)
{
	lc_options options = sample_options();
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	unsigned kept = 0;
	lc_cache *cache;
	char id[40];

	options.chunk_bytes = 300000;
	cache = sample_open(run_scratch(), "m", &options);
	for (unsigned t = 0; t < THREADS; t++) {
		workers[t] = (struct worker){ cache, t };
		ck_assert_int_eq(
		    pthread_create(&threads[t], NULL, work, &workers[t]), 0);
	}
	for (unsigned t = 0; t < THREADS; t++)
		ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
	assert_ok(lc_flush(cache));
	for (unsigned t = 0; t < THREADS; t++) {
		for (unsigned i = 0; i < EACH; i++) {
			snprintf(id, sizeof(id), "%u of %u", i, t);
			if (i % 7 == 3) {
				expect_missing(cache, id);
				continue;
			}
			seeded_expect(cache, id, 1000 + (size_t)i * 9000, t * 100 + i);
			kept++;
		}
	}
	seeded_intact(cache, kept);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("reserve");
	TCase *tcase = tcase_create("reserve");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, bytes_come_back);
	tcase_add_loop_test(tcase, record_is_that_of_a_put, 0, SIZES);
	tcase_add_test(tcase, last_commit_of_a_key_counts);
	tcase_add_test(tcase, flush_does_not_wait);
	tcase_add_test(tcase, cancel_stores_nothing);
	tcase_add_test(tcase, closed_handle_leaves_only_cancel);
	if (!RUN_THREAD_SANITIZER)
		tcase_add_test(tcase, fork_gives_each_side_its_own);
	tcase_add_test(tcase, codec_codes_at_the_commit);
	tcase_add_test(tcase, rank_that_does_not_write_keeps_it_in_memory);
	tcase_add_test(tcase, bad_reservations);
	tcase_add_test(tcase, refused_commit_leaves_it_open);
	tcase_add_test(tcase, threads_write_at_once);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
