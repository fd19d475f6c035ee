/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of a module by their place in it, against walks over the module. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "made_value.h"
#include "need.h"
#include "sample.h"
#include "source_walk.h"

static lc_cache *
open_with(const char *root, uint64_t flush_every, lc_codec codec)
{
	lc_options options = sample_options();

	options.flush_every = flush_every;
	options.durability = LC_DURABLE_RELAXED;
	options.codec = codec;
	return sample_open(root, "m", &options);
}

static lc_source *
open_source(lc_cache *cache, const lc_source_options *options)
{
	lc_source *source;

	assert_ok(lc_source_open_module(cache, options, &source));
	return source;
}

/* ---- the records of modules -------------------------------------------------- */

static const uint64_t flush_every[] = { 1, 3, 50, 100000 };
#define N_FLUSH 4

/* Overwrites and deletes leave dead records in most chunks. */
static void
put_much(lc_cache *cache, unsigned keys, bool rewrite)
{
	uint64_t random = run_seed(), version = 0;
	char id[SAMPLE_ID_ROOM];

	for (unsigned i = 0; i < (rewrite ? 3 * keys : keys); i++) {
		const size_t size = sample_id(id,
		    rewrite ? run_random(&random) % keys : i);

		if (rewrite && run_random(&random) % 4 == 0) {
			const lc_status status = lc_delete(cache, id, size);

			ck_assert(status == LC_OK || status == LC_NOT_FOUND);
			continue;
		}
		assert_ok(sample_put(cache, id, size, ++version, SAMPLE_SMALL));
	}
	assert_ok(lc_flush(cache));
}

START_TEST(records_are_those_of_a_walk)
{
	lc_cache *cache = open_with(run_scratch(), flush_every[_i / 2],
	    LC_CODEC_NONE);
	lc_source *source;

	put_much(cache, 300, _i % 2 == 1);
	source = open_source(cache, NULL);
	walk_expect_same(cache, source);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

static const lc_codec codecs[] = { LC_CODEC_NONE, LC_CODEC_LZ4,
	LC_CODEC_SHUFFLE_LZ4 };

/* Values with several tensors, of many structures, whole and coded. */
START_TEST(values_are_those_of_a_walk)
{
	const struct made_value how = { .tensors = true, .plain = true, .deep = 4 };
	lc_cache *cache = open_with(run_scratch(), 20, codecs[_i]);
	uint64_t random = run_seed() + (uint64_t)_i;
	lc_source *source;

	for (unsigned i = 0; i < 200; i++) {
		lc_value *value = make_value(&random, how);
		char id[16];
		const int size = snprintf(id, sizeof(id), "v%u", i % 150);

		assert_ok(lc_put_value(cache, id, (size_t)size, value));
		lc_value_free(value);
	}
	source = open_source(cache, NULL);
	walk_expect_same(cache, source);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* Large tensors of one value, so that every codec makes less of them. */
START_TEST(coded_tensors_are_decoded)
{
	static const char *const fields[] = { "b", "a" };
	static uint16_t numbers[2][600];
	lc_cache *cache = open_with(run_scratch(), 8, codecs[1 + _i]);
	struct lc__cursor *cursor;
	lc_source *source;
	lc_tensor tensors[2];
	struct lc__pin *pin;
	lc_id id;

	for (unsigned i = 0; i < 16; i++) {
		lc_value *value = lc_value_map();

		for (unsigned t = 0; t < 2; t++) {
			lc_tensor tensor;
			const uint64_t shape = 600;

			for (unsigned k = 0; k < 600; k++)
				numbers[t][k] = (uint16_t)(i * 2 + t);
			assert_ok(lc_tensor_init(&tensor, LC_U16, 1, &shape,
			    numbers[t]));
			lc_value_set(value, t == 0 ? "a" : "b",
			    lc_value_tensor(&tensor));
		}
		assert_ok(lc_put_value(cache, &(char){ (char)('a' + i) }, 1, value));
		lc_value_free(value);
	}
	source = open_source(cache, NULL);
	cursor = walk_cursor(source);
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 1));
	assert_ok(lc__cursor_read(cursor, 3, fields, 2, NULL, tensors, &id));
	ck_assert_uint_lt(lc__cursor_stored(cursor, 3), 1000);
	assert_ok(lc__cursor_pin(cursor, &pin));
	lc__cursor_free(cursor);
	for (unsigned k = 0; k < 600; k++) {
		ck_assert_uint_eq(((const uint16_t *)tensors[0].data)[k], 11 * 2 + 1);
		ck_assert_uint_eq(((const uint16_t *)tensors[1].data)[k], 11 * 2);
	}
	lc__pin_drop(pin);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- what is refused ----------------------------------------------------------- */

static void
put_numbered(lc_cache *cache, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++) {
		char id[16];
		const int size = snprintf(id, sizeof(id), "k%u", i);
		const lc_tensor tensor = sample_bytes(&i, sizeof(i));

		assert_ok(lc_put(cache, id, (size_t)size, &tensor));
	}
	assert_ok(lc_flush(cache));
}

START_TEST(a_record_without_the_field_is_named)
{
	static const char *const missing[] = { "x" };
	lc_cache *cache = open_with(run_scratch(), 4, LC_CODEC_NONE);
	struct lc__cursor *cursor;
	lc_source *source;
	lc_tensor tensor;
	lc_id id;

	put_numbered(cache, 0, 4);
	source = open_source(cache, NULL);
	cursor = walk_cursor(source);
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 0));
	assert_status(lc__cursor_read(cursor, 2, missing, 1, NULL, &tensor, &id),
	    LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "k2"));
	/* Nothing is remembered of it. */
	assert_status(lc__cursor_read(cursor, 2, missing, 1, NULL, &tensor, &id),
	    LC_SCHEMA);
	assert_ok(walk_read_one(cursor, 2, &tensor, &id));
	ck_assert_uint_eq(*(const unsigned *)tensor.data, 2);
	lc__cursor_free(cursor);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* A chunk of the layout that lost a record is not read as if it had not. */
START_TEST(a_chunk_with_fewer_records_is_changed)
{
	lc_cache *cache = open_with(run_scratch(), 10, LC_CODEC_NONE);
	struct lc__cursor *cursor;
	lc_source *source;

	put_numbered(cache, 0, 30);
	source = open_source(cache, NULL);
	cursor = walk_cursor(source);
	if (_i == 0)
		put_numbered(cache, 15, 1);
	else
		assert_ok(lc_delete(cache, "k15", 3));
	assert_ok(lc_flush(cache));
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 0));
	assert_status(lc__cursor_go(cursor, 1), LC_CHANGED);
	assert_ok(lc__cursor_go(cursor, 2));
	lc__cursor_end(cursor);
	assert_status(lc_source_refresh(source), LC_CHANGED);
	ck_assert_uint_eq(walk_info(source).records, 30);
	lc__cursor_free(cursor);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* What a cursor knows of a chunk is not believed after another commit. */
START_TEST(a_change_is_seen_by_a_cursor_that_was_there)
{
	lc_cache *cache = open_with(run_scratch(), 10, LC_CODEC_NONE);
	struct lc__cursor *cursor;
	lc_source *source;
	lc_tensor tensor;
	lc_id id;

	put_numbered(cache, 0, 20);
	source = open_source(cache, NULL);
	cursor = walk_cursor(source);
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 1));
	put_numbered(cache, 12, 1);
	/* It stands on the commit that it began on. */
	assert_ok(lc__cursor_go(cursor, 0));
	assert_ok(lc__cursor_go(cursor, 1));
	assert_ok(walk_read_one(cursor, 2, &tensor, &id));
	ck_assert_uint_eq(*(const unsigned *)tensor.data, 12);
	lc__cursor_end(cursor);
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 0));
	assert_status(lc__cursor_go(cursor, 1), LC_CHANGED);
	lc__cursor_free(cursor);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- pins ------------------------------------------------------------------------ */

START_TEST(pinned_bytes_stay_after_overwrites)
{
	lc_cache *cache = open_with(run_scratch(), 10, LC_CODEC_NONE);
	struct lc__cursor *cursor;
	lc_tensor tensors[10];
	struct lc__pin *pin;
	lc_source *source;
	lc_id id;

	put_numbered(cache, 0, 10);
	source = open_source(cache, NULL);
	cursor = walk_cursor(source);
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 0));
	for (unsigned i = 0; i < 10; i++)
		assert_ok(walk_read_one(cursor, i, &tensors[i], &id));
	assert_ok(lc__cursor_pin(cursor, &pin));
	for (unsigned round = 0; round < 20; round++)
		put_numbered(cache, 0, 10);
	assert_ok(lc_compact(cache, NULL, NULL));
	for (unsigned i = 0; i < 10; i++)
		ck_assert_uint_eq(*(const unsigned *)tensors[i].data, i);
	lc__pin_drop(pin);
	lc__pin_drop(NULL);
	lc__cursor_free(cursor);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("cursor");
	TCase *t = tcase_create("records");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, records_are_those_of_a_walk, 0, 2 * N_FLUSH);
	tcase_add_loop_test(t, values_are_those_of_a_walk, 0, 3);
	tcase_add_loop_test(t, coded_tensors_are_decoded, 0, 2);
	tcase_add_test(t, a_record_without_the_field_is_named);
	tcase_add_loop_test(t, a_chunk_with_fewer_records_is_changed, 0, 2);
	tcase_add_test(t, a_change_is_seen_by_a_cursor_that_was_there);
	tcase_add_test(t, pinned_bytes_stay_after_overwrites);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
