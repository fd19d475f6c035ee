/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of build --classes, and what it makes of a dataset's classes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "label_files.h"
#include "labels/class_map.h"
#include "run.h"

#define LENGTH(x) ((int)(sizeof(x) / sizeof((x)[0])))

static char path[300];

/* The map of a text, which is in a file "classes". */
static lc_status
read_text(const char *text, size_t size, struct lc__class_map *map)
{
	const struct label_file nothing[] = { { 0 } };
	const char *root = label_root(nothing);

	label_file(root, "classes", text, size);
	snprintf(path, sizeof(path), "%s/classes", root);
	return lc__class_map_read(path, map);
}

static const struct {
	const char *text, *json;
} maps[] = {
	{ "person", "[[\"person\",\"person\"]]" },
	{ "\xef\xbb\xbf# made by hand\r\n\r\nvehicle: car , bus,truck\r\n person \r\n",
	  "[[\"vehicle\",\"car\",\"bus\",\"truck\"],[\"person\",\"person\"]]" },
	{ "traffic light\na:0,7\n", "[[\"traffic light\",\"traffic light\"],"
	  "[\"a\",\"0\",\"7\"]]" },
	{ "\"a: b\": \"tench, Tinca\" , \"he said \"\"no\"\"\"",
	  "[[\"a: b\",\"tench, Tinca\",\"he said \\\"no\\\"\"]]" },
	{ "*", "[[null]]" },
	{ "a: b\n*\n", "[[\"a\",\"b\"],[null]]" },
	{ "a: b\nother: c, *\n", "[[\"a\",\"b\"],[\"other\",\"c\",null]]" },
	{ "\"*\": \"*\"\n\"#\"", "[[\"*\",\"*\"],[\"#\",\"#\"]]" },
};

START_TEST(texts)
{
	struct lc__class_map map;
	struct lc__buf out = { 0 };
	const lc_status status = read_text(maps[_i].text, strlen(maps[_i].text), &map);

	ck_assert_msg(status == LC_OK, "%s", lc_last_error()->text);
	ck_assert_int_eq(lc__class_map_format(&map, &out), LC_OK);
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((char *)out.data, maps[_i].json);
	lc__buf_free(&out);
	lc__class_map_free(&map);
}
END_TEST

static const struct {
	const char *text;
	size_t size; /* 0: that of a string */
	const char *why; /* after the path */
} wrong[] = {
	{ "", 0, ": has no classes" },
	{ "# nothing\n\n", 0, ": has no classes" },
	{ "a\xff", 0, ": not UTF-8" },
	{ "a\0b", 3, ": not UTF-8" },
	{ "a\n: b\n", 0, ": line 2: a name is empty" },
	{ "a: b,, c", 0, ": line 1: a name is empty" },
	{ "a:\n", 0, ": line 1: a name is empty" },
	{ "a: b,", 0, ": line 1: a name is empty" },
	{ "a: \"\"", 0, ": line 1: a name is empty" },
	{ "\n\na: \"b", 0, ": line 3: a quote has no end" },
	{ "\"a\" b: c", 0, ": line 1: there is more after a quoted name" },
	{ "a: b\nc\na: d", 0, ": line 3: line 1 makes 'a' already; one line has all that "
	  "become it" },
	{ "a: b, c\nd: e, c", 0, ": line 2: 'c' is in line 1 already" },
	{ "a: b, b", 0, ": line 1: 'b' is in line 1 already" },
	{ "a: b\nb", 0, ": line 2: 'b' is in line 1 already" },
	{ "*\n\n*", 0, ": line 3: '*' is in line 1 already" },
	{ "a: *\nb: *", 0, ": line 2: '*' is in line 1 already" },
	{ "*: a", 0, ": line 1: * keeps names: nothing follows it" },
};

START_TEST(refused)
{
	const size_t size = wrong[_i].size > 0 ? wrong[_i].size : strlen(wrong[_i].text);
	struct lc__class_map map;
	char want[400];

	ck_assert_int_eq(read_text(wrong[_i].text, size, &map), LC_INVALID);
	snprintf(want, sizeof(want), "%s%s", path, wrong[_i].why);
	ck_assert_str_eq(lc_last_error()->text, want);
	lc__class_map_free(&map);
}
END_TEST

START_TEST(missing)
{
	struct lc__class_map map;

	ck_assert_int_eq(lc__class_map_read("/nowhere/classes", &map), LC_NO_FILE);
	lc__class_map_free(&map);
}
END_TEST

/* ---- what it makes ------------------------------------------------------------- */

static char cat[] = "cat", dog[] = "dog", car[] = "car", two[] = "2", none[] = "";
static char *const names[] = { cat, dog, NULL, car, none, dog, two };

static bool
has_99(const void *ctx, int64_t id)
{
	ck_assert_ptr_eq(ctx, names);
	return id == 99;
}

static const struct {
	const char *text;
	bool named;       /* the dataset has the names above */
	const char *made; /* new names; what -1, 0, 1, 2, 3, 5, 6, 99 become, x: dropped */
} made[] = {
	{ "cat\ncar", true, "cat,car, x 0 x x 1 x x x" },
	{ "pet: cat, dog\ncar", true, "pet,car, x 0 0 x 1 0 x x" },
	{ "car\n*", true, "car,cat,dog,dog,2, -1 1 2 x 0 3 4 x" },
	{ "*", true, "cat,dog,car,dog,2, -1 0 1 x 2 3 4 x" },
	{ "car\nother: *", true, "car,other, -1 1 1 1 0 1 1 1" },
	{ "a: 3, cat\nb: 2", true, "a,b, x 0 x x 0 x 1 x" },
	{ "a: 3, car", true, "a, x x x x 0 x x x" },
	{ "a: 99", true, "a, x x x x x x x 0" },
	{ "a: 0,2\nb: 99", false, "a,b, x 0 x 0 x x x 1" },
	{ "a: 0\nb: *", false, "a,b, -1 0 1 1 1 1 1 1" },
};

START_TEST(applied)
{
	static const int64_t ids[] = { -1, 0, 1, 2, 3, 5, 6, 99 };
	const size_t n = made[_i].named ? (size_t)LENGTH(names) : 0;
	struct lc__class_map map;
	struct lc__mapping mapping;
	char text[300], *list;
	lc_status status = read_text(made[_i].text, strlen(made[_i].text), &map);

	ck_assert_int_eq(status, LC_OK);
	status = lc__mapping_make(&map, names, n, has_99, names, &mapping);
	ck_assert_msg(status == LC_OK, "%s", lc_last_error()->text);
	list = label_list((const char *const *)mapping.names.items, mapping.names.n);
	strcpy(text, list);
	for (int i = 0; i < LENGTH(ids); i++) {
		int64_t id;
		if (lc__mapping_find(&mapping, ids[i], &id))
			sprintf(text + strlen(text), " %lld", (long long)id);
		else
			strcat(text, " x");
	}
	ck_assert_str_eq(text, made[_i].made);
	free(list);
	lc__mapping_free(&mapping);
	lc__class_map_free(&map);
}
END_TEST

static const struct {
	const char *text;
	bool named;
	const char *why;
} strange[] = {
	{ "cat\npet: trcuk", true, ": line 2: 'trcuk' is not among the 7 classes of the "
	  "dataset" },
	{ "a: 4", true, ": line 1: '4' is not among the 7 classes of the dataset" },
	{ "a: 7", true, ": line 1: '7' is not among the 7 classes of the dataset" },
	{ "a: -1", false, ": line 1: '-1' is not a class id, and the dataset has no names of "
	  "classes" },
	{ "a: 99999999999999999999", false, ": line 1: '99999999999999999999' is not a class "
	  "id, and the dataset has no names of classes" },
	{ "cat", false, ": line 1: 'cat' is not a class id, and the dataset has no names of "
	  "classes" },
	{ "cat\nb: 3\nc: car", true, ": line 3: class 3 is in line 2 already" },
	{ "a: 1\nb: 01", false, ": line 2: class 1 is in line 1 already" },
	{ "a: 0\n*", false, ": line 2: the dataset has no names of classes that * could "
	  "keep" },
	{ "cat: car\n\n*", true, ": line 3: * keeps 'cat' too, which line 1 makes of "
	  "others" },
};

START_TEST(not_of_the_dataset)
{
	const size_t n = strange[_i].named ? (size_t)LENGTH(names) : 0;
	struct lc__class_map map;
	struct lc__mapping mapping;
	char want[400];

	ck_assert_int_eq(read_text(strange[_i].text, strlen(strange[_i].text), &map),
	    LC_OK);
	ck_assert_int_eq(lc__mapping_make(&map, names, n, NULL, NULL, &mapping),
	    LC_INVALID);
	snprintf(want, sizeof(want), "%s%s", path, strange[_i].why);
	ck_assert_str_eq(lc_last_error()->text, want);
	lc__mapping_free(&mapping);
	lc__class_map_free(&map);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("class_map");
	TCase *tc = tcase_create("class_map");

	tcase_add_loop_test(tc, texts, 0, LENGTH(maps));
	tcase_add_loop_test(tc, refused, 0, LENGTH(wrong));
	tcase_add_test(tc, missing);
	tcase_add_loop_test(tc, applied, 0, LENGTH(made));
	tcase_add_loop_test(tc, not_of_the_dataset, 0, LENGTH(strange));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
