/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of an environment: of one that is in use, and one that replaces data.mdb. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "env/env_private.h"
#include "env/locks.h"

/*
 * LMDB begins the reader of a copy by itself, without the check of lc__mdb_begin_read():
 * mdb_txn_renew0() writes N into the reader's slot and then copies the two roots from the
 * meta page of N, which commit N + 2, or a later even one, may have overwritten by then.
 * Of liblmdb 0.9.24, compared with its machine code:
 * - A plain copy (mdb_env_copyfd0) ends that reader, takes the mutex of writers, and begins
 *   it again: its roots, and the meta pages that it copies, are of one commit.
 * - A compacting copy (mdb_env_copyfd1) takes no mutex. It is then a copy of the later
 *   commit, under the number 1 as always: the slot still says N, which keeps all pages of N
 *   and later from being reused. It walks the main tree alone. The tree of free pages and
 *   the last page give it the number of pages to come; if they are of another commit than
 *   the main tree, and the number is wrong, it fails at the end (MDB_INCOMPATIBLE), and the
 *   caller removes the copy. If the number is right all the same, so is the copy.
 * The 48 bytes of a root may be of two commits themselves. LMDB follows only the number of
 * its page, which is loaded at once, and the rest counts pages and entries.
 */
lc_status
lc__env_copy(struct lc__env *env, int fd, bool compact)
{
	lc_status status;
	int rc;

	lc__env_lock(env);
	status = lc__env_enter_locked(env);
	lc__env_unlock(env);
	return_if_error(status);
	rc = mdb_env_copyfd2(env->mdb, fd, compact ? MDB_CP_COMPACT : 0);
	lc__env_lock(env);
	lc__env_leave_locked(env);
	lc__env_unlock(env);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "copy");
}

lc_status
lc__copy_owner(const struct stat *of, int fd, const char *path)
{
	if (fchown(fd, of->st_uid, of->st_gid) == -1 && errno != EPERM)
		return lc__error_sys(errno, "%s: chown", path);
	if (fchmod(fd, of->st_mode & 07777) == -1)
		return lc__error_sys(errno, "%s: chmod", path);
	return LC_OK;
}

/* ---- shrinking: a copy without free pages replaces data.mdb --------------------------- */

/* Nobody else has the environment open, whose file is @p data. */
static lc_status
shrink_alone(struct lc__env *env, const char *data, struct stat *before,
    struct stat *after)
{
	struct lc__newfile copy;
	lc_status status;

	if (lstat(data, before) == -1)
		return lc__error_sys(errno, "%s: stat", data);
	return_if_error(lc__env_check_pages(env, NULL, NULL));
	lc__newfile_tidy(data);
	return_if_error(lc__newfile_open(data, 0600, &copy));
	status = lc__env_copy(env, copy.fd, true);
	if (status == LC_OK)
		status = lc__copy_owner(before, copy.fd, data);
	if (status == LC_OK && fstat(copy.fd, after) == -1)
		status = lc__error_sys(errno, "%s: stat", data);
	if (status == LC_OK)
		return lc__newfile_replace(&copy);
	lc__newfile_discard(&copy);
	return status;
}

lc_status
lc__env_shrink(const char *dir, const lc_options *options, uint64_t *bytes_before,
    uint64_t *bytes_after)
{
	struct lc__env *env = NULL;
	struct stat before, after;
	char *data = NULL;
	int dir_fd = -1, lock_fd = -1;
	lc_status status;

	return_if_error(lc__lock_directory(dir, &dir_fd));
	status = lc__env_open_alone(dir, options, &env);
	if (status == LC_OK)
		status = lc__lock_others_out(env->path, env->dir, &lock_fd);
	if (status == LC_OK) {
		data = lc__path_join(env->path, "data.mdb");
		status = data == NULL ? lc__no_memory("shrink")
				      : shrink_alone(env, data, &before, &after);
	}
	lc__env_close(env);
	/* Now: closing it gives up LMDB's lock of this process too. */
	if (lock_fd != -1)
		close(lock_fd);
	lc__unlock_directory(dir_fd);
	free(data);
	if (status == LC_OK) {
		*bytes_before = (uint64_t)before.st_size;
		*bytes_after = (uint64_t)after.st_size;
	}
	return status;
}
