/* SPDX-License-Identifier: BSD-2-Clause */
/* Filling a module from input shards: order, chunks, cursors, failures, several at once. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "fake_produce.h"
#include "fill_set.h"
#include "fill/inputs.h"
#include "filling.h"
#include "need.h"
#include "sample.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* ---- a run ------------------------------------------------------------------------ */

static struct lc__producers producers = { .children = 3, .ahead = 1 };

/* What was heard of a run. */
struct heard {
	uint64_t failed, stopped, back;
	char why[400];            /* of the last input that stopped */
};

static struct heard heard;

static void
hear_failed(void *ctx, const struct lc__item *item)
{
	(void)ctx;
	(void)item;
	heard.failed++;
}

static void
hear_stopped(void *ctx, const char *name, const char *why)
{
	(void)ctx;
	heard.stopped++;
	snprintf(heard.why, sizeof(heard.why), "%s|%s", name, why);
}

static void
hear_back(void *ctx, const struct lc__items *batch)
{
	(void)ctx;
	heard.back += batch->count;
}

static struct lc__inputs_fill
how_to(lc_cache *cache, const struct fill_set *set)
{
	memset(&heard, 0, sizeof(heard));
	return (struct lc__inputs_fill){
		.cache = cache, .producers = &producers, .shards = set->shards,
		.n = set->n, .batch = 5, .batch_bytes = 1 << 20, .chunk = 12,
		.failed = hear_failed, .stopped = hear_stopped, .back = hear_back
	};
}

static lc_cache *
open_in(const char *root)
{
	const lc_options options = sample_options();

	return sample_open(root, "m", &options);
}

static void
start(uint64_t seed)
{
	memset(&fake_produce, 0, sizeof(fake_produce));
	fake_produce.seed = seed;
}

/* ---- the order ---------------------------------------------------------------------- */

static const unsigned sizes[] = { 100, 12, 0, 37, 1, 24, 250 };

/* What a run with one producer and no disorder comes to. */
static lc_fill
undisturbed(const struct fill_set *set)
{
	const char *root = run_scratch();
	lc_cache *cache = open_in(root);
	const struct lc__inputs_fill how = how_to(cache, set);
	const struct lc__producers before = producers;
	struct lc__inputs_filled filled;
	lc_fill state;

	producers = (struct lc__producers){ .children = 1 };
	start(0);
	need_ok(lc__inputs_run(&how, &filled));
	state = filling_state(cache);
	need_ok(lc_close(cache));
	producers = before;
	return state;
}

static void
assert_same(const lc_fill *a, const lc_fill *b)
{
	ck_assert_int_eq(a->final, 1);
	ck_assert_int_eq(b->final, 1);
	ck_assert_uint_eq(a->records, b->records);
	ck_assert_uint_eq(a->published, b->published);
	ck_assert_uint_eq(a->committed, b->committed);
	ck_assert_uint_eq(a->prefix_hash, b->prefix_hash);
}

START_TEST(all_lines_in_order)
{
	static const unsigned children[] = { 1, 2, 7 };
	struct fill_set set;
	lc_fill want, got;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;

	fill_set_make(&set, ROWS(sizes), sizes);
	want = undisturbed(&set);
	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	producers.children = children[_i];
	start(run_seed());
	assert_ok(lc__inputs_run(&how, &filled));
	fill_set_check(cache, &set);
	fill_set_check_order(cache, &set, 12);
	ck_assert_uint_eq(filled.stored, 424);
	ck_assert_uint_eq(filled.items, 424);
	ck_assert_uint_eq(heard.back, 424);
	ck_assert_uint_eq(filled.inputs, 7);
	ck_assert_uint_eq(filled.finished, 7);
	ck_assert_uint_eq(filled.stopped + filled.left + filled.failed, 0);
	ck_assert_uint_eq(filled.shard_bytes, filled.shard_done);
	ck_assert_uint_eq(filled.chunks, 9 + 1 + 4 + 1 + 2 + 21);
	got = filling_state(cache);
	assert_same(&got, &want);
	/* Again, there is nothing to do. */
	start(run_seed());
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_uint_eq(filled.items + filled.stored, 0);
	ck_assert_uint_eq(filled.finished, 7);
	ck_assert_uint_eq(filled.shard_bytes, filled.shard_before);
	assert_ok(lc_close(cache));
}
END_TEST

/* Chunks that no other input's chunk of the same number has followed yet. */
START_TEST(the_order_grows_all_the_time)
{
	static const unsigned lines[] = { 600, 600, 600, 600 };
	struct fill_set set;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;
	lc_fill state;

	fill_set_make(&set, 4, lines);
	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	producers.children = 2;
	start(0);
	fake_produce.stop_after = 300;
	assert_status(lc__inputs_run(&how, &filled), LC_CANCELLED);
	state = filling_state(cache);
	/* 300 batches of at most 5: 3 of them a chunk of 12. All that is complete has its
	 * place in the order but for a round. */
	ck_assert_uint_ge(state.committed, 96);
	ck_assert_uint_ge(state.published + 4, state.committed);
	ck_assert_uint_eq(filled.finished, 0);
	assert_ok(lc_close(cache));
}
END_TEST

/* A batch has the same items each time. */
static uint64_t composition;

static void
add_composition(void *ctx, const struct lc__items *batch)
{
	uint64_t state = batch->count;

	(void)ctx;
	for (size_t i = 0; i < batch->count; i++)
		for (size_t k = 0; k < batch->items[i].id.size; k++) {
			state ^= ((const unsigned char *)batch->items[i].id.data)[k];
			run_random(&state);
		}
	composition ^= state;
}

START_TEST(batches_are_the_same)
{
	struct fill_set set;
	uint64_t want = 0;

	fill_set_make(&set, ROWS(sizes), sizes);
	for (unsigned children = 1; children < 8; children += 3) {
		lc_cache *cache = open_in(run_scratch());
		const struct lc__inputs_fill how = how_to(cache, &set);
		struct lc__inputs_filled filled;

		producers.children = children;
		composition = 0;
		start(run_seed() * (children > 1));
		fake_produce.given = add_composition;
		assert_ok(lc__inputs_run(&how, &filled));
		if (children == 1)
			want = composition;
		ck_assert_uint_eq(composition, want);
		assert_ok(lc_close(cache));
	}
}
END_TEST

/* More inputs than may be open. */
START_TEST(many_inputs)
{
	unsigned lines[FILL_SET_MAX];
	struct fill_set set;
	lc_fill want, got;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;

	for (unsigned i = 0; i < FILL_SET_MAX; i++)
		lines[i] = i * 7 % 41;
	fill_set_make(&set, FILL_SET_MAX, lines);
	ck_assert_int_gt(FILL_SET_MAX, LC__INPUTS_OPEN);
	want = undisturbed(&set);
	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	producers.children = 4;
	start(run_seed());
	assert_ok(lc__inputs_run(&how, &filled));
	fill_set_check(cache, &set);
	fill_set_check_order(cache, &set, 12);
	got = filling_state(cache);
	assert_same(&got, &want);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- parts of the inputs ---------------------------------------------------------------- */

#define PARTS_INPUTS 16

static void
make_sixteen(struct fill_set *set)
{
	unsigned lines[PARTS_INPUTS];

	for (unsigned i = 0; i < PARTS_INPUTS; i++)
		lines[i] = i * 31 % 97;
	fill_set_make(set, PARTS_INPUTS, lines);
}

/* Only shards of part @p i of @p n are there; all others are elsewhere. */
static void
take_part(struct fill_set *set, size_t i, size_t n)
{
	for (size_t s = 0; s < set->n; s++) {
		char away[90];

		snprintf(away, sizeof(away), "%s.away", set->paths[s]);
		set->shards[s].elsewhere = s % n != i;
		if (set->shards[s].elsewhere)
			ck_assert(access(away, F_OK) == 0 ||
			    rename(set->paths[s], away) == 0);
		else
			ck_assert(access(set->paths[s], F_OK) == 0 ||
			    rename(away, set->paths[s]) == 0);
	}
}

/* How far each input is. */
struct inputs_state {
	struct {
		uint64_t chunks, records;
		int finished;
		size_t print_size, cursor_size;
		unsigned char print[LC__FINGERPRINT], cursor[64];
	} input[PARTS_INPUTS];
};

static int
note_input(void *ctx, const lc_input_info *info)
{
	struct inputs_state *state = ctx;

	need(info->index < PARTS_INPUTS && info->fingerprint.size <= LC__FINGERPRINT &&
	    info->cursor.size <= sizeof(state->input[0].cursor));
	state->input[info->index].chunks = info->chunks;
	state->input[info->index].records = info->records;
	state->input[info->index].finished = info->finished;
	state->input[info->index].print_size = info->fingerprint.size;
	state->input[info->index].cursor_size = info->cursor.size;
	if (info->fingerprint.size > 0)
		memcpy(state->input[info->index].print, info->fingerprint.data,
		    info->fingerprint.size);
	if (info->cursor.size > 0)
		memcpy(state->input[info->index].cursor, info->cursor.data,
		    info->cursor.size);
	return 0;
}

/* The inputs of each part are as if one machine had filled all; the others are declared,
 * and neither opened nor known. */
START_TEST(parts_of_machines)
{
	static const size_t ns[] = { 1, 3, 5, 20 };
	const size_t n = ns[_i];
	struct inputs_state want = { 0 };
	const struct inputs_state none = { 0 };
	struct lc__inputs_filled filled;
	struct lc__inputs_fill how;
	struct fill_set set;
	lc_cache *cache;

	make_sixteen(&set);
	cache = open_in(run_scratch());
	start(0);
	producers.children = 2;
	how = how_to(cache, &set);
	assert_ok(lc__inputs_run(&how, &filled));
	assert_ok(lc_inputs(cache, note_input, &want));
	assert_ok(lc_close(cache));
	for (size_t i = 0; i < n; i++) {
		struct inputs_state got = { 0 };
		uint64_t mine = 0, records = 0;

		take_part(&set, i, n);
		cache = open_in(run_scratch());
		how = how_to(cache, &set);
		start(run_seed());
		assert_ok(lc__inputs_run(&how, &filled));
		assert_ok(lc_inputs(cache, note_input, &got));
		for (size_t s = 0; s < set.n; s++) {
			const bool here = s % n == i;

			mine += here;
			ck_assert_mem_eq(&got.input[s],
			    here ? &want.input[s] : &none.input[s],
			    sizeof(got.input[s]));
			for (unsigned line = 0; here && line < set.lines[s]; line++)
				fill_set_check_line(cache, &set, s, line);
			records += here ? set.lines[s] : 0;
		}
		ck_assert_uint_eq(filled.declared, PARTS_INPUTS);
		ck_assert_uint_eq(filled.inputs, mine);
		ck_assert_uint_eq(filled.finished, mine);
		ck_assert_uint_eq(filled.stored, records);
		ck_assert_uint_eq(filled.stopped + filled.left + filled.failed, 0);
		/* Again, and only counted, there is nothing to do. */
		how.dry_run = true;
		assert_ok(lc__inputs_run(&how, &filled));
		ck_assert_uint_eq(filled.items, 0);
		ck_assert_uint_eq(filled.finished, mine);
		assert_ok(lc_close(cache));
	}
}
END_TEST

/* In one module: three parts, each stopped in the middle, then five. */
START_TEST(other_parts_go_on)
{
	uint64_t state = run_seed() + (uint64_t)_i;
	struct lc__inputs_filled filled;
	struct fill_set set;
	lc_fill want, got;
	lc_cache *cache;
	uint64_t finished = 0;

	make_sixteen(&set);
	want = undisturbed(&set);
	cache = open_in(run_scratch());
	producers.children = 2;
	for (size_t i = 0; i < 3; i++) {
		const struct lc__inputs_fill how = how_to(cache, &set);

		take_part(&set, i, 3);
		start(run_random(&state));
		fake_produce.stop_after = 5 + run_random(&state) % 20;
		assert_status(lc__inputs_run(&how, &filled), LC_CANCELLED);
	}
	ck_assert_int_eq(filling_state(cache).final, 0);
	for (size_t i = 0; i < 5; i++) {
		const struct lc__inputs_fill how = how_to(cache, &set);

		take_part(&set, i, 5);
		start(run_random(&state));
		assert_ok(lc__inputs_run(&how, &filled));
		ck_assert_uint_eq(filled.finished, filled.inputs);
		finished += filled.finished;
	}
	ck_assert_uint_eq(finished, PARTS_INPUTS);
	got = filling_state(cache);
	assert_same(&got, &want);
	fill_set_check(cache, &set);
	fill_set_check_order(cache, &set, 12);
	/* What a part has read is known from then on. */
	fill_set_write(set.paths[4], "another\n", 8);
	{
		const struct lc__inputs_fill how = how_to(cache, &set);

		assert_status(lc__inputs_run(&how, &filled), LC_STALE);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
		    "input s4.txt has another fingerprint"));
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- going on ------------------------------------------------------------------------- */

/* Stopped after every number of batches, again and again, with other numbers of
 * producers: the same order, and little is made twice. */
START_TEST(stopped_and_gone_on_with)
{
	struct fill_set set;
	lc_fill want, got;
	lc_cache *cache;
	unsigned runs = 0;
	lc_status status;

	fill_set_make(&set, ROWS(sizes), sizes);
	want = undisturbed(&set);
	cache = open_in(run_scratch());
	do {
		const struct lc__inputs_fill how = how_to(cache, &set);
		struct lc__inputs_filled filled;

		producers.children = 1 + runs % 4;
		start(run_seed() + runs);
		fake_produce.stop_after = 4 + runs % 9;
		status = lc__inputs_run(&how, &filled);
		ck_assert(status == LC_OK || status == LC_CANCELLED);
		/* What is lost is a chunk of each of those under way. */
		ck_assert_uint_le(heard.back - filled.stored,
		    (8 + 2) * 12);
		ck_assert_uint_lt(++runs, 500);
	} while (status != LC_OK);
	ck_assert_uint_gt(runs, 5);
	fill_set_check(cache, &set);
	fill_set_check_order(cache, &set, 12);
	got = filling_state(cache);
	assert_same(&got, &want);
	assert_ok(lc_close(cache));
}
END_TEST

/* Two at once: what one holds the other passes over, and takes at the end if it is
 * free then. */
static lc_writer *other;

static void
let_go_at_last(void *ctx, const struct lc__items *batch)
{
	static unsigned batches;

	(void)ctx;
	(void)batch;
	if (++batches == 20) {
		lc_writer_close(other);
		other = NULL;
	}
}

START_TEST(held_by_others)
{
	struct fill_set set;
	lc_fill want, got;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;

	fill_set_make(&set, ROWS(sizes), sizes);
	want = undisturbed(&set);
	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	producers.children = 2;
	/* Another one has declared, and holds two of them. */
	start(run_seed());
	fake_produce.stop_after = 1;
	assert_status(lc__inputs_run(&how, &filled), LC_CANCELLED);
	assert_ok(lc_writer_open(cache, "s3.txt", &other));
	start(run_seed());
	how = how_to(cache, &set);
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_uint_eq(filled.left, 1);
	ck_assert_uint_eq(filled.finished, 6);
	got = filling_state(cache);
	ck_assert_int_eq(got.final, 0);
	ck_assert_uint_eq(got.finished, 6);
	lc_writer_close(other);
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_uint_eq(filled.left, 0);
	ck_assert_uint_eq(filled.stored, 37);
	got = filling_state(cache);
	assert_same(&got, &want);
	assert_ok(lc_close(cache));

	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	start(run_seed());
	fake_produce.stop_after = 1;
	assert_status(lc__inputs_run(&how, &filled), LC_CANCELLED);
	assert_ok(lc_writer_open(cache, "s3.txt", &other));
	start(run_seed());
	fake_produce.back = let_go_at_last;
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_ptr_null(other);
	ck_assert_uint_eq(filled.left, 0);
	ck_assert_uint_eq(filled.finished, 7);
	got = filling_state(cache);
	assert_same(&got, &want);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- what fails ------------------------------------------------------------------------ */

/* Items whose line says so fail. */
static lc_value *
fail_some(void *ctx, const struct lc__item *item, const char **why)
{
	(void)ctx;
	if (memmem(item->payload.data, item->payload.size, "BAD", 3) == NULL)
		return fake_value(item);
	*why = "it is BAD";
	return NULL;
}

/* 20 lines in each of two shards; these of the first are bad. */
static void
make_bad_set(struct fill_set *set, const bool bad[20])
{
	struct lc__buf text = { 0 };
	static const unsigned lines[] = { 20, 20 };

	fill_set_make(set, 2, lines);
	for (unsigned i = 0; i < 20; i++)
		lc__buf_printf(&text, "%s %u\n", bad[i] ? "BAD" : "good", i);
	fill_set_write("s0.txt", text.data, text.size);
	lc__buf_free(&text);
}

static const struct {
	unsigned bad[4]; /* lines; 99 for none */
	unsigned chunks; /* committed of that input, without skip_failed */
	const char *ids; /* of its records in order, with skip_failed: the chunks' ends as | */
} failing[] = {
	{ { 0, 99, 99, 99 }, 0, "1 2 3 4 5 6 7|8 9 10 11 12 13 14|15 16 17 18 19|" },
	{ { 6, 99, 99, 99 }, 0, "0 1 2 3 4 5 7|8 9 10 11 12 13 14|15 16 17 18 19|" },
	{ { 7, 99, 99, 99 }, 1, "0 1 2 3 4 5 6|8 9 10 11 12 13 14|15 16 17 18 19|" },
	{ { 19, 99, 99, 99 }, 2, "0 1 2 3 4 5 6|7 8 9 10 11 12 13|14 15 16 17 18|" },
	{ { 3, 4, 13, 19 }, 0, "0 1 2 5 6 7 8|9 10 11 12 14 15 16|17 18|" },
};

static void
describe(lc_cache *cache, char *out, size_t room)
{
	uint64_t chunk = 0;
	lc_iter *iter;
	lc_item item;

	*out = '\0';
	assert_ok(lc_iter_open(cache, LC_BY_COMMIT, "s0.txt:", 7, &iter));
	while (lc_iter_next(iter, &item) == LC_OK) {
		const size_t used = strlen(out);

		snprintf(out + used, room - used, "%s%.*s", chunk == 0 ? "" :
		    chunk == item.chunk ? " " : "|", (int)item.id.size - 7,
		    (const char *)item.id.data + 7);
		chunk = item.chunk;
	}
	if (chunk != 0)
		strcat(out, "|");
	lc_iter_close(iter);
}

START_TEST(an_input_stops)
{
	bool bad[20] = { false };
	struct fill_set set;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;
	char got[200], path[300];
	lc_fill state;

	for (unsigned i = 0; i < 4; i++)
		if (failing[_i].bad[i] < 20)
			bad[failing[_i].bad[i]] = true;
	make_bad_set(&set, bad);
	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	how.chunk = 7;
	producers.children = 3;
	start(run_seed());
	fake_produce.make = fail_some;
	snprintf(path, sizeof(path), "%s/failures", set.dir);
	assert_ok(lc__failures_open(path, true, &how.failures));
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_uint_eq(lc__failures_count(how.failures), filled.failed);
	assert_ok(lc__failures_close(how.failures));
	how.failures = NULL;
	ck_assert_uint_ge(filled.failed, 1);
	ck_assert_uint_eq(filled.stopped, 1);
	ck_assert_uint_eq(filled.unread, 0);
	ck_assert_uint_eq(filled.finished, 1);
	ck_assert_uint_eq(filled.stored, 20 + 7 * failing[_i].chunks);
	ck_assert_str_eq(heard.why, "s0.txt|it is BAD");
	/* The other input is whole. */
	for (unsigned i = 0; i < 20; i++)
		fill_set_check_line(cache, &set, 1, i);
	/* Its producer can do it by now: the same command goes on. */
	start(run_seed());
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_uint_eq(filled.stored, 20 - 7 * failing[_i].chunks);
	ck_assert_uint_eq(filled.finished, 2);
	describe(cache, got, sizeof(got));
	ck_assert_str_eq(got, "0 1 2 3 4 5 6|7 8 9 10 11 12 13|14 15 16 17 18 19|");
	state = filling_state(cache);
	ck_assert_int_eq(state.final, 1);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(what_fails_is_left_out)
{
	bool bad[20] = { false };
	unsigned n = 0;
	struct fill_set set;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;
	char got[200];

	for (unsigned i = 0; i < 4; i++)
		if (failing[_i].bad[i] < 20) {
			bad[failing[_i].bad[i]] = true;
			n++;
		}
	make_bad_set(&set, bad);
	for (unsigned children = 1; children < 6; children += 2) {
		cache = open_in(run_scratch());
		how = how_to(cache, &set);
		how.chunk = 7;
		how.skip_failed = true;
		producers.children = children;
		start(children == 1 ? 0 : run_seed());
		fake_produce.make = fail_some;
		assert_ok(lc__inputs_run(&how, &filled));
		ck_assert_uint_eq(filled.failed, n);
		ck_assert_uint_eq(heard.failed, n);
		ck_assert_uint_eq(filled.stored, 40 - n);
		ck_assert_uint_eq(filled.finished, 2);
		describe(cache, got, sizeof(got));
		ck_assert_str_eq(got, failing[_i].ids);
		/* For good. */
		start(run_seed());
		assert_ok(lc__inputs_run(&how, &filled));
		ck_assert_uint_eq(filled.items, 0);
		assert_ok(lc_close(cache));
	}
}
END_TEST

/* ---- bad lines --------------------------------------------------------------------------- */

static void
make_jsonl(struct fill_set *set, const char *text)
{
	fill_set_make(set, 1, (const unsigned[]){ 0 });
	strcpy(set->paths[0], "s0.txt");
	fill_set_write("s0.txt", text, strlen(text));
	set->shards[0].kind = LC__SHARD_JSONL;
}

START_TEST(bad_lines)
{
	struct fill_set set;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;
	char got[200];

	make_jsonl(&set, "{\"a\":1}\n{\"a\":2}\n\n{\"a\":3}\n{\"a\":}\n{\"a\":4}\nx\n"
	    "{\"a\":5}\ny\n");
	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	how.chunk = 2;
	how.batch = 1;
	producers.children = 3;
	start(run_seed());
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_uint_eq(filled.stored, 2);
	ck_assert_uint_eq(filled.bad, 1);
	ck_assert_uint_eq(filled.failed, 0);
	ck_assert_uint_eq(filled.stopped, 1);
	ck_assert_uint_eq(filled.unread, 1);
	ck_assert_str_eq(heard.why, "s0.txt|s0.txt: line 5: column 6: a value is "
	    "missing");
	how = how_to(cache, &set);
	how.chunk = 2;
	how.skip_failed = true;
	start(run_seed());
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_uint_eq(filled.stored, 3);
	ck_assert_uint_eq(filled.bad, 3);
	ck_assert_uint_eq(heard.failed, 3);
	ck_assert_uint_eq(filled.finished, 1);
	ck_assert_uint_eq(filled.shard_done, filled.shard_bytes);
	describe(cache, got, sizeof(got));
	ck_assert_str_eq(got, "0 1|3 5|7|");
	assert_ok(lc_close(cache));
}
END_TEST

/* The id is the line's text; those that end in "!" are no good. */
static lc_status
name_by_text(void *ctx, const struct lc__inputs_shard *shard,
    const struct lc__line *line, struct lc__buf *out)
{
	(void)ctx;
	(void)shard;
	if (line->size > 0 && line->data[line->size - 1] == '!')
		return lc__error(LC_INVALID, 0, "not that one");
	lc__buf_append(out, line->data, line->size);
	return LC_OK;
}

START_TEST(ids_of_lines)
{
	struct fill_set set;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;
	static const char *const ids[] = { "ant", "bee", "cat", "dog", "eel" };
	uint64_t count;

	fill_set_make(&set, 1, (const unsigned[]){ 0 });
	/* Twice in a chunk, twice in the module, no id, an empty one. */
	fill_set_write("s0.txt", "ant\nbee\nant\ncat\nbee\ndog!\n\neel\ndog", 33);
	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	how.name = name_by_text;
	how.chunk = 3;
	how.batch = 2;
	how.skip_failed = true;
	start(run_seed());
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_uint_eq(filled.failed, 2);
	ck_assert_uint_eq(filled.bad, 2);
	ck_assert_uint_eq(filled.stored, 5);
	ck_assert_uint_eq(filled.finished, 1);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, 5);
	for (int i = 0; i < ROWS(ids); i++)
		assert_ok(lc_contains(cache, ids[i], strlen(ids[i])));
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- chunks by size -------------------------------------------------------------------- */

/* Some MiB, as the line says. */
static lc_value *
make_large(void *ctx, const struct lc__item *item, const char **why)
{
	const uint64_t size = strtoull(item->payload.data, NULL, 10) << 20;
	unsigned char *bytes = calloc(1, size + 1);
	lc_tensor tensor;
	lc_value *value, *copy;

	(void)ctx;
	(void)why;
	need(bytes != NULL);
	need_ok(lc_tensor_init(&tensor, LC_U8, 1, &size, bytes));
	value = lc_value_tensor(&tensor);
	copy = lc_value_copy(value);
	lc_value_free(value);
	free(bytes);
	return copy;
}

START_TEST(chunks_end_by_size)
{
	/* In MiB: at 64 a chunk ends; before 200 it does with more than 56 there. */
	static const char text[] = "30\n30\n4\n1\n60\n200\n1\n1\n";
	struct fill_set set;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;
	lc_settings settings = { .struct_size = sizeof(settings) };
	char got[200];

	fill_set_make(&set, 1, (const unsigned[]){ 0 });
	fill_set_write("s0.txt", text, sizeof(text) - 1);
	cache = open_in(run_scratch());
	/* However small they are stored. */
	assert_ok(lc_settings_get(cache, &settings));
	settings.codec = LC_CODEC_LZ4;
	assert_ok(lc_settings_set(cache, &settings));
	how = how_to(cache, &set);
	how.batch = 1;
	producers = (struct lc__producers){ .children = 1 };
	start(0);
	fake_produce.make = make_large;
	assert_ok(lc__inputs_run(&how, &filled));
	describe(cache, got, sizeof(got));
	ck_assert_str_eq(got, "0 1 2|3 4|5|6 7|");
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- shards that are not what they were ------------------------------------------------ */

START_TEST(changed_shards)
{
	struct fill_set set;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;
	uint64_t count;

	fill_set_make(&set, 2, sizes);
	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	start(0);
	fake_produce.stop_after = 5;
	assert_status(lc__inputs_run(&how, &filled), LC_CANCELLED);
	/* Another list of them. */
	how.n = 1;
	start(0);
	assert_status(lc__inputs_run(&how, &filled), LC_INVALID);
	how.n = 2;
	/* One of them is gone, then it is another one. */
	ck_assert_int_eq(rename("s1.txt", "kept"), 0);
	assert_status(lc__inputs_run(&how, &filled), LC_NO_FILE);
	fill_set_write("s1.txt", "other\n", 6);
	assert_status(lc__inputs_run(&how, &filled), LC_STALE);
	ck_assert_int_eq(rename("kept", "s1.txt"), 0);
	assert_ok(lc__inputs_run(&how, &filled));
	fill_set_check(cache, &set);
	assert_ok(lc_close(cache));

	/* A module of plain puts. */
	cache = sample_open(run_scratch(), "m", NULL);
	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	how.cache = cache;
	assert_status(lc__inputs_run(&how, &filled), LC_INVALID);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, 1);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(dry_runs)
{
	struct fill_set set;
	lc_cache *cache;
	struct lc__inputs_fill how;
	struct lc__inputs_filled filled;
	lc_fill before, after;
	uint64_t count;

	fill_set_make(&set, ROWS(sizes), sizes);
	cache = open_in(run_scratch());
	how = how_to(cache, &set);
	start(0);
	fake_produce.stop_after = 30;
	assert_status(lc__inputs_run(&how, &filled), LC_CANCELLED);
	before = filling_state(cache);
	how.dry_run = true;
	assert_ok(lc__inputs_run(&how, &filled));
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_gt(count, 0);
	ck_assert_uint_eq(filled.items, 424 - count);
	ck_assert_uint_eq(filled.stored + filled.bad, 0);
	after = filling_state(cache);
	ck_assert_uint_eq(before.committed, after.committed);
	how.cache = NULL;
	assert_ok(lc__inputs_run(&how, &filled));
	ck_assert_uint_eq(filled.items, 424);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fill_inputs");
	TCase *tcase = tcase_create("fill_inputs");

	tcase_set_timeout(tcase, 240);
	tcase_add_loop_test(tcase, all_lines_in_order, 0, 3);
	tcase_add_test(tcase, the_order_grows_all_the_time);
	tcase_add_test(tcase, batches_are_the_same);
	tcase_add_test(tcase, many_inputs);
	tcase_add_loop_test(tcase, parts_of_machines, 0, 4);
	tcase_add_loop_test(tcase, other_parts_go_on, 0, 5);
	tcase_add_test(tcase, stopped_and_gone_on_with);
	tcase_add_test(tcase, held_by_others);
	tcase_add_loop_test(tcase, an_input_stops, 0, ROWS(failing));
	tcase_add_loop_test(tcase, what_fails_is_left_out, 0, ROWS(failing));
	tcase_add_test(tcase, bad_lines);
	tcase_add_test(tcase, ids_of_lines);
	tcase_add_test(tcase, chunks_end_by_size);
	tcase_add_test(tcase, changed_shards);
	tcase_add_test(tcase, dry_runs);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
