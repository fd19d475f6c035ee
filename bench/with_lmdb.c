/* SPDX-License-Identifier: BSD-2-Clause */
/* liblmdb as it is used plainly: one value a sample. */
#include <err.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

#define MAP_SIZE ((size_t)1 << 40)

struct store {
	const struct load *load;
	MDB_env *env;
	MDB_dbi dbi;
	MDB_txn *read;       /* reset between uses */
	unsigned char *copy; /* room for the values of a batch */
};

static void
must(int rc, const char *what)
{
	if (rc != 0)
		errx(1, "lmdb: %s: %s", what, mdb_strerror(rc));
}

static void *
lmdb_open(const struct load *load, const char *dir, enum check check)
{
	struct store *store = calloc(1, sizeof(*store));
	MDB_txn *txn;

	if (store == NULL || (store->copy = malloc(BATCH_SIZE * load->size)) == NULL)
		err(1, NULL);
	(void)check; /* has no checksums */
	store->load = load;
	must(mdb_env_create(&store->env), "create");
	must(mdb_env_set_mapsize(store->env, MAP_SIZE), "map size");
	must(mdb_env_open(store->env, dir, MDB_NOTLS | MDB_NORDAHEAD, 0666), dir);
	must(mdb_txn_begin(store->env, NULL, 0, &txn), "begin");
	must(mdb_dbi_open(txn, NULL, 0, &store->dbi), "table");
	must(mdb_txn_commit(txn), "commit");
	must(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &store->read), "begin");
	mdb_txn_reset(store->read);
	return store;
}

static void
lmdb_close(void *handle)
{
	struct store *store = handle;

	mdb_txn_abort(store->read);
	mdb_env_close(store->env);
	free(store->copy);
	free(store);
}

static void
put_one(struct store *store, MDB_txn *txn, uint64_t i)
{
	MDB_val key = { KEY_SIZE, store->load->keys[i] };
	MDB_val data = { store->load->size, (void *)load_value(store->load, i) };

	must(mdb_put(txn, store->dbi, &key, &data, 0), "put");
}

static void
lmdb_fill(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;
	MDB_txn *txn;

	while (from < to) {
		must(mdb_txn_begin(store->env, NULL, 0, &txn), "begin");
		for (uint64_t n = 0; n < store->load->commit && from < to; n++)
			put_one(store, txn, from++);
		must(mdb_txn_commit(txn), "commit");
	}
}

static inline MDB_val
get_one(struct store *store, uint64_t i)
{
	MDB_val key = { KEY_SIZE, (void *)key_in_order(store->load, i) }, data;

	must(mdb_get(store->read, store->dbi, &key, &data), "get");
	return data;
}

static uint64_t
get_pointer(void *handle, uint64_t n)
{
	struct store *store = handle;
	uint64_t sum = 0;

	must(mdb_txn_renew(store->read), "renew");
	for (uint64_t i = 0; i < n; i++)
		sum += get_one(store, i).mv_size;
	mdb_txn_reset(store->read);
	return sum;
}

static uint64_t
get(void *handle, uint64_t n)
{
	struct store *store = handle;
	uint64_t sum = 0;

	must(mdb_txn_renew(store->read), "renew");
	for (uint64_t i = 0; i < n; i++)
		sum += head_of(get_one(store, i).mv_data);
	mdb_txn_reset(store->read);
	return sum;
}

static uint64_t
get_renewed(void *handle, uint64_t n)
{
	struct store *store = handle;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		must(mdb_txn_renew(store->read), "renew");
		sum += head_of(get_one(store, i).mv_data);
		mdb_txn_reset(store->read);
	}
	return sum;
}

static uint64_t
copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	uint64_t sum = 0;

	must(mdb_txn_renew(store->read), "renew");
	for (uint64_t i = 0; i < n; i++) {
		const MDB_val data = get_one(store, i);
		memcpy(store->copy, data.mv_data, data.mv_size);
		sum += head_of(store->copy);
	}
	mdb_txn_reset(store->read);
	return sum;
}

/* The same with room for all of a batch. */
static uint64_t
batch_copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	uint64_t sum = 0;

	must(mdb_txn_renew(store->read), "renew");
	for (uint64_t i = 0; i < n; i++) {
		const MDB_val data = get_one(store, i);
		sum += head_of(memcpy(store->copy + i % BATCH_SIZE * data.mv_size,
		    data.mv_data, data.mv_size));
	}
	mdb_txn_reset(store->read);
	return sum;
}

static uint64_t
scan(struct store *store, uint64_t n, enum use use)
{
	MDB_cursor *cursor;
	MDB_val key, data;
	uint64_t sum = 0, seen = 0;

	must(mdb_txn_renew(store->read), "renew");
	must(mdb_cursor_open(store->read, store->dbi, &cursor), "cursor");
	while (mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0) {
		sum += used(use, store->copy, data.mv_data, data.mv_size);
		seen++;
	}
	mdb_cursor_close(cursor);
	mdb_txn_reset(store->read);
	if (seen != n)
		errx(1, "lmdb: a scan saw %ju of %ju", (uintmax_t)seen, (uintmax_t)n);
	return sum;
}

static uint64_t
scan_keys(void *handle, uint64_t n)
{
	return scan(handle, n, TOUCH);
}

static uint64_t
scan_keys_copy(void *handle, uint64_t n)
{
	return scan(handle, n, COPY_OUT);
}

static uint64_t
scan_keys_sum(void *handle, uint64_t n)
{
	return scan(handle, n, SUM);
}

const struct contender contender_lmdb = {
	.name = "lmdb",
	.threads = true,
	.steps = true,
	.open = lmdb_open,
	.close = lmdb_close,
	.fill = lmdb_fill,
	.read = {
		[GET_POINTER] = get_pointer,
		[GET] = get,
		[GET_RENEWED] = get_renewed,
		[COPY] = copy,
		[BATCH] = get, /* a loop of mdb_get() under one transaction */
		[BATCH_COPY] = batch_copy,
		[SCAN_KEYS] = scan_keys,
		[SCAN_KEYS_COPY] = scan_keys_copy,
		[SCAN_KEYS_SUM] = scan_keys_sum,
	},
};
