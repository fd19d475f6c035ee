/* SPDX-License-Identifier: BSD-2-Clause */
/* Recovery: what each kind of damage costs, and that it costs no more. */
#include "run.h"

#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "lmdbcache.h"
#include "need.h"
#include "rawdb.h"
#include "witness.h"

static lc_cache *
open_small(const char *root)
{
	lc_options options = sample_options();

	options.durability = LC_DURABLE_RELAXED;
	options.flush_every = 20;
	return sample_open(root, "m", &options);
}

/* A module with several chunks, runs and dead records. */
static void
make(struct witness *w, const char *root)
{
	lc_cache *cache = open_small(root);

	for (unsigned i = 0; i < 200; i++)
		witness_put(w, cache, i);
	for (unsigned i = 0; i < 200; i += 5)
		witness_delete(w, cache, i);
	for (unsigned i = 1; i < 200; i += 4)
		witness_put(w, cache, i);
	assert_ok(lc_close(cache));
}

/* Compact it and change it once more: places of records are used again. */
static void
rearrange(struct witness *w, const char *root)
{
	lc_cache *cache = open_small(root);
	lc_compact_options options;
	uint64_t random = 4711;

	lc_compact_options_init(&options);
	options.live_ratio = 1;
	options.chunk_bytes = 65536;
	for (unsigned i = 0; i < 4; i++) {
		assert_ok(lc_compact(cache, &options, NULL));
		witness_change(w, cache, 40, &random);
	}
	assert_ok(lc_close(cache));
}

/* ---- doing damage --------------------------------------------------------- */

/* Write rows of the module without the engine. */
struct surgery {
	MDB_env *env;
	MDB_txn *txn;
};

static struct surgery
open_up(const char *root)
{
	struct surgery s;
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s/m", root);
	s.env = rawdb_open_env(dir, 0);
	s.txn = rawdb_begin(s.env, 0);
	return s;
}

static void
close_up(struct surgery *s)
{
	rawdb_must(mdb_txn_commit(s->txn));
	mdb_env_close(s->env);
}

static MDB_dbi
table(struct surgery *s, const char *name)
{
	return rawdb_table(s->txn, name,
	    strcmp(name, "meta") == 0 ? 0 : MDB_INTEGERKEY);
}

/* The key of a row by its place in the table, from 0; -1 is the last. */
static MDB_val
nth_key(struct surgery *s, MDB_dbi dbi, int n)
{
	MDB_cursor *cursor;
	MDB_val key, value;

	rawdb_must(mdb_cursor_open(s->txn, dbi, &cursor));
	rawdb_must(mdb_cursor_get(cursor, &key, &value, n < 0 ? MDB_LAST :
	    MDB_FIRST));
	while (n-- > 0)
		rawdb_must(mdb_cursor_get(cursor, &key, &value, MDB_NEXT));
	mdb_cursor_close(cursor);
	return key;
}

/* Flip a bit of a value at an offset, from its end if that is negative. */
static void
flip_value(struct surgery *s, MDB_dbi dbi, MDB_val *key, long offset)
{
	MDB_val value, copy;

	rawdb_must(mdb_get(s->txn, dbi, key, &value));
	copy.mv_size = value.mv_size;
	copy.mv_data = malloc(value.mv_size);
	memcpy(copy.mv_data, value.mv_data, value.mv_size);
	((unsigned char *)copy.mv_data)[offset < 0 ?
	    (long)value.mv_size + offset : offset] ^= 4;
	rawdb_must(mdb_put(s->txn, dbi, key, &copy, 0));
	free(copy.mv_data);
}

static void
flip(const char *root, const char *name, int n, long offset)
{
	struct surgery s = open_up(root);
	const MDB_dbi dbi = table(&s, name);
	MDB_val key = nth_key(&s, dbi, n);

	flip_value(&s, dbi, &key, offset);
	close_up(&s);
}

static void
flip_meta(const char *root, const char *name, long offset)
{
	struct surgery s = open_up(root);
	MDB_val key = { strlen(name), (void *)(uintptr_t)name };

	flip_value(&s, table(&s, "meta"), &key, offset);
	close_up(&s);
}

static void
drop_row(const char *root, const char *name, int n)
{
	struct surgery s = open_up(root);
	const MDB_dbi dbi = table(&s, name);
	MDB_val key = nth_key(&s, dbi, n);

	rawdb_must(mdb_del(s.txn, dbi, &key, NULL));
	close_up(&s);
}

/* The offset of the key section in a run. */
static long
keys_offset(const char *root, int n)
{
	struct surgery s = open_up(root);
	const MDB_dbi dbi = table(&s, "index");
	MDB_val key = nth_key(&s, dbi, n), value;
	long offset;

	rawdb_must(mdb_get(s.txn, dbi, &key, &value));
	offset = 48 + 64 * (long)lc__get32((unsigned char *)value.mv_data + 24);
	close_up(&s);
	return offset;
}

/* ---- looking -------------------------------------------------------------- */

/* Records that came back, as the lines of the last recovery say. */
static unsigned long long came_back;

static void
print_line(void *ctx, const char *line)
{
	unsigned long long chunk, before, now;

	if (sscanf(line, "chunk %llu: live records before the damage: %llu, now: %llu", &chunk,
	    &before, &now) == 3)
		came_back += now - before;
	ck_assert_uint_gt(strlen(line), 0);
	++*(unsigned *)ctx;
	if (getenv("T_LINES") != NULL)
		printf("# %s\n", line);
}

static lc_recover_result
recover(const char *root, bool dry_run)
{
	lc_recover_result result = { 0 };
	unsigned lines = 0;
	const lc_progress progress = { .damage = print_line, .ctx = &lines };

	came_back = 0;
	assert_ok(lc_recover(root, "m", dry_run, &progress, &result));
	ck_assert_uint_ge(lines, result.rescued + result.lost + result.runs +
	    result.rows);
	return result;
}

struct file {
	unsigned char *bytes;
	size_t size;
};

static struct file
read_file(const char *root)
{
	struct file file;
	struct stat st;
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	fd = open(path, O_RDONLY);
	ck_assert_int_eq(fstat(fd, &st), 0);
	file.size = (size_t)st.st_size;
	file.bytes = malloc(file.size);
	ck_assert_int_eq(read(fd, file.bytes, file.size), (ssize_t)file.size);
	close(fd);
	return file;
}

static void
check_file(const char *root, struct file *want)
{
	struct file file = read_file(root);

	ck_assert_uint_eq(file.size, want->size);
	ck_assert_mem_eq(file.bytes, want->bytes, file.size);
	free(file.bytes);
	free(want->bytes);
}

/* Dry, then for real: the same is said; after that there is nothing left to do. */
static lc_recover_result
recover_twice(const char *root)
{
	struct file before = read_file(root);
	const lc_recover_result dry = recover(root, true);
	lc_recover_result done, again;
	unsigned long long told;

	check_file(root, &before);
	done = recover(root, false);
	ck_assert_mem_eq(&dry, &done, offsetof(lc_recover_result, kept));
	before = read_file(root);
	told = came_back;
	again = recover(root, false);
	ck_assert_uint_eq(came_back, 0);
	came_back = told;
	ck_assert_uint_eq(again.records, done.records);
	ck_assert_uint_eq(again.rescued + again.lost + again.runs + again.rows, 0);
	check_file(root, &before);
	return done;
}

static void
check_module(const struct witness *w, const char *root)
{
	lc_cache *cache = open_small(root);

	witness_check(w, cache);
	assert_ok(lc_close(cache));
}

static void
is_damaged(const char *root)
{
	lc_verify_result result;
	lc_cache *cache = open_small(root);

	assert_status(lc_verify(cache, NULL, &result), LC_CORRUPT);
	lc_discard(cache);
}

/* ---- damage that costs nothing -------------------------------------------- */

START_TEST(no_damage)
{
	struct witness w = { .range = { 8, 3000 } };
	const char *root = run_scratch();
	lc_recover_result result;

	make(&w, root);
	result = recover_twice(root);
	ck_assert_uint_eq(result.records, witness_count(&w));
	ck_assert_uint_eq(result.rows + result.runs + result.lost, 0);
	check_module(&w, root);
}
END_TEST

static const struct {
	const char *table;
	int n;
	long offset;     /* 0: the row is deleted */
	unsigned runs, rows;
} harmless[] = {
	{ "ledger", 3, 8, 0, 1 }, { "ledger", 0, -1, 0, 1 }, { "ledger", 2, 0, 0, 1 },
	{ "schema", 0, 3, 0, 1 }, { "schema", -1, -1, 0, 1 },
	{ "state", 0, 9, 0, 1 }, { "state", 0, 41, 0, 1 }, { "state", 0, -1, 0, 1 },
	{ "settings", 0, 0, 0, 1 }, { "usage", 0, 1, 0, 1 }, { "usage", 0, -2, 0, 1 },
	{ "index", 0, 70, 1, 0 }, { "index", 0, 70 + 256, 1, 0 },
	{ "index", -1, 49, 1, 0 },
	{ "chunk", 3, 4, 0, 1 }, { "chunk", 0, 17, 0, 1 }, { "chunk", -1, 25, 0, 1 },
};

#define HARMLESS ((int)(sizeof(harmless) / sizeof(harmless[0])))

/* Rows that follow from others, and tables that follow from their keys. */
START_TEST(costs_nothing)
{
	struct witness w = { .range = { 8, 3000 } };
	lc_settings settings = { .struct_size = sizeof(settings) };
	const int kind = _i % HARMLESS;
	const char *root = run_scratch(), *name = harmless[kind].table;
	lc_recover_result result;
	lc_cache *cache;

	make(&w, root);
	if (_i >= HARMLESS)
		rearrange(&w, root);
	cache = open_small(root);
	assert_ok(lc_settings_get(cache, &settings));
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(lc_close(cache));
	if (strcmp(name, "state") == 0 || strcmp(name, "settings") == 0 ||
	    strcmp(name, "usage") == 0)
		flip_meta(root, name, harmless[kind].offset);
	else if (harmless[kind].offset == 0)
		drop_row(root, name, harmless[kind].n);
	else
		flip(root, name, harmless[kind].n, harmless[kind].offset);
	if (strcmp(name, "settings") != 0)
		is_damaged(root);
	result = recover_twice(root);
	ck_assert_uint_eq(result.records, witness_count(&w));
	ck_assert_uint_eq(result.rescued, 0);
	ck_assert_uint_eq(result.lost, 0);
	ck_assert_uint_eq(result.runs, harmless[kind].runs);
	ck_assert_uint_eq(result.rows, harmless[kind].rows);
	check_module(&w, root);
	cache = open_small(root);
	for (unsigned i = 0; i < 200; i += 3)
		witness_put(&w, cache, i);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- rows under other keys ------------------------------------------------ */

/* A flipped bit in the key of a row: the row is whole, and elsewhere. */
static void
flip_key(const char *root, const char *name, int n, unsigned bit)
{
	struct surgery s = open_up(root);
	const MDB_dbi dbi = table(&s, name);
	MDB_val key = nth_key(&s, dbi, n), value, moved;
	unsigned char bytes[8];
	void *copy;

	rawdb_must(mdb_get(s.txn, dbi, &key, &value));
	copy = malloc(value.mv_size);
	memcpy(copy, value.mv_data, value.mv_size);
	memcpy(bytes, key.mv_data, key.mv_size);
	moved = (MDB_val){ key.mv_size, bytes };
	rawdb_must(mdb_del(s.txn, dbi, &key, NULL));
	bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	value.mv_data = copy;
	rawdb_must(mdb_put(s.txn, dbi, &moved, &value, MDB_NOOVERWRITE));
	free(copy);
	close_up(&s);
}

static const struct {
	const char *table;
	int n;
	unsigned bit;
} moved[] = {
	{ "chunk", -1, 5 }, { "chunk", -1, 14 }, { "chunk", -1, 39 }, { "chunk", -1, 41 },
	{ "chunk", -1, 63 }, { "chunk", 0, 0 }, { "chunk", 0, 30 }, { "chunk", 3, 62 },
	{ "schema", 0, 16 }, { "schema", -1, 8 }, { "schema", -1, 31 },
	{ "schema", 3, 17 }, { "ledger", 1, 0 + 20 }, { "ledger", -1, 63 },
	{ "ledger", 0, 0 }, { "index", 0, 7 }, { "index", -1, 62 }, { "index", 0, 0 + 16 },
};

#define MOVED ((int)(sizeof(moved) / sizeof(moved[0])))

/* What a row says, or its checksum proves, brings it back to where it belongs. */
START_TEST(moved_rows)
{
	struct witness w = { .range = { 8, 3000 } };
	const char *root = run_scratch();
	lc_recover_result result;
	lc_cache *cache;

	make(&w, root);
	flip_key(root, moved[_i].table, moved[_i].n, moved[_i].bit);
	is_damaged(root);
	result = recover_twice(root);
	ck_assert_uint_eq(result.records, witness_count(&w));
	ck_assert_uint_eq(result.rescued + result.lost + result.unknown, 0);
	ck_assert_uint_eq(result.runs + result.rows, 1);
	check_module(&w, root);
	cache = open_small(root);
	for (unsigned i = 0; i < 200; i += 3)
		witness_put(&w, cache, i);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- damage of the index -------------------------------------------------- */

/* Bring back from the module what the witness thinks was deleted. */
static void
accept_deleted(struct witness *w, const char *root, uint64_t *back)
{
	lc_cache *cache = open_small(root);

	*back = 0;
	for (unsigned i = 0; i < 200; i++) {
		char id[SAMPLE_ID_ROOM];
		const size_t size = sample_id(id, i);

		if (w->versions[i] != 0 || lc_contains(cache, id, size) != LC_OK)
			continue;
		/* The first version of all: keys were put in order. */
		w->versions[i] = w->order[i] = i + 1;
		++*back;
	}
	assert_ok(lc_close(cache));
}

static const struct {
	int run;
	int how; /* 0: a key block; 1: the header; 2: the run is gone */
} cuts[] = {
	{ 0, 0 }, { 0, 1 }, { 0, 2 }, { -1, 0 }, { -1, 1 }, { -1, 2 }, { 1, 0 }, { 1, 2 },
};

/* No record is lost; the newest comes back, deleted ones perhaps too. */
START_TEST(index_cut)
{
	struct witness w = { .range = { 8, 3000 } };
	const char *root = run_scratch();
	lc_recover_result result;
	uint64_t back;

	make(&w, root);
	if (cuts[_i].how == 2)
		drop_row(root, "index", cuts[_i].run);
	else
		flip(root, "index", cuts[_i].run, cuts[_i].how == 1 ? 17 :
		    keys_offset(root, cuts[_i].run) + 40);
	is_damaged(root);
	result = recover_twice(root);
	ck_assert_uint_eq(result.runs, 1);
	ck_assert_uint_eq(result.lost, 0);
	accept_deleted(&w, root, &back);
	ck_assert_uint_le(back, result.rescued);
	ck_assert_uint_eq(back, came_back);
	ck_assert_uint_eq(result.records, witness_count(&w));
	check_module(&w, root);
}
END_TEST

/* Nothing but chunks is left, or only the ledger says that runs are missing. */
START_TEST(only_chunks)
{
	struct witness w = { .range = { 8, 3000 } };
	const char *root = run_scratch();
	const uint64_t puts = 250;
	lc_recover_result result;
	struct surgery s;
	uint64_t back;

	make(&w, root);
	ck_assert_uint_eq(w.puts, puts);
	s = open_up(root);
	if (_i % 2 == 0)
		rawdb_must(mdb_drop(s.txn, table(&s, "index"), 0));
	if (_i / 2 == 0)
		rawdb_must(mdb_drop(s.txn, table(&s, "ledger"), 0));
	close_up(&s);
	flip_meta(root, "state", 3);
	result = recover_twice(root);
	ck_assert_uint_eq(result.lost, 0);
	accept_deleted(&w, root, &back);
	ck_assert_uint_le(back, result.rescued);
	ck_assert_uint_eq(result.records, witness_count(&w));
	if (_i % 2 == 0)
		ck_assert_uint_eq(result.rescued, result.records);
	check_module(&w, root);
}
END_TEST

/* ---- damage of chunks ----------------------------------------------------- */

/* A record is lost, and nothing else; what it had replaced does not come back. */
START_TEST(record)
{
	struct witness w = { .range = { 64, 3000 } };
	const char *root = run_scratch();
	lc_recover_result result;
	unsigned gone = 0, lost_key = 0;
	lc_cache *cache;
	/* In the newest chunk all records live: byte 8 is the length of the first. */
	static const long offsets[] = { 48 + 100, 48 + 9, 48 + 1, 48 + 33, 48 + 19 };

	make(&w, root);
	flip(root, "chunk", -1, offsets[_i]);
	is_damaged(root);
	result = recover_twice(root);
	ck_assert_uint_eq(result.lost, 1);
	ck_assert_uint_eq(result.rescued, 0);
	ck_assert_uint_eq(result.records, witness_count(&w) - 1);
	cache = open_small(root);
	for (unsigned i = 0; i < WITNESS_KEYS; i++) {
		char id[SAMPLE_ID_ROOM];

		if (w.versions[i] != 0 && lc_contains(cache, id,
		    sample_id(id, i)) == LC_NOT_FOUND) {
			lost_key = i;
			gone++;
		}
	}
	assert_ok(lc_close(cache));
	ck_assert_uint_eq(gone, 1);
	w.versions[lost_key] = 0;
	check_module(&w, root);
}
END_TEST

/* All that was in it is lost, by name. */
START_TEST(chunk_gone)
{
	struct witness w = { .range = { 64, 300 } };
	const char *root = run_scratch();
	lc_recover_result result;
	lc_cache *cache;

	make(&w, root);
	drop_row(root, "chunk", 0);
	is_damaged(root);
	result = recover_twice(root);
	ck_assert_uint_eq(result.rescued, 0);
	ck_assert_uint_eq(result.rows, 1);
	/* Of the first 20 keys: not deleted, not replaced. */
	for (unsigned i = 0; i < 20; i++)
		if (w.versions[i] == i + 1) {
			w.versions[i] = 0;
			result.lost--;
		}
	ck_assert_uint_eq(result.lost, 0);
	check_module(&w, root);
	cache = open_small(root);
	for (unsigned i = 0; i < 20; i++)
		witness_put(&w, cache, i);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* The tables are empty, as in the first commit; only the state row counts what was there. */
START_TEST(tables_of_old)
{
	struct witness w = { .range = { 64, 300 } };
	const char *root = run_scratch();
	lc_recover_result result;
	struct surgery s;
	lc_cache *cache;

	make(&w, root);
	s = open_up(root);
	rawdb_must(mdb_drop(s.txn, table(&s, "chunk"), 0));
	rawdb_must(mdb_drop(s.txn, table(&s, "index"), 0));
	rawdb_must(mdb_drop(s.txn, table(&s, "ledger"), 0));
	close_up(&s);
	result = recover_twice(root);
	ck_assert_uint_eq(result.records, 0);
	ck_assert_uint_eq(result.lost + result.unknown, witness_count(&w));
	memset(w.versions, 0, sizeof(w.versions));
	cache = open_small(root);
	for (unsigned i = 0; i < 20; i++)
		witness_put(&w, cache, i);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- anything ------------------------------------------------------------- */

static const char *const tables[] = { "chunk", "ledger", "index", "schema", "state" };

/* One flipped byte anywhere: afterwards the module verifies, holds nothing that was
 * never put, and has lost no more than is said. */
START_TEST(random_damage)
{
	uint64_t random = run_seed() + (uint64_t)_i;

	for (unsigned n = sample_times(25); n > 0; n--) {
		struct witness w = { .range = { 8, 900 } };
		const char *root = run_scratch();
		lc_recover_result result;
		lc_verify_result verified;
		uint64_t found = 0;
		lc_cache *cache;

		make(&w, root);
		if (_i % 2)
			rearrange(&w, root);
		for (unsigned flips = 1 + (unsigned)(run_random(&random) % 3);
		    flips > 0; flips--) {
			const char *name = tables[run_random(&random) % 5];
			struct surgery s = open_up(root);
			const bool meta = strcmp(name, "state") == 0;
			const MDB_dbi dbi = table(&s, meta ? "meta" : name);
			MDB_val key = { 5, (void *)(uintptr_t)"state" }, value;
			MDB_stat stat;

			rawdb_must(mdb_stat(s.txn, dbi, &stat));
			if (!meta)
				key = nth_key(&s, dbi, (int)(run_random(&random) %
				    stat.ms_entries));
			rawdb_must(mdb_get(s.txn, dbi, &key, &value));
			flip_value(&s, dbi, &key,
			    (long)(run_random(&random) % value.mv_size));
			close_up(&s);
		}
		result = recover_twice(root);
		cache = open_small(root);
		assert_ok(lc_verify(cache, NULL, &verified));
		ck_assert_uint_eq(verified.live, result.records);
		for (unsigned i = 0; i < WITNESS_KEYS; i++) {
			char id[SAMPLE_ID_ROOM];
			const size_t size = sample_id(id, i);
			lc_view view;
			const lc_status status = lc_get(cache, id, size, &view);

			ck_assert(status == LC_OK || status == LC_NOT_FOUND);
			if (status != LC_OK)
				continue;
			ck_assert(sample_is(&view.tensor, id, size,
			    sample_version(&view.tensor), w.range));
			found += w.versions[i] == sample_version(&view.tensor);
			lc_view_release(&view);
		}
		ck_assert_uint_ge(found + result.lost + result.rescued,
		    witness_count(&w));
		assert_ok(lc_close(cache));
	}
}
END_TEST

static int
stop(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	ck_assert_uint_le(done, total);
	return 1;
}

START_TEST(cancelled)
{
	const lc_progress progress = { .step = stop };
	struct witness w = { .range = { 8, 3000 } };
	const char *root = run_scratch();
	struct file before;

	make(&w, root);
	flip(root, "chunk", 1, 80);
	before = read_file(root);
	assert_status(lc_recover(root, "m", 0, &progress, NULL), LC_CANCELLED);
	check_file(root, &before);
}
END_TEST

/* Recovery mends rows; pages are LMDB's. */
START_TEST(pages)
{
	struct witness w = { .range = { 8, 3000 } };
	const char *root = run_scratch();
	struct file before;
	char path[4200];
	int fd;

	make(&w, root);
	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	before = read_file(root);
	fd = open(path, O_RDWR);
	for (size_t page = 2; page < before.size / 4096; page++) {
		before.bytes[page * 4096 + 10] ^= 0xff;
		ck_assert_int_eq(pwrite(fd, &before.bytes[page * 4096 + 10], 1,
		    (off_t)page * 4096 + 10), 1);
	}
	close(fd);
	assert_status(lc_recover(root, "m", 0, NULL, NULL), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "backup"));
	check_file(root, &before);
}
END_TEST

START_TEST(bad_calls)
{
	const char *root = run_scratch();
	lc_recover_result result;

	assert_status(lc_recover(root, "m", 0, NULL, &result), LC_NO_FILE);
	assert_status(lc_recover(root, "a/b", 0, NULL, &result), LC_INVALID);
	assert_status(lc_recover(NULL, "m", 0, NULL, &result), LC_INVALID);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("recover");
	TCase *tc = tcase_create("recover");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_test(tc, no_damage);
	tcase_add_loop_test(tc, costs_nothing, 0, 2 * HARMLESS);
	tcase_add_loop_test(tc, moved_rows, 0, MOVED);
	tcase_add_loop_test(tc, index_cut, 0, sizeof(cuts) / sizeof(cuts[0]));
	tcase_add_loop_test(tc, only_chunks, 0, 4);
	tcase_add_loop_test(tc, record, 0, 5);
	tcase_add_test(tc, chunk_gone);
	tcase_add_test(tc, tables_of_old);
	tcase_add_loop_test(tc, random_damage, 0, 4);
	tcase_add_test(tc, cancelled);
	tcase_add_test(tc, pages);
	tcase_add_test(tc, bad_calls);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
