/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The failures that caches of module outputs are known for, one test each: what
 * a crash leaves at each step of a flush, files that do not belong there, damage
 * of the index and of the schema, several writers, and types.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "run.h"
#include "sample.h"

#define OK(call) ck_assert_msg((call) == LC_OK, "%s", lc_last_error()->text)
#define KEYS 50

static lc_cache *
open_module(const char *root)
{
	const lc_options options = sample_options();

	return sample_open(root, "features", &options);
}

static lc_id
key_of(unsigned i, char room[16])
{
	snprintf(room, 16, "sample_%u", i);
	return lc_id_of(room);
}

static void
put_all(lc_cache *cache, uint64_t version)
{
	char room[16];

	for (unsigned i = 0; i < KEYS; i++) {
		const lc_id id = key_of(i, room);

		need(sample_put(cache, id.data, id.size, version,
		    SAMPLE_SMALL) == LC_OK);
	}
}

static void
expect_all(lc_cache *cache, uint64_t version)
{
	char room[16];
	lc_view view;

	for (unsigned i = 0; i < KEYS; i++) {
		const lc_id id = key_of(i, room);

		OK(lc_get(cache, id.data, id.size, &view));
		ck_assert(sample_is(&view.tensor, id.data, id.size, version,
		    SAMPLE_SMALL));
		lc_view_release(&view);
	}
}

static void
expect_whole(lc_cache *cache)
{
	lc_verify_result result;

	OK(lc_verify(cache, NULL, &result));
}

static void
module_file(const char *root, const char *name, char out[600])
{
	need(snprintf(out, 600, "%s/features/%s", root, name) < 600);
}

/* Run @p body in a child that is killed at its end, without a close. */
static void
run_killed(const char *root, void (*body)(lc_cache *cache))
{
	const pid_t pid = fork();
	int status;

	need(pid != -1);
	if (pid == 0) {
		body(open_module(root));
		kill(getpid(), SIGKILL);
	}
	need(waitpid(pid, &status, 0) == pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* ---- crashes -------------------------------------------------------------- */

static void
put_only(lc_cache *cache)
{
	put_all(cache, 2);
}

static void
put_and_flush(lc_cache *cache)
{
	put_all(cache, 2);
	need(lc_flush(cache) == LC_OK);
}

START_TEST(a_crash_before_the_flush_leaves_what_was)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);

	put_all(cache, 1);
	OK(lc_close(cache));
	run_killed(root, put_only);
	cache = open_module(root);
	expect_all(cache, 1);
	expect_whole(cache);
	OK(lc_close(cache));
}
END_TEST

START_TEST(an_acknowledged_flush_is_never_lost)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);

	put_all(cache, 1);
	OK(lc_close(cache));
	run_killed(root, put_and_flush);
	cache = open_module(root);
	expect_all(cache, 2);
	expect_whole(cache);
	OK(lc_close(cache));
}
END_TEST

/* ---- files ---------------------------------------------------------------- */

static void
write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	need(fd != -1 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

START_TEST(files_that_do_not_belong_there_are_left_alone)
{
	static const char *const names[] = { "segment_000001.arrow.tmp",
		"segment_999999.arrow", "index.pkl", "schema.json", "data.mdb.tmp" };
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);
	struct stat st;
	char path[600];

	put_all(cache, 1);
	OK(lc_close(cache));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		module_file(root, names[i], path);
		write_file(path, "corrupted json {{{");
	}
	cache = open_module(root);
	expect_all(cache, 1);
	put_all(cache, 2);
	expect_whole(cache);
	OK(lc_close(cache));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		module_file(root, names[i], path);
		ck_assert_int_eq(stat(path, &st), 0);
	}
}
END_TEST

/* ---- damage --------------------------------------------------------------- */

/* Flip a bit @p at bytes behind each place where @p magic stands. */
static unsigned
damage_all(const char *root, const char *magic, size_t magic_size, size_t at)
{
	unsigned char *bytes;
	unsigned found = 0;
	char path[600];
	struct stat st;
	int fd;

	module_file(root, "data.mdb", path);
	fd = open(path, O_RDWR);
	need(fd != -1 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	need(bytes != NULL && read(fd, bytes, (size_t)st.st_size) == st.st_size);
	for (size_t i = 0; i + magic_size + at < (size_t)st.st_size; i++)
		if (memcmp(bytes + i, magic, magic_size) == 0) {
			bytes[i + at] ^= 4;
			found++;
		}
	need(pwrite(fd, bytes, (size_t)st.st_size, 0) == st.st_size);
	free(bytes);
	close(fd);
	return found;
}

START_TEST(a_damaged_index_is_rebuilt_from_the_chunks)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root);
	lc_recover_result result;
	lc_view view;

	put_all(cache, 1);
	OK(lc_flush(cache));
	put_all(cache, 2);
	OK(lc_close(cache));
	ck_assert_uint_gt(damage_all(root, "LCIX", 4, 16), 0);
	cache = open_module(root);
	ck_assert_int_eq(lc_get(cache, "sample_7", 8, &view), LC_CORRUPT);
	OK(lc_close(cache));
	OK(lc_recover(root, "features", 0, NULL, &result));
	ck_assert_uint_eq(result.records, KEYS);
	ck_assert_uint_eq(result.rescued, KEYS);
	ck_assert_uint_eq(result.lost, 0);
	cache = open_module(root);
	expect_all(cache, 2);
	expect_whole(cache);
	OK(lc_close(cache));
}
END_TEST

START_TEST(a_damaged_schema_is_made_again_by_the_next_put)
{
	const char *root = run_scratch();
	const uint64_t shape[1] = { 3 };
	const float numbers[3] = { 1, 2, 3 };
	lc_cache *cache = open_module(root);
	lc_tensor tensor, got;
	lc_view view;

	OK(lc_tensor_init(&tensor, LC_F32, 1, shape, numbers));
	OK(lc_put(cache, "a", 1, &tensor));
	OK(lc_close(cache));
	ck_assert_uint_gt(damage_all(root, "\xa5" "dtype", 6, 7), 0);
	cache = open_module(root);
	ck_assert_int_eq(lc_get(cache, "a", 1, &view), LC_CORRUPT);
	OK(lc_put(cache, "b", 1, &tensor));
	OK(lc_put(cache, "a", 1, &tensor));
	OK(lc_close(cache));
	cache = open_module(root);
	OK(lc_get_copy(cache, "a", 1, &got));
	ck_assert(sample_same(&got, &tensor));
	lc_tensor_free(&got);
	OK(lc_get_copy(cache, "b", 1, &got));
	ck_assert(sample_same(&got, &tensor));
	lc_tensor_free(&got);
	OK(lc_close(cache));
}
END_TEST

/* ---- writers and readers -------------------------------------------------- */

START_TEST(pending_puts_are_read_at_once)
{
	lc_cache *cache = open_module(run_scratch());

	put_all(cache, 1);
	expect_all(cache, 1);
	put_all(cache, 2);
	expect_all(cache, 2);
	OK(lc_close(cache));
}
END_TEST

/* Two writers must not answer with one another's tensors. */
START_TEST(two_writers_keep_their_tensors_apart)
{
	const char *root = run_scratch();
	lc_cache *cache;
	pid_t pids[2];
	char room[32];
	lc_view view;

	for (unsigned w = 0; w < 2; w++) {
		pids[w] = fork();
		need(pids[w] != -1);
		if (pids[w] != 0)
			continue;
		cache = open_module(root);
		for (unsigned i = 0; i < 500; i++) {
			const int n = snprintf(room, sizeof(room), "w%u-%u", w, i);

			need(sample_put(cache, room, (size_t)n, w + 1,
			    SAMPLE_SMALL) == LC_OK);
			if (i % 50 == 0)
				need(lc_flush(cache) == LC_OK);
		}
		need(lc_close(cache) == LC_OK);
		_exit(0);
	}
	for (unsigned w = 0; w < 2; w++) {
		int status;

		need(waitpid(pids[w], &status, 0) == pids[w] && status == 0);
	}
	cache = open_module(root);
	for (unsigned i = 0; i < 1000; i++) {
		const int n = snprintf(room, sizeof(room), "w%u-%u", i / 500,
		    i % 500);

		OK(lc_get(cache, room, (size_t)n, &view));
		ck_assert(sample_is(&view.tensor, room, (size_t)n, i / 500 + 1,
		    SAMPLE_SMALL));
		lc_view_release(&view);
	}
	expect_whole(cache);
	OK(lc_close(cache));
}
END_TEST

/* ---- types ---------------------------------------------------------------- */

/* Every dtype comes back as it was put; what is none is refused. */
START_TEST(no_dtype_is_converted)
{
	const uint64_t shape[2] = { 2, 2 };
	unsigned char bytes[64];
	lc_cache *cache = open_module(run_scratch());
	lc_tensor tensor, got;

	sample_fill(bytes, sizeof(bytes), 7);
	for (int dtype = 0; dtype < LC_DTYPE_COUNT; dtype++) {
		OK(lc_tensor_init(&tensor, (lc_dtype)dtype, 2, shape, bytes));
		OK(lc_put(cache, "k", 1, &tensor));
		OK(lc_flush(cache));
		OK(lc_get_copy(cache, "k", 1, &got));
		ck_assert(sample_same(&got, &tensor));
		lc_tensor_free(&got);
	}
	tensor.dtype = (lc_dtype)LC_DTYPE_COUNT;
	ck_assert_int_eq(lc_put(cache, "k", 1, &tensor), LC_INVALID);
	OK(lc_close(cache));
}
END_TEST

/* A value of mixed precision with data that is no tensor loses nothing. */
START_TEST(mixed_values_keep_every_field)
{
	const uint64_t shape[1] = { 4 };
	const double wide[4] = { 0.1, 0.2, 0.3, 0.4 };
	const uint16_t narrow[4] = { 1, 2, 3, 0x7e00 };
	lc_cache *cache = open_module(run_scratch());
	lc_value *value = lc_value_map(), *meta;
	const lc_value *got;
	lc_tensor f64, bf16;
	lc_view view;

	OK(lc_tensor_init(&f64, LC_F64, 1, shape, wide));
	OK(lc_tensor_init(&bf16, LC_BF16, 1, shape, narrow));
	lc_value_set(value, "wide", lc_value_tensor(&f64));
	lc_value_set(value, "narrow", lc_value_tensor(&bf16));
	meta = lc_value_set(value, "metadata", lc_value_map());
	lc_value_set(meta, "label", lc_value_str("foo"));
	lc_value_set(meta, "count", lc_value_integer(42));
	OK(lc_put_value(cache, "k", 1, value));
	OK(lc_flush(cache));
	OK(lc_get(cache, "k", 1, &view));
	OK(lc_view_value(&view, NULL, &got));
	ck_assert(lc_value_equal(got, value));
	lc_view_release(&view);
	lc_value_free(value);
	OK(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("scenarios");
	TCase *tc = tcase_create("scenarios");

	tcase_add_test(tc, a_crash_before_the_flush_leaves_what_was);
	tcase_add_test(tc, an_acknowledged_flush_is_never_lost);
	tcase_add_test(tc, files_that_do_not_belong_there_are_left_alone);
	tcase_add_test(tc, a_damaged_index_is_rebuilt_from_the_chunks);
	tcase_add_test(tc, a_damaged_schema_is_made_again_by_the_next_put);
	tcase_add_test(tc, pending_puts_are_read_at_once);
	tcase_add_test(tc, two_writers_keep_their_tensors_apart);
	tcase_add_test(tc, no_dtype_is_converted);
	tcase_add_test(tc, mixed_values_keep_every_field);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
