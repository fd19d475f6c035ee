/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map and its users in this process: read transactions are counted, and the map moves
 * only while none is active. The map moves when it grows, when the size is adopted that
 * another process gave it, and when the environment is reopened.
 */
#include "base/clock.h"
#include "base/error.h"
#include "env/env_private.h"

/* ---- locks ---------------------------------------------------------------- */

void
lc__env_init_locks(struct lc__env *env)
{
	pthread_mutex_init(&env->turn_lock, NULL);
	pthread_mutex_init(&env->write_lock, NULL);
	pthread_mutex_init(&env->lock, NULL);
	lc__cond_init(&env->changed);
}

/* A mutex goes to the first thread that asks after it was unlocked, which is usually the
 * one that unlocked it: a thread that commits again and again would starve the others.
 * Here that thread waits until the next one has the lock. */
void
lc__env_lock_writing(struct lc__env *env)
{
	pthread_mutex_lock(&env->turn_lock);
	pthread_mutex_lock(&env->write_lock);
	pthread_mutex_unlock(&env->turn_lock);
}

/* ---- moving the map ------------------------------------------------------- */

/* Views are usually held for a moment only: a move waits this long for them. */
#define MOVE_PATIENCE_NS ((uint64_t)100000000)

/* Wait until no read transaction is active; false if views keep some active. */
static bool
wait_for_quiet_locked(struct lc__env *env)
{
	const uint64_t deadline = lc__clock_ns() + MOVE_PATIENCE_NS;

	while (env->active > 0) {
		if (env->pinned == 0)
			pthread_cond_wait(&env->changed, &env->lock);
		else if (!lc__cond_wait(&env->changed, &env->lock, deadline) &&
		    env->pinned > 0)
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
	if (!wait_for_quiet_locked(env)) {
		status = lc__error(LC_MAP_FULL, 0,
		    "%s: the map must move, "
		    "but %u snapshots are held by views or iterators",
		    env->dir, env->pinned);
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
lc__env_reattach_locked(struct lc__env *env)
{
	if (!env->stale)
		return LC_OK;
	if (env->guest != NULL && !env->forked)
		env->guest_kind->before_close(env->guest);
	lc__env_detach(env);
	/* Transactions of the closed environment are invalid, even if no new one
	 * opens. */
	env->attached++;
	return_if_error(lc__env_attach(env, NULL, true));
	env->stale = false;
	return LC_OK;
}

static lc_status
set_map_size_locked(struct lc__env *env, uint64_t size)
{
	const int rc = mdb_env_set_mapsize(env->mdb, (size_t)size);

	if (rc == 0)
		return LC_OK;
	/* LMDB has already unmapped the old map. */
	env->stale = true;
	return lc__env_error(env, rc, "resize the map");
}

static lc_status
double_map_locked(struct lc__env *env)
{
	MDB_envinfo info;

	mdb_env_info(env->mdb, &info);
	return set_map_size_locked(env, (uint64_t)info.me_mapsize * 2);
}

static lc_status
adopt_map_locked(struct lc__env *env)
{
	return set_map_size_locked(env, 0);
}

lc_status
lc__env_adopt(struct lc__env *env)
{
	return lc__env_move(env, adopt_map_locked);
}

lc_status
lc__env_grow(struct lc__env *env)
{
	return lc__env_move(env, double_map_locked);
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
lc__env_hold(struct lc__env *env)
{
	pthread_mutex_lock(&env->lock);
	env->held++;
	pthread_mutex_unlock(&env->lock);
}

void
lc__env_unlock_let_go(struct lc__env *env)
{
	const bool last = env->lingers && env->pinned == 0 && env->held == 0;

	if (last)
		env->lingers = false;
	pthread_mutex_unlock(&env->lock);
	if (last)
		lc__env_close(env);
}

void
lc__env_let_go(struct lc__env *env)
{
	pthread_mutex_lock(&env->lock);
	env->held--;
	lc__env_unlock_let_go(env);
}

void
lc__env_count_pins_locked(struct lc__env *env, int change)
{
	env->pinned += (unsigned)change;
	if (env->moving)
		pthread_cond_broadcast(&env->changed);
}

lc_status
lc__env_enter_locked(struct lc__env *env)
{
	while (env->moving || env->stale) {
		lc_status status;

		if (env->moving) {
			pthread_cond_wait(&env->changed, &env->lock);
			continue;
		}
		pthread_mutex_unlock(&env->lock);
		status = lc__env_move(env, lc__env_reattach_locked);
		pthread_mutex_lock(&env->lock);
		return_if_error(status);
	}
	env->active++;
	return LC_OK;
}

void
lc__env_leave_locked(struct lc__env *env)
{
	if (--env->active == 0 && env->moving)
		pthread_cond_broadcast(&env->changed);
}
