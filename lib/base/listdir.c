/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/listdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"

/* ---- entry by entry --------------------------------------------------------------- */

lc_status
lc__dir_of(int fd, const char *path, struct lc__dir *out)
{
	DIR *stream = fd != -1 ? fdopendir(fd) : NULL;
	int sys;

	if (stream != NULL) {
		*out = (struct lc__dir){ stream, path, fd };
		return LC_OK;
	}
	sys = errno;
	if (fd != -1)
		close(fd);
	return lc__error_sys(sys, "%s: open", path);
}

lc_status
lc__dir_open(const char *path, struct lc__dir *out)
{
	/* O_NONBLOCK: a FIFO in the directory's place is not waited for. */
	return lc__dir_of(lc__open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK), path, out);
}

lc_status
lc__dir_next(struct lc__dir *dir, const struct dirent **out)
{
	const struct dirent *entry;

	do {
		/* Only errno tells the end of a directory from a failure. */
		errno = 0;
		entry = readdir(dir->stream);
	} while (entry != NULL && (strcmp(entry->d_name, ".") == 0 ||
	    strcmp(entry->d_name, "..") == 0));
	if (entry == NULL && errno != 0)
		return lc__error_sys(errno, "%s: read", dir->path);
	*out = entry;
	return LC_OK;
}

mode_t
lc__dir_type(const struct lc__dir *dir, const struct dirent *entry, bool follow)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN && (entry->d_type != DT_LNK || !follow))
		return DTTOIF(entry->d_type);
	if (fstatat(dir->fd, entry->d_name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) == -1)
		return 0;
	return st.st_mode & S_IFMT;
}

void
lc__dir_close(struct lc__dir *dir)
{
	const int sys = errno;

	if (dir->stream != NULL)
		closedir(dir->stream);
	*dir = (struct lc__dir){ .fd = -1 };
	errno = sys;
}

/* ---- sorted names ----------------------------------------------------------------- */

static lc_status
read_names(struct lc__dir *dir, bool hidden, struct lc__dir_list *out)
{
	const struct dirent *entry;

	for (;;) {
		return_if_error(lc__dir_next(dir, &entry));
		if (entry == NULL)
			return LC_OK;
		if (hidden || entry->d_name[0] != '.')
			return_if_error(lc__dir_list_add(out, entry->d_name));
	}
}

lc_status
lc__listdir(const char *path, bool hidden, struct lc__dir_list *out)
{
	struct lc__dir dir;
	lc_status status;

	return_if_error(lc__dir_open(path, &dir));
	status = read_names(&dir, hidden, out);
	lc__dir_close(&dir);
	lc__dir_list_sort(out);
	return status;
}

lc_status
lc__dir_list_add(struct lc__dir_list *list, const char *name)
{
	return_if_error(lc__array_reserve(&list->names, &list->room, list->n + 1, name));
	list->names[list->n] = strdup(name);
	if (list->names[list->n] == NULL)
		return lc__no_memory(name);
	list->n++;
	return LC_OK;
}

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
lc__dir_list_sort(struct lc__dir_list *list)
{
	if (list->n > 0)
		qsort(list->names, list->n, sizeof(*list->names), by_bytes);
}

void
lc__dir_list_free(struct lc__dir_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
	memset(list, 0, sizeof(*list));
}
