/* SPDX-License-Identifier: BSD-2-Clause */
/* Compaction: the same records in the same order, and room where dead ones were. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "index/run_build.h"
#include "lmdbcache.h"
#include "need.h"
#include "store/cache.h"
#include "store/lookup.h"
#include "life/remerge.h"
#include "witness.h"

static lc_compact_options
eager(void)
{
	lc_compact_options options;

	lc_compact_options_init(&options);
	options.live_ratio = 1;
	options.chunk_bytes = 65536;
	return options;
}

static lc_stats
stat_of(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	assert_ok(lc_stat(cache, &stats));
	return stats;
}

/* A module whose commits leave all compacting to lc_compact(). */
static lc_cache *
open_small(const char *root, uint64_t flush_every)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_options options = sample_options();
	lc_cache *cache;

	options.flush_every = flush_every;
	options.durability = LC_DURABLE_RELAXED;
	cache = sample_open(root, "m", &options);
	assert_ok(lc_settings_get(cache, &settings));
	settings.auto_compact = 0;
	assert_ok(lc_settings_set(cache, &settings));
	return cache;
}

/* ---- options -------------------------------------------------------------- */

START_TEST(bad_options)
{
	lc_cache *cache = open_small(run_scratch(), 10);
	lc_compact_options options;
	lc_compact_result result;

	lc_compact_options_init(&options);
	switch (_i) {
	case 0: options.struct_size = 0; break;
	case 1: options.live_ratio = -0.1; break;
	case 2: options.live_ratio = 1.1; break;
	case 3: options.live_ratio = 0.0 / 0.0; break;
	case 4: options.chunk_bytes = 65535; break;
	default: options.chunk_bytes = (64 << 20) + 1; break;
	}
	assert_status(lc_compact(cache, &options, &result), LC_INVALID);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(read_only)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_compact_options dry = eager();
	lc_cache *cache;

	assert_ok(lc_close(open_small(root, 10)));
	options.flags = LC_RDONLY;
	cache = sample_open(root, "m", &options);
	assert_status(lc_compact(cache, NULL, NULL), LC_READONLY);
	assert_status(lc_clear(cache), LC_READONLY);
	dry.dry_run = 1;
	assert_ok(lc_compact(cache, &dry, NULL));
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- records -------------------------------------------------------------- */

static const double ratios[] = { 0, 0.3, 0.5, 0.9, 1 };

/* Random changes and compactions by turns. A dry run tells what will be done, and
 * afterwards nothing is left to do. */
START_TEST(random_changes)
{
	uint64_t random = run_seed() + (uint64_t)_i;
	struct witness w = { .range = { 8, _i % 2 ? 400 : 9000 } };
	lc_cache *cache = open_small(run_scratch(), 1 + (uint64_t)_i * 7);
	lc_compact_options options = eager();

	for (unsigned round = 0; round < sample_times(8); round++) {
		lc_compact_result dry, done, again;
		lc_stats before, after;

		witness_change(&w, cache, 150, &random);
		assert_ok(lc_flush(cache));
		options.live_ratio = ratios[run_random(&random) % 5];
		options.dry_run = 1;
		assert_ok(lc_compact(cache, &options, &dry));
		before = stat_of(cache);
		options.dry_run = 0;
		assert_ok(lc_compact(cache, &options, &done));
		after = stat_of(cache);
		ck_assert_mem_eq(&dry, &done, sizeof(done));
		ck_assert_uint_eq(done.chunks_before, before.chunks);
		ck_assert_uint_eq(done.chunks_after, after.chunks);
		ck_assert_uint_eq(done.bytes_after,
		    after.live_bytes + after.dead_bytes);
		ck_assert_uint_eq(before.records, after.records);
		ck_assert_uint_eq(before.live_bytes, after.live_bytes);
		ck_assert_uint_eq(before.dead_records - done.dropped,
		    after.dead_records);
		if (options.live_ratio == 1)
			ck_assert_uint_eq(after.dead_records, 0);
		assert_ok(lc_compact(cache, &options, &again));
		ck_assert_uint_eq(again.rewritten, 0);
		ck_assert_uint_eq(stat_of(cache).generation, after.generation);
		witness_check(&w, cache);
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* Small neighbours are joined, and dead ones leave. */
START_TEST(joins_and_drops)
{
	struct witness w = { .range = { 100, 100 } };
	lc_cache *cache = open_small(run_scratch(), 5);
	const lc_compact_options options = eager();
	lc_compact_result result;

	for (unsigned i = 0; i < 100; i++)
		witness_put(&w, cache, i);
	assert_ok(lc_flush(cache));
	assert_ok(lc_compact(cache, &options, &result));
	ck_assert_uint_eq(result.chunks_before, 20);
	ck_assert_uint_eq(result.rewritten, 20);
	ck_assert_uint_eq(result.moved, 100);
	ck_assert_uint_eq(result.dropped, 0);
	ck_assert_uint_le(result.chunks_after, 2);
	witness_check(&w, cache);
	for (unsigned i = 0; i < 100; i++)
		witness_delete(&w, cache, i);
	assert_ok(lc_compact(cache, &options, &result));
	ck_assert_uint_eq(result.chunks_after, 0);
	ck_assert_uint_eq(result.bytes_after, 0);
	ck_assert_uint_eq(result.dropped, 100);
	witness_check(&w, cache);
	ck_assert_uint_eq(stat_of(cache).index_runs, 0);
	assert_ok(lc_close(cache));
}
END_TEST

/* The same records again and again: compaction keeps the file from growing. */
START_TEST(room_is_used_again)
{
	struct witness w = { .range = { 2000, 4000 } };
	lc_cache *cache = open_small(run_scratch(), 50);
	uint64_t settled = 0;

	for (unsigned round = 0; round < 24; round++) {
		for (unsigned i = 0; i < 200; i++)
			witness_put(&w, cache, i);
		assert_ok(lc_compact(cache, NULL, NULL));
		if (round == 7)
			settled = stat_of(cache).file_bytes;
	}
	ck_assert_uint_le(stat_of(cache).file_bytes, settled + settled / 4);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* A view shows what it showed; an iterator goes on over what it began with. */
START_TEST(snapshots_stay)
{
	struct witness w = { .range = { 1000, 2000 } }, then;
	lc_cache *cache = open_small(run_scratch(), 20);
	const lc_compact_options options = eager();
	lc_iter *iter;
	lc_item item;
	char id[SAMPLE_ID_ROOM];
	lc_view view;
	uint64_t n = 0;

	for (unsigned i = 0; i < 200; i++)
		witness_put(&w, cache, i);
	assert_ok(lc_flush(cache));
	then = w;
	assert_ok(lc_get(cache, id, sample_id(id, 7), &view));
	assert_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
	for (unsigned i = 0; i < 200; i += 2)
		witness_put(&w, cache, i);
	assert_ok(lc_compact(cache, &options, NULL));
	ck_assert(sample_is(&view.tensor, id, sample_id(id, 7), then.versions[7],
	    w.range));
	lc_view_release(&view);
	while (lc_iter_next(iter, &item) == LC_OK) {
		ck_assert(sample_is(&item.tensor, item.id.data, item.id.size,
		    n + 1, w.range));
		n++;
	}
	ck_assert_uint_eq(n, 200);
	lc_iter_close(iter);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

static int
stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
	ck_assert_uint_le(done, total);
	++*(int *)ctx;
	return 1;
}

START_TEST(cancelled)
{
	struct witness w = { .range = { 30000, 30000 } };
	lc_cache *cache = open_small(run_scratch(), 1);
	lc_compact_options options = eager();
	lc_compact_result result;
	int calls = 0;

	for (unsigned i = 0; i < 40; i++)
		witness_put(&w, cache, i);
	options.progress.step = stop_at_once;
	options.progress.ctx = &calls;
	assert_status(lc_compact(cache, &options, &result), LC_CANCELLED);
	ck_assert_int_eq(calls, 1);
	ck_assert_uint_eq(stat_of(cache).chunks, 39);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- codecs --------------------------------------------------------------- */

#define VALUES 60

static lc_value *
make_value(unsigned i, const lc_tensor *tensor)
{
	lc_value *map = lc_value_map();

	lc_value_set(map, "n", lc_value_integer((int64_t)i));
	lc_value_set(map, "a", lc_value_tensor(tensor));
	lc_value_set(map, "b", lc_value_tensor(tensor));
	return map;
}

/* All values, all with this codec, in order; bytes in the chunks. */
static uint64_t
check_values(lc_cache *cache, const lc_tensor *tensor, lc_codec codec)
{
	lc_verify_result verified;
	const lc_value *got;
	unsigned n = 0;
	lc_iter *iter;
	lc_item item;

	assert_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
	for (; lc_iter_next(iter, &item) == LC_OK; n++) {
		lc_value *want = n % 2 ? lc_value_tensor(tensor) :
		    make_value(n, tensor);

		ck_assert_mem_eq(item.id.data, &n, sizeof(n));
		ck_assert_int_eq(item.codec, codec);
		assert_ok(lc_iter_value(iter, NULL, &got));
		ck_assert(lc_value_equal(got, want));
		lc_value_free(want);
	}
	ck_assert_uint_eq(n, VALUES);
	lc_iter_close(iter);
	assert_ok(lc_verify(cache, NULL, &verified));
	ck_assert_uint_eq(stat_of(cache).dead_records, 0);
	return stat_of(cache).live_bytes;
}

START_TEST(recode)
{
	static const lc_codec codecs[] = {
		LC_CODEC_LZ4, LC_CODEC_NONE, LC_CODEC_SHUFFLE_LZ4, LC_CODEC_LZ4,
		LC_CODEC_NONE
	};
	lc_cache *cache = open_small(run_scratch(), 7);
	lc_compact_options options;
	lc_compact_result result;
	static float data[1000];
	const uint64_t shape[1] = { 1000 };
	uint64_t bytes[5];
	lc_tensor tensor;

	lc_compact_options_init(&options);
	for (unsigned i = 0; i < 1000; i++)
		data[i] = (float)(i % 10);
	assert_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, data));
	for (unsigned i = 0; i < VALUES; i++) {
		lc_value *value = i % 2 ? lc_value_tensor(&tensor) :
		    make_value(i, &tensor);

		assert_ok(lc_put_value(cache, &i, sizeof(i), value));
		lc_value_free(value);
	}
	for (unsigned i = 0; i < 5; i++) {
		options.recode = codecs[i];
		assert_ok(lc_compact(cache, &options, &result));
		ck_assert_uint_eq(result.moved, VALUES);
		bytes[i] = check_values(cache, &tensor, codecs[i]);
		ck_assert_uint_eq(result.bytes_after, bytes[i]);
		/* The same again changes nothing. */
		assert_ok(lc_compact(cache, &options, &result));
		ck_assert_uint_eq(result.rewritten, 0);
	}
	ck_assert_uint_lt(bytes[0], bytes[1] / 2);
	ck_assert_uint_lt(bytes[2], bytes[1] / 2);
	ck_assert_uint_eq(bytes[3], bytes[0]);
	ck_assert_uint_eq(bytes[4], bytes[1]);
	options.recode = (lc_codec)77;
	assert_status(lc_compact(cache, &options, &result), LC_INVALID);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- the index ------------------------------------------------------------ */

static void
index_is_clean(lc_cache *cache)
{
	struct lc__snapshot *s;
	uint64_t entries = 0;

	assert_ok(lc__snapshot_take(cache->env, &s));
	for (uint32_t i = 0; i < s->state.nruns; i++)
		entries += s->state.runs[i].entries;
	ck_assert_uint_eq(entries, s->state.live);
	lc__snapshot_give(s, 0);
}

/* Step by step, with changes in between, and from the beginning after a stop. */
START_TEST(index_in_steps)
{
	uint64_t random = run_seed() + 1000;
	struct witness w = { .range = SAMPLE_SMALL };
	lc_cache *cache = open_small(run_scratch(), 9);

	for (unsigned round = 0; round < sample_times(20); round++) {
		struct lc__remerge merge = {
			.step_bytes = 1 + run_random(&random) % 9000
		};
		const bool changing = run_random(&random) % 2;
		const uint64_t stop_after = run_random(&random) % 40;
		lc_status status = LC_OK;

		witness_change(&w, cache, 60, &random);
		assert_ok(lc_flush(cache));
		for (uint64_t i = 0; status == LC_OK && !merge.done &&
		    !merge.needless && i < stop_after; i++) {
			status = lc__remerge_step(&merge, cache->env,
			    LC_DURABLE_RELAXED);
			if (changing) {
				witness_change(&w, cache, 3, &random);
				assert_ok(lc_flush(cache));
			}
		}
		assert_ok(status);
		if (merge.done && !changing)
			index_is_clean(cache);
		lc__remerge_free(&merge);
		witness_check(&w, cache);
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- stale entries -------------------------------------------------------- */

struct hashed {
	uint32_t low;    /* of the hash: what a slot holds of it */
	uint32_t number; /* of the key */
};

static size_t
plain_key(char out[32], uint32_t number)
{
	return (size_t)snprintf(out, 32, "key-%u", number);
}

static int
by_low(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/* Two keys with the same fingerprint in this module. */
static void
find_twins(lc_cache *cache, uint32_t twins[2])
{
	const uint32_t n = 400000;
	struct hashed *all = malloc(n * sizeof(*all));
	char key[32];

	for (uint32_t i = 0; i < n; i++) {
		const size_t size = plain_key(key, i);

		all[i].low = (uint32_t)lc__run_hash(lc__env_seed(cache->env),
		    key, size);
		all[i].number = i;
	}
	qsort(all, n, sizeof(*all), by_low);
	for (uint32_t i = 1; i < n; i++)
		if (all[i].low == all[i - 1].low) {
			twins[0] = all[i - 1].number;
			twins[1] = all[i].number;
			free(all);
			return;
		}
	ck_abort_msg("no two keys of %u share a fingerprint", n);
}

static void
put_sized(lc_cache *cache, uint32_t number, unsigned version, size_t size)
{
	unsigned char *bytes = calloc(1, size);
	const lc_tensor tensor = sample_bytes(bytes, size);
	char key[32];

	memcpy(bytes, &version, sizeof(version));
	assert_ok(lc_put(cache, key, plain_key(key, number), &tensor));
	free(bytes);
}

static void
put_plain(lc_cache *cache, uint32_t number, unsigned version)
{
	put_sized(cache, number, version, sizeof(version));
}

static void
expect_plain(lc_cache *cache, uint32_t number, unsigned version)
{
	char key[32];
	lc_tensor got;

	if (version == 0) {
		assert_status(lc_contains(cache, key, plain_key(key, number)),
		    LC_NOT_FOUND);
		return;
	}
	assert_ok(lc_get_copy(cache, key, plain_key(key, number), &got));
	ck_assert_mem_eq(got.data, &version, sizeof(version));
	lc_tensor_free(&got);
}

/* What becomes of the place of the first twin, where an old run says that it is. */
enum stale { another_record, no_record, no_chunk };

#define FILLER 1000000
#define LARGE 50000 /* bytes: too large for a chunk to be joined with another */

/* A chunk of a filler, the first twin and a large record. When the filler is dead
 * and gone, the twin stands at the start, and where it was starts the large record,
 * or its data if the filler was larger; or there is no such chunk any more. Its run
 * has one bucket, so a slot of it is met by whoever looks for the second twin. */
static void
make_stale(lc_cache *cache, enum stale kind, uint32_t twin)
{
	lc_compact_options options = eager();

	/* So many others that the runs are not merged at once. */
	for (uint32_t i = 0; i < 60; i++)
		put_plain(cache, FILLER + 100 + i, 1);
	if (kind != no_chunk)
		put_sized(cache, FILLER + 1, 1, LARGE);
	assert_ok(lc_flush(cache));
	put_sized(cache, FILLER, 1, kind == no_record ? 100 : 4);
	put_plain(cache, twin, 1);
	if (kind != no_chunk)
		put_sized(cache, FILLER + 2, 1, LARGE);
	assert_ok(lc_flush(cache));
	put_plain(cache, FILLER, 2);
	if (kind == no_chunk)
		put_plain(cache, twin, 2);
	assert_ok(lc_flush(cache));
	assert_ok(lc_compact(cache, &options, NULL));
}

/* What can be read where the second run says that the first twin is. */
static void
check_stale(lc_cache *cache, enum stale kind)
{
	const uint64_t units = kind == no_record ? 3 : 2;
	struct lc__record record;
	struct lc__snapshot *s;
	lc_status status;

	assert_ok(lc__snapshot_take(cache->env, &s));
	ck_assert_uint_eq(s->runs[1].entries, kind == no_chunk ? 2 : 3);
	ck_assert_uint_eq(s->runs[1].buckets, 1);
	status = lc__snapshot_record(s, lc__location(2, units), &record);
	ck_assert_int_eq(status, kind == another_record ? LC_OK : LC_CORRUPT);
	lc__snapshot_give(s, 0);
}

START_TEST(stale_entry_of_a_twin)
{
	const enum stale kind = (enum stale)_i;
	lc_cache *cache = open_small(run_scratch(), 100000);
	lc_verify_result result;
	uint32_t twins[2];

	find_twins(cache, twins);
	make_stale(cache, kind, twins[0]);
	check_stale(cache, kind);
	expect_plain(cache, twins[0], kind == no_chunk ? 2 : 1);
	expect_plain(cache, twins[1], 0);
	expect_plain(cache, FILLER, 2);
	put_plain(cache, twins[1], 3);
	assert_ok(lc_flush(cache));
	expect_plain(cache, twins[0], kind == no_chunk ? 2 : 1);
	expect_plain(cache, twins[1], 3);
	assert_ok(lc_verify(cache, NULL, &result));
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("compact");
	TCase *tc = tcase_create("compact");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_loop_test(tc, bad_options, 0, 6);
	tcase_add_test(tc, read_only);
	tcase_add_loop_test(tc, random_changes, 0, 6);
	tcase_add_test(tc, joins_and_drops);
	tcase_add_test(tc, room_is_used_again);
	tcase_add_test(tc, snapshots_stay);
	tcase_add_test(tc, cancelled);
	tcase_add_test(tc, recode);
	tcase_add_test(tc, index_in_steps);
	tcase_add_loop_test(tc, stale_entry_of_a_twin, 0, 3);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
