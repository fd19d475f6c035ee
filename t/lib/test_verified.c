/* SPDX-License-Identifier: BSD-2-Clause */
/* What needs not be compared with its checksum again, and what does. */
#include "run.h"
#include "stream/record_reader.h"

static unsigned char page[2][LC__VERIFIED_MIN];
static struct lc__verified verified;

START_TEST(test_noted)
{
	ck_assert(!lc__verified_before(&verified, page[0], sizeof(page[0]), 7));
	lc__verified_note(&verified, page[0], sizeof(page[0]), 7);
	ck_assert(lc__verified_before(&verified, page[0], sizeof(page[0]), 7));
}
END_TEST

/* Other bytes in the same place, and the same bytes in another. */
START_TEST(test_others)
{
	lc__verified_note(&verified, page[0], sizeof(page[0]), 7);
	ck_assert(!lc__verified_before(&verified, page[0], sizeof(page[0]),
	    7 + LC__VERIFIED));
	ck_assert(!lc__verified_before(&verified, page[0], sizeof(page[0]), 8));
	ck_assert(!lc__verified_before(&verified, page[1], sizeof(page[1]), 7));
}
END_TEST

START_TEST(test_pushed_out)
{
	lc__verified_note(&verified, page[0], sizeof(page[0]), 7);
	lc__verified_note(&verified, page[1], sizeof(page[1]), 7 + LC__VERIFIED);
	ck_assert(!lc__verified_before(&verified, page[0], sizeof(page[0]), 7));
	ck_assert(lc__verified_before(&verified, page[1], sizeof(page[1]),
	    7 + LC__VERIFIED));
}
END_TEST

START_TEST(test_short)
{
	lc__verified_note(&verified, page[0], LC__VERIFIED_MIN - 1, 7);
	ck_assert(!lc__verified_before(&verified, page[0], LC__VERIFIED_MIN - 1, 7));
	ck_assert(!lc__verified_before(&verified, page[0], LC__VERIFIED_MIN, 7));
}
END_TEST

static void
forget(void)
{
	verified = (struct lc__verified){ 0 };
}

int
main(void)
{
	Suite *suite = suite_create("verified");
	TCase *tests = tcase_create("verified");

	tcase_add_checked_fixture(tests, forget, NULL);
	tcase_add_test(tests, test_noted);
	tcase_add_test(tests, test_others);
	tcase_add_test(tests, test_pushed_out);
	tcase_add_test(tests, test_short);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
