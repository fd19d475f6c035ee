/* SPDX-License-Identifier: BSD-2-Clause */
/* Values taken apart for a record, and put together again. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mpack.h"
#include "need.h"
#include "random_value.h"
#include "sample.h"
#include "value/schema.h"
#include "value/value_record.h"
#include "value_parts.h"

START_TEST(plain_bytes)
{
	static const struct {
		uint64_t number;
		bool negative;
		const char *bytes;
		size_t size;
	} rows[] = {
		{ 0, false, BYTES("\0") }, { 127, false, BYTES("\x7f") },
		{ 128, false, BYTES("\xcc\x80") }, { 256, false, BYTES("\xcd\1\0") },
		{ 65536, false, BYTES("\xce\0\1\0\0") },
		{ UINT64_MAX, false, BYTES("\xcf\xff\xff\xff\xff\xff\xff\xff\xff") },
		{ (uint64_t)-1, true, BYTES("\xff") },
		{ (uint64_t)-32, true, BYTES("\xe0") },
		{ (uint64_t)-33, true, BYTES("\xd0\xdf") },
		{ (uint64_t)-128, true, BYTES("\xd0\x80") },
		{ (uint64_t)-129, true, BYTES("\xd1\xff\x7f") },
		{ (uint64_t)-32769, true, BYTES("\xd2\xff\xff\x7f\xff") },
		{ (uint64_t)INT64_MIN, true, BYTES("\xd3\x80\0\0\0\0\0\0\0") },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		lc_value *value = rows[i].negative ?
		    lc_value_integer((int64_t)rows[i].number) :
		    lc_value_unsigned(rows[i].number), *again;
		struct value_parts parts;
		value_parts_take(value, &parts);
		ck_assert_uint_eq(parts.plain.size, rows[i].size);
		ck_assert_mem_eq(parts.plain.data, rows[i].bytes, rows[i].size);
		assert_ok(value_parts_restore(&parts, 0, &again));
		ck_assert(lc_value_equal(value, again));
		lc_value_free(again);
		lc_value_free(value);
		value_parts_free(&parts);
	}
}
END_TEST

/* ---- the property --------------------------------------------------------- */

/* A part by itself, found in the schema, is the part of the value. */
static void
check_part(const lc_value *value, const struct value_parts *parts, uint64_t *state)
{
	char path[4000];
	const lc_value *part = random_part(state, value, path, sizeof(path));
	const char *rest;
	lc_value *again;
	uint32_t node, same;

	ck_assert_ptr_eq(lc_value_find(value, path), part);
	ck_assert(lc__schema_walk(parts->schema, path, &node, &rest));
	ck_assert_int_eq(lc__schema_find(parts->schema, path, &same), rest == NULL);
	ck_assert(rest != NULL || node == same);
	assert_ok(value_parts_restore(parts, node, &again));
	ck_assert(lc_value_equal(lc_value_find(again, rest), part));
	assert_ok(lc_value_check(again));
	lc_value_free(again);
}

START_TEST(round_trips)
{
	uint64_t state = run_seed();
	char text[1000], cut[64];

	for (unsigned i = 0; i < sample_times(10000); i++) {
		lc_value *value = random_value(&state, 1 + (int)(i % 8)), *again;
		struct lc__schema *decoded, *inferred;
		struct value_parts parts;

		value_parts_take(value, &parts);
		assert_ok(lc__schema_decode(parts.schema->bytes, parts.schema->size,
		    &decoded));
		ck_assert(lc__schema_equal(decoded, parts.schema));
		ck_assert(lc__schema_alike(decoded, parts.schema));
		assert_ok(value_parts_restore(&parts, 0, &again));
		ck_assert(lc_value_equal(value, again));
		ck_assert_uint_eq(decoded->node[0].end, decoded->nodes);
		assert_ok(lc__schema_infer(again, &inferred));
		ck_assert(lc__schema_equal(inferred, parts.schema));
		check_part(value, &parts, &state);
		lc__schema_describe(decoded, text, sizeof(text));
		lc__schema_describe(decoded, cut, sizeof(cut));
		ck_assert(strcmp(text, cut) == 0 ||
		    strcmp(cut + strlen(cut) - 3, "...") == 0);
		lc__schema_free(decoded);
		lc__schema_free(inferred);
		lc_value_free(again);
		lc_value_free(value);
		value_parts_free(&parts);
	}
}
END_TEST

/* ---- damage --------------------------------------------------------------- */

/* Plain data has one form only: what can be read is written as the same bytes. */
static void
restore_damaged(const struct value_parts *parts, const unsigned char *bytes, size_t size)
{
	unsigned char *copy = malloc(size > 0 ? size : 1);
	lc_value *value;
	lc_status status;
	struct value_parts again;

	memcpy(copy, bytes, size);
	status = lc__value_restore(parts->schema, 0, parts->copies, copy, size,
	    &value);
	if (status != LC_OK) {
		assert_status(status, LC_CORRUPT);
	} else {
		value_parts_take(value, &again);
		ck_assert(lc__schema_equal(again.schema, parts->schema));
		ck_assert_uint_eq(again.plain.size, size);
		ck_assert_mem_eq(again.plain.data, copy, size);
		value_parts_free(&again);
		lc_value_free(value);
	}
	free(copy);
}

static void
damage_plain(const struct value_parts *parts, unsigned char flip)
{
	struct lc__buf plain = { 0 };
	lc_value *value;

	lc__buf_append(&plain, parts->plain.data, parts->plain.size);
	for (size_t i = 0; i < plain.size; i++) {
		ck_assert_int_eq(lc__value_restore(parts->schema, 0, parts->copies,
		    plain.data, i, &value), LC_CORRUPT);
		plain.data[i] ^= flip;
		restore_damaged(parts, plain.data, plain.size);
		plain.data[i] ^= flip;
	}
	lc__buf_append(&plain, "\xc0", 1);
	ck_assert_int_eq(lc__value_restore(parts->schema, 0, parts->copies,
	    plain.data, plain.size, &value), LC_CORRUPT);
	lc__buf_free(&plain);
}

START_TEST(damage)
{
	uint64_t state = run_seed();

	for (unsigned i = 0; i < sample_times(200); i++) {
		lc_value *value = random_value(&state, 1 + (int)(i % 6));
		struct value_parts parts;
		value_parts_take(value, &parts);
		for (int flips = 0; flips < 3; flips++) {
			const unsigned char flip =
			    (unsigned char)(run_random(&state) % 255 + 1);
			if (parts.plain.size < 1000)
				damage_plain(&parts, flip);
		}
		lc_value_free(value);
		value_parts_free(&parts);
	}
}
END_TEST

/* Of {anb[{xf}n]}: two leaves, the second at depth 3. */
static const struct {
	const char *what;
	const char *bytes;
	size_t size;
	bool good;
} plain_rows[] = {
	{ "two", BYTES("\xc0\x01"), true },
	{ "none", BYTES(""), false },
	{ "one", BYTES("\xc0"), false },
	{ "three", BYTES("\xc0\xc0\xc0"), false },
	{ "a map", BYTES("\xc0\x80"), false },
	{ "a map in a list", BYTES("\xc0\x91\x81\xa1" "a\xc0"), true },
	{ "a name twice", BYTES("\xc0\x91\x82\xa1" "a\xc0\xa1" "a\xc0"), false },
	{ "an empty name", BYTES("\xc0\x91\x81\xa0\xc0"), false },
	{ "a NUL in a name", BYTES("\xc0\x91\x81\xa1\0\xc0"), false },
	{ "a name that is a number", BYTES("\xc0\x91\x81\x01\xc0"), false },
	{ "a binary name", BYTES("\xc0\x91\x81\xc4\x01" "a\xc0"), false },
	{ "float 32", BYTES("\xc0\xca\0\0\0\0"), false },
	{ "never used", BYTES("\xc0\xc1"), false },
	{ "a tagged nil", BYTES("\xc0\xd6\x02\x81\xa1t\xc0"), true },
	{ "a tagged map", BYTES("\xc0\xd6\x02\x81\xa1t\x80"), true },
	{ "a tagged value without one", BYTES("\xc0\xd4\x02\x80"), false },
	{ "a tagged value of two", BYTES("\xc0\xc7\x07\x02\x82\xa1t\xc0\xa1u\xc0"), false },
	{ "a tagged array", BYTES("\xc0\xd5\x02\x91\xc0"), false },
	{ "an empty tag", BYTES("\xc0\xc7\x03\x02\x81\xa0\xc0"), false },
	{ "a NUL in a tag", BYTES("\xc0\xd6\x02\x81\xa1\0\xc0"), false },
	{ "a tag that is a number", BYTES("\xc0\xc7\x03\x02\x81\x01\xc0"), false },
	{ "a tagged value and more", BYTES("\xc0\xc7\x05\x02\x81\xa1t\xc0\xc0"), false },
	{ "pairs", BYTES("\xc0\xc7\x03\x03\x92\x01\xc0"), true },
	{ "no pairs", BYTES("\xc0\xd4\x03\x90"), true },
	{ "a key that comes twice", BYTES("\xc0\xc7\x05\x03\x94\x01\xc0\x01\xc0"), true },
	{ "half a pair", BYTES("\xc0\xd5\x03\x91\xc0"), false },
	{ "pairs as a map", BYTES("\xc0\xc7\x03\x03\x81\x01\xc0"), false },
	{ "a map for a key", BYTES("\xc0\xc7\x03\x03\x92\x80\xc0"), false },
	{ "a map in a key", BYTES("\xc0\xd6\x03\x92\x91\x80\xc0"), true },
	{ "pairs too short", BYTES("\xc0\xd5\x03\x92\xc0"), false },
	{ "4 billion pairs at once", BYTES("\xc0\xc7\x06\x03\xdd\xff\xff\xff\xfe\xc0"), false },
	{ "extension 4", BYTES("\xc0\xd4\x04\x90"), false },
	{ "extension 0", BYTES("\xc0\xd4\x00\x90"), false },
	{ "extension -1", BYTES("\xc0\xd4\xff\x90"), false },
	{ "an empty tuple", BYTES("\xc0\xd4\x01\x90"), true },
	{ "a tuple in a wide form", BYTES("\xc0\xc7\x01\x01\x90"), false },
	{ "a tuple of no bytes", BYTES("\xc0\xc7\x00\x01"), false },
	{ "a tuple that is nil", BYTES("\xc0\xd4\x01\xc0"), false },
	{ "a tuple of two arrays", BYTES("\xc0\xd5\x01\x90\x90"), false },
	{ "a tuple too short", BYTES("\xc0\xd4\x01\x91\xc0"), false },
	{ "a tuple of 3 bytes", BYTES("\xc0\xc7\x03\x01\x92\xc0\xc0"), true },
	{ "5 in two bytes", BYTES("\xc0\xcc\x05"), false },
	{ "256 as signed", BYTES("\xc0\xd1\x01\x00"), false },
	{ "-1 in two bytes", BYTES("\xc0\xd0\xff"), false },
	{ "a wide short string", BYTES("\xc0\xd9\x01" "a"), false },
	{ "a wide short array", BYTES("\xc0\xdc\x00\x01\xc0"), false },
	{ "4 billion members", BYTES("\xc0\xdd\xff\xff\xff\xff\xc0"), false },
	{ "4 billion pairs", BYTES("\xc0\x91\xdf\xff\xff\xff\xff\xc0"), false },
	{ "4 billion bytes", BYTES("\xc0\xc6\xff\xff\xff\xff\xc0"), false },
	{ "a list at depth 63", BYTES("\xc0"
	  "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	  "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	  "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	  "\x91\xc0"), true },
	{ "a list at depth 64", BYTES("\xc0"
	  "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	  "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	  "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
	  "\x91\x91\xc0"), false },
};

START_TEST(bad_plain)
{
	lc_value *value = value_of("{anb[{xf}n]}"), *again = NULL;
	struct value_parts parts;

	value_parts_take(value, &parts);
	ck_assert_msg(lc__value_restore(parts.schema, 0, parts.copies,
	    plain_rows[_i].bytes, plain_rows[_i].size, &again) ==
	    (plain_rows[_i].good ? LC_OK : LC_CORRUPT), "%s", plain_rows[_i].what);
	ck_assert_int_eq(again != NULL, plain_rows[_i].good);
	lc_value_free(again);
	lc_value_free(value);
	value_parts_free(&parts);
}
END_TEST

/* Each level is in the bytes of the one around it. */
static void
wrap(struct lc__buf *plain, enum lc__ext ext)
{
	struct lc__buf outer = { 0 };

	if (ext == LC__TAGGED_EXT) {
		lc__mpack_map(&outer, 1);
		lc__mpack_str(&outer, "t");
	} else {
		lc__mpack_array(&outer, 2);
		lc__mpack_nil(&outer);
	}
	lc__buf_append(&outer, plain->data, plain->size);
	lc__mpack_ext_of(&outer, 0, (int8_t)ext);
	lc__buf_free(plain);
	*plain = outer;
}

START_TEST(deep)
{
	const enum lc__ext ext = _i ? LC__PAIRS_EXT : LC__TAGGED_EXT;
	lc_value *root = lc_value_nil(), *again = NULL, *outer;
	struct lc__buf plain = { 0 };
	struct value_parts parts;

	lc__mpack_nil(&plain);
	for (int level = 1; level < LC_MAX_DEPTH; level++) {
		outer = _i ? lc_value_pairs() : lc_value_tagged("t", root);
		if (_i)
			lc_value_pair(outer, lc_value_nil(), root);
		root = outer;
		wrap(&plain, ext);
	}
	value_parts_take(root, &parts);
	ck_assert_uint_eq(parts.plain.size, plain.size);
	ck_assert_mem_eq(parts.plain.data, plain.data, plain.size);
	assert_ok(value_parts_restore(&parts, 0, &again));
	ck_assert(lc_value_equal(root, again));
	lc_value_free(again);
	wrap(&plain, ext);
	assert_status(lc__value_restore(parts.schema, 0, NULL, plain.data, plain.size,
	    &again), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "malformed plain data");
	outer = lc_value_list();
	ck_assert_ptr_null(lc_value_append(outer, root));
	ck_assert_int_eq(lc_value_check(outer), LC_INVALID);
	lc_value_free(outer);
	lc__buf_free(&plain);
	value_parts_free(&parts);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof(table[0]))

int
main(void)
{
	Suite *suite = suite_create("restore");
	TCase *tc = tcase_create("restore");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, plain_bytes);
	tcase_add_test(tc, round_trips);
	tcase_add_test(tc, damage);
	tcase_add_loop_test(tc, deep, 0, 2);
	tcase_add_loop_test(tc, bad_plain, 0, ROWS(plain_rows));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
