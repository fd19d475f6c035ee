/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules of plain puts as sources: generations, lengths, growing, many threads. */
#include "run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"
#include "source_walk.h"

static lc_cache *
open_module(const char *root, const char *length_field)
{
	lc_options options = sample_options();
	lc_cache *cache;

	options.flush_every = 10;
	options.durability = LC_DURABLE_RELAXED;
	cache = sample_open(root, "m", &options);
	sample_set_length(cache, length_field);
	return cache;
}

static lc_source *
open_source(lc_cache *cache)
{
	lc_source *source;

	need_ok(lc_source_open_module(cache, NULL, &source));
	return source;
}

static lc_status
open_at(lc_cache *cache, uint64_t generation, lc_source **source)
{
	lc_source_options options;

	lc_source_options_init(&options);
	options.generation = generation;
	return lc_source_open_module(cache, &options, source);
}

/* Record i: u32 numbers, all of them i; as many as asked for. */
static void
put_numbers(lc_cache *cache, uint32_t i, uint64_t count)
{
	uint32_t *numbers = malloc((size_t)count * sizeof(*numbers) + 1);
	lc_tensor tensor;
	char id[16];
	const int size = snprintf(id, sizeof(id), "n%u", i);

	for (uint64_t k = 0; k < count; k++)
		numbers[k] = i;
	need_ok(lc_tensor_init(&tensor, LC_U32, 1, &count, numbers));
	need_ok(lc_put(cache, id, (size_t)size, &tensor));
	free(numbers);
}

static void
put_range(lc_cache *cache, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		put_numbers(cache, i, 1);
	need_ok(lc_flush(cache));
}

/* ---- generations ------------------------------------------------------------------- */

START_TEST(an_empty_module_is_an_empty_source)
{
	lc_cache *cache = open_module(run_scratch(), "");
	lc_source *source = open_source(cache);
	lc_source_info info = walk_info(source);

	ck_assert_uint_eq(info.records, 0);
	ck_assert_uint_eq(info.chunks, 0);
	ck_assert_uint_eq(info.generation, 0);
	ck_assert_uint_eq(info.prefix_hash, 0);
	ck_assert(!info.final);
	put_range(cache, 0, 10);
	assert_ok(lc_source_refresh(source));
	ck_assert_uint_eq(walk_info(source).records, 10);
	info.struct_size = 1;
	assert_status(lc_source_info_get(source, &info), LC_INVALID);
	lc_source_close(source);
	lc_source_close(NULL);
	assert_ok(lc_close(cache));
}
END_TEST

/* What was put and not flushed belongs to it. */
START_TEST(opening_flushes_the_handle)
{
	lc_cache *cache = open_module(run_scratch(), "");
	lc_source *source;

	put_numbers(cache, 0, 1);
	source = open_source(cache);
	ck_assert_uint_eq(walk_info(source).records, 1);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(appending_keeps_the_prefix)
{
	lc_cache *cache = open_module(run_scratch(), "");
	lc_source_info known[5];
	lc_source *source, *early;
	struct lc__layout *layout;

	put_range(cache, 0, 10);
	source = open_source(cache);
	for (uint32_t i = 0; i < 5; i++) {
		assert_ok(lc_source_refresh(source));
		known[i] = walk_info(source);
		ck_assert_uint_eq(known[i].records, 10 * (i + 1));
		if (i > 0) {
			ck_assert_uint_gt(known[i].generation,
			    known[i - 1].generation);
			ck_assert_uint_ne(known[i].prefix_hash,
			    known[i - 1].prefix_hash);
		}
		put_range(cache, 10 * (i + 1), 10);
	}
	for (uint32_t i = 0; i < 5; i++) {
		assert_ok(lc__source_layout_at(source, known[i].generation,
		    &layout));
		ck_assert_mem_eq(lc__layout_info(layout), &known[i],
		    sizeof(known[i]));
		lc__layout_drop(layout);
		assert_ok(open_at(cache, known[i].generation, &early));
		/* It is never more. */
		assert_ok(lc_source_refresh(early));
		ck_assert_uint_eq(walk_info(early).prefix_hash,
		    known[i].prefix_hash);
		ck_assert_uint_eq(walk_info(early).records, 10 * (i + 1));
		assert_status(lc_source_wait(early, 10 * (i + 1) + 1, UINT64_MAX),
		    LC_END);
		assert_status(lc__source_layout_at(early,
		    known[i].generation + 1, &layout), LC_CHANGED);
		lc_source_close(early);
	}
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* A token of somebody who has seen more than this source. */
START_TEST(a_later_generation_is_looked_for)
{
	lc_cache *cache = open_module(run_scratch(), "");
	lc_source *source, *later;
	struct lc__layout *layout;
	uint64_t generation;

	put_range(cache, 0, 10);
	source = open_source(cache);
	put_range(cache, 10, 10);
	later = open_source(cache);
	generation = walk_info(later).generation;
	put_range(cache, 20, 10);
	assert_ok(lc__source_layout_at(source, generation, &layout));
	ck_assert_uint_eq(lc__layout_info(layout)->records, 20);
	ck_assert_uint_eq(lc__layout_info(layout)->prefix_hash,
	    walk_info(later).prefix_hash);
	lc__layout_drop(layout);
	ck_assert_uint_eq(walk_info(source).records, 10);
	assert_status(lc__source_layout_at(source, generation + 100, &layout),
	    LC_CHANGED);
	assert_status(open_at(cache, generation + 100, &later), LC_NOT_FOUND);
	lc_source_close(later);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* What becomes of records that are known. */
static void
overwrite(lc_cache *cache)
{
	put_range(cache, 5, 1);
}

static void
take_away(lc_cache *cache)
{
	assert_ok(lc_delete(cache, "n5", 2));
	assert_ok(lc_flush(cache));
}

static void
empty(lc_cache *cache)
{
	assert_ok(lc_clear(cache));
}

static void
join(lc_cache *cache)
{
	lc_compact_options options;

	lc_compact_options_init(&options);
	options.live_ratio = 1;
	assert_ok(lc_delete(cache, "n5", 2));
	assert_ok(lc_flush(cache));
	assert_ok(lc_compact(cache, &options, NULL));
}

static void (*const changes[])(lc_cache *) = { overwrite, take_away, empty, join };

START_TEST(a_change_of_what_is_known_is_told)
{
	lc_cache *cache = open_module(run_scratch(), "");
	struct lc__layout *layout;
	lc_source_info before, after;
	lc_source *source;

	put_range(cache, 0, 40);
	source = open_source(cache);
	before = walk_info(source);
	changes[_i](cache);
	assert_status(lc_source_refresh(source), LC_CHANGED);
	assert_status(lc_source_wait(source, 100, 0), LC_CHANGED);
	put_range(cache, 100, 50);
	assert_status(lc_source_refresh(source), LC_CHANGED);
	assert_status(lc__source_layout_at(source, before.generation + 3,
	    &layout), LC_CHANGED);
	after = walk_info(source);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	lc_source_close(source);
	source = open_source(cache);
	walk_expect_same(cache, source);
	ck_assert_uint_ne(walk_info(source).prefix_hash, before.prefix_hash);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- lengths -------------------------------------------------------------------------- */

/* Lengths 0 to 6 at random or all alike. */
static uint64_t
put_lengths(lc_cache *cache, uint32_t n, bool alike, uint64_t *random,
    uint64_t *lengths)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		lengths[i] = alike ? 4 : run_random(random) % 7;
		put_numbers(cache, i, lengths[i]);
		sum += lengths[i];
	}
	need_ok(lc_flush(cache));
	return sum;
}

#define ROWS 95

/* Each unit belongs to the record that it should, and stands where it should. */
static void
expect_units(lc_source *source, const uint64_t *lengths)
{
	struct lc__layout *layout = lc__source_layout(source);
	struct lc__cursor *cursor = walk_cursor(source);
	uint64_t unit = 0;

	assert_ok(lc__cursor_begin(cursor));
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint64_t k = 0; k < lengths[i]; k++, unit++) {
			uint64_t position, record, before;
			struct lc__chunk_row row;
			lc_tensor tensor;
			lc_id id;

			assert_ok(lc__layout_find_unit(layout, unit, &position,
			    &row));
			assert_ok(lc__cursor_go(cursor, position));
			assert_ok(lc__cursor_find(cursor, unit - row.first_unit,
			    &record, &before));
			ck_assert_uint_eq(row.first_record + record, i);
			ck_assert_uint_eq(row.first_unit + before + k, unit);
			ck_assert_uint_eq(lc__cursor_units(cursor, record),
			    lengths[i]);
			assert_ok(walk_read_one(cursor, record, &tensor, &id));
			ck_assert_uint_eq(tensor.shape[0], lengths[i]);
			ck_assert_uint_eq(((const uint32_t *)tensor.data)[k], i);
		}
	lc__cursor_free(cursor);
	lc__layout_drop(layout);
}

/* The module's own field, and the same one asked for of a module without. */
START_TEST(units_are_found)
{
	const bool own = _i % 2 == 0, alike = _i / 2 % 2 == 0;
	lc_cache *cache = open_module(run_scratch(), own ? "." : "");
	uint64_t random = run_seed(), lengths[ROWS];
	const uint64_t sum = put_lengths(cache, ROWS, alike, &random, lengths);
	lc_source_options options;
	lc_source_info info;
	lc_source *source;

	lc_source_options_init(&options);
	options.length_field = own ? NULL : ".";
	assert_ok(lc_source_open_module(cache, &options, &source));
	info = walk_info(source);
	ck_assert(info.has_lengths);
	ck_assert_uint_eq(info.length, sum);
	ck_assert_uint_eq(info.records, ROWS);
	ck_assert_str_eq(lc__source_length_field(source), ".");
	expect_units(source, lengths);
	walk_expect_same(cache, source);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* Dead records take their lengths along. */
START_TEST(units_of_what_lives_are_counted)
{
	const bool own = _i == 0;
	lc_cache *cache = open_module(run_scratch(), own ? "." : "");
	uint64_t random = run_seed(), lengths[ROWS], sum = 0;
	lc_source_options options;
	lc_source *source;

	(void)put_lengths(cache, ROWS, false, &random, lengths);
	for (uint32_t i = 0; i < ROWS; i += 1 + run_random(&random) % 3)
		put_numbers(cache, i, lengths[i] = run_random(&random) % 9);
	assert_ok(lc_delete(cache, "n7", 2));
	assert_ok(lc_flush(cache));
	for (uint32_t i = 0; i < ROWS; i++)
		sum += i == 7 ? 0 : lengths[i];
	lc_source_options_init(&options);
	options.length_field = own ? NULL : ".";
	assert_ok(lc_source_open_module(cache, &options, &source));
	ck_assert_uint_eq(walk_info(source).length, sum);
	walk_expect_same(cache, source);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* Asked for none, records are units, whatever the module says. */
START_TEST(lengths_can_be_left_aside)
{
	lc_cache *cache = open_module(run_scratch(), ".");
	uint64_t random = run_seed(), lengths[ROWS];
	lc_source_options options;
	lc_source *source;

	(void)put_lengths(cache, ROWS, false, &random, lengths);
	lc_source_options_init(&options);
	options.length_field = "";
	assert_ok(lc_source_open_module(cache, &options, &source));
	ck_assert(!walk_info(source).has_lengths);
	ck_assert_uint_eq(walk_info(source).length, ROWS);
	walk_expect_same(cache, source);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

static const char *const bad_fields[] = { "a..b", "a\\n", ".." };

START_TEST(bad_options_are_refused)
{
	lc_cache *cache = open_module(run_scratch(), "");
	char longest[LC_LENGTH_FIELD_MAX + 2];
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	options.length_field = bad_fields[_i];
	assert_status(lc_source_open_module(cache, &options, &source), LC_INVALID);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	options.length_field = longest;
	assert_status(lc_source_open_module(cache, &options, &source), LC_INVALID);
	options.length_field = NULL;
	options.struct_size = 0;
	assert_status(lc_source_open_module(cache, &options, &source), LC_INVALID);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- directories that are kept ------------------------------------------------------- */

/* Chunks of records of many sizes with dead ones among them, whose places have to be
 * worked out: read through twice with room for all of them, for some, for none. */
START_TEST(directories_are_kept_within_their_bound)
{
	static const uint64_t bounds[] = { 1 << 20, 3000, 0 };
	lc_cache *cache = open_module(run_scratch(), "");
	uint64_t random = run_seed(), lengths[ROWS], hits, misses, chunks;
	lc_source_options options;
	struct lc__cursor *cursor;
	lc_source *source;

	(void)put_lengths(cache, ROWS, false, &random, lengths);
	for (uint32_t i = 3; i < ROWS; i += 10)
		put_numbers(cache, i, 50);
	assert_ok(lc_flush(cache));
	lc_source_options_init(&options);
	options.directory_bytes = bounds[_i];
	assert_ok(lc_source_open_module(cache, &options, &source));
	walk_expect_same(cache, source);
	chunks = walk_info(source).chunks;
	cursor = walk_cursor(source);
	assert_ok(lc__cursor_begin(cursor));
	for (uint64_t p = 0; p < chunks; p++)
		assert_ok(lc__cursor_go(cursor, p));
	lc__cursor_counts(cursor, &hits, &misses);
	ck_assert_uint_eq(hits + misses, chunks);
	/* The newest chunk has no dead records and says all by itself. */
	if (_i == 0)
		ck_assert_uint_eq(misses, 1);
	if (_i == 2)
		ck_assert_uint_eq(hits, 0);
	lc__cursor_free(cursor);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- waiting ---------------------------------------------------------------------------- */

struct growing {
	const char *root;
	lc_cache *cache;
	atomic_int stop;
};

static void *
grow(void *arg)
{
	struct growing *g = arg;

	for (uint32_t i = 10; i < 200; i += 10)
		put_range(g->cache, i, 10);
	return NULL;
}

START_TEST(waiting_ends_when_there_is_enough)
{
	struct growing g = { .root = run_scratch() };
	lc_source *source;
	pthread_t writer;

	g.cache = open_module(g.root, "");
	put_range(g.cache, 0, 10);
	source = open_source(g.cache);
	assert_ok(lc_source_wait(source, 10, 0));
	assert_status(lc_source_wait(source, 11, 0), LC_TIMEOUT);
	assert_status(lc_source_wait(source, 11, 20), LC_TIMEOUT);
	ck_assert_int_eq(pthread_create(&writer, NULL, grow, &g), 0);
	for (uint64_t records = 11; records <= 200; records += 9) {
		assert_ok(lc_source_wait(source, records, UINT64_MAX));
		ck_assert_uint_ge(walk_info(source).records, records);
	}
	pthread_join(writer, NULL);
	walk_expect_same(g.cache, source);
	lc_source_close(source);
	assert_ok(lc_close(g.cache));
}
END_TEST

static void
grow_in_child(void *arg)
{
	struct growing *g = arg;

	g->cache = open_module(g->root, "");
	(void)grow(g);
	need_ok(lc_close(g->cache));
}

START_TEST(commits_of_another_process_are_seen)
{
	struct growing g = { .root = run_scratch() };
	lc_source *source;
	lc_cache *cache;
	pid_t child;

	cache = open_module(g.root, "");
	put_range(cache, 0, 10);
	assert_ok(lc_close(cache));
	child = child_start(grow_in_child, &g);
	cache = open_module(g.root, "");
	source = open_source(cache);
	assert_ok(lc_source_wait(source, 200, UINT64_MAX));
	ck_assert_int_eq(child_wait(child), 0);
	ck_assert_uint_eq(walk_info(source).records, 200);
	walk_expect_same(cache, source);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- many threads ----------------------------------------------------------------------- */

struct crowd {
	lc_source *source;
	uint64_t seed;
};

/* Every record says who it is; nothing is missing. */
static void *
read_at_random(void *arg)
{
	const struct crowd *crowd = arg;
	uint64_t random = crowd->seed;

	for (unsigned round = 0; round < 20; round++) {
		struct lc__layout *layout = lc__source_layout(crowd->source);
		const uint64_t records = lc__layout_info(layout)->records;
		struct lc__cursor *cursor;
		struct lc__pin *pin;

		need_ok(lc__cursor_new(crowd->source, layout, &cursor));
		need_ok(lc__cursor_begin(cursor));
		for (unsigned k = 0; k < 50; k++) {
			const uint64_t i = run_random(&random) % records;
			struct lc__chunk_row row;
			uint64_t position;
			lc_tensor tensor;
			lc_id id;

			need_ok(lc__layout_find_record(layout, i, &position, &row));
			need_ok(lc__cursor_go(cursor, position));
			lc__cursor_willneed(cursor, i - row.first_record, 1);
			need_ok(walk_read_one(cursor, i - row.first_record, &tensor,
			    &id));
			need(*(const uint32_t *)tensor.data == i);
		}
		need_ok(lc__cursor_pin(cursor, &pin));
		lc__cursor_free(cursor);
		lc__pin_drop(pin);
		lc__layout_drop(layout);
		need_ok(lc_source_refresh(crowd->source));
	}
	return NULL;
}

/* Sizes differ, and one room for few directories: all threads make and drop them. */
START_TEST(many_threads_use_one_source)
{
	struct growing g = { .root = run_scratch() };
	lc_source_options options;
	struct crowd crowds[4];
	pthread_t readers[4], writer;
	lc_source *source;

	g.cache = open_module(g.root, ".");
	for (uint32_t i = 0; i < 10; i++)
		put_numbers(g.cache, i, 1 + i * 5);
	assert_ok(lc_flush(g.cache));
	lc_source_options_init(&options);
	options.directory_bytes = 400;
	assert_ok(lc_source_open_module(g.cache, &options, &source));
	ck_assert_int_eq(pthread_create(&writer, NULL, grow, &g), 0);
	for (unsigned i = 0; i < 4; i++) {
		crowds[i] = (struct crowd){ source, run_seed() + i };
		ck_assert_int_eq(pthread_create(&readers[i], NULL, read_at_random,
		    &crowds[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(readers[i], NULL);
	pthread_join(writer, NULL);
	assert_ok(lc_source_refresh(source));
	ck_assert_uint_eq(walk_info(source).records, 200);
	walk_expect_same(g.cache, source);
	lc_source_close(source);
	assert_ok(lc_close(g.cache));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("source");
	TCase *t = tcase_create("plain");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, an_empty_module_is_an_empty_source);
	tcase_add_test(t, opening_flushes_the_handle);
	tcase_add_test(t, appending_keeps_the_prefix);
	tcase_add_test(t, a_later_generation_is_looked_for);
	tcase_add_loop_test(t, a_change_of_what_is_known_is_told, 0, 4);
	tcase_add_loop_test(t, units_are_found, 0, 4);
	tcase_add_loop_test(t, units_of_what_lives_are_counted, 0, 2);
	tcase_add_test(t, lengths_can_be_left_aside);
	tcase_add_loop_test(t, bad_options_are_refused, 0, 3);
	tcase_add_loop_test(t, directories_are_kept_within_their_bound, 0, 3);
	tcase_add_test(t, waiting_ends_when_there_is_enough);
	tcase_add_test(t, commits_of_another_process_are_seen);
	tcase_add_test(t, many_threads_use_one_source);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
