/* SPDX-License-Identifier: BSD-2-Clause */
/* A version takes the place of one of its name where directories cannot be exchanged. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dataset.h"
#include "ingesting.h"
#include "outdir_files.h"

static bool plain;      /* the file system exchanges nothing */
static bool refused;    /* nor does it take a new version where there is none */

int
renameat2(int from_fd, const char *from, int to_fd, const char *to,
    unsigned flags)
{
	if (plain && flags != 0) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int
rename(const char *from, const char *to)
{
	const char *name = strrchr(from, '/');
	struct stat st;

	if (refused && name != NULL && strncmp(name, "/.building-", 11) == 0 &&
	    strstr(name, ".old") == NULL && stat(to, &st) == -1) {
		errno = EIO;
		return -1;
	}
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Build everything anew: a version of the same name. */
static void
clear(const char *root, const char *warehouse, lc_status want)
{
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	in.ingest.clear = true;
	ingesting_run(&in, want, NULL);
}

START_TEST(in_steps)
{
	const char *root = run_scratch(), *warehouse = run_scratch();
	struct stat before, after;
	struct ingesting in;
	int old;

	dataset_make(root, 5);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, NULL);
	/* Held open, so that no other directory gets its inode. */
	old = open(ingesting_path(warehouse, ""), O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(old, 0);
	ck_assert_int_eq(fstat(old, &before), 0);
	plain = true;
	refused = _i;
	clear(root, warehouse, refused ? LC_IO : LC_OK);
	ck_assert_int_eq(stat(ingesting_path(warehouse, ""), &after), 0);
	ck_assert_int_eq(before.st_ino == after.st_ino, refused);
	ingesting_assert_good(warehouse);
	refused = false;
	clear(root, warehouse, LC_OK);
	ck_assert_int_eq(stat(ingesting_path(warehouse, ""), &after), 0);
	ck_assert_int_ne(before.st_ino, after.st_ino);
	ingesting_assert_good(warehouse);
	ck_assert_int_eq(outdir_count_files(warehouse, ".old"), 0);
	plain = false;
	close(old);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("ingest_exchange");
	TCase *tc = tcase_create("exchange");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, in_steps, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
