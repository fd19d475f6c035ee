/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/loaded.h"
#include "formats/value_json.h"
#include "made_value.h"
#include "need.h"
#include "value/path.h"

static const struct lc__json_tensors summary = { .data = LC__JSON_SUMMARY };
static const struct lc__json_tensors with_data = { .data = LC__JSON_DATA };

static char *
text_of(const lc_value *value, const struct lc__json_tensors *tensors)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	assert_ok(lc__value_json_write(out, value, tensors));
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_uint_eq(strlen(text), size);
	return text;
}

static lc_status
read_text(const char *text, struct lc__loaded *out)
{
	memset(out, 0, sizeof(*out));
	return lc__value_json_read(text, strlen(text), NULL, NULL, out);
}

/* ---- the mapping, there and back ---------------------------------------------- */

/* Text that is read and written again as the same text, and what it is. */
static const struct {
	const char *text;
	lc_kind kind;
} same_rows[] = {
	{ "null", LC_NIL }, { "true", LC_BOOLEAN }, { "false", LC_BOOLEAN },
	{ "0", LC_INTEGER }, { "-9223372036854775808", LC_INTEGER },
	{ "9223372036854775807", LC_INTEGER },
	{ "{\"$u64\":\"9223372036854775808\"}", LC_INTEGER },
	{ "{\"$u64\":\"18446744073709551615\"}", LC_INTEGER },
	{ "0.0", LC_FLOAT }, { "-0.0", LC_FLOAT }, { "1.0", LC_FLOAT },
	{ "0.1", LC_FLOAT }, { "1e+100", LC_FLOAT }, { "5e-324", LC_FLOAT },
	{ "1.7976931348623157e+308", LC_FLOAT },
	{ "{\"$float\":\"nan\"}", LC_FLOAT }, { "{\"$float\":\"inf\"}", LC_FLOAT },
	{ "{\"$float\":\"-inf\"}", LC_FLOAT },
	{ "{\"$float\":\"nan:fff8000000000001\"}", LC_FLOAT },
	{ "\"\"", LC_STRING }, { "\"caf\xc3\xa9 \\\"\\\\ \\u0000\\u000a\"", LC_STRING },
	{ "{\"$str\":\"/w==\"}", LC_STRING },
	{ "{\"$bytes\":\"\"}", LC_BYTES }, { "{\"$bytes\":\"AAEC\"}", LC_BYTES },
	{ "[]", LC_LIST }, { "[1,[2.0,[]],null]", LC_LIST },
	{ "{\"$tuple\":[]}", LC_TUPLE }, { "{\"$tuple\":[1,{\"$tuple\":[2]}]}", LC_TUPLE },
	{ "{\"$tagged\":[\"py.set\",[1,2]]}", LC_TAGGED },
	{ "{\"$tagged\":[{\"$str\":\"/w==\"},{\"$tagged\":[\"$\",null]}]}", LC_TAGGED },
	{ "{\"$pairs\":[]}", LC_PAIRS },
	{ "{\"$pairs\":[[1,{\"$tensor\":\"u8[1]\",\"data\":\"AA==\"}],[{\"$tuple\":[0.5,null]},{}]]}",
	  LC_PAIRS },
	{ "{}", LC_MAP }, { "{\"b\":1,\"a\":{\"c\":[]}}", LC_MAP },
	{ "{\"a.b\":1,\"0\":2}", LC_MAP },
	{ "{\"$map\":[[\"$x\",1],[\"a\",2]]}", LC_MAP },
	{ "{\"$map\":[[{\"$str\":\"/w==\"},{\"$map\":[[\"$\",null]]}]]}", LC_MAP },
	{ "{\"$tensor\":\"f32[2]\",\"data\":\"AACAPwAAAEA=\"}", LC_TENSOR },
	{ "{\"$tensor\":\"f8_e4m3[]\",\"data\":\"/w==\"}", LC_TENSOR },
	{ "{\"$tensor\":\"bf16[0,3]\",\"data\":\"\"}", LC_TENSOR },
	{ "{\"boxes\":[{\"$tensor\":\"u8[1]\",\"data\":\"AA==\"}],\"label\":\"cat\"}", LC_MAP },
};

START_TEST(same_text)
{
	struct lc__loaded loaded;
	char *text;

	assert_ok(read_text(same_rows[_i].text, &loaded));
	ck_assert_int_eq(lc_value_kind(loaded.value), same_rows[_i].kind);
	text = text_of(loaded.value, &with_data);
	ck_assert_str_eq(text, same_rows[_i].text);
	free(text);
	lc__loaded_free(&loaded);
}
END_TEST

/* Other spellings of what is written otherwise. */
static const struct {
	const char *text, *written;
} other_rows[] = {
	{ " [ 1 ,\n2 ] ", "[1,2]" }, { "1E2", "1e+02" }, { "-0", "0" },
	{ "{\"$u64\":\"7\"}", "7" }, { "{\"$str\":\"YQ==\"}", "\"a\"" },
	{ "{\"$map\":[[\"a\",1]]}", "{\"a\":1}" }, { "{\"$map\":[]}", "{}" },
	{ "\"\\u00e9\\/\"", "\"\xc3\xa9/\"" },
	{ "{\"$float\":\"nan:7FF8000000000000\"}", "{\"$float\":\"nan\"}" },
	{ "{\"data\":\"AA==\",\"$tensor\":\"uint8[1]\"}",
	    "{\"$tensor\":\"u8[1]\",\"data\":\"AA==\"}" },
};

START_TEST(other_text)
{
	struct lc__loaded loaded;
	char *text;

	assert_ok(read_text(other_rows[_i].text, &loaded));
	text = text_of(loaded.value, &with_data);
	ck_assert_str_eq(text, other_rows[_i].written);
	free(text);
	lc__loaded_free(&loaded);
}
END_TEST

/* Refused, each with what is wrong and where. */
static const struct {
	const char *text, *message;
} bad_rows[] = {
	{ "", "not JSON: the text ends too early (line 1, column 1)" },
	{ "[1,]", "not JSON: a value is missing (line 1, column 4)" },
	{ "1 2", "not JSON: something follows the value (line 1, column 3)" },
	{ "{\"a\":1,\"a\":2}", "not JSON: the name 'a' occurs twice (line 1, column 10)" },
	{ "NaN", "not JSON: no such word in JSON (line 1, column 1)" },
	{ "9223372036854775808", "the integer 9223372036854775808 is "
	    "outside of -2^63 to 2^63 - 1; to 2^64 - 1 it is {\"$u64\": \"decimal\"}" },
	{ "{\"a\":[0,-9223372036854775809]}", "a.1: the integer -9223372036854775809 is outside "
	    "of -2^63 to 2^63 - 1; to 2^64 - 1 it is {\"$u64\": \"decimal\"}" },
	{ "[1e400]", "0: 1e400 is too large for a float" },
	{ "{\"a\":{\"\":1}}", "a: a name is empty" },
	{ "{\"$x\":1}", "an object with '$x' has no meaning here; a map with such a "
	    "name is {\"$map\": [[name, value], ...]}" },
	{ "[{\"$tuple\":[],\"b\":1}]", "0: an object with '$tuple' has no meaning "
	    "here; a map with such a name is {\"$map\": [[name, value], ...]}" },
	{ "{\"a\":{\"$tagged\":1}}", "a: $tagged is not a list of a tag and a value" },
	{ "{\"$tagged\":[\"t\"]}", "$tagged is not a list of a tag and a value" },
	{ "{\"$tagged\":[\"t\",1,2]}", "$tagged is not a list of a tag and a value" },
	{ "{\"$tagged\":[1,2]}", "a name is not text" },
	{ "{\"$tagged\":[{\"$str\":\"AA==\"},2]}", "a name holds a NUL" },
	{ "{\"$tagged\":[\"\",2]}", "value: an empty name or tag" },
	{ "{\"$tagged\":[\"t\",{\"\":1}]}", "t: a name is empty" },
	{ "{\"$pairs\":{}}", "$pairs is not a list of pairs of a key and a value" },
	{ "{\"$pairs\":[1]}", "$pairs is not a list of pairs of a key and a value" },
	{ "{\"$pairs\":[[1]]}", "$pairs is not a list of pairs of a key and a value" },
	{ "{\"$pairs\":[[1,2,3]]}", "$pairs is not a list of pairs of a key and a value" },
	{ "{\"$pairs\":[[1,2],[3,{\"$x\":1}]]}", "3: an object with '$x' has no meaning here; "
	    "a map with such a name is {\"$map\": [[name, value], ...]}" },
	{ "{\"$pairs\":[[{},2]]}", "value: a key that is a map or holds a tensor" },
	{ "{\"$tuple\":1}", "no list" }, { "{\"$bytes\":1}", "base64 is not text" },
	{ "{\"$bytes\":\"A\"}", "not base64" }, { "{\"$str\":\"A===\"}", "not base64" },
	{ "{\"$u64\":\"-1\"}", "$u64 is not a decimal number below 2^64 in quotes" },
	{ "{\"$u64\":\"18446744073709551616\"}", "$u64 is not a decimal number below 2^64 in quotes" },
	{ "{\"$u64\":1}", "$u64 is not a decimal number below 2^64 in quotes" },
	{ "{\"$float\":\"NaN\"}", "$float is not one of nan, inf, -inf" },
	{ "{\"$float\":\"nan:0000000000000001\"}", "$float has no bits of a NaN" },
	{ "{\"$float\":\"nan:7ff8\"}", "$float has no bits of a NaN" },
	{ "{\"$map\":{}}", "$map is not a list of pairs of a name and a value" },
	{ "{\"$map\":[[\"a\"]]}", "$map is not a list of pairs of a name and a value" },
	{ "{\"$map\":[[1,2]]}", "$map is not a list of pairs of a name and a value" },
	{ "{\"$map\":[[\"a\\u0000\",2]]}", "a name holds a NUL" },
	{ "{\"$map\":[[{\"$str\":\"AA==\"},2]]}", "a name holds a NUL" },
	{ "{\"x\":{\"$tensor\":\"f32[2]\"}}", "x: the data of the tensor f32[2] is not here" },
	{ "{\"$tensor\":\"f32[2]\",\"data\":\"AAAA\"}", "data has 3 bytes; its type needs 8" },
	{ "{\"$tensor\":\"f33[2]\",\"data\":\"\"}", "'f33[2]' is not a tensor type such as f32[3,4]" },
	{ "{\"$tensor\":\"f32\",\"data\":\"\"}", "'f32' is not a tensor type such as f32[3,4]" },
	{ "{\"$tensor\":\"f32[2,]\",\"data\":\"\"}", "'f32[2,]' is not a tensor type such as f32[3,4]" },
	{ "{\"$tensor\":\"f32[-1]\",\"data\":\"\"}", "'f32[-1]' is not a tensor type such as f32[3,4]" },
	{ "{\"$tensor\":\"f32[1]x\",\"data\":\"\"}", "'f32[1]x' is not a tensor type such as f32[3,4]" },
	{ "{\"$tensor\":\"u8[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]\",\"data\":\"\"}",
	    "'u8[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]' is not a tensor type such as f32[3,4]" },
	{ "{\"$tensor\":\"u8[1]\",\"file\":\"x.npy\"}",
	    "a tensor in a file is allowed only in a directory's value.json" },
	{ "{\"$tensor\":\"u8[1]\",\"data\":\"AA==\",\"file\":\"x\"}",
	    "a tensor has $tensor and either data or file" },
	{ "{\"$tensor\":\"u8[1]\",\"x\":1}", "a tensor has $tensor and either data or file" },
	{ "{\"$tensor\":1}", "$tensor is not text" },
};

START_TEST(bad_text)
{
	struct lc__loaded loaded;

	assert_status(read_text(bad_rows[_i].text, &loaded), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].message);
	lc__loaded_free(&loaded);
}
END_TEST

START_TEST(depth)
{
	struct lc__loaded loaded;
	char text[2 * LC_MAX_DEPTH + 3];

	for (int n = LC_MAX_DEPTH; n <= LC_MAX_DEPTH + 1; n++) {
		memset(text, '[', (size_t)n);
		memset(text + n, ']', (size_t)n);
		text[2 * n] = '\0';
		assert_status(read_text(text, &loaded),
		    n == LC_MAX_DEPTH ? LC_OK : LC_INVALID);
		lc__loaded_free(&loaded);
	}
}
END_TEST

/* ---- tensors ------------------------------------------------------------------- */

START_TEST(summaries)
{
	const float numbers[2] = { 1, 2 };
	lc_tensor tensor;
	lc_value *value = lc_value_map();
	char *text;

	assert_ok(lc_tensor_init(&tensor, LC_F32, 1, (uint64_t[]){ 2 }, numbers));
	lc_value_set(value, "x", lc_value_tensor(&tensor));
	text = text_of(value, &summary);
	ck_assert_str_eq(text, "{\"x\":{\"$tensor\":\"f32[2]\"}}");
	free(text);
	lc_value_free(value);
}
END_TEST

static lc_status
name_file(void *ctx, const char *path, const lc_tensor *tensor, struct lc__buf *name)
{
	(void)ctx;
	lc__buf_printf(name, "<%s>%zu", path, tensor->nbytes);
	return LC_OK;
}

static lc_status
open_file(void *ctx, const char *file, lc_tensor *tensor, struct lc__loaded *loaded)
{
	char *bytes = strdup(file);

	(void)ctx;
	return_if_error(lc__loaded_own(loaded, bytes));
	tensor->data = bytes;
	return LC_OK;
}

/* Paths are those of lc_value_find(), and files go through the callbacks. */
START_TEST(files)
{
	static const char names[] = "{\"a.b\":[{\"$tensor\":\"u8[2]\",\"file\":\"<a\\\\.b.0>2\"},"
	    "{\"$tuple\":[{\"$tensor\":\"u8[2]\",\"file\":\"<a\\\\.b.1.0>2\"}]}]}";
	const struct lc__json_tensors as_files = { LC__JSON_FILE, name_file, NULL };
	struct lc__loaded loaded = { 0 };
	const lc_value *part;
	lc_tensor tensor;
	char *text;

	assert_ok(lc__value_json_read(names, sizeof(names) - 1, open_file, NULL,
	    &loaded));
	part = lc_value_find(loaded.value, "a\\.b.1.0");
	assert_ok(lc_value_as_tensor(part, &tensor));
	ck_assert_mem_eq(tensor.data, "<a", 2);
	text = text_of(loaded.value, &as_files);
	ck_assert_str_eq(text, names);
	free(text);
	lc__loaded_free(&loaded);
}
END_TEST

/* ---- values at random ------------------------------------------------------------ */

START_TEST(random_values)
{
	uint64_t seed = run_seed();
	const struct made_value how = { .tensors = _i, .plain = true, .deep = 6 };

	for (int round = 0; round < 3000; round++) {
		lc_value *value = make_value(&seed, how);
		struct lc__loaded loaded;
		char *text, *again;
		assert_ok(lc_value_check(value));
		text = text_of(value, &with_data);
		assert_ok(read_text(text, &loaded));
		ck_assert_msg(lc_value_equal(value, loaded.value), "%s", text);
		again = text_of(loaded.value, &with_data);
		ck_assert_str_eq(text, again);
		free(text);
		free(again);
		lc__loaded_free(&loaded);
		lc_value_free(value);
	}
}
END_TEST

/* Damaged text is refused or read; either way nothing else is touched. */
START_TEST(random_damage)
{
	uint64_t seed = run_seed();

	for (int round = 0; round < 20000; round++) {
		const char *row = same_rows[run_random(&seed) %
		    (sizeof(same_rows) / sizeof(same_rows[0]))].text;
		char text[256];
		const size_t size = strlen(row);
		struct lc__loaded loaded = { 0 };
		memcpy(text, row, size);
		for (uint64_t n = run_random(&seed) % 3 + 1; n > 0; n--)
			text[run_random(&seed) % size] = (char)(run_random(&seed) % 3 ?
			    "{}[]\",:$0e"[run_random(&seed) % 10] :
			    (char)run_random(&seed));
		if (lc__value_json_read(text, run_random(&seed) % (size + 1), NULL,
		    NULL, &loaded) == LC_OK)
			free(text_of(loaded.value, &with_data));
		lc__loaded_free(&loaded);
	}
}
END_TEST

/* ---- paths and parts -------------------------------------------------------------- */

/* Parts in this order make this value. */
static const struct {
	const char *paths, *text;
} part_rows[] = {
	{ "", "{}" }, { "a", "{\"a\":0}" }, { "b a", "{\"b\":0,\"a\":1}" },
	{ "a.x b a.y", "{\"a\":{\"x\":0,\"y\":2},\"b\":1}" },
	{ "0", "[0]" }, { "1 0", "[1,0]" }, { "a.1 a.0 a.2", "{\"a\":[1,0,2]}" },
	{ "a.1", "{\"a\":{\"1\":0}}" }, { "0 2", "{\"0\":0,\"2\":1}" },
	{ "0 a", "{\"0\":0,\"a\":1}" }, { "00", "{\"00\":0}" },
	{ "0.0.0", "[[[0]]]" }, { "a\\.b.c\\\\", "{\"a.b\":{\"c\\\\\":0}}" },
	{ "10 9 8 7 6 5 4 3 2 1 0", "[10,9,8,7,6,5,4,3,2,1,0]" },
};

static lc_status
add_all(struct lc__parts *parts, const char *paths)
{
	char *copy = strdup(paths), *rest = copy;
	lc_status status = LC_OK;
	int64_t n = 0;

	for (char *path; status == LC_OK && (path = strsep(&rest, " ")) != NULL;)
		if (*paths != '\0')
			status = lc__parts_add(parts, path, lc_value_integer(n++));
	free(copy);
	return status;
}

START_TEST(paths_in_order)
{
	struct lc__parts parts = { 0 };
	lc_value *value;
	char *text;

	assert_ok(add_all(&parts, part_rows[_i].paths));
	assert_ok(lc__parts_build(&parts, &value));
	text = text_of(value, &summary);
	ck_assert_str_eq(text, part_rows[_i].text);
	free(text);
	lc_value_free(value);
}
END_TEST

static const struct {
	const char *paths, *message;
} bad_part_rows[] = {
	{ "a b a", "occurs twice" }, { "a a.b", "leads through a part that holds no others" },
	{ "a.b a", "holds other parts" }, { ".a", "a name is empty" },
	{ "a.", "a name is empty" }, { "a..b", "a name is empty" },
	{ "a\\b", "a backslash may only precede a dot or a backslash" },
	{ "a\\", "a backslash may only precede a dot or a backslash" },
	{ "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
	    "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0",
	    "deeper than 64" },
};

START_TEST(paths_refused)
{
	struct lc__parts parts = { 0 };

	assert_status(add_all(&parts, bad_part_rows[_i].paths), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, bad_part_rows[_i].message);
	lc__parts_free(&parts);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *suite = suite_create("value_json");
	TCase *tc = tcase_create("value_json");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, same_text, 0, ROWS(same_rows));
	tcase_add_loop_test(tc, other_text, 0, ROWS(other_rows));
	tcase_add_loop_test(tc, bad_text, 0, ROWS(bad_rows));
	tcase_add_test(tc, depth);
	tcase_add_test(tc, summaries);
	tcase_add_test(tc, files);
	tcase_add_loop_test(tc, random_values, 0, 2);
	tcase_add_test(tc, random_damage);
	tcase_add_loop_test(tc, paths_in_order, 0, ROWS(part_rows));
	tcase_add_loop_test(tc, paths_refused, 0, ROWS(bad_part_rows));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
