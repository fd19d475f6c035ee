/* SPDX-License-Identifier: BSD-2-Clause */
/* What opening a module reads of its file, and what becomes of damage that it does not
 * see: pages are counted, so that this holds on any machine. */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "env/env.h"
#include "need.h"
#include "pages/row_reader.h"
#include "rawdb.h"

/* Pages of 4 KiB that opening may check: a quarter of a MiB. */
#define AT_OPEN 64

static lc_status
add_no_rows(struct lc__txn *txn)
{
	(void)txn;
	return LC_OK;
}

static lc_status
try_open(const char *dir, unsigned flags, struct lc__env **out)
{
	lc_options options;

	lc_options_init(&options);
	options.flags = flags;
	return lc__env_open(dir, &options, add_no_rows, out);
}

static lc_status
begin_read(struct lc__env *env, struct lc__txn **out)
{
	lc_status status;

	lc__env_lock(env);
	status = lc__env_enter_locked(env);
	lc__env_unlock(env);
	return status == LC_OK ? lc__txn_begin_read(env, out) : status;
}

static void
put_rows(struct lc__env *env, uint64_t first, uint64_t n)
{
	unsigned char row[88] = { 0 };
	struct lc__txn *txn;

	need_ok(lc__txn_begin_write(env, LC_DURABLE_RELAXED, &txn));
	for (uint64_t id = first; id < first + n; id++) {
		memcpy(row, &id, sizeof(id));
		need_ok(lc__txn_put(txn, LC__LEDGER, id, row, sizeof(row)));
		need_ok(lc__txn_put(txn, LC__CHUNK, id, row, 8));
	}
	need_ok(lc__txn_commit(txn));
}

/* A module with so many rows in two tables. */
static char *
make_module(uint64_t rows)
{
	char *dir = lc__path_join(run_scratch(), "m");
	struct lc__env *env;

	need_ok(try_open(dir, LC_CREATE, &env));
	put_rows(env, 1, rows);
	lc__env_close(env);
	return dir;
}

static uint64_t
get(struct lc__txn *txn, enum lc__table table, uint64_t key)
{
	struct lc__slice value;
	uint64_t id;

	need_ok(lc__txn_get(txn, table, key, &value));
	ck_assert_uint_ge(value.size, sizeof(id));
	memcpy(&id, value.data, sizeof(id));
	return id;
}

/* ---- how much is read --------------------------------------------------------------- */

static const uint64_t sizes[] = { 1, 100, 3000, 100000, 300000 };

START_TEST(opening_reads_little)
{
	const uint64_t rows = sizes[_i];
	const bool small = rows <= 100;
	char *dir = make_module(rows);
	struct lc__slice value;
	struct lc__env *env;
	struct lc__txn *txn;
	uint64_t found, n = 0, read, checked;

	need_ok(try_open(dir, 0, &env));
	checked = lc__env_pages_checked(env);
	ck_assert_uint_gt(checked, 0);
	ck_assert_uint_le(checked, AT_OPEN);
	need_ok(begin_read(env, &txn));
	ck_assert_uint_eq(get(txn, LC__LEDGER, rows), rows);
	ck_assert_uint_eq(get(txn, LC__CHUNK, (rows + 1) / 2), (rows + 1) / 2);
	ck_assert_int_eq(lc__txn_get(txn, LC__CHUNK, rows + 1, &value), LC_NOT_FOUND);
	ck_assert_int_eq(lc__txn_get(txn, LC__ORDER, 1, &value), LC_NOT_FOUND);
	need_ok(lc__txn_count(txn, LC__LEDGER, &n));
	ck_assert_uint_eq(n, rows);
	/* A way down each. */
	ck_assert_uint_le(lc__txn_pages_read(txn), 3 * 4);

	/* Every row after the one before: each leaf once. */
	read = lc__txn_pages_read(txn);
	n = 0;
	for (lc_status s = lc__txn_seek(txn, LC__LEDGER, 0, &found, &value); s == LC_OK;
	     s = lc__txn_seek_after(txn, LC__LEDGER, found, &found, &value))
		ck_assert_uint_eq(found, ++n);
	ck_assert_uint_eq(n, rows);
	ck_assert_uint_le(lc__txn_pages_read(txn) - read, rows / 18 + 4);
	lc__txn_abort(txn);
	ck_assert_uint_eq(lc__env_pages_checked(env), checked);

	/* Who writes has all checked before, once. */
	put_rows(env, rows + 1, 1);
	if (small)
		ck_assert_uint_eq(lc__env_pages_checked(env), checked);
	else
		ck_assert_uint_gt(lc__env_pages_checked(env), rows / 40);
	checked = lc__env_pages_checked(env);
	put_rows(env, rows + 2, 1);
	ck_assert_uint_eq(lc__env_pages_checked(env), checked);

	/* A reader sees what was written since. */
	need_ok(begin_read(env, &txn));
	ck_assert_uint_eq(get(txn, LC__LEDGER, rows + 2), rows + 2);
	lc__txn_abort(txn);
	lc__env_close(env);
	free(dir);
}
END_TEST

/* ---- damage that opening does not see ------------------------------------------------ */

/* The leaf of a row in a module that nobody has open, and how many there are. */
static uint64_t
leaf_of(const char *dir, const char *table, uint64_t key, unsigned char *page)
{
	MDB_env *mdb = rawdb_open_env(dir, 0);
	MDB_txn *txn = rawdb_begin(mdb, MDB_RDONLY);
	MDB_val k = { sizeof(key), &key }, v;
	const unsigned char *at;
	uint64_t number;
	MDB_dbi dbi;

	rawdb_must(mdb_dbi_open(txn, table, MDB_INTEGERKEY, &dbi));
	rawdb_must(mdb_get(txn, dbi, &k, &v));
	at = (const unsigned char *)v.mv_data - (uintptr_t)v.mv_data % 4096;
	memcpy(page, at, 4096);
	memcpy(&number, at, sizeof(number));
	mdb_txn_abort(txn);
	mdb_env_close(mdb);
	return number;
}

static void
write_page(const char *dir, uint64_t number, const unsigned char *page)
{
	char *path = lc__path_join(dir, "data.mdb");
	const int fd = open(path, O_WRONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, page, 4096, (off_t)(number * 4096)), 4096);
	close(fd);
	free(path);
}

static void
check_error(const char *dir, uint64_t page, const char *what)
{
	char text[4400], path[4096];

	ck_assert_ptr_nonnull(realpath(dir, path));
	snprintf(text, sizeof(text), "%s/data.mdb: table 'ledger': page %llu: %s", path,
	    (unsigned long long)page, what);
	ck_assert_str_eq(lc_last_error()->text, text);
}

START_TEST(damage_is_met_where_it_is_read)
{
	const char *wrong = "calls itself page 77";
	char *dir = make_module(20000);
	unsigned char page[4096], whole[4096];
	struct lc__slice value;
	struct lc__env *env;
	struct lc__txn *txn;
	uint64_t number, found, n = 0;
	lc_status status;

	number = leaf_of(dir, "ledger", 10000, whole);
	memcpy(page, whole, sizeof(page));
	memset(page, 0, 8);
	page[0] = 77;
	write_page(dir, number, page);

	need_ok(try_open(dir, 0, &env));
	need_ok(begin_read(env, &txn));
	ck_assert_uint_eq(get(txn, LC__LEDGER, 1), 1);
	ck_assert_uint_eq(get(txn, LC__CHUNK, 10000), 10000);
	ck_assert_int_eq(lc__txn_get(txn, LC__LEDGER, 10000, &value), LC_CORRUPT);
	check_error(dir, number, wrong);
	/* What lies elsewhere is still there, before and after. */
	ck_assert_uint_eq(get(txn, LC__LEDGER, 20000), 20000);
	status = lc__txn_seek(txn, LC__LEDGER, 0, &found, &value);
	for (; status == LC_OK; n++)
		status = lc__txn_seek_after(txn, LC__LEDGER, found, &found, &value);
	ck_assert_int_eq(status, LC_CORRUPT);
	check_error(dir, number, wrong);
	ck_assert_uint_gt(n, 9000);
	ck_assert_uint_lt(n, 10000);
	lc__txn_abort(txn);

	/* Nothing is written while it is there. */
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(lc__txn_begin_write(env, LC_DURABLE_FULL, &txn),
		    LC_CORRUPT);
		check_error(dir, number, wrong);
	}
	lc__env_close(env);

	write_page(dir, number, whole);
	need_ok(try_open(dir, 0, &env));
	put_rows(env, 20001, 1);
	lc__env_close(env);
	free(dir);
}
END_TEST

/* A whole leaf in the place of another one. */
START_TEST(a_leaf_in_the_wrong_place_is_noticed)
{
	char *dir = make_module(20000);
	unsigned char page[4096], other[4096];
	struct lc__slice value;
	struct lc__env *env;
	struct lc__txn *txn;
	uint64_t number;

	number = leaf_of(dir, "ledger", 10000, page);
	(void)leaf_of(dir, "ledger", 5000, other);
	memcpy(other, &number, sizeof(number));
	write_page(dir, number, other);
	need_ok(try_open(dir, LC_RDONLY, &env));
	need_ok(begin_read(env, &txn));
	ck_assert_int_eq(lc__txn_get(txn, LC__LEDGER, 10000, &value), LC_CORRUPT);
	check_error(dir, number, "node 0: key out of order");
	lc__txn_abort(txn);
	lc__env_close(env);
	free(dir);
}
END_TEST

/* A leaf whose header counts one row less: the row is not taken for one that is not there. */
START_TEST(a_leaf_that_hides_a_row_is_noticed)
{
	char *dir = make_module(20000);
	unsigned char page[4096];
	struct lc__slice value;
	struct lc__env *env;
	struct lc__txn *txn;
	uint64_t number, found;
	lc_status status;

	number = leaf_of(dir, "ledger", 10000, page);
	page[12] -= 2;
	write_page(dir, number, page);
	need_ok(try_open(dir, LC_RDONLY, &env));
	need_ok(begin_read(env, &txn));
	status = lc__txn_seek(txn, LC__LEDGER, 0, &found, &value);
	while (status == LC_OK)
		status = lc__txn_seek_after(txn, LC__LEDGER, found, &found, &value);
	ck_assert_int_eq(status, LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, ": its nodes do not fill it: "));
	lc__txn_abort(txn);
	lc__env_close(env);
	free(dir);
}
END_TEST

/* In a small module all is seen at once, as ever. */
START_TEST(a_small_module_is_checked_at_once)
{
	char *dir = make_module(100);
	unsigned char page[4096];
	struct lc__env *env;
	uint64_t number;

	number = leaf_of(dir, "ledger", 50, page);
	memset(page, 0, 8);
	page[0] = 77;
	write_page(dir, number, page);
	ck_assert_int_eq(try_open(dir, 0, &env), LC_CORRUPT);
	check_error(dir, number, "calls itself page 77");
	free(dir);
}
END_TEST

/* A file of other software may have anything in its main table: not all of it is read. */
START_TEST(another_file_is_no_module)
{
	char *dir = lc__path_join(run_scratch(), "o");
	MDB_env *mdb;
	MDB_txn *txn;
	MDB_dbi dbi;
	struct lc__env *env;
	char text[4200];

	need_ok(lc__make_dirs(dir));
	mdb = rawdb_open_env(dir, 0);
	txn = rawdb_begin(mdb, 0);
	rawdb_must(mdb_dbi_open(txn, NULL, 0, &dbi));
	for (int i = 0; i < 100000; i++) {
		char name[20];

		snprintf(name, sizeof(name), "%08d", i);
		rawdb_put_text(txn, dbi, name, 40);
	}
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(mdb);
	ck_assert_int_eq(try_open(dir, 0, &env), LC_NOT_MODULE);
	snprintf(text, sizeof(text), "%s: an LMDB environment, but not a module", dir);
	ck_assert_str_eq(lc_last_error()->text, text);
	free(dir);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("opening");
	TCase *tc = tcase_create("pages");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, opening_reads_little, 0,
	    sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_test(tc, damage_is_met_where_it_is_read);
	tcase_add_test(tc, a_leaf_in_the_wrong_place_is_noticed);
	tcase_add_test(tc, a_leaf_that_hides_a_row_is_noticed);
	tcase_add_test(tc, a_small_module_is_checked_at_once);
	tcase_add_test(tc, another_file_is_no_module);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
