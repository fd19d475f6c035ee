/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/newfile.h"

/* Linux transfers at most this much in a call; more could fail with EINVAL. */
#define IO_STEP ((size_t)1 << 30)

lc_status
lc__read_full(int fd, void *data, size_t size, size_t *got, const char *path)
{
	size_t done = 0;

	while (done < size) {
		const size_t step = size - done < IO_STEP ? size - done : IO_STEP;
		const ssize_t n = read(fd, (char *)data + done, step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return lc__error_sys(errno, "%s: read", path);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*got = done;
	return LC_OK;
}

lc_status
lc__write_full(int fd, const void *data, size_t size, const char *path)
{
	size_t done = 0;

	while (done < size) {
		const size_t step = size - done < IO_STEP ? size - done : IO_STEP;
		const ssize_t n = write(fd, (const char *)data + done, step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return lc__error_sys(errno, "%s: write", path);
		done += (size_t)n;
	}
	return LC_OK;
}

#define BEHIND ((uint64_t)8 << 20)

void
lc__write_behind(int fd, uint64_t *begun, uint64_t end)
{
	if (end - *begun < BEHIND)
		return;
	(void)sync_file_range(fd, (off_t)*begun, (off_t)(end - *begun),
	    SYNC_FILE_RANGE_WRITE);
	*begun = end;
}

void
lc__write_rest_behind(int fd, uint64_t begun)
{
	(void)sync_file_range(fd, (off_t)begun, 0, SYNC_FILE_RANGE_WRITE);
}

/* Check the open file: stat() of the path could describe another one. */
lc_status
lc__open_regular(const char *path, int *fd)
{
	const int opened = lc__open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	lc_status status = LC_OK;
	struct stat st;

	/* Sockets, and devices without a driver, cannot be opened at all. */
	if (opened == -1 && (errno == ENXIO || errno == ENODEV))
		return lc__error(LC_INVALID, 0, "%s: not a regular file", path);
	if (opened == -1)
		return lc__error_sys(errno, "%s: open", path);
	if (fstat(opened, &st) == -1)
		status = lc__error_sys(errno, "%s: stat", path);
	else if (!S_ISREG(st.st_mode))
		status = lc__error(LC_INVALID, 0, "%s: not a regular file", path);
	if (status == LC_OK)
		*fd = opened;
	else
		close(opened);
	return status;
}

static lc_status
read_all(int fd, const char *path, uint64_t limit, struct lc__buf *out)
{
	const size_t start = out->size;
	struct stat st;
	size_t got;

	/* Check the size first, so that a file that is too large is not read. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size > limit)
		return lc__error(LC_INVALID, 0, "%s: larger than %llu bytes", path,
		    (unsigned long long)limit);
	do {
		unsigned char *place = lc__buf_append(out, NULL, 65536);
		if (place == NULL)
			return lc__no_memory(path);
		return_if_error(lc__read_full(fd, place, 65536, &got, path));
		out->size -= 65536 - got;
		if (out->size - start > limit)
			return lc__error(LC_INVALID, 0, "%s: larger than %llu bytes",
			    path, (unsigned long long)limit);
	} while (got == 65536);
	return LC_OK;
}

lc_status
lc__read_file(const char *path, uint64_t limit, struct lc__buf *out)
{
	const int fd = lc__open(path, O_RDONLY);
	lc_status status;

	if (fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	status = read_all(fd, path, limit, out);
	close(fd);
	return status;
}

lc_status
lc__write_file_atomic(const char *path, const void *data, size_t size)
{
	struct lc__newfile file;
	lc_status status;

	return_if_error(lc__newfile_open(path, 0666, &file));
	status = lc__write_full(file.fd, data, size, path);
	if (status == LC_OK)
		return lc__newfile_replace(&file);
	lc__newfile_discard(&file);
	return status;
}

lc_status
lc__read_regular(const char *path, uint64_t limit, struct lc__buf *out)
{
	lc_status status;
	int fd;

	return_if_error(lc__open_regular(path, &fd));
	status = read_all(fd, path, limit, out);
	close(fd);
	return status;
}

lc_status
lc__sync_dir(const char *path)
{
	const int fd = lc__open(path, O_RDONLY | O_DIRECTORY);
	lc_status status = LC_OK;

	if (fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	/* Some file systems cannot sync a directory and return EINVAL. */
	if (fsync(fd) == -1 && errno != EINVAL)
		status = lc__error_sys(errno, "%s: fsync", path);
	close(fd);
	return status;
}

lc_status
lc__sync_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir;
	lc_status status;

	if (slash == NULL)
		return lc__sync_dir(".");
	dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (dir == NULL)
		return lc__no_memory(path);
	status = lc__sync_dir(dir);
	free(dir);
	return status;
}

static lc_status
make_dir(const char *path)
{
	struct stat st;

	if (mkdir(path, 0777) == 0)
		return lc__sync_parent(path);
	if (errno != EEXIST)
		return lc__error_sys(errno, "%s: mkdir", path);
	if (stat(path, &st) == -1)
		return lc__error_sys(errno, "%s: stat", path);
	if (!S_ISDIR(st.st_mode))
		return lc__error_sys(ENOTDIR, "%s: mkdir", path);
	return LC_OK;
}

lc_status
lc__make_dirs(const char *path)
{
	char *copy = strdup(path);
	lc_status status = LC_OK;

	if (copy == NULL)
		return lc__no_memory(path);
	for (char *p = copy; status == LC_OK && *p != '\0'; p++) {
		if (*p != '/' || p == copy || p[-1] == '/')
			continue;
		*p = '\0';
		status = make_dir(copy);
		*p = '/';
	}
	if (status == LC_OK)
		status = make_dir(copy);
	free(copy);
	return status;
}

char *
lc__path_join(const char *dir, const char *name)
{
	const size_t n = strlen(dir);
	const char *slash = n > 0 && dir[n - 1] == '/' ? "" : "/";
	char *path;

	if (asprintf(&path, "%s%s%s", dir, slash, name) < 0)
		return NULL;
	return path;
}

lc_status
lc__no_lost_link(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == -1 || !S_ISLNK(st.st_mode) || stat(path, &st) == 0 ||
	    (errno != ENOENT && errno != ELOOP && errno != ENOTDIR))
		return LC_OK;
	return lc__error(LC_IO, errno, "%s: a symbolic link to nothing", path);
}
