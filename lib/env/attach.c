/* SPDX-License-Identifier: BSD-2-Clause */
/* LMDB opens and closes an environment. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "env/env_private.h"
#include "env/locks.h"

#define MIN_MAP ((uint64_t)1 << 20)

static int
open_one_at_a_time(const struct lc__env *env, unsigned flags)
{
	char *path = lc__path_join(env->path, "data.mdb");
	const int fd = path != NULL ? lc__open(path, O_RDONLY) : -1;
	int rc;

	free(path);
	if (fd != -1)
		lc__lock_opening(fd);
	/* This process has no lock on lock.mdb, which closing the file would give up. */
	lc__lockfile_wait_for_dying(env->path);
	lc__fds_hold();
	rc = mdb_env_open(env->mdb, env->path, flags, 0666);
	lc__fds_release();
	if (fd != -1) {
		lc__unlock_opening(fd);
		close(fd);
	}
	return rc;
}

static lc_status
try_open_env(struct lc__env *env, uint64_t map_size, int *rc)
{
	const unsigned flags = MDB_NOTLS | MDB_NORDAHEAD |
	    (env->read_only ? MDB_RDONLY : 0);

	*rc = mdb_env_create(&env->mdb);
	if (*rc != 0)
		return lc__env_error(env, *rc, "open");
	mdb_env_set_maxreaders(env->mdb, LC__MAX_READERS);
	mdb_env_set_maxdbs(env->mdb, LC__TABLES + 8);
	mdb_env_set_mapsize(env->mdb, (size_t)map_size);
	*rc = open_one_at_a_time(env, flags);
	if (*rc == 0)
		return LC_OK;
	mdb_env_close(env->mdb);
	env->mdb = NULL;
	return lc__env_error(env, *rc, "open");
}

/* Open with as much address space as the system grants. */
static lc_status
open_env(struct lc__env *env)
{
	uint64_t map_size = env->map_size;
	lc_status status;
	int rc;

	do {
		status = try_open_env(env, map_size, &rc);
		map_size /= 2;
		/* EINVAL: valgrind's answer to a map that it has no room for. */
	} while ((rc == ENOMEM || rc == EINVAL) && map_size >= MIN_MAP);
	return status;
}

/* Is data.mdb still the file that the registry knows this environment by? Not
 * if somebody deleted the module and perhaps made a new one since. */
static lc_status
check_same_file(const struct lc__env *env)
{
	char *path = lc__path_join(env->path, "data.mdb");
	struct stat st;
	int rc;

	if (path == NULL)
		return lc__no_memory(env->dir);
	rc = lstat(path, &st) == 0 ? 0 : errno;
	free(path);
	if (rc != 0)
		return lc__error_sys(rc, "%s: data.mdb is gone since it was opened",
		    env->dir);
	if (st.st_dev != env->device || st.st_ino != env->inode)
		return lc__error(LC_IO, 0,
		    "%s: data.mdb is another file than when it was opened", env->dir);
	return LC_OK;
}

/* Did LMDB open that file? Not if it was replaced just before. */
static lc_status
check_opened_file(const struct lc__env *env)
{
	struct stat st;
	int fd;

	if (mdb_env_get_fd(env->mdb, &fd) != 0 || fstat(fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", env->dir);
	if (st.st_dev != env->device || st.st_ino != env->inode)
		return lc__error(LC_BUSY, 0, "%s: data.mdb is being replaced", env->dir);
	return LC_OK;
}

/*
 * LMDB opens both files by their names, whatever they have become since they were checked.
 * If data.mdb is another file by then, that is noticed, and nothing is written to it. LMDB
 * does not say which lock file it opened: a user who may rename files in the directory at
 * that moment can make LMDB write a lock file's header over another file of this user.
 */
lc_status
lc__env_attach(struct lc__env *env, lc__first_rows *first_rows)
{
	lc_status status;

	return_if_error(check_same_file(env));
	return_if_error(lc__lockfile_prepare_in(env->path, env->dir));
	return_if_error(open_env(env));
	status = check_opened_file(env);
	if (status == LC_OK)
		status = lc__env_open_module(env, first_rows);
	if (status != LC_OK) {
		mdb_env_close(env->mdb);
		env->mdb = NULL;
	}
	return status;
}

/* Environments of parent processes: closing one would free the parent's reader slots. The
 * list exists for leak checkers only. */
static struct abandoned {
	struct abandoned *next;
	MDB_env *mdb;
} * abandoned;

static void
abandon(struct lc__env *env)
{
	struct abandoned *node = malloc(sizeof(*node));

	if (node == NULL)
		return;
	node->mdb = env->mdb;
	node->next = abandoned;
	abandoned = node;
}

void
lc__env_detach(struct lc__env *env)
{
	if (env->mdb != NULL && env->forked)
		abandon(env);
	else if (env->mdb != NULL)
		mdb_env_close(env->mdb);
	env->mdb = NULL;
	env->forked = false;
}
