/* SPDX-License-Identifier: BSD-2-Clause */
/* The check of LMDB's pages: healthy files of many shapes, numbers of transactions. */
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

/* ---- environments -------------------------------------------------------- */

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
		MDB_txn *txn = rawdb_begin(env, 0);
		MDB_dbi dbi = rawdb_table(txn, NULL, 0);

		for (int i = 0; i < 300; i++) {
			const size_t n = 1 + run_random(seed) % 511;

			memset(key, 'k', n);
			snprintf(key, sizeof(key), "%llx", (unsigned long long)run_random(seed));
			key[strlen(key)] = 'k';
			rawdb_put_bytes(txn, dbi, key, n, run_random(seed) % 3000, i);
		}
		rawdb_must(mdb_txn_commit(txn));
	}
}

static void
shape_many_tables(MDB_env *env, uint64_t *seed)
{
	for (int round = 0; round < 3; round++) {
		MDB_txn *txn = rawdb_begin(env, 0);

		for (int t = 0; t < 100; t++) {
			char name[40];
			const unsigned flags = t % 3 != 0 ? MDB_INTEGERKEY : 0;
			MDB_dbi dbi;

			snprintf(name, sizeof(name), "table-%d-with-a-name", t);
			dbi = rawdb_table(txn, name, flags);
			for (int i = 0; i < t % 5 * 20; i++) {
				const uint64_t key = run_random(seed) % 1000;
				const uint32_t small = (uint32_t)key;

				if (t % 3 == 0)
					rawdb_put_text(txn, dbi, name + i % 5, key % 50);
				else if (t % 3 == 1)
					rawdb_put_u64(txn, dbi, key, key * 3);
				else
					rawdb_put_bytes(txn, dbi, &small, 4, key % 90, i);
			}
		}
		rawdb_must(mdb_txn_commit(txn));
	}
}

/* The sizes around every limit: inline or not, one page or two. */
static void
shape_overflow_sizes(MDB_env *env, uint64_t *seed)
{
	static const size_t sizes[] = { 0, 1, 2021, 2022, 2023, 2024, 4079, 4080, 4081,
		8176, 8177, 100000, 1 << 20, (1 << 20) + 1 };
	MDB_txn *txn = rawdb_begin(env, 0);
	MDB_dbi dbi = rawdb_table(txn, "chunk", MDB_INTEGERKEY);

	(void)seed;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		rawdb_put_u64(txn, dbi, i, sizes[i]);
	/* Overwritten by a smaller value in its own transaction: keeps its pages. */
	rawdb_put_u64(txn, dbi, 100, 50000);
	rawdb_put_u64(txn, dbi, 100, 3000);
	rawdb_must(mdb_txn_commit(txn));
}

static void
shape_long_free_list(MDB_env *env, uint64_t *seed)
{
	MDB_txn *txn = rawdb_begin(env, 0);
	MDB_dbi dbi = rawdb_table(txn, "chunk", MDB_INTEGERKEY), gone = rawdb_table(txn, "gone", 0);

	for (uint64_t i = 0; i < 3000; i++)
		rawdb_put_u64(txn, dbi, i, 3000 + i % 7 * 3000);
	for (int i = 0; i < 2000; i++) {
		const uint64_t key = run_random(seed);
		rawdb_put_bytes(txn, gone, &key, sizeof(key), 200, i);
	}
	rawdb_must(mdb_txn_commit(txn));
	for (int round = 0; round < 30; round++) {
		txn = rawdb_begin(env, 0);
		for (int i = 0; i < 60; i++)
			(void)rawdb_del_u64(txn, dbi, run_random(seed) % 3000);
		for (int i = 0; i < round % 4 * 5; i++)
			rawdb_put_u64(txn, dbi, run_random(seed) % 4000, 20000);
		if (round == 10)
			rawdb_must(mdb_drop(txn, gone, 0));
		if (round == 20)
			rawdb_must(mdb_drop(txn, gone, 1));
		rawdb_must(mdb_txn_commit(txn));
	}
}

static void
shape_deep(MDB_env *env, uint64_t *seed)
{
	for (int round = 0; round < 4; round++) {
		MDB_txn *txn = rawdb_begin(env, 0);
		MDB_dbi dbi = rawdb_table(txn, "keys", 0);

		for (int i = 0; i < 25000; i++) {
			char key[64];
			snprintf(key, sizeof(key), "%040llx-key",
			    (unsigned long long)run_random(seed) >> 16);
			rawdb_put_text(txn, dbi, key, 16);
		}
		rawdb_must(mdb_txn_commit(txn));
	}
	for (int round = 0; round < 3; round++) {
		MDB_txn *txn = rawdb_begin(env, 0);
		MDB_cursor *cursor;
		MDB_val k, v;
		int rc;

		rawdb_must(mdb_cursor_open(txn, rawdb_table(txn, "keys", 0), &cursor));
		rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
		for (int i = 0; rc == 0; i++) {
			if (run_random(seed) % 4 < 2)
				rawdb_must(mdb_cursor_del(cursor, 0));
			rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
		}
		rawdb_must(mdb_txn_commit(txn));
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
		txn = rawdb_begin(env, 0);
		dbi = rawdb_table(txn, "chunk", MDB_INTEGERKEY);
		rawdb_put_u64(txn, dbi, i, 30000);
		if (i > 0)
			rawdb_must(rawdb_del_u64(txn, dbi, i - 1));
		rawdb_must(mdb_txn_commit(txn));
	}
	txn = rawdb_begin(env, 0);
	rawdb_put_u64(txn, dbi, 50, 100);
	rawdb_put_u64(txn, dbi, 100, 1 << 20);
	rawdb_must(rawdb_del_u64(txn, dbi, 100));
	rawdb_must(mdb_txn_commit(txn));
}

static void
shape_emptied(MDB_env *env, uint64_t *seed)
{
	MDB_txn *txn;

	shape_overflow_sizes(env, seed);
	txn = rawdb_begin(env, 0);
	rawdb_must(mdb_drop(txn, rawdb_table(txn, "chunk", MDB_INTEGERKEY), 1));
	rawdb_must(mdb_txn_commit(txn));
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

static void
assert_healthy(const char *dir, const char *what)
{
	char *path = lc__path_join(dir, "data.mdb");
	struct lc__pages_report quick = { .tree_pages = 0 }, full = { .tree_pages = 0 };
	struct stat st;

	ck_assert_msg(rawdb_check_file(path, &fast, &quick) == LC_OK, "%s: fast: %s", what,
	    lc_last_error()->text);
	ck_assert_msg(rawdb_check_file(path, &thorough, &full) == LC_OK, "%s: thorough: %s", what,
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

	rawdb_must(mdb_env_copy2(env, dir, flags));
	assert_healthy(dir, what);
}

START_TEST(healthy_shapes)
{
	const struct shape *shape = &shapes[_i];
	const char *dir = run_scratch();
	uint64_t seed = run_seed();
	MDB_env *env = rawdb_open_env(dir, MDB_NOSYNC);

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
	MDB_env *env = rawdb_open_env(dir, MDB_NOMETASYNC | MDB_NOSYNC);

	for (;;) {
		MDB_txn *txn = rawdb_begin(env, 0);
		MDB_dbi dbi = rawdb_table(txn, "chunk", MDB_INTEGERKEY);

		for (int i = 0; i < 20; i++) {
			rawdb_put_u64(txn, dbi, run_random(&seed) % 300, run_random(&seed) % 9000);
			(void)rawdb_del_u64(txn, dbi, run_random(&seed) % 300);
		}
		if (run_random(&seed) % 4 == 0)
			mdb_txn_abort(txn);
		else
			rawdb_must(mdb_txn_commit(txn));
	}
}

/* While another process commits, and after it was killed at any point. */
START_TEST(healthy_while_written)
{
	const char *dir = run_scratch();
	char *path = lc__path_join(dir, "data.mdb");
	uint64_t seed = run_seed();
	MDB_env *env = rawdb_open_env(dir, 0);

	for (int round = 0; round < 20; round++) {
		const pid_t pid = fork();
		int status;

		if (pid == 0)
			write_forever(dir, seed + (uint64_t)round);
		for (int i = 0; i < 20; i++) {
			MDB_txn *txn = rawdb_begin(env, MDB_RDONLY);
			struct lc__pages_report report;

			ck_assert_msg(rawdb_check_file(path, &fast, &report) == LC_OK, "%s",
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
	TCase *tc = tcase_create("pages");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, healthy_shapes, 0, sizeof(shapes) / sizeof(shapes[0]));
	tcase_add_test(tc, healthy_while_written);
	tcase_add_loop_test(tc, renumbered, 3, 20);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
