/* SPDX-License-Identifier: BSD-2-Clause */
/* Libraries that are loaded when they are first used. */
#include "run.h"

#include <string.h>

#include "base/lazy.h"

static void (*pointers[2])(void);

START_TEST(finds_functions)
{
	static const char *const calls[] = { "sqrt", "floor" };
	struct lc__lazy lazy = { "libm", "libm.so.6", calls, pointers, 2, false };
	double (*square_root)(double);

	ck_assert_int_eq(lc__lazy_load(&lazy), LC_OK);
	ck_assert(lazy.loaded);
	memcpy(&square_root, pointers, sizeof(square_root));
	ck_assert(square_root(16.0) == 4.0);
	ck_assert_int_eq(lc__lazy_load(&lazy), LC_OK);
}
END_TEST

START_TEST(a_missing_file_is_a_failure_of_the_system)
{
	static const char *const calls[] = { "sqrt" };
	struct lc__lazy lazy = { "libnone", "libnone.so.0", calls, pointers, 1, false };

	ck_assert_int_eq(lc__lazy_load(&lazy), LC_IO);
	ck_assert_str_eq(lc_last_error()->text, "libnone: libnone.so.0: cannot open shared "
	    "object file: No such file or directory");
	ck_assert(!lazy.loaded);
	/* It may come later. */
	lazy.file = "libm.so.6";
	ck_assert_int_eq(lc__lazy_load(&lazy), LC_OK);
}
END_TEST

START_TEST(a_missing_function_is_one_too)
{
	static const char *const calls[] = { "sqrt", "lc_no_such_function" };
	struct lc__lazy lazy = { "libm", "libm.so.6", calls, pointers, 2, false };

	ck_assert_int_eq(lc__lazy_load(&lazy), LC_IO);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "lc_no_such_function"));
	ck_assert(!lazy.loaded);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("lazy");
	TCase *tc = tcase_create("lazy");

	tcase_add_test(tc, finds_functions);
	tcase_add_test(tc, a_missing_file_is_a_failure_of_the_system);
	tcase_add_test(tc, a_missing_function_is_one_too);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
