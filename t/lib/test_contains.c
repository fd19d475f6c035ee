/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of many cache_ids are there: the same answers as one by one, however many runs the
 * index has, what is pending, and what is damaged. */
#include "run.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define N 12000 /* more than are sorted */

static char names[N][16];
static lc_id ids[N];
static size_t missing[N];

static void
make_ids(void)
{
	for (size_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "key-%zu", i);
		ids[i] = lc_id_of(names[i]);
	}
}

static void
put(lc_cache *cache, size_t i)
{
	const lc_tensor tensor = sample_bytes(names[i], strlen(names[i]));

	assert_ok(lc_put(cache, ids[i].data, ids[i].size, &tensor));
}

/* Compare the answers to the first @p n with those to each: one that fails is neither there
 * nor missing, and the first of them is the failure of the batch. Where not even the newest
 * commit can be read, the batch fails as each does, for no item. */
static void
check_answers(lc_cache *cache, size_t n)
{
	size_t n_missing = 0, at = 0, failed = SIZE_MAX;
	const lc_status status = lc_contains_batch(cache, n, ids, missing, &n_missing);
	lc_error error = { .status = LC_OK };

	if (status != LC_OK)
		error = *lc_last_error();
	for (size_t i = 0; i < n; i++) {
		const lc_status one = lc_contains(cache, ids[i].data, ids[i].size);

		if (one == LC_NOT_FOUND) {
			ck_assert_uint_lt(at, n_missing);
			ck_assert_uint_eq(missing[at++], i);
		} else if (one != LC_OK && failed == SIZE_MAX) {
			char text[sizeof(error.text) + 32];

			failed = i;
			ck_assert_int_eq(one, status);
			snprintf(text, sizeof(text), "item %zu: %s", i,
			    lc_last_error()->text);
			if (strstr(error.text, ": state row: ") != NULL &&
			    strcmp(error.text, lc_last_error()->text) == 0) {
				ck_assert_uint_eq(error.item, SIZE_MAX);
				return;
			}
			ck_assert_str_eq(error.text, text);
		}
	}
	ck_assert_uint_eq(at, n_missing);
	if (failed == SIZE_MAX)
		assert_ok(status);
	else
		ck_assert_uint_eq(error.item, failed);
}

START_TEST(answers_are_those_of_each)
{
	static const size_t some[] = { 0, 1, 63, 64, 65, 4095, 4096, N };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	uint64_t random = run_seed();
	static bool there[N];

	make_ids();
	for (size_t i = 0; i < N; i++)
		there[i] = false;
	for (unsigned commit = 0; commit < sample_times(12); commit++) {
		/* The last changes of each are pending while it is asked. */
		for (unsigned change = 0; change < 1500; change++) {
			const size_t i = run_random(&random) % N;

			if (run_random(&random) % 3 > 0)
				put(cache, i);
			else if (lc_delete(cache, ids[i].data, ids[i].size) != LC_OK)
				ck_assert(!there[i]);
			there[i] = lc_contains(cache, ids[i].data, ids[i].size) == LC_OK;
			if (change == 1400)
				assert_ok(lc_flush(cache));
		}
		for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
			check_answers(cache, some[i]);
	}
	for (size_t i = 0; i < N; i++)
		ck_assert_int_eq(lc_contains(cache, ids[i].data, ids[i].size),
		    there[i] ? LC_OK : LC_NOT_FOUND);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(an_id_may_be_asked_for_twice)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	size_t n_missing;

	make_ids();
	put(cache, 0);
	assert_ok(lc_flush(cache));
	for (size_t i = 0; i < N; i++)
		ids[i] = lc_id_of(names[i % 2]);
	assert_ok(lc_contains_batch(cache, N, ids, missing, &n_missing));
	ck_assert_uint_eq(n_missing, N / 2);
	for (size_t i = 0; i < n_missing; i++)
		ck_assert_uint_eq(missing[i], 2 * i + 1);
	assert_ok(lc_close(cache));
}
END_TEST

/* All bytes of a file, to be freed. */
static unsigned char *
read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
	ck_assert_int_eq(fclose(file), 0);
	return bytes;
}

static void
write_at(const char *path, size_t at, unsigned char byte)
{
	FILE *file = fopen(path, "r+b");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, (long)at, SEEK_SET), 0);
	ck_assert_int_eq(fputc(byte, file), byte);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(damage_is_told_as_of_each)
{
	const lc_options options = sample_options();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	uint64_t random = run_seed();
	char path[4200];
	unsigned char *bytes;
	size_t size;
	lc_stats stats = { .struct_size = sizeof(stats) };

	make_ids();
	for (size_t i = 0; i < N; i += 2) {
		put(cache, i);
		if (i % 1500 == 0)
			assert_ok(lc_flush(cache));
	}
	assert_ok(lc_flush(cache));
	for (size_t i = 0; i < N; i += 100)
		ck_assert_int_eq(lc_delete(cache, ids[i].data, ids[i].size), LC_OK);
	assert_ok(lc_flush(cache));
	assert_ok(lc_stat(cache, &stats));
	ck_assert_uint_gt(stats.index_runs, 1);
	assert_ok(lc_close(cache));
	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	bytes = read_file(path, &size);
	for (unsigned turn = 0; turn < sample_times(150); turn++) {
		const size_t at = run_random(&random) % size;

		write_at(path, at, (unsigned char)(bytes[at] ^ (1u << run_random(&random) % 8)));
		/* What damages the pages of LMDB is met when it is opened. */
		if (lc_open(root, "m", &options, &cache) == LC_OK) {
			check_answers(cache, N);
			lc_discard(cache);
		}
		write_at(path, at, bytes[at]);
	}
	cache = sample_open(root, "m", &options);
	check_answers(cache, N);
	assert_ok(lc_close(cache));
	free(bytes);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contains");
	TCase *cases = tcase_create("contains");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, answers_are_those_of_each);
	tcase_add_test(cases, an_id_may_be_asked_for_twice);
	tcase_add_test(cases, damage_is_told_as_of_each);
	suite_add_tcase(suite, cases);
	return run_suite(suite);
}
