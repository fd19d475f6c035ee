/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/outdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"

#define MANIFEST_LIMIT ((uint64_t)256 << 20)

char *
lc__shard_name(uint64_t number, char out[40])
{
	sprintf(out, "shard-%06llu" LC__SHARD_SUFFIX, (unsigned long long)number);
	return out;
}

lc_status
lc__outdir_lock(const char *path, struct lc__outdir *out)
{
	struct lc__outdir dir = { .path = path };

	return_if_error(lc__make_dirs(path));
	dir.fd = lc__open(path, O_RDONLY | O_DIRECTORY);
	if (dir.fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	if (flock(dir.fd, LOCK_EX | LOCK_NB) == -1) {
		const int sys = errno;
		close(dir.fd);
		if (sys == EWOULDBLOCK)
			return lc__error(LC_BUSY, 0,
			    "%s: another export is writing there", path);
		return lc__error_sys(sys, "%s: lock", path);
	}
	*out = dir;
	return LC_OK;
}

static bool
ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static bool
starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool
classify(struct lc__outfile *file)
{
	const char *name = file->name + file->base;
	unsigned long long number = 0;
	char again[40];

	if (file->base > 0 &&
	    (strcmp(name, LC__MANIFEST_NAME) == 0 || strcmp(name, LC__STATE_NAME) == 0))
		file->kind = LC__OUT_EXPORT;
	else if (sscanf(name, "shard-%20llu", &number) == 1 &&
	    strcmp(name, lc__shard_name(number, again)) == 0)
		file->kind = LC__OUT_SHARD;
	else if (ends_with(name, LC__SHARD_SUFFIX))
		file->kind = LC__OUT_OTHER;
	else if (starts_with(name, LC__MANIFEST_NAME ".tmp.") ||
	    starts_with(name, LC__STATE_NAME ".tmp.") ||
	    (starts_with(name, "shard-") &&
		strstr(name, LC__SHARD_SUFFIX ".tmp.") != NULL))
		file->kind = LC__OUT_TMP;
	else
		return false;
	file->number = number;
	return true;
}

static lc_status
add_file(struct lc__outdir *dir, int fd, const char *sub, const char *name)
{
	struct lc__outfile file = { .base = *sub ? strlen(sub) + 1 : 0 };
	struct stat st;

	return_if_error(
	    lc__array_reserve(&dir->files, &dir->room, dir->n + 1, dir->path));
	if (asprintf(&file.name, "%s%s%s", sub, *sub ? "/" : "", name) < 0)
		return lc__no_memory(dir->path);
	if (!classify(&file) || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    S_ISDIR(st.st_mode)) {
		free(file.name);
		return LC_OK;
	}
	file.size = (uint64_t)st.st_size;
	file.disk = st.st_nlink == 1 ? (uint64_t)st.st_blocks * 512 : 0;
	dir->files[dir->n++] = file;
	return LC_OK;
}

/* The directory itself has the name "". */
static lc_status
list_one(struct lc__outdir *dir, const char *sub)
{
	const bool top = *sub == '\0';
	char *path = top ? strdup(dir->path) : lc__path_join(dir->path, sub);
	const struct dirent *entry;
	struct lc__dir entries;
	lc_status status;
	int fd;

	if (path == NULL)
		return lc__no_memory(dir->path);
	fd = lc__open(path, O_RDONLY | O_DIRECTORY | (top ? 0 : O_NOFOLLOW));
	if (fd == -1 && !top && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
		free(path);
		return LC_OK;
	}
	status = lc__dir_of(fd, path, &entries);
	if (status == LC_OK) {
		while (
		    (status = lc__dir_next(&entries, &entry)) == LC_OK && entry != NULL) {
			status = add_file(dir, entries.fd, sub, entry->d_name);
			if (status != LC_OK)
				break;
		}
		lc__dir_close(&entries);
	}
	free(path);
	return status;
}

lc_status
lc__outdir_know(struct lc__outdir *dir, const char *relative_path)
{
	const size_t size = strcspn(relative_path, "/");

	if (relative_path[size] == '\0' || strchr(relative_path + size + 1, '/') != NULL)
		return LC_OK;
	for (size_t i = 0; i < dir->n_subs; i++)
		if (strncmp(dir->subs[i], relative_path, size) == 0 &&
		    dir->subs[i][size] == '\0')
			return LC_OK;
	return_if_error(
	    lc__array_reserve(&dir->subs, &dir->subs_room, dir->n_subs + 1, dir->path));
	dir->subs[dir->n_subs] = strndup(relative_path, size);
	if (dir->subs[dir->n_subs] == NULL)
		return lc__no_memory(dir->path);
	dir->n_subs++;
	return LC_OK;
}

lc_status
lc__outdir_scan(struct lc__outdir *dir)
{
	return_if_error(list_one(dir, ""));
	for (size_t i = 0; i < dir->n_subs; i++)
		return_if_error(list_one(dir, dir->subs[i]));
	return LC_OK;
}

lc_status
lc__outdir_remove(const struct lc__outdir *dir, const char *name)
{
	if (unlinkat(dir->fd, name, 0) == -1 && errno != ENOENT)
		return lc__error_sys(errno, "%s/%s: remove", dir->path, name);
	return LC_OK;
}

lc_status
lc__outdir_remove_sub(const struct lc__outdir *dir, const char *name)
{
	if (unlinkat(dir->fd, name, AT_REMOVEDIR) == -1 && errno != ENOENT &&
	    errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
		return lc__error_sys(errno, "%s/%s: remove", dir->path, name);
	return LC_OK;
}

lc_status
lc__outdir_rename(const struct lc__outdir *dir, const char *from, const char *to)
{
	if (renameat(dir->fd, from, dir->fd, to) == -1)
		return lc__error_sys(errno, "%s/%s: rename", dir->path, from);
	return LC_OK;
}

lc_status
lc__outdir_read(const struct lc__outdir *dir, const char *name, struct lc__buf *out)
{
	char *path = lc__path_join(dir->path, name);
	lc_status status;

	if (path == NULL)
		return lc__no_memory(dir->path);
	status = lc__read_regular(path, MANIFEST_LIMIT, out);
	free(path);
	return status;
}

lc_status
lc__outdir_write(const struct lc__outdir *dir, const char *name,
    const struct lc__buf *bytes)
{
	char *path = lc__path_join(dir->path, name);
	lc_status status;

	if (path == NULL)
		return lc__no_memory(dir->path);
	status = lc__write_file_atomic(path, bytes->data, bytes->size);
	free(path);
	return status;
}

lc_status
lc__outdir_append(const struct lc__outdir *dir, const char *name, const void *bytes,
    size_t size)
{
	char *path = lc__path_join(dir->path, name);
	lc_status status;
	int fd;

	if (path == NULL)
		return lc__no_memory(dir->path);
	fd = lc__openat(dir->fd, name, O_WRONLY | O_APPEND | O_NOFOLLOW);
	status = fd == -1 ? lc__error_sys(errno, "%s: open", path)
			  : lc__write_full(fd, bytes, size, path);
	if (status == LC_OK && fdatasync(fd) == -1)
		status = lc__error_sys(errno, "%s: sync", path);
	if (fd != -1)
		close(fd);
	free(path);
	return status;
}

void
lc__outdir_close(struct lc__outdir *dir)
{
	for (size_t i = 0; i < dir->n; i++)
		free(dir->files[i].name);
	free(dir->files);
	for (size_t i = 0; i < dir->n_subs; i++)
		free(dir->subs[i]);
	free(dir->subs);
	if (dir->fd != -1)
		close(dir->fd);
	*dir = (struct lc__outdir){ .fd = -1 };
}
