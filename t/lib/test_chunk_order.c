/* SPDX-License-Identifier: BSD-2-Clause */
/* The published order against a model that is slow and obviously right. */
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "filling.h"
#include "need.h"
#include "sample.h"
#include "store/cache.h"
#include "store/inputs.h"
#include "vectors.h"

#define INPUTS 6
#define PLACES 256

/* ---- the model ------------------------------------------------------------ */

struct state {
	unsigned n;
	uint64_t committed[INPUTS];
	bool finished[INPUTS];
};

struct place {
	uint32_t input;
	uint64_t ordinal;
};

/* Write the final lists round robin, and stop where it is not known how they go on. */
static size_t
model(const struct state *state, struct place out[PLACES])
{
	size_t n = 0;

	for (uint64_t ordinal = 0;; ordinal++) {
		bool any = false;

		for (unsigned i = 0; i < state->n; i++) {
			if (state->committed[i] > ordinal) {
				ck_assert_uint_lt(n, PLACES);
				out[n++] = (struct place){ i, ordinal };
				any = true;
			} else if (!state->finished[i]) {
				return n;
			}
		}
		if (!any)
			return n;
	}
}

/* ---- what is stored ------------------------------------------------------- */

static uint64_t
chain(uint64_t hash, const struct lc__order_row *row)
{
	uint64_t numbers[6] = { hash, row->input, row->ordinal, row->records,
		row->length, row->digest };

	return lc__hash64(numbers, sizeof(numbers));
}

static void
check_order(lc_cache *cache, const struct state *state)
{
	struct lc__order_row row = { 0 };
	struct place places[PLACES];
	const size_t n = model(state, places);
	const lc_fill fill = filling_state(cache);
	uint64_t hash = 0, records = 0, length = 0, committed = 0, finished = 0;
	struct lc__snapshot *s;

	assert_ok(lc__snapshot_take(cache->env, &s));
	for (size_t i = 0; i < n; i++) {
		assert_ok(lc__order_get(s, i, &row));
		ck_assert_uint_eq(row.input, places[i].input);
		ck_assert_uint_eq(row.ordinal, places[i].ordinal);
		ck_assert_uint_eq(row.records, filling_records(row.input,
		    row.ordinal));
		ck_assert_uint_eq(row.first_record, records);
		ck_assert_uint_eq(row.first_unit, length);
		records += row.records;
		length += row.length;
		hash = chain(hash, &row);
		ck_assert_uint_eq(row.prefix_hash, hash);
	}
	ck_assert_int_eq(lc__order_get(s, n, &row), LC_NOT_FOUND);
	lc__snapshot_give(s, 0);
	for (unsigned i = 0; i < state->n; i++) {
		committed += state->committed[i];
		finished += state->finished[i];
	}
	ck_assert_uint_eq(fill.published, n);
	ck_assert_uint_eq(fill.committed, committed);
	ck_assert_uint_eq(fill.inputs, state->n);
	ck_assert_uint_eq(fill.finished, finished);
	ck_assert_int_eq(fill.final, finished == state->n);
	ck_assert_uint_eq(fill.records, records);
	ck_assert_uint_eq(fill.length, length);
	ck_assert_uint_eq(fill.prefix_hash, hash);
}

/* ---- filling -------------------------------------------------------------- */

/* How a module is filled, all of it from a seed. */
struct plan {
	unsigned n;
	unsigned chunks[INPUTS];
	bool lengths; /* there is a length field */
};

static void
make_plan(struct plan *plan, uint64_t *random)
{
	plan->n = 1 + (unsigned)(run_random(random) % INPUTS);
	plan->lengths = run_random(random) % 2 == 0;
	for (unsigned i = 0; i < plan->n; i++)
		plan->chunks[i] = (unsigned)(run_random(random) % 9);
}

static lc_cache *
open_planned(const char *root, const char *module, const struct plan *plan,
    lc_codec codec)
{
	lc_cache *cache = sample_open(root, module, NULL);
	lc_settings settings = { .struct_size = sizeof(settings) };

	assert_ok(lc_settings_get(cache, &settings));
	settings.codec = codec;
	if (plan->lengths)
		strcpy(settings.length_field, ".");
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(filling_declare(cache, plan->n));
	return cache;
}

/* One step of an input: its next chunk, the last one with its end or the end later,
 * sometimes only the cursor. */
static void
step(lc_writer *writer, struct state *state, unsigned input,
    const struct plan *plan, uint64_t *random)
{
	uint64_t *done = &state->committed[input];

	if (run_random(random) % 8 == 0) {
		assert_ok(lc_writer_commit(writer, "c", 1));
	} else if (*done == plan->chunks[input]) {
		assert_ok(lc_writer_finish(writer, NULL, 0));
		state->finished[input] = true;
	} else {
		const bool last = *done + 1 == plan->chunks[input] &&
		    run_random(random) % 2 == 0;

		assert_ok(filling_commit(writer, last));
		++*done;
		state->finished[input] = last;
	}
}

static void
fill(lc_cache *cache, const struct plan *plan, uint64_t *random)
{
	struct state state = { .n = plan->n };
	lc_writer *writers[INPUTS];
	unsigned left = plan->n;

	for (unsigned i = 0; i < plan->n; i++)
		assert_ok(filling_open(cache, i, &writers[i]));
	while (left > 0) {
		const unsigned input = (unsigned)(run_random(random) % plan->n);

		if (state.finished[input])
			continue;
		step(writers[input], &state, input, plan, random);
		left -= state.finished[input];
		check_order(cache, &state);
	}
	for (unsigned i = 0; i < plan->n; i++)
		lc_writer_close(writers[i]);
	ck_assert_int_eq(filling_state(cache).final, 1);
}

static void
assert_sound(lc_cache *cache)
{
	lc_verify_result result;

	assert_ok(lc_verify(cache, NULL, &result));
}

START_TEST(any_interleaving)
{
	uint64_t random = run_seed() + (uint64_t)_i;
	const char *root = run_scratch();

	for (unsigned round = 0; round < sample_times(8); round++) {
		struct plan plan;
		lc_cache *a, *b;
		char name[32];

		make_plan(&plan, &random);
		snprintf(name, sizeof(name), "a%u", round);
		a = open_planned(root, name, &plan, LC_CODEC_NONE);
		fill(a, &plan, &random);
		/* The same data in another order, coded otherwise: the same hash. */
		name[0] = 'b';
		b = open_planned(root, name, &plan, LC_CODEC_LZ4);
		fill(b, &plan, &random);
		ck_assert_uint_eq(filling_state(a).prefix_hash,
		    filling_state(b).prefix_hash);
		ck_assert_uint_eq(filling_state(a).length, filling_state(b).length);
		assert_sound(a);
		assert_sound(b);
		/* And once more in a module that was cleared. */
		assert_ok(lc_clear(b));
		assert_sound(b);
		assert_ok(filling_declare(b, plan.n));
		fill(b, &plan, &random);
		ck_assert_uint_eq(filling_state(a).prefix_hash,
		    filling_state(b).prefix_hash);
		assert_sound(b);
		assert_ok(lc_close(a));
		assert_ok(lc_close(b));
	}
}
END_TEST

START_TEST(finish_all_publishes)
{
	uint64_t random = run_seed();
	const char *root = run_scratch();

	for (unsigned round = 0; round < sample_times(10); round++) {
		struct state state = { .n = INPUTS };
		lc_writer *writer;
		lc_cache *cache;
		char name[32];

		snprintf(name, sizeof(name), "m%u", round);
		cache = sample_open(root, name, NULL);
		assert_ok(filling_declare(cache, state.n));
		for (unsigned i = 0; i < 20; i++) {
			const unsigned input = (unsigned)(run_random(&random) %
			    state.n);

			assert_ok(filling_open(cache, input, &writer));
			assert_ok(filling_commit(writer, 0));
			lc_writer_close(writer);
			state.committed[input]++;
			check_order(cache, &state);
		}
		assert_ok(lc_inputs_finish(cache));
		memset(state.finished, 1, sizeof(state.finished));
		check_order(cache, &state);
		assert_sound(cache);
		assert_ok(lc_close(cache));
	}
}
END_TEST

/* ---- the worked examples -------------------------------------------------- */

/* Commit so many chunks of each input, ordinal by ordinal. */
static void
fill_as(lc_cache *cache, struct state *state, const uint64_t *chunks,
    const uint64_t *finished, size_t n)
{
	ck_assert_uint_le(n, INPUTS);
	state->n = (unsigned)n;
	assert_ok(filling_declare(cache, state->n));
	for (unsigned i = state->n; i-- > 0;) {
		lc_writer *writer;

		assert_ok(filling_open(cache, i, &writer));
		while (state->committed[i] < chunks[i]) {
			assert_ok(filling_commit(writer, 0));
			state->committed[i]++;
			check_order(cache, state);
		}
		if (finished == NULL || finished[i]) {
			assert_ok(lc_writer_finish(writer, NULL, 0));
			state->finished[i] = true;
		}
		lc_writer_close(writer);
	}
	check_order(cache, state);
}

static void
check_pairs(lc_cache *cache, const struct lc__json *pairs, size_t n)
{
	struct lc__order_row row;
	struct lc__snapshot *s;

	assert_ok(lc__snapshot_take(cache->env, &s));
	for (size_t i = 0; i < n; i++) {
		const struct lc__json *pair = vectors_at_index(pairs, i);

		assert_ok(lc__order_get(s, i, &row));
		vectors_is(vectors_at_index(pair, 0), row.input);
		vectors_is(vectors_at_index(pair, 1), row.ordinal);
	}
	lc__snapshot_give(s, 0);
	ck_assert_uint_eq(filling_state(cache).published, n);
}

START_TEST(worked_examples)
{
	const struct lc__json *all = vectors_load("CACHEX_ORDER_VECTORS", "t/support/order.json");
	const char *section = _i == 0 ? "chunk_order" : "stable_prefix";
	const char *root = run_scratch();
	size_t n_cases, n, m;
	const struct lc__json *cases = vectors_get_list(vectors_get(all, section), "cases",
	    &n_cases);

	ck_assert_uint_gt(n_cases, 0);
	for (size_t i = 0; i < n_cases; i++) {
		const struct lc__json *row = vectors_at_index(cases, i);
		uint64_t *chunks = vectors_get_u64s(row, _i == 0 ?
		    "chunks_per_source" : "committed", &n);
		uint64_t *finished = _i == 0 ? NULL :
		    vectors_get_u64s(row, "finished", &m);
		struct state state = { .n = 0 };
		lc_cache *cache;
		char name[32];

		vectors_at(section, i);
		snprintf(name, sizeof(name), "m%zu", i);
		cache = sample_open(root, name, NULL);
		fill_as(cache, &state, chunks, finished, n);
		if (_i == 0) {
			const struct lc__json *pairs = vectors_get_list(row,
			    "order_source_ordinal", &m);

			check_pairs(cache, pairs, m);
		} else {
			vectors_is(vectors_get(row, "published"),
			    filling_state(cache).published);
		}
		assert_ok(lc_close(cache));
		free(chunks);
		free(finished);
	}
}
END_TEST

/* ---- what changes nothing ------------------------------------------------- */

/* A chunk that codecs make smaller. */
static void
commit_zeros(lc_cache *cache, struct state *state, unsigned input)
{
	static const unsigned char zeros[4096];
	const lc_tensor tensor = sample_bytes(zeros, sizeof(zeros));
	const unsigned n = filling_records(input, state->committed[input]);
	lc_writer *writer;

	assert_ok(filling_open(cache, input, &writer));
	for (unsigned i = 0; i < n; i++)
		assert_ok(lc_writer_put(writer, NULL, 0, &tensor));
	assert_ok(lc_writer_commit(writer, NULL, 0));
	lc_writer_close(writer);
	state->committed[input]++;
}

/* Compaction codes chunks anew where they are, and the order stays. */
START_TEST(compacted)
{
	lc_compact_options options;
	lc_compact_result result;
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	const uint64_t chunks[] = { 5, 3, 6 }, finished[] = { 1, 1, 0 };
	struct state state = { .n = 0 };
	lc_fill before;

	fill_as(cache, &state, chunks, finished, 3);
	commit_zeros(cache, &state, 2);
	before = filling_state(cache);
	lc_compact_options_init(&options);
	options.live_ratio = 1;
	assert_ok(lc_compact(cache, &options, &result));
	ck_assert_uint_eq(result.rewritten, 0);
	ck_assert_uint_eq(result.chunks_after, 15);
	options.recode = LC_CODEC_LZ4;
	options.dry_run = 1;
	assert_ok(lc_compact(cache, &options, &result));
	ck_assert_uint_eq(result.chunks_after, 15);
	options.dry_run = 0;
	assert_ok(lc_compact(cache, &options, &result));
	ck_assert_uint_eq(result.rewritten, 1);
	ck_assert_uint_eq(result.chunks_after, 15);
	check_order(cache, &state);
	ck_assert_uint_eq(filling_state(cache).prefix_hash, before.prefix_hash);
	for (unsigned i = 0; i < 3; i++)
		for (uint64_t k = 0; k < chunks[i]; k++)
			filling_check_chunk(cache, i, k);
	assert_sound(cache);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(shrunk_and_backed_up)
{
	const char *root = run_scratch(), *other = run_scratch();
	lc_cache *cache = sample_open(root, "m", NULL);
	const uint64_t chunks[] = { 5, 3, 7 }, finished[] = { 0, 1, 0 };
	struct state state = { .n = 0 };

	fill_as(cache, &state, chunks, finished, 3);
	assert_ok(lc_backup(cache, other, LC_BACKUP_COMPACT));
	assert_ok(lc_close(cache));
	assert_ok(lc_shrink(root, "m", NULL, NULL));
	for (unsigned i = 0; i < 2; i++) {
		lc_writer *writer;

		cache = sample_open(i == 0 ? root : other, "m", NULL);
		check_order(cache, &state);
		assert_sound(cache);
		assert_ok(filling_open(cache, 0, &writer));
		assert_ok(filling_commit(writer, 0));
		lc_writer_close(writer);
		assert_ok(lc_close(cache));
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("published");
	TCase *tcase = tcase_create("published");

	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, any_interleaving, 0, 3);
	tcase_add_test(tcase, finish_all_publishes);
	tcase_add_loop_test(tcase, worked_examples, 0, 2);
	tcase_add_test(tcase, compacted);
	tcase_add_test(tcase, shrunk_and_backed_up);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
