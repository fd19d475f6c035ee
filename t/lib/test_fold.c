/* SPDX-License-Identifier: BSD-2-Clause */
/* Commits of one small record: their chunks come to share pages, and nothing else changes. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "by_name.h"
#include "env/env.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"
#include "store/cache.h"
#include "store/chunk.h"
#include "store/snapshot.h"
#include "witness.h"

#define MIB ((uint64_t)1 << 20)

static lc_cache *
open_module(const char *root, const char *module, int auto_compact)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_options options = sample_options();
	lc_cache *cache;

	options.durability = LC_DURABLE_RELAXED;
	cache = sample_open(root, module, &options);
	assert_ok(lc_settings_get(cache, &settings));
	settings.auto_compact = auto_compact;
	assert_ok(lc_settings_set(cache, &settings));
	return cache;
}

static void
verify(lc_cache *cache)
{
	lc_verify_result result;

	assert_ok(lc_verify(cache, NULL, &result));
}

/* Bytes of the file that are in use. */
static uint64_t
used(lc_cache *cache)
{
	const lc_stats stats = stats_of(cache);

	return stats.file_bytes - stats.free_bytes;
}

/* Rows of the table of chunks. */
static uint64_t
rows(lc_cache *cache)
{
	struct lc__snapshot *s;
	uint64_t n;

	assert_ok(lc__snapshot_take(cache->env, &s));
	assert_ok(lc__txn_count(s->txn, LC__CHUNK, &n));
	lc__snapshot_give(s, 0);
	return n;
}

/* No row of several chunks has a page that it does not need. */
static void
expect_tight(lc_cache *cache)
{
	struct lc__snapshot *s;
	struct lc__slice value;
	lc_status status;
	uint64_t id = 0;

	assert_ok(lc__snapshot_take(cache->env, &s));
	for (status = lc__txn_seek(s->txn, LC__CHUNK, 0, &id, &value); status == LC_OK;
	     status = lc__txn_seek_after(s->txn, LC__CHUNK, id, &id, &value)) {
		struct lc__folded last = { 0 };
		struct lc__chunk chunk;

		while (lc__folded_next(value.data, value.size, &last))
			;
		if (last.size == 0)
			continue;
		ck_assert(lc__chunk_parse((const unsigned char *)value.data + last.at,
		    last.size, last.id, &chunk));
		ck_assert_uint_lt(last.size - lc__chunk_size(&chunk, 0), 4096 + 64);
	}
	ck_assert_int_eq(status, LC_END);
	lc__snapshot_give(s, 0);
}

static void
commit_number(lc_cache *cache, unsigned key, unsigned version, size_t size)
{
	unsigned char data[2048];
	lc_tensor tensor;
	char id[16];

	memset(data, (int)(key % 251 + version), sizeof(data));
	tensor = sample_bytes(data, size);
	assert_ok(lc_put(cache, id, (size_t)snprintf(id, sizeof(id), "key-%06u", key),
	    &tensor));
	assert_ok(lc_flush(cache));
}

static void
expect_number(lc_cache *cache, unsigned key, unsigned version, size_t size)
{
	unsigned char data[2048];
	lc_view view;
	char id[16];

	memset(data, (int)(key % 251 + version), sizeof(data));
	assert_ok(lc_get(cache, id, (size_t)snprintf(id, sizeof(id), "key-%06u", key),
	    &view));
	ck_assert_uint_eq(view.tensor.nbytes, size);
	ck_assert_uint_eq((uintptr_t)view.tensor.data % 64, 0);
	ck_assert_mem_eq(view.tensor.data, data, size);
	lc_view_release(&view);
}

/* The same records in the same order, in chunks of the same numbers, with the same order's
 * hash. */
static void
compare(lc_cache *a, lc_cache *b)
{
	lc_source_info info[2] = { { .struct_size = sizeof(*info) },
		{ .struct_size = sizeof(*info) } };
	lc_cache *caches[2] = { a, b };
	lc_iter *iter[2];
	lc_item item[2];
	lc_status status;

	for (int i = 0; i < 2; i++) {
		lc_source *source;

		assert_ok(lc_source_open_module(caches[i], NULL, &source));
		assert_ok(lc_source_info_get(source, &info[i]));
		lc_source_close(source);
		assert_ok(lc_iter_open(caches[i], LC_BY_COMMIT, NULL, 0, &iter[i]));
	}
	ck_assert_uint_eq(info[0].generation, info[1].generation);
	ck_assert_uint_eq(info[0].chunks, info[1].chunks);
	ck_assert_uint_eq(info[0].records, info[1].records);
	ck_assert_uint_eq(info[0].prefix_hash, info[1].prefix_hash);
	while ((status = lc_iter_next(iter[0], &item[0])) == LC_OK) {
		assert_ok(lc_iter_next(iter[1], &item[1]));
		ck_assert_uint_eq(item[0].chunk, item[1].chunk);
		ck_assert_uint_eq(item[0].id.size, item[1].id.size);
		ck_assert_mem_eq(item[0].id.data, item[1].id.data, item[0].id.size);
		ck_assert(sample_same(&item[0].tensor, &item[1].tensor));
	}
	ck_assert_int_eq(status, LC_END);
	assert_status(lc_iter_next(iter[1], &item[1]), LC_END);
	lc_iter_close(iter[0]);
	lc_iter_close(iter[1]);
}

/* ---- sizes ---------------------------------------------------------------- */

static const size_t sizes[] = { 2048, 64, 700 };

/* 1.3 times the payload and 100 bytes; 8-byte records need more than their payload. */
START_TEST(commits_of_one)
{
	const size_t size = sizes[_i];
	const uint64_t bound = size == 64 ? 400 : size * 13 / 10 + 100;
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m", 1), *plain = open_module(root, "n", 0);
	const unsigned n = 64 * 40;

	for (unsigned i = 0; i < n; i++) {
		commit_number(cache, i, 0, size);
		commit_number(plain, i, 0, size);
	}
	ck_assert_uint_eq(stats_of(cache).chunks, n);
	ck_assert_uint_eq(stats_of(plain).chunks, n);
	ck_assert_uint_eq(rows(plain), n);
	/* The first chunks before the 64th, 63 of them, and those since the last fold. */
	ck_assert_uint_eq(rows(cache), n / 64 * (size == 2048 ? 3 : 1) + 1);
	ck_assert_uint_le(used(cache), n * bound + 80 * 4096);
	ck_assert_uint_le(stats_of(cache).file_bytes, n * bound + MIB);
	ck_assert_uint_ge(used(plain), n * 4096);
	verify(cache);
	compare(cache, plain);
	assert_ok(lc_close(plain));
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", NULL);
	for (unsigned i = 0; i < n; i++)
		expect_number(cache, i, 0, size);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* Keys overwritten one by one in commits of one: twice the live data and 1 MiB, and what
 * chunks have in pages beyond that. */
START_TEST(overwrites_of_one)
{
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	unsigned *versions = calloc(1000, sizeof(*versions));
	uint64_t random = run_seed();
	lc_stats stats;

	for (unsigned i = 0; i < 1000; i++)
		commit_number(cache, i, 0, 2048);
	for (unsigned i = 0; i < 6000; i++) {
		const unsigned key = (unsigned)(run_random(&random) % 1000);

		commit_number(cache, key, ++versions[key], 2048);
		stats = stats_of(cache);
		ck_assert_uint_eq(stats.records, 1000);
		ck_assert_uint_le(stats.dead_bytes, stats.live_bytes + MIB);
	}
	verify(cache);
	expect_tight(cache);
	ck_assert_uint_le(used(cache), 2 * stats.live_bytes + 3 * MIB);
	ck_assert_uint_le(stats.file_bytes, 2 * stats.live_bytes + 8 * MIB);
	for (unsigned i = 0; i < 1000; i++)
		expect_number(cache, i, versions[i], 2048);
	free(versions);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(all_deleted)
{
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	char id[16];

	for (unsigned i = 0; i < 3000; i++)
		commit_number(cache, i, 0, 2048);
	for (unsigned i = 0; i < 3000; i++) {
		assert_ok(lc_delete(cache, id,
		    (size_t)snprintf(id, sizeof(id), "key-%06u", i)));
		if (i % 10 == 0)
			assert_ok(lc_flush(cache));
	}
	assert_ok(lc_flush(cache));
	verify(cache);
	ck_assert_uint_eq(stats_of(cache).records, 0);
	ck_assert_uint_le(stats_of(cache).dead_bytes, MIB);
	ck_assert_uint_le(used(cache), 3 * MIB);
	assert_ok(lc_close(cache));
}
END_TEST

/* The budget drops the oldest chunks of a row, and some of it stays. */
START_TEST(a_budget)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	uint64_t count;

	assert_ok(lc_settings_get(cache, &settings));
	settings.max_bytes = 400 * 2112;
	assert_ok(lc_settings_set(cache, &settings));
	for (unsigned i = 0; i < 1500; i++)
		commit_number(cache, i, 0, 2048);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, 400);
	for (unsigned i = 1100; i < 1500; i++)
		expect_number(cache, i, 0, 2048);
	verify(cache);
	ck_assert_uint_le(used(cache), 2 * 400 * 2112);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- what readers rely on ------------------------------------------------- */

static const struct sample_range ranges[] = { { 8, 400 }, { 1000, 3000 },
	{ 8, 12000 } };

/* Random changes in commits of few records, the same in a module that folds and in one that
 * does not; at times a compaction joins what it can. A view holds what it has. */
START_TEST(random_changes)
{
	uint64_t random = run_seed() + (uint64_t)_i;
	struct witness w = { .range = ranges[_i % 3] }, other = w;
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m", 1), *plain = open_module(root, "n", 0);
	bool joined = false;

	for (unsigned round = 0; round < sample_times(6); round++) {
		const unsigned key = (unsigned)(run_random(&random) % WITNESS_KEYS);
		char id[SAMPLE_ID_ROOM];
		const size_t size = sample_id(id, key);
		uint64_t version;
		lc_view view;

		witness_put(&w, cache, key);
		witness_put(&other, plain, key);
		version = w.versions[key];
		assert_ok(lc_flush(cache));
		assert_ok(lc_flush(plain));
		assert_ok(lc_get(cache, id, size, &view));
		for (unsigned n = 0; n < 150; n++) {
			const unsigned changes = 1 + (unsigned)(run_random(&random) % 3);
			uint64_t same = random;

			witness_change(&w, cache, changes, &random);
			witness_change(&other, plain, changes, &same);
			assert_ok(lc_flush(cache));
			assert_ok(lc_flush(plain));
		}
		ck_assert(sample_is(&view.tensor, id, size, version, w.range));
		lc_view_release(&view);
		witness_check(&w, cache);
		if (!joined)
			compare(cache, plain);
		if (round % 4 == 3) {
			joined = true;
			assert_ok(lc_compact(cache, NULL, NULL));
			witness_check(&w, cache);
		}
	}
	witness_check(&other, plain);
	assert_ok(lc_close(plain));
	assert_ok(lc_close(cache));
}
END_TEST

/* A chunk with a live record in the middle of a row gets a row of its own. */
START_TEST(a_chunk_leaves_its_row)
{
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	lc_compact_options options;

	for (unsigned i = 0; i < 130; i++)
		commit_number(cache, i, 0, 64);
	ck_assert_uint_eq(rows(cache), 1 + 1 + 3);
	lc_compact_options_init(&options);
	options.chunk_bytes = 64 << 10;
	options.live_ratio = 0;
	assert_ok(lc_compact(cache, &options, NULL));
	verify(cache);
	for (unsigned i = 0; i < 130; i++)
		expect_number(cache, i, 0, 64);
	assert_ok(lc_close(cache));
}
END_TEST

/* Inputs of a record each. */
START_TEST(small_inputs)
{
	enum { inputs = 130 };
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	char names[inputs][16];
	lc_input list[inputs];

	for (unsigned i = 0; i < inputs; i++) {
		snprintf(names[i], sizeof(names[i]), "key-%06u", i);
		list[i] = (lc_input){ names[i], lc_id_of("same") };
	}
	assert_ok(lc_inputs_declare(cache, inputs, list));
	for (unsigned i = 0; i < inputs; i++) {
		unsigned char data[64];
		const lc_tensor tensor = sample_bytes(data, sizeof(data));
		lc_writer *writer;

		memset(data, (int)i, sizeof(data));
		assert_ok(lc_writer_open(cache, names[i], &writer));
		assert_ok(lc_writer_put(writer, names[i], strlen(names[i]), &tensor));
		assert_ok(lc_writer_finish(writer, NULL, 0));
		lc_writer_close(writer);
	}
	ck_assert_uint_eq(rows(cache), 1 + 1 + 3);
	verify(cache);
	for (unsigned i = 0; i < inputs; i++)
		expect_number(cache, i, 0, 64);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- damage --------------------------------------------------------------- */

#define DAMAGED 100

/* The file as bytes. */
struct file {
	char path[600];
	unsigned char *bytes;
	size_t size;
};

static void
load_file(struct file *f, const char *root)
{
	FILE *in;

	snprintf(f->path, sizeof(f->path), "%s/m/data.mdb", root);
	in = fopen(f->path, "rb");
	ck_assert_ptr_nonnull(in);
	ck_assert_int_eq(fseek(in, 0, SEEK_END), 0);
	f->size = (size_t)ftell(in);
	rewind(in);
	f->bytes = malloc(f->size);
	ck_assert_uint_eq(fread(f->bytes, 1, f->size, in), f->size);
	fclose(in);
}

static void
save_file(const struct file *f)
{
	FILE *out = fopen(f->path, "wb");

	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(fwrite(f->bytes, 1, f->size, out), f->size);
	ck_assert_int_eq(fclose(out), 0);
}

/* A chunk in the row whose smallest id is @p first; the row's list for chunk 0. */
static unsigned char *
find_bytes(const struct file *f, uint64_t chunk, uint64_t first)
{
	for (size_t at = 16; at + 4096 <= f->size; at += 4096) {
		unsigned char *value = f->bytes + at;
		struct lc__folded found = { 0 };

		if (!lc__folded_intact(value, f->size - at) ||
		    !lc__folded_next(value, f->size - at, &found) || found.id != first)
			continue;
		if (chunk == 0)
			return value;
		if (lc__folded_find(value, f->size - at, chunk, &found))
			return value + found.at;
	}
	ck_abort_msg("no chunk %llu", (unsigned long long)chunk);
}

static const char *
damaged_module(uint64_t chunk, uint64_t first, size_t offset)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m", 1);
	struct file f;

	for (unsigned i = 0; i < 200; i++)
		commit_number(cache, i, 0, 700);
	assert_ok(lc_close(cache));
	load_file(&f, root);
	find_bytes(&f, chunk, first)[offset] ^= 1;
	save_file(&f);
	free(f.bytes);
	return root;
}

/* Chunk numbers are one above the keys' here. */
static const struct damage {
	uint64_t chunk, first;
	size_t offset;
	bool lost; /* the record */
} damages[] = {
	{ DAMAGED, 64, 9, false },   /* the header of one within a row */
	{ 64, 64, 9, false },        /* of the first in a row */
	{ 127, 64, 9, false },       /* of the last */
	{ DAMAGED, 64, 300, true },  /* a record */
	{ 64, 64, 300, true },
	{ 0, 64, 0, false },         /* the list: its magic, a place, the block, its sum */
	{ 0, 64, 16 + 2 * 36, false },
	{ 0, 64, 9, false },
	{ 0, 64, 150, false },
};
#define DAMAGES (sizeof(damages) / sizeof(*damages))

static void
expect_all_but(lc_cache *cache, const struct damage *d)
{
	char id[16];

	for (unsigned i = 0; i < 200; i++)
		if (!d->lost || i + 1 != d->chunk)
			expect_number(cache, i, 0, 700);
	if (d->lost)
		assert_status(lc_contains(cache, id,
				  (size_t)snprintf(id, sizeof(id), "key-%06u",
				      (unsigned)d->chunk - 1)),
		    LC_NOT_FOUND);
}

/* Commits go on, and recover brings back what is whole. */
START_TEST(recovered)
{
	const struct damage *d = &damages[_i];
	const char *root = damaged_module(d->chunk, d->first, d->offset);
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_recover_result result;
	lc_verify_result verified;

	assert_status(lc_verify(cache, NULL, &verified), LC_CORRUPT);
	for (unsigned i = 0; i < 200 && d->chunk != 0; i++)
		if (i + 1 != d->chunk)
			expect_number(cache, i, 0, 700);
	for (unsigned i = 200; i < 400; i++)
		commit_number(cache, i, 0, 700);
	assert_ok(lc_close(cache));
	assert_ok(lc_recover(root, "m", 0, NULL, &result));
	ck_assert_uint_eq(result.records, 400 - d->lost);
	ck_assert_uint_eq(result.lost, d->lost);
	cache = sample_open(root, "m", NULL);
	verify(cache);
	expect_all_but(cache, d);
	for (unsigned i = 200; i < 400; i++)
		expect_number(cache, i, 0, 700);
	for (unsigned i = 400; i < 600; i++)
		commit_number(cache, i, 0, 700);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(salvaged)
{
	const struct damage *d = &damages[_i];
	const char *root = damaged_module(d->chunk, d->first, d->offset);
	lc_salvage_result result;
	lc_cache *cache;
	char from[600];

	snprintf(from, sizeof(from), "%s/m", root);
	assert_ok(lc_salvage(from, root, "n", NULL, &result));
	cache = sample_open(root, "n", NULL);
	verify(cache);
	ck_assert_uint_ge(result.records, 200 - 1);
	for (unsigned i = 0; i < 200; i++)
		if (i + 1 != d->chunk)
			expect_number(cache, i, 0, 700);
	assert_ok(lc_close(cache));
}
END_TEST

/* Each page of a row is lost once, that of the first or the last list too: salvage finds what
 * lies outside of it. */
START_TEST(a_lost_page)
{
	const char *root = damaged_module(1, 1, 300);
	struct file whole, f;
	uint64_t row;

	load_file(&whole, root);
	f = whole;
	row = (uint64_t)(find_bytes(&whole, 0, 64) - whole.bytes);
	for (unsigned page = 0; page < 15; page++) {
		const uint64_t lost = row - 16 + page * UINT64_C(4096);
		lc_salvage_result result;
		char from[600], name[16];
		lc_cache *cache;

		f.bytes = malloc(f.size);
		memcpy(f.bytes, whole.bytes, f.size);
		memset(f.bytes + lost, 0, 4096);
		save_file(&f);
		free(f.bytes);
		snprintf(from, sizeof(from), "%s/m", root);
		snprintf(name, sizeof(name), "n%u", page);
		assert_ok(lc_salvage(from, root, name, NULL, &result));
		cache = sample_open(root, name, NULL);
		for (unsigned id = 64; id < 128; id++) {
			struct lc__folded chunk;

			ck_assert(lc__folded_find(whole.bytes + row, LC__FOLDED_MAX, id,
			    &chunk));
			if (row + chunk.at + 1024 <= lost || row + chunk.at >= lost + 4096)
				expect_number(cache, id - 1, 0, 700);
		}
		ck_assert_uint_ge(result.records, 199 - 7);
		assert_ok(lc_close(cache));
	}
	free(whole.bytes);
}
END_TEST

/* ---- damage and reclaim ---------------------------------------------------- */

#define LARGE 20000
#define BIG 128 /* a chunk of 100 large records */

/* Put records of chunk @p chunk, from number @p from on. */
static void
put_numbers(lc_cache *cache, unsigned chunk, unsigned from, unsigned end, size_t size)
{
	static unsigned char data[LARGE];
	char id[32];

	for (unsigned i = from; i < end; i++) {
		const lc_tensor tensor = sample_bytes(data, size);

		assert_ok(lc_put(cache, id,
		    (size_t)snprintf(id, sizeof(id), "of-%u-%u", chunk, i), &tensor));
	}
}

/* A row of chunks 64 to 88; none of id 89; chunk 90 with four records of @p size, alone or the
 * first of a row; the rest of the block; and chunk BIG. */
static lc_cache *
gapped_module(const char *root, size_t size)
{
	lc_cache *cache = open_module(root, "m", 1);

	for (unsigned chunk = 1; chunk < BIG; chunk++) {
		if (chunk != 89 && chunk != 90) {
			commit_number(cache, chunk - 1, 0, 100);
			continue;
		}
		put_numbers(cache, chunk, 0, chunk == 89 ? 1 : 4,
		    chunk == 89 ? LARGE : size);
		assert_ok(lc_flush(cache));
	}
	put_numbers(cache, BIG, 0, 100, LARGE);
	assert_ok(lc_flush(cache));
	assert_ok(lc_delete(cache, "of-89-0", 7));
	assert_ok(lc_flush(cache));
	return cache;
}

/* Most of chunks 90 and BIG is replaced. */
static lc_status
replace_most(lc_cache *cache)
{
	put_numbers(cache, 90, 1, 4, 100);
	put_numbers(cache, BIG, 10, 100, 100);
	return lc_flush(cache);
}

/* The ways to damage the row of chunk 64. */
enum {
	the_sum,          /* of its list */
	a_place,          /* of its list, which names chunk 95 too */
	its_first,        /* its list begins with 65 */
	another_rows_list,
	harms
};

static void
harm(const char *root, int how)
{
	uint64_t places[LC__FOLD_BLOCK] = { 0 };
	struct lc__folded chunk = { 0 };
	struct file f;
	unsigned char *row;

	load_file(&f, root);
	row = find_bytes(&f, 0, 64);
	while (lc__folded_next(row, LC__FOLDED_MAX, &chunk))
		places[chunk.id % LC__FOLD_BLOCK] = chunk.at;
	if (how == its_first)
		places[0] = 0;
	if (how == another_rows_list)
		for (unsigned i = 0; i < 25; i++) {
			places[27 + i] = places[i];
			places[i] = 0;
		}
	if (how >= its_first)
		lc__folded_encode(row, 64, places);
	else if (how == a_place)
		row[16 + 2 * 31] ^= 8;
	else
		row[150] ^= 1;
	save_file(&f);
	free(f.bytes);
}

/* It stops no commit that frees what is before or after it. */
START_TEST(damage_stops_no_commit)
{
	const char *root = run_scratch();
	lc_cache *cache = gapped_module(root, _i % 2 == 0 ? LARGE : 1900);
	const uint64_t before = rows(cache);
	lc_view view;

	ck_assert_uint_eq(before, 4 + (_i % 2 == 0));
	assert_ok(lc_close(cache));
	harm(root, _i / 2);
	cache = sample_open(root, "m", NULL);
	assert_ok(replace_most(cache));
	for (unsigned i = 0; i < 70; i++)
		commit_number(cache, 1000 + i, 0, 100);
	ck_assert_uint_lt(stats_of(cache).dead_bytes, MIB);
	for (unsigned chunk = 91; chunk < BIG; chunk++)
		if (_i / 2 != another_rows_list)
			expect_number(cache, chunk - 1, 0, 100);
	assert_ok(lc_get(cache, "of-90-0", 7, &view));
	lc_view_release(&view);
	assert_ok(lc_close(cache));
}
END_TEST

/* Where the record of a chunk is. */
static const void *
address_of(lc_cache *cache, unsigned chunk)
{
	const void *data;
	lc_view view;
	char id[16];

	assert_ok(lc_get(cache, id,
	    (size_t)snprintf(id, sizeof(id), "key-%06u", chunk - 1), &view));
	data = view.tensor.data;
	lc_view_release(&view);
	return data;
}

/* A chunk that is written anew moves no row that ends before it. */
START_TEST(rows_before_stay)
{
	lc_cache *cache = gapped_module(run_scratch(), LARGE);
	const void *before = address_of(cache, 64), *old, *now;
	lc_view view;

	assert_ok(lc_get(cache, "of-90-0", 7, &view));
	old = view.tensor.data;
	lc_view_release(&view);
	assert_ok(replace_most(cache));
	assert_ok(lc_get(cache, "of-90-0", 7, &view));
	now = view.tensor.data;
	lc_view_release(&view);
	ck_assert_ptr_ne(now, old);
	ck_assert_ptr_eq(address_of(cache, 64), before);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- bytes ---------------------------------------------------------------- */

/* A row of three chunks cut off anywhere, or with any byte changed: nothing is read beyond
 * it, and damage to one chunk hides no other. */
START_TEST(any_bytes)
{
	enum { first = LC__FOLDED_LIST, each = 192, end = first + 3 * each };
	enum { all = end + LC__FOLDED_LIST };
	const uint64_t places[LC__FOLD_BLOCK] = {
		[5] = first, [7] = first + each, [63] = first + 2 * each
	};
	const uint64_t ids[] = { 645, 647, 703 };
	unsigned char row[all], copy[all];
	struct lc__folded found = { 0 };

	memset(row, 7, sizeof(row));
	lc__folded_encode(row, 640, places);
	for (unsigned i = 0; i < 3; i++) {
		const struct lc__chunk chunk = {
			.id = ids[i],
			.records = 1,
			.bytes = 128,
			.directory = LC__DIRECTORY,
		};

		lc__chunk_encode(row + places[ids[i] - 640], &chunk);
		ck_assert(lc__folded_next(row, sizeof(row), &found));
		ck_assert_uint_eq(found.id, ids[i]);
		ck_assert_uint_eq(found.at, first + i * each);
		ck_assert_uint_eq(found.size, each);
	}
	ck_assert(!lc__folded_next(row, sizeof(row), &found));
	for (uint64_t id = 0; id < 1000; id++)
		ck_assert_int_eq(lc__folded_find(row, sizeof(row), id, &found),
		    id == 645 || id == 647 || id == 703);
	ck_assert(lc__folded_intact(row, sizeof(row)));
	memcpy(row + end, row, LC__FOLDED_LIST);
	ck_assert(lc__folded_intact(row + end, sizeof(row)));
	for (size_t size = 0; size < sizeof(row); size++) {
		unsigned char *exact = malloc(size + 1);

		memcpy(exact, row, size);
		for (unsigned i = 0; i < 3; i++) {
			ck_assert_int_eq(lc__folded_find(exact, size, ids[i], &found),
			    size > LC__FOLDED_LIST + first + i * each);
			ck_assert(size <= LC__FOLDED_LIST + first + i * each ||
			    found.at + found.size <= size - LC__FOLDED_LIST);
		}
		ck_assert_int_eq(lc__folded_intact(exact, size),
		    size >= LC__FOLDED_LIST + first + 2 * each + LC__CHUNK_HEADER);
		free(exact);
	}
	for (size_t i = 0; i < sizeof(row); i++) {
		memcpy(copy, row, sizeof(row));
		copy[i] ^= 64;
		ck_assert_int_eq(lc__folded_intact(copy, sizeof(copy)), i >= 152);
		if (lc__folded_find(copy, sizeof(copy), 647, &found))
			ck_assert_uint_le(found.at + found.size, sizeof(copy));
		if (i >= 152)
			ck_assert_uint_eq(found.at, first + each);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fold");
	TCase *tc = tcase_create("fold");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_loop_test(tc, commits_of_one, 0, 3);
	tcase_add_test(tc, overwrites_of_one);
	tcase_add_test(tc, all_deleted);
	tcase_add_test(tc, a_budget);
	tcase_add_loop_test(tc, random_changes, 0, 6);
	tcase_add_test(tc, a_chunk_leaves_its_row);
	tcase_add_test(tc, small_inputs);
	tcase_add_loop_test(tc, recovered, 0, DAMAGES);
	tcase_add_loop_test(tc, salvaged, 0, DAMAGES);
	tcase_add_test(tc, a_lost_page);
	tcase_add_loop_test(tc, damage_stops_no_commit, 0, 2 * harms);
	tcase_add_test(tc, rows_before_stay);
	tcase_add_test(tc, any_bytes);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
