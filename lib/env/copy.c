/* SPDX-License-Identifier: BSD-2-Clause */
/* A hot copy of an environment. */
#include "base/error.h"
#include "env/env_private.h"

/*
 * LMDB begins the reader of a copy by itself, without the check of lc__mdb_begin_read():
 * it may get the roots of commit N + 2 under the number N.
 * - A plain copy takes the roots again while it holds LMDB's mutex for writers.
 * - A compacting copy is then one of commit N + 2: its own number is always 1, and the
 *   reader's slot, which says N, keeps all pages of N and later from being reused. Where
 *   the last page and the list of free pages are of two commits, LMDB counts the pages,
 *   sees that they do not add up, and fails (MDB_INCOMPATIBLE); the copy is discarded.
 * What is left is a root that is torn within its 48 bytes, of which LMDB follows only the
 * page number, a single word: the rest are statistics of the tree.
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
