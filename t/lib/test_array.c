/* SPDX-License-Identifier: BSD-2-Clause */
/* Growable arrays. */
#include "run.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "need.h"

/* The bytes that realloc() was last asked for, all of which it gives only up to a limit. */
#define GIVEN ((size_t)1 << 30)

static size_t asked;

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *
__wrap_realloc(void *old, size_t size)
{
	asked = size;
	return size <= GIVEN ? __real_realloc(old, size) : NULL;
}

static const struct growth {
	size_t room, wanted, grown;
} growths[] = {
	{ 0, 0, 0 }, { 0, 1, 4 }, { 0, 4, 4 }, { 0, 5, 5 }, { 1, 1, 1 }, { 1, 2, 4 },
	{ 3, 4, 6 }, { 4, 4, 4 }, { 4, 5, 8 }, { 8, 17, 17 }, { 1000, 1001, 2000 }
};

START_TEST(room_doubles)
{
	const struct growth *g = &growths[_i];
	uint32_t *items = g->room > 0 ? calloc(g->room, sizeof(*items)) : NULL;
	size_t room = g->room;

	for (size_t i = 0; i < room; i++)
		items[i] = (uint32_t)(i * 7);
	assert_ok(lc__array_reserve(&items, &room, g->wanted, NULL));
	ck_assert_uint_eq(room, g->grown);
	for (size_t i = 0; i < g->room; i++)
		ck_assert_uint_eq(items[i], i * 7);
	for (size_t i = 0; i < room; i++)
		items[i] = 1;
	free(items);
}
END_TEST

struct odd {
	char bytes[13];
};

static const size_t too_many[] = { SIZE_MAX, SIZE_MAX / 13, SIZE_MAX / 13 + 1, SIZE_MAX / 26 + 1,
	SIZE_MAX / 2 };

START_TEST(what_cannot_be_counted_is_refused)
{
	struct odd *items = NULL, *before;
	size_t room = 0;

	assert_ok(lc__array_reserve(&items, &room, 3, "it"));
	before = items;
	items[2].bytes[12] = 'x';
	assert_status(lc__array_reserve(&items, &room, too_many[_i], "it"), LC_NO_MEMORY);
	ck_assert_str_eq(lc_last_error()->text, "it: out of memory");
	ck_assert_ptr_eq(items, before);
	ck_assert_uint_eq(room, 4);
	ck_assert_int_eq(items[2].bytes[12], 'x');
	free(items);
}
END_TEST

/* An array that cannot double any more grows as far as an array can, and no further. */
START_TEST(growth_ends_at_the_largest_array)
{
	const size_t most = SIZE_MAX / 2 / sizeof(struct odd);
	const size_t rooms[] = { most / 2, most / 2 + 1, most - 1 };
	struct odd *items = NULL;

	for (size_t i = 0; i < 3; i++) {
		size_t room = rooms[i];

		asked = 0;
		assert_status(lc__array_reserve(&items, &room, room + 1, "it"), LC_NO_MEMORY);
		ck_assert_uint_eq(asked, (i == 0 ? rooms[0] * 2 : most) * sizeof(struct odd));
		ck_assert_uint_eq(room, rooms[i]);
	}
	asked = 0;
	assert_status(lc__array_reserve(&items, &(size_t){ most }, most + 1, "it"), LC_NO_MEMORY);
	ck_assert_uint_eq(asked, 0);
	ck_assert_ptr_null(items);
}
END_TEST

START_TEST(one_by_one)
{
	size_t *items = NULL, room = 0, moves = 0;

	for (size_t n = 0; n < 100000; n++) {
		const size_t before = room;

		assert_ok(lc__array_reserve(&items, &room, n + 1, NULL));
		moves += room != before;
		items[n] = n * n;
	}
	ck_assert_uint_eq(moves, 16); /* 4, 8, ... 131072 */
	for (size_t n = 0; n < 100000; n++)
		ck_assert_uint_eq(items[n], n * n);
	free(items);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("array");
	TCase *tc = tcase_create("array");

	tcase_add_loop_test(tc, room_doubles, 0, sizeof(growths) / sizeof(growths[0]));
	tcase_add_loop_test(tc, what_cannot_be_counted_is_refused, 0,
	    sizeof(too_many) / sizeof(too_many[0]));
	tcase_add_test(tc, growth_ends_at_the_largest_array);
	tcase_add_test(tc, one_by_one);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
