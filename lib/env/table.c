/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of a module, and their rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "env/env_private.h"

/* ---- tables --------------------------------------------------------------- */

const struct lc__pages_table lc__env_tables[LC__TABLES] = {
	[LC__META] = { "meta", 0, 0 },
	[LC__SCHEMA] = { "schema", MDB_INTEGERKEY, 4 },
	[LC__CHUNK] = { "chunk", MDB_INTEGERKEY, 8 },
	[LC__LEDGER] = { "ledger", MDB_INTEGERKEY, 8 },
	[LC__INDEX] = { "index", MDB_INTEGERKEY, 8 },
	[LC__INPUT] = { "input", MDB_INTEGERKEY, 8 },
	[LC__ORDER] = { "order", MDB_INTEGERKEY, 8 },
};

int
lc__env_open_table(MDB_txn *txn, enum lc__table table, unsigned flags, MDB_dbi *out)
{
	const unsigned kind = lc__env_tables[table].flags;
	unsigned stored;
	int rc = mdb_dbi_open(txn, lc__env_tables[table].name, flags | kind, out);

	if (rc == 0)
		rc = mdb_dbi_flags(txn, *out, &stored);
	/* LMDB uses the stored flags, whatever flags the caller passes. */
	return rc == 0 && stored != kind ? MDB_CORRUPTED : rc;
}

int
lc__env_open_tables(struct lc__env *env, MDB_txn *txn, unsigned flags,
    const char **failed)
{
	int rc = 0;

	for (int i = 0; i < LC__TABLES && rc == 0; i++) {
		*failed = lc__env_tables[i].name;
		rc = lc__env_open_table(txn, (enum lc__table)i, flags, &env->tables[i]);
	}
	return rc;
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

static uint64_t
key_number(enum lc__table table, const unsigned char *key)
{
	struct int_key k;

	if (table == LC__SCHEMA) {
		memcpy(&k.narrow, key, sizeof(k.narrow));
		return k.narrow;
	}
	memcpy(&k.wide, key, sizeof(k.wide));
	return k.wide;
}

/* ---- rows of a snapshot ---------------------------------------------------
 * Read transactions read the rows themselves, which checks the pages on the way: large
 * tables were not checked when the module was opened. LMDB walks the main table alone.
 * LMDB's own functions are for transactions that write, after lc__env_check_to_write(). */

static bool
reads_rows(const struct lc__txn *txn)
{
	return !txn->write && txn->env->reads_rows;
}

void
lc__txn_look_anew(struct lc__txn *txn)
{
	const uint64_t commit = mdb_txn_id(txn->mdb);
	const uint32_t map_version = txn->env->map_version;

	if (txn->commit == commit && txn->map_version == map_version)
		return;
	txn->commit = commit;
	txn->map_version = map_version;
	txn->known = 0;
	txn->placed = false;
}

static lc_status
damaged(const struct lc__txn *txn, enum lc__table table)
{
	return lc__error_prefix("%s/data.mdb: table %s", txn->env->path,
	    lc__quote_id(lc__env_tables[table].name, strlen(lc__env_tables[table].name)));
}

/* The address of the file in memory: derived from a value of the main table. */
static lc_status
find_map(struct lc__txn *txn, const void *leaf_value)
{
	const uint32_t page_size = txn->env->page_size;
	struct lc__page_map *map = &txn->place.map;
	MDB_envinfo info;
	struct stat st;
	uint64_t bytes;
	int fd, rc = mdb_env_get_fd(txn->env->mdb, &fd);

	if (rc != 0)
		return lc__env_error(txn->env, rc, "stat");
	if (fstat(fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", txn->env->dir);
	mdb_env_info(txn->env->mdb, &info);
	bytes = (uint64_t)st.st_size < info.me_mapsize ? (uint64_t)st.st_size
						       : info.me_mapsize;
	map->bytes = lc__pages_base(leaf_value, page_size);
	map->page_size = page_size;
	map->pages = bytes / page_size;
	return LC_OK;
}

/* Find the tree of a table. */
static __attribute__((noinline)) lc_status
find_tree(struct lc__txn *txn, enum lc__table table)
{
	const char *name = lc__env_tables[table].name;
	MDB_val key = { strlen(name), (void *)(uintptr_t)name }, value;
	const int rc = mdb_get(txn->mdb, txn->env->main_table, &key, &value);

	if (rc == MDB_NOTFOUND)
		return lc__error(LC_CORRUPT, rc, "%s: table %s is missing", txn->env->dir,
		    name);
	if (rc != 0)
		return lc__env_error(txn->env, rc, "read");
	if (!lc__row_tree(value.mv_data, value.mv_size, &txn->trees[table])) {
		(void)lc__error(LC_CORRUPT, 0, "depth of %u", txn->trees[table].depth);
		return damaged(txn, table);
	}
	if (txn->known == 0)
		return_if_error(find_map(txn, value.mv_data));
	txn->known |= 1u << table;
	return LC_OK;
}

/* Prepare txn->place to move to a row of a table. */
static lc_status
prepare_place(struct lc__txn *txn, enum lc__table table)
{
	txn->placed = false;
	if ((txn->known >> table & 1) == 0)
		return_if_error(find_tree(txn, table));
	txn->place.key_size = lc__env_tables[table].key_size;
	return LC_OK;
}

static lc_status
find_row(struct lc__txn *txn, enum lc__table table, const MDB_val *key,
    struct lc__slice *out)
{
	struct lc__pages_row row;
	lc_status status;

	return_if_error(prepare_place(txn, table));
	status = lc__row_find(&txn->place, &txn->trees[table], key->mv_data,
	    (uint32_t)key->mv_size, &row);
	if (status == LC_CORRUPT)
		return damaged(txn, table);
	if (status == LC_OK)
		*out = (struct lc__slice){ row.value, (size_t)row.size };
	return status;
}

/* The first row from @p key on. Walks ask for one row after another: the next one is
 * usually adjacent. */
static lc_status
seek_row(struct lc__txn *txn, enum lc__table table, const MDB_val *key, uint64_t number,
    struct lc__pages_row *out)
{
	lc_status status;

	if (txn->placed && txn->place_table == table && txn->place_key + 1 == number) {
		txn->placed = false;
		status = lc__row_next(&txn->place);
	} else {
		return_if_error(prepare_place(txn, table));
		status = lc__row_seek(&txn->place, &txn->trees[table], key->mv_data,
		    (uint32_t)key->mv_size);
	}
	if (status == LC_OK)
		status = lc__row_at(&txn->place, out);
	return status == LC_CORRUPT ? damaged(txn, table) : status;
}

/* The last row up to @p key. */
static lc_status
seek_row_back(struct lc__txn *txn, enum lc__table table, const MDB_val *key,
    struct lc__pages_row *out)
{
	lc_status status;

	return_if_error(prepare_place(txn, table));
	status = lc__row_seek_back(&txn->place, &txn->trees[table], key->mv_data,
	    (uint32_t)key->mv_size);
	if (status == LC_OK)
		status = lc__row_at(&txn->place, out);
	return status == LC_CORRUPT ? damaged(txn, table) : status;
}

/* ---- rows ----------------------------------------------------------------- */

static lc_status
get_row(struct lc__txn *txn, enum lc__table table, MDB_val *key, struct lc__slice *out)
{
	MDB_val value;
	int rc;

	if (reads_rows(txn))
		return find_row(txn, table, key, out);
	rc = mdb_get(txn->mdb, txn->env->tables[table], key, &value);
	if (rc == MDB_NOTFOUND)
		return LC_NOT_FOUND;
	if (rc != 0)
		return lc__env_error(txn->env, rc, "read");
	out->data = value.mv_data;
	out->size = value.mv_size;
	return LC_OK;
}

/* When a large value is deleted or replaced, LMDB frees as many pages as the header
 * before it says. A value that this transaction wrote is not in the map yet, and is
 * right. */
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
put_row(struct lc__txn *txn, enum lc__table table, MDB_val *key, const void *data,
    size_t size)
{
	MDB_val value = { size, (void *)(uintptr_t)data };
	struct lc__slice old;
	int rc;

	if (get_row(txn, table, key, &old) == LC_OK)
		return_if_error(check_before_free(txn, &old));
	rc = mdb_put(txn->mdb, txn->env->tables[table], key, &value, 0);
	if (rc != 0)
		return lc__env_error(txn->env, rc, "write");
	txn->put_bytes += size;
	return LC_OK;
}

lc_status
lc__txn_get(struct lc__txn *txn, enum lc__table table, uint64_t key,
    struct lc__slice *out)
{
	struct int_key k;

	return get_row(txn, table, int_key(&k, table, key), out);
}

lc_status
lc__txn_put(struct lc__txn *txn, enum lc__table table, uint64_t key, const void *data,
    size_t size)
{
	struct int_key k;

	return put_row(txn, table, int_key(&k, table, key), data, size);
}

/* Reserve a value that the caller fills. */
static lc_status
reserve_row(struct lc__txn *txn, enum lc__table table, uint64_t key, size_t size,
    unsigned flag, unsigned char **out)
{
	struct int_key k;
	MDB_val value = { size, NULL };
	const int rc = mdb_put(txn->mdb, txn->env->tables[table], int_key(&k, table, key),
	    &value, MDB_RESERVE | flag);

	/* MDB_APPEND returns this for a key that is not above the last one. */
	if (rc == MDB_KEYEXIST)
		return lc__error(LC_CORRUPT, rc, "%s: table %d already has row %llu",
		    txn->env->dir, (int)table, (unsigned long long)key);
	if (rc != 0)
		return lc__env_error(txn->env, rc, "write");
	txn->put_bytes += size;
	*out = value.mv_data;
	return LC_OK;
}

lc_status
lc__txn_append(struct lc__txn *txn, enum lc__table table, uint64_t key, size_t size,
    unsigned char **out)
{
	return reserve_row(txn, table, key, size, MDB_APPEND, out);
}

lc_status
lc__txn_insert(struct lc__txn *txn, enum lc__table table, uint64_t key, size_t size,
    unsigned char **out)
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
	rc = mdb_del(txn->mdb, txn->env->tables[table], int_key(&k, table, key), NULL);
	return rc == 0 ? LC_OK : lc__env_error(txn->env, rc, "delete");
}

lc_status
lc__txn_clear(struct lc__txn *txn, enum lc__table table)
{
	const MDB_dbi dbi = txn->env->tables[table];
	lc_status status = LC_OK;
	MDB_cursor *cursor;
	MDB_val key, value;
	int rc = mdb_cursor_open(txn->mdb, dbi, &cursor);

	if (rc != 0)
		return lc__env_error(txn->env, rc, "clear");
	/* Check every value before: LMDB frees as many pages as their headers say. */
	while (status == LC_OK &&
	    (rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		const struct lc__slice slice = { value.mv_data, value.mv_size };

		status = check_before_free(txn, &slice);
	}
	if (status == LC_OK && rc != MDB_NOTFOUND)
		status = lc__env_error(txn->env, rc, "walk");
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
lc__txn_put_meta(struct lc__txn *txn, const char *name, const void *data, size_t size)
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

static lc_status
nth_row(struct lc__txn *txn, enum lc__table table, uint64_t n, struct lc__slice *name,
    struct lc__slice *value)
{
	struct lc__pages_row row;
	lc_status status;

	return_if_error(prepare_place(txn, table));
	status = lc__row_seek(&txn->place, &txn->trees[table], "", 0);
	for (uint64_t i = 0; i < n && status == LC_OK; i++)
		status = lc__row_next(&txn->place);
	if (status == LC_OK)
		status = lc__row_at(&txn->place, &row);
	if (status == LC_CORRUPT)
		return damaged(txn, table);
	return_if_error(status);
	*name = (struct lc__slice){ row.key, row.key_size };
	*value = (struct lc__slice){ row.value, (size_t)row.size };
	return LC_OK;
}

lc_status
lc__txn_nth_meta(struct lc__txn *txn, uint64_t n, struct lc__slice *name,
    struct lc__slice *row)
{
	MDB_val key, value;
	MDB_cursor *cursor;
	int rc;

	if (reads_rows(txn))
		return nth_row(txn, LC__META, n, name, row);
	rc = mdb_cursor_open(txn->mdb, txn->env->tables[LC__META], &cursor);
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
lc__txn_rename_meta(struct lc__txn *txn, const struct lc__slice *from, const char *to)
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
	/* LMDB moves rows when another one is written. */
	lc__buf_append(&copy, from->data, from->size);
	lc__buf_append(&copy, row.data, row.size);
	lc__buf_append(&copy, other.data, other.size);
	if (status == LC_OK && copy.failed)
		status = lc__no_memory(NULL);
	key.mv_data = copy.data;
	if (status == LC_OK && to != NULL)
		status = lc__txn_put_meta(txn, to, copy.data + from->size, row.size);
	if (status == LC_OK && both)
		status = put_row(txn, LC__META, &key, copy.data + from->size + row.size,
		    other.size);
	else if (status == LC_OK)
		status = delete_meta(txn, &key);
	lc__buf_free(&copy);
	return status;
}

/* In a write transaction, through LMDB: the first row from @p key on, or the last one up
 * to it. */
static lc_status
seek_by_lmdb(struct lc__txn *txn, enum lc__table table, const MDB_val *key, bool back,
    struct lc__pages_row *out)
{
	MDB_val at = *key, value;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(txn->mdb, txn->env->tables[table], &cursor);

	if (rc != 0)
		return lc__env_error(txn->env, rc, "walk");
	rc = mdb_cursor_get(cursor, &at, &value, MDB_SET_RANGE);
	if (back && rc == MDB_NOTFOUND)
		rc = mdb_cursor_get(cursor, &at, &value, MDB_LAST);
	else if (back && rc == 0 && memcmp(at.mv_data, key->mv_data, key->mv_size) != 0)
		rc = mdb_cursor_get(cursor, &at, &value, MDB_PREV);
	mdb_cursor_close(cursor);
	if (rc == MDB_NOTFOUND)
		return LC_END;
	if (rc != 0)
		return lc__env_error(txn->env, rc, "walk");
	if (at.mv_size != lc__env_tables[table].key_size)
		return lc__error(LC_CORRUPT, 0, "%s: table %d has a key of %zu bytes",
		    txn->env->dir, (int)table, at.mv_size);
	out->key = at.mv_data;
	out->value = value.mv_data;
	out->size = value.mv_size;
	return LC_OK;
}

lc_status
lc__txn_seek(struct lc__txn *txn, enum lc__table table, uint64_t key, uint64_t *found,
    struct lc__slice *out)
{
	struct lc__pages_row row;
	struct int_key k;
	const MDB_val *at = int_key(&k, table, key);

	if (table == LC__SCHEMA && key > UINT32_MAX)
		return LC_END;
	return_if_error(reads_rows(txn) ? seek_row(txn, table, at, key, &row)
					: seek_by_lmdb(txn, table, at, false, &row));
	*found = key_number(table, row.key);
	txn->placed = reads_rows(txn);
	txn->place_table = table;
	txn->place_key = *found;
	out->data = row.value;
	out->size = (size_t)row.size;
	return LC_OK;
}

lc_status
lc__txn_seek_after(struct lc__txn *txn, enum lc__table table, uint64_t key,
    uint64_t *found, struct lc__slice *out)
{
	return key == UINT64_MAX ? LC_END : lc__txn_seek(txn, table, key + 1, found, out);
}

lc_status
lc__txn_seek_back(struct lc__txn *txn, enum lc__table table, uint64_t key,
    uint64_t *found, struct lc__slice *out)
{
	struct lc__pages_row row;
	struct int_key k;
	const MDB_val *at = int_key(&k, table, key);

	return_if_error(reads_rows(txn) ? seek_row_back(txn, table, at, &row)
					: seek_by_lmdb(txn, table, at, true, &row));
	*found = key_number(table, row.key);
	*out = (struct lc__slice){ row.value, (size_t)row.size };
	return LC_OK;
}

lc_status
lc__txn_count(struct lc__txn *txn, enum lc__table table, uint64_t *out)
{
	MDB_stat stat;
	int rc;

	if (reads_rows(txn)) {
		return_if_error(prepare_place(txn, table));
		*out = txn->trees[table].entries;
		return LC_OK;
	}
	rc = mdb_stat(txn->mdb, txn->env->tables[table], &stat);
	if (rc != 0)
		return lc__env_error(txn->env, rc, "stat");
	*out = stat.ms_entries;
	return LC_OK;
}
