/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data files whose making a loss of power cut off. LMDB writes its two first pages at
 * once and syncs them later: until then each of their sectors may be on the disk or
 * not. Nothing else is written before they are synced, so that a file like this holds
 * nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "env/env_private.h"
#include "env/lockfile.h"
#include "pages/page_layout.h"
#include "pages/pages.h"

static bool
all_zero(const unsigned char *bytes, size_t size)
{
	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* A meta page as it is before the first transaction. */
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

bool
lc__env_is_unfinished(int fd)
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

/* Nobody holds LMDB's lock on the lock file, which it takes before anything else. */
static bool
lock_alone(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	return fcntl(fd, F_SETLK, &lock) == 0;
}

/* With the lock of openers: nobody else is making the file now. One who did may have
 * finished it, or emptied it. */
static lc_status
empty(int fd, const char *lock_path, const char *dir)
{
	struct lc__pages_meta meta;
	lc_status status = LC_OK;
	int lock;

	if (lc__pages_check_header(fd, dir, &meta) == LC_OK || !lc__env_is_unfinished(fd))
		return LC_OK;
	lock = lc__lockfile_open(lock_path);
	if (lock == -1)
		return lc__error_sys(errno, "%s: open", lock_path);
	if (!lock_alone(lock))
		status = lc__error(LC_BUSY, 0, "%s: is being made", dir);
	else if (ftruncate(fd, 0) == -1)
		status = lc__error_sys(errno, "%s/data.mdb: truncate", dir);
	close(lock);
	return status;
}

lc_status
lc__env_empty_unfinished(int fd, const char *dir)
{
	char *path = lc__path_join(dir, "lock.mdb");
	lc_status status;

	if (path == NULL)
		return lc__no_memory(dir);
	status = lc__lockfile_prepare(path, true);
	if (status == LC_OK) {
		lc__env_lock_opening(fd);
		status = empty(fd, path, dir);
		lc__env_unlock_opening(fd);
	}
	free(path);
	return status;
}
