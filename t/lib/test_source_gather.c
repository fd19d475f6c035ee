/* SPDX-License-Identifier: BSD-2-Clause */
/* Many records of sources by their ordinals, and ordinals by cache_ids. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_stream.h"
#include "made_warehouse.h"
#include "need.h"
#include "run.h"
#include "sample.h"

#define LENGTH 4u

static struct made_stream made;

/* Chunks of 1 to 40 records of four tokens each. */
static void
fill(unsigned chunks, bool input)
{
	uint64_t lengths[40];

	for (unsigned i = 0; i < 40; i++)
		lengths[i] = LENGTH;
	made_stream_new(&made, 1, false, false);
	if (input)
		made_stream_input(&made);
	for (unsigned i = 0; i < chunks; i++)
		made_stream_chunk(&made, lengths, 1 + (i * 17 + 11) % 40);
}

static lc_tensor
row_of_tokens(void)
{
	const uint64_t shape[1] = { LENGTH };
	lc_tensor row;

	assert_ok(lc_tensor_init(&row, LC_U32, 1, shape, NULL));
	return row;
}

static void
expect_tokens(const uint32_t *row, uint64_t k)
{
	for (unsigned j = 0; j < LENGTH; j++)
		ck_assert_uint_eq(row[j], made_token(1, k, j));
}

static void
assert_text(const char *want)
{
	ck_assert_str_eq(lc_last_error()->text, want);
}

/* ---- modules ---------------------------------------------------------------------- */

/* Any ordinals in any order, some several times, by any number of threads. */
START_TEST(what_is_asked_for)
{
	uint64_t seed = run_seed();
	const lc_tensor row = row_of_tokens();
	lc_tensor found;

	fill(30, _i % 2 == 1);
	if (_i == 2) {
		made_stream_delete(&made, 3);
		made_stream_delete(&made, made.records - 1);
	}
	made_stream_open(&made);
	assert_ok(lc_source_gather_row(made.source, made.records - 1, "tokens", &found));
	ck_assert_int_eq(found.dtype, LC_U32);
	ck_assert_uint_eq(found.ndim, 1);
	ck_assert_uint_eq(found.shape[0], LENGTH);
	ck_assert_ptr_null(found.data);
	for (unsigned round = 0; round < sample_times(60); round++) {
		const size_t n = run_random(&seed) % 400;
		uint64_t *ordinals = malloc((n + 1) * sizeof(*ordinals));
		uint32_t *rows = malloc((n + 1) * LENGTH * sizeof(*rows));
		lc_status *statuses = malloc((n + 1) * sizeof(*statuses));

		for (size_t i = 0; i < n; i++)
			ordinals[i] = round % 3 == 0 ? i % made.records
						     : run_random(&seed) % made.records;
		memset(rows, 0xee, (n + 1) * LENGTH * sizeof(*rows));
		assert_ok(lc_source_gather(made.source, n, ordinals, "tokens", &row, rows,
		    n * LENGTH * sizeof(*rows), (unsigned)(run_random(&seed) % 6),
		    round % 2 ? statuses : NULL));
		for (size_t i = 0; i < n; i++) {
			expect_tokens(rows + i * LENGTH, made.keys[ordinals[i]]);
			if (round % 2)
				ck_assert_int_eq(statuses[i], LC_OK);
		}
		ck_assert_uint_eq(rows[n * LENGTH], 0xeeeeeeee);
		free(ordinals);
		free(rows);
		free(statuses);
	}
	made_stream_close(&made);
}
END_TEST

/* The same source with one field after another: each call knows its own. */
START_TEST(fields_in_turn)
{
	static const uint64_t ordinals[] = { 7, 3, 5 };
	const uint64_t pair[2] = { LENGTH, 2 };
	const lc_tensor tokens = row_of_tokens();
	lc_tensor label, pairs;

	fill(3, false);
	made_stream_open(&made);
	assert_ok(lc_source_gather_row(made.source, 0, "label", &label));
	ck_assert_uint_eq(label.ndim, 0);
	assert_ok(lc_tensor_init(&pairs, LC_U16, 2, pair, NULL));
	for (unsigned round = 0; round < 9; round++) {
		char path[8] = "label"; /* the same memory for each path */
		uint32_t rows[3 * LENGTH];
		uint16_t halves[3 * LENGTH * 2];
		int64_t labels[3];

		assert_ok(lc_source_gather(made.source, 3, ordinals, path, &label, labels,
		    sizeof(labels), 1, NULL));
		strcpy(path, "tokens");
		assert_ok(lc_source_gather(made.source, 3, ordinals, path, &tokens, rows,
		    sizeof(rows), 1, NULL));
		strcpy(path, "pairs");
		assert_ok(lc_source_gather(made.source, 3, ordinals, path, &pairs, halves,
		    sizeof(halves), 1, NULL));
		for (unsigned i = 0; i < 3; i++) {
			ck_assert_int_eq(labels[i], 1000 + (int64_t)ordinals[i]);
			expect_tokens(rows + i * LENGTH, ordinals[i]);
			ck_assert_mem_eq(halves + i * LENGTH * 2, rows + i * LENGTH,
			    LENGTH * sizeof(*rows));
		}
	}
	made_stream_close(&made);
}
END_TEST

/* ---- failures --------------------------------------------------------------------- */

START_TEST(beyond_the_last)
{
	static const uint64_t ordinals[] = { 2, UINT64_MAX, 1, 12, 0 };
	const lc_tensor row = row_of_tokens();
	uint32_t rows[5 * LENGTH];
	lc_status statuses[5];
	char text[1000];
	lc_tensor found;

	fill(1, false);
	made_stream_open(&made);
	ck_assert_uint_eq(made.records, 12);
	memset(rows, 0xee, sizeof(rows));
	assert_status(lc_source_gather(made.source, 5, ordinals, "tokens", &row, rows,
	    sizeof(rows), 1, statuses), LC_INVALID);
	snprintf(text, sizeof(text),
	    "item 1: %s/m: no record 18446744073709551615; it has 12 records, "
	    "from 0", made.root);
	assert_text(text);
	for (unsigned i = 0; i < 5; i++) {
		const bool there = ordinals[i] < 12;

		ck_assert_int_eq(statuses[i], there ? LC_OK : LC_INVALID);
		if (there)
			expect_tokens(rows + i * LENGTH, ordinals[i]);
		for (unsigned j = 0; !there && j < LENGTH; j++)
			ck_assert_uint_eq(rows[i * LENGTH + j], 0);
	}
	assert_status(lc_source_gather_row(made.source, 12, "tokens", &found), LC_INVALID);
	assert_status(lc_source_gather(made.source, 5, ordinals, "tokens", &row, rows,
	    sizeof(rows) - 1, 1, statuses), LC_INVALID);
	assert_text("gather: 5 rows of 16 bytes do not fit into 79");
	assert_ok(lc_source_gather(made.source, 0, NULL, "tokens", &row, NULL, 0, 1,
	    NULL));
	made_stream_close(&made);
}
END_TEST

START_TEST(other_shapes_and_fields)
{
	static const uint64_t lengths[] = { 4, 4, 5, 4 };
	static const uint64_t ordinals[] = { 3, 2, 0 };
	const lc_tensor row = row_of_tokens();
	uint32_t rows[3 * LENGTH];
	lc_status statuses[3];
	char text[1000];

	made_stream_new(&made, 1, false, false);
	made_stream_chunk(&made, lengths, 4);
	made_stream_open(&made);
	assert_status(lc_source_gather(made.source, 3, ordinals, "tokens", &row, rows,
	    sizeof(rows), 1, statuses), LC_SCHEMA);
	snprintf(text, sizeof(text),
	    "item 1: %s/m: record 2, '1-2': u32[5], not u32[4]", made.root);
	assert_text(text);
	ck_assert_int_eq(statuses[0], LC_OK);
	ck_assert_int_eq(statuses[1], LC_SCHEMA);
	ck_assert_int_eq(statuses[2], LC_OK);
	expect_tokens(rows, 3);
	expect_tokens(rows + 2 * LENGTH, 0);
	assert_status(lc_source_gather(made.source, 3, ordinals, "none", &row, rows,
	    sizeof(rows), 1, statuses), LC_SCHEMA);
	assert_status(lc_source_gather(made.source, 3, ordinals, NULL, &row, rows,
	    sizeof(rows), 1, statuses), LC_SCHEMA);
	made_stream_close(&made);
}
END_TEST

/* The records of a chunk that changed, and no others. */
START_TEST(records_that_changed)
{
	const lc_tensor row = row_of_tokens();
	uint64_t ordinals[200];
	uint32_t rows[200 * LENGTH];
	lc_status statuses[200];
	struct made_chunk gone;

	fill(8, false);
	made_stream_open(&made);
	ck_assert_uint_ge(made.records, 130);
	for (uint64_t i = 0; i < 200; i++)
		ordinals[i] = (i * 37) % made.records;
	gone = made.chunks[3];
	{
		char id[16];
		const int size = snprintf(id, sizeof(id), "1-%llu",
		    (unsigned long long)made.keys[gone.first]);

		assert_ok(lc_delete(made.cache, id, (size_t)size));
		assert_ok(lc_flush(made.cache));
	}
	assert_status(lc_source_gather(made.source, 200, ordinals, "tokens", &row, rows,
	    sizeof(rows), 3, statuses), LC_CHANGED);
	for (unsigned i = 0; i < 200; i++) {
		const bool there = ordinals[i] < gone.first ||
		    ordinals[i] >= gone.first + gone.records;

		ck_assert_int_eq(statuses[i], there ? LC_OK : LC_CHANGED);
		if (there)
			expect_tokens(rows + i * LENGTH, made.keys[ordinals[i]]);
		else
			ck_assert_uint_eq(rows[i * LENGTH], 0);
	}
	made_stream_close(&made);
}
END_TEST

/* Change a byte of record k's tokens in the module's file. */
static void
damage(uint64_t k)
{
	uint32_t tokens[LENGTH];
	char path[600], *bytes, *at;
	size_t size;
	FILE *file;

	for (uint64_t j = 0; j < LENGTH; j++)
		tokens[j] = made_token(1, k, j);
	snprintf(path, sizeof(path), "%s/m/data.mdb", made.root);
	file = fopen(path, "r+b");
	ck_assert_ptr_nonnull(file);
	fseek(file, 0, SEEK_END);
	size = (size_t)ftell(file);
	bytes = malloc(size);
	rewind(file);
	ck_assert_uint_eq(fread(bytes, 1, size, file), size);
	for (at = bytes; memcmp(at, tokens, sizeof(tokens)) != 0; at++)
		ck_assert_uint_lt((size_t)(at - bytes), size - sizeof(tokens));
	fseek(file, (long)(at - bytes), SEEK_SET);
	fputc(*at ^ 1, file);
	ck_assert_int_eq(fclose(file), 0);
	free(bytes);
}

START_TEST(a_damaged_record)
{
	static const uint64_t ordinals[] = { 7, 6, 5 };
	const lc_tensor row = row_of_tokens();
	uint32_t rows[3 * LENGTH];
	lc_status statuses[3];

	fill(2, false);
	made_stream_open(&made);
	damage(6);
	memset(rows, 0xee, sizeof(rows));
	assert_status(lc_source_gather(made.source, 3, ordinals, "tokens", &row, rows,
	    sizeof(rows), 1, statuses), LC_CORRUPT);
	ck_assert_ptr_eq(strstr(lc_last_error()->text, "item 1: "),
	    lc_last_error()->text);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "'1-6'"));
	expect_tokens(rows, 7);
	expect_tokens(rows + 2 * LENGTH, 5);
	for (unsigned j = 0; j < LENGTH; j++)
		ck_assert_uint_eq(rows[LENGTH + j], 0);
	made_stream_close(&made);
}
END_TEST

/* ---- other sources ---------------------------------------------------------------- */

START_TEST(parts_and_joins)
{
	const lc_tensor row = row_of_tokens();
	uint32_t rows[2 * LENGTH];
	uint64_t next[2] = { 0, 0 };
	lc_join modules[2];
	lc_source *join, *parts[2];

	fill(4, false);
	made_stream_open(&made);
	modules[0] = (lc_join){ "a", made.cache };
	modules[1] = (lc_join){ "b", made.cache };
	assert_ok(lc_source_open_join(modules, 2, LC_MISSING_REFUSE, NULL, &join));
	for (unsigned p = 0; p < 2; p++) {
		lc_source_options o;

		lc_source_options_init(&o);
		o.split = "0=0.5,1=0.5";
		o.part = p == 0 ? "0" : "1";
		assert_ok(lc_source_open_module(made.cache, &o, &parts[p]));
	}
	for (uint64_t i = 0; i < made.records; i++) {
		const uint64_t both[2] = { i, made.records - 1 - i };
		char id[16];
		const int n = snprintf(id, sizeof(id), "1-%u", (unsigned)i);
		size_t p;

		assert_ok(lc_source_gather(join, 2, both, i % 2 ? "a.tokens" : "b.tokens",
		    &row, rows, sizeof(rows), 1, NULL));
		expect_tokens(rows, both[0]);
		expect_tokens(rows + LENGTH, both[1]);
		assert_ok(lc_split_part("0=0.5,1=0.5", 0, id, (size_t)n, &p));
		assert_ok(lc_source_gather(parts[p], 1, &next[p], "tokens", &row, rows,
		    sizeof(rows), 1, NULL));
		expect_tokens(rows, i);
		next[p]++;
	}
	for (unsigned p = 0; p < 2; p++)
		lc_source_close(parts[p]);
	lc_source_close(join);
	made_stream_close(&made);
}
END_TEST

START_TEST(shards)
{
	static const struct made_variant plain;
	const struct made warehouse = made_warehouse(&plain);
	uint64_t ordinals[MADE_FIRST], frames[1] = { MADE_FIRST };
	unsigned char *images = malloc((size_t)MADE_FIRST * MADE_IMAGE);
	lc_status statuses[MADE_FIRST];
	lc_source *source;
	lc_tensor row;

	assert_ok(lc_source_open_shards(warehouse.warehouse, NULL, &source));
	assert_ok(lc_source_gather_row(source, 0, NULL, &row));
	ck_assert_uint_eq(row.nbytes, MADE_IMAGE);
	for (uint64_t i = 0; i < MADE_FIRST; i++)
		ordinals[i] = MADE_FIRST - 1 - i;
	assert_ok(lc_source_gather(source, MADE_FIRST, ordinals, NULL, &row, images,
	    (size_t)MADE_FIRST * MADE_IMAGE, 1, statuses));
	for (uint64_t i = 0; i < MADE_FIRST; i++)
		ck_assert_mem_eq(images + i * MADE_IMAGE, made_image(ordinals[i]),
		    MADE_IMAGE);
	assert_ok(lc_source_gather_row(source, 0, "boxes", &row));
	assert_ok(lc_source_gather(source, 1, ordinals, "boxes", &row, images, row.nbytes,
	    1, NULL));
	ck_assert_mem_eq(images, made_boxes(ordinals[0]), row.nbytes);
	/* The images of the second series have another shape. */
	assert_ok(lc_source_gather_row(source, 0, "image", &row));
	assert_status(lc_source_gather(source, 1, frames, "image", &row, images,
	    row.nbytes, 1, NULL), LC_SCHEMA);
	lc_source_close(source);
	free(images);
}
END_TEST

/* ---- by cache_id ------------------------------------------------------------------ */

START_TEST(ordinals_of_ids)
{
	lc_id *ids;
	uint64_t *ordinals;
	char (*texts)[16];
	size_t n;

	fill(20, false);
	made_stream_delete(&made, 5);
	made_stream_delete(&made, 0);
	made_stream_open(&made);
	n = (size_t)made.records + 3;
	ids = calloc(n, sizeof(*ids));
	texts = calloc(n, sizeof(*texts));
	ordinals = calloc(n, sizeof(*ordinals));
	for (size_t i = 0; i < n; i++)
		ids[i] = (lc_id){ texts[i], (size_t)sprintf(texts[i], "1-%llu",
		    (unsigned long long)(i < made.records ? made.keys[i] : 5)) };
	/* Never there, deleted, and put after the source was opened. */
	ids[n - 3] = lc_id_of("none");
	ids[n - 1] = lc_id_of("late");
	{
		const uint32_t number = 1;
		lc_tensor tensor;

		assert_ok(lc_tensor_init(&tensor, LC_U32, 0, NULL, &number));
		assert_ok(lc_put(made.cache, "late", 4, &tensor));
		assert_ok(lc_flush(made.cache));
	}
	assert_ok(lc_source_find(made.source, n, ids, ordinals));
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(ordinals[i], i < made.records ? i : UINT64_MAX);
	assert_ok(lc_source_refresh(made.source));
	assert_ok(lc_source_find(made.source, n, ids, ordinals));
	ck_assert_uint_eq(ordinals[n - 1], made.records);
	ids[2] = (lc_id){ "", 0 };
	assert_status(lc_source_find(made.source, n, ids, ordinals), LC_INVALID);
	assert_text("item 2: find: empty cache_id");
	free(ids);
	free(texts);
	free(ordinals);
	made_stream_close(&made);
}
END_TEST

/* A record that was replaced is in a chunk that the source does not know; one in a chunk
 * that lost a record changed. */
START_TEST(ids_that_changed)
{
	const lc_id ids[2] = { lc_id_of("1-3"), lc_id_of("1-4") };
	const uint32_t number = 1;
	uint64_t ordinals[2];
	lc_tensor tensor;

	fill(1, false);
	made_stream_open(&made);
	assert_ok(lc_tensor_init(&tensor, LC_U32, 0, NULL, &number));
	assert_ok(lc_put(made.cache, "1-3", 3, &tensor));
	assert_ok(lc_flush(made.cache));
	assert_ok(lc_source_find(made.source, 1, ids, ordinals));
	ck_assert_uint_eq(ordinals[0], UINT64_MAX);
	assert_status(lc_source_find(made.source, 2, ids, ordinals), LC_CHANGED);
	made_stream_close(&made);
}
END_TEST

START_TEST(sources_that_cannot_tell)
{
	static const struct made_variant plain;
	const lc_id id = lc_id_of("1-3");
	lc_join modules[2];
	lc_source *source;
	uint64_t ordinal;
	char text[1000];

	fill(3, true);
	made_stream_open(&made);
	assert_status(lc_source_find(made.source, 1, &id, &ordinal), LC_UNSUPPORTED);
	snprintf(text, sizeof(text),
	    "item 0: %s/m: is filled by its inputs, and their order has no index", made.root);
	assert_text(text);
	modules[0] = (lc_join){ "a", made.cache };
	modules[1] = (lc_join){ "b", made.cache };
	assert_ok(lc_source_open_join(modules, 2, LC_MISSING_REFUSE, NULL, &source));
	assert_status(lc_source_find(source, 1, &id, &ordinal), LC_UNSUPPORTED);
	assert_text("item 0: a+b: has no index of cache_ids");
	lc_source_close(source);
	made_stream_close(&made);
	assert_ok(lc_source_open_shards(made_warehouse(&plain).warehouse, NULL, &source));
	assert_status(lc_source_find(source, 1, &id, &ordinal), LC_UNSUPPORTED);
	lc_source_close(source);
}
END_TEST

/* ---- threads ------------------------------------------------------------------------ */

static void *
gather_some(void *arg)
{
	const uint64_t shape[1] = { LENGTH };
	uint64_t seed = (uint64_t)(uintptr_t)arg;
	uint64_t ordinals[150];
	uint32_t rows[150 * LENGTH];
	lc_tensor row;

	need_ok(lc_tensor_init(&row, LC_U32, 1, shape, NULL));
	for (int round = 0; round < 50; round++) {
		for (unsigned i = 0; i < 150; i++)
			ordinals[i] = run_random(&seed) % made.records;
		need_ok(lc_source_gather(made.source, 150, ordinals, "tokens", &row, rows,
		    sizeof(rows), (unsigned)round % 4, NULL));
		for (unsigned i = 0; i < 150 * LENGTH; i++)
			need(rows[i] == made_token(1, ordinals[i / LENGTH], i % LENGTH));
	}
	return NULL;
}

static size_t questions; /* until the answer is to stop */

static int
stop_after(void *ctx)
{
	size_t *left = ctx;

	return *left == 0 || --*left == 0;
}

/* The rows that were read stay, all others say that they were not. */
START_TEST(a_call_that_reads_many_can_be_stopped)
{
	enum { MANY = 500 };
	const lc_tensor row = row_of_tokens();
	lc_source_options options;
	uint64_t ordinals[MANY], found[MANY];
	uint32_t rows[MANY * LENGTH];
	lc_status statuses[MANY], status;
	lc_id ids[MANY];
	char names[MANY][32];
	lc_source *source;

	fill(30, false);
	ck_assert_uint_ge(made.records, MANY);
	made_stream_open(&made);
	lc_source_options_init(&options);
	ck_assert_ptr_null(options.stop);
	options.stop = stop_after;
	options.stop_ctx = &questions;
	assert_ok(lc_source_open_module(made.cache, &options, &source));
	for (size_t i = 0; i < MANY; i++) {
		size_t size;

		ordinals[i] = i;
		assert_ok(lc_source_id(source, i, names[i], sizeof(names[i]), &size));
		ids[i] = (lc_id){ names[i], size };
	}
	for (size_t after = 1; after < 6; after++) {
		size_t n_read = 0;

		questions = after;
		memset(rows, 0xff, sizeof(rows));
		assert_status(lc_source_gather(source, MANY, ordinals, "tokens", &row, rows,
		    sizeof(rows), 1, statuses), LC_CANCELLED);
		assert_text("gather: cancelled");
		while (n_read < MANY && statuses[n_read] == LC_OK)
			n_read++;
		ck_assert(after > 1 ? n_read > 0 && n_read < MANY : n_read == 0);
		for (size_t i = 0; i < n_read; i++)
			expect_tokens(rows + LENGTH * i, i);
		for (size_t i = n_read; i < MANY; i++) {
			ck_assert_int_eq(statuses[i], LC_CANCELLED);
			ck_assert_uint_eq(rows[LENGTH * i], 0);
		}
		questions = after;
		assert_status(lc_source_find(source, MANY, ids, found), LC_CANCELLED);
		assert_text("find: cancelled");
	}
	/* The calling thread asks, unless the others have left it nothing to do. */
	questions = 1;
	status = lc_source_gather(source, MANY, ordinals, "tokens", &row, rows,
	    sizeof(rows), 4, statuses);
	for (size_t i = 0; i < MANY; i++)
		ck_assert(statuses[i] == LC_OK ||
		    (statuses[i] == LC_CANCELLED && status == LC_CANCELLED));
	questions = SIZE_MAX;
	assert_ok(lc_source_gather(source, MANY, ordinals, "tokens", &row, rows,
	    sizeof(rows), 4, statuses));
	for (size_t i = 0; i < MANY; i++)
		expect_tokens(rows + LENGTH * i, i);
	assert_ok(lc_source_find(source, MANY, ids, found));
	lc_source_close(source);
	made_stream_close(&made);
}
END_TEST

START_TEST(by_several_threads)
{
	pthread_t threads[3];

	fill(20, false);
	made_stream_open(&made);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, gather_some,
		    (void *)(uintptr_t)(i + 1)), 0);
	for (unsigned i = 0; i < 20; i++) {
		const uint32_t number = i;
		char id[16];
		lc_tensor tensor;

		assert_ok(lc_tensor_init(&tensor, LC_U32, 0, NULL, &number));
		assert_ok(lc_put(made.cache, id, (size_t)sprintf(id, "more%u", i),
		    &tensor));
		assert_ok(lc_flush(made.cache));
		assert_ok(lc_source_refresh(made.source));
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	made_stream_close(&made);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("source_gather");
	TCase *tc = tcase_create("source_gather");

	tcase_add_loop_test(tc, what_is_asked_for, 0, 3);
	tcase_add_test(tc, fields_in_turn);
	tcase_add_test(tc, beyond_the_last);
	tcase_add_test(tc, other_shapes_and_fields);
	tcase_add_test(tc, records_that_changed);
	tcase_add_test(tc, a_damaged_record);
	tcase_add_test(tc, parts_and_joins);
	tcase_add_test(tc, shards);
	tcase_add_test(tc, ordinals_of_ids);
	tcase_add_test(tc, ids_that_changed);
	tcase_add_test(tc, sources_that_cannot_tell);
	tcase_add_test(tc, a_call_that_reads_many_can_be_stopped);
	tcase_add_test(tc, by_several_threads);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
