/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "env/env_private.h"
#include "env/share.h"

static int
lock_file(int fd, int how)
{
	int rc;

	do
		rc = flock(fd, how);
	while (rc == -1 && errno == EINTR);
	return rc;
}

static lc_status
being_opened(const char *dir)
{
	return lc__error(LC_TIMEOUT, 0,
	    "%s: another process is opening or rewriting the module", dir);
}

/* No system call waits for a file lock with a deadline. */
lc_status
lc__lock_pause(const char *dir, uint64_t deadline)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	if (deadline != UINT64_MAX && lc__clock_ns() >= deadline)
		return being_opened(dir);
	(void)nanosleep(&pause, NULL);
	return LC_OK;
}

/* ---- the directory --------------------------------------------------------------- */

/* Does the name still lead to the directory that was locked? */
static bool
is_same(const char *dir, int fd)
{
	struct stat named, locked;

	return fd == -1 ||
	    (stat(dir, &named) == 0 && fstat(fd, &locked) == 0 &&
		named.st_dev == locked.st_dev && named.st_ino == locked.st_ino);
}

static lc_status
lock_exclusively(const char *dir, int *out)
{
	*out = lc__open(dir, O_RDONLY | O_DIRECTORY);
	if (*out == -1)
		return lc__error_sys(errno, "%s: open", dir);
	if (lock_file(*out, LOCK_EX | LOCK_NB) == 0)
		return LC_OK;
	return errno == EWOULDBLOCK
	    ? lc__error(LC_BUSY, 0,
		  "%s: another process is opening or rewriting the module", dir)
	    : lc__error_sys(errno, "%s: lock", dir);
}

static lc_status
lock_shared(const char *dir, uint64_t deadline, int *out)
{
	*out = lc__open(dir, O_RDONLY | O_DIRECTORY);
	while (*out != -1 && lock_file(*out, LOCK_SH | LOCK_NB) == -1) {
		if (errno == EWOULDBLOCK) {
			return_if_error(lc__lock_pause(dir, deadline));
			continue;
		}
		lc__unlock_directory(*out);
		*out = -1;
	}
	return LC_OK;
}

static lc_status
lock_directory(const char *dir, bool shared, uint64_t deadline, int *out)
{
	/* While this waited, the directory may have been dropped or renamed. */
	for (int i = 0; i < 100; i++) {
		int fd;
		const lc_status status = shared ? lock_shared(dir, deadline, &fd)
						: lock_exclusively(dir, &fd);

		if (status == LC_OK && is_same(dir, fd)) {
			*out = fd;
			return LC_OK;
		}
		lc__unlock_directory(fd);
		return_if_error(status);
	}
	return lc__error(LC_BUSY, 0, "%s: keeps being dropped and created", dir);
}

lc_status
lc__lock_directory(const char *dir, int *out)
{
	return lock_directory(dir, false, 0, out);
}

lc_status
lc__lock_directory_shared(const char *dir, uint64_t deadline, int *out)
{
	return lock_directory(dir, true, deadline, out);
}

void
lc__unlock_directory(int fd)
{
	if (fd == -1)
		return;
	/* A child that was forked meanwhile has the descriptor too, so closing is not
	 * enough. */
	(void)lock_file(fd, LOCK_UN);
	close(fd);
}

/* ---- data.mdb -------------------------------------------------------------------- */

/*
 * LMDB locks lock.mdb exclusively while it initialises the table there, and shared from
 * then on. A process that waits for the shared lock assumes that the table is
 * initialised, even if the process that was doing so died: writers would start again at
 * transaction 1, with mutexes that no process initialised. So no process may wait inside
 * LMDB: each holds this lock while it opens.
 */
lc_status
lc__lock_opening(int fd, const char *dir, bool wait)
{
	if (lock_file(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) == -1 && errno == EWOULDBLOCK)
		return being_opened(dir);
	return LC_OK;
}

void
lc__unlock_opening(int fd)
{
	/* A child that was forked meanwhile has the descriptor too, so closing is not
	 * enough. */
	(void)lock_file(fd, LOCK_UN);
}

/* ---- lock.mdb: its space --------------------------------------------------------- */

/* LMDB needs a slot of 64 bytes for each reader, and some hundred bytes before them. A
 * file larger than the slots has once had the length that LMDB gives it. */
#define SLOTS ((off_t)LC__MAX_READERS * 64)
#define WANTED (SLOTS + 4096)

#define MAGIC 0xbeefc0deU /* its first four bytes */

/* LMDB's ftruncate() would raise SIGXFSZ. */
static bool
is_beyond_limit(off_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < (rlim_t)size;
}

/* The size stays: LMDB derives the number of slots from it, and other processes may have
 * mapped the file. */
static int
reserve(int fd, off_t size)
{
	int rc;

	do
		rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size);
	while (rc == -1 && errno == EINTR);
	return rc;
}

static bool
is_unsupported(int sys)
{
	return sys == EOPNOTSUPP || sys == ENOSYS || sys == EINVAL;
}

/* Allocate the missing space of a file that LMDB has extended or will extend. If the file
 * system cannot do that, a file that others may use must not be touched. */
static lc_status
fill_holes(int fd, const struct stat *st, const char *path)
{
	const off_t size = st->st_size > SLOTS ? st->st_size : WANTED;

	if (st->st_size <= SLOTS && is_beyond_limit(WANTED))
		return lc__error_sys(EFBIG, "%s: allocate", path);
	if (st->st_size > SLOTS && (off_t)st->st_blocks * 512 >= size)
		return LC_OK;
	if (reserve(fd, size) == -1 && !is_unsupported(errno))
		return lc__error_sys(errno, "%s: allocate", path);
	return LC_OK;
}

static lc_status
write_zeros(int fd, off_t size, const char *path)
{
	char *zeros = calloc(1, (size_t)size);
	lc_status status;

	if (zeros == NULL)
		return lc__no_memory(path);
	status = lc__write_full(fd, zeros, (size_t)size, path);
	free(zeros);
	return status;
}

/* ---- lock.mdb: the file ---------------------------------------------------------- */

/* Readers write to it too, to register their snapshots. */
static lc_status
refused(int sys, const char *path)
{
	if (sys == EROFS)
		return LC_OK;
	if (sys == ELOOP)
		return lc__error(LC_NOT_MODULE, 0,
		    "%s: a symbolic link, which is not followed; remove it", path);
	if (sys == EACCES || sys == EPERM)
		return lc__error(LC_PERMISSION, sys,
		    "%s: readers write to it as well; "
		    "let this user do so (chmod), or read a copy of the module",
		    path);
	return lc__error_sys(sys, "%s: open", path);
}

/* The file is not visible before it has its space: nothing is left to clean up. */
static lc_status
make(const char *path)
{
	struct lc__newfile file;
	lc_status status;

	if (is_beyond_limit(WANTED))
		return lc__error_sys(EFBIG, "%s: allocate", path);
	status = lc__newfile_open(path, 0666, &file);
	if (status == LC_NO_MEMORY)
		return status;
	if (status != LC_OK)
		return refused(lc_last_error()->sys, path);
	file.unsynced = true;
	lc__share_new_path(path, file.fd);
	if (reserve(file.fd, WANTED) == -1)
		status = is_unsupported(errno)
		    ? write_zeros(file.fd, WANTED, path)
		    : lc__error_sys(errno, "%s: allocate", path);
	if (status != LC_OK) {
		lc__newfile_discard(&file);
		return status;
	}
	status = lc__newfile_add(&file);
	/* Another process created it meanwhile, with space. */
	return status == LC_EXISTS ? LC_OK : status;
}

int
lc__lockfile_open(const char *path)
{
	return lc__open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
}

/* LMDB overwrites the file whatever it is: make sure that it is not a hard link to
 * another file. */
static bool
is_foreign(int fd, const struct stat *st)
{
	uint32_t magic;

	return st->st_nlink > 1 && st->st_size > 0 &&
	    (pread(fd, &magic, sizeof(magic), 0) != sizeof(magic) ||
		(magic != MAGIC && magic != 0));
}

lc_status
lc__lockfile_prepare(const char *path, bool create)
{
	const int fd = lc__lockfile_open(path);
	struct stat st;
	lc_status status;

	if (fd == -1 && errno == ENOENT && create)
		return make(path);
	if (fd == -1 && (errno == EISDIR || errno == ENXIO))
		return lc__error(LC_NOT_MODULE, 0, "%s: not a regular file", path);
	if (fd == -1)
		return refused(errno, path);
	if (fstat(fd, &st) == -1)
		status = lc__error_sys(errno, "%s: stat", path);
	else if (!S_ISREG(st.st_mode))
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a regular file", path);
	else if (is_foreign(fd, &st))
		status = lc__error(LC_NOT_MODULE, 0,
		    "%s: a hard link to a file that is not a lock file; remove it", path);
	else
		status = fill_holes(fd, &st, path);
	close(fd);
	return status;
}

lc_status
lc__lockfile_prepare_in(const char *path, const char *name)
{
	char *lock = lc__path_join(path, "lock.mdb");
	lc_status status;

	if (lock == NULL)
		return lc__no_memory(name);
	status = lc__lockfile_prepare(lock, true);
	free(lock);
	return status;
}

/* ---- lock.mdb: its lock ---------------------------------------------------------- */

static const struct flock first_byte = {
	.l_type = F_WRLCK,
	.l_whence = SEEK_SET,
	.l_len = 1,
};

bool
lc__lockfile_lock(int fd)
{
	return fcntl(fd, F_SETLK, &first_byte) == 0;
}

int
lc__lockfile_is_locked(int fd)
{
	struct flock lock = first_byte;

	return fcntl(fd, F_GETLK, &lock) == -1 ? -1 : lock.l_type != F_UNLCK;
}

void
lc__lockfile_wait_for_dying(const char *path)
{
	struct flock lock = first_byte;
	char *name = lc__path_join(path, "lock.mdb");
	const int fd = name != NULL ? lc__open(name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
				    : -1;
	int rc;

	free(name);
	if (fd == -1)
		return;
	lock.l_type = F_RDLCK;
	do
		rc = fcntl(fd, F_SETLKW, &lock);
	while (rc == -1 && errno == EINTR);
	close(fd);
}

lc_status
lc__lock_others_out(const char *path, const char *name, int *out)
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
	if (lc__lockfile_lock(*out))
		return LC_OK;
	if (errno == EAGAIN || errno == EACCES)
		return lc__error(LC_BUSY, 0, "%s: another process has the module open",
		    name);
	return lc__error_sys(errno, "%s: lock lock.mdb", name);
}

/* ---- does a process have a module open ------------------------------------------- */

lc_status
lc__env_check_idle(const char *dir, const struct stat *data)
{
	lc_status status = LC_OK;
	char *path;
	int fd;

	/* If this process has the environment open, closing its lock file would release
	 * the lock. */
	if (lc__env_is_open(data))
		return lc__error(LC_BUSY, 0, "%s: this process has the module open", dir);
	path = lc__path_join(dir, "lock.mdb");
	if (path == NULL)
		return lc__no_memory(dir);
	fd = lc__open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	free(path);
	if (fd != -1 && lc__lockfile_is_locked(fd) == 1)
		status = lc__error(LC_BUSY, 0, "%s: another process has the module open",
		    dir);
	if (fd != -1)
		close(fd);
	return status;
}
