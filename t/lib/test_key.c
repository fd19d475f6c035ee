/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys made of content: pinned, as users have files named by them. python/tests/test_key.py
 * has the same ones. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"

static const float floats[4] = { 1, 2, 3, 4 };
static const int64_t seven = 7;

static lc_value *
tensor(lc_dtype dtype, uint32_t ndim, uint64_t rows, uint64_t columns, const void *data)
{
	const uint64_t shape[2] = { rows, columns };
	lc_tensor made;

	need_ok(lc_tensor_init(&made, dtype, ndim, shape, data));
	return lc_value_tensor(&made);
}

/* The same map, its names in order or not. */
static lc_value *
nested(int backwards)
{
	lc_value *map = lc_value_map(), *list = lc_value_list(), *below = lc_value_map();

	lc_value_append(list, lc_value_nil());
	lc_value_append(list, tensor(LC_F32, 1, 4, 0, floats));
	lc_value_set(below, "d", lc_value_bytes("", 1));
	if (backwards)
		lc_value_set(map, "c", below);
	else
		lc_value_set(map, "a", lc_value_integer(1));
	lc_value_set(map, "b", list);
	if (backwards)
		lc_value_set(map, "a", lc_value_integer(1));
	else
		lc_value_set(map, "c", below);
	return map;
}

static lc_value *
two(lc_value *to)
{
	lc_value_append(to, lc_value_integer(1));
	lc_value_append(to, lc_value_str("a"));
	return to;
}

/* The same pairs in this order or the other. */
static lc_value *
classes(int backwards)
{
	lc_value *pairs = lc_value_pairs();

	for (int i = 0; i < 2; i++) {
		if (i == backwards)
			lc_value_pair(pairs, lc_value_integer(1), lc_value_str("a"));
		else
			lc_value_pair(pairs, two(lc_value_tuple()), lc_value_map());
	}
	return pairs;
}

static lc_value *
vector(int i)
{
	static const char fox[] = "a photograph of a red fox";

	switch (i) {
	case 0: return lc_value_str(fox);
	case 1: return lc_value_str("");
	case 2: return lc_value_bytes(fox, strlen(fox));
	case 3: return lc_value_nil();
	case 4: return lc_value_boolean(1);
	case 5: return lc_value_boolean(0);
	case 6: return lc_value_integer(1);
	case 7: return lc_value_integer(-1);
	case 8: return lc_value_unsigned(UINT64_MAX);
	case 9: return lc_value_integer(INT64_MIN);
	case 10: return lc_value_float(1.5);
	case 11: return lc_value_float(0.0);
	case 12: return lc_value_float(-0.0);
	case 13: return tensor(LC_F32, 1, 4, 0, floats);
	case 14: return tensor(LC_F32, 2, 2, 2, floats);
	case 15: return tensor(LC_I64, 0, 0, 0, &seven);
	case 16: return tensor(LC_U8, 2, 0, 3, NULL);
	case 17: return two(lc_value_list());
	case 18: return two(lc_value_tuple());
	case 19: return lc_value_list();
	case 20: return lc_value_map();
	case 21:
	case 22: return nested(i - 21);
	case 23: return lc_value_tagged("a", lc_value_integer(1));
	default: return classes(i - 24);
	}
}

static const char *const keys[] = {
	"k1-f3e432c36bcb46ef3abcff787697f79a", "k1-3eb8fc3acfabe3ca2ab2adcd1a02bf17",
	"k1-af159379014c16db6ad5be9066879311", "k1-2ff39367394f506c73b2284b32bf8672",
	"k1-0f7b4f9bc91bf8e89078015758e39bc0", "k1-6ae09fc4628ce3470c66fa5ab7facd44",
	"k1-cf3d96e880b0e3059482177262dbf5dc", "k1-99f9476d3cbb8ba3a63987a417ca116e",
	"k1-6592750dc1d80e0c3e8bc5acbb44f417", "k1-5a1742665dd05cb85ba981fceea3fd33",
	"k1-2d9a9b1d3227b08d1215cdbd928c5159", "k1-9d36cec0588c988b1db4bf1ebd1a09d6",
	"k1-e70c8e7e0289b612c86f9e11f9b84a4e", "k1-7411419a41dff7a3f2e5de05efd0fe3b",
	"k1-8a321598f1aab915040eda2abdb32cff", "k1-9268abf99a3e1b7a991d80df5f295c1d",
	"k1-80a0f3e17b89471a852723122f30f971", "k1-bd24fdcd03754269759a03d3e72165ac",
	"k1-efbbfd2939e826a012ca61e3af799d09", "k1-e3ab152fcb1762bfc9f42e6c9e93dfff",
	"k1-51025a4491835505e12ef9d2eb86ceeb", "k1-8007d955c61a4d65e0e19ae36912aca7",
	"k1-8007d955c61a4d65e0e19ae36912aca7", 
	"k1-2ff7dc401035af06586a70ba232d3cd4", "k1-de48485521864ae91e96173260bb7368",
	"k1-de48485521864ae91e96173260bb7368",
};

START_TEST(vectors)
{
	char key[LC_KEY_SIZE];
	lc_value *value = vector(_i), *copy = lc_value_copy(value);

	need_ok(lc_value_key(value, key));
	ck_assert_str_eq(key, keys[_i]);
	memset(key, 0, sizeof(key));
	need_ok(lc_value_key(copy, key));
	ck_assert_str_eq(key, keys[_i]);
	lc_value_free(copy);
	lc_value_free(value);
}
END_TEST

/* The least change makes another key. */
START_TEST(differences)
{
	char key[LC_KEY_SIZE], other[LC_KEY_SIZE];
	unsigned char data[3000] = { 0 };
	lc_value *value;

	for (size_t size = 0; size < sizeof(data); size += 97) {
		value = lc_value_bytes(data, size);
		need_ok(lc_value_key(value, key));
		lc_value_free(value);
		for (size_t i = 0; i < size; i += 31) {
			data[i] ^= 1;
			value = lc_value_bytes(data, size);
			need_ok(lc_value_key(value, other));
			lc_value_free(value);
			data[i] ^= 1;
			ck_assert_str_ne(key, other);
		}
	}
}
END_TEST

START_TEST(deep_and_wide)
{
	lc_value *root = lc_value_list(), *at = root;
	char key[LC_KEY_SIZE], again[LC_KEY_SIZE];

	for (int i = 1; i < LC_MAX_DEPTH; i++)
		at = lc_value_append(at, lc_value_list());
	need_ok(lc_value_key(root, key));
	lc_value_free(root);
	root = lc_value_list();
	for (int i = 0; i < 100000; i++)
		lc_value_append(root, lc_value_integer(i));
	need_ok(lc_value_key(root, key));
	need_ok(lc_value_key(root, again));
	ck_assert_str_eq(key, again);
	lc_value_free(root);
}
END_TEST

START_TEST(errors)
{
	lc_value *map = lc_value_map();
	char key[LC_KEY_SIZE] = "as it was";

	lc_value_set(map, "a", lc_value_nil());
	lc_value_set(map, "a", lc_value_nil());
	ck_assert_int_eq(lc_value_key(map, key), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "value: name 'a' twice in a map");
	ck_assert_int_eq(lc_value_key(NULL, key), LC_NO_MEMORY);
	ck_assert_str_eq(key, "as it was");
	lc_value_free(map);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("key");
	TCase *tc = tcase_create("key");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, vectors, 0, sizeof(keys) / sizeof(keys[0]));
	tcase_add_test(tc, differences);
	tcase_add_test(tc, deep_and_wide);
	tcase_add_test(tc, errors);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
