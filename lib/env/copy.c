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

/* The files of a module that is being shrunk. */
struct shrink {
	struct lc__env *env;
	char *data; /* data.mdb */
	struct stat before, after;
};

static lc_status
fill_copy(struct shrink *s, int fd)
{
	return_if_error(lc__env_copy(s->env, fd, true));
	return_if_error(lc__copy_owner(&s->before, fd, s->data));
	if (fstat(fd, &s->after) == -1)
		return lc__error_sys(errno, "%s: stat", s->data);
	return LC_OK;
}

static lc_status
shrink_alone(struct shrink *s)
{
	struct lc__newfile copy;
	lc_status status;

	s->data = lc__path_join(s->env->path, "data.mdb");
	if (s->data == NULL)
		return lc__no_memory("shrink");
	if (lstat(s->data, &s->before) == -1)
		return lc__error_sys(errno, "%s: stat", s->data);
	return_if_error(lc__env_check_pages(s->env, NULL, NULL));
	lc__newfile_tidy(s->data);
	return_if_error(lc__newfile_open(s->data, 0600, &copy));
	status = fill_copy(s, copy.fd);
	if (status == LC_OK)
		return lc__newfile_replace(&copy);
	lc__newfile_discard(&copy);
	return status;
}

lc_status
lc__env_shrink(const char *dir, const lc_options *options, uint64_t *bytes_before,
    uint64_t *bytes_after)
{
	struct shrink s = { .env = NULL };
	int dir_fd = -1, lock_fd = -1;
	lc_status status;

	return_if_error(lc__lock_directory(dir, true, &dir_fd));
	status = lc__env_open_alone(dir, options, &s.env);
	if (status == LC_OK)
		status = lc__lock_others_out(s.env->path, s.env->dir, &lock_fd);
	if (status == LC_OK)
		status = shrink_alone(&s);
	lc__env_close(s.env);
	/* Now: closing it gives up LMDB's lock of this process too. */
	if (lock_fd != -1)
		close(lock_fd);
	lc__unlock_directory(dir_fd);
	free(s.data);
	if (status == LC_OK) {
		*bytes_before = (uint64_t)s.before.st_size;
		*bytes_after = (uint64_t)s.after.st_size;
	}
	return status;
}
