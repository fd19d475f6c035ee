/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories, entry by entry and sorted. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "fail_io.h"
#include "need.h"

/* Entries of every kind, and what they are, followed or not. */
static const struct entry {
	const char *name, *target; /* a link's */
	mode_t type, followed;     /* 0: a link to nothing */
} entries[] = {
	{ "B", NULL, S_IFREG, S_IFREG },
	{ "a", NULL, S_IFDIR, S_IFDIR },
	{ "\xc3\xa9", NULL, S_IFREG, S_IFREG },
	{ ".hidden", NULL, S_IFREG, S_IFREG },
	{ "fifo", NULL, S_IFIFO, S_IFIFO },
	{ "to-a", "a", S_IFLNK, S_IFDIR },
	{ "to-b", "B", S_IFLNK, S_IFREG },
	{ "lost", "nothing", S_IFLNK, 0 },
	{ "loop", "loop", S_IFLNK, 0 }
};

#define N (sizeof(entries) / sizeof(entries[0]))

static const char *
make_entries(void)
{
	static char dir[4100];
	char path[4200];

	snprintf(dir, sizeof(dir), "%s/d", run_scratch());
	if (mkdir(dir, 0777) == -1)
		return dir;
	for (size_t i = 0; i < N; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, entries[i].name);
		if (entries[i].target != NULL)
			ck_assert_int_eq(symlink(entries[i].target, path), 0);
		else if (entries[i].type == S_IFDIR)
			ck_assert_int_eq(mkdir(path, 0777), 0);
		else if (entries[i].type == S_IFIFO)
			ck_assert_int_eq(mkfifo(path, 0666), 0);
		else
			assert_ok(lc__write_file_atomic(path, "", 0));
	}
	return dir;
}

START_TEST(every_entry_once)
{
	const char *path = make_entries();
	unsigned times[N] = { 0 }, others = 0;
	const struct dirent *entry;
	struct lc__dir dir;

	assert_ok(lc__dir_open(path, &dir));
	for (;;) {
		size_t i = 0;

		assert_ok(lc__dir_next(&dir, &entry));
		if (entry == NULL)
			break;
		while (i < N && strcmp(entries[i].name, entry->d_name) != 0)
			i++;
		if (i == N) {
			others++;
			continue;
		}
		times[i]++;
		/* As told, and as asked where a file system does not tell. */
		for (int told = 0; told < 2; told++) {
			struct dirent copy = *entry;

			if (told == 0)
				copy.d_type = DT_UNKNOWN;
			ck_assert_uint_eq(lc__dir_type(&dir, &copy, false), entries[i].type);
			errno = 0;
			ck_assert_uint_eq(lc__dir_type(&dir, &copy, true),
			    entries[i].followed);
			if (entries[i].followed == 0)
				ck_assert(errno == ENOENT || errno == ELOOP);
		}
	}
	for (size_t i = 0; i < N; i++)
		ck_assert_uint_eq(times[i], 1);
	ck_assert_uint_eq(others, 0);
	lc__dir_close(&dir);
	lc__dir_close(&dir);
}
END_TEST

START_TEST(names_are_sorted_by_bytes)
{
	static const char *const all[] = { ".hidden", "B", "a", "fifo", "loop", "lost", "to-a",
		"to-b", "\xc3\xa9" };
	const char *path = make_entries();
	const bool hidden = _i == 1;
	const size_t first = hidden ? 0 : 1;
	struct lc__dir_list list = { 0 };

	assert_ok(lc__listdir(path, hidden, &list));
	ck_assert_uint_eq(list.n, N - first);
	for (size_t i = first; i < N; i++)
		ck_assert_str_eq(list.entries[i - first].name, all[i]);
	for (size_t i = 0; i < N; i++) {
		const struct lc__dir_entry *found = lc__dir_list_find(&list, entries[i].name);

		if (!hidden && entries[i].name[0] == '.') {
			ck_assert_ptr_null(found);
			continue;
		}
		ck_assert_str_eq(found->name, entries[i].name);
		ck_assert(found->type == entries[i].type || found->type == 0);
	}
	ck_assert_ptr_null(lc__dir_list_find(&list, "b"));
	lc__dir_list_free(&list);
	ck_assert_ptr_null(lc__dir_list_find(&list, "B"));
	ck_assert_ptr_null(list.entries);
}
END_TEST

static const struct bad {
	const char *name, *why;
} bads[] = {
	{ "none", "No such file or directory" },
	{ "B", "Not a directory" },
	{ "fifo", "Not a directory" },
	{ "loop", "Too many levels of symbolic links" }
};

START_TEST(what_cannot_be_opened)
{
	char path[4200], want[4300];
	struct lc__dir_list list = { 0 };

	snprintf(path, sizeof(path), "%s/%s", make_entries(), bads[_i].name);
	ck_assert_int_ne(lc__listdir(path, true, &list), LC_OK);
	snprintf(want, sizeof(want), "%s: open: %s", path, bads[_i].why);
	ck_assert_str_eq(lc_last_error()->text, want);
	lc__dir_list_free(&list);
}
END_TEST

START_TEST(a_failed_read_is_no_end)
{
	const char *path = make_entries();
	char want[4300];

	snprintf(want, sizeof(want), "%s: read: Input/output error", path);
	for (long n = 1; n <= (long)N + 3; n++) {
		struct lc__dir_list list = { 0 };

		fail_io_only("readdir");
		fail_io(n, EIO, false);
		assert_status(lc__listdir(path, true, &list), LC_IO);
		fail_io(0, 0, false);
		ck_assert_str_eq(lc_last_error()->text, want);
		lc__dir_list_free(&list);
	}
}
END_TEST

START_TEST(by_a_descriptor)
{
	const char *path = make_entries();
	const int fd = lc__open(path, O_RDONLY | O_DIRECTORY);
	const struct dirent *entry;
	struct lc__dir dir;
	struct stat st;

	assert_ok(lc__dir_of(fd, "it", &dir));
	ck_assert_int_eq(dir.fd, fd);
	ck_assert_int_eq(fstatat(dir.fd, "B", &st, 0), 0);
	assert_ok(lc__dir_next(&dir, &entry));
	lc__dir_close(&dir);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	assert_status(lc__dir_of(lc__open("/none", O_RDONLY), "it", &dir), LC_NO_FILE);
	ck_assert_str_eq(lc_last_error()->text, "it: open: No such file or directory");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("listdir");
	TCase *tc = tcase_create("listdir");

	tcase_add_test(tc, every_entry_once);
	tcase_add_loop_test(tc, names_are_sorted_by_bytes, 0, 2);
	tcase_add_loop_test(tc, what_cannot_be_opened, 0, sizeof(bads) / sizeof(bads[0]));
	tcase_add_test(tc, a_failed_read_is_no_end);
	tcase_add_test(tc, by_a_descriptor);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
