/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that appear whole. */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/newfile.h"
#include "need.h"

static char *
join(const char *dir, const char *name)
{
	static char paths[8][5000];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void
write_text(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	ck_assert_int_eq(close(fd), 0);
}

static const char *
text_of(const char *path)
{
	static char text[100];
	const int fd = open(path, O_RDONLY);
	const ssize_t n = read(fd, text, sizeof(text) - 1);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	close(fd);
	return text;
}

/* The path, and what follows it in a message. */
static const char *
text_with(const char *path, const char *rest)
{
	static char text[6000];

	snprintf(text, sizeof(text), "%s%s", path, rest);
	return text;
}

static unsigned
files_in(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n - 2;
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	return st.st_mode & 07777;
}

/* What the next calls of these fail with; 0: they work. */
static int renameat2_errno, link_errno;

int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);

int
__wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	if (renameat2_errno == 0)
		return __real_renameat2(from_dir, from, to_dir, to, flags);
	errno = renameat2_errno;
	return -1;
}

int
__wrap_link(const char *from, const char *to)
{
	if (link_errno == 0)
		return __real_link(from, to);
	errno = link_errno;
	return -1;
}

static const mode_t masks[] = { 0, 022, 027, 077 };

START_TEST(mode_is_the_umasks)
{
	const char *dir = run_scratch(), *path = join(dir, "f");
	const mode_t old = umask(masks[_i]);
	struct lc__newfile file;

	assert_ok(lc__write_file_atomic(path, "new", 3));
	ck_assert_uint_eq(mode_of(path), 0666 & ~masks[_i]);
	assert_ok(lc__newfile_open(path, 0600, &file));
	ck_assert_uint_eq(mode_of(file.temporary), 0600 & ~masks[_i]);
	assert_ok(lc__newfile_replace(&file));
	ck_assert_uint_eq(mode_of(path), 0600 & ~masks[_i]);
	ck_assert_uint_eq(umask(old), masks[_i]);
	ck_assert_uint_eq(files_in(dir), 1);
}
END_TEST

/* Another thread makes files: none of them may get another mode. */
static atomic_bool stop;

static void *
make_files(void *dir)
{
	char path[5000];
	uintptr_t wrong = 0;

	for (unsigned i = 0; !stop; i++) {
		snprintf(path, sizeof(path), "%s/t", (const char *)dir);
		close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
		wrong += mode_of(path) != 0644;
		unlink(path);
	}
	return (void *)wrong;
}

START_TEST(other_threads_keep_their_modes)
{
	char *dir = (char *)(uintptr_t)run_scratch(), *path = join(dir, "f");
	const mode_t old = umask(022);
	pthread_t thread;
	void *wrong;

	stop = false;
	ck_assert_int_eq(pthread_create(&thread, NULL, make_files, dir), 0);
	for (int i = 0; i < 2000; i++)
		assert_ok(lc__write_file_atomic(path, "x", 1));
	stop = true;
	pthread_join(thread, &wrong);
	ck_assert_uint_eq((uintptr_t)wrong, 0);
	umask(old);
}
END_TEST

/* A link, another name of a file, a FIFO: replaced, not written through. */
START_TEST(what_is_there_is_replaced)
{
	const char *dir = run_scratch(), *path = join(dir, "f"), *other = join(dir, "o");

	write_text(other, "precious");
	switch (_i) {
	case 0: ck_assert_int_eq(symlink(other, path), 0); break;
	case 1: ck_assert_int_eq(link(other, path), 0); break;
	case 2: ck_assert_int_eq(mkfifo(path, 0600), 0); break;
	default: ck_assert_int_eq(symlink("nowhere", path), 0);
	}
	assert_ok(lc__write_file_atomic(path, "new", 3));
	ck_assert_str_eq(text_of(path), "new");
	ck_assert_str_eq(text_of(other), "precious");
	(void)mode_of(path);
	ck_assert_uint_eq(files_in(dir), 2);
}
END_TEST

START_TEST(what_is_there_stays)
{
	const char *dir = run_scratch(), *path = join(dir, "f");
	struct lc__newfile file;

	ck_assert_int_eq(symlink("nowhere", path), 0);
	assert_ok(lc__newfile_open(path, 0666, &file));
	assert_status(lc__newfile_add(&file), LC_EXISTS);
	ck_assert_int_eq(file.fd, -1);
	ck_assert_uint_eq(files_in(dir), 1);
	ck_assert_int_eq(unlink(path), 0);
	assert_ok(lc__newfile_open(path, 0666, &file));
	assert_ok(lc__newfile_add(&file));
	ck_assert_str_eq(text_of(path), "");
	assert_ok(lc__newfile_open(path, 0666, &file));
	lc__newfile_discard(&file);
	lc__newfile_discard(&file);
	ck_assert_uint_eq(files_in(dir), 1);
	assert_status(lc__newfile_open(join(dir, "none/f"), 0666, &file), LC_NO_FILE);
}
END_TEST

/* What file systems answer that cannot rename without replacing, and perhaps cannot give a
 * file a second name. */
static const struct lack {
	int renameat2_errno, link_errno;
} lacks[] = {
	{ EINVAL, 0 },
	{ ENOSYS, 0 },
	{ EINVAL, EPERM },
	{ EINVAL, EOPNOTSUPP },
	{ ENOSYS, ENOSYS },
};

START_TEST(what_is_there_stays_on_any_file_system)
{
	const char *dir = run_scratch(), *path = join(dir, "f");
	struct lc__newfile file;

	renameat2_errno = lacks[_i].renameat2_errno;
	link_errno = lacks[_i].link_errno;
	for (int there = 0; there < 2; there++) {
		assert_ok(lc__newfile_open(path, 0666, &file));
		ck_assert_int_eq(write(file.fd, there ? "two" : "one", 3), 3);
		if (there) {
			assert_status(lc__newfile_add(&file), LC_EXISTS);
			ck_assert_str_eq(lc_last_error()->text,
			    text_with(path, ": File exists"));
		} else {
			assert_ok(lc__newfile_add(&file));
		}
		ck_assert_str_eq(text_of(path), "one");
		ck_assert_uint_eq(files_in(dir), 1);
	}
	/* A link to nothing is there, too. */
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("nowhere", path), 0);
	assert_ok(lc__newfile_open(path, 0666, &file));
	assert_status(lc__newfile_add(&file), LC_EXISTS);
	ck_assert_int_eq(access(join(dir, "nowhere"), F_OK), -1);
	ck_assert_uint_eq(files_in(dir), 1);
}
END_TEST

/* Another failure of either call is not taken for a lack: nothing is added. */
START_TEST(failures_to_rename_are_told)
{
	static const struct lack failures[] = { { EIO, 0 }, { EINVAL, EIO } };
	const char *dir = run_scratch(), *path = join(dir, "f");
	struct lc__newfile file;

	renameat2_errno = failures[_i].renameat2_errno;
	link_errno = failures[_i].link_errno;
	assert_ok(lc__newfile_open(path, 0666, &file));
	assert_status(lc__newfile_add(&file), LC_IO);
	ck_assert_str_eq(lc_last_error()->text,
	    text_with(path, ": rename: Input/output error"));
	ck_assert_uint_eq(files_in(dir), 0);
}
END_TEST

START_TEST(leftovers)
{
	const char *dir = run_scratch(), *path = join(dir, "f");
	struct lc__newfile file;

	write_text(join(dir, "f.tmp.abcdef"), "old");
	write_text(join(dir, "f.tmp.abcde"), "other");
	write_text(join(dir, "g.tmp.abcdef"), "other");
	ck_assert_int_eq(symlink("g.tmp.abcdef", join(dir, "f.tmp.000000")), 0);
	assert_ok(lc__newfile_open(path, 0666, &file));
	lc__newfile_tidy(path);
	ck_assert_int_eq(access(join(dir, "f.tmp.abcdef"), F_OK), -1);
	ck_assert_uint_eq(files_in(dir), 4);
	assert_ok(lc__newfile_add(&file));
	ck_assert_uint_eq(files_in(dir), 4);
}
END_TEST

/* A name of the most bytes that a file's has. */
START_TEST(long_names)
{
	char name[256];
	const char *dir = run_scratch(), *path;
	struct lc__newfile file, killed;

	memset(name, 'n', 255);
	name[255] = '\0';
	path = join(dir, name);
	assert_ok(lc__newfile_open(path, 0666, &file));
	ck_assert_int_eq(access(file.temporary, F_OK), 0);
	assert_ok(lc__newfile_add(&file));
	assert_ok(lc__newfile_open(path, 0666, &file));
	assert_ok(lc__newfile_replace(&file));
	assert_ok(lc__newfile_open(path, 0666, &file));
	assert_status(lc__newfile_add(&file), LC_EXISTS);
	ck_assert_uint_eq(files_in(dir), 1);
	/* One without its lock is a killed process's. */
	assert_ok(lc__newfile_open(path, 0666, &killed));
	close(killed.fd);
	killed.fd = -1;
	lc__newfile_tidy(path);
	ck_assert_uint_eq(files_in(dir), 1);
	lc__newfile_discard(&killed);
}
END_TEST

START_TEST(names_differ)
{
	char a[] = "x.tmp.XXXXXX", b[] = "x.tmp.XXXXXX";

	lc__random_name(a);
	lc__random_name(b);
	ck_assert_int_eq(strncmp(a, "x.tmp.", 6), 0);
	ck_assert_int_ne(strcmp(a, b), 0);
	ck_assert_uint_eq(strspn(a + 6, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), 6);
}
END_TEST

START_TEST(written_bit_by_bit)
{
	const char *dir = run_scratch(), *path = join(dir, "f"), *other = join(dir, "o");
	int fd;

	write_text(other, "precious");
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert_int_eq(lc__open_to_write(path, true), -1);
	ck_assert_int_eq(errno, ELOOP);
	fd = lc__open_to_write(path, false);
	ck_assert_int_eq(write(fd, "new", 3), 3);
	close(fd);
	fd = lc__open_to_write(path, true);
	ck_assert_int_eq(write(fd, "er", 2), 2);
	close(fd);
	ck_assert_str_eq(text_of(path), "newer");
	ck_assert_str_eq(text_of(other), "precious");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/dev/null", path), 0);
	ck_assert(lc__is_special(path));
	fd = lc__open_to_write(path, false);
	ck_assert_int_ge(fd, 3);
	close(fd);
	ck_assert_str_eq(text_of(path), "");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("newfile");
	TCase *tc = tcase_create("newfile");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, mode_is_the_umasks, 0, 4);
	tcase_add_test(tc, other_threads_keep_their_modes);
	tcase_add_loop_test(tc, what_is_there_is_replaced, 0, 4);
	tcase_add_test(tc, what_is_there_stays);
	tcase_add_loop_test(tc, what_is_there_stays_on_any_file_system, 0,
	    sizeof(lacks) / sizeof(lacks[0]));
	tcase_add_loop_test(tc, failures_to_rename_are_told, 0, 2);
	tcase_add_test(tc, leftovers);
	tcase_add_test(tc, long_names);
	tcase_add_test(tc, names_differ);
	tcase_add_test(tc, written_bit_by_bit);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
