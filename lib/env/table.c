/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the tables, and what LMDB tells of them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "env/env_private.h"
#include "pages/pages.h"

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

/* LMDB frees as many pages as the header before a large value says when it is
 * deleted or replaced. A value that this transaction wrote is not in the map yet,
 * and right. */
static lc_status
check_before_free(struct lc__txn *txn, const struct lc__slice *value)
{
	const uintptr_t base = (uintptr_t)txn->base;
	const uintptr_t at = (uintptr_t)value->data;

	if (at < base || at - base >= txn->map_size)
		return LC_OK;
	return lc__pages_check_value(txn->base, txn->env->page_size, value->data,
	    value->size);
}

static lc_status
put_row(struct lc__txn *txn, enum lc__table table, MDB_val *key,
    const void *data, size_t size)
{
	MDB_val value = { size, (void *)(uintptr_t)data };
	struct lc__slice old;
	int rc;

	if (get_row(txn, table, key, &old) == LC_OK)
		return_if_error(check_before_free(txn, &old));
	rc = mdb_put(txn->mdb, txn->env->tables[table], key, &value, 0);
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

/* A value that the caller will fill. */
static lc_status
reserve_row(struct lc__txn *txn, enum lc__table table, uint64_t key,
    size_t size, unsigned flag, unsigned char **out)
{
	struct int_key k;
	MDB_val value = { size, NULL };
	const int rc = mdb_put(txn->mdb, txn->env->tables[table],
	    int_key(&k, table, key), &value, MDB_RESERVE | flag);

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

lc_status
lc__txn_append(struct lc__txn *txn, enum lc__table table, uint64_t key,
    size_t size, unsigned char **out)
{
	return reserve_row(txn, table, key, size, MDB_APPEND, out);
}

lc_status
lc__txn_insert(struct lc__txn *txn, enum lc__table table, uint64_t key,
    size_t size, unsigned char **out)
{
	return reserve_row(txn, table, key, size, MDB_NOOVERWRITE, out);
}

lc_status
lc__txn_delete(struct lc__txn *txn, enum lc__table table, uint64_t key)
{
	struct lc__slice value = { NULL, 0 };
	struct int_key k;
	int rc;

	return_if_error(lc__txn_get(txn, table, key, &value));
	return_if_error(check_before_free(txn, &value));
	rc = mdb_del(txn->mdb, txn->env->tables[table], int_key(&k, table, key),
	    NULL);
	return rc == 0 ? LC_OK : lc__env_error(txn->env, rc, "delete");
}

/* Every value is checked before: LMDB drops them by what their headers say. */
static lc_status
check_before_clear(struct lc__txn *txn, MDB_cursor *cursor)
{
	MDB_val key, value;
	int rc;

	while ((rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		const struct lc__slice slice = { value.mv_data, value.mv_size };

		return_if_error(check_before_free(txn, &slice));
	}
	return rc == MDB_NOTFOUND ? LC_OK :
	    lc__env_error(txn->env, rc, "walk");
}

lc_status
lc__txn_clear(struct lc__txn *txn, enum lc__table table)
{
	const MDB_dbi dbi = txn->env->tables[table];
	MDB_cursor *cursor;
	lc_status status;
	int rc = mdb_cursor_open(txn->mdb, dbi, &cursor);

	if (rc != 0)
		return lc__env_error(txn->env, rc, "clear");
	status = check_before_clear(txn, cursor);
	mdb_cursor_close(cursor);
	return_if_error(status);
	rc = mdb_drop(txn->mdb, dbi, 0);
	return rc == 0 ? LC_OK : lc__env_error(txn->env, rc, "clear");
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

static lc_status
delete_meta(struct lc__txn *txn, MDB_val *key)
{
	struct lc__slice value = { NULL, 0 };
	lc_status status = get_row(txn, LC__META, key, &value);
	int rc;

	if (status == LC_NOT_FOUND)
		return LC_OK;
	if (status == LC_OK)
		status = check_before_free(txn, &value);
	return_if_error(status);
	rc = mdb_del(txn->mdb, txn->env->tables[LC__META], key, NULL);
	return rc == 0 ? LC_OK : lc__env_error(txn->env, rc, "delete");
}

lc_status
lc__txn_delete_meta(struct lc__txn *txn, const char *name)
{
	MDB_val key = { strlen(name), (void *)(uintptr_t)name };

	return delete_meta(txn, &key);
}

lc_status
lc__txn_nth_meta(struct lc__txn *txn, uint64_t n, struct lc__slice *name,
    struct lc__slice *row)
{
	MDB_val key, value;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(txn->mdb, txn->env->tables[LC__META], &cursor);

	if (rc != 0)
		return lc__env_error(txn->env, rc, "walk");
	for (uint64_t i = 0; i <= n && rc == 0; i++)
		rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND)
		return LC_END;
	if (rc != 0)
		return lc__env_error(txn->env, rc, "walk");
	*name = (struct lc__slice){ key.mv_data, key.mv_size };
	*row = (struct lc__slice){ value.mv_data, value.mv_size };
	return LC_OK;
}

lc_status
lc__txn_rename_meta(struct lc__txn *txn, const struct lc__slice *from,
    const char *to)
{
	MDB_val key = { from->size, (void *)(uintptr_t)from->data };
	struct lc__slice row = { NULL, 0 }, other = { NULL, 0 };
	struct lc__buf copy = { 0 };
	bool both = false;
	lc_status status = get_row(txn, LC__META, &key, &row);

	if (status == LC_OK && to != NULL) {
		status = lc__txn_get_meta(txn, to, &other);
		both = status == LC_OK;
		status = status == LC_NOT_FOUND ? LC_OK : status;
	}
	/* LMDB moves the rows when another one is written. */
	lc__buf_append(&copy, from->data, from->size);
	lc__buf_append(&copy, row.data, row.size);
	lc__buf_append(&copy, other.data, other.size);
	if (status == LC_OK && copy.failed)
		status = lc__no_memory(NULL);
	key.mv_data = copy.data;
	if (status == LC_OK && to != NULL)
		status = lc__txn_put_meta(txn, to, copy.data + from->size,
		    row.size);
	if (status == LC_OK && both)
		status = put_row(txn, LC__META, &key,
		    copy.data + from->size + row.size, other.size);
	else if (status == LC_OK)
		status = delete_meta(txn, &key);
	lc__buf_free(&copy);
	return status;
}

lc_status
lc__txn_seek(struct lc__txn *txn, enum lc__table table, uint64_t key,
    uint64_t *found, struct lc__slice *out)
{
	struct int_key k;
	MDB_val at, value;
	MDB_cursor *cursor;
	int rc;

	if (table == LC__SCHEMA && key > UINT32_MAX)
		return LC_END;
	rc = mdb_cursor_open(txn->mdb, txn->env->tables[table], &cursor);
	if (rc != 0)
		return lc__env_error(txn->env, rc, "walk");
	at = *int_key(&k, table, key);
	rc = mdb_cursor_get(cursor, &at, &value, MDB_SET_RANGE);
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND)
		return LC_END;
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
lc__txn_seek_after(struct lc__txn *txn, enum lc__table table, uint64_t key,
    uint64_t *found, struct lc__slice *out)
{
	return key == UINT64_MAX ? LC_END :
	    lc__txn_seek(txn, table, key + 1, found, out);
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

uint64_t
lc__env_file_bytes(struct lc__env *env)
{
	MDB_envinfo info;

	mdb_env_info(env->mdb, &info);
	return ((uint64_t)info.me_last_pgno + 1) * env->page_size;
}

lc_status
lc__env_stat(struct lc__env *env, struct lc__txn *txn,
    struct lc__env_stats *out)
{
	MDB_envinfo info;
	uint64_t free_pages = 0;

	mdb_env_info(env->mdb, &info);
	return_if_error(count_free_pages(txn, &free_pages));
	out->file_bytes = lc__env_file_bytes(env);
	out->free_bytes = free_pages * env->page_size;
	out->map_bytes = info.me_mapsize;
	/* me_numreaders is how many there ever were at once. */
	out->readers = 0;
	mdb_reader_list(env->mdb, count_reader, &out->readers);
	out->max_readers = info.me_maxreaders;
	return LC_OK;
}

