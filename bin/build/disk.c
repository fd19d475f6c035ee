/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "lmdbcache.h"

/* Directories created here are not deeper. */
#define MAX_DEPTH 8

static lc_status
failed(int sys, const char *where, const char *name)
{
	return lc__error_sys(sys, "%s%s%s: remove", where, *where != '\0' ? "/" : "",
	    name);
}

static lc_status
remove_at(int parent, const char *name, const char *where, int depth)
{
	const struct dirent *entry;
	struct lc__dir dir;
	lc_status status;
	int fd;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return LC_OK;
	if (errno != EISDIR && errno != EPERM)
		return failed(errno, where, name);
	fd = lc__openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd == -1 || depth > MAX_DEPTH) {
		const int sys = fd == -1 ? errno : ELOOP;
		if (fd != -1)
			close(fd);
		return failed(sys, where, name);
	}
	return_if_error(lc__dir_of(fd, name, &dir));
	while ((status = lc__dir_next(&dir, &entry)) == LC_OK && entry != NULL) {
		status = remove_at(dir.fd, entry->d_name, name, depth + 1);
		if (status != LC_OK)
			break;
	}
	lc__dir_close(&dir);
	return_if_error(status);
	if (unlinkat(parent, name, AT_REMOVEDIR) == -1)
		return failed(errno, where, name);
	return LC_OK;
}

lc_status
lc__tree_remove(int parent, const char *name, const char *where)
{
	return remove_at(parent, name, where, 0);
}

/* ---- the lock ---------------------------------------------------------------------- */

#define LOCK_NAME ".lock"

static lc_status
lock(int fd, const char *warehouse, const char *path)
{
	char text[32] = "";
	ssize_t n;

	if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK)
			return lc__error_sys(errno, "%s: lock", path);
		/* The process that has the lock has written its pid, or is about to. */
		n = pread(fd, text, sizeof(text) - 1, 0);
		text[n > 0 ? strspn(text, "0123456789") : 0] = '\0';
		return lc__error(LC_BUSY, 0, "%s: another build is running there%s%s",
		    warehouse, *text != '\0' ? ", process " : "", text);
	}
	n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	/* The pid only identifies the process: a full disk does not stop the build, but
	 * an incomplete pid must not stay. */
	if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) != n &&
	    ftruncate(fd, 0) == -1)
		return lc__error_sys(errno, "%s: truncate", path);
	return LC_OK;
}

lc_status
lc__lock_take(const char *warehouse, int *fd)
{
	char *path = lc__path_join(warehouse, LOCK_NAME);
	lc_status status;

	if (path == NULL)
		return lc__no_memory("build");
	*fd = lc__open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
	status = *fd == -1 ? lc__error_sys(errno, "%s: open", path)
			   : lock(*fd, warehouse, path);
	if (status != LC_OK && *fd != -1) {
		close(*fd);
		*fd = -1;
	}
	free(path);
	return status;
}

/* ---- free space ------------------------------------------------------------------ */

lc_status
lc__space_left(const char *path, uint64_t *out)
{
	struct statvfs fs;

	if (statvfs(path, &fs) == -1)
		return lc__error_sys(errno, "%s: statvfs", path);
	*out = (uint64_t)fs.f_bavail * fs.f_frsize;
	return LC_OK;
}

lc_status
lc__space_check(const char *path, uint64_t needed, const char *what)
{
	uint64_t left = 0;

	return_if_error(lc__space_left(path, &left));
	if (needed <= left)
		return LC_OK;
	return lc__error(LC_NO_SPACE, 0, "%s: %s need %llu bytes, %llu are free", path,
	    what, (unsigned long long)needed, (unsigned long long)left);
}
