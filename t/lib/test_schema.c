/* SPDX-License-Identifier: BSD-2-Clause */
/* The structure of values and its rows. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "need.h"
#include "random_value.h"
#include "sample.h"
#include "store/schemas.h"
#include "value/schema.h"
#include "value_parts.h"

static struct lc__schema *
schema_of(const char *text)
{
	lc_value *value = value_of(text);
	struct lc__schema *schema = NULL;

	assert_ok(lc__schema_infer(value, &schema));
	lc_value_free(value);
	return schema;
}

/* ---- bytes ---------------------------------------------------------------- */

#define F32 "\x81\xa6tensor\x82\xa5" "dtype\xa3" "f32\xa4ndim\x01"
#define U8 "\x81\xa6tensor\x82\xa5" "dtype\xa2u8\xa4ndim\0"
#define PLAIN "\x81\xa5plain\xc0"

static const struct {
	const char *value;
	const char *row;
	size_t row_size;
	const char *plain;
	size_t plain_size;
	const char *text;
} byte_rows[] = {
	{ "f", BYTES(F32), BYTES(""), "f32[*]" },
	{ "u", BYTES(U8), BYTES(""), "u8[]" },
	{ "n", BYTES(PLAIN), BYTES("\xc0"), "plain" },
	{ "{}", BYTES("\x81\xa3map\x90"), BYTES(""), "{}" },
	{ "[]", BYTES(PLAIN), BYTES("\x90"), "plain" },
	{ "()", BYTES(PLAIN), BYTES("\xd4\x01\x90"), "plain" },
	{ "[12(3)]", BYTES(PLAIN), BYTES("\x93\x01\x02\xd5\x01\x91\x03"), "plain" },
	{ "[{an}]", BYTES(PLAIN), BYTES("\x91\x81\xa1" "a\xc0"), "plain" },
	{ "[f]", BYTES("\x81\xa4list\x91" F32), BYTES(""), "[f32[*]]" },
	{ "(uf)", BYTES("\x81\xa5tuple\x92" U8 F32), BYTES(""), "(u8[], f32[*])" },
	{ "{an}", BYTES("\x81\xa3map\x91\x92\xa1" "a" PLAIN), BYTES("\xc0"),
	  "{a: plain}" },
	{ "@tn", BYTES(PLAIN), BYTES("\xd6\x02\x81\xa1t\xc0"), "plain" },
	{ "@t{}", BYTES(PLAIN), BYTES("\xd6\x02\x81\xa1t\x80"), "plain" },
	{ "<>", BYTES(PLAIN), BYTES("\xd4\x03\x90"), "plain" },
	{ "<1n>", BYTES(PLAIN), BYTES("\xc7\x03\x03\x92\x01\xc0"), "plain" },
	{ "@tf", BYTES("\x81\xa6tagged\x91\x92\xa1t" F32), BYTES(""), "(t: f32[*])" },
	{ "<1f(2)u>", BYTES("\x81\xa5pairs\x94" PLAIN F32 PLAIN U8),
	  BYTES("\x01\xd5\x01\x91\x02"), "<plain: f32[*], plain: u8[]>" },
	{ "<n{}0f>", BYTES("\x81\xa5pairs\x94" PLAIN "\x81\xa3map\x90" PLAIN F32),
	  BYTES("\xc0\0"), "<plain: {}, plain: f32[*]>" },
	{ "{bfa{c[1s]d[n{xu}]}}",
	  BYTES("\x81\xa3map\x92\x92\xa1" "b" F32 "\x92\xa1" "a\x81\xa3map\x92"
	  "\x92\xa1" "c" PLAIN "\x92\xa1" "d\x81\xa4list\x92" PLAIN
	  "\x81\xa3map\x91\x92\xa1x" U8),
	  BYTES("\x92\x01\xa1s\xc0"),
	  "{b: f32[*], a: {c: plain, d: [plain, {x: u8[]}]}}" },
};

START_TEST(exact_bytes)
{
	lc_value *value = value_of(byte_rows[_i].value), *again;
	const size_t size = byte_rows[_i].row_size;
	struct lc__schema *decoded;
	struct value_parts parts;
	char text[200];

	value_parts_take(value, &parts);
	ck_assert_uint_eq(parts.schema->size, size);
	ck_assert_mem_eq(parts.schema->bytes, byte_rows[_i].row, size);
	ck_assert_uint_eq(parts.schema->hash, lc__hash64(byte_rows[_i].row, size));
	ck_assert_uint_eq(parts.plain.size, byte_rows[_i].plain_size);
	ck_assert(parts.plain.size == 0 || memcmp(parts.plain.data,
	    byte_rows[_i].plain, parts.plain.size) == 0);
	lc__schema_describe(parts.schema, text, sizeof(text));
	ck_assert_str_eq(text, byte_rows[_i].text);
	assert_ok(lc__schema_decode(parts.schema->bytes, size, &decoded));
	ck_assert(lc__schema_equal(decoded, parts.schema));
	assert_ok(value_parts_restore(&parts, 0, &again));
	ck_assert(lc_value_equal(value, again));
	lc__schema_free(decoded);
	lc_value_free(again);
	lc_value_free(value);
	value_parts_free(&parts);
}
END_TEST

START_TEST(of_tensor)
{
	for (int dtype = 0; dtype < LC_DTYPE_COUNT; dtype++) {
		for (uint32_t ndim = 0; ndim <= LC_MAX_NDIM; ndim++) {
			lc_value *value = value_of_tensor((lc_dtype)dtype, ndim);
			struct lc__schema *a, *b;
			assert_ok(lc__schema_infer(value, &a));
			assert_ok(lc__schema_of_tensor((lc_dtype)dtype, ndim, &b));
			ck_assert(lc__schema_equal(a, b));
			ck_assert(lc__schema_is_tensor(a));
			ck_assert_uint_eq(b->tensors, 1);
			ck_assert_uint_eq(b->dims, ndim);
			lc__schema_free(a);
			lc__schema_free(b);
			lc_value_free(value);
		}
	}
}
END_TEST

/* ---- damage --------------------------------------------------------------- */

static struct lc__schema *
decode_copy(const unsigned char *row, size_t size)
{
	/* Of exactly that size, so that reading on is seen. */
	unsigned char *copy = malloc(size > 0 ? size : 1);
	struct lc__schema *schema = NULL;
	lc_status status;

	memcpy(copy, row, size);
	status = lc__schema_decode(copy, size, &schema);
	if (status == LC_OK) {
		ck_assert_uint_eq(schema->size, size);
		ck_assert_mem_eq(schema->bytes, copy, size);
	} else {
		assert_status(status, LC_CORRUPT);
	}
	free(copy);
	return schema;
}

static void
damage_row(const struct lc__schema *schema, unsigned char flip)
{
	unsigned char *row = malloc(schema->size);

	memcpy(row, schema->bytes, schema->size);
	for (size_t i = 0; i < schema->size; i++) {
		ck_assert_ptr_null(decode_copy(row, i));
		row[i] ^= flip;
		/* Another structure at most. */
		lc__schema_free(decode_copy(row, schema->size));
		row[i] ^= flip;
	}
	free(row);
}

/* The row of a module: the checksum is right for one id alone. */
START_TEST(rows_of_ids)
{
	static const uint32_t ids[] = { 0, 1, 2, 3, 255, 256, 65535, UINT32_MAX };
	struct lc__schema *schema, *decoded = NULL;
	struct lc__buf row = { 0 };

	assert_ok(lc__schema_of_tensor(LC_F32, 2, &schema));
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		row.size = 0;
		lc__buf_append(&row, schema->bytes, schema->size);
		lc__buf_append64(&row, lc__hash64_seed(row.data, row.size, ids[i]));
		for (size_t k = 0; k < sizeof(ids) / sizeof(*ids); k++) {
			const lc_status status = lc__schema_row_decode(row.data, row.size,
			    ids[k], &decoded);

			assert_status(status, i == k ? LC_OK : LC_CORRUPT);
			if (status == LC_OK)
				ck_assert(lc__schema_equal(decoded, schema));
			else
				ck_assert_str_eq(lc_last_error()->text, "checksum mismatch");
			lc__schema_free(decoded);
			decoded = NULL;
		}
		for (size_t k = 0; k < row.size; k++)
			assert_status(lc__schema_row_decode(row.data, k, ids[i], &decoded),
			    LC_CORRUPT);
	}
	lc__buf_free(&row);
	lc__schema_free(schema);
}
END_TEST

START_TEST(damage)
{
	uint64_t state = run_seed();

	for (unsigned i = 0; i < sample_times(200); i++) {
		lc_value *value = random_value(&state, 1 + (int)(i % 6));
		struct lc__schema *schema;
		assert_ok(lc__schema_infer(value, &schema));
		for (int flips = 0; flips < 3 && schema->size < 1000; flips++)
			damage_row(schema,
			    (unsigned char)(run_random(&state) % 255 + 1));
		lc__schema_free(schema);
		lc_value_free(value);
	}
}
END_TEST

static const struct {
	const char *what;
	const char *bytes;
	size_t size;
} bad_rows[] = {
	{ "nothing", BYTES("") },
	{ "no map", BYTES("\xa5plain") },
	{ "two keys", BYTES("\x82\xa5plain\xc0\xa5plain\xc0") },
	{ "unknown key", BYTES("\x81\xa5sheet\xc0") },
	{ "a plain that is not nil", BYTES("\x81\xa5plain\x01") },
	{ "something behind", BYTES(PLAIN "\xc0") },
	{ "two structures", BYTES(PLAIN PLAIN) },
	{ "unknown dtype", BYTES("\x81\xa6tensor\x82\xa5" "dtype\xa3" "f33\xa4ndim\x01") },
	{ "long dtype", BYTES("\x81\xa6tensor\x82\xa5" "dtype\xa7" "float32\xa4ndim\x01") },
	{ "dtype with NUL", BYTES("\x81\xa6tensor\x82\xa5" "dtype\xa4" "f32\0\xa4ndim\x01") },
	{ "rank 17", BYTES("\x81\xa6tensor\x82\xa5" "dtype\xa3" "f32\xa4ndim\x11") },
	{ "rank in two bytes", BYTES("\x81\xa6tensor\x82\xa5" "dtype\xa3" "f32\xa4ndim\xcc\x01") },
	{ "no rank", BYTES("\x81\xa6tensor\x81\xa5" "dtype\xa3" "f32") },
	{ "ndim first", BYTES("\x81\xa6tensor\x82\xa4ndim\x01\xa5" "dtype\xa3" "f32") },
	{ "an empty list", BYTES("\x81\xa4list\x90") },
	{ "a list without tensor", BYTES("\x81\xa4list\x91" PLAIN) },
	{ "a tuple of empty maps", BYTES("\x81\xa5tuple\x91\x81\xa3map\x90") },
	{ "a map of a map", BYTES("\x81\xa3map\x81\xa1" "a" PLAIN) },
	{ "a pair of one", BYTES("\x81\xa3map\x91\x91\xa1" "a" PLAIN) },
	{ "a pair of three", BYTES("\x81\xa3map\x91\x93\xa1" "a" PLAIN "\xc0") },
	{ "an empty name", BYTES("\x81\xa3map\x91\x92\xa0" PLAIN) },
	{ "a NUL in a name", BYTES("\x81\xa3map\x91\x92\xa2" "a\0" PLAIN) },
	{ "a binary name", BYTES("\x81\xa3map\x91\x92\xc4\x01" "a" PLAIN) },
	{ "a name twice", BYTES("\x81\xa3map\x92\x92\xa1" "a" PLAIN "\x92\xa1" "a" PLAIN) },
	{ "a tagged value without one", BYTES("\x81\xa6tagged\x90") },
	{ "a tagged value of two", BYTES("\x81\xa6tagged\x92\x92\xa1" "a" F32
	  "\x92\xa1" "b" F32) },
	{ "a tagged value without tensor", BYTES("\x81\xa6tagged\x91\x92\xa1" "a" PLAIN) },
	{ "a tag that is empty", BYTES("\x81\xa6tagged\x91\x92\xa0" F32) },
	{ "a tag without a name", BYTES("\x81\xa6tagged\x91" F32) },
	{ "no pairs", BYTES("\x81\xa5pairs\x90") },
	{ "half a pair", BYTES("\x81\xa5pairs\x91" F32) },
	{ "a pair and a half", BYTES("\x81\xa5pairs\x93" PLAIN F32 PLAIN) },
	{ "a tensor for a key", BYTES("\x81\xa5pairs\x92" F32 F32) },
	{ "a map for a key", BYTES("\x81\xa5pairs\x92\x81\xa3map\x90" F32) },
	{ "pairs without tensor", BYTES("\x81\xa5pairs\x92" PLAIN PLAIN) },
	{ "4 billion names", BYTES("\x81\xa3map\xdd\xff\xff\xff\xff") },
};

START_TEST(bad_schema)
{
	struct lc__buf row = { 0 };
	struct lc__schema *schema = NULL;

	/* Of exactly that size, so that reading on is seen. */
	lc__buf_append(&row, bad_rows[_i].bytes, bad_rows[_i].size);
	ck_assert_msg(lc__schema_decode(row.data, row.size, &schema) == LC_CORRUPT,
	    "%s", bad_rows[_i].what);
	ck_assert_str_eq(lc_last_error()->text, "no known structure");
	lc__buf_free(&row);
}
END_TEST

START_TEST(many_names)
{
	static const unsigned counts[] = { 16, 17, 1000 };
	unsigned char head[] = "\x81\xa3map\xdc\0";

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct lc__buf row = { 0 };
		struct lc__schema *schema = NULL;
		size_t last;

		head[6] = (unsigned char)(counts[i] >> 8);
		head[7] = (unsigned char)counts[i];
		lc__buf_append(&row, head, 8);
		for (unsigned n = 0; n < counts[i]; n++)
			lc__buf_printf(&row, "\x92\xa4%04u" PLAIN, n);
		last = row.size - (sizeof(PLAIN) - 1) - 4;
		schema = decode_copy(row.data, row.size);
		ck_assert_ptr_nonnull(schema);
		ck_assert_uint_eq(schema->plains, counts[i]);
		lc__schema_free(schema);
		memcpy(row.data + last, "0003", 4);
		ck_assert_ptr_null(decode_copy(row.data, row.size));
		lc__buf_free(&row);
	}
}
END_TEST

/* ---- limits, comparing, cutting ------------------------------------------- */

static lc_status
infer_list(unsigned count, uint32_t ndim, bool plain)
{
	lc_value *list = lc_value_list();
	struct lc__schema *schema = NULL;
	lc_status status;

	for (unsigned i = 0; i < count; i++)
		lc_value_append(list, value_of_tensor(LC_U8, ndim));
	if (plain)
		for (unsigned i = 0; i < LC__MAX_NODES; i++)
			lc_value_append(list, lc_value_nil());
	status = lc__schema_infer(list, &schema);
	lc__schema_free(schema);
	lc_value_free(list);
	return status;
}

START_TEST(limits)
{
	assert_status(infer_list(65535, 1, false), LC_OK);
	assert_status(infer_list(65536, 0, false), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "value: too many tensors");
	assert_status(infer_list(4095, 16, false), LC_OK);
	assert_status(infer_list(4096, 16, false), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "value: too many dimensions");
	/* A list of plain data is one part, whatever its length. */
	assert_status(infer_list(0, 0, true), LC_OK);
	assert_status(infer_list(1, 0, true), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "value: 1048578 parts are too many");
}
END_TEST

START_TEST(names_have_a_limit)
{
	const size_t size = LC__MAX_NAMES + 1;
	char *name = malloc(size + 1);
	lc_value *value = lc_value_map();
	struct lc__schema *schema;

	ck_assert_ptr_nonnull(name);
	memset(name, 'n', size);
	name[size] = '\0';
	lc_value_set(value, name, lc_value_nil());
	assert_status(lc__schema_infer(value, &schema), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "of names are too many"));
	lc_value_free(value);
	free(name);
}
END_TEST

static const struct {
	const char *a, *b;
	bool equal, alike;
} pair_rows[] = {
	{ "f", "f", true, true },
	{ "f", "u", false, false },
	{ "n", "s", true, true },
	{ "{afbu}", "{buaf}", false, true },
	{ "{afbu}", "{aubf}", false, false },
	{ "{afbu}", "{afcu}", false, false },
	{ "{af}", "{afbu}", false, false },
	{ "{a{xfyn}b[uf]}", "{b[uf]a{ynxf}}", false, true },
	{ "{a{xfyn}b[uf]}", "{b[fu]a{ynxf}}", false, false },
	{ "[uf]", "(uf)", false, false },
	{ "[{afbn}]", "[{bnaf}]", false, true },
	{ "[12]", "[123]", true, true },
	{ "[12]", "n", true, true },
	{ "[{afbn}{anbf}]", "[{bnaf}{bnaf}]", false, false },
};

START_TEST(comparing)
{
	struct lc__schema *a = schema_of(pair_rows[_i].a);
	struct lc__schema *b = schema_of(pair_rows[_i].b);
	lc_value *value = value_of(pair_rows[_i].b);

	ck_assert_int_eq(lc__schema_equal(a, b), pair_rows[_i].equal);
	ck_assert_int_eq(lc__schema_fits(a, value), pair_rows[_i].equal);
	ck_assert(lc__schema_fits(b, value));
	ck_assert_int_eq(lc__schema_alike(a, b), pair_rows[_i].alike);
	ck_assert_int_eq(lc__schema_alike(b, a), pair_rows[_i].alike);
	lc_value_free(value);
	lc__schema_free(a);
	lc__schema_free(b);
}
END_TEST

/* A structure fits the values from which the same one is inferred, and their parts. */
START_TEST(fitting)
{
	uint64_t random = run_seed();
	lc_value *values[60];
	struct lc__schema *schemas[60];
	unsigned fit = 0;

	for (unsigned i = 0; i < 60; i++) {
		values[i] = random_value(&random, (int)(i % 4));
		assert_ok(lc__schema_infer(values[i], &schemas[i]));
	}
	for (unsigned i = 0; i < 60; i++) {
		for (unsigned j = 0; j < 60; j++) {
			const bool equal = lc__schema_equal(schemas[i], schemas[j]);

			ck_assert_int_eq(lc__schema_fits(schemas[i], values[j]), equal);
			fit += equal;
		}
		for (unsigned part = 0; part < 20; part++) {
			char path[4096];
			const lc_value *value = random_part(&random, values[i], path,
			    sizeof(path));
			struct lc__schema *inferred;

			assert_ok(lc__schema_infer(value, &inferred));
			ck_assert_int_eq(lc__schema_fits(schemas[i], value),
			    lc__schema_equal(schemas[i], inferred));
			ck_assert(lc__schema_fits(inferred, value));
			lc__schema_free(inferred);
		}
	}
	ck_assert_uint_ge(fit, 60);
	for (unsigned i = 0; i < 60; i++) {
		lc_value_free(values[i]);
		lc__schema_free(schemas[i]);
	}
}
END_TEST

/* The same 5,000 names forwards and backwards. */
START_TEST(comparing_many)
{
	struct lc__schema *schema[3];
	char name[20];

	for (int v = 0; v < 3; v++) {
		lc_value *map = lc_value_map();
		for (int i = 0; i < 5000; i++) {
			snprintf(name, sizeof(name), "%d", v == 0 ? i : 4999 - i);
			lc_value_set(map, v == 2 && i == 9 ? "x" : name,
			    lc_value_nil());
		}
		assert_ok(lc__schema_infer(map, &schema[v]));
		lc_value_free(map);
	}
	ck_assert(!lc__schema_equal(schema[0], schema[1]));
	ck_assert(lc__schema_alike(schema[0], schema[1]));
	ck_assert(!lc__schema_alike(schema[0], schema[2]));
	for (int v = 0; v < 3; v++)
		lc__schema_free(schema[v]);
}
END_TEST

START_TEST(walking)
{
	static const struct {
		const char *path;
		int node; /* -1: no such part */
		const char *rest;
	} rows[] = {
		{ "", 0, NULL }, { "a", 1, NULL }, { "b", 2, NULL }, { "b.0", 3, NULL },
		{ "b.0.x", 4, NULL }, { "b.1", 5, NULL }, { "b.2", -1, NULL },
		{ "b.1.0.k", 5, "0.k" }, { "a.", 1, "" }, { "b.0.x.0", -1, NULL },
		{ "c", -1, NULL }, { "b.0.", -1, NULL }, { "\\a", -1, NULL },
		{ "b.00", -1, NULL },
	};
	struct lc__schema *schema = schema_of("{anb[{xf}[1]]}");
	const char *rest;
	uint32_t node;

	ck_assert(lc__schema_find(schema, NULL, &node));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const bool found = lc__schema_walk(schema, rows[i].path, &node, &rest);
		ck_assert_msg(found == (rows[i].node >= 0), "'%s'", rows[i].path);
		if (!found)
			continue;
		ck_assert_int_eq((int)node, rows[i].node);
		ck_assert_int_eq(rest == NULL, rows[i].rest == NULL);
		ck_assert(rest == NULL || strcmp(rest, rows[i].rest) == 0);
		ck_assert_int_eq(lc__schema_find(schema, rows[i].path, &node),
		    rest == NULL);
	}
	lc__schema_free(schema);
}
END_TEST

START_TEST(cutting)
{
	static const char whole[] = "{a: [f32[*], u8[]], b: plain}";
	struct lc__schema *schema = schema_of("{a[fu]bn}");
	char text[64];

	for (size_t room = 0; room < sizeof(text); room++) {
		memset(text, '#', sizeof(text));
		lc__schema_describe(schema, text, room);
		ck_assert_int_eq(text[room], '#');
		if (room >= sizeof(whole))
			ck_assert_str_eq(text, whole);
		else if (room > 3) {
			ck_assert_uint_eq(strlen(text), room - 1);
			ck_assert_mem_eq(text, whole, room - 4);
			ck_assert_str_eq(text + room - 4, "...");
		}
	}
	lc__schema_free(schema);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof(table[0]))

/* ---- words ---------------------------------------------------------------- */

static lc_status
parse_policy(const char *name, unsigned *out)
{
	lc_policy policy = LC_EVOLVE;
	const lc_status status = lc_policy_parse(name, &policy);

	*out = (unsigned)policy;
	return status;
}

static lc_status
parse_evict(const char *name, unsigned *out)
{
	lc_evict evict = LC_EVICT_OLDEST;
	const lc_status status = lc_evict_parse(name, &evict);

	*out = (unsigned)evict;
	return status;
}

static const char *
policy_name(unsigned i)
{
	return lc_policy_name((lc_policy)i);
}

static const char *
evict_name(unsigned i)
{
	return lc_evict_name((lc_evict)i);
}

/* What settings choose from: two words each, by their numbers. */
static const struct {
	const char *words[2], *unknown;
	const char *(*name)(unsigned i);
	lc_status (*parse)(const char *name, unsigned *out);
} choices[] = {
	{ { "evolve", "strict" }, "Strict", policy_name, parse_policy },
	{ { "oldest", "unread" }, "unrea", evict_name, parse_evict },
};

START_TEST(words)
{
	unsigned got;

	for (unsigned i = 0; i < 2; i++) {
		ck_assert_str_eq(choices[_i].name(i), choices[_i].words[i]);
		assert_ok(choices[_i].parse(choices[_i].words[i], &got));
		ck_assert_uint_eq(got, i);
	}
	ck_assert_ptr_null(choices[_i].name(2));
	ck_assert_ptr_null(choices[_i].name((unsigned)-1));
	assert_status(choices[_i].parse("", &got), LC_INVALID);
	assert_status(choices[_i].parse(NULL, &got), LC_INVALID);
	assert_status(choices[_i].parse(choices[_i].unknown, &got), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, choices[_i].unknown));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("schema");
	TCase *tc = tcase_create("schema");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, exact_bytes, 0, ROWS(byte_rows));
	tcase_add_test(tc, of_tensor);
	tcase_add_test(tc, rows_of_ids);
	tcase_add_test(tc, damage);
	tcase_add_loop_test(tc, bad_schema, 0, ROWS(bad_rows));
	tcase_add_test(tc, many_names);
	tcase_add_test(tc, limits);
	tcase_add_test(tc, names_have_a_limit);
	tcase_add_loop_test(tc, comparing, 0, ROWS(pair_rows));
	tcase_add_test(tc, fitting);
	tcase_add_test(tc, comparing_many);
	tcase_add_test(tc, walking);
	tcase_add_test(tc, cutting);
	tcase_add_loop_test(tc, words, 0, ROWS(choices));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
