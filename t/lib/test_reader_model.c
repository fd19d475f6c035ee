/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random streams and readers against the order written out: every byte of every batch.
 * T_SEED repeats a run; T_LONG=1 does many more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "made_stream.h"
#include "model_order.h"
#include "run.h"

#define MOST_SOURCES 3
#define MOST_EXAMPLES 90

/* What one case is about. */
struct a_case {
	uint64_t *state;       /* of the random numbers */
	struct made_stream *made;
	bool has_lengths;
	size_t n;
	struct model_source model[MOST_SOURCES];
	lc_source *sources[MOST_SOURCES];
	uint64_t weights[MOST_SOURCES];
	lc_stream_options options;
	struct model_stream expected;
	uint64_t examples;     /* in all, UINT64_MAX for ever */
	lc_stream *stream;
	char text[400];        /* for messages */
};

static uint64_t
below(uint64_t *state, uint64_t n)
{
	return run_random(state) % n;
}

static bool
one_in(uint64_t *state, uint64_t n)
{
	return below(state, n) == 0;
}

/* ---- making a case ------------------------------------------------------------- */

static void
random_windows(struct a_case *c)
{
	lc_stream_options *o = &c->options;

	if (one_in(c->state, 3))
		return;
	o->window = 1 + below(c->state, 9);
	if (one_in(c->state, 2))
		o->stride = 1 + below(c->state, 12);
	o->drop_short = one_in(c->state, 3);
}

static void
random_shuffle(struct a_case *c)
{
	lc_stream_options *o = &c->options;

	o->seed = below(c->state, 4);
	if (one_in(c->state, 4) && c->n == 1) {
		o->idealised = 1 + (uint32_t)below(c->state, 7);
		o->epochs = 0;
		return;
	}
	o->shuffle = (lc_shuffle)below(c->state, 4);
	o->block = 1 + below(c->state, 5);
	o->spread = 1 + below(c->state, 4);
	o->era_first = 1 + below(c->state, 6);
	o->era_max = o->era_first + below(c->state, 10);
	o->epochs = c->n > 1 ? 0 : below(c->state, 4);
	if (c->n == 1 && one_in(c->state, 4)) {
		o->shuffle = LC_SHUFFLE_BLOCK;
		o->shares = 1 + (uint32_t)below(c->state, 6);
	}
}

static void
random_options(struct a_case *c)
{
	lc_stream_options *o = &c->options;

	lc_stream_options_init(o);
	random_windows(c);
	random_shuffle(c);
	o->batch = 1 + below(c->state, 9);
	if (o->shares > 0)
		o->batch = o->shares * (1 + below(c->state, 3));
	if (one_in(c->state, 4))
		o->limit = 1 + below(c->state, 30);
	o->mixture_block = c->n * 8 + below(c->state, 20);
	for (size_t i = 0; i < c->n; i++)
		c->weights[i] = 1 + below(c->state, 4);
	if (one_in(c->state, 2))
		o->weights = c->weights;
	snprintf(c->text, sizeof(c->text), "sources %zu lengths %d window %llu stride "
	    "%llu drop %d R* %u shuffle %d block %llu spread %llu era %llu-%llu seed "
	    "%llu epochs %llu limit %llu batch %llu shares %u", c->n, c->has_lengths,
	    (unsigned long long)o->window, (unsigned long long)o->stride,
	    o->drop_short, o->idealised, (int)o->shuffle,
	    (unsigned long long)o->block, (unsigned long long)o->spread,
	    (unsigned long long)o->era_first, (unsigned long long)o->era_max,
	    (unsigned long long)o->seed, (unsigned long long)o->epochs,
	    (unsigned long long)o->limit, (unsigned long long)o->batch, o->shares);
}

static struct model_chunk *
model_chunks(const struct made_stream *m, bool has_lengths)
{
	struct model_chunk *chunks = calloc(m->n + 1, sizeof(*chunks));

	for (size_t i = 0; i < m->n; i++) {
		chunks[i].records = m->chunks[i].records;
		for (uint64_t k = 0; k < m->chunks[i].records; k++)
			chunks[i].units += has_lengths ?
			    m->lengths[m->chunks[i].first + k] : 1;
	}
	return chunks;
}

/* Is there a source, or an idealised reader, that has nothing? */
static bool
is_empty(const struct a_case *c)
{
	lc_stream_options o = c->options;

	for (size_t i = 0; i < c->n && o.idealised == 0; i++) {
		struct model_stream one = model_stream(&c->model[i], 1, &o, false, 1);
		const bool empty = one.n == 0;

		model_stream_free(&one);
		if (empty)
			return true;
	}
	for (uint32_t r = 0; r < o.idealised; r++) {
		struct model_units units = model_rstar(&c->model[0], o.idealised, r,
		    true, o.window > 0, 1);
		const bool empty = units.n == 0;

		model_units_free(&units);
		if (empty)
			return true;
	}
	return false;
}

static bool
for_ever(const lc_stream_options *o)
{
	return o->epochs == 0 && o->limit == 0;
}

/* Open its stream; false if there are no examples, which it has to say. */
static bool
begin(struct a_case *c)
{
	const lc_stream_options *o = &c->options;
	uint64_t want = MOST_EXAMPLES;
	const lc_status status = lc_stream_open(c->sources, c->n, o, &c->stream);

	if (is_empty(c)) {
		ck_assert_msg(status == LC_INVALID, "%s", c->text);
		return false;
	}
	ck_assert_msg(status == LC_OK, "%s: %s", c->text, lc_last_error()->text);
	if (!for_ever(o))
		want = o->limit > 0 && o->epochs == 0 ? o->limit : 100000;
	c->expected = model_stream(c->model, c->n, o, false, want);
	c->examples = for_ever(o) ? UINT64_MAX : c->expected.n;
	if (o->limit > 0 && c->examples > o->limit)
		c->examples = o->limit;
	if (c->expected.n > c->examples)
		for (size_t i = (size_t)c->examples; i < c->expected.n; i++)
			model_units_free(&c->expected.examples[i]);
	if (c->expected.n > c->examples)
		c->expected.n = (size_t)c->examples;
	return true;
}

/* ---- what the stream says --------------------------------------------------------- */

static void
expect_info(const struct a_case *c)
{
	lc_stream_info info = { .struct_size = sizeof(info) };
	const uint64_t batch = c->options.batch;

	ck_assert_int_eq(lc_stream_info_get(c->stream, &info), LC_OK);
	ck_assert_msg(info.examples == c->examples, "%s: %llu examples, not %llu",
	    c->text, (unsigned long long)info.examples,
	    (unsigned long long)c->examples);
	ck_assert_uint_eq(info.batches, c->examples == UINT64_MAX ? UINT64_MAX :
	    (c->examples + batch - 1) / batch);
	ck_assert_uint_ge(info.known, c->expected.n);
	ck_assert_uint_eq(info.batch, batch);
}

static void
expect_pieces(const struct a_case *c, uint64_t example)
{
	const struct model_units *units = &c->expected.examples[example];
	lc_piece pieces[16];
	size_t n, at = 0;

	ck_assert_msg(lc_stream_locate(c->stream, example, pieces, 16, &n) == LC_OK,
	    "%s: example %llu: %s", c->text, (unsigned long long)example,
	    lc_last_error()->text);
	for (size_t i = 0; i < n; i++)
		for (uint64_t u = 0; u < pieces[i].units; u++, at++) {
			const struct model_unit *unit = &units->units[at];

			ck_assert_msg(at < units->n && pieces[i].source ==
			    unit->source && pieces[i].epoch == unit->epoch &&
			    pieces[i].chunk == unit->chunk &&
			    pieces[i].first + u == unit->unit,
			    "%s: example %llu, unit %zu", c->text,
			    (unsigned long long)example, at);
		}
	ck_assert_uint_eq(at, units->n);
}

/* ---- what a batch has ---------------------------------------------------------------- */

/* The record of a unit and the place in it; of records, the whole of them. */
static void
find_unit(const struct a_case *c, const struct model_unit *unit,
    const struct made_stream **made, uint64_t *record, uint64_t *at)
{
	*made = &c->made[unit->source];
	*record = (*made)->chunks[unit->chunk].first + unit->unit;
	*at = 0;
	if (c->has_lengths && c->options.window > 0)
		made_stream_unit(*made, unit->chunk, unit->unit, record, at);
}

static void
expect_id(const struct made_stream *made, uint64_t record, const lc_id *id)
{
	char text[64];
	const int size = snprintf(text, sizeof(text), "%u-%llu", made->tag,
	    (unsigned long long)made->keys[record]);

	ck_assert_uint_eq(id->size, (size_t)size);
	ck_assert_mem_eq(id->data, text, (size_t)size);
}

static const lc_batch_field *
field_of(const lc_batch *batch, const char *name)
{
	for (size_t i = 0; i < batch->n_fields; i++)
		if (strcmp(batch->fields[i].name, name) == 0)
			return &batch->fields[i];
	return NULL;
}

/* A record's bytes in a row of a field. */
static const void *
row_bytes(const lc_batch *batch, const lc_batch_field *field, size_t row,
    uint64_t unit, uint64_t *length)
{
	if (field->offsets != NULL) {
		*length = field->offsets[row + 1] - field->offsets[row];
		return field->rows != NULL ? field->rows[row] :
		    (const char *)field->data + field->offsets[row] * unit;
	}
	*length = field->ndim > 1 ? field->shape[1] : 1;
	return field->rows != NULL ? field->rows[row] :
	    (const char *)field->data + row * (field->nbytes / batch->rows);
}

static void
expect_record(const struct a_case *c, const lc_batch *batch, size_t row,
    const struct model_unit *unit)
{
	const struct made_stream *made;
	const lc_batch_field *tokens, *pairs = field_of(batch, "pairs");
	const lc_batch_field *label = field_of(batch, "label");
	uint64_t record, at, length;
	const void *bytes;

	find_unit(c, unit, &made, &record, &at);
	tokens = field_of(batch, made->plain ? "." : "tokens");
	bytes = row_bytes(batch, tokens, row, 4, &length);
	ck_assert_uint_eq(tokens->dtype, LC_U32);
	ck_assert_msg(length == made->lengths[record], "%s: batch %llu row %zu",
	    c->text, (unsigned long long)batch->number, row);
	for (uint64_t j = 0; j < length; j++)
		ck_assert_msg(((const uint32_t *)bytes)[j] == made_token(made->tag,
		    made->keys[record], j), "%s: batch %llu row %zu token %llu",
		    c->text, (unsigned long long)batch->number, row,
		    (unsigned long long)j);
	if (pairs != NULL && length > 0)
		ck_assert_mem_eq(row_bytes(batch, pairs, row, 4, &length), bytes,
		    length * 4);
	if (label != NULL)
		ck_assert_int_eq(*(const int64_t *)row_bytes(batch, label, row, 8,
		    &length), 1000 * made->tag + made->keys[record]);
	expect_id(made, record, &batch->ids[row]);
}

/* Windows over records: each unit is a whole record, which are alike then. */
static const char *
unit_bytes(const lc_batch *batch, const lc_batch_field *field, size_t row,
    uint64_t i, size_t *size)
{
	const size_t all = field->nbytes / (batch->rows * field->shape[1]);

	*size = all;
	return (const char *)field->data + (row * field->shape[1] + i) * all;
}

static void
expect_unit(const struct a_case *c, const lc_batch *batch, size_t row, uint64_t i,
    const struct model_unit *unit, uint32_t document)
{
	const uint64_t window = c->options.window;
	const struct made_stream *made;
	uint64_t record, at;
	const uint32_t *got;
	size_t size;

	find_unit(c, unit, &made, &record, &at);
	got = (const void *)unit_bytes(batch, field_of(batch, made->plain ? "." :
	    "tokens"), row, i, &size);
	for (size_t j = 0; j < size / 4; j++)
		ck_assert_msg(got[j] == made_token(made->tag, made->keys[record],
		    at + j), "%s: batch %llu row %zu unit %llu", c->text,
		    (unsigned long long)batch->number, row, (unsigned long long)i);
	if (field_of(batch, "pairs") != NULL)
		ck_assert_mem_eq(unit_bytes(batch, field_of(batch, "pairs"), row, i,
		    &size), got, size);
	if (i == 0)
		expect_id(made, record, &batch->ids[row]);
	if (batch->documents == NULL)
		return;
	ck_assert_uint_eq(batch->positions[row * window + i], at);
	ck_assert_msg(batch->documents[row * window + i] == document,
	    "%s: document %u, not %u", c->text,
	    batch->documents[row * window + i], document);
}

static void
expect_window(const struct a_case *c, const lc_batch *batch, size_t row,
    const struct model_units *units)
{
	const uint64_t window = c->options.window;
	uint64_t last = UINT64_MAX, last_at = 0, record, at;
	const struct made_stream *made;
	uint32_t document = UINT32_MAX;

	for (uint64_t i = 0; i < units->n; i++) {
		find_unit(c, &units->units[i], &made, &record, &at);
		if (record != last || at != last_at + 1)
			document++;
		last = record;
		last_at = at;
		expect_unit(c, batch, row, i, &units->units[i], document);
	}
	for (size_t f = 0; f < batch->n_fields; f++)
		for (uint64_t i = units->n; i < window; i++) {
			size_t size;
			const char *bytes = unit_bytes(batch, &batch->fields[f],
			    row, i, &size);

			for (size_t j = 0; j < size; j++)
				ck_assert_int_eq(bytes[j], 0);
		}
	for (uint64_t i = units->n; batch->documents != NULL && i < window; i++) {
		ck_assert_uint_eq(batch->documents[row * window + i], UINT32_MAX);
		ck_assert_uint_eq(batch->positions[row * window + i], 0);
	}
}

static void
expect_padding(const struct a_case *c, const lc_batch *batch, size_t row)
{
	const struct model_units none = { 0 };

	ck_assert_uint_eq(batch->mask[row], 0);
	ck_assert_uint_eq(batch->examples[row], UINT64_MAX);
	ck_assert_uint_eq(batch->lengths[row], 0);
	ck_assert_uint_eq(batch->ids[row].size, 0);
	if (c->options.window > 0)
		expect_window(c, batch, row, &none);
	for (size_t f = 0; c->options.window == 0 && f < batch->n_fields; f++) {
		const lc_batch_field *field = &batch->fields[f];
		const size_t size = field->nbytes / batch->rows;

		if (field->offsets != NULL)
			ck_assert_uint_eq(field->offsets[row],
			    field->offsets[row + 1]);
		if (field->rows != NULL)
			ck_assert_ptr_null(field->rows[row]);
		for (size_t j = 0; field->data != NULL && field->offsets == NULL &&
		    j < size; j++)
			ck_assert_int_eq(((const char *)field->data)[row * size + j],
			    0);
	}
}

static void
expect_batch(const struct a_case *c, const lc_reader_options *ro,
    const lc_batch *batch, uint64_t number)
{
	size_t rows, filled = 0;
	uint64_t *share = model_share(ro->split, ro->readers, ro->reader,
	    c->options.batch, &rows);

	ck_assert_uint_eq(batch->number, number);
	ck_assert_uint_eq(batch->first, number * c->options.batch);
	ck_assert_uint_eq(batch->rows, rows);
	for (size_t row = 0; row < rows; row++) {
		const uint64_t example = batch->first + share[row];
		const struct model_units *units;

		if (example >= c->examples) {
			expect_padding(c, batch, row);
			continue;
		}
		filled++;
		units = &c->expected.examples[example];
		ck_assert_uint_eq(batch->mask[row], 1);
		ck_assert_uint_eq(batch->examples[row], example);
		ck_assert_uint_eq(batch->epochs[row], units->units[0].epoch);
		ck_assert_uint_eq(batch->sources[row], units->units[0].source);
		ck_assert_uint_eq(batch->lengths[row], units->n);
		if (c->options.window > 0)
			expect_window(c, batch, row, units);
		else
			expect_record(c, batch, row, &units->units[0]);
	}
	ck_assert_uint_eq(batch->filled, filled);
	free(share);
}

/* ---- reading -------------------------------------------------------------------------- */

/* Whole batches that the model has. */
static uint64_t
batches_of(const struct a_case *c)
{
	const uint64_t batch = c->options.batch;

	return c->examples == UINT64_MAX ? c->expected.n / batch :
	    (c->expected.n + batch - 1) / batch;
}

static const char *const window_fields[] = { "pairs", "tokens" };

static void
random_reader(const struct a_case *c, lc_reader_options *ro)
{
	lc_reader_options_init(ro);
	ro->readers = 1 + (uint32_t)below(c->state, 5);
	ro->reader = (uint32_t)below(c->state, ro->readers);
	ro->split = (lc_split)below(c->state, 2);
	if (c->options.shares > 0) {
		while (c->options.shares % ro->readers != 0)
			ro->readers--;
		ro->reader %= ro->readers;
		ro->split = LC_SPLIT_STRIDED;
	}
	ro->threads = (unsigned)below(c->state, 4);
	ro->ahead = 1 + (unsigned)below(c->state, 4);
	if (one_in(c->state, 5))
		ro->memory = below(c->state, 5000);
	if (c->options.window > 0)
		ro->documents = one_in(c->state, 2);
	else
		ro->views = one_in(c->state, 3);
	if (c->options.window > 0 && !c->made[0].plain &&
	    (!c->has_lengths || one_in(c->state, 2))) {
		ro->fields = window_fields;
		ro->n_fields = 2;
	}
}

/* next(), seek() and read(), as it comes. */
static void
read_some(const struct a_case *c)
{
	lc_reader_options ro;
	lc_reader *reader;
	const lc_batch *batch;
	uint64_t at = 0, number;
	lc_status status;

	random_reader(c, &ro);
	ck_assert_msg(lc_reader_open(c->stream, &ro, &reader) == LC_OK, "%s: %s",
	    c->text, lc_last_error()->text);
	for (int i = 0; i < 12; i++) {
		if (one_in(c->state, 4)) {
			at = below(c->state, batches_of(c) + 1);
			ck_assert_int_eq(lc_reader_seek(reader, at), LC_OK);
		}
		if (at >= batches_of(c) && c->examples == UINT64_MAX)
			break;
		number = at;
		if (one_in(c->state, 4)) {
			number = below(c->state, batches_of(c) + 1);
			if (number == batches_of(c) && c->examples == UINT64_MAX)
				continue;
			status = lc_reader_read(reader, number, &batch);
		} else {
			status = lc_reader_next(reader, &batch);
			at += status == LC_OK;
		}
		if (number >= batches_of(c)) {
			ck_assert_msg(status == LC_END, "%s", c->text);
			continue;
		}
		ck_assert_msg(status == LC_OK, "%s: batch %llu: %s", c->text,
		    (unsigned long long)number, lc_last_error()->text);
		expect_batch(c, &ro, batch, number);
		lc_batch_release(batch);
	}
	lc_reader_close(reader);
}

/* A token of any place, and a reader that goes on there. */
static void
resume(const struct a_case *c)
{
	const uint64_t at = below(c->state, batches_of(c) + 1);
	unsigned char token[LC_TOKEN_SIZE], again[LC_TOKEN_SIZE];
	lc_stream_options options = c->options;
	struct a_case resumed = *c;
	lc_reader_options ro;
	lc_reader *reader;
	const lc_batch *batch;

	ck_assert_int_eq(lc_stream_token(c->stream, at, token), LC_OK);
	options.token = token;
	ck_assert_msg(lc_stream_open(c->sources, c->n, &options, &resumed.stream) ==
	    LC_OK, "%s: %s", c->text, lc_last_error()->text);
	random_reader(c, &ro);
	ck_assert_int_eq(lc_reader_open(resumed.stream, &ro, &reader), LC_OK);
	ck_assert_int_eq(lc_reader_token(reader, again), LC_OK);
	ck_assert_mem_eq(again, token, LC_TOKEN_SIZE);
	if (at < batches_of(c)) {
		ck_assert_msg(lc_reader_next(reader, &batch) == LC_OK, "%s: %s",
		    c->text, lc_last_error()->text);
		expect_batch(&resumed, &ro, batch, at);
		lc_batch_release(batch);
	} else if (c->examples != UINT64_MAX) {
		ck_assert_int_eq(lc_reader_next(reader, &batch), LC_END);
	}
	lc_reader_close(reader);
	lc_stream_close(resumed.stream);
}

static void
run_case(struct a_case *c)
{
	random_options(c);
	if (!begin(c))
		return;
	expect_info(c);
	for (uint64_t i = 0; i < c->expected.n && i < 40; i++)
		expect_pieces(c, i);
	for (int i = 0; i < 3; i++)
		read_some(c);
	resume(c);
	model_stream_free(&c->expected);
	lc_stream_close(c->stream);
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* Records of one module, of an input or of plain puts, some deleted. Windows over records want them alike. */
static void
random_module(uint64_t *state, struct made_stream *m, uint32_t tag, bool plain,
    bool has_lengths, uint64_t alike)
{
	const size_t chunks = 1 + (size_t)below(state, 7);
	uint64_t lengths[8];

	made_stream_new(m, tag, plain, has_lengths);
	if (one_in(state, 3))
		made_stream_input(m);
	for (size_t i = 0; i < chunks; i++) {
		const size_t n = (size_t)below(state, 8);
		const bool empty = one_in(state, 5);

		for (size_t k = 0; k < n; k++)
			lengths[k] = !has_lengths ? alike : empty ? 0 :
			    below(state, 7);
		made_stream_chunk(m, lengths, n);
	}
	if (m->writer != NULL && one_in(state, 2))
		made_stream_finish(m);
	while (m->writer == NULL && m->records > 0 && one_in(state, 2))
		made_stream_delete(m, below(state, m->records));
	made_stream_open(m);
}

static void
run_modules(uint64_t *state, int cases)
{
	struct made_stream made[MOST_SOURCES];
	const bool plain = one_in(state, 2), has_lengths = !one_in(state, 3);
	const uint64_t alike = 1 + below(state, 4);

	for (uint32_t i = 0; i < MOST_SOURCES; i++)
		random_module(state, &made[i], i, plain, has_lengths, alike);
	for (int k = 0; k < cases; k++) {
		struct a_case c = { .state = state, .made = made,
			.has_lengths = has_lengths };

		c.n = one_in(state, 4) ? 2 + (size_t)below(state, 2) : 1;
		for (size_t i = 0; i < c.n; i++) {
			c.model[i].chunks = model_chunks(&made[i], has_lengths);
			c.model[i].n = made[i].n;
			c.sources[i] = made[i].source;
		}
		run_case(&c);
		for (size_t i = 0; i < c.n; i++)
			free((void *)c.model[i].chunks);
	}
	for (uint32_t i = 0; i < MOST_SOURCES; i++)
		made_stream_close(&made[i]);
}

START_TEST(random_streams)
{
	uint64_t state = run_seed();
	const int rounds = getenv("T_LONG") != NULL ? 300 : 30;

	for (int i = 0; i < rounds; i++)
		run_modules(&state, 60);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("reader_model");
	TCase *tc = tcase_create("model");

	tcase_add_test(tc, random_streams);
	tcase_set_timeout(tc, 600);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
