/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removing and renaming the directory of a module that no process has open. A process
 * that locks the directory exclusively and then finds lock.mdb not locked knows that no
 * process has the module open, and that none can open it before the lock is released
 * (env/locks.h). A process that waited for the lock to open the module then finds that
 * the name leads to another directory, and starts again: see lc__lock_directory().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "base/newfile.h"
#include "env/env.h"
#include "env/locks.h"

/* Files only: the engine creates no directories in it. */
static lc_status
check_files(const char *dir)
{
	const struct dirent *entry;
	struct lc__dir entries;
	lc_status status;

	return_if_error(lc__dir_open(dir, &entries));
	while ((status = lc__dir_next(&entries, &entry)) == LC_OK && entry != NULL &&
	    lc__dir_type(&entries, entry, false) != S_IFDIR)
		;
	if (status == LC_OK && entry != NULL)
		status = lc__error(LC_NOT_MODULE, 0,
		    "%s: contains the directory %s, which is not part of a module", dir,
		    entry->d_name);
	lc__dir_close(&entries);
	return status;
}

/* Lock a module's directory and make sure that no process has the module open. */
static lc_status
take_alone(const char *dir, int *lock)
{
	struct stat st;
	char *path;
	int fd;
	lc_status status;

	if (lstat(dir, &st) == -1)
		return lc__error_sys(errno, "%s: open", dir);
	if (!S_ISDIR(st.st_mode))
		return lc__error(LC_NOT_MODULE, 0, "%s: not a directory", dir);
	return_if_error(lc__lock_directory(dir, lock));
	path = lc__path_join(dir, "data.mdb");
	if (path == NULL)
		status = lc__no_memory(dir);
	else if (lstat(path, &st) == -1)
		status = errno == ENOENT
		    ? lc__error(LC_NOT_MODULE, 0,
			  "%s: has no data.mdb, so it is not a module", dir)
		    : lc__error_sys(errno, "%s: stat", path);
	else
		status = lc__env_check_idle(dir, &st);
	free(path);
	path = lc__path_join(dir, "lock.mdb");
	/* Without a lock file there is no process to ask for. */
	if (status == LC_OK && path != NULL) {
		fd = lc__open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
		if (fd == -1 && errno != ENOENT)
			status = lc__error_sys(errno, "%s: open", path);
		if (fd != -1)
			close(fd);
	}
	free(path);
	if (status == LC_OK)
		return LC_OK;
	lc__unlock_directory(*lock);
	return status;
}

static lc_status
remove_files(const char *dir)
{
	const struct dirent *entry;
	struct lc__dir entries;
	lc_status status;

	return_if_error(lc__dir_open(dir, &entries));
	while ((status = lc__dir_next(&entries, &entry)) == LC_OK && entry != NULL)
		if (unlinkat(entries.fd, entry->d_name, 0) == -1) {
			status = lc__error_sys(errno, "%s/%s: remove", dir,
			    entry->d_name);
			break;
		}
	lc__dir_close(&entries);
	if (status == LC_OK && rmdir(dir) == -1)
		status = lc__error_sys(errno, "%s: remove", dir);
	return status;
}

/* Rename the directory to ".NAME.dropped.XXXXXX": names of modules do not begin with a
 * dot. */
static lc_status
hide(const char *dir, char **hidden)
{
	const char *slash = strrchr(dir, '/');
	const char *name = slash != NULL ? slash + 1 : dir;
	int rc;

	if (asprintf(hidden, "%.*s.%s.dropped.XXXXXX", (int)(name - dir), dir, name) <
	    0) {
		*hidden = NULL;
		return lc__no_memory(dir);
	}
	do {
		lc__random_name(*hidden);
		rc = renameat2(AT_FDCWD, dir, AT_FDCWD, *hidden, RENAME_NOREPLACE);
	} while (rc == -1 && errno == EEXIST);
	return rc == 0 ? lc__sync_parent(dir) : lc__error_sys(errno, "%s: rename", dir);
}

lc_status
lc__env_remove(const char *dir)
{
	char *hidden = NULL;
	lc_status status;
	int lock;

	return_if_error(take_alone(dir, &lock));
	status = check_files(dir);
	if (status == LC_OK)
		status = hide(dir, &hidden);
	if (status == LC_OK)
		status = remove_files(hidden);
	lc__unlock_directory(lock);
	free(hidden);
	return status;
}

lc_status
lc__env_rename(const char *dir, const char *to)
{
	lc_status status;
	int lock;

	return_if_error(take_alone(dir, &lock));
	if (renameat2(AT_FDCWD, dir, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		status = lc__sync_parent(to);
	else if (errno == EEXIST || errno == ENOTEMPTY)
		status = lc__error(LC_EXISTS, 0, "%s: exists", to);
	else
		status = lc__error_sys(errno, "%s: rename", dir);
	lc__unlock_directory(lock);
	return status;
}
