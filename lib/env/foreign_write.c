/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/foreign_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "env/env_private.h"

#define MAP ((uint64_t)1 << 30)  /* the first map */
#define BATCH ((uint64_t)64 << 20) /* bytes of values in a transaction */
#define PAGES 12                 /* that a put changes in the tree, at most */
#define MAX_VALUE ((uint64_t)1 << 31)

struct lc__foreign_writer {
	char *path;      /* for messages */
	MDB_env *mdb;
	MDB_txn *txn;    /* NULL between two */
	MDB_dbi table;
	uint64_t page;   /* its size */
	uint64_t map;    /* bytes mapped */
	uint64_t room;   /* in the map that the transaction may use */
	uint64_t used;   /* of it, at most */
	uint64_t batch;  /* bytes of values in the transaction */
};

static lc_status
failed(const struct lc__foreign_writer *w, int rc, const char *what)
{
	return lc__mdb_error(w->path, rc, what);
}

static lc_status
commit(struct lc__foreign_writer *w)
{
	MDB_txn *txn = w->txn;
	int rc;

	w->txn = NULL;
	rc = txn == NULL ? 0 : mdb_txn_commit(txn);
	return rc == 0 ? LC_OK : failed(w, rc, "commit");
}

/* Begin with room for so many bytes. The map grows between transactions, before LMDB
 * finds it full, after which a transaction can only be begun anew. */
static lc_status
begin(struct lc__foreign_writer *w, uint64_t need)
{
	MDB_envinfo info;
	uint64_t size;
	int rc = mdb_env_info(w->mdb, &info);

	if (rc != 0)
		return failed(w, rc, "look at");
	size = ((uint64_t)info.me_last_pgno + 1) * w->page;
	if (size + need > w->map) {
		w->map = (2 * (size + need) + MAP - 1) / MAP * MAP;
		rc = mdb_env_set_mapsize(w->mdb, (size_t)w->map);
	}
	if (rc == 0)
		rc = mdb_txn_begin(w->mdb, NULL, 0, &w->txn);
	if (rc == 0)
		rc = mdb_dbi_open(w->txn, NULL, 0, &w->table);
	if (rc != 0)
		return failed(w, rc, "begin to write");
	w->room = w->map - size;
	w->used = w->batch = 0;
	return LC_OK;
}

static lc_status
open_file(struct lc__foreign_writer *w, const char *file)
{
	MDB_stat stat;
	int rc = mdb_env_create(&w->mdb);

	if (rc != 0)
		return failed(w, rc, "open");
	w->map = MAP;
	mdb_env_set_mapsize(w->mdb, (size_t)w->map);
	lc__fds_hold();
	rc = mdb_env_open(w->mdb, file, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC |
	    MDB_NOTLS, 0666);
	lc__fds_release();
	if (rc == 0)
		rc = mdb_env_stat(w->mdb, &stat);
	if (rc != 0)
		return failed(w, rc, "open");
	w->page = stat.ms_psize;
	return begin(w, (uint64_t)PAGES * w->page);
}

lc_status
lc__foreign_create(const char *file, const char *path, struct lc__foreign_writer **out)
{
	struct lc__foreign_writer *w = calloc(1, sizeof(*w));
	lc_status status = LC_OK;

	if (w != NULL)
		w->path = strdup(path);
	if (w == NULL || w->path == NULL)
		status = lc__no_memory(path);
	if (status == LC_OK)
		status = open_file(w, file);
	if (status == LC_OK)
		*out = w;
	else
		lc__foreign_discard(w);
	return status;
}

lc_status
lc__foreign_put(struct lc__foreign_writer *w, lc_id key, lc_id head, lc_id body)
{
	MDB_val name = { key.size, (void *)(uintptr_t)key.data };
	MDB_val value = { head.size + body.size, NULL };
	uint64_t need;
	int rc;

	if (body.size >= MAX_VALUE || value.mv_size >= MAX_VALUE)
		return lc__error(LC_UNSUPPORTED, 0, "%zu bytes, of which LMDB takes less "
		    "than 2 GiB in a value", body.size);
	need = value.mv_size + (uint64_t)PAGES * w->page;
	if (w->used + need > w->room || w->batch >= BATCH) {
		return_if_error(commit(w));
		return_if_error(begin(w, need));
	}
	w->used += need;
	w->batch += value.mv_size;
	rc = mdb_put(w->txn, w->table, &name, &value, MDB_NOOVERWRITE | MDB_RESERVE);
	if (rc != 0)
		return failed(w, rc, "write");
	if (head.size > 0)
		memcpy(value.mv_data, head.data, head.size);
	if (body.size > 0)
		memcpy((char *)value.mv_data + head.size, body.data, body.size);
	return LC_OK;
}

lc_status
lc__foreign_finish(struct lc__foreign_writer *w)
{
	const lc_status status = commit(w);

	lc__foreign_discard(w);
	return status;
}

void
lc__foreign_discard(struct lc__foreign_writer *w)
{
	if (w == NULL)
		return;
	if (w->txn != NULL)
		mdb_txn_abort(w->txn);
	if (w->mdb != NULL)
		mdb_env_close(w->mdb);
	free(w->path);
	free(w);
}
