/* SPDX-License-Identifier: BSD-2-Clause */
#include "outdir_files.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"

char *
outdir_join(const char *dir, const char *name)
{
	char *path = lc__path_join(dir, name);

	ck_assert_ptr_nonnull(path);
	return path;
}

bool
outdir_exists(const char *dir, const char *name)
{
	char *path = outdir_join(dir, name);
	const bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

void
outdir_put_file(const char *dir, const char *name, const char *text)
{
	char *path = outdir_join(dir, name);

	ck_assert_int_eq(lc__write_file_atomic(path, text, strlen(text)), LC_OK);
	free(path);
}

struct lc__buf
outdir_get_file(const char *dir, const char *name)
{
	char *path = outdir_join(dir, name);
	struct lc__buf buf = { 0 };

	ck_assert_int_eq(lc__read_file(path, 1 << 28, &buf), LC_OK);
	free(path);
	return buf;
}

void
outdir_remove_file(const char *dir, const char *name)
{
	char *path = outdir_join(dir, name);

	ck_assert_int_eq(unlink(path), 0);
	free(path);
}

/* Entries of a directory whose name ends so; dot files count. */
int
outdir_count_files(const char *dir, const char *end)
{
	DIR *stream = opendir(dir);
	const struct dirent *entry;
	int n = 0;

	ck_assert_ptr_nonnull(stream);
	while ((entry = readdir(stream)) != NULL) {
		const size_t have = strlen(entry->d_name), want = strlen(end);
		n += strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 && have >= want &&
		    strcmp(entry->d_name + have - want, end) == 0;
	}
	closedir(stream);
	return n;
}

/* The same names with the same bytes. */
void
outdir_assert_same_dirs(const char *a, const char *b)
{
	DIR *stream = opendir(a);
	const struct dirent *entry;

	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(outdir_count_files(a, ""), outdir_count_files(b, ""));
	while ((entry = readdir(stream)) != NULL) {
		struct lc__buf x, y;
		if (entry->d_name[0] == '.')
			continue;
		x = outdir_get_file(a, entry->d_name);
		y = outdir_get_file(b, entry->d_name);
		ck_assert_msg(x.size == y.size &&
		    memcmp(x.data, y.data, x.size) == 0, "%s differs",
		    entry->d_name);
		lc__buf_free(&x);
		lc__buf_free(&y);
	}
	closedir(stream);
}

void
outdir_flip(const char *dir, const char *name, off_t at)
{
	char *path = outdir_join(dir, name);
	const int fd = open(path, O_RDWR);
	unsigned char byte;

	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
	free(path);
}
