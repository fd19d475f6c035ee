/* SPDX-License-Identifier: BSD-2-Clause */
/* Damaged modules read by their place: what is damaged is told by its name, what is
 * not is read all the same. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fileio.h"
#include "lmdbcache.h"
#include "need.h"
#include "outdir_files.h"
#include "sample.h"
#include "source_walk.h"
#include "store/chunk.h"

#define RECORDS 12
#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

/* ---- a module with a map of two tensors a record -------------------------------------- */

#define TEXT 256

/* Record i: "<name> of <i>", and behind it more in each, so that sizes differ. */
static lc_tensor
text_tensor(char room[TEXT], const char *name, unsigned i)
{
	const int size = snprintf(room, TEXT, "%s of %u", name, i);
	const size_t more = *name == 'l' ? 16 * i : 0;

	memset(room + size, '.', more);
	return sample_bytes(room, (size_t)size + more);
}

static const char *
make_module(void)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache;

	options.flush_every = RECORDS / 2;
	cache = sample_open(root, "m", &options);
	for (unsigned i = 0; i < RECORDS; i++) {
		char rooms[2][TEXT], id[16];
		const int size = snprintf(id, sizeof(id), "key-%u", i);
		const lc_tensor left = text_tensor(rooms[0], "left", i);
		const lc_tensor right = text_tensor(rooms[1], "right", i);
		lc_value *value = lc_value_map();

		lc_value_set(value, "left", lc_value_tensor(&left));
		lc_value_set(value, "right", lc_value_tensor(&right));
		assert_ok(lc_put_value(cache, id, (size_t)size, value));
		lc_value_free(value);
	}
	assert_ok(lc_close(cache));
	return root;
}

/* ---- damage ---------------------------------------------------------------------------- */

/* Change a byte @p at behind each place where those bytes stand on a 8-byte boundary;
 * with @p word only where that number stands 8 bytes behind them. */
static void
damage(const char *root, const char *bytes, size_t size, size_t at,
    uint64_t word)
{
	struct lc__buf file = outdir_get_file(root, "m/data.mdb");
	char *path = outdir_join(root, "m/data.mdb");
	unsigned found = 0;
	FILE *out;

	for (size_t i = 0; i + 64 < file.size; i += 8) {
		if (memcmp(file.data + i, bytes, size) != 0 ||
		    (word != 0 && lc__get64(file.data + i + 8) != word))
			continue;
		file.data[i + at] ^= 0x20;
		found++;
	}
	ck_assert_uint_ge(found, 1);
	out = fopen(path, "r+b");
	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(fwrite(file.data, 1, file.size, out), file.size);
	ck_assert_int_eq(fclose(out), 0);
	free(path);
	lc__buf_free(&file);
}

static lc_source *
open_source(lc_cache *cache, int verify)
{
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	options.verify = verify;
	assert_ok(lc_source_open_module(cache, &options, &source));
	return source;
}

/* ---- reading ----------------------------------------------------------------------------- */

static const char *const left[] = { "left" };
static const char *const right[] = { "right" };

static lc_status
read_field(struct lc__cursor *cursor, unsigned i, const char *const *field)
{
	char room[TEXT];
	lc_tensor tensor, want;
	lc_status status;
	lc_id id;

	status = lc__cursor_go(cursor, i / (RECORDS / 2));
	if (status == LC_OK)
		status = lc__cursor_read(cursor, i % (RECORDS / 2), field, 1, NULL,
		    &tensor, &id);
	if (status != LC_OK)
		return status;
	want = text_tensor(room, field[0], i);
	return sample_same(&tensor, &want) ? LC_OK : LC_FAILED;
}

static const struct {
	const char *bytes;
	int left, right; /* what reading record 3 gives, verified */
	int left_bare, right_bare; /* and not verified */
	const char *told;
} flips[] = {
	{ "left of 3", LC_CORRUPT, LC_OK, LC_FAILED, LC_OK, "key-3" },
	{ "right of 3", LC_OK, LC_CORRUPT, LC_OK, LC_FAILED, "key-3" },
};

START_TEST(only_the_damaged_tensor_is_lost)
{
	for (int verify = 0; verify < 2; verify++) {
		const char *root = make_module();
		struct lc__cursor *cursor;
		lc_source *source;
		lc_cache *cache;

		damage(root, flips[_i].bytes, strlen(flips[_i].bytes), 2, 0);
		cache = sample_open(root, "m", NULL);
		source = open_source(cache, verify);
		cursor = walk_cursor(source);
		assert_ok(lc__cursor_begin(cursor));
		for (unsigned i = 0; i < RECORDS; i++) {
			if (i == 3)
				continue;
			assert_ok(read_field(cursor, i, left));
			assert_ok(read_field(cursor, i, right));
		}
		assert_status(read_field(cursor, 3, left),
		    (lc_status)(verify ? flips[_i].left : flips[_i].left_bare));
		if (verify && flips[_i].left == LC_CORRUPT)
			ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
			    flips[_i].told));
		assert_status(read_field(cursor, 3, right),
		    (lc_status)(verify ? flips[_i].right : flips[_i].right_bare));
		if (verify && flips[_i].right == LC_CORRUPT)
			ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
			    flips[_i].told));
		lc__cursor_free(cursor);
		lc_source_close(source);
		assert_ok(lc_close(cache));
	}
}
END_TEST

/* Records that are one tensor have one checksum over everything. */
START_TEST(a_damaged_tensor_alone_is_told)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_tensor tensor;
	lc_id id;

	for (unsigned i = 0; i < RECORDS; i++) {
		char room[TEXT], key[16];
		const int size = snprintf(key, sizeof(key), "key-%u", i);

		tensor = text_tensor(room, "alone", i);
		assert_ok(lc_put(cache, key, (size_t)size, &tensor));
	}
	assert_ok(lc_close(cache));
	damage(root, "alone of 3", 10, 2, 0);
	cache = sample_open(root, "m", NULL);
	for (int verify = 0; verify < 2; verify++) {
		lc_source *source = open_source(cache, verify);
		struct lc__cursor *cursor = walk_cursor(source);

		assert_ok(lc__cursor_begin(cursor));
		assert_ok(lc__cursor_go(cursor, 0));
		assert_ok(walk_read_one(cursor, 2, &tensor, &id));
		assert_status(walk_read_one(cursor, 3, &tensor, &id),
		    verify ? LC_CORRUPT : LC_OK);
		if (verify)
			ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
			    "key-3"));
		assert_ok(walk_read_one(cursor, 4, &tensor, &id));
		lc__cursor_free(cursor);
		lc_source_close(source);
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* Headers and tables of chunk 1; chunk 2 is whole. */
static const struct {
	const char *magic;
	size_t at;
	uint64_t word; /* 8 bytes behind the magic */
} chunks[] = {
	{ "LCCK", 16, 1 },                       /* its number of records */
	{ "LCCK", 24, 1 },                       /* its bytes */
	{ LC__TABLES_MAGIC, 20, RECORDS / 2 },   /* an offset in either chunk */
};

START_TEST(a_damaged_chunk_is_told)
{
	const char *root = make_module();
	struct lc__cursor *cursor;
	lc_source *source;
	lc_cache *cache;

	damage(root, chunks[_i].magic, 4, chunks[_i].at, chunks[_i].word);
	cache = sample_open(root, "m", NULL);
	source = open_source(cache, 1);
	cursor = walk_cursor(source);
	assert_ok(lc__cursor_begin(cursor));
	assert_status(read_field(cursor, 0, left), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "chunk 1"));
	if (_i < 2)
		assert_ok(read_field(cursor, RECORDS - 1, left));
	/* It is no less damaged the second time. */
	assert_status(read_field(cursor, 0, left), LC_CORRUPT);
	lc__cursor_free(cursor);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("cursor_damage");
	TCase *t = tcase_create("damage");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, only_the_damaged_tensor_is_lost, 0, COUNT(flips));
	tcase_add_test(t, a_damaged_tensor_alone_is_told);
	tcase_add_loop_test(t, a_damaged_chunk_is_told, 0, COUNT(chunks));
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
