/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/input_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "env/share.h"
#include "store/module.h"

#define FILE_NAME "inputs.lock"

void
lc__input_locks_init(struct lc__input_locks *locks)
{
	*locks = (struct lc__input_locks){ .fd = -1 };
}

void
lc__input_locks_free(struct lc__input_locks *locks)
{
	if (locks->fd != -1)
		close(locks->fd);
	free(locks->held);
	lc__input_locks_init(locks);
}

/* Closing the descriptor here is harmless: the locks belong to the parent process. */
void
lc__input_locks_after_fork(struct lc__input_locks *locks)
{
	lc__input_locks_free(locks);
}

/* ---- the file ------------------------------------------------------------- */

/* Check what was opened, with errno set if @p fd is -1; close it unless it is a regular
 * file. */
static lc_status
check_regular(int fd, const char *path)
{
	struct stat st;

	if (fd == -1 && errno == ELOOP)
		return lc__error(LC_NOT_MODULE, 0,
		    "%s: a symbolic link, which is not followed; remove it", path);
	if (fd == -1 && errno != EISDIR && errno != ENXIO)
		return lc__error_sys(errno, "%s: open", path);
	if (fd != -1 && fstat(fd, &st) == -1) {
		const int rc = errno;

		close(fd);
		return lc__error_sys(rc, "%s: stat", path);
	}
	if (fd != -1 && S_ISREG(st.st_mode))
		return LC_OK;
	if (fd != -1)
		close(fd);
	return lc__error(LC_NOT_MODULE, 0, "%s: not a regular file", path);
}

/* Open the file, to lock or only to query it. A descriptor opened read-only holds no
 * locks, so it may be closed. LC_NO_FILE, without an error, if the file was never needed
 * and this is a query. */
static lc_status
open_file(struct lc__env *env, bool to_lock)
{
	struct lc__input_locks *locks = &lc__module_of(env)->locks;
	lc_status status;
	char *path;
	int fd;

	if (to_lock ? locks->writable : locks->fd != -1)
		return LC_OK;
	path = lc__path_join(lc__env_path(env), FILE_NAME);
	if (path == NULL)
		return lc__no_memory("inputs");
	if (to_lock)
		fd = lc__open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
	else
		fd = lc__open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	if (fd == -1 && errno == ENOENT && !to_lock)
		status = LC_NO_FILE;
	else
		status = check_regular(fd, path);
	if (status == LC_OK && to_lock)
		lc__share_new_path(path, fd);
	free(path);
	if (status != LC_OK)
		return status;
	if (locks->fd != -1)
		close(locks->fd);
	locks->fd = fd;
	locks->writable = to_lock;
	return LC_OK;
}

/* @p n bytes from @p first on; 0 means all bytes. */
static struct flock
range(short type, uint64_t first, uint64_t n)
{
	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)first,
		.l_len = (off_t)n,
	};
}

static lc_status
lock(struct lc__env *env, uint64_t first, uint64_t n, const char *what)
{
	struct lc__input_locks *locks = &lc__module_of(env)->locks;
	struct flock take = range(F_WRLCK, first, n);

	return_if_error(open_file(env, true));
	if (fcntl(locks->fd, F_SETLK, &take) == 0)
		return LC_OK;
	if (errno != EAGAIN && errno != EACCES)
		return lc__error_sys(errno, "%s: lock of %s", lc__env_dir(env), what);
	take = range(F_WRLCK, first, n);
	if (fcntl(locks->fd, F_GETLK, &take) == -1 || take.l_type == F_UNLCK)
		take.l_pid = 0;
	return lc__error(LC_BUSY, 0, "%s: %s: process %ld is writing it",
	    lc__env_dir(env), what, (long)take.l_pid);
}

static void
unlock(struct lc__env *env, uint64_t first, uint64_t n)
{
	const struct flock drop = range(F_UNLCK, first, n);

	(void)fcntl(lc__module_of(env)->locks.fd, F_SETLK, &drop);
}

/* ---- one input ------------------------------------------------------------ */

lc_status
lc__input_lock(struct lc__env *env, uint32_t input, const char *name)
{
	struct lc__input_locks *locks = &lc__module_of(env)->locks;
	lc_status status;
	size_t before;

	lc__env_lock(env);
	before = locks->room;
	status = lc__array_reserve(&locks->held, &locks->room, (size_t)input + 1,
	    "inputs");
	if (status == LC_OK) {
		memset(locks->held + before, 0, locks->room - before);
		if (locks->all || locks->held[input])
			status = lc__error(LC_BUSY, 0,
			    "%s: %s: this process is writing it", lc__env_dir(env), name);
		else
			status = lock(env, input, 1, name);
	}
	if (status == LC_OK) {
		locks->held[input] = 1;
		locks->count++;
	}
	lc__env_unlock(env);
	return status;
}

void
lc__input_unlock(struct lc__env *env, uint32_t input)
{
	struct lc__input_locks *locks = &lc__module_of(env)->locks;

	lc__env_lock(env);
	if (input < locks->room && locks->held[input]) {
		unlock(env, input, 1);
		locks->held[input] = 0;
		locks->count--;
	}
	lc__env_unlock(env);
}

/* ---- all inputs ----------------------------------------------------------- */

lc_status
lc__input_lock_all(struct lc__env *env, const char *operation)
{
	struct lc__input_locks *locks = &lc__module_of(env)->locks;
	lc_status status;

	lc__env_lock(env);
	if (locks->all || locks->count > 0)
		status = lc__error(LC_BUSY, 0,
		    "%s: %s: this process is writing some of its inputs",
		    lc__env_dir(env), operation);
	else
		status = lock(env, 0, 0, operation);
	if (status == LC_OK)
		locks->all = true;
	lc__env_unlock(env);
	return status;
}

void
lc__input_unlock_all(struct lc__env *env)
{
	lc__env_lock(env);
	unlock(env, 0, 0);
	lc__module_of(env)->locks.all = false;
	lc__env_unlock(env);
}

/* ---- querying -------------------------------------------------------------------- */

/* Record which of [first, end) other processes hold. The system reports one lock at a
 * time, in any order: ask again before and after it. */
static lc_status
ask(struct lc__env *env, uint64_t first, uint64_t end, unsigned char *held)
{
	while (first < end) {
		struct flock found = range(F_WRLCK, first, end - first);
		uint64_t from, to;

		if (fcntl(lc__module_of(env)->locks.fd, F_GETLK, &found) == -1)
			return lc__error_sys(errno, "%s: " FILE_NAME, lc__env_dir(env));
		if (found.l_type == F_UNLCK)
			return LC_OK;
		from = (uint64_t)found.l_start < first ? first : (uint64_t)found.l_start;
		to = found.l_len == 0 ? end
				      : (uint64_t)found.l_start + (uint64_t)found.l_len;
		if (to > end)
			to = end;
		/* The system reported a lock outside the range that was asked for. */
		if (from >= to)
			return LC_OK;
		memset(held + from, 1, to - from);
		return_if_error(ask(env, first, from, held));
		first = to;
	}
	return LC_OK;
}

lc_status
lc__input_locks_list(struct lc__env *env, uint32_t n, unsigned char *held)
{
	const struct lc__input_locks *locks = &lc__module_of(env)->locks;
	lc_status status;

	lc__env_lock(env);
	status = open_file(env, false);
	if (status == LC_OK)
		status = ask(env, 0, n, held);
	else if (status == LC_NO_FILE)
		status = LC_OK;
	for (uint32_t i = 0; i < n && status == LC_OK; i++)
		if (locks->all || (i < locks->room && locks->held[i]))
			held[i] = 1;
	lc__env_unlock(env);
	return status;
}
