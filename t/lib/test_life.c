/* SPDX-License-Identifier: BSD-2-Clause */
/* Clearing and eviction. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lmdbcache.h"
#include "need.h"
#include "store/cache.h"
#include "store/evict.h"
#include "witness.h"

static lc_stats
stat_of(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	assert_ok(lc_stat(cache, &stats));
	return stats;
}

/* Commits of this many puts. */
static lc_cache *
open_small(uint64_t flush_every)
{
	lc_options options = sample_options();

	options.flush_every = flush_every;
	options.durability = LC_DURABLE_RELAXED;
	return sample_open(run_scratch(), "m", &options);
}

/* ---- clearing ------------------------------------------------------------- */

static uint64_t
next_chunk(lc_cache *cache)
{
	struct lc__snapshot *s;
	uint64_t next;

	assert_ok(lc__snapshot_take(cache->env, &s));
	next = s->state.next_chunk;
	lc__snapshot_give(s, 0);
	return next;
}

START_TEST(clear)
{
	struct witness w = { .range = { 100, 9000 } };
	const struct witness empty = { .puts = 0 };
	lc_cache *cache = open_small(10);
	char id[SAMPLE_ID_ROOM];
	lc_stats before, after;
	uint64_t next;
	lc_view view;

	for (unsigned i = 0; i < 95; i++)
		witness_put(&w, cache, i);
	assert_ok(lc_flush(cache));
	before = stat_of(cache);
	next = next_chunk(cache);
	assert_ok(lc_get(cache, id, sample_id(id, 3), &view));
	witness_put(&w, cache, 3);
	assert_ok(lc_clear(cache));
	witness_check(&empty, cache);
	after = stat_of(cache);
	ck_assert_uint_eq(after.generation, before.generation + 1);
	ck_assert_uint_eq(after.chunks + after.records + after.dead_records +
	    after.live_bytes + after.dead_bytes + after.index_runs +
	    after.pending_records, 0);
	ck_assert_uint_eq(after.schemas, before.schemas);
	ck_assert_uint_eq(next_chunk(cache), next);
	ck_assert(sample_is(&view.tensor, id, sample_id(id, 3), 4, w.range));
	lc_view_release(&view);
	w = (struct witness){ .range = w.range };
	for (unsigned i = 0; i < 95; i++)
		witness_put(&w, cache, i);
	witness_check(&w, cache);
	ck_assert_uint_eq(next_chunk(cache), next + 10);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(room_after_clear)
{
	lc_cache *cache = open_small(50);
	uint64_t settled = 0;

	for (unsigned round = 0; round < 12; round++) {
		struct witness w = { .range = { 2000, 4000 } };

		for (unsigned i = 0; i < 200; i++)
			witness_put(&w, cache, i);
		witness_check(&w, cache);
		assert_ok(lc_clear(cache));
		if (round == 3)
			settled = stat_of(cache).file_bytes;
	}
	ck_assert_uint_le(stat_of(cache).file_bytes, settled + settled / 4);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- eviction ------------------------------------------------------------- */

struct order {
	uint64_t max_bytes;
	lc_evict how;
	const uint64_t *read; /* chunks to note as read */
	size_t nread;
	uint64_t now_ms;
	struct lc__evicted evicted;
};

static lc_status
evict(struct lc__change *change, void *ctx)
{
	struct order *order = ctx;

	memset(&order->evicted, 0, sizeof(order->evicted));
	return_if_error(lc__evict_note_reads(change, order->read, order->nread,
	    order->now_ms));
	return lc__evict(change, order->max_bytes, order->how, &order->evicted);
}

static void
run_evict(lc_cache *cache, struct order *order)
{
	assert_ok(lc__change_run(cache->env, LC_DURABLE_RELAXED, evict, order));
}

/* The keys of chunk number i, from 1: five of them. */
static void
forget_chunk(struct witness *w, unsigned chunk)
{
	for (unsigned i = 0; i < 5; i++)
		w->versions[(chunk - 1) * 5 + i] = 0;
}

static void
fill(struct witness *w, lc_cache *cache, unsigned chunks)
{
	for (unsigned i = 0; i < chunks * 5; i++)
		witness_put(w, cache, i);
	assert_ok(lc_flush(cache));
}

START_TEST(oldest_go_first)
{
	struct witness w = { .range = { 1000, 1000 } };
	struct order order = { .how = LC_EVICT_OLDEST };
	lc_cache *cache = open_small(5);
	uint64_t bytes;

	fill(&w, cache, 20);
	bytes = stat_of(cache).live_bytes;
	order.max_bytes = bytes;
	run_evict(cache, &order);
	ck_assert_uint_eq(order.evicted.chunks, 0);
	/* One byte too much: a whole chunk goes. */
	order.max_bytes = bytes - 1;
	run_evict(cache, &order);
	ck_assert_uint_eq(order.evicted.chunks, 1);
	ck_assert_uint_eq(order.evicted.records, 5);
	forget_chunk(&w, 1);
	witness_check(&w, cache);
	order.max_bytes = bytes / 2;
	run_evict(cache, &order);
	for (unsigned i = 2; i <= order.evicted.chunks + 1; i++)
		forget_chunk(&w, i);
	witness_check(&w, cache);
	ck_assert_uint_le(stat_of(cache).live_bytes, bytes / 2);
	ck_assert_uint_ge(stat_of(cache).live_bytes, bytes / 2 - bytes / 18);
	/* The newest stays, whatever the budget. */
	order.max_bytes = 0;
	run_evict(cache, &order);
	for (unsigned i = 1; i < 20; i++)
		forget_chunk(&w, i);
	witness_check(&w, cache);
	ck_assert_uint_eq(stat_of(cache).chunks, 1);
	fill(&w, cache, 20);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(unread_go_first)
{
	static const uint64_t read[] = { 2, 5, 9, 999 };
	/* Those never read, then those read once, then the one read again. */
	static const unsigned leaves[] = { 1, 3, 4, 6, 7, 8, 10, 11, 5, 9, 2 };
	struct witness w = { .range = { 1000, 1000 } };
	struct order order = {
		.how = LC_EVICT_UNREAD, .read = read, .nread = 4,
		.now_ms = UINT64_MAX / 2, .max_bytes = UINT64_MAX
	};
	lc_cache *cache = open_small(5);

	fill(&w, cache, 12);
	run_evict(cache, &order);
	order.nread = 1;
	order.now_ms += 5000;
	run_evict(cache, &order);
	order.nread = 0;
	for (unsigned i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		order.max_bytes = stat_of(cache).live_bytes - 1;
		run_evict(cache, &order);
		forget_chunk(&w, leaves[i]);
		witness_check(&w, cache);
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* One change does so much and no more; dead records count, and are not buried. */
START_TEST(bounded)
{
	struct witness w = { .range = { 100, 100 } };
	struct order order = { .max_bytes = 0 };
	lc_cache *cache = open_small(5);

	fill(&w, cache, 80);
	for (unsigned i = 0; i < 80 * 5; i += 2)
		witness_put(&w, cache, i);
	assert_ok(lc_flush(cache));
	run_evict(cache, &order);
	ck_assert_uint_eq(order.evicted.chunks, 64);
	ck_assert_uint_eq(order.evicted.records, 64 * 5 / 2);
	for (unsigned i = 1; i < 64 * 5; i += 2)
		w.versions[i] = 0;
	witness_check(&w, cache);
	run_evict(cache, &order);
	ck_assert_uint_eq(order.evicted.chunks, 80 + 40 - 64 - 1);
	ck_assert_uint_eq(stat_of(cache).records, 5);
	assert_ok(lc_verify(cache, NULL, &(lc_verify_result){ 0 }));
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(views_outlast_eviction)
{
	struct witness w = { .range = { 1000, 1000 } };
	struct order order = { .max_bytes = 0 };
	lc_cache *cache = open_small(5);
	char id[SAMPLE_ID_ROOM];
	lc_view view;

	fill(&w, cache, 20);
	assert_ok(lc_get(cache, id, sample_id(id, 2), &view));
	run_evict(cache, &order);
	for (unsigned round = 0; round < 5; round++)
		fill(&w, cache, 20);
	ck_assert(sample_is(&view.tensor, id, sample_id(id, 2), 3, w.range));
	lc_view_release(&view);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- the budget of a module ----------------------------------------------- */

static void
set_budget(lc_cache *cache, uint64_t max_bytes, lc_evict how)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	assert_ok(lc_settings_get(cache, &settings));
	settings.max_bytes = max_bytes;
	settings.evict = how;
	assert_ok(lc_settings_set(cache, &settings));
}

#define BUDGET 60000

/* Each commit leaves the module within its budget; what went is counted, and what
 * was put last is there. */
START_TEST(commits_keep_the_budget)
{
	uint64_t random = run_seed() + (uint64_t)_i;
	struct witness w = { .range = { 500, 1500 } };
	lc_cache *cache = open_small(1000);
	lc_counters counters = { .struct_size = sizeof(counters) };
	uint64_t gone = 0;

	set_budget(cache, BUDGET, (lc_evict)_i);
	for (unsigned round = 0; round < sample_times(60); round++) {
		const uint64_t first = w.puts + 1;
		lc_stats stats;

		for (unsigned i = 0; i < 10; i++)
			witness_put(&w, cache, (unsigned)(run_random(&random) %
			    WITNESS_KEYS));
		assert_ok(lc_flush(cache));
		stats = stat_of(cache);
		ck_assert_uint_le(stats.live_bytes + stats.dead_bytes, BUDGET);
		for (unsigned i = 0; i < WITNESS_KEYS; i++) {
			char id[SAMPLE_ID_ROOM];

			if (w.versions[i] == 0 || lc_contains(cache, id,
			    sample_id(id, i)) == LC_OK)
				continue;
			ck_assert_uint_lt(w.versions[i], first);
			w.versions[i] = 0;
			gone++;
		}
		witness_check(&w, cache);
	}
	assert_ok(lc_counters_get(cache, &counters));
	ck_assert_uint_gt(gone, 0);
	ck_assert_uint_eq(counters.evicted_records, gone);
	ck_assert_uint_ge(counters.evicted_bytes, gone * 500);
	assert_ok(lc_close(cache));
}
END_TEST

static uint64_t
read_time(lc_cache *cache, uint64_t chunk)
{
	struct lc__ledger_row row;
	struct lc__snapshot *s;
	uint64_t id = 0;
	bool intact;

	assert_ok(lc__snapshot_take(cache->env, &s));
	assert_ok(lc__ledger_seek(s, chunk, &id, &row, &intact));
	ck_assert(intact && id == chunk);
	lc__snapshot_give(s, 0);
	return row.read_ms;
}

/* A read is noted with the next commit, if eviction goes by it; compaction keeps
 * what was noted. */
START_TEST(reads_are_noted)
{
	const lc_evict how = (lc_evict)_i;
	struct witness w = { .range = { 1000, 1000 } };
	lc_cache *cache = open_small(5);
	lc_compact_options options;
	char id[SAMPLE_ID_ROOM];
	lc_view view;
	uint64_t noted;

	set_budget(cache, 1 << 30, how);
	fill(&w, cache, 6);
	assert_ok(lc_get(cache, id, sample_id(id, 7), &view));
	lc_view_release(&view);
	ck_assert_uint_eq(read_time(cache, 2), 0);
	witness_put(&w, cache, 100);
	assert_ok(lc_flush(cache));
	noted = read_time(cache, 2);
	ck_assert(how == LC_EVICT_UNREAD ? noted > 0 : noted == 0);
	ck_assert_uint_eq(read_time(cache, 1), 0);
	ck_assert_uint_eq(read_time(cache, 3), 0);
	lc_compact_options_init(&options);
	assert_ok(lc_compact(cache, &options, NULL));
	ck_assert_uint_eq(stat_of(cache).chunks, 1);
	ck_assert_uint_eq(read_time(cache, 1), noted);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("life");
	TCase *tc = tcase_create("life");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_test(tc, clear);
	tcase_add_test(tc, room_after_clear);
	tcase_add_test(tc, oldest_go_first);
	tcase_add_test(tc, unread_go_first);
	tcase_add_test(tc, bounded);
	tcase_add_test(tc, views_outlast_eviction);
	tcase_add_loop_test(tc, commits_keep_the_budget, 0, 2);
	tcase_add_loop_test(tc, reads_are_noted, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
