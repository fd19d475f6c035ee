/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules with inputs as sources: the published order, how it grows, who waits. */
#include "run.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filling.h"
#include "need.h"
#include "sample.h"
#include "source_walk.h"

#define MOST_INPUTS 8

static lc_cache *
open_module(const char *root, const char *length_field)
{
	lc_options options = sample_options();
	lc_cache *cache;

	options.durability = LC_DURABLE_RELAXED;
	cache = sample_open(root, "m", &options);
	sample_set_length(cache, length_field);
	return cache;
}

static lc_source *
open_source(lc_cache *cache, const char *length_field)
{
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	options.length_field = length_field;
	need_ok(lc_source_open_module(cache, &options, &source));
	return source;
}

/* ---- the order ---------------------------------------------------------------------- */

/* What was committed of each input. */
struct filled {
	unsigned inputs;
	uint64_t chunks[MOST_INPUTS];
	bool finished[MOST_INPUTS];
};

static void
commit(lc_cache *cache, struct filled *f, unsigned input, unsigned n, bool finish)
{
	lc_writer *writer;

	need_ok(filling_open(cache, input, &writer));
	for (unsigned i = 0; i < n; i++)
		need_ok(filling_commit(writer, finish && i + 1 == n));
	f->chunks[input] += n;
	f->finished[input] = finish;
	lc_writer_close(writer);
}

/* Record by record what the round robin gives, up to where it depends on an input
 * that is not finished. */
struct expected {
	const struct filled *f;
	uint64_t round;
	unsigned input;
	unsigned record;
};

static bool
next_chunk(struct expected *e)
{
	unsigned passed = 0;

	for (; passed <= e->f->inputs; passed++, e->input++) {
		if (e->input == e->f->inputs) {
			e->input = 0;
			e->round++;
		}
		if (e->round < e->f->chunks[e->input])
			return true;
		if (!e->f->finished[e->input])
			return false;
	}
	return false;
}

/* The chunk at the cursor is the one that comes next. */
static void
expect_chunk(struct expected *e, struct lc__cursor *cursor,
    const struct lc__chunk_row *row)
{
	ck_assert(next_chunk(e));
	ck_assert_uint_eq(row->records, filling_records(e->input, e->round));
	for (unsigned i = 0; i < row->records; i++) {
		char want[64];
		const int size = snprintf(want, sizeof(want), "in%u:%" PRIu64 ":%u",
		    e->input, e->round, i);
		lc_tensor tensor;
		lc_id id;

		assert_ok(walk_read_one(cursor, i, &tensor, &id));
		ck_assert_uint_eq(id.size, (size_t)size);
		ck_assert_mem_eq(id.data, want, id.size);
		ck_assert(sample_is(&tensor, want, id.size, 1,
		    (struct sample_range){ 8, 120 }));
	}
	e->input++;
}

static void
expect_order(lc_source *source, const struct filled *f)
{
	struct lc__layout *layout = lc__source_layout(source);
	const lc_source_info *info = lc__layout_info(layout);
	struct lc__cursor *cursor = walk_cursor(source);
	struct expected e = { .f = f };
	uint64_t records = 0, units = 0;
	struct lc__chunk_row row;

	assert_ok(lc__cursor_begin(cursor));
	for (uint64_t p = 0; p < info->chunks; p++) {
		assert_ok(lc__layout_row(layout, p, &row));
		ck_assert_uint_eq(row.first_record, records);
		ck_assert_uint_eq(row.first_unit, units);
		assert_ok(lc__cursor_go(cursor, p));
		expect_chunk(&e, cursor, &row);
		for (uint64_t i = 0; i < row.records; i++)
			units += lc__cursor_units(cursor, i);
		records += row.records;
	}
	ck_assert(!next_chunk(&e));
	ck_assert_uint_eq(info->records, records);
	ck_assert_uint_eq(info->length, units);
	ck_assert_uint_eq(info->generation, info->chunks);
	lc__cursor_free(cursor);
	lc__layout_drop(layout);
}

static const char *const fields[] = { "", ".", "." };
static const char *const asked[] = { NULL, NULL, "." };

/* No lengths; the module's own; those of a field that it knows nothing of. */
START_TEST(the_published_order_is_followed)
{
	lc_cache *cache = open_module(run_scratch(), _i == 2 ? "" : fields[_i]);
	struct filled f = { .inputs = 4 };
	uint64_t random = run_seed();
	lc_source *source, *fresh;

	assert_ok(filling_declare(cache, 4));
	source = open_source(cache, asked[_i]);
	expect_order(source, &f);
	for (unsigned i = 0; i < 40; i++) {
		const unsigned input = (unsigned)(run_random(&random) % 4);

		if (f.finished[input])
			continue;
		commit(cache, &f, input, 1 + (unsigned)(run_random(&random) % 4),
		    run_random(&random) % 8 == 0);
		assert_ok(lc_source_refresh(source));
		expect_order(source, &f);
		ck_assert_int_eq(walk_info(source).has_lengths, _i > 0);
	}
	for (unsigned i = 0; i < 4; i++)
		if (!f.finished[i])
			commit(cache, &f, i, 1, true);
	assert_ok(lc_source_refresh(source));
	expect_order(source, &f);
	ck_assert(walk_info(source).final);
	fresh = open_source(cache, asked[_i]);
	expect_order(fresh, &f);
	ck_assert_uint_eq(walk_info(fresh).prefix_hash,
	    walk_info(source).prefix_hash);
	lc_source_close(fresh);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- many chunks --------------------------------------------------------------------- */

/* Where every record and unit is, by counting. */
static void
expect_found(struct lc__layout *layout, bool units)
{
	const lc_source_info info = *lc__layout_info(layout);
	const uint64_t n = units ? info.length : info.records;
	struct lc__chunk_row row, found;
	uint64_t i = 0, position;

	for (uint64_t p = 0; p < info.chunks; p++) {
		uint64_t end;

		assert_ok(lc__layout_row(layout, p, &row));
		end = units ? row.first_unit + row.units :
		    row.first_record + row.records;
		for (; i < end; i++) {
			assert_ok(units ?
			    lc__layout_find_unit(layout, i, &position, &found) :
			    lc__layout_find_record(layout, i, &position, &found));
			ck_assert_uint_eq(position, p);
			ck_assert_mem_eq(&found, &row, sizeof(row));
		}
	}
	ck_assert_uint_eq(i, n);
}

/* Several segments of rows, the last one cut anywhere; each time with rows that
 * nobody has looked at yet, and with rows that were read when there were fewer. */
START_TEST(rows_are_found_among_many)
{
	lc_cache *cache = open_module(run_scratch(), ".");
	struct filled f = { .inputs = 2 };
	uint64_t random = run_seed();
	lc_source *old;

	assert_ok(filling_declare(cache, 2));
	old = open_source(cache, NULL);
	for (unsigned round = 0; round < 4; round++) {
		const unsigned n = 100 + (unsigned)(run_random(&random) % 300);
		lc_source *fresh;
		struct lc__layout *layout;

		commit(cache, &f, 0, n, false);
		commit(cache, &f, 1, n, false);
		fresh = open_source(cache, NULL);
		for (int i = 0; i < 2; i++) {
			lc_source *source = i == 0 ? old : fresh;
			struct lc__chunk_row row;
			uint64_t position, unit;

			assert_ok(lc_source_refresh(source));
			layout = lc__source_layout(source);
			/* The first look goes anywhere. */
			unit = run_random(&random) % lc__layout_info(layout)->length;
			assert_ok(lc__layout_find_unit(layout, unit, &position,
			    &row));
			ck_assert(row.first_unit <= unit &&
			    unit < row.first_unit + row.units);
			expect_found(layout, true);
			expect_found(layout, false);
			lc__layout_drop(layout);
		}
		lc_source_close(fresh);
	}
	lc_source_close(old);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(earlier_generations_are_prefixes)
{
	lc_cache *cache = open_module(run_scratch(), ".");
	struct filled f = { .inputs = 1 };
	lc_source_info known[30], info;
	lc_source_options options;
	struct lc__layout *layout;
	lc_source *source, *early;

	assert_ok(filling_declare(cache, 1));
	source = open_source(cache, NULL);
	for (unsigned i = 0; i < 30; i++) {
		known[i] = walk_info(source);
		commit(cache, &f, 0, 1, i == 29);
		assert_ok(lc_source_refresh(source));
	}
	lc_source_options_init(&options);
	for (unsigned i = 0; i < 30; i++) {
		assert_ok(lc__source_layout_at(source, i, &layout));
		ck_assert_mem_eq(lc__layout_info(layout), &known[i],
		    sizeof(known[i]));
		lc__layout_drop(layout);
		options.generation = i;
		assert_ok(lc_source_open_module(cache, &options, &early));
		info = walk_info(early);
		ck_assert(info.final);
		info.final = 0;
		ck_assert_mem_eq(&info, &known[i], sizeof(info));
		lc_source_close(early);
	}
	options.generation = 31;
	assert_status(lc_source_open_module(cache, &options, &early),
	    LC_NOT_FOUND);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- cleared and filled again ---------------------------------------------------------- */

/* The token behind the second batch of a source; or go on with one, and say how that
 * went. */
static lc_status
go_on(lc_source *source, const void *token, unsigned char out[LC_TOKEN_SIZE])
{
	lc_stream_options options;
	lc_stream *stream;
	lc_status status;

	lc_stream_options_init(&options);
	options.batch = 3;
	options.token = token;
	status = lc_stream_open(&source, 1, &options, &stream);
	if (status != LC_OK)
		return status;
	need_ok(lc_stream_token(stream, 2, out));
	lc_stream_close(stream);
	return LC_OK;
}

START_TEST(the_same_again_is_the_same_order)
{
	unsigned char token[LC_TOKEN_SIZE], again[LC_TOKEN_SIZE];
	lc_cache *cache = open_module(run_scratch(), "");
	struct filled f = { .inputs = 2 };
	struct lc__cursor *cursor;
	lc_source_info before, after;
	lc_source *source;

	assert_ok(filling_declare(cache, 2));
	commit(cache, &f, 0, 5, true);
	commit(cache, &f, 1, 5, true);
	source = open_source(cache, NULL);
	expect_order(source, &f);
	before = walk_info(source);
	assert_ok(go_on(source, NULL, token));
	cursor = walk_cursor(source);
	assert_ok(lc_clear(cache));
	assert_status(lc_source_refresh(source), LC_CHANGED);
	f = (struct filled){ .inputs = 2 };
	assert_ok(filling_declare(cache, 2));
	/* In another order of commits, which must not matter. */
	commit(cache, &f, 1, 5, true);
	assert_status(lc_source_refresh(source), LC_CHANGED);
	commit(cache, &f, 0, 5, true);
	/* What stands on the old chunks does not read others for them. */
	assert_ok(lc__cursor_begin(cursor));
	assert_status(lc__cursor_go(cursor, 3), LC_CHANGED);
	lc__cursor_free(cursor);
	assert_ok(lc_source_refresh(source));
	after = walk_info(source);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	assert_ok(go_on(source, token, again));
	ck_assert_mem_eq(token, again, sizeof(token));
	expect_order(source, &f);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(something_else_is_another_order)
{
	lc_cache *cache = open_module(run_scratch(), "");
	struct filled f = { .inputs = 2 };
	struct lc__layout *layout;
	struct lc__chunk_row row;
	lc_source *source;

	assert_ok(filling_declare(cache, 2));
	commit(cache, &f, 0, 5, true);
	commit(cache, &f, 1, 5, true);
	source = open_source(cache, NULL);
	layout = lc__source_layout(source);
	assert_ok(lc_clear(cache));
	f = (struct filled){ .inputs = 3 };
	assert_ok(filling_declare(cache, 3));
	for (unsigned i = 0; i < 3; i++)
		commit(cache, &f, i, 5, true);
	assert_status(lc_source_refresh(source), LC_CHANGED);
	/* Rows that were not read before are not taken from the new order. */
	assert_status(lc__layout_row(layout, 3, &row), LC_CHANGED);
	lc__layout_drop(layout);
	lc_source_close(source);
	source = open_source(cache, NULL);
	expect_order(source, &f);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* Coding chunks anew changes their bytes, and nothing else. */
START_TEST(recoding_changes_nothing)
{
	lc_cache *cache = open_module(run_scratch(), ".");
	struct filled f = { .inputs = 2 };
	struct lc__cursor *cursor;
	lc_compact_options options;
	lc_source_info before, after;
	lc_source *source;
	lc_tensor tensor;
	lc_id id;

	assert_ok(filling_declare(cache, 2));
	commit(cache, &f, 0, 20, true);
	commit(cache, &f, 1, 20, true);
	source = open_source(cache, NULL);
	before = walk_info(source);
	cursor = walk_cursor(source);
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 7));
	assert_ok(walk_read_one(cursor, 0, &tensor, &id));
	lc__cursor_end(cursor);
	lc_compact_options_init(&options);
	options.recode = LC_CODEC_LZ4;
	assert_ok(lc_compact(cache, &options, NULL));
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 7));
	assert_ok(walk_read_one(cursor, 0, &tensor, &id));
	lc__cursor_free(cursor);
	expect_order(source, &f);
	assert_ok(lc_source_refresh(source));
	after = walk_info(source);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- waiting ----------------------------------------------------------------------------- */

START_TEST(nobody_writes)
{
	lc_cache *cache = open_module(run_scratch(), "");
	struct filled f = { .inputs = 2 };
	lc_writer *writer;
	lc_source *source;

	assert_ok(filling_declare(cache, 2));
	source = open_source(cache, NULL);
	assert_status(lc_source_wait(source, 1, UINT64_MAX), LC_ABANDONED);
	assert_ok(filling_open(cache, 0, &writer));
	assert_status(lc_source_wait(source, 1, 0), LC_TIMEOUT);
	lc_writer_close(writer);
	commit(cache, &f, 0, 1, true);
	assert_ok(lc_source_wait(source, 1, 0));
	assert_status(lc_source_wait(source, 100, UINT64_MAX), LC_ABANDONED);
	assert_ok(lc_inputs_finish(cache));
	assert_status(lc_source_wait(source, 100, UINT64_MAX), LC_END);
	ck_assert(walk_info(source).final);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

struct writing {
	const char *root;
	lc_cache *cache;
	lc_writer *writer;
	unsigned chunks;
	int ready[2], done[2]; /* pipes */
};

static void *
write_and_leave(void *arg)
{
	struct writing *w = arg;

	for (unsigned i = 0; i < w->chunks; i++)
		need_ok(filling_commit(w->writer, i + 1 == w->chunks));
	lc_writer_close(w->writer);
	return NULL;
}

/* However the last commit, the end of the claim and the looks fall together. */
START_TEST(a_writer_that_finishes_is_never_missed)
{
	for (unsigned round = 0; round < 30; round++) {
		struct writing w = { .chunks = 1 + round % 4 };
		lc_source *source;
		uint64_t total = 0;
		pthread_t thread;

		w.cache = open_module(run_scratch(), "");
		assert_ok(filling_declare(w.cache, 1));
		assert_ok(filling_open(w.cache, 0, &w.writer));
		source = open_source(w.cache, NULL);
		for (unsigned i = 0; i < w.chunks; i++)
			total += filling_records(0, i);
		ck_assert_int_eq(pthread_create(&thread, NULL, write_and_leave, &w),
		    0);
		if (round % 2)
			assert_ok(lc_source_wait(source, total, UINT64_MAX));
		else
			assert_status(lc_source_wait(source, total + 1, UINT64_MAX),
			    LC_END);
		pthread_join(thread, NULL);
		ck_assert_uint_eq(walk_info(source).records, total);
		lc_source_close(source);
		assert_ok(lc_close(w.cache));
	}
}
END_TEST

/* Commit, tell, and stay until killed. */
static void
write_and_stay(void *arg)
{
	struct writing *w = arg;
	lc_cache *cache = open_module(w->root, "");
	char byte = 0;

	need_ok(filling_open(cache, 0, &w->writer));
	need_ok(filling_commit(w->writer, 0));
	need(write(w->ready[1], &byte, 1) == 1);
	for (;;)
		pause();
}

START_TEST(a_killed_writer_is_told)
{
	struct writing w = { .root = run_scratch() };
	lc_source *source;
	lc_cache *cache;
	pid_t child;
	char byte;

	cache = open_module(w.root, "");
	assert_ok(filling_declare(cache, 1));
	assert_ok(lc_close(cache));
	ck_assert_int_eq(pipe(w.ready), 0);
	child = child_start(write_and_stay, &w);
	cache = open_module(w.root, "");
	source = open_source(cache, NULL);
	ck_assert_int_eq((int)read(w.ready[0], &byte, 1), 1);
	assert_ok(lc_source_wait(source, 1, UINT64_MAX));
	assert_status(lc_source_wait(source, 1000, 0), LC_TIMEOUT);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(child_wait(child), 128 + SIGKILL);
	assert_status(lc_source_wait(source, 1000, UINT64_MAX), LC_ABANDONED);
	lc_source_close(source);
	assert_ok(lc_close(cache));
	close(w.ready[0]);
	close(w.ready[1]);
}
END_TEST

/* ---- forked ---------------------------------------------------------------------------------- */

struct forked {
	lc_source *source;
	struct lc__cursor *cursor;
	const struct filled *f;
};

/* The parent's source and its cursor serve the child too. */
static void
read_in_child(void *arg)
{
	const struct forked *forked = arg;
	const uint64_t chunks = walk_info(forked->source).chunks;
	lc_tensor tensor;
	lc_id id;

	need(chunks == forked->f->chunks[0]);
	need_ok(lc__cursor_begin(forked->cursor));
	for (uint64_t p = 0; p < chunks; p++) {
		need_ok(lc__cursor_go(forked->cursor, p));
		need_ok(walk_read_one(forked->cursor, 0, &tensor, &id));
		need(sample_is(&tensor, id.data, id.size, 1,
		    (struct sample_range){ 8, 120 }));
	}
	lc__cursor_end(forked->cursor);
	need_ok(lc_source_refresh(forked->source));
	need(walk_info(forked->source).final);
}

START_TEST(a_forked_child_reads_on)
{
	lc_cache *cache = open_module(run_scratch(), ".");
	struct filled f = { .inputs = 1 };
	struct forked forked = { .f = &f };
	struct lc__pin *pin;
	lc_tensor tensor;
	lc_id id;

	assert_ok(filling_declare(cache, 1));
	commit(cache, &f, 0, 20, true);
	forked.source = open_source(cache, NULL);
	forked.cursor = walk_cursor(forked.source);
	assert_ok(lc__cursor_begin(forked.cursor));
	assert_ok(lc__cursor_go(forked.cursor, 3));
	assert_ok(walk_read_one(forked.cursor, 0, &tensor, &id));
	assert_ok(lc__cursor_pin(forked.cursor, &pin));
	ck_assert_int_eq(child_run(read_in_child, &forked), 0);
	ck_assert(sample_is(&tensor, id.data, id.size, 1,
	    (struct sample_range){ 8, 120 }));
	lc__pin_drop(pin);
	expect_order(forked.source, &f);
	lc__cursor_free(forked.cursor);
	lc_source_close(forked.source);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- many threads ------------------------------------------------------------------------- */

struct looking {
	lc_source *source;
	uint64_t seed;
};

static void *
look_everywhere(void *arg)
{
	const struct looking *l = arg;
	uint64_t random = l->seed;

	for (unsigned round = 0; round < 60; round++) {
		struct lc__layout *layout = lc__source_layout(l->source);
		const uint64_t records = lc__layout_info(layout)->records;

		for (unsigned k = 0; records > 0 && k < 40; k++) {
			const uint64_t i = run_random(&random) % records;
			struct lc__chunk_row row, again;
			uint64_t position;

			need_ok(lc__layout_find_record(layout, i, &position, &row));
			need(row.first_record <= i);
			need(i < row.first_record + row.records);
			need_ok(lc__layout_row(layout, position, &again));
			need(memcmp(&row, &again, sizeof(row)) == 0);
		}
		lc__layout_drop(layout);
		need_ok(lc_source_refresh(l->source));
	}
	return NULL;
}

START_TEST(many_threads_look_while_it_grows)
{
	struct writing w = { .chunks = 1200 };
	struct looking looking[3];
	pthread_t threads[3], writer;
	lc_source *source;

	w.cache = open_module(run_scratch(), "");
	assert_ok(filling_declare(w.cache, 1));
	assert_ok(filling_open(w.cache, 0, &w.writer));
	source = open_source(w.cache, NULL);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_and_leave, &w), 0);
	for (unsigned i = 0; i < 3; i++) {
		looking[i] = (struct looking){ source, run_seed() + i };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, look_everywhere,
		    &looking[i]), 0);
	}
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	pthread_join(writer, NULL);
	assert_ok(lc_source_refresh(source));
	ck_assert_uint_eq(walk_info(source).chunks, 1200);
	ck_assert(walk_info(source).final);
	lc_source_close(source);
	assert_ok(lc_close(w.cache));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("source_order");
	TCase *t = tcase_create("inputs");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, the_published_order_is_followed, 0, 3);
	tcase_add_test(t, rows_are_found_among_many);
	tcase_add_test(t, earlier_generations_are_prefixes);
	tcase_add_test(t, the_same_again_is_the_same_order);
	tcase_add_test(t, something_else_is_another_order);
	tcase_add_test(t, recoding_changes_nothing);
	tcase_add_test(t, nobody_writes);
	tcase_add_test(t, a_writer_that_finishes_is_never_missed);
	tcase_add_test(t, a_killed_writer_is_told);
	tcase_add_test(t, a_forked_child_reads_on);
	tcase_add_test(t, many_threads_look_while_it_grows);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
