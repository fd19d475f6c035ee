/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets of records: worked out in every way alike, and kept within a bound. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"
#include "store/cache.h"
#include "store/lookup.h"
#include "stream/record_offsets.h"

/* ---- worked out ------------------------------------------------------------------------ */

static lc_cache *
open_module(void)
{
	lc_options options = sample_options();
	lc_cache *cache;

	options.flush_every = 20;
	options.durability = LC_DURABLE_RELAXED;
	cache = sample_open(run_scratch(), "m", &options);
	sample_set_length(cache, ".");
	return cache;
}

static void
put_bytes(lc_cache *cache, unsigned i, size_t size)
{
	static const unsigned char bytes[1000];
	const lc_tensor tensor = sample_bytes(bytes, size);

	assert_ok(lc_put(cache, &i, sizeof(i), &tensor));
}

/* Alike; of one size and many lengths; of many sizes. */
static size_t
size_of(int way, uint64_t *random)
{
	return way == 0 ? 40 : way == 1 ? 1 + run_random(random) % 50 :
	    run_random(random) % 1000;
}

static struct lc__record_offsets *
work_out(struct lc__snapshot *s, uint64_t chunk, const struct lc__record_offsets_input *input)
{
	const struct lc__record_offsets_key key = { chunk, input->row->records,
		input->row->live, input->row->hash, input->row->ordinal };
	struct lc__record_offsets *offsets;

	assert_ok(lc__record_offsets_read(s, &key, input, &offsets));
	return offsets;
}

static uint64_t
end_of(const struct lc__record_offsets *p, uint64_t i)
{
	return p->ends != NULL ? p->ends[i] : (i + 1) * p->length;
}

static uint64_t
offset_of(const struct lc__record_offsets *p, const struct lc__directory *d, uint64_t i)
{
	if (p->stride != 0)
		return i * p->stride;
	return p->at != NULL ? (uint64_t)p->at[i].at * LC__RECORD_ALIGN :
	    lc__directory_offset(d, i);
}

/* By the directory and the heads, by the directory alone; and from record to record. */
static void
expect_alike(struct lc__snapshot *s, uint64_t chunk, int way, bool dead)
{
	struct lc__mapped_chunk mapped;
	struct lc__directory directory;
	struct lc__ledger_row row;
	struct lc__slice value;
	uint64_t offset = LC__CHUNK_HEADER;
	struct lc__record record;
	struct lc__record_offsets *p[2];

	assert_ok(lc__txn_get(s->txn, LC__LEDGER, chunk, &value));
	ck_assert(lc__ledger_decode(value.data, value.size, chunk, &row));
	if (row.live == 0)
		return;
	assert_ok(lc__snapshot_chunk(s, chunk, &mapped));
	assert_ok(lc__snapshot_directory(s, &mapped, &directory));
	for (int k = 0; k < 2; k++) {
		const struct lc__record_offsets_input input = { .row = &row,
			.length_field = ".",
			.own_lengths = k == 1 };

		p[k] = work_out(s, chunk, &input);
		ck_assert_uint_eq(p[k]->units, row.length);
	}
	for (uint64_t i = 0; i < row.live; i++) {
		ck_assert_uint_eq(end_of(p[0], i), end_of(p[1], i));
		ck_assert_uint_eq(offset_of(p[0], &directory, i),
		    offset_of(p[1], &directory, i));
	}
	for (uint64_t i = 0; i < row.live && row.live == row.records; i++) {
		ck_assert_uint_eq(offset_of(p[0], &directory, i),
		    offset - LC__CHUNK_HEADER);
		ck_assert(lc__record_parse(mapped.bytes + offset, mapped.end - offset,
		    &record));
		offset += record.size;
	}
	/* What needs no lists has none. */
	if (way == 0 && !dead)
		ck_assert(p[0]->at == NULL && p[0]->ends == NULL);
	if (way < 2 && !dead)
		ck_assert(p[0]->stride != 0 && p[1]->at == NULL);
	for (int k = 0; k < 2; k++)
		lc__record_offsets_drop(p[k]);
}

START_TEST(every_way_gives_the_same)
{
	const int way = _i % 3;
	const bool dead = _i / 3;
	uint64_t random = run_seed() + (uint64_t)_i;
	lc_cache *cache = open_module();
	struct lc__snapshot *s;

	for (unsigned i = 0; i < 100; i++)
		put_bytes(cache, i, size_of(way, &random));
	for (unsigned i = 0; dead && i < 100;
	    i += 1 + (unsigned)(run_random(&random) % 5))
		put_bytes(cache, i, size_of(way, &random));
	assert_ok(lc_flush(cache));
	assert_ok(lc__snapshot_take(cache->env, &s));
	for (uint64_t chunk = 1; chunk < s->state.next_chunk; chunk++)
		expect_alike(s, chunk, way, dead);
	lc__snapshot_give(s, 0);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- kept -------------------------------------------------------------------------------- */

/* Of a chunk of n records with sums. */
static struct lc__record_offsets *
make(uint64_t chunk, uint64_t n)
{
	struct lc__record_offsets *p = calloc(1, sizeof(*p));

	atomic_init(&p->refs, 1);
	p->key = (struct lc__record_offsets_key){ chunk, n, n, chunk * 7, chunk * 3 };
	p->ends = calloc(n, sizeof(*p->ends));
	return p;
}

static bool
is_kept(struct lc__offsets_cache *cache, uint64_t chunk, uint64_t n)
{
	const struct lc__record_offsets_key key = { chunk, n, n, chunk * 7, chunk * 3 };
	struct lc__record_offsets *p = lc__offsets_cache_get(cache, &key);

	lc__record_offsets_drop(p);
	return p != NULL;
}

#define N 100 /* records */
#define COST (sizeof(struct lc__record_offsets) + N * sizeof(uint64_t))

START_TEST(those_that_were_used_last_stay)
{
	struct lc__offsets_cache *cache = lc__offsets_cache_new(5 * COST);

	for (uint64_t chunk = 1; chunk <= 50; chunk++) {
		struct lc__record_offsets *p = make(chunk, N);

		lc__offsets_cache_put(cache, &p);
		lc__record_offsets_drop(p);
		ck_assert_uint_le(lc__offsets_cache_bytes(cache), 5 * COST);
		/* The first one is used all the time. */
		ck_assert(is_kept(cache, 1, N));
		if (chunk > 5) {
			ck_assert_uint_eq(lc__offsets_cache_bytes(cache), 5 * COST);
			ck_assert(is_kept(cache, chunk, N));
			ck_assert(!is_kept(cache, chunk - 4, N));
		}
	}
	lc__offsets_cache_free(cache);
	lc__offsets_cache_free(NULL);
}
END_TEST

START_TEST(what_is_too_large_is_not_kept)
{
	struct lc__offsets_cache *cache = lc__offsets_cache_new(COST);
	struct lc__record_offsets *small = make(1, N), *large = make(2, N + 1);

	lc__offsets_cache_put(cache, &small);
	lc__offsets_cache_put(cache, &large);
	ck_assert(is_kept(cache, 1, N));
	ck_assert(!is_kept(cache, 2, N + 1));
	ck_assert_uint_eq(large->key.chunk, 2);
	lc__record_offsets_drop(small);
	lc__record_offsets_drop(large);
	lc__offsets_cache_free(cache);
}
END_TEST

/* Two cursors work the same out: both go on with what was first. A chunk that lost a
 * record is another one. */
START_TEST(there_is_one_of_each)
{
	struct lc__offsets_cache *cache = lc__offsets_cache_new(10 * COST);
	struct lc__record_offsets *first = make(1, N), *second = make(1, N), *kept = first;
	struct lc__record_offsets_key key = first->key;

	lc__offsets_cache_put(cache, &first);
	lc__offsets_cache_put(cache, &second);
	ck_assert_ptr_eq(first, kept);
	ck_assert_ptr_eq(second, kept);
	ck_assert_uint_eq(lc__offsets_cache_bytes(cache), COST);
	for (int i = 0; i < 4; i++) {
		struct lc__record_offsets_key other = key;

		*(i == 0 ? &other.chunk : i == 1 ? &other.records :
		    i == 2 ? &other.live : &other.hash) += 1;
		ck_assert_ptr_null(lc__offsets_cache_get(cache, &other));
	}
	/* What is held outlives what keeps it. */
	lc__offsets_cache_free(cache);
	ck_assert_uint_eq(first->ends[N - 1], 0);
	lc__record_offsets_drop(first);
	lc__record_offsets_drop(second);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("offsets");
	TCase *t = tcase_create("offsets");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, every_way_gives_the_same, 0, 6);
	tcase_add_test(t, those_that_were_used_last_stay);
	tcase_add_test(t, what_is_too_large_is_not_kept);
	tcase_add_test(t, there_is_one_of_each);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
