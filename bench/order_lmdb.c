/* SPDX-License-Identifier: BSD-2-Clause */
#include "order_lmdb.h"

#include <err.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "order_way.h"

#define MAP_SIZE ((size_t)1 << 40)

struct lmdb {
	MDB_env *env;
	MDB_dbi dbi;
};

static void
must(int rc, const char *what)
{
	if (rc != 0)
		errx(1, "lmdb: %s: %s", what, mdb_strerror(rc));
}

static struct lmdb *
lmdb_new(const char *dir, unsigned flags)
{
	struct lmdb *lmdb = calloc(1, sizeof(*lmdb));
	MDB_txn *txn;

	if (lmdb == NULL)
		err(1, NULL);
	must(mdb_env_create(&lmdb->env), "create");
	must(mdb_env_set_mapsize(lmdb->env, MAP_SIZE), "map size");
	must(mdb_env_open(lmdb->env, dir, MDB_NOTLS | flags, 0666), dir);
	must(mdb_txn_begin(lmdb->env, NULL, flags & MDB_RDONLY, &txn), "begin");
	must(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &lmdb->dbi), "table");
	must(mdb_txn_commit(txn), "commit");
	return lmdb;
}

static void
lmdb_close(void *state)
{
	struct lmdb *lmdb = state;

	mdb_env_close(lmdb->env);
	free(lmdb);
}

/* ---- filling --------------------------------------------------------------------- */

static void
put_some(const struct order_set *set, const struct lmdb *lmdb, uint32_t from,
    uint32_t to)
{
	MDB_txn *txn;

	must(mdb_txn_begin(lmdb->env, NULL, 0, &txn), "begin");
	for (uint32_t i = from; i < to; i++) {
		MDB_val key = { sizeof(i), &i };
		MDB_val data = { ORDER_RECORD, (void *)load_value(&set->load, i) };
		must(mdb_put(txn, lmdb->dbi, &key, &data, MDB_APPEND), "put");
	}
	must(mdb_txn_commit(txn), "commit");
}

void
order_lmdb_fill(const struct order_set *set)
{
	const uint32_t n = (uint32_t)set->load.samples, step = (uint32_t)set->load.commit;
	struct lmdb *lmdb;

	if (mkdir(set->lmdb, 0777) != 0)
		err(1, "%s", set->lmdb);
	lmdb = lmdb_new(set->lmdb, MDB_NOSYNC);
	for (uint32_t i = 0; i < n; i += step)
		put_some(set, lmdb, i, n - i < step ? n : i + step);
	must(mdb_env_sync(lmdb->env, 1), "sync");
	lmdb_close(lmdb);
}

/* ---- reading --------------------------------------------------------------------- */

static const char *
file(const struct order_set *set)
{
	return set->lmdb_file;
}

/* What has neighbours nearby is better off with the system's read-ahead. */
static void *
lmdb_open(const struct order_run *run)
{
	return lmdb_new(run->set->lmdb, MDB_RDONLY |
	    (run->kind == FULLY_SHUFFLED ? MDB_NORDAHEAD : 0));
}

/* A cursor of a thread; the first step is a search. */
struct walk {
	const struct order_run *run;
	MDB_txn *txn;
	MDB_cursor *cursor;
	MDB_cursor_op next;
};

static void
walk_begin(struct walk *walk, const struct lmdb *lmdb, const struct order_run *run)
{
	walk->run = run;
	walk->next = MDB_SET;
	must(mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &walk->txn), "begin");
	must(mdb_cursor_open(walk->txn, lmdb->dbi, &walk->cursor), "cursor");
}

static void
walk_end(struct walk *walk)
{
	mdb_cursor_close(walk->cursor);
	mdb_txn_abort(walk->txn);
}

static const void *
walk_to(struct walk *walk, uint64_t x)
{
	uint32_t record = (uint32_t)order_record(walk->run, x);
	MDB_val key = { sizeof(record), &record }, data;

	must(mdb_cursor_get(walk->cursor, &key, &data, walk->next), "get");
	if (walk->run->kind == IN_ORDER)
		walk->next = MDB_NEXT;
	return data.mv_data;
}

static uint64_t
in_place_read(void *state, const struct order_run *run, unsigned reader)
{
	struct walk walk;
	uint64_t first, end, total = 0;

	walk_begin(&walk, state, run);
	order_share(run, reader, &first, &end);
	for (uint64_t x = first; x < end; x++) {
		const void *data = walk_to(&walk, x);
		total += run->sums ? order_weighed(x, order_sum(data)) : 1;
	}
	walk_end(&walk);
	return total;
}

static uint64_t
copied_read(void *state, const struct order_run *run, unsigned reader)
{
	unsigned char *room = order_room();
	struct walk walk;
	uint64_t first, end, n, total = 0;

	walk_begin(&walk, state, run);
	order_share(run, reader, &first, &end);
	for (uint64_t x = first; x < end; x += n) {
		n = end - x < ORDER_BATCH ? end - x : ORDER_BATCH;
		for (uint64_t i = 0; i < n; i++)
			memcpy(room + i * ORDER_RECORD, walk_to(&walk, x + i),
			    ORDER_RECORD);
		total += run->sums ? order_sum_batch(room, x, n) : n;
	}
	walk_end(&walk);
	free(room);
	return total;
}

const struct order_way order_lmdb_in_place = {
	.name = "lmdb, in place", .unsummed = true, .file = file, .open = lmdb_open,
	.read = in_place_read, .close = lmdb_close,
};

const struct order_way order_lmdb_copied = {
	.name = "lmdb, copied", .unsummed = true, .file = file, .open = lmdb_open,
	.read = copied_read, .close = lmdb_close,
};
