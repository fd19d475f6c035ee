/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"

#define RANDOM 6     /* random characters in the name */
#define ATTEMPTS 100 /* to find a name that is free */

/* ---- names ------------------------------------------------------------------------ */

void
lc__random_name(char *path)
{
	static const char letters[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	char *end = path + strlen(path) - RANDOM;
	unsigned char bytes[RANDOM];

	/* The six bytes come at once or, early in the start of the system, not at all:
	 * then the name is not random, but the file is still new. */
	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != sizeof(bytes))
		for (int i = 0; i < RANDOM; i++)
			bytes[i] = (unsigned char)(end[i] * 7 + getpid() + i);
	for (int i = 0; i < RANDOM; i++)
		end[i] = letters[bytes[i] % (sizeof(letters) - 1)];
}

int
lc__make_temporary(char *path, mode_t mode)
{
	int fd = -1;

	for (int i = 0; i < ATTEMPTS && fd == -1; i++) {
		lc__random_name(path);
		fd = lc__open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
		if (fd == -1 && errno != EEXIST) {
			const int sys = errno;

			/*
			 * The file may have been created although no descriptor was left
			 * for it.
			 */
			(void)unlink(path);
			errno = sys;
			break;
		}
	}
	return fd;
}

/* ---- files that appear whole ------------------------------------------------------ */

static void
release(struct lc__newfile *file)
{
	if (file->fd != -1)
		close(file->fd);
	free(file->path);
	free(file->temporary);
	*file = (struct lc__newfile)LC__NEWFILE_NONE;
}

/* How much of the path begins the temporary name: all of it, unless the last component
 * would become too long. */
static int
kept_size(const char *path)
{
	const char *slash = strrchr(path, '/');
	const size_t size = strlen(path),
		     dir = slash != NULL ? (size_t)(slash - path) + 1 : 0;
	const size_t most = dir + NAME_MAX - (sizeof(LC__NEWFILE_END) - 1);

	return (int)(size < most ? size : most);
}

lc_status
lc__newfile_open(const char *path, mode_t mode, struct lc__newfile *out)
{
	struct lc__newfile file = { .path = strdup(path), .fd = -1 };

	if (file.path == NULL ||
	    asprintf(&file.temporary, "%.*s" LC__NEWFILE_END, kept_size(path), path) <
		0) {
		free(file.path);
		return lc__no_memory(path);
	}
	file.fd = lc__make_temporary(file.temporary, mode);
	if (file.fd == -1) {
		const int sys = errno;

		release(&file);
		return lc__error_sys(sys, "%s: create", path);
	}
	(void)flock(file.fd, LOCK_EX | LOCK_NB);
	*out = file;
	return LC_OK;
}

lc_status
lc__newfile_move(struct lc__newfile *file, const char *path)
{
	char *copy = strdup(path);

	if (copy == NULL)
		return lc__no_memory(path);
	free(file->path);
	file->path = copy;
	return LC_OK;
}

/* Where the file system cannot rename without replacing, use a hard link. */
static lc_status
rename_if_free(const struct lc__newfile *file)
{
	struct stat st;

	if (renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path,
		RENAME_NOREPLACE) == 0)
		return LC_OK;
	if (errno == EINVAL || errno == ENOSYS) {
		if (link(file->temporary, file->path) == 0) {
			(void)unlink(file->temporary);
			return LC_OK;
		}
		/*
		 * The file system has neither: a file that appears at this moment is
		 * replaced.
		 */
		if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) {
			if (lstat(file->path, &st) == 0)
				errno = EEXIST;
			else if (errno == ENOENT &&
			    rename(file->temporary, file->path) == 0)
				return LC_OK;
		}
	}
	if (errno == EEXIST)
		return lc__error(LC_EXISTS, EEXIST, "%s", file->path);
	return lc__error_sys(errno, "%s: rename", file->path);
}

static lc_status
put_in_place(struct lc__newfile *file, bool replace)
{
	lc_status status = LC_OK;
	const int fd = file->fd;

	if (!file->unsynced && fsync(fd) == -1) {
		status = lc__error_sys(errno, "%s: fsync", file->path);
	} else {
		file->fd = -1;
		if (close(fd) == -1)
			status = lc__error_sys(errno, "%s: close", file->path);
	}
	if (status == LC_OK && !replace)
		status = rename_if_free(file);
	else if (status == LC_OK && rename(file->temporary, file->path) == -1)
		status = lc__error_sys(errno, "%s: rename", file->path);
	if (status != LC_OK) {
		(void)unlink(file->temporary);
	} else if (!file->unsynced) {
		status = lc__sync_parent(file->path);
		/* Undo an addition; a replaced file cannot be restored. */
		if (status != LC_OK && !replace)
			(void)unlink(file->path);
	}
	release(file);
	return status;
}

lc_status
lc__newfile_replace(struct lc__newfile *file)
{
	return put_in_place(file, true);
}

lc_status
lc__newfile_add(struct lc__newfile *file)
{
	return put_in_place(file, false);
}

void
lc__newfile_discard(struct lc__newfile *file)
{
	if (file->temporary == NULL)
		return;
	(void)unlink(file->temporary);
	release(file);
}

/* Is it a file without the lock of a living maker? */
static bool
is_abandoned(int dir, const char *name)
{
	const int fd = lc__openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	bool abandoned;

	if (fd == -1)
		return false;
	abandoned = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0;
	close(fd);
	return abandoned;
}

void
lc__newfile_tidy(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	char *parent = slash == NULL ? strdup(".")
				     : strndup(path, (size_t)(slash - path) + 1);
	const size_t size = (size_t)kept_size(name), end = sizeof(LC__NEWFILE_END) - 1;
	const lc_error kept = *lc_last_error();
	const struct dirent *entry;
	struct lc__dir dir;

	if (parent != NULL && lc__dir_open(parent, &dir) == LC_OK) {
		while (lc__dir_next(&dir, &entry) == LC_OK && entry != NULL)
			if (strlen(entry->d_name) == size + end &&
			    strncmp(entry->d_name, name, size) == 0 &&
			    strncmp(entry->d_name + size, LC__NEWFILE_END,
				end - RANDOM) == 0 &&
			    is_abandoned(dir.fd, entry->d_name))
				(void)unlinkat(dir.fd, entry->d_name, 0);
		lc__dir_close(&dir);
	}
	(void)lc__error_raise(&kept);
	free(parent);
}

/* ---- files that are written bit by bit -------------------------------------------- */

int
lc__is_special(const char *path)
{
	struct stat st;

	/* /dev/stdout may lead to a file, which is already open there. */
	if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0)
		return 1;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int
lc__open_to_write(const char *path, int append)
{
	if (lc__is_special(path))
		return lc__open(path, O_WRONLY | (append ? O_APPEND : 0));
	if (append)
		return lc__open(path,
		    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0666);
	if (unlink(path) == -1 && errno != ENOENT)
		return -1;
	return lc__open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
}
