/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of an LMDB file, read without liblmdb: the same rows, and no harm by any damage. */
#include "run.h"

#include <errno.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "pages/row_reader.h"
#include "rawdb.h"

/* The tables of the file: integer keys of both sizes, bytes, a single leaf, nothing. */
static const struct {
	const char *name;
	unsigned flags, key_size;
	unsigned rows;
	size_t most; /* bytes of a value */
} tables[] = {
	{ "numbers", MDB_INTEGERKEY, 8, 20000, 120 },
	{ "small", MDB_INTEGERKEY, 4, 900, 9000 },
	{ "names", 0, 0, 3000, 60 },
	{ "leaf", MDB_INTEGERKEY, 8, 3, 30 },
	{ "empty", MDB_INTEGERKEY, 8, 0, 0 },
};

enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

/* A file in memory that ends where a page that cannot be read begins. */
struct image {
	unsigned char *bytes;
	size_t size, pages;
};

static void
build(MDB_env *env, uint64_t *seed)
{
	MDB_txn *txn = rawdb_begin(env, 0);

	for (int t = 0; t < TABLES; t++) {
		const MDB_dbi dbi = rawdb_table(txn, tables[t].name, tables[t].flags);

		for (unsigned i = 0; i < tables[t].rows; i++) {
			const size_t size = run_random(seed) % tables[t].most;
			const uint64_t number = 1 + run_random(seed) % 100000;
			const uint32_t narrow = (uint32_t)number;
			char name[40];

			snprintf(name, sizeof(name), "%llu-name",
			    (unsigned long long)number);
			if (tables[t].key_size == 8)
				rawdb_put_bytes(txn, dbi, &number, 8, size, (int)i);
			else if (tables[t].key_size == 4)
				rawdb_put_bytes(txn, dbi, &narrow, 4, size, (int)i);
			else
				rawdb_put_text(txn, dbi, name, size);
		}
		/* A leaf then begins above the key that the branch above it has. */
		for (unsigned i = 0; i < tables[t].rows && tables[t].key_size == 8; i++) {
			uint64_t number = 1 + run_random(seed) % 100000;
			MDB_val key = { sizeof(number), &number };

			ck_assert_int_ne(mdb_del(txn, dbi, &key, NULL), EINVAL);
		}
	}
	rawdb_must(mdb_txn_commit(txn));
}

static struct image
load(const char *dir)
{
	char *path = lc__path_join(dir, "data.mdb");
	struct lc__buf file = { 0 };
	struct image image;

	ck_assert_int_eq(lc__read_file(path, (uint64_t)1 << 30, &file), LC_OK);
	image.size = file.size;
	image.pages = file.size / 4096;
	image.bytes = mmap(NULL, image.size + 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(image.bytes != MAP_FAILED);
	memcpy(image.bytes, file.data, file.size);
	ck_assert_int_eq(mprotect(image.bytes + image.size, 4096, PROT_NONE), 0);
	lc__buf_free(&file);
	free(path);
	return image;
}

static struct lc__pages_tree
tree_of(MDB_txn *txn, const char *name)
{
	MDB_val key = { strlen(name), (void *)(uintptr_t)name }, value;
	struct lc__pages_tree tree;
	MDB_dbi main_table;

	rawdb_must(mdb_dbi_open(txn, NULL, 0, &main_table));
	rawdb_must(mdb_get(txn, main_table, &key, &value));
	ck_assert(lc__row_tree(value.mv_data, value.mv_size, &tree));
	return tree;
}

static struct lc__row_place
place_of(const struct image *image, int t)
{
	return (struct lc__row_place){
		.map = { image->bytes, 4096, image->pages },
		.key_size = tables[t].key_size,
	};
}

static void
same_row(const struct lc__pages_row *row, const MDB_val *key, const MDB_val *value)
{
	ck_assert_uint_eq(row->key_size, key->mv_size);
	ck_assert_mem_eq(row->key, key->mv_data, key->mv_size);
	ck_assert_uint_eq(row->size, value->mv_size);
	ck_assert_mem_eq(row->value, value->mv_data, value->mv_size);
}

/* The last row up to the key. */
static void
same_search_back(struct lc__row_place *place, const struct lc__pages_tree *tree,
    MDB_cursor *cursor, const MDB_val *key)
{
	MDB_val at = *key, value;
	struct lc__pages_row row;
	int rc = mdb_cursor_get(cursor, &at, &value, MDB_SET_RANGE);

	if (rc == MDB_NOTFOUND)
		rc = mdb_cursor_get(cursor, &at, &value, MDB_LAST);
	else if (at.mv_size != key->mv_size || memcmp(at.mv_data, key->mv_data, at.mv_size))
		rc = mdb_cursor_get(cursor, &at, &value, MDB_PREV);
	ck_assert_int_eq(lc__row_seek_back(place, tree, key->mv_data,
			     (uint32_t)key->mv_size),
	    rc == MDB_NOTFOUND ? LC_END : LC_OK);
	if (rc == MDB_NOTFOUND)
		return;
	ck_assert_int_eq(lc__row_at(place, &row), LC_OK);
	same_row(&row, &at, &value);
}

/* What mdb_cursor_get(MDB_SET_RANGE) and mdb_get() find is found, and what they do not is
 * not. */
static void
same_search(struct lc__row_place *place, const struct lc__pages_tree *tree, MDB_txn *txn,
    MDB_dbi dbi, MDB_val key)
{
	MDB_val at = key, value;
	MDB_cursor *cursor;
	struct lc__pages_row row;
	int rc;

	rawdb_must(mdb_cursor_open(txn, dbi, &cursor));
	rc = mdb_cursor_get(cursor, &at, &value, MDB_SET_RANGE);
	if (rc == MDB_NOTFOUND) {
		ck_assert_int_eq(lc__row_seek(place, tree, key.mv_data,
				     (uint32_t)key.mv_size), LC_END);
	} else {
		ck_assert_int_eq(lc__row_seek(place, tree, key.mv_data,
				     (uint32_t)key.mv_size), LC_OK);
		ck_assert_int_eq(lc__row_at(place, &row), LC_OK);
		same_row(&row, &at, &value);
	}
	same_search_back(place, tree, cursor, &key);
	mdb_cursor_close(cursor);
	rc = mdb_get(txn, dbi, &key, &value);
	ck_assert_int_eq(lc__row_find(place, tree, key.mv_data, (uint32_t)key.mv_size,
			     &row), rc == 0 ? LC_OK : LC_NOT_FOUND);
	if (rc == 0)
		same_row(&row, &key, &value);
}

START_TEST(it_reads_what_lmdb_reads)
{
	const char *dir = run_scratch();
	uint64_t seed = run_seed();
	MDB_env *env = rawdb_open_env(dir, MDB_NOSYNC);
	MDB_txn *txn;
	struct image image;

	build(env, &seed);
	image = load(dir);
	txn = rawdb_begin(env, MDB_RDONLY);
	for (int t = 0; t < TABLES; t++) {
		const struct lc__pages_tree tree = tree_of(txn, tables[t].name);
		struct lc__row_place place = place_of(&image, t);
		MDB_val key, value;
		struct lc__pages_row row;
		MDB_cursor *cursor;
		MDB_dbi dbi;
		uint64_t rows = 0;
		lc_status status;
		int rc;

		rawdb_must(mdb_dbi_open(txn, tables[t].name, tables[t].flags, &dbi));
		/* From one end to the other. */
		rawdb_must(mdb_cursor_open(txn, dbi, &cursor));
		rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
		status = lc__row_seek(&place, &tree, "\0\0\0\0\0\0\0",
		    tables[t].key_size);
		for (; rc == 0; rows++) {
			ck_assert_int_eq(status, LC_OK);
			ck_assert_int_eq(lc__row_at(&place, &row), LC_OK);
			same_row(&row, &key, &value);
			rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
			status = lc__row_next(&place);
		}
		mdb_cursor_close(cursor);
		ck_assert_int_eq(status, LC_END);
		ck_assert_uint_eq(rows, tree.entries);
		/* Each leaf once, and the branches above the first. */
		ck_assert_uint_le(place.pages_read, tree.leaf_pages + tree.branch_pages);
		/* Anywhere. */
		for (int i = 0; i < 4000; i++) {
			const uint64_t number = run_random(&seed) % 100010;
			const uint32_t narrow = (uint32_t)number;
			const uint64_t before = place.pages_read;
			char name[40];

			snprintf(name, sizeof(name), "%llu-nam%c",
			    (unsigned long long)number, "de"[number % 2]);
			key.mv_size = tables[t].key_size == 0 ? strlen(name)
							      : tables[t].key_size;
			key.mv_data = tables[t].key_size == 0 ? (void *)name
			    : tables[t].key_size == 4	      ? (void *)(uintptr_t)&narrow
							      : (void *)(uintptr_t)&number;
			same_search(&place, &tree, txn, dbi, key);
			/* A way down for each, and ways to the leaves beside it. */
			ck_assert_uint_le(place.pages_read - before, 5u * tree.depth);
		}
	}
	mdb_txn_abort(txn);
	mdb_env_close(env);
}
END_TEST

/* Read all there is to read: a walk that ends, look-ups; every byte of every value. */
static unsigned
read_all(const struct image *image, int t, const struct lc__pages_tree *tree,
    uint64_t *seed)
{
	struct lc__row_place place = place_of(image, t);
	struct lc__pages_row row;
	unsigned sum = 0;
	lc_status status = lc__row_seek(&place, tree, "\0\0\0\0\0\0\0",
	    tables[t].key_size);

	while (status == LC_OK) {
		status = lc__row_at(&place, &row);
		if (status != LC_OK)
			break;
		for (uint64_t i = 0; i < row.size; i += 512)
			sum += row.value[i];
		if (row.size > 0)
			sum += row.value[row.size - 1];
		status = lc__row_next(&place);
	}
	ck_assert(status == LC_END || status == LC_CORRUPT);
	for (int i = 0; i < 20; i++) {
		const uint64_t number = run_random(seed) % 100010;
		char name[40];

		snprintf(name, sizeof(name), "%llu-name", (unsigned long long)number);
		status = tables[t].key_size == 0
		    ? lc__row_find(&place, tree, name, (uint32_t)strlen(name), &row)
		    : lc__row_find(&place, tree, &number, tables[t].key_size, &row);
		if (status == LC_OK && row.size > 0)
			sum += row.value[row.size - 1];
		status = tables[t].key_size == 0
		    ? lc__row_seek_back(&place, tree, name, (uint32_t)strlen(name))
		    : lc__row_seek_back(&place, tree, &number, tables[t].key_size);
		if (status == LC_OK && lc__row_at(&place, &row) == LC_OK && row.size > 0)
			sum += row.value[row.size - 1];
	}
	return sum;
}

/* Flips, and pages that are other pages of the file or anything at all: nothing outside of
 * the file is read, and every walk ends. */
START_TEST(it_reads_nothing_outside_of_the_file)
{
	const char *given = getenv("T_TRIALS"), *dir = run_scratch();
	const unsigned trials = given ? (unsigned)atoi(given) : 1500;
	uint64_t seed = run_seed();
	MDB_env *env = rawdb_open_env(dir, MDB_NOSYNC);
	struct lc__pages_tree trees[TABLES];
	struct image image, whole;
	MDB_txn *txn;

	build(env, &seed);
	txn = rawdb_begin(env, MDB_RDONLY);
	for (int t = 0; t < TABLES; t++)
		trees[t] = tree_of(txn, tables[t].name);
	mdb_txn_abort(txn);
	mdb_env_close(env);
	image = load(dir);
	whole = load(dir);
	for (unsigned i = 0; i < trials; i++) {
		const int t = (int)(run_random(&seed) % 3);
		struct lc__pages_tree tree = trees[t];
		uint64_t touched[8];
		size_t n = 1 + run_random(&seed) % 8;

		for (size_t k = 0; k < n; k++) {
			const uint64_t r = run_random(&seed);
			unsigned char *page;

			/* Mostly in the root, where it matters most. */
			touched[k] = r & 1 ? tree.root : 2 + (r >> 8) % (image.pages - 2);
			page = image.bytes + touched[k] * 4096;
			if ((r >> 1) % 8 == 0)
				memcpy(page, image.bytes + run_random(&seed) %
				    image.pages * 4096, 4096);
			else if ((r >> 1) % 8 == 1)
				for (int b = 0; b < 512; b++) {
					const uint64_t bytes = run_random(&seed);
					memcpy(page + 16 + (b * 8) % 4072, &bytes, 8);
				}
			else
				page[(r >> 4) % 2 ? (r >> 40) % 64 : (r >> 40) % 4096] ^=
				    (unsigned char)(1u << (r >> 60) % 8);
		}
		if (i % 16 == 0) {
			tree.root = run_random(&seed) % (image.pages + 3);
			tree.depth = (uint16_t)(1 + run_random(&seed) % TREE_DEPTH_MAX);
		}
		(void)read_all(&image, t, &tree, &seed);
		for (size_t k = 0; k < n; k++)
			memcpy(image.bytes + touched[k] * 4096,
			    whole.bytes + touched[k] * 4096, 4096);
	}
}
END_TEST

/* ---- what it says ------------------------------------------------------------------- */

static void
set16(unsigned char *p, unsigned value)
{
	p[0] = (unsigned char)value;
	p[1] = (unsigned char)(value >> 8);
}

/* The damage to a page, and what is said of page 3 where it has been done. */
static const struct {
	unsigned at; /* byte of the page; of its first node if in_node */
	bool in_node;
	unsigned value; /* 16 bits */
	const char *says;
} damages[] = {
	{ 0, false, 99, "page 3: calls itself page 99" },
	{ 10, false, 1, "page 3: flags 0x1 where a leaf was expected" },
	{ 12, false, 4, "page 3: free space from 4 to 4072" },
	{ 12, false, 9000, "page 3: free space from 9000 to 4072" },
	{ 16, false, 4090, "page 3: node 0: offset 4090" },
	{ 16, false, 8, "page 3: node 0: offset 8" },
	{ 6, true, 5000, "page 3: node 0: 5016 bytes at offset 4072" },
	{ 6, true, 4, "page 3: its nodes do not fill it: gap or overlap at byte 4092" },
	{ 4, true, 2, "page 3: node 0: flags 0x2" },
	{ 0, true, 13, "page 3: node 0: 30 bytes at offset 4072" },
	{ 4, true, 1, "page 3: node 0: 1 pages from 256 leave the file's 5" },
};

static lc_status
seek(struct lc__row_place *place, const struct lc__pages_tree *tree, uint64_t key,
    struct lc__pages_row *out)
{
	const lc_status status = lc__row_seek(place, tree, &key, sizeof(key));

	return status == LC_OK ? lc__row_at(place, out) : status;
}

START_TEST(it_says_what_is_wrong)
{
	unsigned char file[5 * 4096] = { 0 };
	unsigned char *page = file + 3 * 4096;
	const struct lc__pages_tree tree = { .depth = 1, .root = 3 };
	struct lc__row_place place = {
		.map = { file, 4096, 5 },
		.key_size = 8,
	};
	struct lc__pages_row row;
	const uint64_t key = 7;

	/* A leaf with one node: key 7, a value of 8 bytes at the end of the page. */
	page[0] = 3;
	set16(page + 10, 2);
	set16(page + 12, 18);
	set16(page + 14, 4072);
	set16(page + 16, 4072);
	page[4072] = 8;
	set16(page + 4072 + 6, 8);
	page[4072 + 8] = 7;
	page[4072 + 17] = 1; /* as a page number this value is 256 */
	ck_assert_int_eq(lc__row_find(&place, &tree, &key, 8, &row), LC_OK);
	ck_assert_uint_eq(row.size, 8);
	ck_assert_ptr_eq(row.value, page + 4088);

	set16(page + damages[_i].at + (damages[_i].in_node ? 4072 : 0),
	    damages[_i].value);
	ck_assert_int_eq(seek(&place, &tree, key, &row), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, damages[_i].says);
	ck_assert_int_ne(lc__row_find(&place, &tree, &key, 8, &row), LC_OK);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("row_reader");
	TCase *tc = tcase_create("rows");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, it_reads_what_lmdb_reads);
	tcase_add_test(tc, it_reads_nothing_outside_of_the_file);
	tcase_add_loop_test(tc, it_says_what_is_wrong, 0,
	    sizeof(damages) / sizeof(damages[0]));
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
