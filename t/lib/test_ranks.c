/* SPDX-License-Identifier: BSD-2-Clause */
/* Four processes, of which one writes; and four of which all do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "run.h"
#include "sample.h"

#define RANKS 4
#define KEYS 100 /* of each rank */

#define OK(call) ck_assert_msg((call) == LC_OK, "%s", lc_last_error()->text)

/* Key i of a rank. */
static lc_id
key_of(int rank, unsigned i, char room[32])
{
	snprintf(room, 32, "rank %d, sample %u", rank, i);
	return lc_id_of(room);
}

/* Open as a launcher's child does: its rank is in the environment. */
static lc_cache *
open_rank(const char *root, int rank, int writer_rank)
{
	lc_options options;
	lc_cache *cache;
	char number[16];

	snprintf(number, sizeof(number), "%d", rank);
	setenv("RANK", number, 1);
	options = sample_options();
	need(options.rank == rank);
	options.writer_rank = writer_rank;
	cache = sample_open(root, "m", &options);
	unsetenv("RANK");
	return cache;
}

static void
expect_sample(lc_cache *cache, int rank, unsigned i)
{
	char room[32];
	const lc_id id = key_of(rank, i, room);
	lc_view view;

	need(lc_get(cache, id.data, id.size, &view) == LC_OK);
	need(sample_is(&view.tensor, id.data, id.size, 1, SAMPLE_SMALL));
	lc_view_release(&view);
}

/* One epoch: put what this rank computed, read it back, flush. */
static void
run_epoch(const char *root, int rank, int writer_rank)
{
	lc_cache *cache = open_rank(root, rank, writer_rank);
	char room[32];

	for (unsigned i = 0; i < KEYS; i++) {
		const lc_id id = key_of(rank, i, room);

		need(sample_put(cache, id.data, id.size, 1, SAMPLE_SMALL) == LC_OK);
		expect_sample(cache, rank, i);
	}
	need(lc_flush(cache) == LC_OK);
	for (unsigned i = 0; i < KEYS; i++)
		expect_sample(cache, rank, i);
	need(lc_close(cache) == LC_OK);
}

static void
run_ranks(const char *root, int writer_rank)
{
	pid_t pids[RANKS];

	for (int rank = 0; rank < RANKS; rank++) {
		pids[rank] = fork();
		need(pids[rank] != -1);
		if (pids[rank] == 0) {
			run_epoch(root, rank, writer_rank);
			_exit(0);
		}
	}
	for (int rank = 0; rank < RANKS; rank++) {
		int status;

		need(waitpid(pids[rank], &status, 0) == pids[rank]);
		ck_assert_int_eq(status, 0);
	}
}

static void
expect_stored(const char *root, int rank, bool stored)
{
	lc_cache *cache = open_rank(root, 0, LC_RANK_ANY);
	char room[32];

	for (unsigned i = 0; i < KEYS; i++) {
		const lc_id id = key_of(rank, i, room);

		ck_assert_int_eq(lc_contains(cache, id.data, id.size),
		    stored ? LC_OK : LC_NOT_FOUND);
		if (stored)
			expect_sample(cache, rank, i);
	}
	OK(lc_close(cache));
}

START_TEST(one_rank_writes)
{
	const char *root = run_scratch();

	run_ranks(root, 2);
	for (int rank = 0; rank < RANKS; rank++)
		expect_stored(root, rank, rank == 2);
}
END_TEST

START_TEST(any_rank_writes)
{
	const char *root = run_scratch();

	run_ranks(root, LC_RANK_ANY);
	for (int rank = 0; rank < RANKS; rank++)
		expect_stored(root, rank, true);
}
END_TEST

/* What the others put is theirs alone, and only as long as the LRU has room. */
START_TEST(other_ranks_keep_what_fits)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_counters counters = { .struct_size = sizeof(counters) };
	unsigned found = 0;
	lc_cache *cache;
	char room[32];
	lc_view view;

	OK(lc_close(sample_open(root, "m", &options)));
	options.rank = 1;
	options.writer_rank = 0;
	options.lru_bytes = 20000;
	cache = sample_open(root, "m", &options);
	for (unsigned i = 0; i < 1000; i++) {
		const lc_id id = key_of(1, i, room);

		OK(sample_put(cache, id.data, id.size, 1, SAMPLE_SMALL));
		OK(lc_counters_get(cache, &counters));
		ck_assert_uint_le(counters.lru_bytes, options.lru_bytes);
	}
	ck_assert_uint_gt(counters.lru_evictions, 0);
	for (unsigned i = 0; i < 1000; i++) {
		const lc_id id = key_of(1, i, room);

		if (lc_get(cache, id.data, id.size, &view) != LC_OK)
			continue;
		ck_assert(sample_is(&view.tensor, id.data, id.size, 1,
		    SAMPLE_SMALL));
		found++;
		lc_view_release(&view);
	}
	ck_assert_uint_eq(found, counters.lru_records);
	ck_assert_uint_ge(found, 10);
	OK(lc_close(cache));
}
END_TEST

START_TEST(other_ranks_delete_only_what_is_theirs)
{
	const char *root = run_scratch();
	lc_cache *writer = open_rank(root, 0, 0);
	lc_cache *other = open_rank(root, 1, 0);
	char room[32];
	const lc_id id = key_of(0, 0, room);

	OK(sample_put(writer, id.data, id.size, 1, SAMPLE_SMALL));
	OK(lc_flush(writer));
	OK(sample_put(other, id.data, id.size, 2, SAMPLE_SMALL));
	OK(lc_delete(other, id.data, id.size));
	expect_sample(other, 0, 0);
	expect_sample(writer, 0, 0);
	OK(lc_close(other));
	OK(lc_close(writer));
}
END_TEST

START_TEST(bad_ranks_are_refused)
{
	lc_options options = sample_options();
	lc_cache *cache;

	options.rank = -1;
	ck_assert_int_eq(lc_open(run_scratch(), "m", &options, &cache), LC_INVALID);
	options.rank = 0;
	options.writer_rank = -2;
	ck_assert_int_eq(lc_open(run_scratch(), "m", &options, &cache), LC_INVALID);
	setenv("RANK", "two", 1);
	lc_options_init(&options);
	ck_assert_int_eq(options.rank, 0);
	unsetenv("RANK");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("ranks");
	TCase *tc = tcase_create("ranks");

	tcase_add_test(tc, one_rank_writes);
	tcase_add_test(tc, any_rank_writes);
	tcase_add_test(tc, other_ranks_keep_what_fits);
	tcase_add_test(tc, other_ranks_delete_only_what_is_theirs);
	tcase_add_test(tc, bad_ranks_are_refused);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
