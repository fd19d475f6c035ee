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
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
