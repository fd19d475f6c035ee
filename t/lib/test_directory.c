/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of chunks: their bytes, what each damage of them costs, and what they
 * say of the records of a module. */
#include "run.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "need.h"
#include "rawdb.h"
#include "sample.h"
#include "store/cache.h"
#include "store/chunk.h"
#include "store/lookup.h"

#define ID 77
#define RECORDS_MAX 300

/* A chunk's value without the records' bytes, which no directory looks at. */
struct value {
	unsigned char *bytes; /* malloc'ed, not one byte more than size */
	size_t size;
	struct lc__chunk chunk;
};

static struct value
build(const uint64_t *sizes, const uint64_t *lengths, uint64_t n)
{
	struct lc__directory_build build = { .has_lengths = lengths != NULL };
	struct value v = { .chunk = { .id = ID, .records = n } };

	for (uint64_t i = 0; i < n; i++) {
		lc__directory_add(&build, sizes[i], lengths ? lengths[i] : 0);
		v.chunk.bytes += sizes[i];
	}
	ck_assert_uint_eq(build.records, n);
	ck_assert_uint_eq(build.bytes, v.chunk.bytes);
	assert_ok(lc__directory_done(&build, &v.chunk));
	v.size = (size_t)(LC__CHUNK_HEADER + v.chunk.bytes +
	    lc__chunk_tables(&v.chunk));
	v.bytes = malloc(v.size);
	memset(v.bytes, 0xee, v.size);
	lc__chunk_encode(v.bytes, &v.chunk);
	lc__directory_write(&build, &v.chunk, v.bytes + LC__CHUNK_HEADER +
	    v.chunk.bytes);
	lc__directory_free(&build);
	return v;
}

/* ---- bytes ---------------------------------------------------------------- */

#define HUGE_LENGTH (UINT64_C(1) << 32)

/* What stands in bytes 32 to 39, and in the tables without their checksum. */
static const struct {
	const char *name;
	uint64_t n, sizes[4], lengths[4];
	bool has_lengths;
	const char *header;
	const char *tables;
	size_t tables_size;
} layouts[] = {
	{ "one", 1, { 192 }, { 0 }, false, "\1\0\0\0\0\0\0\0", NULL, 0 },
	{ "alike", 3, { 128, 128, 128 }, { 0 }, false, "\1\0\0\0\0\0\0\0", NULL,
	    0 },
	{ "alike, one length", 3, { 64, 64, 64 }, { 258, 258, 258 }, true,
	    "\5\0\0\0\2\1\0\0", NULL, 0 },
	{ "alike, no length", 2, { 64, 64 }, { 0, 0 }, true,
	    "\5\0\0\0\0\0\0\0", NULL, 0 },
	{ "mixed", 3, { 64, 128, 64 }, { 0 }, false, "\3\0\0\0\0\0\0\0",
	    "LCCD" "\3\0\0\0" "\3\0\0\0\0\0\0\0"
	    "\0\0\0\0" "\1\0\0\0" "\3\0\0\0" "\0\0\0\0", 32 },
	{ "mixed at the end", 4, { 64, 64, 64, 128 }, { 0 }, false,
	    "\3\0\0\0\0\0\0\0", "LCCD" "\3\0\0\0" "\4\0\0\0\0\0\0\0"
	    "\0\0\0\0" "\1\0\0\0" "\2\0\0\0" "\3\0\0\0", 32 },
	{ "mixed, one length", 2, { 64, 128 }, { 7, 7 }, true,
	    "\7\0\0\0\7\0\0\0", "LCCD" "\7\0\0\0" "\2\0\0\0\0\0\0\0"
	    "\0\0\0\0" "\1\0\0\0", 24 },
	{ "alike, lengths", 2, { 64, 64 }, { 7, 9 }, true,
	    "\15\0\0\0\0\0\0\0", "LCCD" "\15\0\0\0" "\2\0\0\0\0\0\0\0"
	    "\7\0\0\0\0\0\0\0" "\11\0\0\0\0\0\0\0", 32 },
	{ "a huge length", 2, { 64, 64 }, { HUGE_LENGTH, HUGE_LENGTH }, true,
	    "\15\0\0\0\0\0\0\0", "LCCD" "\15\0\0\0" "\2\0\0\0\0\0\0\0"
	    "\0\0\0\0\1\0\0\0" "\0\0\0\0\1\0\0\0", 32 },
	{ "mixed, lengths", 3, { 128, 64, 64 }, { 5, 0, 5 }, true,
	    "\17\0\0\0\0\0\0\0", "LCCD" "\17\0\0\0" "\3\0\0\0\0\0\0\0"
	    "\0\0\0\0" "\2\0\0\0" "\3\0\0\0" "\0\0\0\0"
	    "\5\0\0\0\0\0\0\0" "\0\0\0\0\0\0\0\0" "\5\0\0\0\0\0\0\0", 56 },
};
#define N_LAYOUTS ((int)(sizeof(layouts) / sizeof(layouts[0])))

static struct value
build_layout(int i)
{
	return build(layouts[i].sizes, layouts[i].has_lengths ?
	    layouts[i].lengths : NULL, layouts[i].n);
}

START_TEST(written)
{
	struct value v = build_layout(_i);
	const unsigned char *tables = v.bytes + LC__CHUNK_HEADER + v.chunk.bytes;
	const size_t size = layouts[_i].tables_size;

	ck_assert_mem_eq(v.bytes + 32, layouts[_i].header, 8);
	ck_assert_uint_eq(lc__chunk_tables(&v.chunk), size == 0 ? 0 : size + 8);
	if (size > 0) {
		ck_assert_mem_eq(tables, layouts[_i].tables, size);
		ck_assert_uint_eq(lc__get64(tables + size),
		    lc__hash64_seed(tables, size, ID));
	}
	free(v.bytes);
}
END_TEST

/* Records behind one another, as far as the directory says so. */
static void
expect_says(const struct value *v, const uint64_t *sizes,
    const uint64_t *lengths, uint64_t n)
{
	struct lc__directory d;
	struct lc__chunk chunk;
	uint64_t at = 0;

	ck_assert(lc__chunk_parse(v->bytes, v->size, ID, &chunk));
	ck_assert(lc__directory_parse(v->bytes, v->size, &chunk, &d));
	ck_assert_uint_eq(d.records, n);
	ck_assert_int_eq(d.has_lengths, lengths != NULL);
	ck_assert((d.stride == 0) == (d.offsets != NULL));
	for (uint64_t i = 0; i < n; i++) {
		ck_assert_uint_eq(lc__directory_offset(&d, i), at);
		ck_assert_uint_eq(lc__directory_length(&d, i),
		    lengths ? lengths[i] : 0);
		at += sizes[i];
	}
}

START_TEST(says)
{
	struct value v = build_layout(_i);

	expect_says(&v, layouts[_i].sizes, layouts[_i].has_lengths ?
	    layouts[_i].lengths : NULL, layouts[_i].n);
	free(v.bytes);
}
END_TEST

START_TEST(at_random)
{
	uint64_t random = run_seed();

	for (unsigned round = 0; round < sample_times(300); round++) {
		const uint64_t n = 1 + run_random(&random) % RECORDS_MAX;
		const uint64_t kinds = 1 + run_random(&random) % 3;
		uint64_t sizes[RECORDS_MAX], lengths[RECORDS_MAX];
		struct value v;

		for (uint64_t i = 0; i < n; i++) {
			sizes[i] = 64 + run_random(&random) % kinds * 64;
			lengths[i] = run_random(&random) % kinds;
		}
		v = build(sizes, round % 2 ? lengths : NULL, n);
		expect_says(&v, sizes, round % 2 ? lengths : NULL, n);
		free(v.bytes);
	}
}
END_TEST

/* ---- damage --------------------------------------------------------------- */

static volatile uint64_t last_length; /* so that it is read */

/* All that a directory leads to is within the records. */
static void
expect_inside(const struct lc__directory *d, const struct lc__chunk *chunk)
{
	for (uint64_t i = 0; i < d->records; i++) {
		ck_assert_uint_lt(lc__directory_offset(d, i), chunk->bytes);
		ck_assert(i == 0 || lc__directory_offset(d, i) >
		    lc__directory_offset(d, i - 1));
		last_length = lc__directory_length(d, i);
	}
}

/* Read a value that may be damaged; does it have a directory? */
static bool
try_read(const struct value *v)
{
	struct lc__directory d = { 0 };
	struct lc__chunk chunk;

	if (!lc__chunk_parse(v->bytes, v->size, ID, &chunk) ||
	    !lc__directory_parse(v->bytes, v->size, &chunk, &d) || d.records == 0)
		return false;
	expect_inside(&d, &chunk);
	return true;
}

static void
seal_header(struct value *v)
{
	lc__set64(v->bytes + 40, lc__hash64(v->bytes, 40));
}

static void
seal_tables(struct value *v)
{
	const size_t end = LC__CHUNK_HEADER + (size_t)v->chunk.bytes;

	if (v->size > end)
		lc__set64(v->bytes + v->size - 8, lc__hash64_seed(v->bytes + end,
		    v->size - 8 - end, ID));
}

/* Every bit of the header and of the tables. */
START_TEST(flipped)
{
	struct value v = build_layout(_i);
	const size_t end = LC__CHUNK_HEADER + (size_t)v.chunk.bytes;

	for (size_t bit = 0; bit < v.size * 8; bit++) {
		unsigned char *byte = v.bytes + bit / 8;

		if (bit / 8 >= LC__CHUNK_HEADER && bit / 8 < end)
			continue;
		*byte ^= (unsigned char)(1 << bit % 8);
		ck_assert_msg(!try_read(&v), "%s: byte %zu", layouts[_i].name,
		    bit / 8);
		*byte ^= (unsigned char)(1 << bit % 8);
	}
	ck_assert(try_read(&v));
	free(v.bytes);
}
END_TEST

/* The same with good checksums: nothing leads out of the chunk. */
START_TEST(forged)
{
	struct value v = build_layout(_i);
	uint64_t random = run_seed() + (uint64_t)_i;

	for (unsigned round = 0; round < sample_times(20000); round++) {
		const size_t end = LC__CHUNK_HEADER + (size_t)v.chunk.bytes;
		const size_t places = 24 + v.size - end;
		unsigned char *copy = malloc(v.size);
		struct value w = { copy, v.size, v.chunk };

		memcpy(copy, v.bytes, v.size);
		for (uint64_t i = run_random(&random) % 3 + 1; i > 0; i--) {
			const size_t place = run_random(&random) % places;

			copy[place < 24 ? 16 + place : end + place - 24] =
			    (unsigned char)(run_random(&random) >>
			    run_random(&random) % 64);
		}
		seal_tables(&w);
		seal_header(&w);
		(void)try_read(&w);
		free(copy);
	}
	free(v.bytes);
}
END_TEST

START_TEST(cut_off)
{
	struct value v = build_layout(_i);

	for (size_t size = 0; size < v.size; size++) {
		unsigned char *copy = malloc(size + 1);
		struct value w = { copy, size, v.chunk };

		memcpy(copy, v.bytes, size);
		ck_assert(!try_read(&w));
		free(copy);
	}
	free(v.bytes);
}
END_TEST

/* Without the flag that is always set, or with flags that nobody knows. */
START_TEST(other_flags)
{
	static const uint32_t flags[] = { 0, 0x11, 0x80000001, 0x1f };
	struct value v = build_layout(N_LAYOUTS - 1);
	struct lc__directory d;
	struct lc__chunk chunk;

	lc__set32(v.bytes + 32, flags[_i]);
	seal_header(&v);
	ck_assert(lc__chunk_parse(v.bytes, v.size, ID, &chunk));
	ck_assert(!lc__directory_parse(v.bytes, v.size, &chunk, &d));
	free(v.bytes);
}
END_TEST

/* ---- in a module ---------------------------------------------------------- */

/* Two chunks: records of one size, and of three. */
static const char *
make_module(void)
{
	static const unsigned char noise[1000] = { 9, 8, 7 };
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);

	sample_set_length(cache, ".");
	for (unsigned chunk = 0; chunk < 2; chunk++) {
		for (unsigned i = 0; i < 20; i++) {
			const lc_tensor t = sample_bytes(noise,
			    chunk == 0 ? 300 : 300 + i % 3 * 100);
			char id[20];

			assert_ok(lc_put(cache, id, (size_t)sprintf(id, "%u %u",
			    chunk, i), &t));
		}
		assert_ok(lc_flush(cache));
	}
	assert_ok(lc_delete(cache, "1 0", 3));
	assert_ok(lc_close(cache));
	return root;
}

/* Read the directory of a chunk and compare it with its records. */
static lc_status
read_in_module(const char *root, uint64_t id)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	struct lc__measure measure = { .field = "." };
	struct lc__mapped_chunk chunk;
	struct lc__directory d;
	struct lc__snapshot *s;
	lc_status status;

	assert_ok(lc__snapshot_take(cache->env, &s));
	assert_ok(lc__snapshot_chunk(s, id, &chunk));
	status = lc__snapshot_directory(s, &chunk, &d);
	for (uint64_t i = 0; status == LC_OK && i < d.records; i++) {
		struct lc__record record;
		struct lc__known *known;

		assert_ok(lc__snapshot_record(s, lc__location(id,
		    lc__directory_offset(&d, i) / 64), &record));
		assert_ok(lc__snapshot_schema(s, record.schema, &known));
		ck_assert_uint_eq(lc__directory_length(&d, i),
		    lc__measure(&measure, &record, known->schema));
		ck_assert_uint_eq(lc__directory_length(&d, i),
		    id == 1 ? 300 : 300 + i % 3 * 100);
	}
	if (status == LC_OK)
		ck_assert_uint_eq(d.records, 20);
	lc__snapshot_give(s, 0);
	assert_ok(lc_close(cache));
	return status;
}

/* Change a chunk's value behind the engine's back. */
static void
operate(const char *root, uint64_t id,
    void (*change)(unsigned char *bytes, size_t size))
{
	char dir[4200];
	MDB_env *env;
	MDB_txn *txn;
	MDB_val key = { sizeof(id), &id }, value, copy;
	MDB_dbi dbi;

	snprintf(dir, sizeof(dir), "%s/m", root);
	env = rawdb_open_env(dir, 0);
	txn = rawdb_begin(env, 0);
	dbi = rawdb_table(txn, "chunk", MDB_INTEGERKEY);
	rawdb_must(mdb_get(txn, dbi, &key, &value));
	copy = (MDB_val){ value.mv_size, malloc(value.mv_size) };
	memcpy(copy.mv_data, value.mv_data, value.mv_size);
	change(copy.mv_data, copy.mv_size);
	rawdb_must(mdb_put(txn, dbi, &key, &copy, 0));
	free(copy.mv_data);
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
}

static unsigned char *
tables_of(unsigned char *bytes)
{
	return bytes + LC__CHUNK_HEADER + lc__get64(bytes + 24);
}

static void
take_directory_away(unsigned char *bytes, size_t size)
{
	memset(bytes + LC__CHUNK_HEADER + lc__get64(bytes + 24), 0,
	    size - LC__CHUNK_HEADER - (size_t)lc__get64(bytes + 24));
	lc__set64(bytes + 32, 0);
	lc__set64(bytes + 40, lc__hash64(bytes, 40));
}

static void
set_unknown_flag(unsigned char *bytes, size_t size)
{
	(void)size;
	lc__set32(bytes + 32, lc__get32(bytes + 32) | 0x10);
	lc__set64(bytes + 40, lc__hash64(bytes, 40));
}

static void
break_tables(unsigned char *bytes, size_t size)
{
	(void)size;
	tables_of(bytes)[20] ^= 1;
}

static void
break_header(unsigned char *bytes, size_t size)
{
	(void)size;
	bytes[9] ^= 1;
}

static void
seal_those(unsigned char *tables)
{
	const size_t size = 16 + 20 * 4 + 20 * 8;

	lc__set64(tables + size, lc__hash64_seed(tables, size, 2));
}

/* An offset that is none of a record, under a good checksum. */
static void
mislead(unsigned char *bytes, size_t size)
{
	(void)size;
	lc__set32(tables_of(bytes) + 16 + 4,
	    lc__get32(tables_of(bytes) + 16 + 4) - 1);
	seal_those(tables_of(bytes));
}

static void
lie_of_length(unsigned char *bytes, size_t size)
{
	(void)size;
	tables_of(bytes)[16 + 20 * 4] ^= 1;
	seal_those(tables_of(bytes));
}

struct found {
	unsigned lines;
	char first[300];
};

static void
note(void *ctx, const char *line)
{
	struct found *found = ctx;

	if (found->lines++ == 0)
		snprintf(found->first, sizeof(found->first), "%s", line);
}

static lc_status
verify(const char *root, struct found *found)
{
	const lc_options options = sample_options();
	const lc_progress progress = { .damage = note, .ctx = found };
	lc_cache *cache = sample_open(root, "m", &options);
	lc_verify_result result;
	const lc_status status = lc_verify(cache, &progress, &result);

	memset(&result, 0, sizeof(result));
	assert_ok(lc_close(cache));
	return status;
}

START_TEST(in_a_module)
{
	struct found none = { 0 };
	const char *root = make_module();

	assert_ok(read_in_module(root, 1));
	assert_ok(read_in_module(root, 2));
	assert_ok(verify(root, &none));
}
END_TEST

static const struct {
	void (*change)(unsigned char *bytes, size_t size);
	lc_status read;      /* what reading the directory says; LC_IO: do not */
	const char *verify;  /* and verify */
	const char *recover; /* and recovery */
} damages[] = {
	{ break_tables, LC_CORRUPT, "the directory of chunk 2 is damaged",
	    "chunk 2: its directory is damaged" },
	{ take_directory_away, LC_CORRUPT, "the directory of chunk 2 is damaged",
	    "chunk 2: its directory is damaged" },
	{ set_unknown_flag, LC_CORRUPT, "the directory of chunk 2 is damaged",
	    "chunk 2: its directory is damaged" },
	{ break_header, LC_IO, "header of chunk 2 is damaged",
	    "chunk 2: its header is damaged" },
	{ mislead, LC_IO, "its directory does not lead to record 1",
	    "chunk 2: its directory is damaged" },
	{ lie_of_length, LC_IO, "its directory has another length of record 0",
	    "chunk 2: its directory is damaged" },
};
#define N_DAMAGES ((int)(sizeof(damages) / sizeof(damages[0])))

static bool
any_like(const struct found *found, const char *text)
{
	return strstr(found->first, text) != NULL;
}

/* Records are never lost with their directory. */
START_TEST(recovery)
{
	struct found found = { 0 }, told = { 0 }, none = { 0 };
	const lc_progress progress = { .damage = note, .ctx = &told };
	const lc_options options = sample_options();
	const char *root = make_module();
	lc_recover_result result;
	lc_cache *cache;
	uint64_t live;

	operate(root, 2, damages[_i].change);
	if (damages[_i].read != LC_IO)
		assert_status(read_in_module(root, 2), damages[_i].read);
	assert_status(verify(root, &found), LC_CORRUPT);
	ck_assert_msg(any_like(&found, damages[_i].verify), "%s", found.first);
	assert_ok(lc_recover(root, "m", 0, &progress, &result));
	ck_assert_msg(any_like(&told, damages[_i].recover), "%s", told.first);
	ck_assert_uint_eq(result.lost, 0);
	ck_assert_uint_eq(result.rescued, 0);
	assert_ok(verify(root, &none));
	assert_ok(read_in_module(root, 2));
	cache = sample_open(root, "m", &options);
	assert_ok(lc_count(cache, &live));
	ck_assert_uint_eq(live, 39);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("directory");
	TCase *tcase = tcase_create("directory");

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, written, 0, N_LAYOUTS);
	tcase_add_loop_test(tcase, says, 0, N_LAYOUTS);
	tcase_add_test(tcase, at_random);
	tcase_add_loop_test(tcase, flipped, 0, N_LAYOUTS);
	tcase_add_loop_test(tcase, forged, 0, N_LAYOUTS);
	tcase_add_loop_test(tcase, cut_off, 0, N_LAYOUTS);
	tcase_add_loop_test(tcase, other_flags, 0, 4);
	tcase_add_test(tcase, in_a_module);
	tcase_add_loop_test(tcase, recovery, 0, N_DAMAGES);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
