/* SPDX-License-Identifier: BSD-2-Clause */
/* The check of LMDB's pages: a file written by hand, and each kind of damage to it. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "pages/pages.h"

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

int
main(void)
{
	Suite *suite = suite_create("pages_small");
	TCase *tc = tcase_create("pages_small");

	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, small_file);
	tcase_add_loop_test(tc, small_damage, 0, sizeof(damages) / sizeof(damages[0]));
	tcase_add_test(tc, small_truncated);
	tcase_add_test(tc, small_not_lmdb);
	tcase_add_test(tc, small_combined);
	tcase_add_test(tc, small_reports_all);
	tcase_add_test(tc, small_budget);
	tcase_add_loop_test(tc, small_random, 0, 4);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
