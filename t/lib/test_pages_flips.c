/* SPDX-License-Identifier: BSD-2-Clause */
/* The check of LMDB's pages: where it sees nothing, liblmdb must not crash. */
#include "run.h"

#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "pages/pages.h"
#include "rawdb.h"

/* ---- flipped bits and liblmdb -------------------------------------------- */

static const struct lc__pages_table engine_tables[] = {
	{ "meta", 0, 0 }, { "schema", MDB_INTEGERKEY, 4 },
	{ "chunk", MDB_INTEGERKEY, 8 },
	{ "ledger", MDB_INTEGERKEY, 8 }, { "index", MDB_INTEGERKEY, 8 },
	{ "names", 0, 0 },
};

enum { ENGINE_TABLES = sizeof(engine_tables) / sizeof(engine_tables[0]) };

/* Tables shaped as the engine's, a branch page in each that can have one. */
static void
build_engine(MDB_env *env, uint64_t *seed)
{
	for (uint32_t commit = 0; commit < 40; commit++) {
		MDB_txn *txn = rawdb_begin(env, 0);
		MDB_dbi dbi[ENGINE_TABLES];
		const uint32_t schema = commit / 8;

		for (int t = 0; t < ENGINE_TABLES; t++)
			dbi[t] = rawdb_table(txn, engine_tables[t].name, engine_tables[t].flags);
		rawdb_put_text(txn, dbi[0], "state", 64 + commit);
		rawdb_put_text(txn, dbi[0], "module", 40);
		rawdb_put_bytes(txn, dbi[1], &schema, 4, 30, 1);
		for (uint64_t id = commit * 5; id < commit * 5 + 5; id++) {
			rawdb_put_u64(txn, dbi[2], id, 2100 + run_random(seed) % 3 * 5000);
			rawdb_put_u64(txn, dbi[3], id, 80);
		}
		rawdb_put_u64(txn, dbi[4], commit, 3000);
		for (int i = 0; i < 12; i++) {
			char name[40];
			snprintf(name, sizeof(name), "%016llx-name",
			    (unsigned long long)run_random(seed));
			rawdb_put_text(txn, dbi[5], name, run_random(seed) % 60);
		}
		if (commit % 8 == 7) {
			for (uint64_t id = commit - 7; id < commit; id++)
				rawdb_must(rawdb_del_u64(txn, dbi[4], id));
			for (uint64_t id = commit; id < commit + 4; id++)
				rawdb_must(rawdb_del_u64(txn, dbi[2], id));
		}
		rawdb_must(mdb_txn_commit(txn));
	}
}

/* A file in memory, and the bits worth flipping. */
struct victim {
	unsigned char *bytes;
	size_t size;
	uint64_t *pages; /* tree pages, then overflow pages */
	size_t tree_pages, all_pages;
};

static uint64_t
get(const unsigned char *p, unsigned width)
{
	uint64_t v = 0;

	memcpy(&v, p, width); /* the tests run on little-endian machines only */
	return v;
}

static void
list_tree(struct victim *v, uint64_t number, bool overflow)
{
	const unsigned char *page = v->bytes + number * 4096;
	const unsigned nodes = ((unsigned)get(page + 12, 2) - 16) / 2;

	if (!overflow)
		v->pages[v->all_pages++] = number;
	for (unsigned i = 0; i < nodes; i++) {
		const unsigned char *node = page + get(page + 16 + 2 * i, 2);
		const unsigned char *value = node + 8 + get(node + 6, 2);
		const unsigned flags = (unsigned)get(node + 4, 2);

		if (get(page + 10, 2) == 1)
			list_tree(v, get(node, 4), overflow);
		else if (flags == 2)
			list_tree(v, get(value + 40, 8), overflow);
		else if (flags == 1 && overflow)
			v->pages[v->all_pages++] = get(value, 8);
	}
}

static void
list_pages(struct victim *v)
{
	const unsigned char *meta = v->bytes;

	if (get(meta + 4096 + 144, 8) > get(meta + 144, 8))
		meta += 4096;
	v->pages = calloc(v->size / 4096, sizeof(*v->pages));
	v->pages[v->all_pages++] = 0;
	v->pages[v->all_pages++] = 1;
	list_tree(v, get(meta + 88 + 40, 8), false);
	list_tree(v, get(meta + 40 + 40, 8), false);
	v->tree_pages = v->all_pages;
	list_tree(v, get(meta + 88 + 40, 8), true);
}

static void
load_victim(struct victim *v, const char *path)
{
	struct lc__buf buf = { 0 };

	memset(v, 0, sizeof(*v));
	ck_assert_int_eq(lc__read_file(path, 1 << 30, &buf), LC_OK);
	v->bytes = buf.data;
	v->size = buf.size;
	list_pages(v);
}

static void
store_victim(const struct victim *v, const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(lc__write_full(fd, v->bytes, v->size, path), LC_OK);
	close(fd);
}

static bool
is_free_space(const struct victim *v, size_t bit)
{
	const unsigned char *page = v->bytes + bit / 8 / 4096 * 4096;
	const size_t at = bit / 8 % 4096;

	return bit / 8 >= 2 * 4096 && at >= get(page + 12, 2) && at < get(page + 14, 2);
}

/* Two trials in eight go to the meta pages; what follows META_END there is not used. */
static size_t
pick_any_bit(const struct victim *v, uint64_t *seed, bool overflow)
{
	const uint64_t r = run_random(seed);
	const size_t i = overflow ? r % v->all_pages : r % v->tree_pages;
	size_t span = 4096;

	if ((r >> 32) % 8 < 2)
		return ((r >> 40 & 1) * 4096 + run_random(seed) % 152) * 8 + (r >> 44) % 8;
	if (i < 2)
		span = 152;
	if (i >= v->tree_pages)
		span = 16;
	return (v->pages[i] * 4096 + run_random(seed) % span) * 8 + (r >> 44) % 8;
}

/* A bit that means something. */
static size_t
pick_bit(const struct victim *v, uint64_t *seed, bool overflow)
{
	size_t bit;

	do {
		bit = pick_any_bit(v, seed, overflow);
	} while (bit / 8 % 4096 >= 16 && is_free_space(v, bit));
	return bit;
}

static volatile unsigned sum;

static void
touch(const MDB_val *v)
{
	const unsigned char *p = v->mv_data;

	for (size_t i = 0; i < v->mv_size; i += 512)
		sum += p[i];
	if (v->mv_size > 0)
		sum += p[v->mv_size - 1];
}

static void
read_table(MDB_txn *txn, MDB_dbi dbi)
{
	MDB_cursor *cursor;
	MDB_val k, v, again;

	if (mdb_cursor_open(txn, dbi, &cursor) != 0)
		return;
	while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
		touch(&k);
		touch(&v);
		if (mdb_get(txn, dbi, &k, &again) == 0)
			touch(&again);
	}
	for (int rc = mdb_cursor_get(cursor, &k, &v, MDB_LAST); rc == 0;
	    rc = mdb_cursor_get(cursor, &k, &v, MDB_PREV))
		touch(&v);
	for (uint64_t key = 0; key < 1000; key = key * 3 + 1) {
		MDB_val at = { 8, &key };
		if (mdb_cursor_get(cursor, &at, &v, MDB_SET_RANGE) == 0)
			touch(&v);
	}
	mdb_cursor_close(cursor);
}

/* Damage that liblmdb believes can make it ask for more than the machine has. */
static void
limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__)
	const struct rlimit limit = { (rlim_t)4 << 30, (rlim_t)4 << 30 };

	if (setrlimit(RLIMIT_AS, &limit) != 0)
		_exit(1);
#endif
}

/* Errors are fine here: only signals are not. */
static void
write_table(MDB_txn *txn, MDB_dbi dbi, unsigned t, uint64_t round)
{
	const struct lc__pages_table *table = &engine_tables[t];
	const size_t key_size = table->flags ? table->key_size : 8;

	for (uint64_t i = 0; i < 60; i++) {
		uint64_t key = (i * 7 + round * 11) % 230;
		MDB_val k = { key_size, &key }, v = { 20 + i % 3 * 2000, NULL };

		if (i % 3 == 2)
			(void)mdb_del(txn, dbi, &k, NULL);
		else if (mdb_put(txn, dbi, &k, &v, MDB_RESERVE) == 0)
			memset(v.mv_data, 0, v.mv_size);
	}
	if (t == 5) {
		MDB_cursor *cursor;
		MDB_val k, v;

		if (mdb_cursor_open(txn, dbi, &cursor) != 0)
			return;
		while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
			if (++round % 3 != 0)
				(void)mdb_cursor_del(cursor, 0);
		}
		mdb_cursor_close(cursor);
	}
}

static void
use_env(const char *dir, bool compact)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi[ENGINE_TABLES], main_dbi;

	limit_memory();
	alarm(60); /* an endless loop is a signal too */
	if (mdb_env_create(&env) != 0 || mdb_env_set_maxdbs(env, 16) != 0 ||
	    mdb_env_set_mapsize(env, 1 << 28) != 0 ||
	    mdb_env_open(env, dir, MDB_NOTLS | MDB_NOSYNC | MDB_NORDAHEAD, 0644) != 0)
		return;
	if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) != 0)
		return;
	for (int t = 0; t < ENGINE_TABLES; t++) {
		if (mdb_dbi_open(txn, engine_tables[t].name, 0, &dbi[t]) != 0)
			return;
		read_table(txn, dbi[t]);
	}
	if (mdb_dbi_open(txn, NULL, 0, &main_dbi) == 0)
		read_table(txn, main_dbi);
	if (mdb_txn_commit(txn) != 0)
		return;
	for (uint64_t round = 0; round < 3; round++) {
		if (mdb_txn_begin(env, NULL, 0, &txn) != 0)
			return;
		for (unsigned t = 0; t < ENGINE_TABLES; t++)
			write_table(txn, dbi[t], t, round);
		(void)!mdb_txn_commit(txn);
	}
	if (compact) {
		const int fd = open("/dev/null", O_WRONLY);
		if (fd < 0)
			_exit(1);
		(void)!mdb_env_copyfd2(env, fd, MDB_CP_COMPACT);
		close(fd);
	}
	if (mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0) {
		for (int t = 0; t < ENGINE_TABLES; t++)
			read_table(txn, dbi[t]);
		mdb_txn_abort(txn);
	}
	mdb_env_close(env);
}

/* The signal that killed a process which used the environment, 0 if none. */
static int
signal_of_use(const char *dir, bool compact)
{
	char *lock = lc__path_join(dir, "lock.mdb");
	int status;
	pid_t pid;

	unlink(lock);
	free(lock);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		use_env(dir, compact);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	return 0;
}

static void
show_bit(const struct victim *v, size_t bit, int sig)
{
	printf("# signal %d: page %zu byte %zu bit %zu (was 0x%02x)\n", sig,
	    bit / 8 / 4096, bit / 8 % 4096, bit % 8, v->bytes[bit / 8] ^ 1u << bit % 8);
	fflush(stdout);
}

/* Flip one bit; what the check lets through must not kill a user of liblmdb. */
START_TEST(flipped_bits)
{
	const bool deep = _i == 1;
	const struct lc__pages_options options = { .thorough = deep, .free_list = true,
		.tables = engine_tables, .table_count = ENGINE_TABLES };
	const char *given = getenv("T_TRIALS"), *dir = run_scratch();
	const unsigned trials = given ? (unsigned)atoi(given) : deep ? 3000 : 10000;
	char *path = lc__path_join(dir, "data.mdb");
	uint64_t seed = run_seed();
	unsigned found = 0, signals = 0;
	struct lc__pages_report report;
	struct victim v;
	MDB_env *env = rawdb_open_env(dir, MDB_NOSYNC);

	build_engine(env, &seed);
	mdb_env_close(env);
	load_victim(&v, path);
	ck_assert_int_eq(signal_of_use(dir, deep), 0);
	for (unsigned i = 0; i < trials; i++) {
		const size_t bit = pick_bit(&v, &seed, deep);

		v.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		if (lc__pages_check_map(v.bytes, v.size, path, &options, &report) != LC_OK) {
			found++;
		} else {
			int sig;

			store_victim(&v, path);
			ck_assert_msg(rawdb_check_file(path, &options, &report) == LC_OK, "%s",
			    lc_last_error()->text);
			sig = signal_of_use(dir, deep);
			if (sig != 0) {
				show_bit(&v, bit, sig);
				signals++;
			}
		}
		v.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	printf("# %u of %u flips found by the %s check\n", found, trials,
	    deep ? "thorough" : "fast");
	ck_assert_uint_eq(signals, 0);
	ck_assert_uint_gt(found, trials / 10);
	free(v.bytes);
	free(v.pages);
	free(path);
}
END_TEST

/* What the fast check does not read: the header of a value's overflow pages. */
START_TEST(value_headers)
{
	const char *dir = run_scratch();
	MDB_env *env = rawdb_open_env(dir, MDB_NOSYNC);
	MDB_txn *txn = rawdb_begin(env, 0);
	MDB_dbi meta = rawdb_table(txn, "meta", 0), chunk = rawdb_table(txn, "chunk", MDB_INTEGERKEY);
	uint64_t key = 1;
	MDB_val k = { 5, (void *)"state" }, v;
	unsigned char pages[3 * 4096];
	const void *base;

	rawdb_put_text(txn, meta, "state", 100);
	rawdb_put_u64(txn, chunk, key, 5000);
	rawdb_must(mdb_txn_commit(txn));
	txn = rawdb_begin(env, MDB_RDONLY);
	rawdb_must(mdb_get(txn, meta, &k, &v));
	base = lc__pages_base(v.mv_data, 4096);
	ck_assert_uint_eq(get((const unsigned char *)base + 16, 4), 0xBEEFC0DE);
	ck_assert_int_eq(lc__pages_check_value(base, 4096, v.mv_data, v.mv_size), LC_OK);
	k = (MDB_val){ 8, &key };
	rawdb_must(mdb_get(txn, chunk, &k, &v));
	ck_assert_int_eq(lc__pages_check_value(base, 4096, v.mv_data, v.mv_size), LC_OK);
	/* The same pages as numbers 0 and 1 of a map of our own. */
	memcpy(pages, (const char *)v.mv_data - 16, 2 * 4096);
	ck_assert_int_eq(lc__pages_check_value(pages, 4096, pages + 16, 5000), LC_CORRUPT);
	memset(pages, 0, 8);
	ck_assert_int_eq(lc__pages_check_value(pages, 4096, pages + 16, 5000), LC_OK);
	ck_assert_int_eq(lc__pages_check_value(pages, 4096, pages + 16, 4000), LC_CORRUPT);
	pages[12] ^= 1;
	ck_assert_int_eq(lc__pages_check_value(pages, 4096, pages + 16, 5000), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text,
	    "page 0: 3 overflow pages for a value of 2");
	pages[12] ^= 1;
	pages[10] ^= 0x10;
	ck_assert_int_eq(lc__pages_check_value(pages, 4096, pages + 16, 5000), LC_CORRUPT);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("pages_flips");
	TCase *tc = tcase_create("pages_flips");

	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, value_headers);
	tcase_add_loop_test(tc, flipped_bits, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
