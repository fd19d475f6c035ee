/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The late tables: modules of earlier versions lack them until somebody needs them.
 * LMDB opens tables within a transaction that must end before another one opens any,
 * which the lock of tables sees to.
 */
#include <stdlib.h>

#include "base/error.h"
#include "env/env_private.h"

bool
lc__env_has_late(const struct lc__env *env)
{
	return atomic_load(&env->has_late);
}

/* Open them in a transaction, which keeps them when it is committed. */
static int
open_late(MDB_txn *txn, unsigned flags, MDB_dbi *tables)
{
	int rc = 0;

	for (int i = LC__LATE_TABLES; i < LC__TABLES && rc == 0; i++)
		rc = lc__env_open_table(txn, (enum lc__table)i, flags,
		    &tables[i]);
	return rc;
}

static void
keep_late(struct lc__env *env, const MDB_dbi *tables)
{
	for (int i = LC__LATE_TABLES; i < LC__TABLES; i++)
		env->tables[i] = tables[i];
	atomic_store(&env->has_late, true);
}

/* With the lock of tables. Ends the transaction's LMDB part. */
static lc_status
find_locked(struct lc__txn *txn)
{
	MDB_dbi tables[LC__TABLES];
	int rc = open_late(txn->mdb, 0, tables);

	if (rc == 0) {
		rc = mdb_txn_commit(txn->mdb);
		txn->mdb = NULL;
	}
	if (rc == 0)
		keep_late(txn->env, tables);
	return rc == 0 || rc == MDB_NOTFOUND ? LC_OK :
	    lc__env_error(txn->env, rc, "open");
}

lc_status
lc__env_find_late(struct lc__env *env)
{
	struct lc__txn *txn;
	lc_status status;

	lc__env_lock(env);
	status = lc__env_enter(env);
	lc__env_unlock(env);
	if (status == LC_OK)
		status = lc__txn_begin_read(env, &txn);
	return_if_error(status);
	pthread_mutex_lock(&env->tables_lock);
	if (!lc__env_has_late(env))
		status = find_locked(txn);
	/* Before the unlock: an abort closes what was opened in it. */
	lc__txn_abort(txn);
	pthread_mutex_unlock(&env->tables_lock);
	return status;
}

/* With the lock of tables; frees the transaction. */
static lc_status
make_locked(struct lc__txn *txn)
{
	struct lc__env *env = txn->env;
	MDB_dbi tables[LC__TABLES];
	lc_status status = LC_OK;
	int rc;

	if (lc__env_has_late(env)) {
		lc__txn_abort(txn);
		return LC_OK;
	}
	rc = open_late(txn->mdb, MDB_CREATE, tables);
	if (rc != 0) {
		status = lc__env_error(env, rc, "make tables");
		lc__txn_abort(txn);
		return status;
	}
	status = lc__txn_commit(txn);
	if (status == LC_OK)
		keep_late(env, tables);
	return status;
}

static lc_status
make_once(struct lc__env *env)
{
	struct lc__txn *txn;
	lc_status status;

	return_if_error(lc__txn_begin_write(env, LC_DURABLE_FULL, &txn));
	pthread_mutex_lock(&env->tables_lock);
	status = make_locked(txn);
	pthread_mutex_unlock(&env->tables_lock);
	return status;
}

lc_status
lc__env_make_late(struct lc__env *env)
{
	lc_status status;

	if (lc__env_has_late(env))
		return LC_OK;
	status = make_once(env);
	while (status == LC_MAP_FULL) {
		return_if_error(lc__env_grow(env));
		status = make_once(env);
	}
	return status;
}
