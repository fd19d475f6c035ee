/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random joins against a model: which records are left, in which batches they are, and
 * every byte of their fields. T_SEED repeats a run; T_LONG=1 does many more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_stream.h"
#include "model_order.h"
#include "need.h"
#include "run.h"

#define MOST_PARTNERS 3
#define MOST_EXAMPLES 60

/* A partner: record k of it is one tensor, or a map with two. */
struct partner {
	lc_cache *cache;
	uint32_t tag;
	bool map;
	bool *has;        /* key k of the first module is in it */
	uint64_t missing; /* live records of the first that it lacks */
};

struct a_case {
	uint64_t *state;
	struct made_stream made;
	bool has_lengths;
	lc_join modules[MOST_PARTNERS + 1];
	struct partner partners[MOST_PARTNERS];
	size_t n;         /* partners */
	uint64_t *kept;   /* record of made, of each record that is left */
	struct model_chunk *chunks;
	uint64_t *firsts; /* of each chunk, into kept */
	uint64_t left;
	lc_source *source;
	lc_stream_options options;
	struct model_stream expected;
	uint64_t examples;
	lc_stream *stream;
};

static uint64_t
below(const struct a_case *c, uint64_t n)
{
	return run_random(c->state) % n;
}

/* ---- modules ----------------------------------------------------------------------- */

/* Record k of partner t begins with these words. */
static void
partner_words(uint32_t tag, uint64_t k, uint32_t out[3])
{
	out[0] = tag;
	out[1] = (uint32_t)k;
	out[2] = made_token(tag + 10, k, 0);
}

static void
put_partner(const struct partner *p, uint64_t k, uint32_t first)
{
	const uint64_t three = 3, two = 2;
	uint32_t words[3];
	lc_tensor tensor, pair;
	lc_value *value;
	char id[64];
	const size_t size = (size_t)snprintf(id, sizeof(id), "%u-%llu", first,
	    (unsigned long long)k);

	partner_words(p->tag, k, words);
	need_ok(lc_tensor_init(&tensor, LC_U32, 1, &three, words));
	if (!p->map) {
		need_ok(lc_put(p->cache, id, size, &tensor));
		return;
	}
	need_ok(lc_tensor_init(&pair, LC_U32, 1, &two, words));
	value = lc_value_map();
	lc_value_set(value, "x.y", lc_value_tensor(&tensor));
	lc_value_set(value, "pair", lc_value_tensor(&pair));
	need_ok(lc_put_value(p->cache, id, size, value));
	lc_value_free(value);
}

/* In another order than the first module's, over some commits, with records of its
 * own. */
static void
make_partner(struct a_case *c, struct partner *p, uint32_t tag)
{
	const uint64_t keys = 64, one_of = 1 + below(c, 12);
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_options options;

	lc_options_init(&options);
	options.durability = LC_DURABLE_RELAXED;
	options.flush_interval_ms = 0;
	need_ok(lc_open(run_scratch(), "p", &options, &p->cache));
	need_ok(lc_settings_get(p->cache, &settings));
	settings.codec = below(c, 2) ? LC_CODEC_LZ4 : LC_CODEC_NONE;
	need_ok(lc_settings_set(p->cache, &settings));
	p->tag = tag;
	p->map = below(c, 2);
	p->has = calloc(keys, sizeof(*p->has));
	p->missing = 0;
	for (uint64_t i = 0; i < keys; i++) {
		const uint64_t k = i * 37 % keys;

		p->has[k] = one_of == 1 || below(c, one_of) != 0;
		if (p->has[k])
			put_partner(p, k, c->made.tag);
		if (below(c, 9) == 0)
			need_ok(lc_flush(p->cache));
	}
	for (uint64_t r = 0; r < c->made.records; r++)
		p->missing += !p->has[c->made.keys[r]];
}

static void
make_first(struct a_case *c)
{
	const size_t chunks = 1 + (size_t)below(c, 7);
	uint64_t lengths[9];

	c->has_lengths = below(c, 3) != 0;
	made_stream_new(&c->made, 7, below(c, 2), c->has_lengths);
	if (below(c, 3) == 0)
		made_stream_input(&c->made);
	for (size_t i = 0; i < chunks; i++) {
		const size_t n = (size_t)below(c, 9);

		for (size_t k = 0; k < n; k++)
			lengths[k] = c->has_lengths ? below(c, 6) : 2;
		made_stream_chunk(&c->made, lengths, n);
	}
	while (c->made.writer == NULL && c->made.records > 0 && below(c, 2))
		made_stream_delete(&c->made, below(c, c->made.records));
}

/* ---- the model ------------------------------------------------------------------------ */

static bool
is_whole(const struct a_case *c, uint64_t record)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->partners[i].has[c->made.keys[record]])
			return false;
	return true;
}

/* Chunks stay where they are, also without records. */
static void
match(struct a_case *c)
{
	const struct made_stream *m = &c->made;

	c->kept = calloc((size_t)m->records + 1, sizeof(*c->kept));
	c->chunks = calloc(m->n + 1, sizeof(*c->chunks));
	c->firsts = calloc(m->n + 1, sizeof(*c->firsts));
	c->left = 0;
	for (size_t i = 0; i < m->n; i++) {
		c->firsts[i] = c->left;
		for (uint64_t k = 0; k < m->chunks[i].records; k++) {
			const uint64_t record = m->chunks[i].first + k;

			if (!is_whole(c, record))
				continue;
			c->kept[c->left++] = record;
			c->chunks[i].records++;
			c->chunks[i].units += c->has_lengths ?
			    m->lengths[record] : 1;
		}
	}
}

/* The record of made that a unit is of, and the place in it. */
static uint64_t
record_of(const struct a_case *c, const struct model_unit *unit, uint64_t *at)
{
	const uint64_t *kept = c->kept + c->firsts[unit->chunk];

	*at = unit->unit;
	if (!c->has_lengths || c->options.window == 0) {
		*at = 0;
		return kept[unit->unit];
	}
	while (*at >= c->made.lengths[*kept])
		*at -= c->made.lengths[*kept++];
	return *kept;
}

/* ---- opening ----------------------------------------------------------------------------- */

static void
expect_source(const struct a_case *c)
{
	lc_source_info info = { .struct_size = sizeof(info) };
	uint64_t missing;

	assert_ok(lc_source_info_get(c->source, &info));
	ck_assert_uint_eq(info.records, c->left);
	ck_assert_uint_eq(info.dropped, c->made.records - c->left);
	ck_assert_uint_eq(info.chunks, c->made.n);
	ck_assert_int_eq(info.final, 1);
	ck_assert_int_eq(info.has_lengths, c->has_lengths);
	for (size_t i = 0; i <= c->n; i++) {
		assert_ok(lc_source_missing(c->source, i, &missing));
		ck_assert_uint_eq(missing, i == 0 ? 0 : c->partners[i - 1].missing);
	}
	assert_status(lc_source_missing(c->source, c->n + 1, &missing), LC_INVALID);
}

static void
open_join(struct a_case *c)
{
	static const char *const names[] = { "first", "a", "b.c", "d\\" };
	lc_source *refused;
	lc_status status;

	for (size_t i = 0; i <= c->n; i++)
		c->modules[i] = (lc_join){ names[i], i == 0 ? c->made.cache :
		    c->partners[i - 1].cache };
	assert_ok(lc_source_open_join(c->modules, c->n + 1, LC_MISSING_DROP, NULL,
	    &c->source));
	expect_source(c);
	status = lc_source_open_join(c->modules, c->n + 1, LC_MISSING_REFUSE, NULL,
	    &refused);
	ck_assert_int_eq(status, c->left < c->made.records ? LC_SCHEMA : LC_OK);
	if (status == LC_OK)
		lc_source_close(refused);
}

static void
random_options(struct a_case *c)
{
	lc_stream_options *o = &c->options;

	lc_stream_options_init(o);
	if (below(c, 3) == 0) {
		o->window = 1 + below(c, 7);
		o->stride = below(c, 9);
		o->drop_short = below(c, 3) == 0;
	}
	o->seed = below(c, 4);
	o->batch = 1 + below(c, 9);
	if (below(c, 5) == 0) {
		o->idealised = 1 + (uint32_t)below(c, 3);
		o->epochs = 0;
		o->limit = 1 + below(c, MOST_EXAMPLES);
		return;
	}
	o->shuffle = (lc_shuffle)below(c, 4);
	o->block = 1 + below(c, 5);
	o->spread = 1 + below(c, 4);
	o->era_first = 1 + below(c, 6);
	o->era_max = o->era_first + below(c, 10);
	o->epochs = 1 + below(c, 3);
	o->limit = below(c, 2) ? 0 : 1 + below(c, MOST_EXAMPLES);
}

/* False if there is nothing to read, which the stream has to say. */
static bool
open_stream(struct a_case *c)
{
	const struct model_source model = { c->chunks, c->made.n };
	const lc_stream_options *o = &c->options;
	bool empty = false;
	struct model_stream one;
	lc_status status;

	for (uint32_t r = 0; r < o->idealised; r++) {
		struct model_units units = model_rstar(&model, o->idealised, r, true,
		    o->window > 0, 1);

		empty = empty || units.n == 0;
		model_units_free(&units);
	}
	if (o->idealised == 0) {
		one = model_stream(&model, 1, o, false, 1);
		empty = one.n == 0;
		model_stream_free(&one);
	}
	status = lc_stream_open(&c->source, 1, o, &c->stream);
	if (empty) {
		assert_status(status, LC_INVALID);
		return false;
	}
	assert_status(status, LC_OK);
	c->expected = model_stream(&model, 1, o, false, o->limit > 0 ? o->limit :
	    100000);
	c->examples = c->expected.n;
	return true;
}

/* ---- batches ------------------------------------------------------------------------------- */

static const lc_batch_field *
field_of(const lc_batch *batch, const char *name)
{
	for (size_t i = 0; i < batch->n_fields; i++)
		if (strcmp(batch->fields[i].name, name) == 0)
			return &batch->fields[i];
	ck_abort_msg("no field %s", name);
	return NULL;
}

static const void *
row_of(const lc_batch *batch, const char *name, size_t row, size_t unit,
    uint64_t *n)
{
	const lc_batch_field *f = field_of(batch, name);

	*n = f->offsets != NULL ? f->offsets[row + 1] - f->offsets[row] :
	    f->ndim > 1 ? f->shape[1] : 1;
	if (f->rows != NULL)
		return f->rows[row];
	return (const char *)f->data + (f->offsets != NULL ?
	    f->offsets[row] * unit : row * (f->nbytes / batch->rows));
}

static void
expect_id(const struct a_case *c, const lc_batch *batch, size_t row, uint64_t record)
{
	char text[64];
	const int size = snprintf(text, sizeof(text), "%u-%llu", c->made.tag,
	    (unsigned long long)c->made.keys[record]);

	ck_assert_uint_eq(batch->ids[row].size, (size_t)size);
	ck_assert_mem_eq(batch->ids[row].data, text, (size_t)size);
}

static void
expect_partner(const struct a_case *c, const lc_batch *batch, size_t row, size_t i,
    uint64_t record)
{
	static const char *const whole[] = { "a", "b\\.c", "d\\\\" };
	static const char *const triple[] = { "a.x\\.y", "b\\.c.x\\.y",
		"d\\\\.x\\.y" };
	static const char *const pair[] = { "a.pair", "b\\.c.pair", "d\\\\.pair" };
	const struct partner *p = &c->partners[i];
	uint32_t words[3];
	uint64_t n;

	partner_words(p->tag, c->made.keys[record], words);
	ck_assert_mem_eq(row_of(batch, p->map ? triple[i] : whole[i], row, 4, &n),
	    words, 12);
	ck_assert_uint_eq(n, 3);
	if (p->map)
		ck_assert_mem_eq(row_of(batch, pair[i], row, 4, &n), words, 8);
}

static void
expect_record(const struct a_case *c, const lc_batch *batch, size_t row,
    const struct model_unit *unit)
{
	uint64_t at, n, record = record_of(c, unit, &at);
	const uint32_t *tokens = row_of(batch, c->made.plain ? "first" :
	    "first.tokens", row, 4, &n);

	ck_assert_uint_eq(n, c->made.lengths[record]);
	for (uint64_t j = 0; j < n; j++)
		ck_assert_uint_eq(tokens[j], made_token(c->made.tag,
		    c->made.keys[record], j));
	expect_id(c, batch, row, record);
	for (size_t i = 0; i < c->n; i++)
		expect_partner(c, batch, row, i, record);
}

/* Of windows the length field alone is read. */
static void
expect_window(const struct a_case *c, const lc_batch *batch, size_t row,
    const struct model_units *units)
{
	const lc_batch_field *f = field_of(batch, c->made.plain ? "first" :
	    "first.tokens");
	const size_t unit = f->nbytes / (batch->rows * c->options.window);

	for (uint64_t i = 0; i < units->n; i++) {
		uint64_t at;
		const uint64_t record = record_of(c, &units->units[i], &at);
		const uint32_t *got = (const void *)((const char *)f->data +
		    (row * c->options.window + i) * unit);

		ck_assert_uint_eq(*got, made_token(c->made.tag,
		    c->made.keys[record], at));
		if (i == 0)
			expect_id(c, batch, row, record);
	}
}

static void
expect_batch(const struct a_case *c, const lc_batch *batch,
    const lc_reader_options *how)
{
	size_t rows;
	uint64_t *share = model_share(how->split, how->readers, how->reader,
	    c->options.batch, &rows);

	ck_assert_uint_eq(batch->rows, rows);
	for (size_t row = 0; row < rows; row++) {
		const uint64_t example = batch->first + share[row];
		const struct model_units *units;

		ck_assert_uint_eq(batch->mask[row], example < c->examples);
		if (example >= c->examples)
			continue;
		units = &c->expected.examples[example];
		ck_assert_uint_eq(batch->examples[row], example);
		ck_assert_uint_eq(batch->epochs[row], units->units[0].epoch);
		if (c->options.window > 0)
			expect_window(c, batch, row, units);
		else
			expect_record(c, batch, row, &units->units[0]);
	}
	free(share);
}

/* From a batch on, to the end. */
static void
read_from(const struct a_case *c, lc_stream *stream, uint64_t number)
{
	static const char *const tokens[] = { "first.tokens" };
	static const char *const plain[] = { "first" };
	lc_reader_options how;
	const lc_batch *batch;
	lc_reader *reader;
	lc_status status;

	lc_reader_options_init(&how);
	how.readers = 1 + (uint32_t)below(c, 4);
	how.reader = (uint32_t)below(c, how.readers);
	how.split = (lc_split)below(c, 2);
	how.threads = (unsigned)below(c, 4);
	how.views = c->options.window == 0 && below(c, 3) == 0;
	if (c->options.window > 0) {
		how.fields = c->made.plain ? plain : tokens;
		how.n_fields = 1;
	}
	assert_ok(lc_reader_open(stream, &how, &reader));
	while ((status = lc_reader_next(reader, &batch)) == LC_OK) {
		ck_assert_uint_eq(batch->number, number++);
		expect_batch(c, batch, &how);
		lc_batch_release(batch);
	}
	assert_status(status, LC_END);
	ck_assert_uint_eq(number, (c->examples + c->options.batch - 1) /
	    c->options.batch);
	lc_reader_close(reader);
}

/* A token opens another stream, on a join that is opened anew. */
static void
resume(const struct a_case *c)
{
	const uint64_t batches = (c->examples + c->options.batch - 1) /
	    c->options.batch;
	const uint64_t at = below(c, batches + 1);
	lc_stream_options options = c->options;
	unsigned char token[LC_TOKEN_SIZE];
	lc_source *source;
	lc_stream *stream;

	assert_ok(lc_stream_token(c->stream, at, token));
	options.token = token;
	assert_ok(lc_source_open_join(c->modules, c->n + 1, LC_MISSING_DROP, NULL,
	    &source));
	assert_ok(lc_stream_open(&source, 1, &options, &stream));
	read_from(c, stream, at);
	lc_stream_close(stream);
	lc_source_close(source);
}

static void
run_streams(struct a_case *c, int cases)
{
	for (int i = 0; i < cases; i++) {
		random_options(c);
		if (!open_stream(c))
			continue;
		read_from(c, c->stream, 0);
		resume(c);
		lc_stream_close(c->stream);
		model_stream_free(&c->expected);
	}
}

/* ---- when modules change -------------------------------------------------------------------- */

/* Opened join: what comes later is not seen. Its token: a module that only grows does no
 * harm, a partner's record that is replaced does. */
static void
change(struct a_case *c)
{
	unsigned char token[LC_TOKEN_SIZE];
	const uint32_t tag = c->made.tag;
	lc_stream_options options;
	lc_source *source;
	lc_stream *stream;
	struct partner *p;
	uint64_t record;

	if (c->n == 0 || c->left == 0 || c->made.writer != NULL)
		return;
	p = &c->partners[below(c, c->n)];
	record = c->kept[below(c, c->left)];
	lc_stream_options_init(&options);
	options.batch = 1;
	assert_ok(lc_stream_open(&c->source, 1, &options, &stream));
	assert_ok(lc_stream_token(stream, 1, token));
	lc_stream_close(stream);
	options.token = token;
	put_partner(p, 1000000, tag);
	assert_ok(lc_flush(p->cache));
	assert_ok(lc_source_open_join(c->modules, c->n + 1, LC_MISSING_DROP, NULL,
	    &source));
	assert_ok(lc_stream_open(&source, 1, &options, &stream));
	lc_stream_close(stream);
	lc_source_close(source);
	put_partner(p, c->made.keys[record], tag);
	assert_ok(lc_flush(p->cache));
	assert_ok(lc_source_open_join(c->modules, c->n + 1, LC_MISSING_DROP, NULL,
	    &source));
	assert_status(lc_stream_open(&source, 1, &options, &stream), LC_CHANGED);
	lc_source_close(source);
	if (c->n > 1) {
		const lc_join other = c->modules[1];

		c->modules[1] = c->modules[2];
		c->modules[2] = other;
		assert_ok(lc_source_open_join(c->modules, c->n + 1,
		    LC_MISSING_DROP, NULL, &source));
		assert_status(lc_stream_open(&source, 1, &options, &stream),
		    LC_OTHER_CACHE);
		lc_source_close(source);
	}
	/* The snapshot of the open one is older than both. */
	options.token = NULL;
	c->options = options;
	if (open_stream(c)) {
		read_from(c, c->stream, 0);
		lc_stream_close(c->stream);
		model_stream_free(&c->expected);
	}
}

START_TEST(random_joins)
{
	uint64_t state = run_seed();
	const int rounds = getenv("T_LONG") != NULL ? 1000 : 30;

	for (int i = 0; i < rounds; i++) {
		struct a_case c = { .state = &state };

		make_first(&c);
		c.n = (size_t)below(&c, MOST_PARTNERS + 1);
		for (size_t k = 0; k < c.n; k++)
			make_partner(&c, &c.partners[k], 20 + (uint32_t)k);
		match(&c);
		open_join(&c);
		run_streams(&c, 30);
		change(&c);
		lc_source_close(c.source);
		for (size_t k = 0; k < c.n; k++) {
			need_ok(lc_close(c.partners[k].cache));
			free(c.partners[k].has);
		}
		free(c.kept);
		free(c.chunks);
		free(c.firsts);
		made_stream_close(&c.made);
	}
}
END_TEST

START_TEST(names_must_differ)
{
	const lc_join same[] = { { "a", NULL }, { "a", NULL } };
	lc_options options;
	lc_join modules[2];
	lc_source *source;
	lc_cache *cache;

	assert_status(lc_source_open_join(same, 2, LC_MISSING_DROP, NULL, &source),
	    LC_INVALID);
	assert_status(lc_source_open_join(NULL, 0, LC_MISSING_DROP, NULL, &source),
	    LC_INVALID);
	lc_options_init(&options);
	need_ok(lc_open(run_scratch(), "m", &options, &cache));
	modules[0] = (lc_join){ "a", cache };
	modules[1] = (lc_join){ "a", cache };
	assert_status(lc_source_open_join(modules, 2, LC_MISSING_DROP, NULL,
	    &source), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "join: two modules are named a: "
	    "their fields would have the same names");
	modules[1].name = "b";
	assert_status(lc_source_open_join(modules, 2, (lc_missing)2, NULL, &source),
	    LC_INVALID);
	need_ok(lc_close(cache));
}
END_TEST

START_TEST(what_is_missing_is_counted)
{
	struct a_case c = { .state = NULL };
	const uint64_t lengths[] = { 1, 1, 1 };
	struct partner *p = &c.partners[0];
	lc_options options;
	lc_source *source;
	char wanted[200];

	made_stream_new(&c.made, 7, true, false);
	made_stream_chunk(&c.made, lengths, 3);
	lc_options_init(&options);
	for (size_t i = 0; i < 2; i++) {
		need_ok(lc_open(run_scratch(), "p", &options, &p[i].cache));
		put_partner(&p[i], i, 7);
		c.modules[i + 1] = (lc_join){ i == 0 ? "x" : "y", p[i].cache };
	}
	c.modules[0] = (lc_join){ "f", c.made.cache };
	assert_status(lc_source_open_join(c.modules, 3, LC_MISSING_REFUSE, NULL,
	    &source), LC_SCHEMA);
	snprintf(wanted, sizeof(wanted), "f+x+y: 3 of 3 records have no partner: 2 "
	    "missing in x, 2 missing in y; the first is '7-0'");
	ck_assert_str_eq(lc_last_error()->text, wanted);
	need_ok(lc_close(p[0].cache));
	need_ok(lc_close(p[1].cache));
	made_stream_close(&c.made);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("join_model");
	TCase *tc = tcase_create("model");

	tcase_add_test(tc, random_joins);
	tcase_add_test(tc, names_must_differ);
	tcase_add_test(tc, what_is_missing_is_counted);
	tcase_set_timeout(tc, 600);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
