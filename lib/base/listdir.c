/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/listdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
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
	/* O_NONBLOCK: do not wait if the path is a FIFO. */
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
	} while (entry != NULL &&
	    (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
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
		return (mode_t)DTTOIF(entry->d_type);
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

/* ---- sorted ----------------------------------------------------------------------- */

lc_status
lc__listdir(const char *path, bool hidden, struct lc__dir_list *out)
{
	const struct dirent *entry;
	struct lc__dir dir;
	lc_status status;

	return_if_error(lc__dir_open(path, &dir));
	while ((status = lc__dir_next(&dir, &entry)) == LC_OK && entry != NULL)
		if (hidden || entry->d_name[0] != '.') {
			status = lc__dir_list_add(out, entry);
			if (status != LC_OK)
				break;
		}
	lc__dir_close(&dir);
	lc__dir_list_sort(out);
	return status;
}

lc_status
lc__dir_list_add(struct lc__dir_list *list, const struct dirent *entry)
{
	struct lc__dir_entry *new;

	return_if_error(
	    lc__array_reserve(&list->entries, &list->room, list->n + 1, entry->d_name));
	new = &list->entries[list->n];
	new->name = strdup(entry->d_name);
	if (new->name == NULL)
		return lc__no_memory(entry->d_name);
	new->type = (mode_t)DTTOIF(entry->d_type); /* 0 for DT_UNKNOWN */
	list->n++;
	return LC_OK;
}

static int
by_bytes(const void *a, const void *b)
{
	const struct lc__dir_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

void
lc__dir_list_sort(struct lc__dir_list *list)
{
	if (list->n > 0)
		qsort(list->entries, list->n, sizeof(*list->entries), by_bytes);
}

const struct lc__dir_entry *
lc__dir_list_find(const struct lc__dir_list *list, const char *name)
{
	const struct lc__dir_entry key = { .name = (char *)(uintptr_t)name };

	return list->n == 0
	    ? NULL
	    : bsearch(&key, list->entries, list->n, sizeof(*list->entries), by_bytes);
}

void
lc__dir_list_free(struct lc__dir_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->entries[i].name);
	free(list->entries);
	memset(list, 0, sizeof(*list));
}
