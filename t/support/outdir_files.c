/* SPDX-License-Identifier: BSD-2-Clause */
#include "outdir_files.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/checksum.h"

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

void
outdir_put_manifest(const char *dir, const char *text)
{
	static const char head[] = "{\n  \"manifest_sha256\": \"";
	const char *rest = text + 2;
	struct lc__buf out = { 0 };
	char digest[65];

	/* The SHA-256 of all lines but the second one, which it is in. */
	if (strncmp(text, head, strlen(head)) == 0) {
		rest = strchr(rest, '\n') + 1;
		lc__buf_printf(&out, "{\n%s", rest);
		ck_assert_int_eq(lc__sha256_of(out.data, out.size, digest), LC_OK);
		out.size = 0;
		lc__buf_printf(&out, "%s%s\",\n%s", head, digest, rest);
	} else {
		lc__buf_printf(&out, "%s", text);
	}
	lc__buf_append(&out, "", 1);
	ck_assert(!out.failed);
	outdir_put_file(dir, "manifest.json", (const char *)out.data);
	lc__buf_free(&out);
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

int
outdir_count_unfinished(const char *dir)
{
	DIR *stream = opendir(dir);
	const struct dirent *entry;
	int n = 0;

	ck_assert_ptr_nonnull(stream);
	while ((entry = readdir(stream)) != NULL)
		n += strstr(entry->d_name, ".tmp") != NULL;
	closedir(stream);
	return n;
}

static bool
is_dir(const char *dir, const char *name)
{
	char *path = outdir_join(dir, name);
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	free(path);
	return S_ISDIR(st.st_mode);
}

static void
assert_same_file(const char *a, const char *b, const char *name)
{
	struct lc__buf x = outdir_get_file(a, name), y = outdir_get_file(b, name);

	ck_assert_msg(x.size == y.size && memcmp(x.data, y.data, x.size) == 0,
	    "%s differs", name);
	lc__buf_free(&x);
	lc__buf_free(&y);
}

/* The same names with the same bytes, in subdirectories too. */
void
outdir_assert_same_dirs(const char *a, const char *b)
{
	DIR *stream = opendir(a);
	const struct dirent *entry;

	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(outdir_count_files(a, ""), outdir_count_files(b, ""));
	while ((entry = readdir(stream)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (is_dir(a, entry->d_name)) {
			char *x = outdir_join(a, entry->d_name);
			char *y = outdir_join(b, entry->d_name);
			outdir_assert_same_dirs(x, y);
			free(x);
			free(y);
		} else {
			assert_same_file(a, b, entry->d_name);
		}
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

bool
outdir_mount(const char *dir, const char *options)
{
	return unshare(CLONE_NEWNS) == 0 &&
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("tmpfs", dir, "tmpfs", 0, options) == 0;
}
