/* SPDX-License-Identifier: BSD-2-Clause */
/* The module in an LMDB environment: checking, creating and repairing it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "env/env_private.h"

/* ---- pages ---------------------------------------------------------------- */

/* Check the structure that LMDB relies on. */
static lc_status
check_pages(struct lc__env *env, const struct lc__pages_options *options,
    struct lc__pages_report *report)
{
	char *path = lc__path_join(env->path, "data.mdb");
	lc_status status;
	int fd, rc;

	if (path == NULL)
		return lc__no_memory(env->dir);
	rc = mdb_env_get_fd(env->mdb, &fd);
	status = rc == 0 ? lc__pages_check(fd, path, options, report)
			 : lc__env_error(env, rc, "check");
	if (status == LC_OK)
		env->pages_checked += report->tree_pages;
	free(path);
	return status;
}

/* How many pages are checked at open: all pages of a module with some thousand chunks.
 * Larger tables are checked as they are read, and before anything is written. */
#define CHECKED_AT_OPEN 64

/* Check the pages that LMDB walks to read, and the others if they are few. The address
 * where LMDB maps the file is known only if pages are not larger than the system's:
 * otherwise LMDB reads the rows, and everything is checked here. */
static lc_status
check_pages_at_open(struct lc__env *env)
{
	const bool small_pages = env->page_size <= (uint64_t)sysconf(_SC_PAGESIZE);
	const struct lc__pages_options options = {
		.free_list = !env->read_only,
		.max_pages = small_pages ? CHECKED_AT_OPEN : 0,
	};
	struct lc__pages_report report;

	return_if_error(check_pages(env, &options, &report));
	if (!report.main_complete)
		return lc__error(LC_NOT_MODULE, 0,
		    "%s: an LMDB environment, but not a module", env->dir);
	env->reads_rows = small_pages;
	atomic_store(&env->checked, report.complete && !env->read_only);
	return LC_OK;
}

lc_status
lc__env_check_to_write(struct lc__env *env)
{
	const struct lc__pages_options options = { .free_list = true };
	struct lc__pages_report report;

	if (atomic_load(&env->checked))
		return LC_OK;
	return_if_error(check_pages(env, &options, &report));
	atomic_store(&env->checked, true);
	return LC_OK;
}

lc_status
lc__env_free_pages(struct lc__env *env, uint64_t *out)
{
	const struct lc__pages_options options = {
		.free_list = true,
		.main_only = true,
	};
	struct lc__pages_report report;

	return_if_error(check_pages(env, &options, &report));
	*out = report.free_pages;
	return LC_OK;
}

lc_status
lc__env_check_pages(struct lc__env *env, void (*damage)(void *, const char *), void *ctx)
{
	const struct lc__pages_options options = {
		.thorough = true,
		.tables = lc__env_tables,
		.table_count = LC__TABLES,
		.damage = damage,
		.damage_ctx = ctx,
	};
	struct lc__pages_report report;

	return_if_error(check_pages(env, &options, &report));
	atomic_store(&env->checked, true);
	return LC_OK;
}

/* ---- the module row --------------------------------------------------------- */

/* Put a module row with a new uuid. */
static lc_status
put_module_row(struct lc__txn *txn)
{
	struct lc__module_row described = {
		.format = LC__FORMAT,
		.created_ms = lc__clock_wall_ms(),
	};
	struct lc__buf row = { 0 };
	lc_status status;

	if (getrandom(described.uuid, sizeof(described.uuid), 0) !=
	    sizeof(described.uuid))
		return lc__error_sys(errno, "%s: random uuid", txn->env->dir);
	lc__module_encode(&described, &row);
	status = row.failed ? lc__no_memory(txn->env->dir)
			    : lc__txn_put_meta(txn, "module", row.data, row.size);
	lc__buf_free(&row);
	return status;
}

static lc_status
read_module_row(struct lc__env *env, MDB_txn *txn)
{
	struct lc__txn wrapped = { .env = env, .mdb = txn };
	struct lc__module_row module;
	struct lc__slice row;
	lc_status status;

	status = lc__txn_get_meta(&wrapped, "module", &row);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: the module's description is missing",
		    env->dir);
	return_if_error(status);
	status = lc__module_decode(row.data, row.size, &module);
	if (status == LC_VERSION)
		return lc__error_prefix("%s", env->dir);
	if (status != LC_OK)
		return lc__error_prefix("%s: the module's description", env->dir);
	/* Read without a lock: only the first opening writes it. */
	if (env->module.format == 0)
		env->module = module;
	return LC_OK;
}

/* Is it an intact module row, possibly of a later format? */
static bool
is_module_row(const void *bytes, size_t size)
{
	struct lc__module_row module;
	const lc_status status = lc__module_decode(bytes, size, &module);

	return status == LC_OK || status == LC_VERSION;
}

static lc_status
put_mended(struct lc__txn *txn, const struct lc__slice *row, bool *done)
{
	struct lc__buf copy = { 0 };
	lc_status status = LC_OK;

	lc__buf_append(&copy, row->data, row->size);
	if (copy.failed)
		status = lc__no_memory(txn->env->dir);
	else if (lc__row_mend(copy.data, copy.size, lc__row_seed("module")) &&
	    is_module_row(copy.data, copy.size))
		*done = true;
	if (status == LC_OK && *done)
		status = lc__txn_put_meta(txn, "module", copy.data, copy.size);
	lc__buf_free(&copy);
	return status;
}

/* The row may have another name: its checksum shows that it is the module row. */
static lc_status
find_renamed(struct lc__txn *txn, bool *done)
{
	struct lc__slice name, row;
	lc_status status = LC_OK;

	for (uint64_t i = 0; status == LC_OK && !*done; i++) {
		status = lc__txn_nth_meta(txn, i, &name, &row);
		*done = status == LC_OK && is_module_row(row.data, row.size);
	}
	if (*done)
		return lc__txn_rename_meta(txn, &name, "module");
	return status == LC_END ? LC_OK : status;
}

/* Repair the module row, or write a new one with another uuid; *mended tells which. */
static lc_status
mend_module_row(struct lc__txn *txn, enum lc__mended *mended)
{
	struct lc__slice row;
	bool done = false;
	lc_status status = lc__txn_get_meta(txn, "module", &row);

	*mended = LC__MENDED;
	if (status == LC_OK && is_module_row(row.data, row.size))
		return LC_OK;
	if (status == LC_OK || status == LC_NOT_FOUND)
		status = find_renamed(txn, &done);
	if (status == LC_OK && !done)
		status = lc__txn_get_meta(txn, "module", &row);
	if (status == LC_OK && !done)
		status = put_mended(txn, &row, &done);
	if ((status != LC_OK && status != LC_NOT_FOUND) || done)
		return status;
	*mended = LC__MENDED_LOST;
	return put_module_row(txn);
}

/* ---- creating a module ----------------------------------------------------------- */

/* Begin a transaction; another process may have enlarged the file since the environment
 * was opened. */
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

/* A new module has all rows of meta except that of inputs, so that a missing row is known
 * to be lost. */
static lc_status
put_first_rows(struct lc__env *env, MDB_txn *txn, lc__first_rows *first_rows)
{
	const struct lc__state state = { .next_chunk = 1, .next_run = 1 };
	struct lc__txn wrapped = { .env = env, .mdb = txn, .write = true };
	struct lc__buf row = { 0 };
	lc_status status = put_module_row(&wrapped);

	if (status == LC_OK && !lc__state_encode(&state, &row))
		status = lc__no_memory(env->dir);
	if (status == LC_OK)
		status = lc__txn_put_meta(&wrapped, "state", row.data, row.size);
	lc__buf_free(&row);
	return status == LC_OK ? first_rows(&wrapped) : status;
}

/* Turn an empty environment into a module, unless another process has just done so. */
static lc_status
make_module(struct lc__env *env, lc__first_rows *first_rows)
{
	const char *failed;
	MDB_txn *txn;
	MDB_stat stat;
	lc_status status = LC_OK;
	int rc;

	/* Sync the first pages of the file before all others: see datafile.c. */
	rc = mdb_env_sync(env->mdb, 1);
	if (rc == 0)
		rc = begin(env, 0, &txn);
	if (rc != 0)
		return lc__env_error(env, rc, "make");
	status = lc__env_check_to_write(env);
	if (status == LC_OK) {
		rc = lc__env_open_tables(env, txn, MDB_CREATE, &failed);
		if (rc == 0)
			rc = mdb_stat(txn, env->tables[LC__META], &stat);
		if (rc != 0)
			status = lc__env_error(env, rc, "make");
		else if (stat.ms_entries == 0)
			status = put_first_rows(env, txn, first_rows);
	}
	/* Before the commit: a process that finds a module relies on its directory. */
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

/* ---- opening it ------------------------------------------------------------- */

/* For the copy under repair, with the tables open. */
static lc_status
mend_module(struct lc__env *env)
{
	struct lc__txn wrapped = { .env = env, .write = true };
	const char *failed;
	lc_status status;
	int rc = begin(env, 0, &wrapped.mdb);

	if (rc != 0)
		return lc__env_error(env, rc, "begin to write");
	status = lc__env_check_to_write(env);
	if (status == LC_OK) {
		rc = lc__env_open_tables(env, wrapped.mdb, 0, &failed);
		status = rc != 0 ? lc__env_error(env, rc, "open")
				 : mend_module_row(&wrapped, &env->mended);
	}
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
	const char *failed = NULL;
	lc_status row = LC_NOT_MODULE;
	int rc = lc__env_open_table(txn, LC__META, 0, &env->tables[LC__META]);

	if (rc == 0) {
		row = read_module_row(env, txn);
		if (row == LC_VERSION)
			return row;
		rc = lc__env_open_tables(env, txn, 0, &failed);
	}
	if (rc == 0)
		return row;
	if (rc != MDB_NOTFOUND && rc != MDB_INCOMPATIBLE)
		return lc__env_error(env, rc, "open");
	if (row == LC_OK)
		return lc__error(LC_CORRUPT, rc, "%s: table %s is missing", env->dir,
		    failed);
	return lc__error(LC_NOT_MODULE, rc, "%s: an LMDB environment, but not a module",
	    env->dir);
}

/* Open the tables; *empty is set if there is nothing in the environment yet. */
static lc_status
open_module(struct lc__env *env, bool *empty)
{
	MDB_txn *txn;
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
	rc = mdb_dbi_open(txn, NULL, 0, &env->main_table);
	if (rc == 0)
		rc = mdb_stat(txn, env->main_table, &stat);
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

lc_status
lc__env_open_module(struct lc__env *env, lc__first_rows *first_rows)
{
	MDB_stat stat;
	bool empty;
	int dead;
	lc_status status;

	mdb_env_stat(env->mdb, &stat);
	/* Read without a lock: only the first opening writes it. */
	if (env->page_size == 0)
		env->page_size = stat.ms_psize;
	mdb_reader_check(env->mdb, &dead);
	status = open_module(env, &empty);
	if (status == LC_CORRUPT && env->mends) {
		/* If it is not the module row, this reports it again. */
		return_if_error(check_pages_at_open(env));
		return_if_error(mend_module(env));
		status = open_module(env, &empty);
	}
	return_if_error(status);
	if (!empty)
		return LC_OK;
	if (first_rows == NULL)
		return lc__error(LC_NOT_MODULE, 0,
		    "%s: an empty LMDB environment, not a module", env->dir);
	return_if_error(make_module(env, first_rows));
	return open_module(env, &empty);
}
