/* SPDX-License-Identifier: BSD-2-Clause */
/* Transactions: beginning them although the map may move and reader slots may run out. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "env/env_private.h"

static lc_status
new_txn(struct lc__env *env, bool write, struct lc__txn **out)
{
	struct lc__txn *txn = calloc(1, sizeof(*txn));

	if (txn == NULL)
		return lc__no_memory(NULL);
	txn->env = env;
	txn->write = write;
	*out = txn;
	return LC_OK;
}

/* Remove the cause of a transaction's failure, if possible. After a failed write of a
 * meta page LMDB refuses all transactions until it is reopened. */
static lc_status
mend(struct lc__env *env, int rc, uint32_t attached, const char *what)
{
	if (rc == MDB_MAP_RESIZED)
		return lc__env_adopt(env);
	if (rc != MDB_PANIC)
		return lc__env_error(env, rc, what);
	pthread_mutex_lock(&env->lock);
	/* Unless another thread has reopened it meanwhile. */
	if (env->attached == attached)
		env->stale = true;
	pthread_mutex_unlock(&env->lock);
	return lc__env_move(env, lc__env_reattach_locked);
}

static bool
is_stale(struct lc__env *env)
{
	bool stale;

	pthread_mutex_lock(&env->lock);
	stale = env->stale;
	pthread_mutex_unlock(&env->lock);
	return stale;
}

/*
 * LMDB's mutex is not fair between processes, as write_lock is between threads: next to
 * two writers of small batches a third one waited for more than a minute. So a process
 * waits for it while holding a lock on the first byte of data.mdb, which LMDB does not
 * lock, and processes that ask later wait for that lock first. The lock belongs to this
 * process only and ends with it; a forked child does not have it. It is lost when this
 * process closes data.mdb elsewhere, and not granted if the system suspects a deadlock
 * with other threads: then LMDB decides the order.
 */
static void
change_turn(const struct lc__env *env, short type)
{
	struct flock first_byte = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_len = 1,
	};
	int fd, rc;

	if (mdb_env_get_fd(env->mdb, &fd) != 0)
		return;
	do
		rc = fcntl(fd, F_SETLKW, &first_byte);
	while (rc == -1 && errno == EINTR);
}

/* LMDB's code. */
static int
begin_in_turn(struct lc__txn *txn)
{
	int rc;

	change_turn(txn->env, F_WRLCK);
	rc = mdb_txn_begin(txn->env->mdb, NULL, 0, &txn->mdb);
	change_turn(txn->env, F_UNLCK);
	return rc;
}

static lc_status
try_begin_write(struct lc__txn *txn, lc_durability durability)
{
	struct lc__env *env = txn->env;
	int rc;

	lc__env_lock_writing(env);
	/* LMDB 0.9 accepts this flag for a transaction and ignores it: only the
	 * environment's flag counts, at commit. */
	if (is_stale(env))
		rc = MDB_PANIC;
	else
		rc = mdb_env_set_flags(env->mdb, MDB_NOMETASYNC,
		    durability == LC_DURABLE_RELAXED);
	if (rc == 0)
		rc = begin_in_turn(txn);
	txn->attached = env->attached;
	if (rc == 0)
		return LC_OK;
	pthread_mutex_unlock(&env->write_lock);
	return mend(env, rc, txn->attached, "begin to write");
}

/* How much the file may grow before dead readers are looked for. */
#define GROWTH_UNCHECKED ((uint64_t)16 << 20)

/* A reader that died in a snapshot keeps its pages from being reused, so the file grows:
 * look for dead readers when it has grown, and now and then. With the write lock held. */
static void
check_readers_locked(struct lc__env *env)
{
	const uint64_t minute = (uint64_t)60 * 1000000000;
	const uint64_t now = lc__clock_coarse_ns();
	MDB_envinfo info;
	int dead;

	mdb_env_info(env->mdb, &info);
	if (now - env->readers_checked_ns < minute &&
	    info.me_last_pgno <
		env->readers_checked_page + GROWTH_UNCHECKED / env->page_size)
		return;
	env->readers_checked_ns = now;
	env->readers_checked_page = info.me_last_pgno;
	mdb_reader_check(env->mdb, &dead);
}

/* Find the address of the map, from the address of a row in it. */
static lc_status
locate_map(struct lc__txn *txn)
{
	struct lc__slice row = { NULL, 0 };
	MDB_envinfo info;
	const lc_status status = lc__txn_get_meta(txn, "module", &row);

	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: the module's description is missing",
		    txn->env->dir);
	return_if_error(status);
	mdb_env_info(txn->env->mdb, &info);
	txn->base = lc__pages_base(row.data, txn->env->page_size);
	txn->map_size = info.me_mapsize;
	return LC_OK;
}

lc_status
lc__txn_begin_write(struct lc__env *env, lc_durability durability, struct lc__txn **out)
{
	struct lc__txn *txn = NULL;
	lc_status status = LC_OK;

	return_if_error(new_txn(env, true, &txn));
	for (int i = 0; i < 8 && status == LC_OK && txn->mdb == NULL; i++)
		status = try_begin_write(txn, durability);
	if (status == LC_OK && txn->mdb == NULL)
		status = lc__error(LC_BUSY, 0, "%s: the map keeps being resized",
		    env->dir);
	if (status != LC_OK) {
		free(txn);
		return status;
	}
	check_readers_locked(env);
	status = lc__env_check_to_write(env);
	if (status == LC_OK)
		status = locate_map(txn);
	if (status != LC_OK)
		lc__txn_abort(txn);
	else
		*out = txn;
	return status;
}

/* ---- commits ---------------------------------------------------------------- */

/*
 * LMDB writes the pages of a commit to the page cache, a large value by one call, and only
 * then waits for the disk, which was idle so far. During a large commit a thread asks the
 * system at short intervals to begin with the pages that are there. The system may write
 * them at any time, so the states that a loss of power can leave stay the same, and
 * fdatasync() waits for the rest and reports errors as before.
 */
struct early_writer {
	int fd; /* of data.mdb */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool committed; /* the thread must end */
	pthread_t thread;
};

/* Below this size the commit ends before the thread has gained anything. */
#define EARLY_MIN ((size_t)8 << 20)
#define EARLY_INTERVAL_NS 250000

static void *
write_early(void *arg)
{
	struct early_writer *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->committed) {
		(void)lc__cond_wait(&w->changed, &w->lock,
		    lc__clock_ns() + EARLY_INTERVAL_NS);
		pthread_mutex_unlock(&w->lock);
		(void)sync_file_range(w->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Commit with such a thread, or without if it cannot be started; an LMDB code. The caller
 * blocks all signals, and so does the thread. */
static int
commit_large(MDB_txn *mdb)
{
	struct early_writer w = { .committed = false };
	bool started;
	int rc;

	if (mdb_env_get_fd(mdb_txn_env(mdb), &w.fd) != 0)
		return mdb_txn_commit(mdb);
	pthread_mutex_init(&w.lock, NULL);
	lc__cond_init(&w.changed);
	started = pthread_create(&w.thread, NULL, write_early, &w) == 0;
	rc = mdb_txn_commit(mdb);
	if (started) {
		pthread_mutex_lock(&w.lock);
		w.committed = true;
		pthread_cond_signal(&w.changed);
		pthread_mutex_unlock(&w.lock);
		pthread_join(w.thread, NULL);
	}
	pthread_cond_destroy(&w.changed);
	pthread_mutex_destroy(&w.lock);
	return rc;
}

/* A signal handler that runs meanwhile would make fdatasync fail with EINTR, and LMDB
 * does not retry. Exceeding a file size limit is an error here, not a reason to die. */
static int
commit_undisturbed(const struct lc__txn *txn)
{
	const struct timespec at_once = { 0, 0 };
	sigset_t all, limit, pending, old;
	int rc;

	sigfillset(&all);
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	sigpending(&pending);
	rc = txn->put_bytes < EARLY_MIN ? mdb_txn_commit(txn->mdb)
					: commit_large(txn->mdb);
	if (rc != 0 && !sigismember(&pending, SIGXFSZ))
		(void)sigtimedwait(&limit, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

lc_status
lc__txn_commit(struct lc__txn *txn)
{
	struct lc__env *env = txn->env;
	const int rc = commit_undisturbed(txn);

	/* mdb_txn_commit() frees the transaction in any case. */
	txn->mdb = NULL;
	lc__txn_abort(txn);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "commit");
}

static void
leave(struct lc__env *env)
{
	lc__env_lock(env);
	lc__env_leave_locked(env);
	lc__env_unlock(env);
}

void
lc__txn_abort(struct lc__txn *txn)
{
	if (txn == NULL)
		return;
	if (txn->mdb != NULL && txn->attached == txn->env->attached)
		mdb_txn_abort(txn->mdb);
	if (txn->write)
		pthread_mutex_unlock(&txn->env->write_lock);
	else if (txn->active)
		leave(txn->env);
	free(txn);
}

/* How often to try to get a snapshot of the newest commit, and how many tries must find a
 * newer commit begun before that is taken for one whose writer died. */
#define SNAPSHOT_TRIES 1000
#define UNFINISHED_TRIES 16

/*
 * LMDB records the number N of the newest commit for the reader and then copies the roots
 * of its trees from the meta page that commit N + 2 overwrites. A reader that is
 * interrupted in between gets the roots of a later commit under the number N. If N is
 * still the newest number afterwards, no commit N + 2 has begun. A writer that dies after
 * writing its meta page leaves N + 1 there and N as the number, until the next writer
 * begins.
 */
int
lc__mdb_begin_read(MDB_env *mdb, MDB_txn **txn)
{
	for (int i = 0; i < SNAPSHOT_TRIES; i++) {
		const int rc = *txn == NULL ? mdb_txn_begin(mdb, NULL, MDB_RDONLY, txn)
					    : mdb_txn_renew(*txn);
		MDB_envinfo info;
		uint64_t later;

		if (rc != 0)
			return rc;
		mdb_env_info(mdb, &info);
		later = info.me_last_txnid - mdb_txn_id(*txn);
		if (later == 0 || (later == 1 && i >= UNFINISHED_TRIES))
			return 0;
		mdb_txn_reset(*txn);
	}
	return MDB_CORRUPTED; /* lock.mdb belongs to another data.mdb */
}

/* Begin or renew; an LMDB code. */
static int
begin_or_renew(struct lc__txn *txn)
{
	struct lc__env *env = txn->env;
	int rc;

	/* A transaction begun before a reopening is invalid, and so is its address. */
	if (txn->attached != env->attached)
		txn->mdb = NULL;
	txn->attached = env->attached;
	rc = lc__mdb_begin_read(env->mdb, &txn->mdb);
	txn->active = rc == 0;
	if (rc == 0)
		lc__txn_look_anew(txn);
	return rc;
}

/* Uncount, remove the cause, and count again. */
static lc_status
mend_read(struct lc__txn *txn, int rc, bool *slots_checked)
{
	struct lc__env *env = txn->env;
	lc_status status;
	int dead;

	if (rc == MDB_READERS_FULL && !*slots_checked) {
		*slots_checked = true;
		mdb_reader_check(env->mdb, &dead);
		return LC_OK;
	}
	/* While it is counted, the environment that it belongs to is open. */
	if (txn->mdb != NULL)
		mdb_txn_abort(txn->mdb);
	txn->mdb = NULL;
	leave(env);
	return_if_error(mend(env, rc, txn->attached, "begin to read"));
	lc__env_lock(env);
	status = lc__env_enter_locked(env);
	lc__env_unlock(env);
	return status;
}

lc_status
lc__txn_renew(struct lc__txn *txn)
{
	bool slots_checked = false;
	int rc;

	for (int i = 0; i < 8; i++) {
		rc = begin_or_renew(txn);
		if (rc == 0)
			return LC_OK;
		return_if_error(mend_read(txn, rc, &slots_checked));
	}
	leave(txn->env);
	return lc__error(LC_BUSY, 0, "%s: the map keeps being resized", txn->env->dir);
}

lc_status
lc__txn_begin_read(struct lc__env *env, struct lc__txn **out)
{
	struct lc__txn *txn = NULL;
	lc_status status = new_txn(env, false, &txn);

	if (status != LC_OK) {
		leave(env);
		return status;
	}
	status = lc__txn_renew(txn);
	if (status != LC_OK)
		lc__txn_abort(txn);
	else
		*out = txn;
	return status;
}

void
lc__txn_reset_locked(struct lc__txn *txn)
{
	mdb_txn_reset(txn->mdb);
	txn->active = false;
	lc__env_leave_locked(txn->env);
}

uint64_t
lc__txn_id(const struct lc__txn *txn)
{
	return mdb_txn_id(txn->mdb);
}

uint64_t
lc__env_last_txn(struct lc__env *env)
{
	MDB_envinfo info;

	mdb_env_info(env->mdb, &info);
	return info.me_last_txnid;
}
