/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation of building, copying, taking apart and restoring a value fails once:
 * the call says so, and what there is can be freed. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>

#include "fail_malloc.h"
#include "need.h"
#include "value/schema.h"
#include "value/value_record.h"

#define NAMES 42 /* more than are searched one by one */

static const unsigned char bytes[64] = { 1 };

static lc_value *
build(void)
{
	const uint64_t shape[1] = { 64 };
	lc_value *root = lc_value_map(), *list;
	lc_tensor tensor;
	char name[20];

	need_ok(lc_tensor_init(&tensor, LC_U8, 1, shape, bytes));
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		lc_value_set(root, name, i % 2 ? lc_value_tensor(&tensor) :
		    lc_value_str(name));
	}
	list = lc_value_append(lc_value_set(root, "list", lc_value_list()),
	    lc_value_tuple());
	lc_value_append(list, lc_value_bytes(bytes, 64));
	lc_value_append(list, lc_value_float(0.5));
	lc_value_set(lc_value_append(list, lc_value_map()), "x", lc_value_nil());
	list = lc_value_set(root, "pairs", lc_value_pairs());
	lc_value_pair(list, lc_value_str("key"), lc_value_tensor(&tensor));
	lc_value_pair(list, lc_value_integer(1), lc_value_tagged("tag",
	    lc_value_bytes(bytes, 3)));
	return root;
}

/* Fails in some allocation, or not: the value must then be as it was. */
static bool
pass(const lc_value *want)
{
	const lc_tensor *tensor[NAMES];
	lc_tensor copies[NAMES];
	struct lc__schema *schema = NULL, *decoded = NULL;
	struct lc__buf plain = { 0 };
	lc_value *built = build(), *copy = lc_value_copy(built), *again = NULL;
	lc_status status = copy == NULL ? LC_NO_MEMORY : lc_value_check(built);

	if (status == LC_OK)
		status = lc__schema_infer(built, &schema);
	if (status == LC_OK)
		status = lc__schema_decode(schema->bytes, schema->size, &decoded);
	if (status == LC_OK)
		status = lc__value_leaves(copy, tensor, &plain);
	for (uint32_t i = 0; status == LC_OK && i < schema->tensors; i++)
		copies[i] = *tensor[i];
	if (status == LC_OK)
		status = lc__value_restore(decoded, 0, copies, plain.data, plain.size,
		    &again);
	need(status == LC_OK || status == LC_NO_MEMORY);
	if (status == LC_OK) {
		need(lc_value_equal(want, again));
		need(lc__schema_alike(schema, decoded));
	}
	lc_value_free(again);
	lc_value_free(copy);
	lc_value_free(built);
	lc__schema_free(schema);
	lc__schema_free(decoded);
	lc__buf_free(&plain);
	return status == LC_OK;
}

START_TEST(every_allocation)
{
	lc_value *want = build();
	long n = 0, hits;
	bool whole;

	need_ok(lc_value_check(want));
	do {
		fail_malloc(++n, _i != 0);
		whole = pass(want);
		hits = fail_malloc_hits();
		fail_malloc(0, false);
		ck_assert_int_eq(whole, hits == 0);
	} while (!whole);
	ck_assert_int_gt(n, NAMES * 2);
	lc_value_free(want);
}
END_TEST

/* A comparison that cannot have memory takes longer, and comes to the same. */
START_TEST(comparing)
{
	struct lc__schema *a, *b;
	lc_value *backwards = lc_value_map(), *forwards = lc_value_map();
	char name[20];
	bool alike;
	long hits;

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		lc_value_set(forwards, name, lc_value_nil());
		snprintf(name, sizeof(name), "name %d", NAMES - 1 - i);
		lc_value_set(backwards, name, lc_value_nil());
	}
	need_ok(lc__schema_infer(forwards, &a));
	need_ok(lc__schema_infer(backwards, &b));
	fail_malloc(1, true);
	alike = lc__schema_alike(a, b);
	hits = fail_malloc_hits();
	fail_malloc(0, false);
	ck_assert(alike);
	ck_assert_int_eq(hits, 1);
	lc__schema_free(a);
	lc__schema_free(b);
	lc_value_free(forwards);
	lc_value_free(backwards);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("value_chaos");
	TCase *tc = tcase_create("value_chaos");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_allocation, 0, 2);
	tcase_add_test(tc, comparing);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
