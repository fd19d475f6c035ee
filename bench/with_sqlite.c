/* SPDX-License-Identifier: BSD-2-Clause */
/* SQLite: one table of blobs by text key, write-ahead log, every commit synced. */
#include <err.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

struct store {
	const struct load *load;
	sqlite3 *db;
	sqlite3_stmt *insert, *select;
	unsigned char *copy; /* room for one value */
};

static void
must(const struct store *store, int rc, int wanted, const char *what)
{
	if (rc != wanted)
		errx(1, "sqlite: %s: %s", what, sqlite3_errmsg(store->db));
}

static void
run(const struct store *store, const char *sql)
{
	must(store, sqlite3_exec(store->db, sql, NULL, NULL, NULL), SQLITE_OK, sql);
}

static sqlite3_stmt *
prepared(const struct store *store, const char *sql)
{
	sqlite3_stmt *statement;

	must(store, sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
	    &statement, NULL), SQLITE_OK, sql);
	return statement;
}

static void *
sqlite_open(const struct load *load, const char *dir, enum check check)
{
	struct store *store = calloc(1, sizeof(*store));
	char *path;

	if (store == NULL || (store->copy = malloc(load->size)) == NULL ||
	    asprintf(&path, "%s/data.sqlite", dir) < 0)
		err(1, NULL);
	(void)check; /* has no checksums */
	store->load = load;
	must(store, sqlite3_open(path, &store->db), SQLITE_OK, path);
	free(path);
	run(store, "PRAGMA journal_mode = WAL");
	run(store, "PRAGMA synchronous = FULL");
	run(store, "CREATE TABLE IF NOT EXISTS sample"
	    "(id TEXT PRIMARY KEY, value BLOB NOT NULL)");
	store->insert = prepared(store, "INSERT INTO sample VALUES (?, ?)");
	store->select = prepared(store, "SELECT value FROM sample WHERE id = ?");
	return store;
}

static void
sqlite_close(void *handle)
{
	struct store *store = handle;

	sqlite3_finalize(store->insert);
	sqlite3_finalize(store->select);
	must(store, sqlite3_close(store->db), SQLITE_OK, "close");
	free(store->copy);
	free(store);
}

static void
put_one(struct store *store, uint64_t i)
{
	sqlite3_stmt *insert = store->insert;

	sqlite3_bind_text(insert, 1, store->load->keys[i], KEY_SIZE, SQLITE_STATIC);
	sqlite3_bind_blob64(insert, 2, load_value(store->load, i), store->load->size,
	    SQLITE_STATIC);
	must(store, sqlite3_step(insert), SQLITE_DONE, "insert");
	sqlite3_reset(insert);
}

static void
sqlite_fill(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;

	while (from < to) {
		run(store, "BEGIN");
		for (uint64_t n = 0; n < store->load->commit && from < to; n++)
			put_one(store, from++);
		run(store, "COMMIT");
	}
}

/* Step to the i-th row in order; the data is valid until the reset. */
static const unsigned char *
get_one(struct store *store, uint64_t i)
{
	sqlite3_bind_text(store->select, 1, key_in_order(store->load, i), KEY_SIZE,
	    SQLITE_STATIC);
	must(store, sqlite3_step(store->select), SQLITE_ROW, "select");
	return sqlite3_column_blob(store->select, 0);
}

static uint64_t
get(void *handle, uint64_t n)
{
	struct store *store = handle;
	uint64_t sum = 0;

	run(store, "BEGIN");
	for (uint64_t i = 0; i < n; i++) {
		sum += head_of(get_one(store, i));
		sqlite3_reset(store->select);
	}
	run(store, "COMMIT");
	return sum;
}

static uint64_t
copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	uint64_t sum = 0;

	run(store, "BEGIN");
	for (uint64_t i = 0; i < n; i++) {
		sum += head_of(memcpy(store->copy, get_one(store, i), store->load->size));
		sqlite3_reset(store->select);
	}
	run(store, "COMMIT");
	return sum;
}

static uint64_t
scan(struct store *store, uint64_t n, enum use use)
{
	sqlite3_stmt *all = prepared(store,
	    "SELECT id, value FROM sample ORDER BY rowid");
	uint64_t sum = 0, seen = 0;

	while (sqlite3_step(all) == SQLITE_ROW) {
		sum += used(use, store->copy, sqlite3_column_blob(all, 1),
		    store->load->size);
		seen++;
	}
	sqlite3_finalize(all);
	if (seen != n)
		errx(1, "sqlite: a scan saw %ju of %ju", (uintmax_t)seen, (uintmax_t)n);
	return sum;
}

static uint64_t
scan_commits(void *handle, uint64_t n)
{
	return scan(handle, n, TOUCH);
}

static uint64_t
scan_commits_sum(void *handle, uint64_t n)
{
	return scan(handle, n, SUM);
}

const struct contender contender_sqlite = {
	.name = "sqlite",
	.open = sqlite_open,
	.close = sqlite_close,
	.fill = sqlite_fill,
	.read = {
		[GET] = get,
		[COPY] = copy,
		[BATCH] = get, /* a loop of selects under one transaction */
		[BATCH_COPY] = copy,
		[SCAN_COMMITS] = scan_commits,
		[SCAN_COMMITS_SUM] = scan_commits_sum,
	},
};
