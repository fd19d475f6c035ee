/* SPDX-License-Identifier: BSD-2-Clause */
/* Visits against the chunks that the examples of each batch are read from. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"
#include "stream/cache_model.h"
#include "stream/forecast.h"
#include "stream/sequence.h"
#include "stream/visits.h"

#define MOST_CHUNKS 40
#define EPOCHS 3

struct made {
	struct lc__sequence_rule rule;
	struct lc__sequence *sequence;
	uint64_t batch, chunks, batches;
	uint32_t reader, readers;
};

static uint64_t
below(uint64_t *seed, uint64_t n)
{
	return run_random(seed) % n;
}

/* Chunks of some records and units; the first one has some. */
static struct lc__layout *
any_layout(uint64_t *seed, uint64_t chunks)
{
	struct lc__row_array *array = lc__row_array_new();
	lc_source_info info = { .struct_size = sizeof(info), .chunks = chunks };
	struct lc__layout *layout;

	for (uint64_t i = 0; i < chunks; i++) {
		const uint64_t some = i == 0 || below(seed, 4) > 0;
		const struct lc__chunk_row row = { .id = i,
			.records = some * (9 + below(seed, 12)),
			.units = some * (9 + below(seed, 30)) };

		assert_ok(lc__row_array_add(array, &row));
		info.records += row.records;
		info.length += row.units;
	}
	assert_ok(lc__layout_new(&info, &array->rows, 1, &layout));
	lc__rows_drop(&array->rows);
	return layout;
}

/* An order of any kind but R*. */
static void
make_any(struct made *m, uint64_t *seed)
{
	static const lc_shuffle kinds[] = { LC_SHUFFLE_NONE, LC_SHUFFLE_BLOCK,
		LC_SHUFFLE_ERA, LC_SHUFFLE_FULL, LC_SHUFFLE_BLOCK };
	const uint64_t way = below(seed, 5);
	struct lc__layout *layout;

	memset(m, 0, sizeof(*m));
	m->chunks = 1 + below(seed, MOST_CHUNKS);
	m->readers = 1 + (uint32_t)below(seed, 4);
	m->reader = (uint32_t)below(seed, m->readers);
	m->batch = 1 + below(seed, 20);
	m->rule.epochs = EPOCHS;
	m->rule.shuffle.kind = kinds[way];
	m->rule.shuffle.seed = run_random(seed);
	m->rule.shuffle.block = 1 + below(seed, 30);
	m->rule.shuffle.spread = 1 + below(seed, 5);
	m->rule.shuffle.era_first = 1 + below(seed, 50);
	m->rule.shuffle.era_max = m->rule.shuffle.era_first + below(seed, 200);
	if (below(seed, 3) == 0) {
		m->rule.windows.size = 1 + below(seed, 6);
		m->rule.windows.stride = 1 + below(seed, 8);
		m->rule.drop_short = below(seed, 2) > 0;
	}
	if (way == 4) { /* 8 examples are in any layout: 9 units at least, windows of 6 */
		m->rule.shares = m->rule.windows.size > 0 ? 1 : m->readers * (1 +
		    (uint32_t)below(seed, 2));
		if (m->rule.windows.size > 0) {
			m->readers = 1;
			m->reader = 0;
		}
		m->batch = m->rule.shares * (1 + below(seed, 6));
	}
	layout = any_layout(seed, m->chunks);
	assert_ok(lc__sequence_new(&m->rule, layout, true, "any", &m->sequence));
	lc__layout_drop(layout);
	m->batches = (m->sequence->total - 1) / m->batch + 1;
}

/* Mark the chunks that each batch of the reader is read from. */
static unsigned char *
mark(const struct made *m)
{
	unsigned char *used = calloc(m->batches, MOST_CHUNKS);
	struct lc__sequence_cursor cursor;
	struct lc__sequence_position at;
	struct lc__piece piece;

	lc__sequence_cursor_init(&cursor, m->sequence);
	for (uint64_t x = 0; x < m->sequence->total; x++) {
		if (m->rule.shares > 0 && x % m->batch % m->readers != m->reader)
			continue;
		assert_ok(lc__sequence_seek(&cursor, x, &at));
		while (at.left > 0) {
			assert_ok(lc__sequence_next(&cursor, &at, &piece));
			used[x / m->batch * MOST_CHUNKS + piece.position] = 1;
		}
	}
	lc__sequence_cursor_end(&cursor);
	return used;
}

/* How long a visit may be: the examples of a window, and parts of batches. */
static uint64_t
longest(const struct made *m)
{
	const struct lc__sequence *s = m->sequence;
	uint64_t examples = s->n;

	if (m->rule.shuffle.kind == LC_SHUFFLE_NONE)
		examples = 60; /* a chunk has fewer, with stride 1 */
	else if (m->rule.shares > 0)
		examples = 60 * m->rule.shuffle.spread * m->rule.shares;
	else if (m->rule.shuffle.kind != LC_SHUFFLE_FULL) /* the last is up to twice */
		examples = (2 * m->rule.shuffle.spread + 1) * m->rule.shuffle.block;
	return examples / m->batch + 2;
}

static void
check_visits(const struct made *m, const unsigned char *used, uint64_t from)
{
	unsigned char *covered = calloc(m->batches, MOST_CHUNKS);
	uint64_t due[MOST_CHUNKS], k = 0, before = 0, number;
	struct lc__visits *visits;
	struct lc__visit visit;
	lc_status status;

	for (size_t i = 0; i < MOST_CHUNKS; i++)
		due[i] = LC__NO_VISIT - 1; /* any */
	assert_ok(lc__visits_new(m->sequence, m->batch, (struct lc__ranks){ m->reader, 1, m->readers }, from,
	    &visits));
	while ((status = lc__visits_get(visits, 0, k, &visit)) == LC_OK) {
		bool needed = false;

		ck_assert_uint_lt(visit.chunk, m->chunks);
		ck_assert_uint_lt(visit.first, visit.end);
		ck_assert_uint_le(visit.end, m->batches);
		ck_assert_uint_gt(visit.end, from);
		ck_assert_uint_le(visit.end - visit.first, longest(m));
		/* Two epochs may meet in a batch. */
		ck_assert_uint_ge(visit.first, before);
		before = visit.first;
		for (uint64_t b = visit.first; b < visit.end; b++) {
			needed = needed || used[b * MOST_CHUNKS + visit.chunk];
			covered[b * MOST_CHUNKS + visit.chunk] = 1;
		}
		ck_assert(needed);
		assert_ok(lc__visits_first(visits, visit.chunk, &number));
		if (due[visit.chunk] != LC__NO_VISIT - 1)
			ck_assert_uint_eq(due[visit.chunk], k);
		else
			ck_assert_uint_eq(number, k);
		due[visit.chunk] = visit.next;
		if (visit.next != LC__NO_VISIT)
			ck_assert_uint_gt(visit.next, k);
		k++;
		if (k % 7 == 0)
			lc__visits_forget(visits, 0, k);
	}
	ck_assert_int_eq(status, LC_END);
	for (size_t i = 0; i < m->chunks; i++) {
		assert_ok(lc__visits_first(visits, i, &number));
		ck_assert(due[i] == LC__NO_VISIT ||
		    (due[i] == LC__NO_VISIT - 1 && number == LC__NO_VISIT));
	}
	for (uint64_t i = from * MOST_CHUNKS; i < m->batches * MOST_CHUNKS; i++)
		ck_assert_msg(covered[i] >= used[i], "batch %llu of %llu reads chunk "
		    "%llu, which has no visit then (shuffle %d, %u shares, window %llu/%llu)",
		    (unsigned long long)(i / MOST_CHUNKS), (unsigned long long)m->batches,
		    (unsigned long long)(i % MOST_CHUNKS), m->rule.shuffle.kind,
		    m->rule.shares, (unsigned long long)m->rule.windows.size,
		    (unsigned long long)m->rule.windows.stride);
	lc__visits_free(visits);
	free(covered);
}

/* Every chunk that a batch is read from has a visit then; visits are no longer than a
 * window, and know the next one of their chunk. */
START_TEST(what_batches_read)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(2000);

	for (unsigned k = 0; k < times; k++) {
		unsigned char *used;
		struct made m;

		make_any(&m, &seed);
		used = mark(&m);
		check_visits(&m, used, 0);
		check_visits(&m, used, below(&seed, m.batches));
		free(used);
		lc__sequence_free(m.sequence);
	}
}
END_TEST

/* In order, a visit has exactly the batches that read the chunk. */
START_TEST(exact_in_order)
{
	uint64_t seed = run_seed();

	for (unsigned k = 0; k < 500; k++) {
		struct lc__visits *visits;
		struct lc__visit visit;
		unsigned char *used;
		struct made m;

		do {
			make_any(&m, &seed);
			if (m.rule.shuffle.kind != LC_SHUFFLE_NONE)
				lc__sequence_free(m.sequence);
		} while (m.rule.shuffle.kind != LC_SHUFFLE_NONE);
		used = mark(&m);
		assert_ok(lc__visits_new(m.sequence, m.batch, (struct lc__ranks){ 0, 1, 1 }, 0, &visits));
		for (uint64_t i = 0; lc__visits_get(visits, 0, i, &visit) == LC_OK; i++)
			for (uint64_t b = visit.first; b < visit.end; b++)
				ck_assert(used[b * MOST_CHUNKS + visit.chunk] ||
				    m.rule.windows.stride > m.rule.windows.size);
		lc__visits_free(visits);
		free(used);
		lc__sequence_free(m.sequence);
	}
}
END_TEST

START_TEST(not_of_rstar)
{
	uint64_t seed = run_seed();
	struct lc__sequence_rule rule = { .idealised = 2 };
	struct lc__layout *layout = any_layout(&seed, 5);
	struct lc__sequence *sequence;
	struct lc__visits *visits;

	assert_ok(lc__sequence_new(&rule, layout, true, "any", &sequence));
	ck_assert_int_eq(lc__visits_new(sequence, 4, (struct lc__ranks){ 0, 1, 1 }, 0, &visits), LC_UNSUPPORTED);
	lc__sequence_free(sequence);
	lc__layout_drop(layout);
}
END_TEST

/* ---- the model of a cache -------------------------------------------------------------- */

/* A chunk of a cache that is written out, at its place; of equals the first one goes. */
struct slow {
	bool there;
	uint64_t size, end, last, next;
};

/* The chunk that goes: of those that no visit uses, by the rule. */
static struct slow *
slow_victim(struct slow *chunk, enum lc__evict evict, uint64_t now)
{
	struct slow *victim = NULL;

	for (size_t i = 0; i < MOST_CHUNKS; i++)
		if (chunk[i].there && chunk[i].end <= now &&
		    (victim == NULL || (evict == LC__EVICT_OLDEST
			 ? chunk[i].last < victim->last
			 : chunk[i].next > victim->next)))
			victim = &chunk[i];
	return victim;
}

static bool
slow_visit(struct slow *chunk, enum lc__evict evict, uint64_t room, uint64_t size,
    uint64_t k, const struct lc__visit *visit, struct lc__cache_counts *counts)
{
	struct slow *own = &chunk[visit->place], *victim;
	const bool there = own->there;
	uint64_t used = own->size = size;

	for (size_t i = 0; i < MOST_CHUNKS && !there; i++)
		used += chunk[i].there ? chunk[i].size : 0;
	while (!there && own->size <= room && used > room &&
	    (victim = slow_victim(chunk, evict, visit->first)) != NULL) {
		victim->there = false;
		victim->end = 0;
		used -= victim->size;
		counts->evictions++;
	}
	counts->visits++;
	counts->fetches += !there;
	counts->bytes += there ? 0 : own->size;
	if (!there && used > room) {
		counts->too_large++;
		return true;
	}
	own->there = true;
	own->end = visit->end > own->end ? visit->end : own->end;
	own->last = k;
	own->next = visit->next;
	return !there;
}

/* The same counts as a cache that is written out, which looks at all chunks each time. */
START_TEST(as_a_slow_cache)
{
	const enum lc__evict evict = _i == 0 ? LC__EVICT_OLDEST : LC__EVICT_FARTHEST;
	uint64_t seed = run_seed();
	const unsigned times = sample_times(1000);

	for (unsigned t = 0; t < times; t++) {
		struct lc__cache_counts want = { 0 };
		const struct lc__cache_counts *got;
		struct slow chunk[MOST_CHUNKS] = { 0 };
		uint64_t sizes[MOST_CHUNKS], all = 0, room;
		struct lc__cache_model *model;
		struct lc__visits *visits;
		struct lc__visit visit;
		struct made m;
		bool fetched;

		make_any(&m, &seed);
		for (size_t i = 0; i < MOST_CHUNKS; i++) {
			sizes[i] = 1 + below(&seed, 10);
			all += i < m.chunks ? sizes[i] : 0;
		}
		room = below(&seed, all + 2);
		assert_ok(lc__cache_model_new(evict, room, sizes, &model));
		assert_ok(lc__visits_new(m.sequence, m.batch, (struct lc__ranks){ m.reader, 1, m.readers }, 0,
		    &visits));
		for (uint64_t k = 0; lc__visits_get(visits, 0, k, &visit) == LC_OK; k++) {
			assert_ok(lc__cache_model_visit(model, k, &visit, &fetched));
			ck_assert_int_eq(fetched, slow_visit(chunk, evict, room,
			    sizes[visit.chunk], k, &visit, &want));
		}
		got = lc__cache_model_counts(model);
		ck_assert_mem_eq(got, &want, sizeof(want));
		lc__visits_free(visits);
		lc__cache_model_free(model);
		lc__sequence_free(m.sequence);
	}
}
END_TEST

/* ---- a forecast ------------------------------------------------------------------------ */

/* The first visit of each chunk that has not ended by a batch, in their order. */
static size_t
find_next(const struct lc__visit *visit, size_t n, uint64_t now, struct lc__visit *out)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		bool again = visit[i].end <= now;

		for (size_t k = 0; k < found && !again; k++)
			again = out[k].chunk == visit[i].chunk;
		if (!again)
			out[found++] = visit[i];
	}
	return found;
}

static void
check_forecast(struct lc__forecast *forecast, const struct lc__visit *visit, size_t n,
    uint64_t now, uint64_t *seed)
{
	struct lc__visit next[MOST_CHUNKS];
	const size_t found = find_next(visit, n, now, next);
	uint64_t shard, batch, turn = LC__NO_BATCH;

	for (size_t i = 0; i < n; i++)
		if (visit[i].end > now && visit[i].end < turn)
			turn = visit[i].end;
	ck_assert_uint_eq(lc__forecast_turn(forecast, now), turn);
	for (size_t k = 0; k < found; k++) {
		const uint64_t first = next[k].first > now ? next[k].first : now;

		if (below(seed, 3) == 0)
			continue;
		ck_assert(lc__forecast_next(forecast, now, k, &shard, &batch));
		ck_assert_uint_eq(shard, next[k].chunk);
		ck_assert_uint_eq(batch, first);
		ck_assert_uint_eq(lc__forecast_when(forecast, shard, now), first);
	}
	ck_assert(!lc__forecast_next(forecast, now, found, &shard, &batch));
	for (uint64_t c = 0; c < MOST_CHUNKS; c++) {
		bool has = false;

		for (size_t k = 0; k < found; k++)
			has = has || next[k].chunk == c;
		ck_assert_int_eq(lc__forecast_when(forecast, c, now) != LC__NO_BATCH, has);
	}
}

/* As the list of all visits has it, while the reader goes on. */
START_TEST(next_and_when)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(500);

	for (unsigned t = 0; t < times; t++) {
		struct lc__visit *list = NULL, visit;
		struct lc__forecast *forecast;
		struct lc__visits *visits;
		struct made m;
		uint64_t from;
		size_t n = 0;

		make_any(&m, &seed);
		from = below(&seed, m.batches);
		assert_ok(lc__visits_new(m.sequence, m.batch, (struct lc__ranks){ m.reader, 1, m.readers }, from,
		    &visits));
		for (; lc__visits_get(visits, 0, n, &visit) == LC_OK; n++) {
			list = realloc(list, (n + 1) * sizeof(*list));
			list[n] = visit;
		}
		lc__visits_free(visits);
		assert_ok(lc__visits_new(m.sequence, m.batch, (struct lc__ranks){ m.reader, 1, m.readers }, from,
		    &visits));
		assert_ok(lc__forecast_new(visits, &forecast));
		for (uint64_t now = from; now <= m.batches; now += 1 + below(&seed, 9))
			check_forecast(forecast, list, n, now, &seed);
		lc__forecast_free(forecast);
		lc__sequence_free(m.sequence);
		free(list);
	}
}
END_TEST

/* ---- a large set ----------------------------------------------------------------------- */

#define GIB ((uint64_t)1 << 30)

/* 372,529 shards of 256 MiB on 1,024 nodes: 90.9 GiB a node. Eight epochs of some of them
 * fetch the data so many times, as another simulation of the same order found. */
static const struct {
	uint64_t room; /* in tenths of a GiB */
	double lru, belady;
} large[] = { { 160, 7.93, 6.79 }, { 320, 7.52, 5.56 }, { 455, 7.00, 4.52 },
	{ 640, 5.67, 3.10 }, { 1000, 1.00, 1.00 } };

static double
fetched_times(struct lc__sequence *sequence, const uint64_t *sizes, uint64_t chunks,
    enum lc__evict evict, uint64_t room)
{
	const uint32_t nodes = 8;
	uint64_t bytes = 0;

	for (uint32_t r = 0; r < nodes; r++) {
		struct lc__cache_model *model;
		struct lc__visits *visits;
		struct lc__visit visit;
		bool fetched;

		assert_ok(lc__visits_new(sequence, 1024 * 256, (struct lc__ranks){ r * 128, 1, 1024 }, 0, &visits));
		assert_ok(lc__cache_model_new(evict, room, sizes, &model));
		for (uint64_t k = 0; lc__visits_get(visits, 0, k, &visit) == LC_OK; k++) {
			lc__visits_forget(visits, 0, k);
			assert_ok(lc__cache_model_visit(model, k, &visit, &fetched));
		}
		bytes += lc__cache_model_counts(model)->bytes;
		lc__cache_model_free(model);
		lc__visits_free(visits);
	}
	return (double)bytes / ((double)chunks * (double)sizes[0] * nodes / 1024);
}

START_TEST(as_another_simulation)
{
	const uint64_t chunks = 372529, each = 5461;
	const struct lc__sequence_rule rule = { .shares = 1024, .epochs = 8,
	    .shuffle = { .kind = LC_SHUFFLE_BLOCK, .block = 1, .spread = 16, .seed = 1 } };
	struct lc__row_array *array = lc__row_array_new();
	lc_source_info info = { .struct_size = sizeof(info), .chunks = chunks,
		.records = chunks * each, .length = chunks * each };
	uint64_t *sizes = malloc(chunks * sizeof(*sizes));
	struct lc__sequence *sequence;
	struct lc__layout *layout;

	for (uint64_t i = 0; i < chunks; i++) {
		sizes[i] = GIB / 4;
		assert_ok(lc__row_array_add(array, &(struct lc__chunk_row){ .id = i,
		    .records = each, .units = each }));
	}
	assert_ok(lc__layout_new(&info, &array->rows, 1, &layout));
	lc__rows_drop(&array->rows);
	assert_ok(lc__sequence_new(&rule, layout, true, "large", &sequence));
	lc__layout_drop(layout);
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		const uint64_t room = large[i].room * (GIB / 10);

		ck_assert_double_eq_tol(fetched_times(sequence, sizes, chunks,
		    LC__EVICT_OLDEST, room) / large[i].lru, 1, 0.02);
		ck_assert_double_eq_tol(fetched_times(sequence, sizes, chunks,
		    LC__EVICT_FARTHEST, room) / large[i].belady, 1, 0.02);
	}
	lc__sequence_free(sequence);
	free(sizes);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("visits");
	TCase *tc = tcase_create("visits");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, what_batches_read);
	tcase_add_test(tc, exact_in_order);
	tcase_add_test(tc, not_of_rstar);
	tcase_add_loop_test(tc, as_a_slow_cache, 0, 2);
	tcase_add_test(tc, next_and_when);
	tcase_add_test(tc, as_another_simulation);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
