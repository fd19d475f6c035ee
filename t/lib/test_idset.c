/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of hashed ids, against a model. */
#include "run.h"

#include <stdint.h>

#include "base/idset.h"
#include "need.h"

#define IDS 3000

/* Many ids and then few, so that the set grows, empties and fills again. */
START_TEST(as_the_model)
{
	struct lc__idset set = { 0 };
	uint32_t model[IDS] = { 0 }; /* numbers; 0 for one that is not in it */
	uint64_t state = run_seed();
	size_t count = 0;

	for (unsigned step = 0; step < 40000; step++) {
		const unsigned i = (unsigned)(run_random(&state) %
		    (step % 10000 < 5000 ? IDS : 200));
		const lc_id id = { &i, sizeof(i) };
		uint32_t first = 0;
		bool added;

		if (run_random(&state) % 2 == 0) {
			assert_ok(lc__idset_add(&set, id, step + 1, &added, &first));
			ck_assert_int_eq(added, model[i] == 0);
			ck_assert_uint_eq(first, model[i]);
			count += added;
			if (added)
				model[i] = step + 1;
		} else {
			lc__idset_remove(&set, id);
			count -= model[i] != 0;
			model[i] = 0;
		}
		ck_assert_uint_eq(set.count, count);
	}
	lc__idset_free(&set);
	ck_assert_uint_eq(set.count, 0);
	lc__idset_remove(&set, lc_id_of("a"));
}
END_TEST

START_TEST(numbers_stay)
{
	enum { n = 50000 };
	static const uint32_t last = UINT32_MAX - 1;
	struct lc__idset set = { 0 };
	uint32_t first, found = 7;
	bool added;

	ck_assert(!lc__idset_find(&set, lc_id_of(""), &found));
	assert_ok(lc__idset_add(&set, lc_id_of(""), last, &added, NULL));
	ck_assert(added);
	for (uint64_t i = 0; i < n; i++)
		assert_ok(lc__idset_add(&set, (lc_id){ &i, sizeof(i) }, (uint32_t)i * 3, &added,
		    NULL));
	for (uint64_t i = 0; i < n; i++) {
		assert_ok(lc__idset_add(&set, (lc_id){ &i, sizeof(i) }, 1, &added, &first));
		ck_assert(lc__idset_find(&set, (lc_id){ &i, sizeof(i) }, &found));
		ck_assert_uint_eq(found, first);
		ck_assert(!added);
		ck_assert_uint_eq(first, i * 3);
	}
	assert_ok(lc__idset_add(&set, lc_id_of(""), 0, &added, &first));
	ck_assert(!added);
	ck_assert_uint_eq(first, last);
	ck_assert(!lc__idset_find(&set, lc_id_of("a"), &found));
	ck_assert_uint_eq(found, n * 3 - 3);
	ck_assert_uint_eq(set.count, n + 1);
	lc__idset_free(&set);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("idset");
	TCase *tc = tcase_create("idset");

	tcase_add_test(tc, as_the_model);
	tcase_add_test(tc, numbers_stay);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
