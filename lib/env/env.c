/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors, moving the map, facts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "env/env_private.h"
#include "pages/pages.h"

/* LMDB turns a short write into EIO. The errno that fits, if there was no room:
 * the next write may be as large as the largest commit. */
static int
explain_eio(const struct lc__env *env)
{
	const uint64_t commit = (uint64_t)128 << 20;
	struct statvfs fs;
	struct rlimit limit;
	MDB_envinfo info = { 0 }; /* what stays if it failed to open */

	if (statvfs(env->path, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * fs.f_frsize < commit)
		return ENOSPC;
	mdb_env_info(env->mdb, &info);
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <
	    (uint64_t)info.me_last_pgno * env->page_size + commit)
		return EFBIG;
	return EIO;
}

static lc_status
status_of_mdb(int rc)
{
	switch (rc) {
	case MDB_NOTFOUND:
		return LC_NOT_FOUND;
	case MDB_MAP_FULL:
	case MDB_MAP_RESIZED:
		return LC_MAP_FULL;
	case MDB_READERS_FULL:
		return LC_BUSY;
	case MDB_INVALID:
		return LC_NOT_MODULE;
	case MDB_VERSION_MISMATCH:
		return LC_VERSION;
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_PAGE_FULL:
	case MDB_CURSOR_FULL:
	case MDB_INCOMPATIBLE:
	case MDB_BAD_TXN: /* what follows a read of a damaged page */
		return LC_CORRUPT;
	default:
		return LC_IO;
	}
}

lc_status
lc__mdb_error(const char *path, int rc, const char *what)
{
	if (rc > 0)
		return lc__error_sys(rc, "%s: %s", path, what);
	return lc__error(status_of_mdb(rc), rc, "%s: %s: %s", path, what,
	    mdb_strerror(rc));
}

lc_status
lc__env_error(const struct lc__env *env, int rc, const char *what)
{
	return lc__mdb_error(env->dir, rc == EIO ? explain_eio(env) : rc, what);
}

void
lc__env_init_locks(struct lc__env *env)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&env->turn_lock, NULL);
	pthread_mutex_init(&env->write_lock, NULL);
	pthread_mutex_init(&env->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&env->changed, &attr);
	pthread_condattr_destroy(&attr);
}

/* A mutex goes to whichever thread asks first after it was unlocked, which is mostly the
 * one that unlocked it: a thread that commits again and again would keep all others out.
 * Here that one has to wait until the next one has the lock. */
void
lc__env_lock_writing(struct lc__env *env)
{
	pthread_mutex_lock(&env->turn_lock);
	pthread_mutex_lock(&env->write_lock);
	pthread_mutex_unlock(&env->turn_lock);
}

/* ---- moving the map ------------------------------------------------------- */

/* Views are mostly held for a moment only: that long is waited for them. */
#define MOVE_PATIENCE_NS ((uint64_t)100000000)

/* Wait until no read transaction is active; false if views keep some so. */
static bool
wait_for_quiet(struct lc__env *env)
{
	const uint64_t deadline = lc__clock_ns() + MOVE_PATIENCE_NS;
	const struct timespec ts = {
		.tv_sec = (time_t)(deadline / 1000000000),
		.tv_nsec = (long)(deadline % 1000000000)
	};

	while (env->active > 0) {
		if (env->pinned == 0)
			pthread_cond_wait(&env->changed, &env->lock);
		else if (pthread_cond_timedwait(&env->changed, &env->lock,
		    &ts) == ETIMEDOUT && env->pinned > 0)
			return false;
	}
	return true;
}

lc_status
lc__env_move(struct lc__env *env, lc_status (*move)(struct lc__env *env))
{
	lc_status status;

	lc__env_lock_writing(env);
	pthread_mutex_lock(&env->lock);
	env->moving = true;
	if (!wait_for_quiet(env)) {
		status = lc__error(LC_MAP_FULL, 0, "%s: the map must move, "
		    "but %u snapshots are held by views or iterators", env->dir,
		    env->pinned);
	} else {
		status = move(env);
		env->map_version++;
	}
	env->moving = false;
	pthread_cond_broadcast(&env->changed);
	pthread_mutex_unlock(&env->lock);
	pthread_mutex_unlock(&env->write_lock);
	return status;
}

lc_status
lc__env_reattach(struct lc__env *env)
{
	if (!env->stale)
		return LC_OK;
	if (env->guest != NULL && !env->forked)
		env->guest_kind->before_close(env->guest);
	lc__env_detach(env);
	/* Transactions of the closed environment are void, also if no new one opens. */
	env->attached++;
	return_if_error(lc__env_attach(env, NULL));
	env->stale = false;
	return LC_OK;
}

static lc_status
set_map_size(struct lc__env *env, uint64_t size)
{
	const int rc = mdb_env_set_mapsize(env->mdb, (size_t)size);

	if (rc == 0)
		return LC_OK;
	/* LMDB has unmapped the old map already. */
	env->stale = true;
	return lc__env_error(env, rc, "resize the map");
}

static lc_status
double_map(struct lc__env *env)
{
	MDB_envinfo info;

	mdb_env_info(env->mdb, &info);
	return set_map_size(env, (uint64_t)info.me_mapsize * 2);
}

static lc_status
adopt_map(struct lc__env *env)
{
	return set_map_size(env, 0);
}

lc_status
lc__env_adopt(struct lc__env *env)
{
	return lc__env_move(env, adopt_map);
}

lc_status
lc__env_grow(struct lc__env *env)
{
	return lc__env_move(env, double_map);
}

void
lc__env_lock(struct lc__env *env)
{
	pthread_mutex_lock(&env->lock);
}

void
lc__env_unlock(struct lc__env *env)
{
	pthread_mutex_unlock(&env->lock);
}

void
lc__env_count_pins(struct lc__env *env, int change)
{
	env->pinned += (unsigned)change;
	if (env->moving)
		pthread_cond_broadcast(&env->changed);
}

lc_status
lc__env_enter(struct lc__env *env)
{
	while (env->moving || env->stale) {
		lc_status status;

		if (env->moving) {
			pthread_cond_wait(&env->changed, &env->lock);
			continue;
		}
		pthread_mutex_unlock(&env->lock);
		status = lc__env_move(env, lc__env_reattach);
		pthread_mutex_lock(&env->lock);
		return_if_error(status);
	}
	env->active++;
	return LC_OK;
}

void
lc__env_leave(struct lc__env *env)
{
	if (--env->active == 0 && env->moving)
		pthread_cond_broadcast(&env->changed);
}

/* ---- facts ---------------------------------------------------------------- */

const char *
lc__env_dir(const struct lc__env *env)
{
	return env->dir;
}

const char *
lc__env_path(const struct lc__env *env)
{
	return env->path;
}

const struct lc__module_row *
lc__env_module(const struct lc__env *env)
{
	return &env->module;
}

uint32_t
lc__env_page_size(const struct lc__env *env)
{
	return env->page_size;
}

void
lc__env_willneed(const struct lc__env *env, const void *start, size_t size)
{
	const uintptr_t inside = (uintptr_t)start & (env->page_size - 1);

	/* A hint: whatever it answers, the read that follows is right. */
	(void)madvise((void *)((uintptr_t)start - inside), size + inside,
	    MADV_WILLNEED);
}

uint32_t
lc__env_map_version(const struct lc__env *env)
{
	return env->map_version;
}

uint32_t
lc__env_epoch(const struct lc__env *env)
{
	return env->epoch;
}

lc_status
lc__env_invite(struct lc__env *env, const struct lc__env_guest *kind)
{
	lc_status status = LC_OK;

	lc__env_lock(env);
	if (env->guest == NULL) {
		env->guest_kind = kind;
		env->guest = kind->make(env);
		if (env->guest == NULL)
			status = lc__no_memory(env->dir);
	}
	lc__env_unlock(env);
	return status;
}

void *
lc__env_guest_of(const struct lc__env *env)
{
	return env->guest;
}
