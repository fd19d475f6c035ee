/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"

/* Deeper is nothing that was made here. */
#define MAX_DEPTH 8

static lc_status
failed(int sys, const char *where, const char *name)
{
	return lc__error_sys(sys, "%s%s%s: remove", where,
	    *where != '\0' ? "/" : "", name);
}

static lc_status remove_at(int parent, const char *name, const char *where,
    int depth);

static lc_status
empty(int fd, const char *name, int depth)
{
	const struct dirent *entry;
	struct lc__dir dir;
	lc_status status;

	return_if_error(lc__dir_of(fd, name, &dir));
	while ((status = lc__dir_next(&dir, &entry)) == LC_OK && entry != NULL) {
		status = remove_at(dir.fd, entry->d_name, name, depth + 1);
		if (status != LC_OK)
			break;
	}
	lc__dir_close(&dir);
	return status;
}

static lc_status
remove_at(int parent, const char *name, const char *where, int depth)
{
	int fd;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return LC_OK;
	if (errno != EISDIR && errno != EPERM)
		return failed(errno, where, name);
	fd = lc__openat(parent, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd == -1 || depth > MAX_DEPTH) {
		const int sys = fd == -1 ? errno : ELOOP;
		if (fd != -1)
			close(fd);
		return failed(sys, where, name);
	}
	return_if_error(empty(fd, name, depth));
	if (unlinkat(parent, name, AT_REMOVEDIR) == -1)
		return failed(errno, where, name);
	return LC_OK;
}

lc_status
lc__tree_remove(int parent, const char *name, const char *where)
{
	return remove_at(parent, name, where, 0);
}
