/* SPDX-License-Identifier: BSD-2-Clause */
/* Transactions, rows, and moving the map. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/env_private.h"
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
lc__env_error(const struct lc__env *env, int rc, const char *what)
{
	if (rc == EIO)
		rc = explain_eio(env);
	if (rc > 0)
		return lc__error_sys(rc, "%s: %s", env->dir, what);
	return lc__error(status_of_mdb(rc), rc, "%s: %s: %s", env->dir, what,
	    mdb_strerror(rc));
}

void
lc__env_init_locks(struct lc__env *env)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&env->write_lock, NULL);
	pthread_mutex_init(&env->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&env->changed, &attr);
	pthread_condattr_destroy(&attr);
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

	pthread_mutex_lock(&env->write_lock);
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
	lc__env_detach(env);
	return_if_error(lc__env_attach(env, false));
	env->attached++;
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

/* ---- transactions --------------------------------------------------------- */

static lc_status
new_txn(struct lc__env *env, bool write, struct lc__txn **out)
{
	struct lc__txn *txn = calloc(1, sizeof(*txn));

	if (txn == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	txn->env = env;
	txn->write = write;
	*out = txn;
	return LC_OK;
}

/* Remove what made a transaction fail, if that is possible. LMDB refuses all
 * transactions after a failed write of a meta page, until it is opened anew. */
static lc_status
mend(struct lc__env *env, int rc, uint32_t attached, const char *what)
{
	if (rc == MDB_MAP_RESIZED)
		return lc__env_move(env, adopt_map);
	if (rc != MDB_PANIC)
		return lc__env_error(env, rc, what);
	pthread_mutex_lock(&env->lock);
	/* Unless another thread has reopened it meanwhile. */
	if (env->attached == attached)
		env->stale = true;
	pthread_mutex_unlock(&env->lock);
	return lc__env_move(env, lc__env_reattach);
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

static lc_status
try_begin_write(struct lc__txn *txn, unsigned flags)
{
	struct lc__env *env = txn->env;
	int rc;

	pthread_mutex_lock(&env->write_lock);
	if (is_stale(env))
		rc = MDB_PANIC;
	else
		rc = mdb_txn_begin(env->mdb, NULL, flags, &txn->mdb);
	txn->attached = env->attached;
	if (rc == 0)
		return LC_OK;
	pthread_mutex_unlock(&env->write_lock);
	return mend(env, rc, txn->attached, "begin to write");
}

/* Find out where the map is: from a row that stands in it. */
static lc_status
locate_map(struct lc__txn *txn)
{
	struct lc__slice row = { NULL, 0 };
	MDB_envinfo info;
	const lc_status status = lc__txn_get_meta(txn, "module", &row);

	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: the module's description "
		    "is missing", txn->env->dir);
	return_if_error(status);
	mdb_env_info(txn->env->mdb, &info);
	txn->base = lc__pages_base(row.data, txn->env->page_size);
	txn->map_size = info.me_mapsize;
	return LC_OK;
}

lc_status
lc__txn_begin_write(struct lc__env *env, lc_durability durability,
    struct lc__txn **out)
{
	const unsigned flags =
	    durability == LC_DURABLE_RELAXED ? MDB_NOMETASYNC : 0;
	struct lc__txn *txn = NULL;
	lc_status status = LC_OK;

	return_if_error(new_txn(env, true, &txn));
	for (int i = 0; i < 8 && status == LC_OK && txn->mdb == NULL; i++)
		status = try_begin_write(txn, flags);
	if (status == LC_OK && txn->mdb == NULL)
		status = lc__error(LC_BUSY, 0,
		    "%s: the map keeps being resized", env->dir);
	if (status != LC_OK) {
		free(txn);
		return status;
	}
	status = locate_map(txn);
	if (status != LC_OK)
		lc__txn_abort(txn);
	else
		*out = txn;
	return status;
}

lc_status
lc__txn_commit(struct lc__txn *txn)
{
	struct lc__env *env = txn->env;
	const int rc = mdb_txn_commit(txn->mdb);

	/* mdb_txn_commit() frees the transaction whatever it returns. */
	txn->mdb = NULL;
	lc__txn_abort(txn);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "commit");
}

static void
leave_unlocked(struct lc__env *env)
{
	lc__env_lock(env);
	lc__env_leave(env);
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
		leave_unlocked(txn->env);
	free(txn);
}

/* Begin or renew; an LMDB code. */
static int
begin_or_renew(struct lc__txn *txn)
{
	struct lc__env *env = txn->env;
	int rc;

	/* What was begun before a reopening is void; so is its address. */
	if (txn->attached != env->attached)
		txn->mdb = NULL;
	txn->attached = env->attached;
	if (txn->mdb == NULL)
		rc = mdb_txn_begin(env->mdb, NULL, MDB_RDONLY, &txn->mdb);
	else
		rc = mdb_txn_renew(txn->mdb);
	txn->active = rc == 0;
	return rc;
}

/* Count out, mend, and count in anew. */
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
	leave_unlocked(env);
	return_if_error(mend(env, rc, txn->attached, "begin to read"));
	lc__env_lock(env);
	status = lc__env_enter(env);
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
	leave_unlocked(txn->env);
	return lc__error(LC_BUSY, 0, "%s: the map keeps being resized",
	    txn->env->dir);
}

lc_status
lc__txn_begin_read(struct lc__env *env, struct lc__txn **out)
{
	struct lc__txn *txn = NULL;
	lc_status status = new_txn(env, false, &txn);

	if (status != LC_OK) {
		leave_unlocked(env);
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
lc__txn_reset(struct lc__txn *txn)
{
	mdb_txn_reset(txn->mdb);
	txn->active = false;
	lc__env_leave(txn->env);
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

/* ---- rows ----------------------------------------------------------------- */

/* A key as LMDB wants it: u32 in the schema table, u64 in the others. */
struct int_key {
	uint64_t wide;
	uint32_t narrow;
	MDB_val val;
};

static MDB_val *
int_key(struct int_key *key, enum lc__table table, uint64_t number)
{
	key->wide = number;
	key->narrow = (uint32_t)number;
	if (table == LC__SCHEMA) {
		key->val.mv_data = &key->narrow;
		key->val.mv_size = sizeof(key->narrow);
	} else {
		key->val.mv_data = &key->wide;
		key->val.mv_size = sizeof(key->wide);
	}
	return &key->val;
}

static lc_status
get_row(struct lc__txn *txn, enum lc__table table, MDB_val *key,
    struct lc__slice *out)
{
	MDB_val value;
	const int rc = mdb_get(txn->mdb, txn->env->tables[table], key, &value);

	if (rc == MDB_NOTFOUND)
		return LC_NOT_FOUND;
	if (rc != 0)
		return lc__env_error(txn->env, rc, "read");
	out->data = value.mv_data;
	out->size = value.mv_size;
	return LC_OK;
}

static lc_status
put_row(struct lc__txn *txn, enum lc__table table, MDB_val *key,
    const void *data, size_t size)
{
	MDB_val value = { size, (void *)(uintptr_t)data };
	const int rc = mdb_put(txn->mdb, txn->env->tables[table], key, &value, 0);

	return rc == 0 ? LC_OK : lc__env_error(txn->env, rc, "write");
}

lc_status
lc__txn_get(struct lc__txn *txn, enum lc__table table, uint64_t key,
    struct lc__slice *out)
{
	struct int_key k;

	return get_row(txn, table, int_key(&k, table, key), out);
}

lc_status
lc__txn_put(struct lc__txn *txn, enum lc__table table, uint64_t key,
    const void *data, size_t size)
{
	struct int_key k;

	return put_row(txn, table, int_key(&k, table, key), data, size);
}

lc_status
lc__txn_append(struct lc__txn *txn, enum lc__table table, uint64_t key,
    size_t size, unsigned char **out)
{
	struct int_key k;
	MDB_val value = { size, NULL };
	const int rc = mdb_put(txn->mdb, txn->env->tables[table],
	    int_key(&k, table, key), &value, MDB_RESERVE | MDB_APPEND);

	/* MDB_APPEND finds the key not behind the last one. */
	if (rc == MDB_KEYEXIST)
		return lc__error(LC_CORRUPT, rc, "%s: table %d holds row %llu "
		    "already", txn->env->dir, (int)table,
		    (unsigned long long)key);
	if (rc != 0)
		return lc__env_error(txn->env, rc, "write");
	*out = value.mv_data;
	return LC_OK;
}

/* LMDB frees as many pages as the header before a large value says. A value
 * that this transaction wrote is not in the map yet, and right. */
static lc_status
check_before_delete(struct lc__txn *txn, const struct lc__slice *value)
{
	const uintptr_t base = (uintptr_t)txn->base;
	const uintptr_t at = (uintptr_t)value->data;

	if (at < base || at - base >= txn->map_size)
		return LC_OK;
	return lc__pages_check_value(txn->base, txn->env->page_size, value->data,
	    value->size);
}

lc_status
lc__txn_delete(struct lc__txn *txn, enum lc__table table, uint64_t key)
{
	struct lc__slice value = { NULL, 0 };
	struct int_key k;
	int rc;

	return_if_error(lc__txn_get(txn, table, key, &value));
	return_if_error(check_before_delete(txn, &value));
	rc = mdb_del(txn->mdb, txn->env->tables[table], int_key(&k, table, key),
	    NULL);
	return rc == 0 ? LC_OK : lc__env_error(txn->env, rc, "delete");
}

lc_status
lc__txn_get_meta(struct lc__txn *txn, const char *name, struct lc__slice *out)
{
	MDB_val key = { strlen(name), (void *)(uintptr_t)name };

	return get_row(txn, LC__META, &key, out);
}

lc_status
lc__txn_put_meta(struct lc__txn *txn, const char *name, const void *data,
    size_t size)
{
	MDB_val key = { strlen(name), (void *)(uintptr_t)name };

	return put_row(txn, LC__META, &key, data, size);
}

lc_status
lc__txn_seek(struct lc__txn *txn, enum lc__table table, uint64_t key,
    uint64_t *found, struct lc__slice *out)
{
	struct int_key k;
	MDB_val at, value;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(txn->mdb, txn->env->tables[table], &cursor);

	if (rc != 0)
		return lc__env_error(txn->env, rc, "walk");
	at = *int_key(&k, table, key);
	rc = mdb_cursor_get(cursor, &at, &value, MDB_SET_RANGE);
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND)
		return LC_NOT_FOUND;
	if (rc != 0)
		return lc__env_error(txn->env, rc, "walk");
	if (at.mv_size != (table == LC__SCHEMA ? 4 : 8))
		return lc__error(LC_CORRUPT, 0, "%s: table %d has a key of %zu "
		    "bytes", txn->env->dir, (int)table, at.mv_size);
	*found = 0;
	if (at.mv_size == sizeof(k.narrow)) {
		memcpy(&k.narrow, at.mv_data, sizeof(k.narrow));
		*found = k.narrow;
	} else {
		memcpy(found, at.mv_data, sizeof(*found));
	}
	out->data = value.mv_data;
	out->size = value.mv_size;
	return LC_OK;
}

lc_status
lc__txn_count(struct lc__txn *txn, enum lc__table table, uint64_t *out)
{
	MDB_stat stat;
	const int rc = mdb_stat(txn->mdb, txn->env->tables[table], &stat);

	if (rc != 0)
		return lc__env_error(txn->env, rc, "stat");
	*out = stat.ms_entries;
	return LC_OK;
}

/* Pages that the free list names: each of its rows starts with a count. */
static lc_status
count_free_pages(struct lc__txn *txn, uint64_t *out)
{
	const MDB_dbi free_list = 0;
	MDB_cursor *cursor;
	MDB_val key, value;
	size_t n;
	int rc = mdb_cursor_open(txn->mdb, free_list, &cursor);

	if (rc != 0)
		return lc__env_error(txn->env, rc, "read the free list");
	*out = 0;
	while ((rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		if (value.mv_size < sizeof(n)) {
			rc = MDB_CORRUPTED;
			break;
		}
		memcpy(&n, value.mv_data, sizeof(n));
		*out += n;
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? LC_OK :
	    lc__env_error(txn->env, rc, "read the free list");
}

/* LMDB lists its readers as lines that start with a process id. */
static int
count_reader(const char *line, void *count)
{
	const char first = line[strspn(line, " ")];

	*(uint32_t *)count += first >= '0' && first <= '9';
	return 0;
}

lc_status
lc__env_stat(struct lc__env *env, struct lc__txn *txn,
    struct lc__env_stats *out)
{
	MDB_envinfo info;
	uint64_t free_pages = 0;

	mdb_env_info(env->mdb, &info);
	return_if_error(count_free_pages(txn, &free_pages));
	out->file_bytes = ((uint64_t)info.me_last_pgno + 1) * env->page_size;
	out->free_bytes = free_pages * env->page_size;
	out->map_bytes = info.me_mapsize;
	/* me_numreaders is how many there ever were at once. */
	out->readers = 0;
	mdb_reader_list(env->mdb, count_reader, &out->readers);
	out->max_readers = info.me_maxreaders;
	return LC_OK;
}

/* ---- facts ---------------------------------------------------------------- */

const char *
lc__env_dir(const struct lc__env *env)
{
	return env->dir;
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

void
lc__env_learn_schema(struct lc__env *env, const struct lc__schema *schema,
    uint32_t id)
{
	atomic_store(&env->schema_ids[schema->dtype][schema->ndim], id + 1);
}

uint32_t
lc__env_known_schema(const struct lc__env *env, const struct lc__schema *schema)
{
	/* Unknown is 0, and 0 - 1 is UINT32_MAX. */
	return (uint32_t)atomic_load(
	    &env->schema_ids[schema->dtype][schema->ndim]) - 1;
}

struct lc__pool *
lc__env_pool(struct lc__env *env)
{
	return env->pool;
}
