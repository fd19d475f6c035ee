/* SPDX-License-Identifier: BSD-2-Clause */
/* Building values, and reading what was built. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"

static const float floats[4] = { 1, 2, 3, 4 };

static lc_value *
floats_value(uint64_t count)
{
	lc_tensor tensor;

	need_ok(lc_tensor_init(&tensor, LC_F32, 1, &count, floats));
	return lc_value_tensor(&tensor);
}

static lc_value *
detector(void)
{
	lc_value *out = lc_value_map();
	lc_value *boxes;

	lc_value_set(out, "features", floats_value(4));
	boxes = lc_value_set(out, "boxes", lc_value_list());
	lc_value_append(boxes, floats_value(2));
	lc_value_append(boxes, floats_value(3));
	lc_value_set(out, "model", lc_value_str("yolo-x"));
	lc_value_set(out, "n", lc_value_integer(-3));
	lc_value_append(lc_value_set(out, "tags", lc_value_tuple()),
	    lc_value_boolean(7));
	ck_assert_int_eq(lc_value_check(out), LC_OK);
	return out;
}

START_TEST(kind_names)
{
	static const char *const names[] = {
		"tensor", "map", "list", "tuple", "nil", "boolean", "integer",
		"float", "string", "bytes", "tagged", "pairs"
	};

	for (int i = 0; i < 12; i++)
		ck_assert_str_eq(lc_kind_name((lc_kind)i), names[i]);
	ck_assert_ptr_null(lc_kind_name((lc_kind)12));
}
END_TEST

START_TEST(walking)
{
	lc_value *out = detector();
	const lc_value *boxes = lc_value_at(out, 1);

	ck_assert_int_eq(lc_value_kind(out), LC_MAP);
	ck_assert_uint_eq(lc_value_count(out), 5);
	ck_assert_str_eq(lc_value_name(out, 1), "boxes");
	ck_assert_ptr_null(lc_value_name(out, 5));
	ck_assert_ptr_null(lc_value_at(out, 5));
	ck_assert_int_eq(lc_value_kind(boxes), LC_LIST);
	ck_assert_ptr_null(lc_value_name(boxes, 0));
	ck_assert_uint_eq(lc_value_count(lc_value_at(boxes, 0)), 0);
	ck_assert_uint_eq(lc_value_count(NULL), 0);
	ck_assert_int_eq(lc_value_kind(NULL), LC_NIL);
	lc_value_free(out);
	lc_value_free(NULL);
}
END_TEST

START_TEST(paths)
{
	static const struct {
		const char *path;
		int kind; /* -1: nothing there */
	} rows[] = {
		{ "", LC_MAP }, { "boxes", LC_LIST }, { "boxes.1", LC_TENSOR },
		{ "boxes.2", -1 }, { "boxes.01", -1 }, { "boxes.", -1 },
		{ "boxes.1.0", -1 }, { "boxes.-1", -1 }, { "boxes.99999999999", -1 },
		{ ".boxes", -1 }, { "boxe", -1 }, { "boxess", -1 }, { "0", -1 },
		{ "tags.0", LC_BOOLEAN }, { "a\\.b", LC_NIL }, { "a.b", -1 },
		{ "\\\\.x\\\\\\.", LC_FLOAT }, { "\\\\.x\\\\", -1 }, { "\\", -1 },
		{ "a\\b", -1 }, { "b\\oxes", -1 }, { "\\\\", LC_MAP },
		{ "\\\\.x\\\\\\.y", -1 }, { ".", -1 }, { "..", -1 },
	};
	lc_value *out = detector();
	const lc_value *part;

	lc_value_set(out, "a.b", lc_value_nil());
	lc_value_set(lc_value_set(out, "\\", lc_value_map()), "x\\.",
	    lc_value_float(1));
	ck_assert_ptr_eq(lc_value_find(out, NULL), out);
	ck_assert_ptr_null(lc_value_find(NULL, "x"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		part = lc_value_find(out, rows[i].path);
		ck_assert_msg((part == NULL) == (rows[i].kind < 0), "'%s'",
		    rows[i].path);
		ck_assert(part == NULL || (int)lc_value_kind(part) == rows[i].kind);
	}
	lc_value_free(out);
}
END_TEST

START_TEST(tagged_and_pairs)
{
	lc_value *root = lc_value_map(), *set = lc_value_list(), *pairs, *key;
	const lc_value *tagged;

	lc_value_append(set, lc_value_integer(1));
	tagged = lc_value_set(root, "set", lc_value_tagged("py.set", set));
	ck_assert_int_eq(lc_value_kind(tagged), LC_TAGGED);
	ck_assert_uint_eq(lc_value_count(tagged), 1);
	ck_assert_str_eq(lc_value_name(tagged, 0), "py.set");
	ck_assert_ptr_null(lc_value_name(tagged, 1));
	ck_assert_ptr_eq(lc_value_at(tagged, 0), set);
	ck_assert_ptr_eq(lc_value_find(root, "set.py\\.set"), set);
	ck_assert_ptr_null(lc_value_find(root, "set.0"));

	pairs = lc_value_set(root, "pairs", lc_value_pairs());
	key = lc_value_tuple();
	lc_value_append(key, lc_value_float(0.5));
	ck_assert_ptr_nonnull(lc_value_pair(pairs, key, floats_value(2)));
	ck_assert_ptr_nonnull(lc_value_pair(pairs, lc_value_nil(), lc_value_map()));
	ck_assert_uint_eq(lc_value_count(pairs), 4);
	ck_assert_ptr_null(lc_value_name(pairs, 0));
	ck_assert_ptr_eq(lc_value_find(root, "pairs.0"), key);
	ck_assert_int_eq(lc_value_kind(lc_value_find(root, "pairs.1")), LC_TENSOR);
	need_ok(lc_value_check(root));
	lc_value_free(root);
}
END_TEST

START_TEST(parts)
{
	static const struct {
		lc_kind kind;
		size_t size;
		const char *text;
	} rows[] = {
		{ LC_MAP, 3, NULL }, { LC_STRING, 1, "a" }, { LC_TENSOR, 0, NULL },
		{ LC_STRING, 1, "b" }, { LC_TAGGED, 1, NULL }, { LC_STRING, 3, "tag" },
		{ LC_LIST, 4, NULL }, { LC_INTEGER, 0, NULL }, { LC_INTEGER, 0, NULL },
		{ LC_FLOAT, 0, NULL }, { LC_BYTES, 2, "x" }, { LC_STRING, 1, "c" },
		{ LC_PAIRS, 2, NULL }, { LC_NIL, 0, NULL }, { LC_BOOLEAN, 0, NULL },
	};
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	lc_value *root = lc_value_map(), *list = lc_value_list();
	lc_part part[20];

	lc_value_set(root, "a", floats_value(3));
	lc_value_append(list, lc_value_integer(-5));
	lc_value_append(list, lc_value_unsigned(UINT64_MAX));
	lc_value_append(list, lc_value_float(-0.5));
	lc_value_append(list, lc_value_bytes("x", 2));
	lc_value_set(root, "b", lc_value_tagged("tag", list));
	lc_value_pair(lc_value_set(root, "c", lc_value_pairs()), lc_value_nil(),
	    lc_value_boolean(1));
	need_ok(lc_value_check(root));
	ck_assert_uint_eq(lc_value_parts(NULL, NULL, 0), 0);
	ck_assert_uint_eq(lc_value_parts(root, NULL, 0), n);
	for (size_t room = 0; room <= n; room++) {
		memset(part, 0x5a, sizeof(part));
		ck_assert_uint_eq(lc_value_parts(root, part, room), n);
		for (size_t i = 0; i < room; i++) {
			ck_assert_int_eq(part[i].kind, rows[i].kind);
			ck_assert_uint_eq(part[i].size, rows[i].size);
			if (rows[i].text != NULL)
				ck_assert_str_eq(part[i].of.bytes, rows[i].text);
		}
		ck_assert_uint_eq(part[room].size, SIZE_MAX / 255 * 0x5a);
	}
	ck_assert_ptr_eq(part[2].of.tensor->data, floats);
	ck_assert_int_eq(part[7].negative, 1);
	ck_assert_int_eq(part[7].of.integer, -5);
	ck_assert_int_eq(part[8].negative, 0);
	ck_assert_uint_eq(part[8].of.natural, UINT64_MAX);
	ck_assert(part[9].of.number == -0.5);
	ck_assert_uint_eq(part[14].of.natural, 1);
	lc_value_free(root);
}
END_TEST

START_TEST(contents)
{
	lc_value *all = lc_value_list();
	lc_tensor tensor;
	const char *text;
	const void *bytes;
	double number;
	size_t size;
	int truth;

	lc_value_append(all, floats_value(3));
	lc_value_append(all, lc_value_boolean(-8));
	lc_value_append(all, lc_value_float(0.5));
	lc_value_append(all, lc_value_strn("a\0b", 3));
	lc_value_append(all, lc_value_bytes(NULL, 0));
	ck_assert_int_eq(lc_value_as_tensor(lc_value_at(all, 0), &tensor), LC_OK);
	ck_assert_ptr_eq(tensor.data, floats);
	ck_assert_uint_eq(tensor.nbytes, 12);
	ck_assert_int_eq(lc_value_as_boolean(lc_value_at(all, 1), &truth), LC_OK);
	ck_assert_int_eq(truth, 1);
	ck_assert_int_eq(lc_value_as_float(lc_value_at(all, 2), &number), LC_OK);
	ck_assert(number == 0.5);
	ck_assert_int_eq(lc_value_as_str(lc_value_at(all, 3), &text, &size), LC_OK);
	ck_assert_uint_eq(size, 3);
	ck_assert_mem_eq(text, "a\0b", 4);
	ck_assert_int_eq(lc_value_as_str(lc_value_at(all, 3), &text, NULL), LC_OK);
	ck_assert_int_eq(lc_value_as_bytes(lc_value_at(all, 4), &bytes, &size), LC_OK);
	ck_assert_uint_eq(size, 0);
	lc_value_free(all);
}
END_TEST

START_TEST(integers)
{
	static const struct {
		uint64_t bits;
		bool is_signed;
		lc_status as_signed, as_unsigned;
	} rows[] = {
		{ 0, true, LC_OK, LC_OK }, { 0, false, LC_OK, LC_OK },
		{ UINT64_MAX, true, LC_OK, LC_INVALID }, /* -1 */
		{ UINT64_MAX, false, LC_INVALID, LC_OK },
		{ INT64_MAX, false, LC_OK, LC_OK },
		{ (uint64_t)INT64_MAX + 1, false, LC_INVALID, LC_OK },
		{ (uint64_t)INT64_MAX + 1, true, LC_OK, LC_INVALID },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		lc_value *value = rows[i].is_signed ?
		    lc_value_integer((int64_t)rows[i].bits) :
		    lc_value_unsigned(rows[i].bits);
		uint64_t big = 99;
		int64_t number = 99;

		ck_assert_int_eq(lc_value_as_integer(value, &number),
		    rows[i].as_signed);
		ck_assert_int_eq(lc_value_as_unsigned(value, &big),
		    rows[i].as_unsigned);
		ck_assert_int_eq(number,
		    rows[i].as_signed == LC_OK ? (int64_t)rows[i].bits : 99);
		ck_assert_uint_eq(big,
		    rows[i].as_unsigned == LC_OK ? rows[i].bits : 99);
		lc_value_free(value);
	}
}
END_TEST

/* What each kind is asked for in turn. */
static lc_status
ask(const lc_value *value, int kind)
{
	union {
		lc_tensor tensor;
		int truth;
		int64_t number;
		uint64_t big;
		double real;
		const char *text;
		const void *bytes;
	} out;

	switch (kind) {
	case 0:
		return lc_value_as_tensor(value, &out.tensor);
	case 1:
		return lc_value_as_boolean(value, &out.truth);
	case 2:
		return lc_value_as_integer(value, &out.number);
	case 3:
		return lc_value_as_unsigned(value, &out.big);
	case 4:
		return lc_value_as_float(value, &out.real);
	case 5:
		return lc_value_as_str(value, &out.text, NULL);
	default:
		return lc_value_as_bytes(value, &out.bytes, NULL);
	}
}

START_TEST(other_kinds)
{
	lc_value *map = lc_value_map(), *text = lc_value_str("5");

	for (int kind = 0; kind < 7; kind++) {
		ck_assert_int_eq(ask(map, kind), LC_SCHEMA);
		ck_assert_int_eq(ask(NULL, kind), LC_SCHEMA);
		ck_assert_int_eq(ask(text, kind), kind == 5 ? LC_OK : LC_SCHEMA);
	}
	ck_assert_int_eq(ask(map, 0), LC_SCHEMA);
	ck_assert_str_eq(lc_last_error()->text, "value: a map, not a tensor");
	ck_assert_int_eq(ask(text, 2), LC_SCHEMA);
	ck_assert_str_eq(lc_last_error()->text, "value: a string, not an integer");
	ck_assert_int_eq(ask(NULL, 6), LC_SCHEMA);
	ck_assert_str_eq(lc_last_error()->text, "value: no such part, not bytes");
	lc_value_free(map);
	lc_value_free(text);
}
END_TEST

/* ---- what fails while building ------------------------------------------- */

static lc_value *
twice(lc_value *root)
{
	lc_value_set(root, "x", lc_value_nil());
	ck_assert_ptr_null(lc_value_set(root, "x", detector()));
	return root;
}

static lc_value *
twice_below(lc_value *root)
{
	/* Marked before it has a parent. */
	lc_value *inner = twice(lc_value_map());

	lc_value_append(lc_value_set(root, "list", lc_value_list()), inner);
	return root;
}

static lc_value *
twice_later(lc_value *root)
{
	lc_value *list = lc_value_set(root, "list", lc_value_list());

	twice(lc_value_append(list, lc_value_map()));
	/* The first failure is the one that is told. */
	lc_value_set(list, "name", lc_value_nil());
	return root;
}

static lc_value *
twice_among_many(lc_value *root)
{
	char name[20];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		ck_assert_ptr_nonnull(lc_value_set(root, name, lc_value_nil()));
	}
	ck_assert_ptr_nonnull(lc_value_find(root, "n999"));
	ck_assert_ptr_null(lc_value_find(root, "n1000"));
	ck_assert_int_eq(lc_value_check(root), LC_OK);
	ck_assert_ptr_null(lc_value_set(root, "n77", lc_value_nil()));
	ck_assert_uint_eq(lc_value_count(root), 1000);
	return root;
}

static lc_value *
no_name(lc_value *root)
{
	ck_assert_ptr_null(lc_value_set(root, "", lc_value_nil()));
	ck_assert_ptr_null(lc_value_set(root, NULL, lc_value_nil()));
	return root;
}

static lc_value *
append_to_map(lc_value *root)
{
	ck_assert_ptr_null(lc_value_append(root, lc_value_nil()));
	return root;
}

static lc_value *
name_in_list(lc_value *root)
{
	lc_value *tuple = lc_value_set(root, "t", lc_value_tuple());

	ck_assert_ptr_null(lc_value_set(tuple, "x", lc_value_nil()));
	return root;
}

static lc_value *
child_of_leaf(lc_value *root)
{
	lc_value *leaf = lc_value_set(root, "t", floats_value(4));

	ck_assert_ptr_null(lc_value_append(leaf, lc_value_nil()));
	return root;
}

static lc_value *
child_of_two(lc_value *root)
{
	lc_value *leaf = lc_value_set(root, "t", lc_value_str("leaf"));

	ck_assert_ptr_null(lc_value_set(root, "u", leaf));
	ck_assert_ptr_null(lc_value_append(NULL, leaf));
	ck_assert_ptr_eq(lc_value_at(root, 0), leaf);
	return root;
}

static lc_value *
cycle(lc_value *root)
{
	lc_value *list = lc_value_set(root, "t", lc_value_list());

	ck_assert_ptr_null(lc_value_append(list, root));
	ck_assert_ptr_null(lc_value_set(root, "u", root));
	return root;
}

static lc_value *
leaf_of_itself(lc_value *root)
{
	lc_value *leaf = lc_value_nil();

	ck_assert_ptr_null(lc_value_append(leaf, leaf));
	lc_value_set(root, "leaf", leaf);
	ck_assert_ptr_null(lc_value_append(leaf, root));
	return root;
}

static lc_value *
no_tag(lc_value *root)
{
	lc_value_set(root, "x", lc_value_tagged("", lc_value_nil()));
	lc_value_set(root, "y", lc_value_tagged(NULL, lc_value_nil()));
	return root;
}

static lc_value *
tag_of_nothing(lc_value *root)
{
	lc_value_set(root, "x", lc_value_tagged("t", NULL));
	return root;
}

static lc_value *
tag_of_part(lc_value *root)
{
	lc_value *leaf = lc_value_set(root, "x", lc_value_nil());

	lc_value_set(root, "y", lc_value_tagged("t", leaf));
	return root;
}

static lc_value *
second_of_tagged(lc_value *root)
{
	lc_value *tagged = lc_value_tagged("t", lc_value_nil());

	lc_value_set(root, "x", tagged);
	ck_assert_ptr_null(lc_value_append(tagged, lc_value_nil()));
	ck_assert_ptr_null(lc_value_set(tagged, "u", lc_value_nil()));
	ck_assert_uint_eq(lc_value_count(tagged), 1);
	return root;
}

static lc_value *
append_to_pairs(lc_value *root)
{
	lc_value *pairs = lc_value_set(root, "x", lc_value_pairs());

	ck_assert_ptr_null(lc_value_append(pairs, lc_value_nil()));
	ck_assert_ptr_null(lc_value_set(pairs, "u", lc_value_nil()));
	return root;
}

static lc_value *
pair_of_map(lc_value *root)
{
	ck_assert_ptr_null(lc_value_pair(root, lc_value_nil(), floats_value(1)));
	ck_assert_ptr_null(lc_value_pair(root, lc_value_nil(), root));
	ck_assert_ptr_null(lc_value_pair(root, root, lc_value_nil()));
	return root;
}

static lc_value *
tensor_as_key(lc_value *root)
{
	lc_value *pairs = lc_value_set(root, "x", lc_value_pairs());

	ck_assert_ptr_null(lc_value_pair(pairs, floats_value(1), floats_value(1)));
	return root;
}

static lc_value *
map_as_key(lc_value *root)
{
	lc_value *pairs = lc_value_set(root, "x", lc_value_pairs());

	ck_assert_ptr_null(lc_value_pair(pairs, lc_value_map(), pairs));
	return root;
}

/* A key is part of a value when the tensor comes, also one of a copy. */
static lc_value *
tensor_into_key(lc_value *root)
{
	lc_value *pairs = lc_value_pairs(), *key = lc_value_list(), *copy;
	lc_value *inner = lc_value_append(key, lc_value_list());

	lc_value_pair(pairs, key, lc_value_nil());
	need_ok(lc_value_check(pairs));
	copy = lc_value_copy(pairs);
	ck_assert_ptr_null(lc_value_append(inner, floats_value(1)));
	ck_assert_int_eq(lc_value_check(pairs), LC_INVALID);
	lc_value_free(pairs);
	key = (lc_value *)(uintptr_t)lc_value_at(copy, 0);
	ck_assert_ptr_null(lc_value_append(key, floats_value(1)));
	lc_value_set(root, "x", copy);
	return root;
}

static lc_value *
key_is_child(lc_value *root)
{
	lc_value *pairs = lc_value_set(root, "x", lc_value_pairs());
	lc_value *both = lc_value_nil();

	ck_assert_ptr_null(lc_value_pair(pairs, both, both));
	ck_assert_ptr_null(lc_value_pair(NULL, lc_value_nil(), lc_value_nil()));
	both = lc_value_nil();
	ck_assert_ptr_null(lc_value_pair(NULL, both, both));
	return root;
}

static lc_value *
no_key(lc_value *root)
{
	lc_value *pairs = lc_value_set(root, "x", lc_value_pairs());

	ck_assert_ptr_null(lc_value_pair(pairs, NULL, lc_value_nil()));
	ck_assert_ptr_null(lc_value_pair(pairs, lc_value_nil(), NULL));
	return root;
}

static lc_value *
chain(int levels)
{
	lc_value *root = lc_value_list(), *at = root;

	for (int i = 1; i < levels; i++)
		at = lc_value_append(at, lc_value_list());
	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(lc_value_check(root), LC_OK);
	return root;
}

/* 40 levels below 25: the last child makes it 65. */
static lc_value *
too_deep(lc_value *root)
{
	lc_value *at = lc_value_set(root, "x", chain(24));

	while (lc_value_count(at) > 0)
		at = (lc_value *)(uintptr_t)lc_value_at(at, 0);
	ck_assert_ptr_nonnull(lc_value_append(at, chain(39)));
	ck_assert_int_eq(lc_value_check(root), LC_OK);
	ck_assert_ptr_null(lc_value_append(at, chain(40)));
	return root;
}

static lc_value *
no_child(lc_value *root)
{
	ck_assert_ptr_null(lc_value_set(root, "x", NULL));
	return root;
}

static lc_value *
of_null(lc_value *root)
{
	lc_value_set(root, "a", lc_value_str(NULL));
	lc_value_set(root, "b", lc_value_bytes(NULL, 1));
	lc_value_set(root, "c", lc_value_tensor(NULL));
	return root;
}

static lc_value *
bad_tensor(lc_value *root)
{
	lc_tensor tensor = { .dtype = LC_F32, .ndim = 1, .shape = { 9 },
		.data = floats, .nbytes = 16 };

	lc_value_set(root, "x", lc_value_tensor(&tensor));
	return root;
}

static const struct {
	lc_value *(*build)(lc_value *root);
	lc_status status;
	const char *text, *copied;
} flaw_rows[] = {
	{ twice, LC_INVALID, "value: name 'x' twice in a map",
	  "value: name given twice in a map" },
	{ twice_below, LC_INVALID, "value: name 'x' twice in a map",
	  "value: name given twice in a map" },
	{ twice_later, LC_INVALID, "value: name 'x' twice in a map",
	  "value: name given twice in a map" },
	{ twice_among_many, LC_INVALID, "value: name 'n77' twice in a map",
	  "value: name given twice in a map" },
	{ no_name, LC_INVALID, "value: an empty name or tag", NULL },
	{ append_to_map, LC_INVALID, "value: a child without a name in a map", NULL },
	{ name_in_list, LC_INVALID, "value: a name in something other than a map",
	  NULL },
	{ no_tag, LC_INVALID, "value: an empty name or tag", NULL },
	{ tag_of_nothing, LC_NO_MEMORY, "value: out of memory", NULL },
	{ tag_of_part, LC_INVALID, "value: a child that is part of a value already",
	  NULL },
	{ second_of_tagged, LC_INVALID,
	  "value: a child appended to what is neither a list nor a tuple", NULL },
	{ append_to_pairs, LC_INVALID,
	  "value: a child appended to what is neither a list nor a tuple", NULL },
	{ pair_of_map, LC_INVALID, "value: a key in something other than pairs", NULL },
	{ tensor_as_key, LC_INVALID, "value: a key that is a map or holds a tensor",
	  NULL },
	{ map_as_key, LC_INVALID, "value: a key that is a map or holds a tensor",
	  NULL },
	{ tensor_into_key, LC_INVALID, "value: a key that is a map or holds a tensor",
	  NULL },
	{ key_is_child, LC_INVALID, "value: a child that is part of a value already",
	  NULL },
	{ no_key, LC_NO_MEMORY, "value: out of memory", NULL },
	{ child_of_leaf, LC_INVALID, "value: a child of a leaf (tensor)", NULL },
	{ child_of_two, LC_INVALID, "value: a child that is part of a value already",
	  NULL },
	{ cycle, LC_INVALID, "value: a value inside of itself", NULL },
	{ leaf_of_itself, LC_INVALID, "value: a value inside of itself", NULL },
	{ too_deep, LC_INVALID, "value: nested deeper than 64", NULL },
	{ no_child, LC_NO_MEMORY, "value: out of memory", NULL },
	{ of_null, LC_INVALID, "value: made of NULL", NULL },
	{ bad_tensor, LC_INVALID, "value: tensor has 16 bytes, its shape says 36",
	  "value: not a tensor" },
};

START_TEST(flaws)
{
	lc_value *root = flaw_rows[_i].build(lc_value_map());
	lc_value *copy = lc_value_copy(root);

	ck_assert_int_eq(lc_value_check(root), flaw_rows[_i].status);
	ck_assert_str_eq(lc_last_error()->text, flaw_rows[_i].text);
	lc_value_free(root);
	ck_assert_int_eq(lc_value_check(copy), flaw_rows[_i].status);
	ck_assert_str_eq(lc_last_error()->text, flaw_rows[_i].copied != NULL ?
	    flaw_rows[_i].copied : flaw_rows[_i].text);
	lc_value_free(copy);
}
END_TEST

START_TEST(no_parent)
{
	ck_assert_ptr_null(lc_value_set(NULL, "x", detector()));
	ck_assert_ptr_null(lc_value_append(NULL, lc_value_nil()));
	ck_assert_ptr_null(lc_value_append(NULL, NULL));
	ck_assert_int_eq(lc_value_check(NULL), LC_NO_MEMORY);
	ck_assert_ptr_null(lc_value_copy(NULL));
}
END_TEST

/* ---- copies --------------------------------------------------------------- */

START_TEST(copies)
{
	lc_value *out = detector();
	lc_value *copy = lc_value_copy(out);
	lc_tensor tensor;

	ck_assert(lc_value_equal(out, copy));
	lc_value_free(out);
	ck_assert_int_eq(lc_value_as_tensor(lc_value_find(copy, "boxes.1"),
	    &tensor), LC_OK);
	ck_assert_ptr_ne(tensor.data, floats);
	ck_assert_uint_eq((uintptr_t)tensor.data % 64, 0);
	ck_assert_mem_eq(tensor.data, floats, 12);
	lc_value_free(copy);
}
END_TEST

/* A copy is a tree like any other: it grows, and can be part of another. */
START_TEST(building_on_copies)
{
	lc_value *root = lc_value_map();
	lc_value *out = detector();
	lc_value *copy = lc_value_copy(out);
	lc_value *tags = (lc_value *)(uintptr_t)lc_value_find(copy, "tags");
	lc_value *again;
	char name[20];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "%d", i);
		lc_value_set(copy, name, lc_value_integer(i));
		lc_value_append(tags, lc_value_str(name));
	}
	ck_assert_ptr_null(lc_value_set(copy, "model", lc_value_nil()));
	ck_assert_ptr_eq(lc_value_set(root, "copy", copy), copy);
	ck_assert_ptr_nonnull(lc_value_set(root, "other", lc_value_copy(out)));
	ck_assert_uint_eq(lc_value_count(lc_value_find(root, "copy")), 105);
	ck_assert_uint_eq(lc_value_count(lc_value_find(root, "copy.tags")), 101);
	again = lc_value_copy(root);
	ck_assert(lc_value_equal(lc_value_find(again, "other"), out));
	ck_assert_ptr_nonnull(lc_value_find(again, "copy.99"));
	ck_assert(lc_value_equal(again, root));
	ck_assert_int_eq(lc_value_check(root), LC_INVALID);
	lc_value_free(root);
	lc_value_free(again);
	lc_value_free(out);
}
END_TEST

/* Any two of these differ. */
START_TEST(differences)
{
	const uint64_t one = 1;
	lc_value *v[24];
	lc_tensor rank0, other;
	int n = 0;

	need_ok(lc_tensor_init(&rank0, LC_F32, 0, NULL, floats));
	need_ok(lc_tensor_init(&other, LC_F32, 1, &one, floats + 1));
	v[n++] = lc_value_tensor(&rank0);
	v[n++] = lc_value_tensor(&other);
	v[n++] = floats_value(1);
	v[n++] = floats_value(2);
	v[n++] = lc_value_float(0.0);
	v[n++] = lc_value_float(-0.0);
	v[n++] = lc_value_integer(-1);
	v[n++] = lc_value_unsigned(UINT64_MAX);
	v[n++] = lc_value_boolean(0);
	v[n++] = lc_value_nil();
	v[n++] = lc_value_list();
	v[n++] = lc_value_tuple();
	v[n++] = lc_value_str("ab");
	v[n++] = lc_value_bytes("ab", 2);
	v[n] = lc_value_map();
	lc_value_set(v[n], "a", lc_value_nil());
	lc_value_set(v[n++], "b", lc_value_nil());
	v[n] = lc_value_map();
	lc_value_set(v[n], "b", lc_value_nil());
	lc_value_set(v[n++], "a", lc_value_nil());
	v[n++] = lc_value_tagged("a", lc_value_nil());
	v[n++] = lc_value_tagged("b", lc_value_nil());
	v[n++] = lc_value_tagged("a", lc_value_str("a"));
	v[n++] = lc_value_pairs();
	v[n] = lc_value_pairs();
	lc_value_pair(v[n++], lc_value_integer(1), lc_value_integer(1));
	v[n] = lc_value_pairs();
	lc_value_pair(v[n++], lc_value_integer(1), lc_value_float(1));
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < n; j++)
			ck_assert_int_eq(lc_value_equal(v[i], v[j]), i == j);
		ck_assert(!lc_value_equal(v[i], NULL));
	}
	ck_assert(lc_value_equal(NULL, NULL));
	for (int i = 0; i < n; i++)
		lc_value_free(v[i]);
}
END_TEST

START_TEST(descriptions)
{
	static const char want[] = "{features: f32[4], boxes: [f32[2], f32[3]], "
	    "model: string, n: integer, tags: tuple, 'a\\x0ab': ({}, f32[1]), "
	    "set: (py.set: [f32[1]]), by-class: <integer: f32[2], list: f32[1]>, "
	    "plain: tagged, none: pairs}";
	lc_value *out = detector();
	lc_value *tuple = lc_value_set(out, "a\nb", lc_value_tuple());
	lc_value *set = lc_value_list(), *pairs;
	char text[400];

	lc_value_append(tuple, lc_value_map());
	lc_value_append(tuple, floats_value(1));
	lc_value_append(set, floats_value(1));
	lc_value_set(out, "set", lc_value_tagged("py.set", set));
	pairs = lc_value_set(out, "by-class", lc_value_pairs());
	lc_value_pair(pairs, lc_value_integer(7), floats_value(2));
	lc_value_pair(pairs, lc_value_list(), floats_value(1));
	lc_value_set(out, "plain", lc_value_tagged("t", lc_value_map()));
	lc_value_set(out, "none", lc_value_pairs());
	for (size_t room = 0; room < sizeof(want) + 2; room++) {
		memset(text, '#', sizeof(text));
		ck_assert_int_eq(lc_value_describe(out, text, room),
		    sizeof(want) - 1);
		if (room > 0) {
			ck_assert_uint_eq(strlen(text), room > sizeof(want) - 1 ?
			    sizeof(want) - 1 : room - 1);
			ck_assert_mem_eq(text, want, strlen(text));
		}
		ck_assert_int_eq(text[room], '#');
	}
	ck_assert_int_eq(lc_value_describe(NULL, NULL, 0), 3);
	lc_value_free(out);
}
END_TEST

START_TEST(big_maps)
{
	lc_value *map = lc_value_map(), *copy;
	char name[20];

	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "%x", i * 7);
		lc_value_set(map, name, lc_value_integer(i));
	}
	need_ok(lc_value_check(map));
	copy = lc_value_copy(map);
	for (int i = 0; i < 100000; i += 99) {
		int64_t number;
		snprintf(name, sizeof(name), "%x", i * 7);
		ck_assert_int_eq(lc_value_as_integer(lc_value_find(copy, name),
		    &number), LC_OK);
		ck_assert_int_eq(number, i);
	}
	lc_value_free(map);
	lc_value_free(copy);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("value");
	TCase *tc = tcase_create("value");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, kind_names);
	tcase_add_test(tc, walking);
	tcase_add_test(tc, paths);
	tcase_add_test(tc, tagged_and_pairs);
	tcase_add_test(tc, parts);
	tcase_add_test(tc, contents);
	tcase_add_test(tc, integers);
	tcase_add_test(tc, other_kinds);
	tcase_add_loop_test(tc, flaws, 0,
	    sizeof(flaw_rows) / sizeof(flaw_rows[0]));
	tcase_add_test(tc, no_parent);
	tcase_add_test(tc, copies);
	tcase_add_test(tc, building_on_copies);
	tcase_add_test(tc, differences);
	tcase_add_test(tc, descriptions);
	tcase_add_test(tc, big_maps);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
