/* SPDX-License-Identifier: BSD-2-Clause */
/* A hot copy of an environment. */
#include "base/error.h"
#include "env/env_private.h"

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
	status = lc__env_enter(env);
	lc__env_unlock(env);
	return_if_error(status);
	rc = mdb_env_copyfd2(env->mdb, fd, compact ? MDB_CP_COMPACT : 0);
	lc__env_lock(env);
	lc__env_leave(env);
	lc__env_unlock(env);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "copy");
}
