/* SPDX-License-Identifier: BSD-2-Clause */
/* Opaque dtypes: their names and numbers, and records of them. */
#include "run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"
#include "value/dtype.h"
#include "value/schema.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))
#define TEN "abcdefghij"
#define LONGEST TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "abcdefg"

/* ---- names and numbers -------------------------------------------------------- */

START_TEST(a_name_and_a_size_are_one_dtype)
{
	lc_dtype pose, again, wider, other;

	assert_ok(lc_dtype_opaque("pose", 16, &pose));
	ck_assert_uint_ge(pose, LC_OPAQUE);
	ck_assert_uint_lt(pose, LC_OPAQUE + LC_OPAQUE_MAX);
	ck_assert_uint_eq(lc_dtype_size(pose), 16);
	ck_assert_str_eq(lc_dtype_name(pose), "opaque16:pose");
	assert_ok(lc_dtype_opaque("pose", 16, &again));
	ck_assert_int_eq(again, pose);
	assert_ok(lc_dtype_parse("opaque16:pose", &again));
	ck_assert_int_eq(again, pose);
	assert_ok(lc_dtype_opaque("pose", 17, &wider));
	ck_assert_int_ne(wider, pose);
	assert_ok(lc_dtype_opaque("Pose", 16, &other));
	ck_assert_int_ne(other, pose);
	assert_ok(lc_dtype_parse("opaque1:" LONGEST, &other));
	ck_assert_str_eq(lc_dtype_name(other), "opaque1:" LONGEST);
	assert_ok(lc_dtype_parse("opaque64:x:<f4,y:>f4|_.+-", &other));
	ck_assert_uint_eq(lc_dtype_size(other), 64);
	/* A number that nobody was given. */
	ck_assert_uint_eq(lc_dtype_size((lc_dtype)(LC_OPAQUE + LC_OPAQUE_MAX)), 0);
	ck_assert_ptr_null(lc_dtype_name((lc_dtype)(LC_OPAQUE + LC_OPAQUE_MAX)));
}
END_TEST

#define CHARACTERS "1 to 127 letters, digits and _.,:+-<>|"

static const struct {
	const char *name;
	size_t size;
	const char *error;
} bad_rows[] = {
	{ "x", 0, "an opaque element has 1 to 64 bytes, not 0" },
	{ "x", 65, "an opaque element has 1 to 64 bytes, not 65" },
	{ "", 1, "'' is not a name of an opaque dtype: " CHARACTERS },
	{ "a b", 1, "'a b' is not a name of an opaque dtype: " CHARACTERS },
	{ "a[3]", 1, "'a[3]' is not a name of an opaque dtype: " CHARACTERS },
	{ "a=b", 1, "'a=b' is not a name of an opaque dtype: " CHARACTERS },
	{ "\xc3\xa4", 1, "'\\xc3\\xa4' is not a name of an opaque dtype: " CHARACTERS },
	{ LONGEST "h", 1, NULL },
};

START_TEST(bad_names_and_sizes)
{
	lc_dtype dtype = LC_BOOL;

	assert_status(lc_dtype_opaque(bad_rows[_i].name, bad_rows[_i].size, &dtype),
	    LC_INVALID);
	if (bad_rows[_i].error != NULL)
		ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].error);
	ck_assert_int_eq(dtype, LC_BOOL);
}
END_TEST

static const char *const bad_texts[] = {
	"opaque", "opaque:x", "opaque0:x", "opaque01:x", "opaque65:x", "opaque100:x",
	"opaque16", "opaque16:", "opaque16;x", "opaque-1:x", "opaque 1:x", "opaque1 :x",
	"Opaque1:x", "opaque18446744073709551617:x", "opaque1:a b",
};

START_TEST(bad_texts_are_no_dtype)
{
	lc_dtype dtype;

	assert_status(lc_dtype_parse(bad_texts[_i], &dtype), LC_INVALID);
}
END_TEST

#define THREADS 8
#define NAMES 500

static void *
intern_all(void *ctx)
{
	lc_dtype *numbers = ctx;
	char name[16];

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		need_ok(lc_dtype_opaque(name, 8, &numbers[i]));
		need(lc_dtype_size(numbers[i]) == 8);
	}
	return NULL;
}

START_TEST(threads_agree)
{
	static lc_dtype numbers[THREADS][NAMES];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, intern_all,
		    numbers[i]), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (int i = 1; i < THREADS; i++)
		ck_assert_mem_eq(numbers[0], numbers[i], sizeof(numbers[0]));
}
END_TEST

/* ---- records ------------------------------------------------------------------ */

#define N 40
#define WIDTH 5

static char names[N][16];
static lc_id ids[N];

static void
name_rows(void)
{
	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "r%d", i);
		ids[i] = lc_id_of(names[i]);
	}
}

/* A row of an opaque dtype, and N of them that compress. */
static lc_tensor
row_of(size_t size, unsigned char *rows)
{
	const uint64_t shape[1] = { WIDTH };
	lc_dtype dtype;
	lc_tensor row;

	assert_ok(lc_dtype_opaque("part", size, &dtype));
	assert_ok(lc_tensor_init(&row, dtype, 1, shape, NULL));
	for (size_t i = 0; i < N * row.nbytes; i++)
		rows[i] = (unsigned char)(i % size * 7 + i / (size * WIDTH));
	name_rows();
	return row;
}

static const size_t sizes[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 40, 63, 64 };

/* All ways in and out, through every codec, and again after opening. */
START_TEST(bits_are_kept)
{
	const size_t size = sizes[_i];
	unsigned char rows[N * WIDTH * 64], got[N * WIDTH * 64];
	const lc_tensor row = row_of(size, rows);
	const lc_options options = sample_options();
	const char *root = run_scratch();

	for (int codec = 0; codec <= LC_CODEC_COUNT; codec++) {
		lc_settings settings = { .struct_size = sizeof(settings) };
		char module[16];
		lc_cache *cache;
		lc_tensor found;
		lc_view view;

		snprintf(module, sizeof(module), "m%d", codec);
		cache = sample_open(root, module, &options);
		assert_ok(lc_settings_get(cache, &settings));
		settings.codec = codec < LC_CODEC_COUNT ? (lc_codec)codec : LC_CODEC_AUTO;
		assert_ok(lc_settings_set(cache, &settings));
		assert_ok(lc_put_gathered(cache, N, ids, &row, rows, NULL));
		for (int round = 0; round < 2; round++) {
			assert_ok(lc_gather_row(cache, N, ids, NULL, &found));
			ck_assert_int_eq(found.dtype, row.dtype);
			memset(got, 0xaa, sizeof(got));
			assert_ok(lc_gather(cache, N, ids, NULL, &row, got, sizeof(got),
			    2, NULL, NULL));
			ck_assert_mem_eq(got, rows, N * row.nbytes);
			assert_ok(lc_get(cache, "r7", 2, &view));
			ck_assert_int_eq(view.tensor.dtype, row.dtype);
			ck_assert_uint_eq(view.tensor.nbytes, row.nbytes);
			ck_assert_mem_eq(view.tensor.data, rows + 7 * row.nbytes,
			    row.nbytes);
			lc_view_release(&view);
			assert_ok(lc_close(cache));
			cache = sample_open(root, module, &options);
		}
		assert_ok(lc_close(cache));
	}
}
END_TEST

START_TEST(parts_of_values)
{
	unsigned char rows[N * WIDTH * 64];
	lc_tensor row = row_of(12, rows), found;
	const lc_options options = sample_options();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_value *map = lc_value_map(), *again;
	const lc_value *value;
	char text[100];
	lc_view view;

	row.data = rows;
	lc_value_set(map, "points", lc_value_tensor(&row));
	lc_value_set(map, "n", lc_value_integer(3));
	assert_ok(lc_put_value(cache, "a", 1, map));
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	assert_ok(lc_get(cache, "a", 1, &view));
	assert_ok(lc_view_value(&view, NULL, &value));
	ck_assert(lc_value_equal(value, map));
	lc_value_describe(value, text, sizeof(text));
	ck_assert_str_eq(text, "{points: opaque12:part[5], n: integer}");
	again = lc_value_copy(value);
	assert_ok(lc_value_as_tensor(lc_value_find(again, "points"), &found));
	ck_assert_mem_eq(found.data, rows, row.nbytes);
	lc_value_free(again);
	lc_value_free(map);
	lc_view_release(&view);
	assert_ok(lc_close(cache));
}
END_TEST

/* A strict module tells names and sizes apart. */
START_TEST(strict_modules)
{
	unsigned char rows[N * WIDTH * 64];
	lc_tensor row = row_of(4, rows), other;
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_dtype dtype;

	assert_ok(lc_settings_get(cache, &settings));
	settings.policy = LC_STRICT;
	assert_ok(lc_settings_set(cache, &settings));
	row.data = rows;
	assert_ok(lc_put(cache, "a", 1, &row));
	assert_ok(lc_put(cache, "b", 1, &row));
	assert_ok(lc_dtype_opaque("whole", 4, &dtype));
	assert_ok(lc_tensor_init(&other, dtype, 1, row.shape, rows));
	assert_status(lc_put(cache, "c", 1, &other), LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "opaque4:whole[*]"));
	assert_ok(lc_tensor_init(&other, LC_F32, 1, row.shape, rows));
	assert_status(lc_put(cache, "c", 1, &other), LC_SCHEMA);
	assert_ok(lc_close(cache));
}
END_TEST

/* In the errors of gathers; and a number that is no dtype. */
START_TEST(other_rows_are_named)
{
	unsigned char rows[N * WIDTH * 64];
	lc_tensor row = row_of(4, rows), wanted;
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);

	assert_ok(lc_put_gathered(cache, N, ids, &row, rows, NULL));
	assert_ok(lc_tensor_init(&wanted, LC_F32, 1, row.shape, NULL));
	assert_status(lc_gather(cache, N, ids, NULL, &wanted, rows, sizeof(rows), 1, NULL,
	    NULL), LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "opaque4:part[5]"));
	row.dtype = (lc_dtype)(LC_OPAQUE + LC_OPAQUE_MAX);
	row.data = rows;
	assert_status(lc_put(cache, "x", 1, &row), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "put: 'x': unknown dtype 8192");
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- other processes ---------------------------------------------------------- */

static void
put_one(void *ctx)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(ctx, "m", &options);
	lc_dtype dtype;
	lc_tensor tensor;

	need_ok(lc_dtype_opaque("theirs", 3, &dtype));
	need_ok(lc_tensor_init(&tensor, dtype, 0, NULL, "abc"));
	need_ok(lc_put(cache, "a", 1, &tensor));
	need_ok(lc_tensor_init(&tensor, LC_U8, 0, NULL, "d"));
	need_ok(lc_put(cache, "b", 1, &tensor));
	need_ok(lc_close(cache));
}

START_TEST(names_are_read_from_files)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache;
	lc_view view;

	ck_assert_int_eq(child_run(put_one, (void *)(uintptr_t)root), 0);
	cache = sample_open(root, "m", &options);
	assert_ok(lc_get(cache, "a", 1, &view));
	ck_assert_str_eq(lc_dtype_name(view.tensor.dtype), "opaque3:theirs");
	ck_assert_mem_eq(view.tensor.data, "abc", 3);
	lc_view_release(&view);
	assert_ok(lc_close(cache));
}
END_TEST

/* Last: no more fit into this process. A record of one is not damaged for that. */
START_TEST(one_too_many)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache;
	lc_dtype dtype;
	lc_view view;
	char name[16];
	int n = 0;

	ck_assert_int_eq(child_run(put_one, (void *)(uintptr_t)root), 0);
	do {
		snprintf(name, sizeof(name), "n%d", n++);
	} while (lc_dtype_opaque(name, 1, &dtype) == LC_OK);
	ck_assert_int_gt(n, LC_OPAQUE_MAX / 2);
	ck_assert_int_le(n, LC_OPAQUE_MAX + 1);
	ck_assert_int_eq(lc_last_error()->status, LC_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    " is one opaque dtype too many: a process has 4096 at most"));
	assert_ok(lc_dtype_opaque("n0", 1, &dtype));
	cache = sample_open(root, "m", &options);
	assert_status(lc_get(cache, "a", 1, &view), LC_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "m: schema 0: opaque3:theirs "
	    "is one opaque dtype too many: a process has 4096 at most"));
	assert_ok(lc_get(cache, "b", 1, &view));
	lc_view_release(&view);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- structures, as they are stored ------------------------------------------- */

static const struct {
	const char *bytes;
	size_t size;
	const char *text; /* NULL: damaged */
} structure_rows[] = {
#define HEAD "\x81\xa6tensor\x82\xa5" "dtype"
#define ROW(bytes) HEAD bytes "\xa4ndim\x01", sizeof(HEAD bytes "\xa4ndim\x01") - 1
	{ ROW("\xad" "opaque16:pose"), "opaque16:pose[*]" },
	{ ROW("\xd9\x20" "opaque16:abcdefghijabcdefghijabc"),
	    "opaque16:abcdefghijabcdefghijabc[*]" },
	{ ROW("\xd9\x88" "opaque64:" LONGEST), "opaque64:" LONGEST "[*]" },
	{ ROW("\xd9\x89" "opaque64:" LONGEST "h"), NULL },
	{ ROW("\xd9\x0d" "opaque16:pose"), NULL }, /* not in its shortest form */
	{ ROW("\xae" "opaque016:pose"), NULL },
	{ ROW("\xac" "opaque0:pose"), NULL },
	{ ROW("\xad" "opaque65:pose"), NULL },
	{ ROW("\xad" "opaque16:po e"), NULL },
	{ ROW("\xad" "opaque16:po\0e"), NULL },
	{ ROW("\xa9" "opaque16:"), NULL },
	{ ROW("\xaf" "float8_e4m3fnuz"), NULL }, /* not the short name */
	{ ROW("\xab" "f8_e4m3fnuz"), "f8_e4m3fnuz[*]" },
};

START_TEST(structures)
{
	struct lc__schema *schema;
	char text[200];
	const lc_status status = lc__schema_decode(structure_rows[_i].bytes,
	    structure_rows[_i].size, &schema);

	assert_status(status, structure_rows[_i].text != NULL ? LC_OK : LC_CORRUPT);
	if (status != LC_OK)
		return;
	lc__schema_describe(schema, text, sizeof(text));
	ck_assert_str_eq(text, structure_rows[_i].text);
	ck_assert_uint_eq(schema->size, structure_rows[_i].size);
	lc__schema_free(schema);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("opaque");
	TCase *tc = tcase_create("opaque");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_name_and_a_size_are_one_dtype);
	tcase_add_loop_test(tc, bad_names_and_sizes, 0, ROWS(bad_rows));
	tcase_add_loop_test(tc, bad_texts_are_no_dtype, 0, ROWS(bad_texts));
	tcase_add_test(tc, threads_agree);
	tcase_add_loop_test(tc, bits_are_kept, 0, ROWS(sizes));
	tcase_add_test(tc, parts_of_values);
	tcase_add_test(tc, strict_modules);
	tcase_add_test(tc, other_rows_are_named);
	tcase_add_loop_test(tc, structures, 0, ROWS(structure_rows));
	tcase_add_test(tc, names_are_read_from_files);
	tcase_add_test(tc, one_too_many);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
