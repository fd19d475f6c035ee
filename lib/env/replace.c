/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "env/lockfile.h"

/* LMDB holds a read lock on the first byte of its lock file while it has it open;
 * the write lock that this process gets instead says that no other process does. */
static lc_status
lock_first_byte(int fd, const char *name)
{
	const struct flock first_byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	if (fcntl(fd, F_SETLK, &first_byte) == 0)
		return LC_OK;
	if (errno == EAGAIN || errno == EACCES)
		return lc__error(LC_BUSY, 0,
		    "%s: another process has the module open", name);
	return lc__error_sys(errno, "%s: lock lock.mdb", name);
}

lc_status
lc__env_lock_others_out(const char *path, const char *name, int *out)
{
	char *lock = lc__path_join(path, "lock.mdb");
	lc_status status;

	if (lock == NULL)
		return lc__no_memory(name);
	status = lc__lockfile_prepare(lock, true);
	if (status == LC_OK)
		*out = lc__lockfile_open(lock);
	free(lock);
	return_if_error(status);
	if (*out == -1)
		return lc__error_sys(errno, "%s: open lock.mdb", name);
	return lock_first_byte(*out, name);
}

lc_status
lc__env_copy_owner(const struct stat *of, int fd, const char *path)
{
	if (fchown(fd, of->st_uid, of->st_gid) == -1 && errno != EPERM)
		return lc__error_sys(errno, "%s: chown", path);
	if (fchmod(fd, of->st_mode & 07777) == -1)
		return lc__error_sys(errno, "%s: chmod", path);
	return LC_OK;
}
