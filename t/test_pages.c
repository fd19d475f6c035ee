/* SPDX-License-Identifier: BSD-2-Clause */
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

/* ---- environments -------------------------------------------------------- */

static void
must(int rc)
{
	ck_assert_msg(rc == 0, "%s", mdb_strerror(rc));
}

static MDB_env *
open_env(const char *dir, unsigned flags)
{
	MDB_env *env;

	must(mdb_env_create(&env));
	must(mdb_env_set_maxdbs(env, 128));
	must(mdb_env_set_mapsize(env, (size_t)1 << 30));
	must(mdb_env_open(env, dir, flags | MDB_NOTLS, 0644));
	return env;
}

static MDB_txn *
begin(MDB_env *env, unsigned flags)
{
	MDB_txn *txn;

	must(mdb_txn_begin(env, NULL, flags, &txn));
	return txn;
}

static MDB_dbi
table(MDB_txn *txn, const char *name, unsigned flags)
{
	MDB_dbi dbi;

	must(mdb_dbi_open(txn, name, MDB_CREATE | flags, &dbi));
	return dbi;
}

/* A value of size bytes; its first byte is fill, the rest zeros. */
static void
put_bytes(MDB_txn *txn, MDB_dbi dbi, const void *key, size_t key_size, size_t size,
    int fill)
{
	MDB_val k = { key_size, (void *)key }, v = { size, NULL };

	must(mdb_put(txn, dbi, &k, &v, MDB_RESERVE));
	memset(v.mv_data, 0, size);
	if (size > 0)
		memset(v.mv_data, fill, 1);
}

static void
put_u64(MDB_txn *txn, MDB_dbi dbi, uint64_t key, size_t size)
{
	put_bytes(txn, dbi, &key, sizeof(key), size, (int)key);
}

static void
put_text(MDB_txn *txn, MDB_dbi dbi, const char *key, size_t size)
{
	put_bytes(txn, dbi, key, strlen(key), size, key[0]);
}

static int
del_u64(MDB_txn *txn, MDB_dbi dbi, uint64_t key)
{
	MDB_val k = { sizeof(key), &key };

	return mdb_del(txn, dbi, &k, NULL);
}

static void
shape_empty(MDB_env *env, uint64_t *seed)
{
	(void)env;
	(void)seed;
}

static void
shape_main_only(MDB_env *env, uint64_t *seed)
{
	char key[600];

	for (int round = 0; round < 5; round++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, NULL, 0);

		for (int i = 0; i < 300; i++) {
			const size_t n = 1 + run_random(seed) % 511;

			memset(key, 'k', n);
			snprintf(key, sizeof(key), "%llx", (unsigned long long)run_random(seed));
			key[strlen(key)] = 'k';
			put_bytes(txn, dbi, key, n, run_random(seed) % 3000, i);
		}
		must(mdb_txn_commit(txn));
	}
}

static void
shape_many_tables(MDB_env *env, uint64_t *seed)
{
	for (int round = 0; round < 3; round++) {
		MDB_txn *txn = begin(env, 0);

		for (int t = 0; t < 100; t++) {
			char name[40];
			const unsigned flags = t % 3 != 0 ? MDB_INTEGERKEY : 0;
			MDB_dbi dbi;

			snprintf(name, sizeof(name), "table-%d-with-a-name", t);
			dbi = table(txn, name, flags);
			for (int i = 0; i < t % 5 * 20; i++) {
				const uint64_t key = run_random(seed) % 1000;
				const uint32_t small = (uint32_t)key;

				if (t % 3 == 0)
					put_text(txn, dbi, name + i % 5, key % 50);
				else if (t % 3 == 1)
					put_u64(txn, dbi, key, key * 3);
				else
					put_bytes(txn, dbi, &small, 4, key % 90, i);
			}
		}
		must(mdb_txn_commit(txn));
	}
}

/* The sizes around every limit: inline or not, one page or two. */
static void
shape_overflow_sizes(MDB_env *env, uint64_t *seed)
{
	static const size_t sizes[] = { 0, 1, 2021, 2022, 2023, 2024, 4079, 4080, 4081,
		8176, 8177, 100000, 1 << 20, (1 << 20) + 1 };
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "chunk", MDB_INTEGERKEY);

	(void)seed;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		put_u64(txn, dbi, i, sizes[i]);
	/* Overwritten by a smaller value in its own transaction: keeps its pages. */
	put_u64(txn, dbi, 100, 50000);
	put_u64(txn, dbi, 100, 3000);
	must(mdb_txn_commit(txn));
}

static void
shape_long_free_list(MDB_env *env, uint64_t *seed)
{
	MDB_txn *txn = begin(env, 0);
	MDB_dbi dbi = table(txn, "chunk", MDB_INTEGERKEY), gone = table(txn, "gone", 0);

	for (uint64_t i = 0; i < 3000; i++)
		put_u64(txn, dbi, i, 3000 + i % 7 * 3000);
	for (int i = 0; i < 2000; i++) {
		const uint64_t key = run_random(seed);
		put_bytes(txn, gone, &key, sizeof(key), 200, i);
	}
	must(mdb_txn_commit(txn));
	for (int round = 0; round < 30; round++) {
		txn = begin(env, 0);
		for (int i = 0; i < 60; i++)
			(void)del_u64(txn, dbi, run_random(seed) % 3000);
		for (int i = 0; i < round % 4 * 5; i++)
			put_u64(txn, dbi, run_random(seed) % 4000, 20000);
		if (round == 10)
			must(mdb_drop(txn, gone, 0));
		if (round == 20)
			must(mdb_drop(txn, gone, 1));
		must(mdb_txn_commit(txn));
	}
}

static void
shape_deep(MDB_env *env, uint64_t *seed)
{
	for (int round = 0; round < 4; round++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, "keys", 0);

		for (int i = 0; i < 25000; i++) {
			char key[64];
			snprintf(key, sizeof(key), "%040llx-key",
			    (unsigned long long)run_random(seed) >> 16);
			put_text(txn, dbi, key, 16);
		}
		must(mdb_txn_commit(txn));
	}
	for (int round = 0; round < 3; round++) {
		MDB_txn *txn = begin(env, 0);
		MDB_cursor *cursor;
		MDB_val k, v;
		int rc;

		must(mdb_cursor_open(txn, table(txn, "keys", 0), &cursor));
		rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
		for (int i = 0; rc == 0; i++) {
			if (run_random(seed) % 4 < 2)
				must(mdb_cursor_del(cursor, 0));
			rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
		}
		must(mdb_txn_commit(txn));
	}
}

/* Pages taken from the end and given back in one transaction: never written. */
static void
shape_short_file(MDB_env *env, uint64_t *seed)
{
	MDB_txn *txn = NULL;
	MDB_dbi dbi = 0;

	(void)seed;
	for (uint64_t i = 0; i < 4; i++) {
		txn = begin(env, 0);
		dbi = table(txn, "chunk", MDB_INTEGERKEY);
		put_u64(txn, dbi, i, 30000);
		if (i > 0)
			must(del_u64(txn, dbi, i - 1));
		must(mdb_txn_commit(txn));
	}
	txn = begin(env, 0);
	put_u64(txn, dbi, 50, 100);
	put_u64(txn, dbi, 100, 1 << 20);
	must(del_u64(txn, dbi, 100));
	must(mdb_txn_commit(txn));
}

static void
shape_emptied(MDB_env *env, uint64_t *seed)
{
	MDB_txn *txn;

	shape_overflow_sizes(env, seed);
	txn = begin(env, 0);
	must(mdb_drop(txn, table(txn, "chunk", MDB_INTEGERKEY), 1));
	must(mdb_txn_commit(txn));
}

static const struct shape {
	const char *name;
	void (*build)(MDB_env *env, uint64_t *seed);
} shapes[] = {
	{ "empty", shape_empty },
	{ "main only", shape_main_only },
	{ "many tables", shape_many_tables },
	{ "overflow sizes", shape_overflow_sizes },
	{ "long free list", shape_long_free_list },
	{ "deep", shape_deep },
	{ "short file", shape_short_file },
	{ "emptied", shape_emptied },
};

/* ---- healthy files ------------------------------------------------------- */

static const struct lc__pages_options fast = { .free_list = true };
static const struct lc__pages_options thorough = { .thorough = true };

static lc_status
check_file(const char *path, const struct lc__pages_options *options,
    struct lc__pages_report *report)
{
	const int fd = open(path, O_RDONLY);
	lc_status status;

	ck_assert_int_ge(fd, 0);
	status = lc__pages_check(fd, path, options, report);
	close(fd);
	return status;
}

static void
assert_healthy(const char *dir, const char *what)
{
	char *path = lc__path_join(dir, "data.mdb");
	struct lc__pages_report quick = { .tree_pages = 0 }, full = { .tree_pages = 0 };
	struct stat st;

	ck_assert_msg(check_file(path, &fast, &quick) == LC_OK, "%s: fast: %s", what,
	    lc_last_error()->text);
	ck_assert_msg(check_file(path, &thorough, &full) == LC_OK, "%s: thorough: %s", what,
	    lc_last_error()->text);
	ck_assert(quick.complete && full.complete);
	ck_assert_uint_eq(quick.tree_pages, full.tree_pages);
	ck_assert_uint_eq(quick.free_pages, full.free_pages);
	ck_assert_msg(full.leaked_pages == 0, "%s: %llu pages leaked", what,
	    (unsigned long long)full.leaked_pages);
	ck_assert_uint_eq(full.tree_pages + full.overflow_pages + full.free_pages + 2,
	    full.meta.last_page + 1);
	ck_assert_int_eq(stat(path, &st), 0);
	if (strcmp(what, "short file") == 0)
		ck_assert_uint_lt((uint64_t)st.st_size, (full.meta.last_page + 1) * 4096);
	free(path);
}

static void
copy_env(MDB_env *env, const char *what, unsigned flags)
{
	const char *dir = run_scratch();

	must(mdb_env_copy2(env, dir, flags));
	assert_healthy(dir, what);
}

START_TEST(healthy_shapes)
{
	const struct shape *shape = &shapes[_i];
	const char *dir = run_scratch();
	uint64_t seed = run_seed();
	MDB_env *env = open_env(dir, MDB_NOSYNC);

	shape->build(env, &seed);
	assert_healthy(dir, shape->name);
	copy_env(env, "plain copy", 0);
	copy_env(env, "compact copy", MDB_CP_COMPACT);
	mdb_env_close(env);
	assert_healthy(dir, shape->name);
}
END_TEST

static void
write_forever(const char *dir, uint64_t seed)
{
	MDB_env *env = open_env(dir, MDB_NOMETASYNC | MDB_NOSYNC);

	for (;;) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi = table(txn, "chunk", MDB_INTEGERKEY);

		for (int i = 0; i < 20; i++) {
			put_u64(txn, dbi, run_random(&seed) % 300, run_random(&seed) % 9000);
			(void)del_u64(txn, dbi, run_random(&seed) % 300);
		}
		if (run_random(&seed) % 4 == 0)
			mdb_txn_abort(txn);
		else
			must(mdb_txn_commit(txn));
	}
}

/* While another process commits, and after it was killed at any point. */
START_TEST(healthy_while_written)
{
	const char *dir = run_scratch();
	char *path = lc__path_join(dir, "data.mdb");
	uint64_t seed = run_seed();
	MDB_env *env = open_env(dir, 0);

	for (int round = 0; round < 20; round++) {
		const pid_t pid = fork();
		int status;

		if (pid == 0)
			write_forever(dir, seed + (uint64_t)round);
		for (int i = 0; i < 20; i++) {
			MDB_txn *txn = begin(env, MDB_RDONLY);
			struct lc__pages_report report;

			ck_assert_msg(check_file(path, &fast, &report) == LC_OK, "%s",
			    lc_last_error()->text);
			ck_assert_uint_ge(report.meta.txnid, mdb_txn_id(txn));
			mdb_txn_abort(txn);
		}
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		assert_healthy(dir, "killed");
	}
	mdb_env_close(env);
	free(path);
}
END_TEST

/* ---- a file written by hand ---------------------------------------------- */

/*
 * Pages of 512 bytes:
 *   0, 1  meta; transaction 8 wrote page 0
 *   2     main table: "n" (integers), "s" (strings)
 *   3     branch of "n": 4, 5
 *   4, 5  leaves of "n": 1, 2 and 3, 4
 *   6     leaf of "s": "a" -> 5 bytes, "b" -> 600 bytes on 7 and 8
 *   9     free list: transaction 7 freed 11 and 10
 */
enum { SMALL = 512, SMALL_PAGES = 12 };

static void
set16(unsigned char *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void
set32(unsigned char *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void
set64(unsigned char *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void
set_tree(unsigned char *p, uint32_t pad, uint16_t flags, const uint64_t numbers[6])
{
	set32(p, pad);
	set16(p + 4, flags);
	set16(p + 6, (uint16_t)numbers[0]);
	for (int i = 1; i < 6; i++)
		set64(p + 8 * i, numbers[i]);
}

static void
set_page(unsigned char *file, uint64_t number, uint16_t flags)
{
	unsigned char *page = file + number * SMALL;

	set64(page, number);
	set16(page + 10, flags);
	set16(page + 12, 16);
	set16(page + 14, SMALL);
}

/* Append a node as the next key; returns where its value goes. */
static unsigned char *
add_node(unsigned char *page, uint32_t low, uint16_t flags, const void *key,
    uint16_t key_size, unsigned value_size)
{
	uint16_t lower, upper;

	memcpy(&lower, page + 12, 2);
	memcpy(&upper, page + 14, 2);
	upper = (uint16_t)(upper - ((8 + key_size + value_size + 1) & ~1u));
	set16(page + lower, upper);
	set16(page + 12, (uint16_t)(lower + 2));
	set16(page + 14, upper);
	set32(page + upper, low);
	set16(page + upper + 4, flags);
	set16(page + upper + 6, key_size);
	memcpy(page + upper + 8, key, key_size);
	return page + upper + 8 + key_size;
}

static void
set_meta(unsigned char *file, int number, uint64_t txnid)
{
	unsigned char *meta = file + number * SMALL + 16;

	set_page(file, (uint64_t)number, 8);
	set32(meta, 0xBEEFC0DE);
	set32(meta + 4, 1);
	set64(meta + 16, 1 << 20);
	set_tree(meta + 24, SMALL, 8, (uint64_t[6]){ 1, 0, 1, 0, 1, 9 });
	set_tree(meta + 72, 0, 0, (uint64_t[6]){ 1, 0, 1, 0, 2, 2 });
	set64(meta + 120, SMALL_PAGES - 1);
	set64(meta + 128, txnid);
}

static void
set_integers(unsigned char *file, uint64_t page, uint64_t first)
{
	set_page(file, page, 2);
	for (uint64_t key = first; key < first + 2; key++)
		memcpy(add_node(file + page * SMALL, 6, 0, &key, 8, 6), "value.", 6);
}

static void
make_small(unsigned char file[SMALL * SMALL_PAGES])
{
	uint64_t key = 3;
	unsigned char *value;

	memset(file, 0, SMALL * SMALL_PAGES);
	set_meta(file, 0, 8);
	set_meta(file, 1, 7);
	set_page(file, 2, 2);
	set_tree(add_node(file + 2 * SMALL, 48, 2, "n", 1, 48), 0, 8,
	    (uint64_t[6]){ 2, 1, 2, 0, 4, 3 });
	set_tree(add_node(file + 2 * SMALL, 48, 2, "s", 1, 48), 0, 0,
	    (uint64_t[6]){ 1, 0, 1, 2, 2, 6 });
	set_page(file, 3, 1);
	add_node(file + 3 * SMALL, 4, 0, "", 0, 0);
	add_node(file + 3 * SMALL, 5, 0, &key, 8, 0);
	set_integers(file, 4, 1);
	set_integers(file, 5, 3);
	set_page(file, 6, 2);
	memcpy(add_node(file + 6 * SMALL, 5, 0, "a", 1, 5), "small", 5);
	set64(add_node(file + 6 * SMALL, 600, 1, "b", 1, 8), 7);
	set_page(file, 7, 4);
	set32(file + 7 * SMALL + 12, 2);
	set_page(file, 9, 2);
	key = 7;
	value = add_node(file + 9 * SMALL, 24, 0, &key, 8, 24);
	set64(value, 2);
	set64(value + 8, 11);
	set64(value + 16, 10);
}

/* Where things lie in that file; nodes are appended from the end of a page. */
enum {
	N_RECORD = 3 * SMALL - 58 + 9, /* main: "n" at the end of page 2 */
	S_RECORD = 3 * SMALL - 2 * 58 + 9,
	CHILD_1 = 4 * SMALL - 8 - 16, /* branch: node 1 */
	KEY_1 = 5 * SMALL - 22, /* page 4: node of key 1, then of key 2 below it */
	KEY_2 = 5 * SMALL - 2 * 22,
	NODE_A = 7 * SMALL - 14,
	NODE_B = 7 * SMALL - 14 - 18,
	FREED = 10 * SMALL - 40
};

enum mode { BOTH, THOROUGH_ONLY };

static const struct damage {
	size_t at;
	unsigned width;
	uint64_t value;
	enum mode mode;
	lc_status status;
	const char *text;
} damages[] = {
	/* meta pages */
	{ 16, 4, 0, BOTH, LC_CORRUPT, "page 0: wrong magic number" },
	{ 512 + 16, 4, 0, BOTH, LC_CORRUPT, "page 1: not a meta page" },
	{ 10, 2, 2, BOTH, LC_CORRUPT, "page 0: flags 0x2, not a meta page's" },
	{ 512, 8, 2, BOTH, LC_CORRUPT, "page 1: calls itself page 2" },
	{ 512 + 20, 4, 3, BOTH, LC_CORRUPT, "page 1: data version 3, page 0 has 1" },
	{ 40, 4, 0, BOTH, LC_CORRUPT, "page 0: page size 0" },
	{ 40, 4, 768, BOTH, LC_CORRUPT, "page 0: page size 768" },
	{ 40, 4, 65536, BOTH, LC_CORRUPT, "page 0: page size 65536" },
	{ 40, 4, 1024, BOTH, LC_CORRUPT, "page 1: not a meta page" },
	{ 40, 4, 8192, BOTH, LC_CORRUPT, "truncated: page 1 is missing" },
	{ 512 + 40, 4, 4096, BOTH, LC_CORRUPT, "page 1: page size 4096, page 0 has 512" },
	{ 144, 8, 9, BOTH, LC_CORRUPT,
	    "pages 0 and 1: transactions 9 and 7 do not follow each other" },
	{ 144, 8, 10, BOTH, LC_CORRUPT,
	    "pages 0 and 1: transactions 10 and 7 do not follow each other" },
	{ 136, 8, 1ull << 40, BOTH, LC_CORRUPT, "meta page: last page 1099511627776" },
	{ 136, 8, 0, BOTH, LC_CORRUPT, "meta page: last page 0" },
	{ 32, 8, 4096, BOTH, LC_CORRUPT, "meta page: map size 4096" },
	{ 32, 8, 1ull << 60, BOTH, LC_CORRUPT, "meta page: map size 1152921504606846976" },
	{ 136, 8, 13, BOTH, LC_CORRUPT,
	    "truncated: the file has 12 of 14 pages, and only 0 of the rest are free" },
	{ 136, 8, 10, BOTH, LC_CORRUPT, "free list: page 9: record 7: page 11 follows 11" },
	{ 136, 8, 8, BOTH, LC_CORRUPT, "free list: root page 9 of 8" },
	{ 88 + 40, 8, 1, BOTH, LC_CORRUPT, "main table: root page 1 of 11" },
	{ 88 + 40, 8, UINT64_MAX, BOTH, LC_CORRUPT, "main table: no root but a depth of 1" },
	{ 88 + 4, 2, 4, BOTH, LC_CORRUPT, "main table: flags 0x4, pad 0" },
	{ 88 + 0, 4, 1, BOTH, LC_CORRUPT, "main table: flags 0x0, pad 1" },
	{ 88 + 6, 2, 33, BOTH, LC_CORRUPT, "main table: depth of 33" },
	{ 88 + 6, 2, 2, BOTH, LC_CORRUPT,
	    "main table: page 2: flags 0x2 where a branch was expected" },
	{ 88 + 32, 8, 3, BOTH, LC_CORRUPT, "main table: 2 entries, its record says 3" },
	{ 40 + 4, 2, 12, BOTH, LC_CORRUPT, "free list: flags 0xc" },
	{ 40 + 4, 2, 0, BOTH, LC_CORRUPT, "free list: flags 0x0" },
	{ 40 + 40, 8, UINT64_MAX, BOTH, LC_CORRUPT, "free list: no root but a depth of 1" },
	/* pages */
	{ 1024, 8, 3, BOTH, LC_CORRUPT, "main table: page 2: calls itself page 3" },
	{ 1024 + 10, 2, 0x22, BOTH, LC_CORRUPT,
	    "main table: page 2: flags 0x22 where a leaf was expected" },
	{ 1024 + 12, 2, 16, BOTH, LC_CORRUPT, "main table: page 2: free space from 16 to 396" },
	{ 1024 + 12, 2, 19, BOTH, LC_CORRUPT, "main table: page 2: free space from 19 to 396" },
	{ 1024 + 12, 2, 600, BOTH, LC_CORRUPT,
	    "main table: page 2: free space from 600 to 396" },
	{ 1024 + 14, 2, 514, BOTH, LC_CORRUPT,
	    "main table: page 2: free space from 20 to 514" },
	{ 1024 + 14, 2, 394, BOTH, LC_CORRUPT,
	    "main table: page 2: its nodes do not fill it: gap or overlap at byte 394" },
	{ 1024 + 16, 2, 16, BOTH, LC_CORRUPT, "main table: page 2: node 0: offset 16" },
	{ 1024 + 16, 2, 455, BOTH, LC_CORRUPT, "main table: page 2: node 0: offset 455" },
	{ 1024 + 18, 2, 454, BOTH, LC_CORRUPT,
	    "main table: page 2: its nodes do not fill it: gap or overlap at byte 396" },
	{ 3 * SMALL + 12, 2, 18, BOTH, LC_CORRUPT,
	    "table 'n': page 3: free space from 18 to 488" },
	/* nodes */
	{ N_RECORD - 9, 4, 1u << 31, BOTH, LC_CORRUPT,
	    "main table: page 2: node 0: 2147483658 bytes at offset 454" },
	{ N_RECORD - 9 + 6, 2, 5000, BOTH, LC_CORRUPT,
	    "main table: page 2: node 0: 5056 bytes at offset 454" },
	{ N_RECORD - 9 + 4, 2, 6, BOTH, LC_CORRUPT, "main table: page 2: node 0: flags 0x6" },
	{ N_RECORD - 9, 4, 49, BOTH, LC_CORRUPT,
	    "table 'n': page 2: record of 49 bytes" },
	{ N_RECORD - 1, 1, 't', BOTH, LC_CORRUPT, "main table: page 2: node 1: key out of order" },
	{ KEY_1 + 4, 2, 2, BOTH, LC_CORRUPT, "table 'n': page 4: node 0: flags 0x2" },
	{ KEY_1 + 8, 8, 2, BOTH, LC_CORRUPT, "table 'n': page 4: node 1: key out of order" },
	{ KEY_2 + 8, 8, 3, BOTH, LC_CORRUPT, "table 'n': page 3: node 1: key out of order" },
	{ CHILD_1 + 8, 8, 4, BOTH, LC_CORRUPT, "table 'n': page 5: node 0: key out of order" },
	{ CHILD_1, 4, 4, BOTH, LC_CORRUPT, "table 'n': page 4: used twice" },
	{ CHILD_1, 4, 1, BOTH, LC_CORRUPT, "table 'n': page 3: node 1: child page 1 of 11" },
	{ CHILD_1 + 4, 2, 1, BOTH, LC_CORRUPT,
	    "table 'n': page 3: node 1: child page 4294967301 of 11" },
	{ CHILD_1, 4, 6, BOTH, LC_CORRUPT, "table 'n': page 6: node 0: integer key of 1 bytes" },
	{ NODE_A + 6, 2, 0, BOTH, LC_CORRUPT, "table 's': page 6: node 0: key of 0 bytes" },
	{ NODE_B, 4, 5000, BOTH, LC_CORRUPT,
	    "table 's': page 6: node 1: truncated: 10 pages from 7 leave the file's 12" },
	{ NODE_B + 9, 8, 1, BOTH, LC_CORRUPT,
	    "table 's': page 6: node 1: value on page 1 of 11" },
	{ NODE_B + 9, 8, 1ull << 60, BOTH, LC_CORRUPT,
	    "table 's': page 6: node 1: value on page 1152921504606846976 of 11" },
	{ NODE_B, 4, 1200, BOTH, LC_CORRUPT, NULL },
	/* the records of tables */
	{ N_RECORD + 4, 2, 0, BOTH, LC_CORRUPT, "table 'n': flags 0x0, pad 0" },
	{ N_RECORD + 4, 2, 12, BOTH, LC_CORRUPT, "table 'n': flags 0xc, pad 0" },
	{ N_RECORD, 4, 8, BOTH, LC_CORRUPT, "table 'n': flags 0x8, pad 8" },
	{ N_RECORD + 6, 2, 1, BOTH, LC_CORRUPT,
	    "table 'n': page 3: flags 0x1 where a leaf was expected" },
	{ N_RECORD + 8, 8, 2, BOTH, LC_CORRUPT,
	    "table 'n': 1 branch pages, its record says 2" },
	{ N_RECORD + 16, 8, 3, BOTH, LC_CORRUPT, "table 'n': 2 leaf pages, its record says 3" },
	{ N_RECORD + 32, 8, 5, BOTH, LC_CORRUPT, "table 'n': 4 entries, its record says 5" },
	{ S_RECORD + 24, 8, 1, BOTH, LC_CORRUPT,
	    "table 's': 2 overflow pages, its record says 1" },
	{ S_RECORD + 24, 8, 3, THOROUGH_ONLY, LC_CORRUPT,
	    "table 's': 2 overflow pages, its record says 3" },
	{ S_RECORD - 1, 1, 'r', BOTH, LC_CORRUPT, "table s is missing" },
	{ 88 + 24, 8, 1, BOTH, LC_CORRUPT,
	    "main table: 0 overflow pages, its record says 1" },
	/* overflow pages */
	{ 7 * SMALL, 8, 8, THOROUGH_ONLY, LC_CORRUPT,
	    "table 's': page 7: calls itself page 8" },
	{ 7 * SMALL + 10, 2, 0x14, THOROUGH_ONLY, LC_CORRUPT,
	    "table 's': page 7: flags 0x14 where an overflow page was expected" },
	{ 7 * SMALL + 12, 4, 1, THOROUGH_ONLY, LC_CORRUPT,
	    "table 's': page 7: 1 overflow pages for a value of 2" },
	{ 7 * SMALL + 12, 4, 1u << 31, THOROUGH_ONLY, LC_CORRUPT,
	    "table 's': page 7: 2147483648 overflow pages for a value of 2" },
	/* the free list */
	{ FREED + 8, 8, 9, BOTH, LC_CORRUPT,
	    "free list: page 9: freed by transaction 9 of 8" },
	{ FREED + 16, 8, 3, BOTH, LC_CORRUPT,
	    "free list: page 9: record 7 of 24 bytes counts 3 pages" },
	{ FREED + 24, 8, 12, BOTH, LC_CORRUPT,
	    "free list: page 9: record 7: page 12 follows 12" },
	{ FREED + 32, 8, 11, BOTH, LC_CORRUPT,
	    "free list: page 9: record 7: page 11 follows 11" },
	{ FREED + 32, 8, 1, BOTH, LC_CORRUPT, "free list: page 9: record 7: page 1 follows 11" },
	{ FREED + 32, 8, 8, BOTH, LC_CORRUPT,
	    "free list: page 9: record 7: page 8 is in use, or free twice" },
	{ FREED, 4, 23, BOTH, LC_CORRUPT, "free list: page 9: record 7 of 23 bytes" },
};

static const struct lc__pages_table small_tables[] = {
	{ "n", 8, 8 }, { "s", 0, 0 },
};

static const struct lc__pages_options small_fast = { .free_list = true,
	.tables = small_tables, .table_count = 2 };
static const struct lc__pages_options small_thorough = { .thorough = true,
	.tables = small_tables, .table_count = 2 };

START_TEST(small_file)
{
	unsigned char file[SMALL * SMALL_PAGES];
	struct lc__pages_report report;

	make_small(file);
	ck_assert_msg(lc__pages_check_map(file, sizeof(file), "f", &small_thorough,
	    &report) == LC_OK, "%s", lc_last_error()->text);
	ck_assert_uint_eq(report.meta.txnid, 8);
	ck_assert_uint_eq(report.tree_pages, 6);
	ck_assert_uint_eq(report.overflow_pages, 2);
	ck_assert_uint_eq(report.free_pages, 2);
	ck_assert_uint_eq(report.leaked_pages, 0);
	/* A page that nothing names is no damage. */
	set64(file + FREED + 16, 1);
	ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &small_thorough,
	    &report), LC_OK);
	ck_assert_uint_eq(report.leaked_pages, 1);
}
END_TEST

START_TEST(small_damage)
{
	const struct damage *row = &damages[_i];
	unsigned char file[SMALL * SMALL_PAGES];
	struct lc__pages_report report;
	char expected[300];

	make_small(file);
	if (row->width == 1)
		file[row->at] = (unsigned char)row->value;
	else if (row->width == 2)
		set16(file + row->at, (uint16_t)row->value);
	else if (row->width == 4)
		set32(file + row->at, (uint32_t)row->value);
	else
		set64(file + row->at, row->value);
	ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &small_fast, &report),
	    row->mode == THOROUGH_ONLY ? LC_OK : row->status);
	ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &small_thorough,
	    &report), row->status);
	snprintf(expected, sizeof(expected), "f: %s", row->text ? row->text : "");
	if (row->text != NULL)
		ck_assert_str_eq(lc_last_error()->text, expected);
}
END_TEST

/* Cut anywhere: only pages that are free may be missing. */
START_TEST(small_truncated)
{
	unsigned char file[SMALL * SMALL_PAGES];
	struct lc__pages_report report;

	make_small(file);
	for (size_t size = 0; size <= sizeof(file); size += 64) {
		unsigned char *cut = malloc(size + 1);
		const lc_status want = size == 0 ? LC_NOT_FOUND : size < 192 ? LC_NOT_MODULE :
		    size < 10 * SMALL ? LC_CORRUPT : LC_OK;

		memcpy(cut, file, size);
		ck_assert_int_eq(lc__pages_check_map(cut, size, "f", &small_fast, &report),
		    want);
		if (want == LC_CORRUPT)
			ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "truncated"));
		free(cut);
	}
}
END_TEST

START_TEST(small_not_lmdb)
{
	static const unsigned char swapped[] = { 0xBE, 0xEF, 0xC0, 0xDE };
	unsigned char file[SMALL * SMALL_PAGES];
	struct lc__pages_report report;

	make_small(file);
	set32(file + 16, 0);
	set32(file + 512 + 16, 0);
	ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &small_fast, &report),
	    LC_NOT_MODULE);
	ck_assert_str_eq(lc_last_error()->text, "f: not an LMDB data file");
	memcpy(file + 16, swapped, 4);
	ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &small_fast, &report),
	    LC_NOT_MODULE);
	ck_assert_str_eq(lc_last_error()->text,
	    "f: written on a machine of the other byte order");
	make_small(file);
	set32(file + 20, 2);
	set32(file + 512 + 20, 2);
	ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &small_fast, &report),
	    LC_VERSION);
	ck_assert_str_eq(lc_last_error()->text, "f: LMDB data version 2, not 1");
}
END_TEST

static void
assert_damage(const unsigned char *file, size_t size, const char *text)
{
	struct lc__pages_report report;

	ck_assert_int_eq(lc__pages_check_map(file, size, "f", &small_fast, &report),
	    LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, text);
}

/* Damage that takes more than one field. */
START_TEST(small_combined)
{
	unsigned char file[SMALL * SMALL_PAGES], *cut;
	uint64_t key = 1;

	make_small(file);
	set64(file + 144, 7);
	set64(file + 512 + 144, 8);
	assert_damage(file, sizeof(file),
	    "f: pages 0 and 1: transactions 7 and 8 do not follow each other");
	make_small(file);
	set32(file + CHILD_1, 11);
	cut = malloc(10 * SMALL);
	memcpy(cut, file, 10 * SMALL);
	assert_damage(cut, 10 * SMALL, "f: table 'n': truncated: page 11 of 11 is missing");
	free(cut);
	/* Half a page is the limit: 8 + 8 + 230 bytes fit, 8 + 8 + 232 do not. */
	for (unsigned size = 230; size <= 232; size += 2) {
		struct lc__pages_report report;

		make_small(file);
		set_page(file, 4, 2);
		set64(file + N_RECORD + 32, 3);
		add_node(file + 4 * SMALL, size, 0, &key, 8, size);
		if (size == 230)
			ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &small_fast,
			    &report), LC_OK);
	}
	assert_damage(file, sizeof(file),
	    "f: table 'n': page 4: node 0: value of 232 bytes on a leaf");
}
END_TEST

static void
count_line(void *ctx, const char *line)
{
	unsigned *lines = ctx;

	ck_assert_ptr_eq(strchr(line, '\n'), NULL);
	++*lines;
}

START_TEST(small_reports_all)
{
	unsigned char file[SMALL * SMALL_PAGES];
	struct lc__pages_options options = small_thorough;
	struct lc__pages_report report;
	unsigned lines = 0;

	make_small(file);
	set64(file + 4 * SMALL, 99);
	set64(file + 6 * SMALL, 99);
	set64(file + 9 * SMALL, 99);
	options.damage = count_line;
	options.damage_ctx = &lines;
	ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &options, &report),
	    LC_CORRUPT);
	ck_assert_uint_eq(lines, 3);
	ck_assert_str_eq(lc_last_error()->text, "f: table 'n': page 4: calls itself page 99");
}
END_TEST

START_TEST(small_budget)
{
	unsigned char file[SMALL * SMALL_PAGES];
	struct lc__pages_options options = small_fast;
	struct lc__pages_report report;

	make_small(file);
	set64(file + 6 * SMALL, 99);
	options.max_pages = 4;
	ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &options, &report),
	    LC_OK);
	ck_assert(!report.complete);
	options.max_pages = 5;
	ck_assert_int_eq(lc__pages_check_map(file, sizeof(file), "f", &options, &report),
	    LC_CORRUPT);
}
END_TEST

/* Any bytes at all: nothing outside the file is read (run under a sanitizer). */
START_TEST(small_random)
{
	uint64_t seed = run_seed() + (uint64_t)_i;
	struct lc__pages_report report;

	for (int i = 0; i < 2000; i++) {
		unsigned char *file = malloc(SMALL * SMALL_PAGES);

		make_small(file);
		for (uint64_t n = 1 + run_random(&seed) % 8; n > 0; n--) {
			/* Mostly where structure is: the headers and ends of pages. */
			const uint64_t r = run_random(&seed);
			const size_t in_page = r & 1 ? (r >> 8) % 160 : SMALL - 1 - (r >> 8) % 140;
			file[(r >> 40) % SMALL_PAGES * SMALL + in_page] = (unsigned char)(r >> 32);
		}
		(void)!lc__pages_check_map(file, SMALL * SMALL_PAGES, "f",
		    i & 1 ? &small_thorough : &small_fast, &report);
		free(file);
	}
}
END_TEST

/* ---- flipped bits and liblmdb -------------------------------------------- */

static const struct lc__pages_table engine_tables[] = {
	{ "meta", 0, 0 }, { "schema", MDB_INTEGERKEY, 4 }, { "chunk", MDB_INTEGERKEY, 8 },
	{ "ledger", MDB_INTEGERKEY, 8 }, { "index", MDB_INTEGERKEY, 8 },
	{ "names", 0, 0 },
};

enum { ENGINE_TABLES = sizeof(engine_tables) / sizeof(engine_tables[0]) };

/* Tables shaped as the engine's, a branch page in each that can have one. */
static void
build_engine(MDB_env *env, uint64_t *seed)
{
	for (uint32_t commit = 0; commit < 40; commit++) {
		MDB_txn *txn = begin(env, 0);
		MDB_dbi dbi[ENGINE_TABLES];
		const uint32_t schema = commit / 8;

		for (int t = 0; t < ENGINE_TABLES; t++)
			dbi[t] = table(txn, engine_tables[t].name, engine_tables[t].flags);
		put_text(txn, dbi[0], "state", 64 + commit);
		put_text(txn, dbi[0], "module", 40);
		put_bytes(txn, dbi[1], &schema, 4, 30, 1);
		for (uint64_t id = commit * 5; id < commit * 5 + 5; id++) {
			put_u64(txn, dbi[2], id, 2100 + run_random(seed) % 3 * 5000);
			put_u64(txn, dbi[3], id, 80);
		}
		put_u64(txn, dbi[4], commit, 3000);
		for (int i = 0; i < 12; i++) {
			char name[40];
			snprintf(name, sizeof(name), "%016llx-name",
			    (unsigned long long)run_random(seed));
			put_text(txn, dbi[5], name, run_random(seed) % 60);
		}
		if (commit % 8 == 7) {
			for (uint64_t id = commit - 7; id < commit; id++)
				must(del_u64(txn, dbi[4], id));
			for (uint64_t id = commit; id < commit + 4; id++)
				must(del_u64(txn, dbi[2], id));
		}
		must(mdb_txn_commit(txn));
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
	MDB_env *env = open_env(dir, MDB_NOSYNC);

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
			ck_assert_msg(check_file(path, &options, &report) == LC_OK, "%s",
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
	MDB_env *env = open_env(dir, MDB_NOSYNC);
	MDB_txn *txn = begin(env, 0);
	MDB_dbi meta = table(txn, "meta", 0), chunk = table(txn, "chunk", MDB_INTEGERKEY);
	uint64_t key = 1;
	MDB_val k = { 5, (void *)"state" }, v;
	unsigned char pages[3 * 4096];
	const void *base;

	put_text(txn, meta, "state", 100);
	put_u64(txn, chunk, key, 5000);
	must(mdb_txn_commit(txn));
	txn = begin(env, MDB_RDONLY);
	must(mdb_get(txn, meta, &k, &v));
	base = lc__pages_base(v.mv_data, 4096);
	ck_assert_uint_eq(get((const unsigned char *)base + 16, 4), 0xBEEFC0DE);
	ck_assert_int_eq(lc__pages_check_value(base, 4096, v.mv_data, v.mv_size), LC_OK);
	k = (MDB_val){ 8, &key };
	must(mdb_get(txn, chunk, &k, &v));
	ck_assert_int_eq(lc__pages_check_value(base, 4096, v.mv_data, v.mv_size), LC_OK);
	/* The same pages as numbers 0 and 1 of a map of our own. */
	memcpy(pages, (const char *)v.mv_data - 16, 2 * 4096);
	ck_assert_int_eq(lc__pages_check_value(pages, 4096, pages + 16, 5000), LC_CORRUPT);
	set64(pages, 0);
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

/* ---- numbers of transactions ---------------------------------------------- */

/* An environment after n commits, each of which changes a row. */
static void
make_commits(const char *dir, unsigned n)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	ck_assert_int_eq(mdb_env_create(&env), 0);
	ck_assert_int_eq(mdb_env_open(env, dir, MDB_NOSYNC, 0600), 0);
	for (unsigned i = 0; i < n; i++) {
		char name[] = "key";
		MDB_val key = { 3, name }, value = { sizeof(i), &i };

		ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
		ck_assert_int_eq(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
		ck_assert_int_eq(mdb_put(txn, dbi, &key, &value, 0), 0);
		ck_assert_int_eq(mdb_txn_commit(txn), 0);
	}
	mdb_env_close(env);
}

/* No bit set in a transaction's number shows an older snapshot as the newest. */
START_TEST(renumbered)
{
	const struct lc__pages_options options = { 0 };
	const char *dir = run_scratch();
	char *path = lc__path_join(dir, "data.mdb");
	struct lc__pages_report report;
	struct lc__buf file = { 0 };

	make_commits(dir, (unsigned)_i);
	ck_assert_int_eq(lc__read_file(path, 1 << 24, &file), LC_OK);
	ck_assert_int_eq(lc__pages_check_map(file.data, file.size, path, &options,
	    &report), LC_OK);
	for (unsigned bit = 0; bit < 2 * 64; bit++) {
		unsigned char *byte = file.data + bit / 64 * 4096 + 144 + bit % 64 / 8;

		if (*byte & 1 << bit % 8)
			continue;
		*byte ^= (unsigned char)(1 << bit % 8);
		ck_assert_int_eq(lc__pages_check_map(file.data, file.size, path,
		    &options, &report), LC_CORRUPT);
		*byte ^= (unsigned char)(1 << bit % 8);
	}
	lc__buf_free(&file);
	free(path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("pages");
	TCase *tc = tcase_create("healthy");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, healthy_shapes, 0, sizeof(shapes) / sizeof(shapes[0]));
	tcase_add_test(tc, healthy_while_written);
	suite_add_tcase(suite, tc);
	tc = tcase_create("small");
	tcase_add_test(tc, small_file);
	tcase_add_loop_test(tc, small_damage, 0, sizeof(damages) / sizeof(damages[0]));
	tcase_add_test(tc, small_truncated);
	tcase_add_test(tc, small_not_lmdb);
	tcase_add_test(tc, small_combined);
	tcase_add_test(tc, small_reports_all);
	tcase_add_test(tc, small_budget);
	tcase_add_loop_test(tc, small_random, 0, 4);
	suite_add_tcase(suite, tc);
	tc = tcase_create("liblmdb");
	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, renumbered, 3, 20);
	tcase_add_test(tc, value_headers);
	tcase_add_loop_test(tc, flipped_bits, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
