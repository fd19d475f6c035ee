/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libcrypto without memory: every allocation of its start-up and of its work fails, once and
 * for ever. The host lives on, and what comes out is the error or the checksum.
 */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/checksum.h"
#include "need.h"

static long left;   /* allocations until the one that fails */
static bool and_on; /* and all after it */

static bool
fails(void)
{
	if (left > 1 || (left == 1 && !and_on))
		return --left == 0;
	return left == 1;
}

static void *
take(size_t size, const char *file, int line)
{
	(void)file, (void)line;
	return fails() ? NULL : malloc(size);
}

static void *
change(void *old, size_t size, const char *file, int line)
{
	(void)file, (void)line;
	return fails() ? NULL : realloc(old, size);
}

static void
give(void *old, const char *file, int line)
{
	(void)file, (void)line;
	free(old);
}

enum { GOOD = 0, FAILED = 10, GOOD_UNHURT = 11 };

static const char hex_of_abc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/* In a process of its own, in which libcrypto has not started yet. */
static void
try(void *ctx)
{
	const long n = *(const long *)ctx;
	char hex[65];
	lc_status status;

	left = n;
	status = lc__sha256_of("abc", 3, hex);
	if (status != LC_OK) {
		need_status(status, LC_NO_MEMORY);
		need(strcmp(lc_last_error()->text, "sha256: out of memory") == 0);
		_exit(FAILED);
	}
	need(strcmp(hex, hex_of_abc) == 0);
	_exit(left > (and_on ? 1 : 0) ? GOOD_UNHURT : GOOD);
}

static void
try_all(bool forever)
{
	int status = GOOD;
	long n;

	and_on = forever;
	for (n = 1; status != GOOD_UNHURT; n++) {
		status = child_run(try, &n);
		ck_assert_msg(status == GOOD || status == FAILED || status == GOOD_UNHURT,
		    "allocation %ld: status %d", n, status);
	}
	ck_assert_int_gt(n, 3);
}

START_TEST(once)
{
	try_all(false);
}
END_TEST

START_TEST(for_ever)
{
	try_all(true);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("checksum_memory");
	TCase *tc = tcase_create("checksum_memory");

	if (CRYPTO_set_mem_functions(take, change, give) != 1)
		return 99;
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, once);
	tcase_add_test(tc, for_ever);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
