/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/dirlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

static int
lock(int fd, int how)
{
	int rc;

	do
		rc = flock(fd, how);
	while (rc == -1 && errno == EINTR);
	return rc;
}

static lc_status
lock_alone(const char *dir, int fd)
{
	if (fd == -1)
		return lc__error_sys(errno, "%s: open", dir);
	if (lock(fd, LOCK_EX | LOCK_NB) == 0)
		return LC_OK;
	if (errno == EWOULDBLOCK)
		return lc__error(LC_BUSY, 0, "%s: somebody is opening the "
		    "module or rewrites it", dir);
	return lc__error_sys(errno, "%s: lock", dir);
}

/* Does the name still lead to what was locked? */
static bool
is_still(const char *dir, int fd)
{
	struct stat named, locked;

	return fd == -1 || (stat(dir, &named) == 0 && fstat(fd, &locked) == 0 &&
	    named.st_dev == locked.st_dev && named.st_ino == locked.st_ino);
}

static lc_status
lock_once(const char *dir, bool alone, int *out)
{
	int fd = lc__open(dir, O_RDONLY | O_DIRECTORY);

	if (alone) {
		const lc_status status = lock_alone(dir, fd);

		if (status != LC_OK) {
			lc__dir_unlock(fd);
			return status;
		}
	} else if (fd != -1 && lock(fd, LOCK_SH) == -1) {
		lc__dir_unlock(fd);
		fd = -1;
	}
	*out = fd;
	return LC_OK;
}

lc_status
lc__dir_lock(const char *dir, bool alone, int *out)
{
	/* While this waited, the directory may have been dropped or renamed. */
	for (int i = 0; i < 100; i++) {
		return_if_error(lock_once(dir, alone, out));
		if (is_still(dir, *out))
			return LC_OK;
		lc__dir_unlock(*out);
	}
	return lc__error(LC_BUSY, 0, "%s: is dropped and made again all the time", dir);
}

void
lc__dir_unlock(int fd)
{
	if (fd == -1)
		return;
	/* A child that was forked meanwhile has the descriptor too. */
	(void)lock(fd, LOCK_UN);
	close(fd);
}
