/* SPDX-License-Identifier: BSD-2-Clause */
/* Sources, streams, readers, batches and writers that are used and closed after what they
 * were made of. */
#include "run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filling.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define RECORDS 60u
#define BATCH 16u
#define WIDTH 4u

/* ---- what is made ------------------------------------------------------------------ */

enum kind { MODULE, PART, JOIN, LIST, EXPORT, KINDS };

/* In the order in which they are made. */
enum part { HANDLE, SOURCE, STREAM, READER, BATCHES, VIEW, PARTS };

struct chain {
	enum kind kind;
	const char *root;
	lc_cache *cache, *other; /* handles; the other one is of the partner of a join */
	lc_source *source;
	lc_stream *stream;
	lc_reader *reader;
	const lc_batch *batch; /* detached, with views */
	lc_view view;
	uint64_t records;
	bool open[PARTS];
};

static lc_cache *
open_module(const char *root, const char *module)
{
	lc_options options = sample_options();

	options.durability = LC_DURABLE_RELAXED;
	return sample_open(root, module, &options);
}

static void
make_module(const char *root, const char *module)
{
	const uint64_t shape[1] = { WIDTH };
	lc_cache *cache = open_module(root, module);

	for (unsigned i = 0; i < RECORDS; i++) {
		const float row[WIDTH] = { (float)i, (float)i, (float)i, (float)i };
		lc_tensor tensor;
		char id[16];

		need_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, row));
		need_ok(lc_put(cache, id, (size_t)sprintf(id, "%u", i), &tensor));
		if (i % 7 == 6)
			need_ok(lc_flush(cache));
	}
	need_ok(lc_close(cache));
}

static const char *
make_root(void)
{
	const char *root = run_scratch();
	lc_cache *cache;
	char dir[600];

	make_module(root, "m");
	make_module(root, "partner");
	cache = open_module(root, "m");
	snprintf(dir, sizeof(dir), "%s/shards", root);
	need_ok(lc_export(cache, dir, NULL, NULL));
	need_ok(lc_close(cache));
	return root;
}

static void
open_source(struct chain *c)
{
	lc_source_options options;
	char dir[600];

	lc_source_options_init(&options);
	switch (c->kind) {
	case PART:
		options.split = "a=0.5,b=0.5";
		options.part = "a";
		/* fall through */
	case MODULE:
		need_ok(lc_source_open_module(c->cache, &options, &c->source));
		return;
	case JOIN: {
		const lc_join modules[2] = { { "m", c->cache }, { "p", c->other } };

		need_ok(lc_source_open_join(modules, 2, LC_MISSING_REFUSE, &options,
		    &c->source));
		return;
	}
	case LIST: {
		lc_source *halves[2];

		options.split = "a=0.5,b=0.5";
		options.part = "a";
		need_ok(lc_source_open_module(c->cache, &options, &halves[0]));
		options.part = "b";
		need_ok(lc_source_open_module(c->cache, &options, &halves[1]));
		need_ok(lc_source_open_list(halves, 2, &c->source));
		lc_source_close(halves[0]);
		lc_source_close(halves[1]);
		return;
	}
	default:
		snprintf(dir, sizeof(dir), "%s/shards", c->root);
		need_ok(lc_source_open_shards(dir, &options, &c->source));
	}
}

static void
make_chain(struct chain *c, const char *root, enum kind kind, unsigned threads)
{
	lc_source_info info = { .struct_size = sizeof(info) };
	lc_stream_options stream;
	lc_reader_options reader;

	*c = (struct chain){ .kind = kind, .root = root };
	c->cache = open_module(root, "m");
	if (kind == JOIN)
		c->other = open_module(root, "partner");
	open_source(c);
	need_ok(lc_source_info_get(c->source, &info));
	c->records = info.records;
	lc_stream_options_init(&stream);
	stream.batch = BATCH;
	need_ok(lc_stream_open(&c->source, 1, &stream, &c->stream));
	lc_reader_options_init(&reader);
	reader.threads = threads;
	reader.views = 1;
	need_ok(lc_reader_open(c->stream, &reader, &c->reader));
	need_ok(lc_reader_next(c->reader, &c->batch));
	need_ok(lc_batch_detach(c->batch));
	if (kind != JOIN)
		need_ok(lc_source_get(c->source, 1, &c->view));
	for (unsigned part = 0; part < PARTS; part++)
		c->open[part] = true;
}

/* ---- using what is open ---------------------------------------------------------------- */

static void
check_batch(const struct chain *c, const lc_batch *batch)
{
	need(batch->n_fields == (c->kind == JOIN ? 2 : 1));
	for (size_t f = 0; f < batch->n_fields; f++)
		for (size_t i = 0; i < batch->filled; i++) {
			const float *row = batch->fields[f].rows[i];
			char id[16];

			need(row[0] == row[WIDTH - 1] && row[0] < RECORDS);
			need((size_t)sprintf(id, "%.0f", (double)row[0]) ==
			    batch->ids[i].size);
			need(memcmp(id, batch->ids[i].data, batch->ids[i].size) == 0);
		}
}

static void
use(struct chain *c)
{
	if (c->open[SOURCE]) {
		lc_source_info info = { .struct_size = sizeof(info) };
		char id[16];
		size_t size;

		need_ok(lc_source_refresh(c->source));
		need_ok(lc_source_info_get(c->source, &info));
		need(info.records == c->records);
		need_ok(lc_source_id(c->source, c->records - 1, id, sizeof(id), &size));
		need(size > 0 && size <= 2);
	}
	if (c->open[STREAM]) {
		lc_stream_info info = { .struct_size = sizeof(info) };
		char token[LC_TOKEN_SIZE];

		need_ok(lc_stream_info_get(c->stream, &info));
		need(info.examples == c->records);
		need_ok(lc_stream_token(c->stream, 1, token));
	}
	if (c->open[READER]) {
		const lc_batch *batch;

		need_ok(lc_reader_read(c->reader, 1, &batch));
		check_batch(c, batch);
		lc_batch_release(batch);
	}
	if (c->open[BATCHES])
		check_batch(c, c->batch);
	if (c->open[VIEW] && c->kind != JOIN) {
		const float *row = c->view.tensor.data;

		need(c->view.tensor.nbytes == WIDTH * sizeof(float));
		need(row[0] >= 1 && row[0] == row[WIDTH - 1]);
	}
}

static void
close_part(struct chain *c, unsigned part, bool discard)
{
	c->open[part] = false;
	switch (part) {
	case HANDLE:
		if (discard)
			lc_discard(c->cache);
		else
			need_ok(lc_close(c->cache));
		need_ok(lc_close(c->other));
		return;
	case SOURCE: lc_source_close(c->source); return;
	case STREAM: lc_stream_close(c->stream); return;
	case READER: lc_reader_close(c->reader); return;
	case BATCHES: lc_batch_release(c->batch); return;
	default: lc_view_release(&c->view);
	}
}

/* Does anything that is open need the module? */
static bool
is_busy(const struct chain *c)
{
	bool open = false;

	for (unsigned part = SOURCE; part < PARTS; part++)
		open = open || (c->open[part] && (part != VIEW || c->kind != JOIN));
	return c->open[HANDLE] || (c->kind != EXPORT && open);
}

static lc_status
try_shrink(const char *root)
{
	return lc_shrink(root, "m", NULL, NULL);
}

/* ---- every order ------------------------------------------------------------------------- */

START_TEST(every_order)
{
	const char *root = make_root();
	unsigned orders = 1;

	for (unsigned n = 2; n <= PARTS; n++)
		orders *= n;
	for (unsigned code = 0; code < orders; code++) {
		unsigned left[PARTS], rest = code;
		struct chain c;

		/* All orders with the first threads, every seventh with the others. */
		if (_i / KINDS > 0 && code % 7 != 0)
			continue;
		make_chain(&c, root, (enum kind)(_i % KINDS), (unsigned)(_i / KINDS));
		for (unsigned i = 0; i < PARTS; i++)
			left[i] = i;
		for (unsigned n = PARTS; n > 0; n--) {
			const unsigned at = rest % n, chosen = left[at];

			rest /= n;
			memmove(&left[at], &left[at + 1], (n - at - 1) * sizeof(*left));
			use(&c);
			close_part(&c, chosen, code % 2);
			if (code % 5 == 0)
				assert_status(try_shrink(root),
				    is_busy(&c) ? LC_BUSY : LC_OK);
		}
		if (code % 5 == 1)
			assert_ok(try_shrink(root));
	}
	assert_ok(lc_drop(root, "m"));
}
END_TEST

/* Only the source is left, and the module is opened again beside it and grows. */
START_TEST(a_source_of_a_closed_handle_grows)
{
	const char *root = make_root();
	lc_source_info info = { .struct_size = sizeof(info) };
	const float row[WIDTH] = { 1, 1, 1, 1 };
	const uint64_t shape[1] = { WIDTH };
	lc_tensor tensor;
	lc_source *source;
	lc_cache *cache;
	lc_view view;

	assert_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, row));
	cache = open_module(root, "m");
	assert_ok(lc_source_open_module(cache, NULL, &source));
	assert_ok(lc_close(cache));
	cache = open_module(root, "m");
	assert_ok(lc_put(cache, "new", 3, &tensor));
	assert_ok(lc_close(cache));
	assert_ok(lc_source_refresh(source));
	assert_ok(lc_source_info_get(source, &info));
	ck_assert_uint_eq(info.records, RECORDS + 1);
	assert_ok(lc_source_get(source, RECORDS, &view));
	ck_assert_mem_eq(view.tensor.data, row, sizeof(row));
	lc_source_close(source);
	ck_assert_mem_eq(view.tensor.data, row, sizeof(row));
	assert_status(lc_drop(root, "m"), LC_BUSY);
	lc_view_release(&view);
	assert_ok(lc_drop(root, "m"));
}
END_TEST

/* ---- writers ------------------------------------------------------------------------------- */

START_TEST(a_writer_of_a_closed_handle)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m");
	lc_writer *writers[2];
	uint64_t n;

	assert_ok(filling_declare(cache, 2));
	assert_ok(filling_open(cache, 0, &writers[0]));
	assert_ok(filling_open(cache, 1, &writers[1]));
	filling_put(writers[0]);
	if (_i % 2 == 0)
		assert_ok(lc_close(cache));
	else
		lc_discard(cache);
	assert_ok(lc_writer_commit(writers[0], NULL, 0));
	assert_ok(filling_commit(writers[1], 0));
	assert_ok(filling_commit(writers[1], 1));
	assert_status(lc_drop(root, "m"), LC_BUSY);
	lc_writer_close(writers[_i / 2]);
	assert_status(lc_drop(root, "m"), LC_BUSY);
	lc_writer_close(writers[1 - _i / 2]);

	cache = open_module(root, "m");
	filling_check_chunk(cache, 0, 0);
	filling_check_chunk(cache, 1, 0);
	filling_check_chunk(cache, 1, 1);
	assert_ok(lc_count(cache, &n));
	ck_assert_uint_eq(n, filling_records(0, 0) + filling_records(1, 0) +
	    filling_records(1, 1));
	assert_ok(lc_close(cache));
	assert_ok(lc_drop(root, "m"));
}
END_TEST

/* ---- processes and threads -------------------------------------------------------------- */

/* What needs no thread of the parent. */
static void
use_in_child(void *arg)
{
	struct chain *c = arg;

	c->open[READER] = c->open[BATCHES] = c->open[VIEW] = false;
	use(c);
	if (c->kind != JOIN) {
		lc_view view;

		need_ok(lc_source_get(c->source, 2, &view));
		need(view.tensor.nbytes == WIDTH * sizeof(float));
		lc_source_close(c->source);
		lc_view_release(&view);
	} else {
		lc_source_close(c->source);
	}
	lc_stream_close(c->stream);
}

START_TEST(child_of_a_closed_handle)
{
	struct chain c;

	make_chain(&c, make_root(), (enum kind)_i, 0);
	close_part(&c, HANDLE, false);
	/* A join has snapshots of its partners, which are the parent's. */
	if (c.kind != JOIN)
		ck_assert_int_eq(child_run(use_in_child, &c), 0);
	use(&c);
	for (unsigned part = SOURCE; part < PARTS; part++)
		close_part(&c, part, false);
	assert_ok(lc_drop(c.root, "m"));
}
END_TEST

struct turn {
	struct chain chain;
	uint64_t seed;
};

static void *
use_and_close(void *arg)
{
	struct turn *turn = arg;
	unsigned left[PARTS - 1] = { SOURCE, STREAM, READER, BATCHES, VIEW };

	for (unsigned n = PARTS - 1; n > 0; n--) {
		const unsigned at = (unsigned)(run_random(&turn->seed) % n);

		use(&turn->chain);
		close_part(&turn->chain, left[at], false);
		left[at] = left[n - 1];
	}
	return NULL;
}

#define THREADS KINDS

/* They read and close while the handles are closed. */
START_TEST(threads_close)
{
	const char *root = make_root();
	uint64_t seed = run_seed();

	for (unsigned round = 0; round < sample_times(20); round++) {
		static struct turn turns[THREADS];
		pthread_t threads[THREADS];

		for (unsigned i = 0; i < THREADS; i++) {
			turns[i].seed = run_random(&seed);
			make_chain(&turns[i].chain, root, (enum kind)(i % KINDS), i % 3);
		}
		for (unsigned i = 0; i < THREADS; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, use_and_close,
			    &turns[i]), 0);
		for (unsigned i = 0; i < THREADS; i++)
			close_part(&turns[i].chain, HANDLE, i % 2);
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		assert_ok(try_shrink(root));
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("outlive");
	TCase *tc = tcase_create("outlive");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, every_order, 0, 2 * KINDS);
	tcase_add_test(tc, a_source_of_a_closed_handle_grows);
	tcase_add_loop_test(tc, a_writer_of_a_closed_handle, 0, 4);
	tcase_add_test(tc, threads_close);
	if (!RUN_THREAD_SANITIZER)
		tcase_add_loop_test(tc, child_of_a_closed_handle, 0, KINDS);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
