/* SPDX-License-Identifier: BSD-2-Clause */
/* LMDB opens a module: is it one, is it sound, is it to be made? */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "env/env_private.h"
#include "env/lockfile.h"
#include "pages/pages.h"

#define MIN_MAP ((uint64_t)1 << 20)

/* ---- one opens at a time ---------------------------------------------------- */

/*
 * LMDB locks lock.mdb alone while it makes the table there, and shared from then on. A
 * process that waits for the shared lock takes the table as made, even if the one that
 * was making it has died: writers would begin again with transaction 1, with mutexes of
 * no process. So nobody waits within LMDB: whoever opens holds a lock on data.mdb.
 */
void
lc__env_lock_opening(int fd)
{
	int rc;

	do
		rc = flock(fd, LOCK_EX);
	while (rc == -1 && errno == EINTR);
}

void
lc__env_unlock_opening(int fd)
{
	/* A child that was forked meanwhile has the descriptor too: closing is not enough. */
	(void)flock(fd, LOCK_UN);
}

/* A process that dies gives its locks up one by one: wait for the one on lock.mdb. This
 * process has none there, which closing the file would give up. */
static void
wait_for_dying(const struct lc__env *env)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1 };
	char *path = lc__path_join(env->path, "lock.mdb");
	const int fd = path != NULL ?
	    lc__open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW) : -1;
	int rc;

	free(path);
	if (fd == -1)
		return;
	do
		rc = fcntl(fd, F_SETLKW, &lock);
	while (rc == -1 && errno == EINTR);
	close(fd);
}

static int
open_one_at_a_time(const struct lc__env *env, unsigned flags)
{
	char *path = lc__path_join(env->path, "data.mdb");
	const int fd = path != NULL ? lc__open(path, O_RDONLY) : -1;
	int rc;

	free(path);
	if (fd != -1)
		lc__env_lock_opening(fd);
	wait_for_dying(env);
	lc__fds_hold();
	rc = mdb_env_open(env->mdb, env->path, flags, 0666);
	lc__fds_release();
	if (fd != -1) {
		lc__env_unlock_opening(fd);
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

static const char *const table_names[LC__TABLES] = {
	[LC__META] = "meta", [LC__SCHEMA] = "schema", [LC__CHUNK] = "chunk",
	[LC__LEDGER] = "ledger", [LC__INDEX] = "index",
	[LC__INPUT] = "input", [LC__ORDER] = "order",
};

int
lc__env_open_table(MDB_txn *txn, enum lc__table table, unsigned flags,
    MDB_dbi *out)
{
	const unsigned kind = table == LC__META ? 0 : MDB_INTEGERKEY;
	unsigned stored;
	int rc = mdb_dbi_open(txn, table_names[table], flags | kind, out);

	if (rc == 0)
		rc = mdb_dbi_flags(txn, *out, &stored);
	/* LMDB goes by the stored flags, whatever it was told. */
	return rc == 0 && stored != kind ? MDB_CORRUPTED : rc;
}

/* Open all tables; *failed gets the first one that does not open. */
static int
open_tables(struct lc__env *env, MDB_txn *txn, unsigned flags, enum lc__table *failed)
{
	int rc = 0;

	for (int i = 0; i < LC__TABLES && rc == 0; i++) {
		*failed = (enum lc__table)i;
		rc = lc__env_open_table(txn, *failed, flags, &env->tables[i]);
	}
	return rc;
}

/* The structure that LMDB relies on: checked before it walks the file. */
static lc_status
check_pages(struct lc__env *env, const struct lc__pages_options *options)
{
	char *path = lc__path_join(env->path, "data.mdb");
	struct lc__pages_report report;
	lc_status status;
	int fd;

	if (path == NULL)
		return lc__no_memory(env->dir);
	fd = lc__open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	if (fd == -1)
		status = lc__error_sys(errno, "%s: open", path);
	else
		status = lc__pages_check(fd, path, options, &report);
	if (fd != -1)
		close(fd);
	free(path);
	return status;
}

/* What a module's tables look like, for the check. */
static const struct lc__pages_table page_tables[LC__TABLES] = {
	{ "meta", 0, 0 }, { "schema", MDB_INTEGERKEY, 4 },
	{ "chunk", MDB_INTEGERKEY, 8 }, { "ledger", MDB_INTEGERKEY, 8 },
	{ "index", MDB_INTEGERKEY, 8 }, { "input", MDB_INTEGERKEY, 8 },
	{ "order", MDB_INTEGERKEY, 8 },
};

/* Enough for a module of some 100 GB in chunks of 4 MiB; beyond, opening would
 * take longer than its users wait. `cachex verify` looks at all. */
#define CHECKED_PAGES 8192

static lc_status
check_pages_at_open(struct lc__env *env)
{
	const struct lc__pages_options options = {
		.free_list = !env->read_only, .max_pages = CHECKED_PAGES
	};

	return check_pages(env, &options);
}

lc_status
lc__env_check_pages(struct lc__env *env, void (*damage)(void *, const char *),
    void *ctx)
{
	const struct lc__pages_options options = {
		.thorough = true, .tables = page_tables,
		.table_count = LC__TABLES, .damage = damage, .damage_ctx = ctx
	};

	return check_pages(env, &options);
}

/* Begin a transaction; another process may have let the file grow since the
 * environment was opened. */
static int
begin(struct lc__env *env, unsigned flags, MDB_txn **txn)
{
	int rc = mdb_txn_begin(env->mdb, NULL, flags, txn);

	for (int i = 0; i < 8 && rc == MDB_MAP_RESIZED; i++) {
		rc = mdb_env_set_mapsize(env->mdb, 0);
		if (rc == 0)
			rc = mdb_txn_begin(env->mdb, NULL, flags, txn);
	}
	return rc;
}

lc_status
lc__env_put_module_row(struct lc__txn *txn)
{
	struct lc__module_row described = {
		.format = LC__FORMAT, .created_ms = lc__clock_wall_ms()
	};
	struct lc__buf row = { 0 };
	lc_status status;

	if (getrandom(described.uuid, sizeof(described.uuid), 0) !=
	    sizeof(described.uuid))
		return lc__error_sys(errno, "%s: random uuid", txn->env->dir);
	lc__module_encode(&described, &row);
	status = row.failed ? lc__no_memory(txn->env->dir) :
	    lc__txn_put_meta(txn, "module", row.data, row.size);
	lc__buf_free(&row);
	return status;
}

/* A module has all rows of meta from its making on, but that of inputs: so that one
 * that is missing is known to be lost. */
static lc_status
put_first_rows(struct lc__env *env, MDB_txn *txn, lc__first_rows *first_rows)
{
	const struct lc__state state = { .next_chunk = 1, .next_run = 1 };
	struct lc__txn wrapped = { .env = env, .mdb = txn };
	struct lc__buf row = { 0 };
	lc_status status = lc__env_put_module_row(&wrapped);

	if (status == LC_OK && !lc__state_encode(&state, &row))
		status = lc__no_memory(env->dir);
	if (status == LC_OK)
		status = lc__txn_put_meta(&wrapped, "state", row.data, row.size);
	lc__buf_free(&row);
	return status == LC_OK ? first_rows(&wrapped) : status;
}

/* Make an empty environment a module, unless another process just did. */
static lc_status
make_module(struct lc__env *env, lc__first_rows *first_rows)
{
	enum lc__table failed;
	MDB_txn *txn;
	MDB_stat stat;
	lc_status status = LC_OK;
	int rc;

	/* The first pages of the file before all others: see lc__env_is_unfinished(). */
	rc = mdb_env_sync(env->mdb, 1);
	if (rc == 0)
		rc = begin(env, 0, &txn);
	if (rc != 0)
		return lc__env_error(env, rc, "make");
	rc = open_tables(env, txn, MDB_CREATE, &failed);
	if (rc == 0)
		rc = mdb_stat(txn, env->tables[LC__META], &stat);
	if (rc != 0)
		status = lc__env_error(env, rc, "make");
	else if (stat.ms_entries == 0)
		status = put_first_rows(env, txn, first_rows);
	/* Before the commit: whoever finds a module may rely on its directory. */
	if (status == LC_OK)
		status = lc__sync_dir(env->path);
	if (status == LC_OK)
		status = lc__sync_parent(env->path);
	if (status != LC_OK) {
		mdb_txn_abort(txn);
		return status;
	}
	rc = mdb_txn_commit(txn);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "make");
}

static lc_status
read_module_row(struct lc__env *env, MDB_txn *txn)
{
	struct lc__txn wrapped = { .env = env, .mdb = txn };
	struct lc__module_row module;
	struct lc__slice row;
	lc_status status;

	if (lc__txn_get_meta(&wrapped, "module", &row) != LC_OK)
		return lc__error(LC_CORRUPT, 0,
		    "%s: the module's description is missing", env->dir);
	status = lc__module_decode(row.data, row.size, &module);
	if (status == LC_VERSION)
		return lc__error_prefix("%s", env->dir);
	if (status != LC_OK)
		return lc__error_prefix("%s: the module's description", env->dir);
	/* Read without a lock: written by the first opening only. */
	if (env->module.format == 0)
		env->module = module;
	return LC_OK;
}

/* In the copy that is mended, with the tables open. */
static lc_status
mend_module_row(struct lc__env *env)
{
	struct lc__txn wrapped = { .env = env };
	enum lc__table failed;
	lc_status status;
	int rc = begin(env, 0, &wrapped.mdb);

	if (rc != 0)
		return lc__env_error(env, rc, "begin to write");
	rc = open_tables(env, wrapped.mdb, 0, &failed);
	status = rc != 0 ? lc__env_error(env, rc, "open") :
	    lc__env_mend_module_row(&wrapped, &env->mended);
	if (status != LC_OK) {
		mdb_txn_abort(wrapped.mdb);
		return status;
	}
	rc = mdb_txn_commit(wrapped.mdb);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "commit");
}

/* Open the tables of a module. The module row is read first: a module of another format
 * may have other tables. */
static lc_status
open_all(struct lc__env *env, MDB_txn *txn)
{
	enum lc__table failed = LC__META;
	lc_status row = LC_NOT_MODULE;
	int rc = lc__env_open_table(txn, LC__META, 0, &env->tables[LC__META]);

	if (rc == 0) {
		row = read_module_row(env, txn);
		if (row == LC_VERSION)
			return row;
		rc = open_tables(env, txn, 0, &failed);
	}
	if (rc == 0)
		return row;
	if (rc != MDB_NOTFOUND && rc != MDB_INCOMPATIBLE)
		return lc__env_error(env, rc, "open");
	if (row == LC_OK)
		return lc__error(LC_CORRUPT, rc, "%s: table %s is missing", env->dir,
		    table_names[failed]);
	return lc__error(LC_NOT_MODULE, rc,
	    "%s: an LMDB environment, but not a module", env->dir);
}

/* Open the tables; *empty says that there is nothing at all yet. */
static lc_status
open_module(struct lc__env *env, bool *empty)
{
	MDB_txn *txn;
	MDB_dbi main_table;
	MDB_stat stat;
	lc_status status;
	int rc = begin(env, MDB_RDONLY, &txn);

	*empty = false;
	if (rc != 0)
		return lc__env_error(env, rc, "open");
	status = check_pages_at_open(env);
	if (status != LC_OK) {
		mdb_txn_abort(txn);
		return status;
	}
	rc = mdb_dbi_open(txn, NULL, 0, &main_table);
	if (rc == 0)
		rc = mdb_stat(txn, main_table, &stat);
	if (rc == 0 && stat.ms_entries == 0) {
		*empty = true;
		mdb_txn_abort(txn);
		return LC_OK;
	}
	status = rc == 0 ? open_all(env, txn) : lc__env_error(env, rc, "open");
	if (status != LC_OK) {
		mdb_txn_abort(txn);
		return status;
	}
	/* A commit keeps the table handles, an abort would close them. */
	rc = mdb_txn_commit(txn);
	return rc == 0 ? LC_OK : lc__env_error(env, rc, "open");
}

static lc_status
open_or_mend(struct lc__env *env, bool *empty)
{
	const lc_status status = open_module(env, empty);

	if (status != LC_CORRUPT || !env->mends)
		return status;
	/* If it is not the module row, this says so again. */
	return_if_error(check_pages_at_open(env));
	return_if_error(mend_module_row(env));
	return open_module(env, empty);
}

static lc_status
attach_tables(struct lc__env *env, lc__first_rows *first_rows)
{
	MDB_stat stat;
	bool empty;
	int dead;

	mdb_env_stat(env->mdb, &stat);
	/* Read without a lock: written by the first opening only. */
	if (env->page_size == 0)
		env->page_size = stat.ms_psize;
	mdb_reader_check(env->mdb, &dead);
	return_if_error(open_or_mend(env, &empty));
	if (!empty)
		return LC_OK;
	if (first_rows == NULL)
		return lc__error(LC_NOT_MODULE, 0,
		    "%s: an empty LMDB environment, not a module", env->dir);
	return_if_error(make_module(env, first_rows));
	return open_module(env, &empty);
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
		return lc__error_sys(rc, "%s: data.mdb is gone since it was "
		    "opened", env->dir);
	if (st.st_dev != env->device || st.st_ino != env->inode)
		return lc__error(LC_IO, 0, "%s: data.mdb is another file than "
		    "when it was opened", env->dir);
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
		return lc__error(LC_BUSY, 0, "%s: data.mdb is being replaced",
		    env->dir);
	return LC_OK;
}

/*
 * LMDB opens both files by their names, whatever they have become since they were
 * looked at. Data that is another file then is noticed, and nothing is written to it.
 * Of the lock file LMDB does not tell: who may rename files in the directory at that
 * moment can make LMDB write a lock file's header over another file of this user.
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
		status = attach_tables(env, first_rows);
	if (status != LC_OK) {
		mdb_env_close(env->mdb);
		env->mdb = NULL;
	}
	return status;
}

/* Environments of parent processes: closing one would free the parent's reader
 * slots. They are kept in sight only for the sake of leak checkers. */
static struct abandoned {
	struct abandoned *next;
	MDB_env *mdb;
} *abandoned;

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

