/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A commit's share of compacting: a module that is changed for ever takes a bounded space,
 * and nobody who reads it sees a difference.
 */
#include "run.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "store/cache.h"
#include "store/snapshot.h"
#include "witness.h"

#define MIB ((uint64_t)1 << 20)
#define RECORD 2112u /* bytes of put_number()'s record */

static void
set_auto(lc_cache *cache, int on)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	assert_ok(lc_settings_get(cache, &settings));
	settings.auto_compact = on;
	assert_ok(lc_settings_set(cache, &settings));
}

static lc_cache *
open_module(const char *root, const char *module, int auto_compact)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_options options = sample_options();
	lc_cache *cache;

	options.durability = LC_DURABLE_RELAXED;
	cache = sample_open(root, module, &options);
	assert_ok(lc_settings_get(cache, &settings));
	ck_assert_int_eq(settings.auto_compact, 1);
	if (!auto_compact)
		set_auto(cache, 0);
	return cache;
}

static lc_stats
stat_of(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	assert_ok(lc_stat(cache, &stats));
	return stats;
}

static void
verify(lc_cache *cache)
{
	lc_verify_result result;

	assert_ok(lc_verify(cache, NULL, &result));
}

static void
put_number(lc_cache *cache, unsigned key, unsigned version)
{
	const uint64_t shape[1] = { 512 };
	float data[512];
	lc_tensor tensor;
	char id[16];

	for (unsigned i = 0; i < 512; i++)
		data[i] = (float)(key + i * version);
	assert_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, data));
	assert_ok(lc_put(cache, id, (size_t)snprintf(id, sizeof(id), "key-%04u", key),
	    &tensor));
}

static void
put_round(lc_cache *cache, unsigned first, unsigned n, unsigned version)
{
	for (unsigned i = first; i < first + n; i++)
		put_number(cache, i, version);
	assert_ok(lc_flush(cache));
}

/* ---- sizes ---------------------------------------------------------------- */

START_TEST(setting)
{
	const char *root = run_scratch();
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_cache *cache = open_module(root, "m", 0);

	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", NULL);
	assert_ok(lc_settings_get(cache, &settings));
	ck_assert_int_eq(settings.auto_compact, 0);
	ck_assert_int_eq(settings.policy, LC_EVOLVE);
	settings.auto_compact = 2;
	assert_status(lc_settings_set(cache, &settings), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "settings: auto_compact must be 0 or 1");
	settings.auto_compact = 0;
	settings.policy = LC_STRICT;
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(lc_settings_get(cache, &settings));
	ck_assert_int_eq(settings.auto_compact, 0);
	ck_assert_int_eq(settings.policy, LC_STRICT);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* One key again and again: 12 pages are in use, and LMDB keeps as many to use again. */
START_TEST(one_key)
{
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	lc_stats stats;

	for (unsigned i = 0; i < 1000; i++)
		put_round(cache, 7, 1, i);
	stats = stat_of(cache);
	ck_assert_uint_eq(stats.records, 1);
	ck_assert_uint_eq(stats.chunks, 1);
	ck_assert_uint_eq(stats.live_bytes, RECORD);
	ck_assert_uint_eq(stats.dead_bytes, 0);
	ck_assert_uint_le(stats.file_bytes - stats.free_bytes, 12 * 4096);
	ck_assert_uint_le(stats.file_bytes, 32 * 4096);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(one_key_off)
{
	lc_cache *cache = open_module(run_scratch(), "m", 0);
	lc_stats stats;

	for (unsigned i = 0; i < 1000; i++)
		put_round(cache, 7, 1, i);
	stats = stat_of(cache);
	ck_assert_uint_eq(stats.chunks, 1000);
	ck_assert_uint_eq(stats.dead_records, 999);
	ck_assert_uint_eq(stats.dead_bytes, 999 * RECORD);
	ck_assert_uint_ge(stats.file_bytes, 1000 * 4096);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* Chunks of which all records are replaced at once: only the newest one is there. */
START_TEST(whole_rounds)
{
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	lc_stats stats;

	for (unsigned round = 0; round < 31; round++) {
		put_round(cache, 0, 1000, round);
		stats = stat_of(cache);
		ck_assert_uint_eq(stats.chunks, 1);
		ck_assert_uint_eq(stats.live_bytes, 1000 * RECORD);
		ck_assert_uint_eq(stats.dead_bytes, 0);
	}
	ck_assert_uint_le(stats.file_bytes - stats.free_bytes, 1000 * RECORD + MIB);
	ck_assert_uint_le(stats.file_bytes, 4 * 1000 * RECORD);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* A round replaces two thirds of the records at random, and so on: chunks die bit by
 * bit. */
START_TEST(random_rounds)
{
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	uint64_t random = run_seed();
	lc_stats stats;

	put_round(cache, 0, 1000, 0);
	for (unsigned round = 1; round < 31; round++) {
		for (unsigned i = 0; i < 1000; i++)
			put_number(cache, (unsigned)(run_random(&random) % 1000), round);
		assert_ok(lc_flush(cache));
		stats = stat_of(cache);
		ck_assert_uint_eq(stats.live_bytes, 1000 * RECORD);
		ck_assert_uint_le(stats.dead_bytes, 1000 * RECORD);
	}
	ck_assert_uint_le(stats.file_bytes - stats.free_bytes, 2 * 1000 * RECORD + MIB);
	ck_assert_uint_le(stats.file_bytes, 2 * 1000 * RECORD + 16 * MIB);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* Every record but one of each chunk was replaced while nobody compacted: commits of one
 * record catch up. */
START_TEST(catches_up)
{
	lc_cache *cache = open_module(run_scratch(), "m", 0);
	unsigned commits = 0;
	lc_stats stats;

	for (unsigned round = 0; round < 40; round++)
		put_round(cache, round, 100, round);
	stats = stat_of(cache);
	ck_assert_uint_eq(stats.chunks, 40);
	ck_assert_uint_eq(stats.dead_records, 40 * 99 - 99);
	set_auto(cache, 1);
	while ((stats = stat_of(cache)).dead_bytes > MIB) {
		put_round(cache, 5000, 1, commits);
		ck_assert_uint_lt(++commits, 5);
	}
	ck_assert_uint_gt(commits, 0);
	verify(cache);
	for (unsigned i = 0; i < 139; i++) {
		char id[16];
		lc_view view;

		assert_ok(lc_get(cache, id,
		    (size_t)snprintf(id, sizeof(id), "key-%04u", i), &view));
		ck_assert(((const float *)view.tensor.data)[1] ==
		    (float)(i + (i < 39 ? i : 39)));
		lc_view_release(&view);
	}
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(deletes)
{
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	lc_stats stats;
	char id[16];

	for (unsigned i = 0; i < 20; i++)
		put_round(cache, 10 * i, 10, 1);
	for (unsigned i = 0; i < 200; i++)
		assert_ok(lc_delete(cache, id,
		    (size_t)snprintf(id, sizeof(id), "key-%04u", i)));
	assert_ok(lc_flush(cache));
	stats = stat_of(cache);
	ck_assert_uint_eq(stats.chunks, 0);
	ck_assert_uint_eq(stats.records + stats.dead_records, 0);
	ck_assert_uint_le(stats.file_bytes - stats.free_bytes, 16 * 4096);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* Tiny records under 10,000 keys: the index does not outgrow them. */
START_TEST(index_entries)
{
	lc_cache *cache = open_module(run_scratch(), "m", 1);
	uint64_t random = run_seed(), most = 0, bytes = 0;
	struct lc__snapshot *s;

	for (unsigned commit = 0; commit < 450; commit++) {
		uint64_t entries = 0;

		for (unsigned i = 0; i < 1000; i++) {
			const uint64_t key = run_random(&random) % 10000;
			const lc_tensor tensor = sample_bytes(&random, sizeof(random));

			assert_ok(lc_put(cache, &key, sizeof(key), &tensor));
		}
		assert_ok(lc_flush(cache));
		assert_ok(lc__snapshot_take(cache->env, &s));
		for (uint32_t i = 0; i < s->state.nruns; i++)
			entries += s->state.runs[i].entries;
		/* Eight commits add as many as they put, and those that they move. */
		ck_assert_uint_le(entries, 3 * s->state.live + 32768 + 8 * 3100);
		most = entries > most ? entries : most;
		bytes = stat_of(cache).index_bytes;
		/* 38 bytes each if the tables are as small as they can be. */
		ck_assert_uint_le(bytes, entries * 60);
		lc__snapshot_give(s, 0);
	}
	ck_assert_uint_gt(most, 3 * 10000 + 32768);
	verify(cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- what readers rely on ------------------------------------------------- */

/* The same records in the same order, in chunks of the same numbers, with the same order's
 * hash: whoever walks or streams the one could as well have the other. */
static void
compare(lc_cache *a, lc_cache *b)
{
	lc_source_info info[2] = { { .struct_size = sizeof(*info) },
		{ .struct_size = sizeof(*info) } };
	lc_cache *caches[2] = { a, b };
	lc_source *source;
	lc_iter *iter[2];
	lc_item item[2];
	lc_status status;

	for (int i = 0; i < 2; i++) {
		assert_ok(lc_source_open_module(caches[i], NULL, &source));
		assert_ok(lc_source_info_get(source, &info[i]));
		lc_source_close(source);
		assert_ok(lc_iter_open(caches[i], LC_BY_COMMIT, NULL, 0, &iter[i]));
	}
	ck_assert_uint_eq(info[0].generation, info[1].generation);
	ck_assert_uint_eq(info[0].chunks, info[1].chunks);
	ck_assert_uint_eq(info[0].records, info[1].records);
	ck_assert_uint_eq(info[0].length, info[1].length);
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

/* A reader in another process, which holds a snapshot until it is told to look at it. */
struct reader {
	pid_t pid;
	int go[2], ready[2];
	const char *root;
	struct witness then;
};

static void
read_late(void *ctx)
{
	struct reader *r = ctx;
	lc_options options = sample_options();
	uint64_t last = 0, n = 0;
	lc_cache *cache;
	lc_iter *iter;
	lc_item item;
	char byte = 0;

	close(r->go[1]);
	options.flags = LC_RDONLY;
	need_ok(lc_open(r->root, "m", &options, &cache));
	need_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
	need(write(r->ready[1], &byte, 1) == 1);
	need(read(r->go[0], &byte, 1) == 1);
	while (lc_iter_next(iter, &item) == LC_OK) {
		const uint64_t version = sample_version(&item.tensor);

		need(version > last);
		need(sample_is(&item.tensor, item.id.data, item.id.size, version,
		    r->then.range));
		last = version;
		n++;
	}
	need(n == witness_count(&r->then));
	lc_iter_close(iter);
	need_ok(lc_close(cache));
}

static void
start_reader(struct reader *r, const char *root, const struct witness *now)
{
	char byte;

	r->root = root;
	r->then = *now;
	ck_assert_int_eq(pipe2(r->go, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(r->ready, O_CLOEXEC), 0);
	r->pid = child_start(read_late, r);
	ck_assert_int_eq(read(r->ready[0], &byte, 1), 1);
}

static void
end_reader(struct reader *r)
{
	ck_assert_int_eq(write(r->go[1], "", 1), 1);
	ck_assert_int_eq(child_wait(r->pid), 0);
	for (int i = 0; i < 2; i++) {
		close(r->go[i]);
		close(r->ready[i]);
	}
}

static const struct sample_range ranges[] = { { 8, 400 }, { 3000, 9000 }, { 8, 60000 } };

/* Random changes, the same in a module that compacts by itself and in one that does not. A
 * view, and at times a reader in another process, hold what they have. */
START_TEST(random_changes)
{
	uint64_t random = run_seed() + (uint64_t)_i;
	struct witness w = { .range = ranges[_i % 3] }, other = w;
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m", 1), *plain = open_module(root, "n", 0);
	struct reader *reader = calloc(1, sizeof(*reader));
	uint64_t least = 0;

	for (unsigned round = 0; round < sample_times(12); round++) {
		const unsigned key = (unsigned)(run_random(&random) % WITNESS_KEYS);
		const bool reads = round % 4 == 1;
		char id[SAMPLE_ID_ROOM];
		const size_t size = sample_id(id, key);
		uint64_t same, version;
		lc_view view;

		witness_put(&w, cache, key);
		witness_put(&other, plain, key);
		version = w.versions[key];
		assert_ok(lc_flush(cache));
		assert_ok(lc_flush(plain));
		assert_ok(lc_get(cache, id, size, &view));
		if (reads)
			start_reader(reader, root, &w);
		for (unsigned n = 0; n < 12; n++) {
			const unsigned changes = 1 + (unsigned)(run_random(&random) % 40);

			same = random;
			witness_change(&w, cache, changes, &random);
			witness_change(&other, plain, changes, &same);
			assert_ok(lc_flush(cache));
			assert_ok(lc_flush(plain));
		}
		ck_assert(sample_is(&view.tensor, id, size, version, w.range));
		lc_view_release(&view);
		if (reads)
			end_reader(reader);
		compare(cache, plain);
		witness_check(&w, cache);
		least = stat_of(cache).live_bytes > MIB ? stat_of(cache).live_bytes : MIB;
		ck_assert_uint_le(stat_of(cache).dead_bytes, least + MIB);
		ck_assert_uint_eq(stat_of(cache).live_bytes, stat_of(plain).live_bytes);
	}
	witness_check(&other, plain);
	assert_ok(lc_close(plain));
	assert_ok(lc_close(cache));
	free(reader);
}
END_TEST

/* ---- damage --------------------------------------------------------------- */

/* Flip a byte of the only place where the file has these eight. */
static void
damage(const char *root, const void *bytes)
{
	char path[1024];
	struct stat st;
	char *file;
	size_t at = 0, n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	file = malloc((size_t)st.st_size);
	ck_assert_int_eq(pread(fd, file, (size_t)st.st_size, 0), st.st_size);
	for (size_t i = 0; i + 8 <= (size_t)st.st_size; i += 4)
		if (memcmp(file + i, bytes, 8) == 0) {
			at = i;
			n++;
		}
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(pwrite(fd, "\xff", 1, (off_t)at), 1);
	free(file);
	close(fd);
}

/* A chunk with a damaged record stays as it is, and commits go on. */
START_TEST(damaged_chunk)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m", 0);
	const float mark[2] = { 777, 1554 };
	lc_options options = sample_options();
	lc_verify_result result;
	lc_stats stats;

	put_number(cache, 0, 777);
	put_round(cache, 1, 999, 1);
	put_round(cache, 1, 999, 2);
	put_round(cache, 1, 500, 3);
	assert_ok(lc_close(cache));
	damage(root, mark);
	cache = sample_open(root, "m", &options);
	set_auto(cache, 1);
	for (unsigned i = 0; i < 20; i++)
		put_round(cache, 1, 100, 4 + i);
	stats = stat_of(cache);
	ck_assert_uint_eq(stats.records, 1000);
	/* The 999 dead ones of the first chunk, and what has died since. */
	ck_assert_uint_ge(stats.dead_records, 999);
	assert_status(lc_verify(cache, NULL, &result), LC_CORRUPT);
	ck_assert_uint_eq(result.damaged, 1);
	/* Replaced, it dies with an unknown size; the chunk leaves later. */
	put_round(cache, 0, 1, 5);
	for (unsigned i = 0; i < 20; i++)
		put_round(cache, 1, 100, 30 + i);
	verify(cache);
	ck_assert_uint_le(stat_of(cache).dead_bytes, 1000 * RECORD);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("reclaim");
	TCase *tc = tcase_create("reclaim");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_test(tc, setting);
	tcase_add_test(tc, one_key);
	tcase_add_test(tc, one_key_off);
	tcase_add_test(tc, whole_rounds);
	tcase_add_test(tc, random_rounds);
	tcase_add_test(tc, catches_up);
	tcase_add_test(tc, deletes);
	tcase_add_test(tc, index_entries);
	tcase_add_loop_test(tc, random_changes, 0, 6);
	tcase_add_test(tc, damaged_chunk);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
