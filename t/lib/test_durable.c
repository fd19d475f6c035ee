/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts that are durable when they return: lc_put_durable(), lc_put_value_durable(). */
#include "run.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"
#include "seeded.h"

/* Around each size at which something changes: memory of its own, no copy between. */
static const size_t sizes[] = { 0, 1, 64, 4096, 65408, 65537, 131072,
	262144 - 700, 262144 - 576, 262143, 262144, 262145, 300001, (2 << 20) - 1, (2 << 20) + 100, 5000003 };
#define SIZES ((int)(sizeof(sizes) / sizeof(*sizes)))

/* ---- what the library writes, under control --------------------------------- */

static atomic_int fail_with;        /* a write of large pages fails with it; 0: none */
static void *_Atomic while_written; /* a function to be run before such a write, once */

/* The other thread's part. */
static void *
run(void *function)
{
	void (*fn)(void);

	memcpy(&fn, &function, sizeof(fn));
	fn();
	return NULL;
}

/* Before the pages of a large record are written; false if that is to fail. */
static bool
may_write(size_t size)
{
	void *function = size > 100000 ? atomic_exchange(&while_written, NULL) : NULL;
	pthread_t thread;

	if (function != NULL) {
		need(pthread_create(&thread, NULL, run, function) == 0);
		need(pthread_join(thread, NULL) == 0);
	}
	errno = atomic_load(&fail_with);
	return size <= 100000 || errno == 0;
}

__attribute__((visibility("default"))) ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	return may_write(size) ? syscall(SYS_pwrite64, fd, data, size, offset) : -1;
}

__attribute__((visibility("default"))) ssize_t
writev(int fd, const struct iovec *parts, int n)
{
	size_t size = 0;

	for (int i = 0; i < n; i++)
		size += parts[i].iov_len;
	return may_write(size) ? syscall(SYS_writev, fd, parts, n) : -1;
}

/* Requests to begin writing a file, the file of the last one, and whether threads can be
 * started. */
static pthread_mutex_t early_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t early_changed = PTHREAD_COND_INITIALIZER;
static unsigned early_calls;
static ino_t early_file;
static atomic_bool no_threads;

__attribute__((visibility("default"))) int
sync_file_range(int fd, off64_t offset, off64_t size, unsigned flags)
{
	struct stat st;

	need(fstat(fd, &st) == 0);
	pthread_mutex_lock(&early_lock);
	early_calls++;
	early_file = st.st_ino;
	pthread_cond_broadcast(&early_changed);
	pthread_mutex_unlock(&early_lock);
	return (int)syscall(SYS_sync_file_range, fd, offset, size, flags);
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *ctx)
{
	static __typeof__(&pthread_create) next;

	if (atomic_load(&no_threads))
		return EAGAIN;
	if (next == NULL)
		next = (__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create");
	return next(thread, attr, fn, ctx);
}

#define THREADS 4
#define EACH 20

struct worker {
	lc_cache *cache;
	unsigned number;
};

static lc_cache *
open_module(const char *root, const char *module)
{
	const lc_options options = sample_options();

	return sample_open(root, module, &options);
}

/* Put bytes that follow from @p seed, and change the caller's memory after it. */
static lc_status
put(lc_cache *cache, const char *id, size_t size, uint64_t seed)
{
	unsigned char *bytes = malloc(size + 1);
	lc_tensor tensor;
	lc_status status;

	need(bytes != NULL);
	sample_fill(bytes, size, seed);
	tensor = sample_bytes(bytes, size);
	status = lc_put_durable(cache, id, strlen(id), &tensor);
	memset(bytes, 0xee, size);
	free(bytes);
	return status;
}

/* ---- bytes ----------------------------------------------------------------- */

/* The record is the one that lc_put() makes, to the last byte of its padding, whether its
 * structure is new in the module or not. */
START_TEST(record_is_that_of_a_put)
{
	static const char *const modules[] = { "durable", "put" };
	const size_t size = sizes[_i];
	const char *root = run_scratch();
	unsigned char *bytes = malloc(size + 1), *records[2];
	size_t record_sizes[2];
	lc_tensor tensor;

	ck_assert_ptr_nonnull(bytes);
	sample_fill(bytes, size, 9);
	tensor = sample_bytes(bytes, size);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2; i++) {
			lc_cache *cache = open_module(root, modules[i]);

			if (i == 0) {
				assert_ok(put(cache, "key", size, 9));
			} else {
				assert_ok(lc_put(cache, "key", 3, &tensor));
				assert_ok(lc_flush(cache));
			}
			ck_assert_uint_eq(seeded_stats(cache).pending_records, 0);
			seeded_expect(cache, "key", size, 9);
			seeded_intact(cache, 1);
			assert_ok(lc_close(cache));
			records[i] = seeded_last_record(root, modules[i], &record_sizes[i]);
		}
		ck_assert_uint_eq(record_sizes[0], record_sizes[1]);
		ck_assert(memcmp(records[0], records[1], record_sizes[0]) == 0);
		free(records[0]);
		free(records[1]);
	}
	free(bytes);
}
END_TEST

/* What was put before is committed with it; the last put of a key counts. */
START_TEST(others_are_committed_too)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m");

	assert_ok(sample_put(cache, "small", 5, 1, SAMPLE_SMALL));
	assert_ok(put(cache, "large", 300000, 2));
	ck_assert_uint_eq(seeded_stats(cache).pending_records, 0);
	ck_assert_uint_eq(seeded_stats(cache).chunks, 1);
	assert_ok(put(cache, "large", 270000, 3));
	seeded_expect(cache, "large", 270000, 3);
	seeded_intact(cache, 2);
	assert_ok(lc_close(cache));
	cache = open_module(root, "m");
	seeded_expect(cache, "large", 270000, 3);
	seeded_intact(cache, 2);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(values_and_codecs)
{
	lc_options options = sample_options();
	unsigned char *bytes = malloc(900000);
	lc_value *value = lc_value_map();
	lc_tensor tensors[3];
	lc_cache *cache;
	lc_view view;

	ck_assert_ptr_nonnull(bytes);
	sample_fill(bytes, 900000, 4);
	memset(bytes + 300000, 0, 300000);
	for (int i = 0; i < 3; i++) {
		const char name[2] = { (char)('a' + i), '\0' };

		tensors[i] = sample_bytes(bytes + 300000 * i, 300000);
		lc_value_set(value, name, lc_value_tensor(&tensors[i]));
	}
	lc_value_set(value, "label", lc_value_integer(7));
	for (int coded = 0; coded < 2; coded++) {
		options.codec = coded ? LC_CODEC_LZ4 : LC_CODEC_NONE;
		cache = sample_open(run_scratch(), coded ? "coded" : "plain", &options);
		assert_ok(lc_put_value_durable(cache, "key", 3, value));
		ck_assert_int_eq(seeded_stats(cache).live_bytes < 620000, coded);
		assert_ok(lc_get(cache, "key", 3, &view));
		for (int i = 0; i < 3; i++) {
			const char name[2] = { (char)('a' + i), '\0' };
			const lc_value *got;
			lc_tensor tensor;

			assert_ok(lc_view_value(&view, name, &got));
			assert_ok(lc_value_as_tensor(got, &tensor));
			ck_assert(sample_same(&tensor, &tensors[i]));
		}
		lc_view_release(&view);
		seeded_intact(cache, 1);
		assert_ok(lc_close(cache));
	}
	lc_value_free(value);
	free(bytes);
}
END_TEST

/* ---- while it is written, and when that fails ---------------------------------- */

static lc_cache *shared;

static void
read_it(void)
{
	seeded_expect(shared, "key", 400000, 5);
}

START_TEST(others_read_it_while_it_is_written)
{
	void (*fn)(void) = read_it;
	void *function;

	memcpy(&function, &fn, sizeof(function));
	shared = open_module(run_scratch(), "m");
	atomic_store(&while_written, function);
	assert_ok(put(shared, "key", 400000, 5));
	ck_assert_ptr_null(atomic_load(&while_written));
	seeded_expect(shared, "key", 400000, 5);
	assert_ok(lc_close(shared));
}
END_TEST

/* A record whose commit fails is pending, and no longer needs the caller's memory. */
START_TEST(failure_leaves_it_pending)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m");

	assert_ok(put(cache, "old", 150000, 1));
	atomic_store(&fail_with, ENOSPC);
	/* With a structure that the module has, and with one that is new. */
	assert_status(put(cache, "key", 400000, 5), LC_NO_SPACE);
	seeded_expect(cache, "key", 400000, 5);
	ck_assert_uint_eq(seeded_stats(cache).pending_records, 1);
	/* The one before is tried again first, and the error is the same. */
	assert_status(put(cache, "key", 300000, 6), LC_NO_SPACE);
	atomic_store(&fail_with, 0);
	assert_ok(lc_flush(cache));
	seeded_expect(cache, "old", 150000, 1);
	assert_ok(put(cache, "key", 300000, 7));
	seeded_expect(cache, "key", 300000, 7);
	seeded_intact(cache, 2);
	assert_ok(lc_close(cache));

	/* A record that is dropped with the others, and one of a handle that is closed. */
	cache = open_module(root, "m");
	atomic_store(&fail_with, EIO);
	assert_status(put(cache, "key", 400000, 8), LC_IO);
	assert_status(lc_close(cache), LC_IO);
	atomic_store(&fail_with, 0);
	cache = open_module(root, "m");
	seeded_expect(cache, "key", 300000, 7);
	seeded_intact(cache, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* From this size on the pages of a commit are sent to the disk while LMDB writes them. */
#define LARGE ((size_t)8 << 20)

/* The write waits for this: it returns when another thread has asked for the pages. */
static void
wait_for_early(void)
{
	pthread_mutex_lock(&early_lock);
	while (early_calls == 0)
		pthread_cond_wait(&early_changed, &early_lock);
	pthread_mutex_unlock(&early_lock);
}

START_TEST(large_commit_is_written_early)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	void (*fn)(void) = wait_for_early;
	char path[PATH_MAX];
	struct stat st;
	void *function;
	lc_cache *cache;

	memcpy(&function, &fn, sizeof(function));
	options.chunk_bytes = 2 * LARGE;
	cache = sample_open(root, "m", &options);
	assert_ok(put(cache, "small", LARGE - 100000, 1));
	ck_assert_uint_eq(early_calls, 0);
	atomic_store(&while_written, function);
	assert_ok(put(cache, "large", LARGE, 2));
	ck_assert_ptr_null(atomic_load(&while_written));
	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(early_file, st.st_ino);

	seeded_expect(cache, "large", LARGE, 2);
	seeded_intact(cache, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* It is a help only: without the thread, and when the commit fails, all is as usual. */
START_TEST(large_commit_without_a_thread)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m");

	assert_ok(put(cache, "small", 100, 1));
	atomic_store(&no_threads, true);
	assert_ok(put(cache, "key", LARGE + 1, 2));
	atomic_store(&no_threads, false);
	ck_assert_uint_eq(early_calls, 0);
	seeded_expect(cache, "key", LARGE + 1, 2);
	for (int i = 0; i < 2; i++) {
		atomic_store(&fail_with, i == 0 ? ENOSPC : EIO);
		assert_status(put(cache, "key", LARGE + 2, 3), i == 0 ? LC_NO_SPACE : LC_IO);
		seeded_expect(cache, "key", LARGE + 2, 3);
		atomic_store(&fail_with, 0);
		assert_ok(lc_flush(cache));
	}
	assert_ok(lc_close(cache));
	cache = open_module(root, "m");
	seeded_expect(cache, "key", LARGE + 2, 3);
	seeded_intact(cache, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* Commits that fail while several threads put: a record whose commit fails is completed by
 * its thread, while others try it again and its memory may be another record's by then. */
static void *
put_with_failures(void *ctx)
{
	const struct worker *worker = ctx;
	char id[40];

	for (unsigned i = 0; i < 40; i++) {
		const uint64_t seed = worker->number * 100 + i;
		lc_status status;

		snprintf(id, sizeof(id), "%u of %u", i, worker->number);
		atomic_store(&fail_with, i % 3 == worker->number % 3 ? ENOSPC : 0);
		status = put(worker->cache, id, 300000, seed);
		need(status == LC_OK || status == LC_NO_SPACE);
		/* It was not taken if a commit before had failed: lc_put() says so. */
		if (lc_contains(worker->cache, id, strlen(id)) == LC_OK)
			seeded_expect(worker->cache, id, 300000, seed);
		else
			need(status == LC_NO_SPACE);
	}
	return NULL;
}

START_TEST(threads_put_while_commits_fail)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	lc_cache *cache = open_module(run_scratch(), "m");
	lc_verify_result result;

	for (unsigned t = 0; t < THREADS; t++) {
		workers[t] = (struct worker){ cache, t };
		ck_assert_int_eq(pthread_create(&threads[t], NULL, put_with_failures,
				     &workers[t]),
		    0);
	}
	for (unsigned t = 0; t < THREADS; t++)
		ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
	atomic_store(&fail_with, 0);
	assert_ok(lc_flush(cache));
	assert_ok(lc_verify(cache, NULL, &result));
	ck_assert_uint_eq(result.damaged, 0);
	assert_ok(lc_close(cache));
}
END_TEST

/* A view that is held for long is warned of after a commit, by the thread that made it.
 * Others may commit meanwhile. */
static atomic_bool warned;

static void *
put_one_more(void *ctx)
{
	(void)ctx;
	need_ok(put(shared, "more", 300000, 7));
	return NULL;
}

static void
on_log(void *ctx, const char *text)
{
	pthread_t thread;

	(void)ctx;
	need(strstr(text, "has been held for") != NULL);
	need(pthread_create(&thread, NULL, put_one_more, NULL) == 0);
	need(pthread_join(thread, NULL) == 0);
	atomic_store(&warned, true);
}

START_TEST(others_commit_during_a_warning)
{
	lc_options options = sample_options();
	lc_view view;

	options.pin_warn_ms = 1;
	options.log = on_log;
	shared = sample_open(run_scratch(), "m", &options);
	assert_ok(put(shared, "held", 300000, 1));
	assert_ok(lc_get(shared, "held", 4, &view));
	while (!atomic_load(&warned))
		assert_ok(put(shared, "key", 300000, 2));
	ck_assert_uint_eq(seeded_stats(shared).pending_records, 0);
	ck_assert_uint_eq(seeded_stats(shared).pending_bytes, 0);
	seeded_expect(shared, "more", 300000, 7);
	lc_view_release(&view);
	seeded_intact(shared, 3);
	assert_ok(lc_close(shared));
}
END_TEST

/* With a limit to its wait the call may return before the commit ends. */
START_TEST(limit_copies_first)
{
	lc_options options = sample_options();
	lc_cache *cache;

	options.timeout_ms = 3600000;
	cache = sample_open(run_scratch(), "m", &options);
	assert_ok(put(cache, "key", 400000, 5));
	seeded_expect(cache, "key", 400000, 5);
	ck_assert_uint_eq(seeded_stats(cache).pending_records, 0);
	seeded_intact(cache, 1);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(rank_that_does_not_write_keeps_it_in_memory)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *writer = open_module(root, "m"), *cache;

	options.rank = 1;
	options.writer_rank = 0;
	options.lru_bytes = 1 << 20;
	cache = sample_open(root, "m", &options);
	assert_ok(put(cache, "key", 200000, 1));
	seeded_expect(cache, "key", 200000, 1);
	assert_status(lc_contains(writer, "key", 3), LC_NOT_FOUND);
	assert_ok(lc_close(cache));
	assert_ok(lc_close(writer));
}
END_TEST

START_TEST(refused)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m");
	const lc_tensor tensor = sample_bytes("x", 1);
	lc_options options = sample_options();

	assert_status(lc_put_durable(cache, "", 0, &tensor), LC_INVALID);
	assert_status(lc_put_durable(cache, "key", 3, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "put: 'key': no tensor");
	assert_status(lc_put_value_durable(cache, "key", 3, NULL), LC_NO_MEMORY);
	assert_ok(lc_put_durable(cache, "key", 3, &tensor));
	assert_ok(lc_close(cache));
	options.flags = LC_RDONLY;
	cache = sample_open(root, "m", &options);
	assert_status(lc_put_durable(cache, "key", 3, &tensor), LC_READONLY);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- threads ------------------------------------------------------------------ */

static size_t
size_of(unsigned i)
{
	return 1000 + (size_t)i * 20000;
}

static void *
work(void *ctx)
{
	const struct worker *worker = ctx;
	char id[40];

	for (unsigned i = 0; i < EACH; i++) {
		const uint64_t seed = worker->number * 100 + i;

		snprintf(id, sizeof(id), "%u of %u", i, worker->number);
		need_ok(put(worker->cache, id, size_of(i), seed));
		seeded_expect(worker->cache, id, size_of(i), seed);
		/* All of them replace this one. */
		need_ok(put(worker->cache, "same", size_of(i), i));
	}
	return NULL;
}

START_TEST(threads_put_at_once)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	lc_options options = sample_options();
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
	ck_assert_uint_eq(seeded_stats(cache).pending_records, 0);
	for (unsigned t = 0; t < THREADS; t++) {
		for (unsigned i = 0; i < EACH; i++) {
			snprintf(id, sizeof(id), "%u of %u", i, t);
			seeded_expect(cache, id, size_of(i), t * 100 + i);
		}
	}
	seeded_expect(cache, "same", size_of(EACH - 1), EACH - 1);
	seeded_intact(cache, THREADS * EACH + 1);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("durable");
	TCase *tcase = tcase_create("durable");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, record_is_that_of_a_put, 0, SIZES);
	tcase_add_test(tcase, others_are_committed_too);
	tcase_add_test(tcase, values_and_codecs);
	tcase_add_test(tcase, others_read_it_while_it_is_written);
	tcase_add_test(tcase, failure_leaves_it_pending);
	tcase_add_test(tcase, large_commit_is_written_early);
	tcase_add_test(tcase, large_commit_without_a_thread);
	tcase_add_test(tcase, threads_put_while_commits_fail);
	tcase_add_test(tcase, others_commit_during_a_warning);
	tcase_add_test(tcase, limit_copies_first);
	tcase_add_test(tcase, rank_that_does_not_write_keeps_it_in_memory);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, threads_put_at_once);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
