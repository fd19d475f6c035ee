/* SPDX-License-Identifier: BSD-2-Clause */
#include "migrate/backup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/newfile.h"

#define STEP ((size_t)1 << 20)

enum found { NOTHING, ITSELF, ANOTHER };

/* What is under a name is known, or an error: a file is not replaced on a guess. */
static lc_status
look(const char *file, const char *name, enum found *out)
{
	struct stat a, b;

	if (lstat(name, &b) == -1) {
		*out = NOTHING;
		return errno == ENOENT ? LC_OK : lc__error_sys(errno, "%s: stat", name);
	}
	if (stat(file, &a) == -1)
		return lc__error_sys(errno, "%s: stat", file);
	*out = a.st_dev == b.st_dev && a.st_ino == b.st_ino ? ITSELF : ANOTHER;
	return LC_OK;
}

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static lc_status
find_dir(const char *path, struct stat *out)
{
	const size_t size = (size_t)(last_part(path) - path);
	char *dir = size > 0 ? strndup(path, size) : strdup(".");
	lc_status status = LC_OK;

	if (dir == NULL)
		return lc__no_memory(path);
	if (stat(dir, out) == -1)
		status = lc__error_sys(errno, "%s: stat", dir);
	free(dir);
	return status;
}

/* Names, not files: another link to the file is a backup. */
static lc_status
check_name(const char *wanted, const char *taken)
{
	struct stat a, b;

	if (strcmp(last_part(wanted), last_part(taken)) != 0)
		return LC_OK;
	return_if_error(find_dir(wanted, &a));
	return_if_error(find_dir(taken, &b));
	if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return LC_OK;
	return lc__error(LC_INVALID, 0, "%s: the backup needs a name of its own", wanted);
}

lc_status
lc__backup_check(const char *wanted, const char *file, const char *temporary)
{
	if (wanted == NULL)
		return LC_OK;
	return_if_error(check_name(wanted, file));
	return check_name(wanted, temporary);
}

bool
lc__backup_name(const char *file, unsigned stage, unsigned n, char *out, size_t room)
{
	const int size = n == 1
	    ? snprintf(out, room, "%s.stage%u.backup", file, stage)
	    : snprintf(out, room, "%s.stage%u.backup.%u", file, stage, n);

	return size >= 0 && (size_t)size < room;
}

lc_status
lc__backup_choose(const char *file, unsigned stage, const char *wanted, char *out,
    size_t room)
{
	enum found found;
	bool fits;

	for (unsigned n = 1;; n++) {
		fits = wanted == NULL ? lc__backup_name(file, stage, n, out, room)
				      : (size_t)snprintf(out, room, "%s", wanted) < room;
		if (!fits)
			return lc__error(LC_INVALID, 0,
			    "%s: the backup's name is too long", file);
		return_if_error(look(file, out, &found));
		if (found != ANOTHER)
			return LC_OK;
		if (wanted != NULL)
			return lc__error(LC_EXISTS, 0,
			    "%s: it is there, and is no backup of this migration",
			    wanted);
	}
}

/* Without an offset to seek to: the caller goes on reading elsewhere. */
static lc_status
copy_step(int from, const char *from_path, uint64_t at, size_t want, char *bytes, int to,
    const char *to_path, size_t *got)
{
	ssize_t n;

	do
		n = pread(from, bytes, want, (off_t)at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return lc__error_sys(errno, "%s: read", from_path);
	if (n == 0)
		return lc__error(LC_CHANGED, 0, "%s: it became shorter", from_path);
	*got = (size_t)n;
	return lc__write_full(to, bytes, (size_t)n, to_path);
}

lc_status
lc__backup_copy(int from, const char *from_path, uint64_t size, int to,
    const char *to_path)
{
	char *bytes = malloc(STEP);
	lc_status status = LC_OK;
	size_t got;

	if (bytes == NULL)
		return lc__no_memory(to_path);
	for (uint64_t at = 0; at < size && status == LC_OK; at += got) {
		got = 0;
		status = copy_step(from, from_path, at,
		    size - at < STEP ? (size_t)(size - at) : STEP, bytes, to, to_path,
		    &got);
	}
	free(bytes);
	return status;
}

static lc_status
copy_open(int from, const char *file, struct lc__newfile *to)
{
	struct stat st;

	if (fstat(from, &st) == -1)
		return lc__error_sys(errno, "%s: stat", file);
	return_if_error(
	    lc__backup_copy(from, file, (uint64_t)st.st_size, to->fd, to->path));
	if (fchmod(to->fd, st.st_mode & 07777) == -1)
		return lc__error_sys(errno, "%s: mode", to->path);
	return LC_OK;
}

static lc_status
copy(const char *file, const char *backup)
{
	struct lc__newfile to = LC__NEWFILE_NONE;
	lc_status status;
	int from;

	return_if_error(lc__open_regular(file, &from));
	status = lc__newfile_open(backup, 0600, &to);
	if (status == LC_OK)
		status = copy_open(from, file, &to);
	close(from);
	if (status == LC_OK)
		return lc__newfile_replace(&to);
	lc__newfile_discard(&to);
	return status;
}

lc_status
lc__backup_make(const char *file, const char *backup)
{
	enum found found;

	return_if_error(look(file, backup, &found));
	if (found == NOTHING && link(file, backup) == -1) {
		/* No links there, or another file system, or too many of them. */
		if (errno == ENOENT)
			return lc__error_sys(errno, "%s: link", backup);
		return_if_error(copy(file, backup));
	}
	return lc__sync_parent(backup);
}
