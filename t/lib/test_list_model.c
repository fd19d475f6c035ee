/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random lists of modules and shard sets against one module that has the same records in the
 * same chunks: the same batches for all orders, readers and tokens, and every byte of them.
 * T_SEED repeats a run; T_LONG=1 does many more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_order.h"
#include "need.h"
#include "run.h"
#include "stream/layout.h"
#include "stream/source.h"

#define MOST_MEMBERS 5
#define MOST_BATCHES 40

/** A source in the list, with all of its records, and the handle of its module. */
struct member {
	lc_cache *cache; /* NULL for shards */
	char dir[400];   /* of shards */
	bool own_lengths; /* the module has the length field */
	lc_writer *writer;
	uint32_t tag;
	uint64_t records; /* that were put */
};

struct a_case {
	uint64_t *state;
	bool has_lengths;
	uint64_t width; /* of a record that has no length */
	struct member members[MOST_MEMBERS];
	size_t n;
	lc_cache *whole; /* all records in one module */
	lc_source *list, *one;
	const char *part; /* of a split, or NULL */
	lc_stream_options options;
	lc_reader_options reader;
};

static uint64_t
below(const struct a_case *c, uint64_t n)
{
	return run_random(c->state) % n;
}

/* ---- members ------------------------------------------------------------------------- */

static lc_cache *
new_module(bool has_lengths)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_options options;
	lc_cache *cache;

	lc_options_init(&options);
	options.durability = LC_DURABLE_RELAXED;
	options.flush_interval_ms = 0;
	options.flush_every = 1000000;
	need_ok(lc_open(run_scratch(), "m", &options, &cache));
	need_ok(lc_settings_get(cache, &settings));
	strcpy(settings.length_field, has_lengths ? "." : "");
	need_ok(lc_settings_set(cache, &settings));
	return cache;
}

static void
put(const struct a_case *c, struct member *m, bool flat, uint64_t length)
{
	const uint64_t k = m->records++;
	const uint64_t shape[] = { 1, 1, length };
	unsigned char bytes[1024];
	lc_tensor tensor;
	char id[64];
	const size_t size = (size_t)snprintf(id, sizeof(id), "%u-%llu", m->tag,
	    (unsigned long long)k);

	for (uint64_t i = 0; i < length; i++)
		bytes[i] = (unsigned char)run_random(c->state) | 1; /* 0 is padding */
	need_ok(lc_tensor_init(&tensor, LC_U8, flat ? 1 : 3, flat ? shape + 2 : shape,
	    bytes));
	need_ok(m->writer != NULL ? lc_writer_put(m->writer, id, size, &tensor)
				  : lc_put(m->cache, id, size, &tensor));
}

static void
put_chunk(const struct a_case *c, struct member *m)
{
	for (uint64_t n = below(c, 8); n > 0; n--)
		put(c, m, c->has_lengths, c->has_lengths ? below(c, 7) : c->width);
	need_ok(m->writer != NULL ? lc_writer_commit(m->writer, NULL, 0)
				  : lc_flush(m->cache));
}

static void
begin_input(struct member *m)
{
	const lc_input input = { .name = "in" };

	need_ok(lc_inputs_declare(m->cache, 1, &input));
	need_ok(lc_writer_open(m->cache, "in", &m->writer));
}

static void
make_module(const struct a_case *c, struct member *m)
{
	const bool by_input = below(c, 2);

	m->own_lengths = c->has_lengths && below(c, 3) != 0;
	m->cache = new_module(m->own_lengths);
	if (by_input)
		begin_input(m);
	for (uint64_t n = below(c, 5); n > 0; n--)
		put_chunk(c, m);
	if (by_input) {
		need_ok(lc_writer_finish(m->writer, NULL, 0));
		lc_writer_close(m->writer);
		m->writer = NULL;
		return;
	}
	for (uint64_t n = below(c, 4), k; n > 0 && m->records > 0; n--) {
		char id[64];

		k = below(c, m->records);
		need(lc_delete(m->cache, id, (size_t)snprintf(id, sizeof(id), "%u-%llu",
		    m->tag, (unsigned long long)k)) <= LC_NOT_FOUND);
		need_ok(lc_flush(m->cache));
	}
}

/* An export of a module with three axes. Shards have at least 4 KiB. */
static void
make_shards(const struct a_case *c, struct member *m)
{
	const uint64_t width = c->has_lengths ? (below(c, 3) ? 1 + below(c, 6) : 900)
					      : c->width;
	lc_export_options options;

	m->cache = new_module(false);
	for (uint64_t n = 1 + below(c, 20); n > 0; n--)
		put(c, m, false, width);
	lc_export_options_init(&options);
	options.shard_bytes = 4096;
	options.no_sha256 = (int)below(c, 2);
	snprintf(m->dir, sizeof(m->dir), "%s/s", run_scratch());
	need_ok(lc_export(m->cache, m->dir, &options, NULL));
	need_ok(lc_close(m->cache));
	m->cache = NULL;
}

static void
open_member(const struct a_case *c, const struct member *m, const char *part,
    lc_source **out)
{
	lc_source_options options;

	lc_source_options_init(&options);
	if (c->has_lengths && (m->cache == NULL || !m->own_lengths))
		options.length_field = ".";
	options.part = part;
	options.split = part != NULL ? "a=0.6,b=0.4" : NULL;
	options.open_shards = below(c, 2) ? 1 : 0;
	options.verify = (lc_verify_mode)below(c, 3);
	if (m->cache != NULL)
		need_ok(lc_source_open_module(m->cache, &options, out));
	else
		need_ok(lc_source_open_shards(m->dir, &options, out));
}

/* ---- one module with all of it ------------------------------------------------------- */

static void
put_from(lc_cache *whole, lc_source *source, uint64_t ordinal)
{
	unsigned char bytes[1024];
	lc_tensor tensor;
	char id[64];
	size_t size;

	need_ok(lc_source_id(source, ordinal, id, sizeof(id), &size));
	need_ok(lc_source_gather_row(source, ordinal, ".", &tensor));
	need_ok(lc_source_gather(source, 1, &ordinal, ".", &tensor, bytes, sizeof(bytes),
	    1, NULL));
	tensor.data = bytes;
	need_ok(lc_put(whole, id, size, &tensor));
}

/* A chunk of each chunk of a member. */
static void
put_all_from(const struct a_case *c, const struct member *m)
{
	struct lc__layout *layout;
	struct lc__chunk_row row;
	lc_source *source;

	open_member(c, m, NULL, &source);
	layout = lc__source_layout(source);
	for (uint64_t i = 0; i < lc__layout_info(layout)->chunks; i++) {
		need_ok(lc__layout_row(layout, i, &row));
		for (uint64_t k = 0; k < row.records; k++)
			put_from(c->whole, source, row.first_record + k);
		need_ok(lc_flush(c->whole));
	}
	lc__layout_drop(layout);
	lc_source_close(source);
}

/* ---- the list ------------------------------------------------------------------------ */

static lc_source *
open_list(const struct a_case *c)
{
	lc_source *members[MOST_MEMBERS], *list;

	for (size_t i = 0; i < c->n; i++)
		open_member(c, &c->members[i], c->part, &members[i]);
	assert_ok(lc_source_open_list(members, c->n, &list));
	for (size_t i = 0; i < c->n; i++)
		lc_source_close(members[i]);
	return list;
}

static void
open_sources(struct a_case *c)
{
	lc_source_info a = { .struct_size = sizeof(a) };
	lc_source_info b = { .struct_size = sizeof(b) };
	lc_source_options options;

	c->list = open_list(c);
	lc_source_options_init(&options);
	options.part = c->part;
	options.split = c->part != NULL ? "a=0.6,b=0.4" : NULL;
	assert_ok(lc_source_open_module(c->whole, &options, &c->one));
	assert_ok(lc_source_info_get(c->list, &a));
	assert_ok(lc_source_info_get(c->one, &b));
	ck_assert_uint_eq(a.chunks, b.chunks);
	ck_assert_uint_eq(a.records, b.records);
	ck_assert_uint_eq(a.length, b.length);
	ck_assert_int_eq(a.has_lengths, b.has_lengths);
	if (c->n > 1)
		ck_assert_uint_eq(a.generation, a.chunks);
}

static void
random_options(struct a_case *c)
{
	lc_stream_options *o = &c->options;

	lc_stream_options_init(o);
	if (below(c, 2)) {
		o->window = 1 + below(c, below(c, 4) ? 8 : 2000);
		o->stride = below(c, 2 * o->window);
		o->drop_short = below(c, 3) == 0;
	}
	o->seed = below(c, 4);
	o->batch = 1 + below(c, 12);
	if (below(c, 6) == 0) {
		o->idealised = 1 + (uint32_t)below(c, 3);
		o->epochs = 0;
		o->limit = 1 + below(c, 100);
		return;
	}
	o->shuffle = (lc_shuffle)below(c, 4);
	o->block = 1 + below(c, 5);
	o->spread = 1 + below(c, 4);
	o->era_first = 1 + below(c, 6);
	o->era_max = o->era_first + below(c, 10);
	o->epochs = 1 + below(c, 3);
	o->limit = below(c, 2) ? 0 : 1 + below(c, 100);
	if (o->shuffle == LC_SHUFFLE_BLOCK && below(c, 2)) {
		o->shares = 1 + (uint32_t)below(c, 4);
		o->batch = o->shares * (1 + below(c, 4));
	}
}

static void
random_reader(struct a_case *c)
{
	static const char *const fields[] = { "." };
	lc_reader_options *o = &c->reader;

	lc_reader_options_init(o);
	o->fields = fields;
	o->n_fields = 1;
	o->readers = 1 + (uint32_t)below(c, 3);
	if (c->options.shares > 0)
		o->readers = below(c, 2) ? c->options.shares : 1;
	else
		o->split = (lc_split)below(c, 2);
	o->threads = (unsigned)below(c, 3);
	o->views = c->options.window == 0 && below(c, 2);
	o->documents = c->options.window > 0 && below(c, 2);
}

/* ---- batches ------------------------------------------------------------------------- */

static void
same_field(const lc_batch *batch, const lc_batch_field *a, const lc_batch_field *b)
{
	uint64_t row_bytes = 1; /* u8 */

	ck_assert_str_eq(a->name, b->name);
	ck_assert_int_eq(a->dtype, b->dtype);
	ck_assert_uint_eq(a->ndim, b->ndim);
	ck_assert_mem_eq(a->shape, b->shape, a->ndim * sizeof(a->shape[0]));
	ck_assert_uint_eq(a->nbytes, b->nbytes);
	ck_assert_int_eq(a->offsets != NULL, b->offsets != NULL);
	if (a->offsets != NULL)
		ck_assert_mem_eq(a->offsets, b->offsets,
		    (batch->rows + 1) * sizeof(a->offsets[0]));
	ck_assert_int_eq(a->rows != NULL, b->rows != NULL);
	if (a->data != NULL)
		ck_assert_mem_eq(a->data, b->data, a->nbytes);
	for (uint32_t i = 1; i < a->ndim; i++)
		row_bytes *= a->shape[i];
	for (size_t row = 0; a->rows != NULL && row < batch->filled; row++) {
		const uint64_t n = a->offsets ? a->offsets[row + 1] - a->offsets[row] : 1;

		if (n * row_bytes > 0)
			ck_assert_mem_eq(a->rows[row], b->rows[row], n * row_bytes);
	}
}

static void
same_batch(const lc_batch *a, const lc_batch *b, uint64_t window)
{
	ck_assert_uint_eq(a->number, b->number);
	ck_assert_uint_eq(a->first, b->first);
	ck_assert_uint_eq(a->rows, b->rows);
	ck_assert_uint_eq(a->filled, b->filled);
	ck_assert_mem_eq(a->mask, b->mask, a->rows);
	ck_assert_mem_eq(a->examples, b->examples, a->rows * sizeof(a->examples[0]));
	ck_assert_mem_eq(a->epochs, b->epochs, a->rows * sizeof(a->epochs[0]));
	ck_assert_mem_eq(a->sources, b->sources, a->rows * sizeof(a->sources[0]));
	ck_assert_mem_eq(a->lengths, b->lengths, a->rows * sizeof(a->lengths[0]));
	for (size_t row = 0; row < a->rows; row++) {
		ck_assert_uint_eq(a->ids[row].size, b->ids[row].size);
		if (a->ids[row].size > 0)
			ck_assert_mem_eq(a->ids[row].data, b->ids[row].data,
			    a->ids[row].size);
	}
	ck_assert_int_eq(a->documents != NULL, b->documents != NULL);
	if (a->documents != NULL) {
		ck_assert_mem_eq(a->documents, b->documents, a->rows * window * 4);
		ck_assert_mem_eq(a->positions, b->positions, a->rows * window * 4);
	}
	ck_assert_uint_eq(a->n_fields, b->n_fields);
	for (size_t f = 0; f < a->n_fields; f++)
		same_field(a, &a->fields[f], &b->fields[f]);
}

/* Batches from @p first on of a reader of both, until the end of both. */
static void
same_batches(const struct a_case *c, lc_stream *list, lc_stream *one, uint64_t first)
{
	lc_reader *a, *b;
	lc_status status = LC_OK;

	assert_ok(lc_reader_open(list, &c->reader, &a));
	assert_ok(lc_reader_open(one, &c->reader, &b));
	assert_ok(lc_reader_seek(b, first));
	for (uint64_t i = 0; status == LC_OK && i < MOST_BATCHES; i++) {
		const lc_batch *x, *y;

		status = lc_reader_next(b, &y);
		assert_status(lc_reader_next(a, &x), status);
		if (status == LC_OK) {
			same_batch(x, y, c->options.window);
			lc_batch_release(x);
			lc_batch_release(y);
		}
	}
	lc_reader_close(a);
	lc_reader_close(b);
}

static void
same_places(const struct a_case *c, lc_stream *list, lc_stream *one)
{
	lc_stream_info info = { .struct_size = sizeof(info) };

	assert_ok(lc_stream_info_get(one, &info));
	for (int i = 0; i < 10 && info.known > 0; i++) {
		const uint64_t x = below(c, info.known < 200 ? info.known : 200);
		lc_piece a[3000], b[3000];
		size_t n, m;

		assert_ok(lc_stream_locate(list, x, a, 3000, &n));
		assert_ok(lc_stream_locate(one, x, b, 3000, &m));
		ck_assert_uint_eq(n, m);
		for (size_t k = 0; k < n; k++) {
			ck_assert_uint_eq(a[k].epoch, b[k].epoch);
			ck_assert_uint_eq(a[k].chunk, b[k].chunk);
			ck_assert_uint_eq(a[k].first, b[k].first);
			ck_assert_uint_eq(a[k].units, b[k].units);
		}
	}
}

/* From a token in the middle, with a list that is opened anew. */
static void
go_on(struct a_case *c, lc_stream *list, lc_stream *one)
{
	lc_stream_info info = { .struct_size = sizeof(info) };
	unsigned char token[LC_TOKEN_SIZE];
	lc_stream_options again = c->options;
	lc_source *other = open_list(c);
	lc_stream *stream;
	uint64_t first;

	assert_ok(lc_stream_info_get(one, &info));
	first = below(c, info.batches < MOST_BATCHES ? info.batches + 1 : MOST_BATCHES);
	assert_ok(lc_stream_token(list, first, token));
	again.token = token;
	assert_ok(lc_stream_open(&other, 1, &again, &stream));
	lc_source_close(other);
	random_reader(c);
	same_batches(c, stream, one, first);
	lc_stream_close(stream);
}

static void
same_stream(struct a_case *c)
{
	lc_stream *list, *one;
	lc_status status;

	random_options(c);
	status = lc_stream_open(&c->one, 1, &c->options, &one);
	assert_status(lc_stream_open(&c->list, 1, &c->options, &list), status);
	if (status != LC_OK) {
		ck_assert_int_eq(status, LC_INVALID);
		return;
	}
	random_reader(c);
	for (uint32_t r = 0; r < c->reader.readers; r++) {
		c->reader.reader = r;
		same_batches(c, list, one, 0);
	}
	same_places(c, list, one);
	go_on(c, list, one);
	lc_stream_close(list);
	lc_stream_close(one);
}

/* Mixed with itself: the seeds of both are their own. */
static void
same_mixture(struct a_case *c)
{
	lc_source *lists[2] = { c->list, c->list }, *ones[2] = { c->one, c->one };
	const uint64_t weights[2] = { 1, 3 };
	lc_stream *list, *one;
	lc_status status;

	lc_stream_options_init(&c->options);
	c->options.shuffle = LC_SHUFFLE_BLOCK;
	c->options.block = 1 + below(c, 4);
	c->options.spread = 2;
	c->options.epochs = 0;
	c->options.mixture_block = 8;
	c->options.weights = weights;
	c->options.batch = 5;
	status = lc_stream_open(ones, 2, &c->options, &one);
	assert_status(lc_stream_open(lists, 2, &c->options, &list), status);
	if (status != LC_OK)
		return;
	random_reader(c);
	same_batches(c, list, one, 0);
	lc_stream_close(list);
	lc_stream_close(one);
}

/* ---- records ------------------------------------------------------------------------- */

static void
same_records(const struct a_case *c)
{
	lc_source_info info = { .struct_size = sizeof(info) };

	assert_ok(lc_source_info_get(c->one, &info));
	for (uint64_t i = 0; i < info.records; i++) {
		unsigned char a[1024], b[1024];
		lc_tensor x, y;
		size_t n, m;
		lc_view view;

		assert_ok(lc_source_id(c->list, i, a, sizeof(a), &n));
		assert_ok(lc_source_id(c->one, i, b, sizeof(b), &m));
		ck_assert_uint_eq(n, m);
		ck_assert_mem_eq(a, b, n);
		assert_ok(lc_source_gather_row(c->list, i, NULL, &x));
		assert_ok(lc_source_gather_row(c->one, i, NULL, &y));
		ck_assert_uint_eq(x.ndim, y.ndim);
		ck_assert_mem_eq(x.shape, y.shape, x.ndim * sizeof(x.shape[0]));
		assert_ok(lc_source_gather(c->list, 1, &i, ".", &x, a, 1024, 1, NULL));
		assert_ok(lc_source_gather(c->one, 1, &i, ".", &y, b, 1024, 1, NULL));
		if (x.nbytes > 0)
			ck_assert_mem_eq(a, b, x.nbytes);
		assert_ok(lc_source_get(c->list, i, &view));
		ck_assert_uint_eq(view.tensor.nbytes, x.nbytes);
		if (x.nbytes > 0)
			ck_assert_mem_eq(view.tensor.data, b, x.nbytes);
		lc_view_release(&view);
	}
	assert_status(lc_source_get(c->list, info.records, &(lc_view){ 0 }), LC_INVALID);
}

/* ---- all of it ----------------------------------------------------------------------- */

static void
run_case(uint64_t *state)
{
	struct a_case c = { .state = state };

	c.has_lengths = below(&c, 3) != 0;
	c.width = below(&c, 2) ? 5 : 900;
	c.n = 1 + (size_t)below(&c, MOST_MEMBERS);
	c.part = below(&c, 5) == 0 ? "a" : NULL;
	c.whole = new_module(c.has_lengths);
	for (size_t i = 0; i < c.n; i++) {
		struct member *m = &c.members[i];

		m->tag = (uint32_t)i;
		if (below(&c, 2))
			make_module(&c, m);
		else
			make_shards(&c, m);
		put_all_from(&c, m);
	}
	open_sources(&c);
	same_records(&c);
	for (int i = 0; i < 8; i++)
		same_stream(&c);
	same_mixture(&c);
	lc_source_close(c.list);
	lc_source_close(c.one);
	for (size_t i = 0; i < c.n; i++)
		if (c.members[i].cache != NULL)
			need_ok(lc_close(c.members[i].cache));
	need_ok(lc_close(c.whole));
}

START_TEST(random_lists)
{
	uint64_t state = run_seed();
	const int cases = getenv("T_LONG") != NULL ? 110 : 40;

	for (int i = 0; i < cases; i++)
		run_case(&state);
}
END_TEST

/* ---- the last member grows ----------------------------------------------------------- */

/* What a stream that follows the list gives before its last member is finished, and after, is
 * what the finished list gives. */
static void
follow_case(uint64_t *state)
{
	struct a_case c = { .state = state, .has_lengths = true };
	struct member *last = &c.members[c.n = 1 + below(&c, 3)];
	lc_stream *list, *one;
	lc_reader *a, *b;
	lc_status status;
	bool finished = false;
	uint64_t read = 0;

	for (size_t i = 0; i < c.n; i++) {
		c.members[i].tag = (uint32_t)i;
		if (below(&c, 2))
			make_module(&c, &c.members[i]);
		else
			make_shards(&c, &c.members[i]);
	}
	last->tag = (uint32_t)c.n++;
	last->own_lengths = true;
	last->cache = new_module(true);
	begin_input(last);
	c.list = open_list(&c);

	do
		random_options(&c);
	while (c.options.shuffle == LC_SHUFFLE_FULL ||
	    c.options.shuffle == LC_SHUFFLE_BLOCK || c.options.idealised > 0);
	c.options.drop_short = 0;
	c.options.follow = 1;
	assert_ok(lc_stream_open(&c.list, 1, &c.options, &list));
	random_reader(&c);
	c.reader.readers = 1;
	c.reader.timeout_ms = 0;
	assert_ok(lc_reader_open(list, &c.reader, &a));

	c.whole = new_module(true);
	for (size_t i = 0; i + 1 < c.n; i++)
		put_all_from(&c, &c.members[i]);
	for (uint64_t n = 1 + below(&c, 6); n > 0; n--)
		put_chunk(&c, last);
	put(&c, last, true, 3);
	need_ok(lc_writer_commit(last->writer, NULL, 0));
	put_all_from(&c, last);
	assert_ok(lc_source_open_module(c.whole, NULL, &c.one));
	c.options.follow = 0;
	assert_ok(lc_stream_open(&c.one, 1, &c.options, &one));
	assert_ok(lc_reader_open(one, &c.reader, &b));
	for (uint64_t i = 0; i < MOST_BATCHES; i++) {
		const lc_batch *x, *y;

		status = lc_reader_next(a, &x);
		if (status == LC_TIMEOUT && !finished) {
			unsigned char token[LC_TOKEN_SIZE];

			/* All that is known was read: go on from a token of it. */
			assert_ok(lc_reader_token(a, token));
			lc_reader_close(a);
			lc_stream_close(list);
			lc_source_close(c.list);
			need_ok(lc_writer_finish(last->writer, NULL, 0));
			finished = true;
			c.list = open_list(&c);
			c.options.follow = 1;
			c.options.token = token;
			assert_ok(lc_stream_open(&c.list, 1, &c.options, &list));
			c.options.token = NULL;
			assert_ok(lc_reader_open(list, &c.reader, &a));
			status = lc_reader_next(a, &x);
		}
		assert_status(lc_reader_next(b, &y), status);
		if (status == LC_END)
			break;
		ck_assert_int_eq(status, LC_OK);
		same_batch(x, y, c.options.window);
		read++;
		lc_batch_release(x);
		lc_batch_release(y);
	}
	ck_assert_uint_gt(read, 0);
	lc_reader_close(a);
	lc_reader_close(b);
	lc_stream_close(list);
	lc_stream_close(one);
	lc_source_close(c.list);
	lc_source_close(c.one);
	lc_writer_close(last->writer);
	for (size_t i = 0; i < c.n; i++)
		if (c.members[i].cache != NULL)
			need_ok(lc_close(c.members[i].cache));
	need_ok(lc_close(c.whole));
}

START_TEST(random_growing_lists)
{
	uint64_t state = run_seed() ^ 1;
	const int cases = getenv("T_LONG") != NULL ? 100 : 30;

	for (int i = 0; i < cases; i++)
		follow_case(&state);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("list_model");
	TCase *tc = tcase_create("model");

	tcase_add_test(tc, random_lists);
	tcase_add_test(tc, random_growing_lists);
	tcase_set_timeout(tc, 600);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
