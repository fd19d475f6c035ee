/* SPDX-License-Identifier: BSD-2-Clause */
/* Damaged rows of inputs and order: verify tells, recover makes them anew. */
#include "run.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "filling.h"
#include "need.h"
#include "rawdb.h"
#include "sample.h"

#define INPUTS 3

/* Chunks of the inputs; the second one is finished: 9 are published. */
static const uint64_t chunks[INPUTS] = { 5, 2, 3 };

static void
make(const char *root)
{
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_writer *writer;

	assert_ok(filling_declare(cache, INPUTS));
	for (unsigned i = 0; i < INPUTS; i++) {
		assert_ok(filling_open(cache, i, &writer));
		for (uint64_t k = 0; k < chunks[i]; k++)
			assert_ok(filling_commit(writer, i == 1 &&
			    k + 1 == chunks[i]));
		lc_writer_close(writer);
	}
	ck_assert_uint_eq(filling_state(cache).published, 9);
	assert_ok(lc_close(cache));
}

/* ---- surgery --------------------------------------------------------------- */

enum act { FLIP, DROP };

static void
flip(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, size_t offset)
{
	MDB_val value;
	unsigned char bytes[8192];

	rawdb_must(mdb_get(txn, dbi, key, &value));
	ck_assert_uint_le(value.mv_size, sizeof(bytes));
	memcpy(bytes, value.mv_data, value.mv_size);
	bytes[offset % value.mv_size] ^= 4;
	value.mv_data = bytes;
	rawdb_must(mdb_put(txn, dbi, key, &value, 0));
}

/* Damage row @p n of a table, counted from 0; false if it has not so many. */
static bool
damage(const char *root, const char *table, unsigned n, enum act act,
    size_t offset)
{
	const bool meta = strcmp(table, "fill") == 0;
	MDB_val key = { 4, (void *)(uintptr_t)"fill" }, value;
	MDB_cursor *cursor;
	char dir[4096];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	int rc = 0;

	snprintf(dir, sizeof(dir), "%s/m", root);
	env = rawdb_open_env(dir, 0);
	txn = rawdb_begin(env, 0);
	dbi = rawdb_table(txn, meta ? "meta" : table, meta ? 0 : MDB_INTEGERKEY);
	if (!meta) {
		rawdb_must(mdb_cursor_open(txn, dbi, &cursor));
		for (unsigned i = 0; i <= n && rc == 0; i++)
			rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
		mdb_cursor_close(cursor);
	} else if (n > 0) {
		rc = MDB_NOTFOUND;
	}
	if (rc == 0 && act == FLIP)
		flip(txn, dbi, &key, offset);
	else if (rc == 0)
		rawdb_must(mdb_del(txn, dbi, &key, NULL));
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
	return rc == 0;
}

/* ---- looking --------------------------------------------------------------- */

static void
print_line(void *ctx, const char *line)
{
	(void)ctx;
	if (getenv("T_LINES") != NULL)
		printf("# %s\n", line);
}

static lc_status
verify(const char *root)
{
	const lc_progress progress = { .damage = print_line };
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_verify_result result;
	const lc_status status = lc_verify(cache, &progress, &result);

	assert_ok(lc_close(cache));
	return status;
}

static lc_recover_result
recover(const char *root)
{
	const lc_progress progress = { .damage = print_line };
	lc_recover_result result = { 0 };

	assert_ok(lc_recover(root, "m", 0, &progress, &result));
	assert_ok(verify(root));
	return result;
}

/* A writer goes on, all inputs end, and everything is whole. */
static void
go_on(const char *root, const char *first)
{
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_writer *writer;

	assert_ok(lc_writer_open(cache, first, &writer));
	if (!lc_writer_info(writer)->finished)
		assert_ok(lc_writer_commit(writer, "x", 1));
	lc_writer_close(writer);
	if (filling_open(cache, 2, &writer) == LC_OK) {
		assert_ok(filling_commit(writer, 1));
		lc_writer_close(writer);
	}
	assert_ok(lc_inputs_finish(cache));
	ck_assert_uint_eq(filling_state(cache).published,
	    filling_state(cache).committed);
	assert_ok(lc_close(cache));
	assert_ok(verify(root));
}

static void
assert_same(const lc_fill *a, const lc_fill *b)
{
	ck_assert_uint_eq(a->inputs, b->inputs);
	ck_assert_uint_eq(a->finished, b->finished);
	ck_assert_uint_eq(a->committed, b->committed);
	ck_assert_uint_eq(a->published, b->published);
	ck_assert_uint_eq(a->records, b->records);
	ck_assert_uint_eq(a->prefix_hash, b->prefix_hash);
}

/* ---- rows that follow from others ------------------------------------------- */

static const struct {
	const char *table;
	enum act act;
} rows[] = {
	{ "fill", FLIP }, { "fill", DROP }, { "order", FLIP }, { "order", DROP },
	{ "input", FLIP }, { "ledger", FLIP }, { "ledger", DROP },
};

/* Whatever one row was, the rest tells. */
START_TEST(made_anew)
{
	uint64_t random = run_seed();

	for (unsigned n = 0;; n++) {
		const char *root = run_scratch();
		lc_fill before, after;

		make(root);
		before = filling_state_of(root);
		if (!damage(root, rows[_i].table, n, rows[_i].act,
		    run_random(&random)))
			break;
		assert_status(verify(root), LC_CORRUPT);
		ck_assert_uint_gt(recover(root).rows, 0);
		after = filling_state_of(root);
		assert_same(&after, &before);
		go_on(root, "in0");
		ck_assert_uint_lt(n, 100);
	}
}
END_TEST

/* ---- the fill row ------------------------------------------------------------- */

/* Change one number of it, under a right checksum. */
static void
set_fill(const char *root, unsigned field, uint64_t number)
{
	MDB_val key = { 4, (void *)(uintptr_t)"fill" }, value;
	unsigned char bytes[80];
	char dir[4096];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	snprintf(dir, sizeof(dir), "%s/m", root);
	env = rawdb_open_env(dir, 0);
	txn = rawdb_begin(env, 0);
	dbi = rawdb_table(txn, "meta", 0);
	rawdb_must(mdb_get(txn, dbi, &key, &value));
	ck_assert_uint_eq(value.mv_size, sizeof(bytes));
	memcpy(bytes, value.mv_data, sizeof(bytes));
	ck_assert_uint_ne(lc__get64(bytes + 8 * (size_t)field), number);
	lc__set64(bytes + 8 * (size_t)field, number);
	lc__set64(bytes + 72, lc__hash64_seed(bytes, 72, lc__hash64("fill", 4)));
	value.mv_data = bytes;
	rawdb_must(mdb_put(txn, dbi, &key, &value, 0));
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
}

static void
keep_line(void *ctx, const char *line)
{
	struct lc__buf *lines = ctx;

	lc__buf_append(lines, line, strlen(line));
	lc__buf_append(lines, "\n", 1);
}

static const struct {
	unsigned field;
	uint64_t number;
	const char *line; /* of verify, among others */
} numbers[] = {
	{ 0, 2, "fill row: damaged\n" }, /* it is the third one's turn */
	{ 1, 2, "fill row: finished is 2, found 1\n" },
	{ 2, 11, "fill row: committed is 11, found 10\n" },
	{ 3, 8, "fill row: published is 8, found 9\n" },
	{ 3, 10, "fill row: published is 10, found 9\n" },
	{ 4, 1000, "fill row: records is 1000, found " },
	{ 5, 1000, "fill row: length is 1000, found 0\n" },
	{ 6, 0, "fill row: hash is 0, found " },
	{ 7, 2, "fill row: ordinal whose turn it is is 2, found 3\n" },
	{ 8, 0, "fill row: input whose turn it is is 0, found 2\n" },
};

/* Every number of it follows from other rows: verify compares, recover counts anew. */
START_TEST(wrong_number)
{
	const char *root = run_scratch();
	struct lc__buf lines = { 0 };
	const lc_progress progress = { .damage = keep_line, .ctx = &lines };
	lc_fill before, after;
	lc_verify_result result;
	lc_cache *cache;

	make(root);
	before = filling_state_of(root);
	set_fill(root, numbers[_i].field, numbers[_i].number);
	cache = sample_open(root, "m", NULL);
	assert_status(lc_verify(cache, &progress, &result), LC_CORRUPT);
	assert_ok(lc_close(cache));
	lc__buf_append(&lines, "", 1);
	ck_assert_msg(strstr((const char *)lines.data, numbers[_i].line) != NULL, "%s",
	    (const char *)lines.data);
	lc__buf_free(&lines);
	ck_assert_uint_gt(recover(root).rows, 0);
	after = filling_state_of(root);
	assert_same(&after, &before);
	go_on(root, "in0");
}
END_TEST

/* A stream seeks records in chunks: without any there is nowhere to begin. */
START_TEST(records_in_no_chunk)
{
	const char *root = run_scratch();
	lc_source *source = NULL;
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_writer *writer;

	/* The first input's turn never comes to an end. */
	assert_ok(filling_declare(cache, 2));
	assert_ok(filling_open(cache, 1, &writer));
	assert_ok(filling_commit(writer, 0));
	lc_writer_close(writer);
	ck_assert_uint_eq(filling_state(cache).published, 0);
	assert_ok(lc_close(cache));
	set_fill(root, 4, 7);
	cache = sample_open(root, "m", NULL);
	assert_status(lc_source_open_module(cache, NULL, &source), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "the fill row counts 7 records in no published chunk"));
	assert_ok(lc_close(cache));
	assert_status(verify(root), LC_CORRUPT);
	recover(root);
}
END_TEST

/* ---- what is lost ---------------------------------------------------------- */

static int
next_input(void *ctx, const lc_input_info *info)
{
	(void)ctx;
	(void)info;
	return 0;
}

START_TEST(input_lost)
{
	const char *root = run_scratch();
	lc_fill before, after;
	lc_options options;
	lc_cache *cache;

	make(root);
	before = filling_state_of(root);
	ck_assert(damage(root, "input", (unsigned)_i, DROP, 0));
	lc_options_init(&options);
	options.flags = LC_RDONLY;
	assert_ok(lc_open(root, "m", &options, &cache));
	assert_status(lc_inputs(cache, next_input, NULL), LC_CORRUPT);
	ck_assert_int_eq(lc_last_error()->status, LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, " is missing"));
	assert_ok(lc_close(cache));
	assert_status(verify(root), LC_CORRUPT);
	ck_assert_uint_gt(recover(root).rows, 0);
	after = filling_state_of(root);
	ck_assert_uint_eq(after.inputs, INPUTS);
	ck_assert_uint_eq(after.committed, before.committed);
	/* That it was finished is lost with it. */
	if (_i != 1)
		assert_same(&after, &before);
	go_on(root, _i == 0 ? "lost input 0" : _i == 1 ? "lost input 1" :
	    "lost input 2");
}
END_TEST

/* The order goes on without it, and no number is given twice. */
START_TEST(chunk_lost)
{
	for (unsigned n = 0; n < 10; n++) {
		const char *root = run_scratch();
		lc_fill before, after;

		make(root);
		before = filling_state_of(root);
		ck_assert(damage(root, "chunk", n, DROP, 0));
		assert_status(verify(root), LC_CORRUPT);
		recover(root);
		after = filling_state_of(root);
		ck_assert_uint_eq(after.committed, before.committed - 1);
		ck_assert(after.published == before.published - 1 ||
		    (n == 4 && after.published == before.published));
		ck_assert(n == 4 || after.prefix_hash != before.prefix_hash);
		go_on(root, "in0");
		after = filling_state_of(root);
		/* A module with such a hole is mended once more. */
		ck_assert(damage(root, "fill", 0, DROP, 0));
		recover(root);
		before = filling_state_of(root);
		assert_same(&after, &before);
	}
}
END_TEST

START_TEST(record_lost)
{
	const char *root = run_scratch();
	lc_fill before, after;

	make(root);
	before = filling_state_of(root);
	/* The first record of the first chunk, in its head. */
	ck_assert(damage(root, "chunk", 0, FLIP, 48 + 8));
	assert_status(verify(root), LC_CORRUPT);
	ck_assert_uint_eq(recover(root).lost, 1);
	after = filling_state_of(root);
	ck_assert_uint_eq(after.records + 1, before.records);
	ck_assert_uint_ne(after.prefix_hash, before.prefix_hash);
	go_on(root, "in0");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("inputs_damaged");
	TCase *tcase = tcase_create("inputs_damaged");

	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, made_anew, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_loop_test(tcase, wrong_number, 0, sizeof(numbers) / sizeof(*numbers));
	tcase_add_test(tcase, records_in_no_chunk);
	tcase_add_loop_test(tcase, input_lost, 0, INPUTS);
	tcase_add_test(tcase, chunk_lost);
	tcase_add_test(tcase, record_lost);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
