/* SPDX-License-Identifier: BSD-2-Clause */
/* Does anybody have a module open? Asked without opening it, and without a new file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "env/env_private.h"

/* LMDB holds a read lock on the first byte of its lock file while it has it open. */
static lc_status
ask_lock(int fd, const char *dir)
{
	struct flock first_byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	if (fcntl(fd, F_GETLK, &first_byte) == 0 &&
	    first_byte.l_type != F_UNLCK)
		return lc__error(LC_BUSY, 0,
		    "%s: another process has the module open", dir);
	return LC_OK;
}

lc_status
lc__env_check_idle(const char *dir, const struct stat *data)
{
	lc_status status = LC_OK;
	char *path;
	int fd;

	/* To close the lock file of an environment that this process has open would
	 * give up its lock. */
	if (lc__env_is_open(data))
		return lc__error(LC_BUSY, 0, "%s: this process has the module open",
		    dir);
	path = lc__path_join(dir, "lock.mdb");
	if (path == NULL)
		return lc__no_memory(dir);
	fd = lc__open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd != -1) {
		status = ask_lock(fd, dir);
		close(fd);
	}
	free(path);
	return status;
}
