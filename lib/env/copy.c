/* SPDX-License-Identifier: BSD-2-Clause */
/* A hot copy of an environment. */
#include "base/error.h"
#include "env/env_private.h"

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
