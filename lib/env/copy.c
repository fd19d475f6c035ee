/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of an environment: a copy of one that is in use, and one that replaces
 * data.mdb. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "env/env_private.h"
#include "env/locks.h"

#define PIECE ((size_t)1 << 20) /* stays in the processor's cache from read to write */

/* ---- all pages ------------------------------------------------------------------------ */

/* Read from @p at on, up to @p end or the end of the file: free pages at the end of a
 * snapshot may never have been written. */
static lc_status
copy_bytes(const struct lc__env *env, int from, uint64_t at, uint64_t end, int to,
    const char *path, unsigned char *room)
{
	uint64_t begun = at;

	while (at < end) {
		const size_t size = end - at < PIECE ? (size_t)(end - at) : PIECE;
		const ssize_t n = pread(from, room, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return lc__error_sys(errno, "%s/data.mdb: read", env->dir);
		if (n == 0)
			break;
		return_if_error(lc__write_full(to, room, (size_t)n, path));
		at += (uint64_t)n;
		lc__write_behind(to, &begun, at);
	}
	return LC_OK;
}

/*
 * LMDB's own plain copy reads through its map, which is opened for random access, and
 * holds the writers' mutex while it writes the meta pages. Here, a read transaction keeps
 * the pages of its commit and of all later ones from being reused, so that any meta page
 * read after it has begun describes a complete commit. The copy contains that meta page
 * twice: the older meta page of the file may refer to pages that were reused before.
 */
static lc_status
copy_snapshot(const struct lc__env *env, int to, const char *path, unsigned char *room)
{
	struct lc__pages_meta meta;
	uint64_t metas;
	int from;

	if (mdb_env_get_fd(env->mdb, &from) != 0)
		return lc__error(LC_IO, 0, "%s: no data file", env->dir);
	return_if_error(lc__pages_check_header(from, env->dir, &meta));
	if (meta.txnid == 0)
		return lc__error(LC_CORRUPT, 0, "%s: holds no commit", env->dir);
	metas = (uint64_t)2 * meta.page_size;
	lc__pages_put_metas(&meta, room);
	return_if_error(lc__write_full(to, room, (size_t)metas, path));
	return copy_bytes(env, from, metas, (meta.last_page + 1) * meta.page_size, to,
	    path, room);
}

static lc_status
copy_plainly(struct lc__env *env, int to, const char *path)
{
	unsigned char *room = malloc(PIECE);
	struct lc__txn *txn = NULL;
	lc_status status = LC_OK;

	if (room == NULL)
		return lc__no_memory("backup");
	lc__env_lock(env);
	status = lc__env_enter_locked(env);
	lc__env_unlock(env);
	if (status == LC_OK)
		status = lc__txn_begin_read(env, &txn);
	if (status == LC_OK)
		status = copy_snapshot(env, to, path, room);
	lc__txn_abort(txn);
	free(room);
	return status;
}

/* ---- without free pages --------------------------------------------------------------- */

/*
 * LMDB begins the read transaction of a copy itself, without the check of
 * lc__mdb_begin_read(): mdb_txn_renew0() writes N into the reader's slot and then copies
 * the two roots from the meta page of N, which commit N + 2, or a later even one, may
 * have overwritten by then. For liblmdb 0.9.24, compared with its machine code: a
 * compacting copy (mdb_env_copyfd1) takes no mutex. It is then a copy of the later
 * commit, under the number 1 as always: the slot still says N, which keeps all pages of N
 * and later from being reused.
 *
 * It walks the main tree only. From the tree of free pages and the last page it computes
 * the expected number of pages; if these belong to another commit than the main tree and
 * the number is wrong, it fails at the end (MDB_INCOMPATIBLE), and the caller removes the
 * copy. If the number is right anyway, so is the copy. The 48 bytes of a root may
 * themselves be of two commits. LMDB uses only its page number, which is loaded at once;
 * the rest are counts of pages and entries.
 */
static lc_status
copy_compacting_entered(struct lc__env *env, int to)
{
	MDB_txn *pin = NULL;
	lc_status status;
	int rc = lc__mdb_begin_read(env->mdb, &pin);

	if (rc != 0)
		return lc__env_error(env, rc, "copy");
	status = lc__env_check_to_write(env);
	mdb_txn_abort(pin);
	return_if_error(status);
	rc = mdb_env_copyfd2(env->mdb, to, MDB_CP_COMPACT);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "copy");
}

static lc_status
copy_compacting(struct lc__env *env, int to)
{
	lc_status status;

	lc__env_lock(env);
	status = lc__env_enter_locked(env);
	lc__env_unlock(env);
	return_if_error(status);
	status = copy_compacting_entered(env, to);
	lc__env_lock(env);
	lc__env_leave_locked(env);
	lc__env_unlock(env);
	return status;
}

lc_status
lc__env_copy(struct lc__env *env, int fd, const char *path, bool compact)
{
	return compact ? copy_compacting(env, fd) : copy_plainly(env, fd, path);
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

/* ---- shrinking: a copy without free pages replaces data.mdb ---------------------- */

/* No other process has the environment open; @p data is its file. */
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
	status = copy_compacting(env, copy.fd);
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
	/* Only now: closing it releases LMDB's lock of this process, too. */
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
