/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * data.mdb before LMDB opens it: may LMDB open the file, and was it completely
 * initialised? LMDB writes the first two pages at once and syncs them later: until then
 * each of their sectors may or may not be on the disk. Nothing else is written before
 * they are synced. So a file with parts of these two pages, and nothing more, was left by
 * a power failure and holds no data.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "env/env_private.h"
#include "env/locks.h"
#include "env/share.h"
#include "pages/page_layout.h"

/* ---- incomplete files ------------------------------------------------------------ */

static bool
all_zero(const unsigned char *bytes, size_t size)
{
	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* A meta page before the first transaction. */
static bool
is_first_meta(const unsigned char *page, uint64_t number)
{
	return lc__native64(page + PAGE_NUMBER) == number &&
	    lc__native16(page + PAGE_FLAGS) == PAGE_META &&
	    lc__native32(page + META_MAGIC) == PAGE_MAGIC &&
	    lc__native64(page + META_FREE_TREE + TREE_ROOT) == PAGE_NONE &&
	    lc__native64(page + META_MAIN_TREE + TREE_ROOT) == PAGE_NONE &&
	    lc__native64(page + META_TXNID) == 0;
}

static bool
is_unfinished(int fd)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *bytes = calloc(META_PAGES, page + 1);
	ssize_t n;
	bool good;

	if (bytes == NULL)
		return false;
	n = pread(fd, bytes, META_PAGES * page + 1, 0);
	good = n > 0 && (size_t)n <= META_PAGES * page;
	for (unsigned i = 0; i < META_PAGES && good; i++) {
		const unsigned char *at = bytes + i * page;

		good = all_zero(at + META_END, page - META_END) &&
		    (all_zero(at, META_END) || is_first_meta(at, i));
	}
	free(bytes);
	return good;
}

/* Empty the file, unless another process is initialising it. */
static lc_status
empty_unfinished(int fd, const char *dir)
{
	char *path = lc__path_join(dir, "lock.mdb");
	struct lc__pages_meta meta;
	lc_status status;
	int lock;

	if (path == NULL)
		return lc__no_memory(dir);
	status = lc__lockfile_prepare(path, true);
	/* With this lock no other process begins to initialise the file. Another process
	 * may have finished or emptied it before. */
	if (status == LC_OK)
		status = lc__lock_opening(fd, dir, false);
	if (status != LC_OK) {
		free(path);
		return status;
	}
	if (lc__pages_check_header(fd, dir, &meta) != LC_OK && is_unfinished(fd)) {
		lock = lc__lockfile_open(path);
		if (lock == -1)
			status = lc__error_sys(errno, "%s: open", path);
		else if (!lc__lockfile_lock(lock))
			status = lc__error(LC_BUSY, 0,
			    "%s: another process is creating it", dir);
		else if (ftruncate(fd, 0) == -1)
			status = lc__error_sys(errno, "%s/data.mdb: truncate", dir);
		if (lock != -1)
			close(lock);
	}
	lc__unlock_opening(fd);
	free(path);
	return status;
}

/* Is LMDB's lock file missing, or does no process have it open? */
static bool
is_unused(const char *lock_path)
{
	const int fd = lc__lockfile_open(lock_path);
	bool unused;

	if (fd == -1)
		return errno == ENOENT;
	unused = lc__lockfile_is_locked(fd) == 0;
	close(fd);
	return unused;
}

void
lc__datafile_remove_unfinished_locked(const char *data, const char *lock)
{
	const int fd = lc__open(data, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	bool nothing = fd == -1 && errno == ENOENT;
	struct lc__pages_meta meta;
	struct stat st;

	if (fd != -1) {
		/* Without a commit it has no data. */
		nothing = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    !lc__env_is_open_locked(&st) &&
		    (st.st_size == 0 || is_unfinished(fd) ||
			(lc__pages_check_header(fd, data, &meta) == LC_OK &&
			    meta.txnid == 0));
		close(fd);
	}
	if (nothing && is_unused(lock)) {
		(void)unlink(data);
		(void)unlink(lock);
	}
}

/* ---- before LMDB opens it ------------------------------------------------------------- */

/* A header that cannot be read is damaged, or the file is incomplete. */
static lc_status
check_header(int fd, const char *path, const char *dir, bool create,
    const struct stat *st)
{
	struct lc__pages_meta meta;
	const lc_status status = lc__pages_check_header(fd, path, &meta);

	if (status == LC_NOT_FOUND)
		return create ? LC_OK
			      : lc__error(LC_NOT_MODULE, 0,
				    "%s: an empty file, not a module", path);
	if ((status != LC_NOT_MODULE && status != LC_CORRUPT) ||
	    lc__env_is_open_locked(st) || !is_unfinished(fd))
		return status;
	return create ? empty_unfinished(fd, dir)
		      : lc__error(LC_NOT_MODULE, 0,
			    "%s: the creation of the module was interrupted", path);
}

lc_status
lc__datafile_prepare_locked(const char *dir, const lc_options *options, struct stat *st,
    bool *read_only)
{
	const bool want_write = !(options->flags & LC_RDONLY);
	const bool create = want_write && (options->flags & LC_CREATE);
	char *path = lc__path_join(dir, "data.mdb");
	lc_status status;
	int fd;

	if (path == NULL)
		return lc__no_memory(dir);
	*read_only = false;
	fd = lc__open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
	if (fd == -1 && errno == ENOENT && create) {
		/* If there is no room for its lock file, no data.mdb is left either. */
		status = lc__lockfile_prepare_in(dir, dir);
		if (status != LC_OK) {
			free(path);
			return status;
		}
		fd = lc__open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
		if (fd != -1)
			lc__share_new_path(path, fd);
	}
	if (fd == -1 && !want_write &&
	    (errno == EACCES || errno == EROFS || errno == EPERM)) {
		*read_only = true;
		fd = lc__open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	}
	if (fd == -1 && errno == ELOOP)
		status = lc__error(LC_NOT_MODULE, 0,
		    "%s: a symbolic link, which is not followed", path);
	else if (fd == -1 && (errno == EISDIR || errno == ENXIO))
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a regular file", path);
	else if (fd == -1 || fstat(fd, st) == -1)
		status = lc__error_sys(errno, "%s: open", path);
	else if (!S_ISREG(st->st_mode))
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a regular file", path);
	else
		status = check_header(fd, path, dir, create, st);
	if (fd != -1)
		close(fd);
	free(path);
	return status;
}
