/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/listdir.h"

#define LOCK "lock.mdb"

/* Modes by lc_share. All readers write lock.mdb. */
static const mode_t dir_modes[] = { 0700, 02770, 02775 };
static const mode_t file_modes[] = { 0600, 0660, 0664 };
static const mode_t lock_modes[] = { 0600, 0660, 0666 };

static mode_t
mode_of(const char *name, lc_share share)
{
	return strcmp(name, LOCK) == 0 ? lock_modes[share] : file_modes[share];
}

static bool
has(const struct stat *st, mode_t bits)
{
	return (st->st_mode & bits) == bits;
}

/* ---- reading ------------------------------------------------------------------- */

static lc_status
look(int dir, const char *name, const char *path, struct stat *st)
{
	if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0)
		return LC_OK;
	return lc__error_sys(errno, "%s/%s: stat", path, name);
}

lc_status
lc__share_read(const char *path, lc_share *out)
{
	const int dir = lc__open(path, O_RDONLY | O_DIRECTORY);
	struct stat d, data, lock;
	lc_status status;

	if (dir == -1)
		return lc__error_sys(errno, "%s: open", path);
	status = look(dir, ".", path, &d);
	if (status == LC_OK)
		status = look(dir, "data.mdb", path, &data);
	/* It is created when it is needed. */
	if (status == LC_OK && fstatat(dir, LOCK, &lock, AT_SYMLINK_NOFOLLOW) == -1)
		lock.st_mode = has(&d, S_ISGID | S_IWGRP)
		    ? lock_modes[has(&d, 0005) ? LC_SHARE_ALL : LC_SHARE_GROUP]
		    : 0;
	close(dir);
	return_if_error(status);
	*out = LC_SHARE_OWNER;
	if (has(&d, 0050) && has(&data, 0040) && has(&lock, 0060))
		*out = LC_SHARE_GROUP;
	if (has(&d, 0005) && has(&data, 0004) && has(&lock, 0006))
		*out = LC_SHARE_ALL;
	return LC_OK;
}

/* ---- changing ------------------------------------------------------------------ */

/* The group may write the directory: do not follow a link that a member puts there. An
 * O_PATH descriptor ensures that, and closing it keeps the locks that this process has on
 * lock.mdb and data.mdb. */
static lc_status
change_file(int dir, const char *name, const char *path, lc_share share)
{
	const int fd = lc__openat(dir, name, O_PATH | O_NOFOLLOW);
	lc_status status = LC_OK;
	struct stat st;
	char self[40];

	if (fd == -1)
		return errno == ENOENT ? LC_OK
				       : lc__error_sys(errno, "%s/%s: open", path, name);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
	    chmod(self, mode_of(name, share)) == -1)
		status = lc__error_sys(errno, "%s/%s: chmod", path, name);
	close(fd);
	return status;
}

lc_status
lc__share_write(const char *path, lc_share share)
{
	const struct dirent *entry;
	lc_status status = LC_OK;
	struct lc__dir dir;
	struct stat st;

	return_if_error(lc__dir_open(path, &dir));
	/* The directory first: if that is refused, nothing else is changed. For a user
	 * who is not in the group the system drops the bit without an error. */
	if (fchmod(dir.fd, dir_modes[share]) == -1)
		status = lc__error_sys(errno, "%s: chmod", path);
	else if (fstat(dir.fd, &st) == 0 && share != LC_SHARE_OWNER && !has(&st, S_ISGID))
		status = lc__error(LC_PERMISSION, 0,
		    "%s: this user is not in its group; change the group first (chgrp -R)",
		    path);
	while (status == LC_OK && (status = lc__dir_next(&dir, &entry)) == LC_OK &&
	    entry != NULL)
		status = change_file(dir.fd, entry->d_name, path, share);
	lc__dir_close(&dir);
	return status;
}

void
lc__share_copy(const char *from, const char *to)
{
	struct stat st;

	if (stat(from, &st) == 0 && has(&st, S_ISGID | S_IWGRP))
		(void)chmod(to,
		    dir_modes[has(&st, 0005) ? LC_SHARE_ALL : LC_SHARE_GROUP]);
}

/* ---- new files ----------------------------------------------------------------- */

void
lc__share_new_file(const char *dir, int fd, const char *name)
{
	struct stat st;

	if (stat(dir, &st) == 0 && has(&st, S_ISGID | S_IWGRP))
		(void)fchmod(fd,
		    mode_of(name, has(&st, 0005) ? LC_SHARE_ALL : LC_SHARE_GROUP));
}

void
lc__share_new_path(const char *path, int fd)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash == NULL
	    ? strdup(".")
	    : strndup(path, slash == path ? 1 : (size_t)(slash - path));

	if (dir != NULL)
		lc__share_new_file(dir, fd, slash == NULL ? path : slash + 1);
	free(dir);
}
