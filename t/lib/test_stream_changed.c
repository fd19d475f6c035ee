/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams over modules of plain puts whose records are replaced and deleted and whose
 * chunks are compacted: a batch is what the stream stood on, or LC_CHANGED. */
#include "flat_model.h"
#include "need.h"
#include "run.h"
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lc_cache *
open_module(bool lengths)
{
	lc_options options = sample_options();
	lc_cache *cache;

	options.durability = LC_DURABLE_RELAXED;
	options.flush_every = 1000000;
	cache = sample_open(run_scratch(), "m", &options);
	if (lengths)
		sample_set_length(cache, ".");
	return cache;
}

static void
put(lc_cache *cache, struct flat_list *list, uint32_t key, uint32_t version)
{
	need_ok(flat_store(cache, key, version));
	flat_put(list, key, version);
}

static lc_source *
open_source(lc_cache *cache)
{
	lc_source *source;

	assert_ok(lc_source_open_module(cache, NULL, &source));
	return source;
}

static lc_stream *
open_stream(lc_source *source, const lc_stream_options *options)
{
	lc_stream *stream;

	assert_ok(lc_stream_open(&source, 1, options, &stream));
	return stream;
}

static lc_reader *
open_reader(lc_stream *stream, bool views)
{
	lc_reader_options options;
	lc_reader *reader;

	lc_reader_options_init(&options);
	options.threads = 0;
	options.views = views;
	assert_ok(lc_reader_open(stream, &options, &reader));
	return reader;
}

/* ---- chunks that share a place of the snapshot's cache ----------------------------- */

/* Chunks whose numbers differ by this much share a slot of the cache of chunks. */
#define SLOTS 1024
#define AGED 40

/* Of each of the first chunks the first record is replaced in the chunk SLOTS later,
 * and the last one in the chunk 2 * SLOTS later. */
static void
put_far_apart(lc_cache *cache, struct flat_list *list)
{
	for (uint32_t chunk = 1; chunk <= 2 * SLOTS + AGED; chunk++) {
		const uint32_t one = chunk - SLOTS, two = chunk - 2 * SLOTS;

		for (uint32_t i = 0; i < 3; i++)
			put(cache, list, 3 * chunk + i, 0);
		if (chunk > SLOTS && one <= AGED)
			put(cache, list, 3 * one, 1);
		if (chunk > 2 * SLOTS)
			put(cache, list, 3 * two + 2, 1);
		need_ok(lc_flush(cache));
	}
}

/* Every live record once, whatever the order. */
static void
expect_each_once(lc_reader *reader, const struct flat_list *list)
{
	uint32_t places[3 * (2 * SLOTS + AGED + 1)] = { 0 }; /* by key, from 1 */
	const lc_batch *batch;
	size_t found = 0;
	lc_status status;

	for (size_t i = 0; i < list->n; i++)
		places[list->records[i].key] = (uint32_t)i + 1;

	while ((status = lc_reader_next(reader, &batch)) == LC_OK) {
		for (size_t row = 0; row < batch->filled; row++, found++) {
			const uint32_t *words = batch->fields[0].rows[row];
			const uint32_t key = flat_key(batch->ids[row]);
			uint32_t version;

			ck_assert_uint_gt(places[key], 0);
			version = list->records[places[key] - 1].version;
			places[key] = 0;
			for (uint64_t i = 0; i < flat_length(key, version); i++)
				if (words[i] != flat_word(key, version, i))
					ck_abort_msg("word %llu of key %u",
					    (unsigned long long)i, key);
		}
		lc_batch_release(batch);
	}
	assert_status(status, LC_END);
	ck_assert_uint_eq(found, list->n);
}

static void
expect_in_order(lc_reader *reader, const struct flat_list *list, uint64_t window)
{
	const lc_batch *batch;
	lc_status status;

	while ((status = lc_reader_next(reader, &batch)) == LC_OK) {
		const char *differs = window > 0 ?
		    flat_windows_differ(list, window, batch) :
		    flat_differs(list, batch->first, batch);

		ck_assert_msg(differs == NULL, "batch %llu: %s",
		    (unsigned long long)batch->number, differs);
		lc_batch_release(batch);
	}
	assert_status(status, LC_END);
}

START_TEST(replaced_far_on)
{
	static const uint64_t windows[] = { 0, 1, 7, 64 };
	const bool lengths = _i != 0;
	lc_cache *cache = open_module(lengths);
	struct flat_list list = { 0 };
	lc_stream_options o;
	lc_source *source;
	lc_stream *stream;
	lc_reader *reader;

	put_far_apart(cache, &list);
	source = open_source(cache);
	for (int shuffle = LC_SHUFFLE_NONE; shuffle <= LC_SHUFFLE_ERA; shuffle++) {
		lc_stream_options_init(&o);
		o.shuffle = (lc_shuffle)shuffle;
		o.seed = (uint64_t)shuffle;
		stream = open_stream(source, &o);
		reader = open_reader(stream, true);
		expect_each_once(reader, &list);
		lc_reader_close(reader);
		lc_stream_close(stream);
	}
	for (size_t i = 0; i < (lengths ? 4 : 1); i++) {
		lc_stream_options_init(&o);
		o.window = windows[i];
		stream = open_stream(source, &o);
		reader = open_reader(stream, false);
		expect_in_order(reader, &list, windows[i]);
		lc_reader_close(reader);
		lc_stream_close(stream);
	}
	lc_source_close(source);
	flat_free(&list);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- what is read is what was stood on, or has changed ------------------------------- */

static void
compact(lc_cache *cache, double live_ratio, lc_codec recode)
{
	lc_compact_options options;

	lc_compact_options_init(&options);
	options.live_ratio = live_ratio;
	options.recode = recode;
	need_ok(lc_compact(cache, &options, NULL));
}

/* Batch 0 is read, the module is changed, and the rest is asked for. */
static lc_status
read_on(lc_reader *reader, const struct flat_list *list, uint64_t first)
{
	const lc_batch *batch;
	const lc_status status = lc_reader_next(reader, &batch);
	const char *differs;

	if (status != LC_OK)
		return status;
	differs = flat_differs(list, first, batch);
	ck_assert_msg(differs == NULL, "%s", differs);
	lc_batch_release(batch);
	return LC_OK;
}

/* Records leave and chunks are joined, so that a chunk has as many live ones as it had. */
START_TEST(joined_to_the_same_number)
{
	lc_cache *cache = open_module(false);
	struct flat_list list = { 0 };
	unsigned char token[LC_TOKEN_SIZE];
	lc_stream_options o;
	lc_source *source, *later;
	lc_stream *stream, *resumed = NULL;
	lc_reader *reader;

	for (uint32_t k = 0; k < 12; k++) {
		put(cache, &list, k, 0);
		if (k % 6 == 5)
			need_ok(lc_flush(cache));
	}
	lc_stream_options_init(&o);
	o.batch = 2;
	source = open_source(cache);
	stream = open_stream(source, &o);
	reader = open_reader(stream, false);
	assert_ok(read_on(reader, &list, 0));
	assert_ok(lc_reader_token(reader, token));
	/* Chunk 1 had 0 to 5, and has 3 to 8 then. */
	for (uint32_t k = 0; k < 3; k++)
		need_ok(flat_remove(cache, k));
	for (uint32_t k = 9; k < 12; k++)
		need_ok(flat_remove(cache, k));
	need_ok(lc_flush(cache));
	compact(cache, 1, LC_CODEC_DEFAULT);
	assert_status(read_on(reader, &list, 2), LC_CHANGED);
	assert_status(lc_source_refresh(source), LC_CHANGED);
	later = open_source(cache);
	o.token = token;
	assert_status(lc_stream_open(&later, 1, &o, &resumed), LC_CHANGED);
	lc_source_close(later);
	lc_reader_close(reader);
	lc_stream_close(stream);
	lc_source_close(source);
	flat_free(&list);
	assert_ok(lc_close(cache));
}
END_TEST

/* The same records with the same bytes come back to the same chunk, and another of them
 * is deleted than before. */
START_TEST(same_bytes_come_back)
{
	lc_cache *cache = open_module(false);
	struct flat_list list = { 0 };
	unsigned char token[LC_TOKEN_SIZE];
	lc_stream_options o;
	lc_source *source, *later;
	lc_stream *stream, *resumed = NULL;
	lc_reader *reader;

	for (int round = 0; round < 2; round++) {
		for (uint32_t k = 0; k < 4; k++)
			put(cache, &list, k, 0);
		need_ok(lc_flush(cache));
		if (round == 1)
			break;
		need_ok(flat_remove(cache, 0));
		need_ok(lc_flush(cache));
		flat_delete(&list, 0);
		lc_stream_options_init(&o);
		o.batch = 1;
		source = open_source(cache);
		stream = open_stream(source, &o);
		reader = open_reader(stream, false);
		assert_ok(read_on(reader, &list, 0));
		assert_ok(lc_reader_token(reader, token));
	}
	compact(cache, 1, LC_CODEC_DEFAULT); /* 0 to 3 in chunk 1 again */
	need_ok(flat_remove(cache, 3));
	need_ok(lc_flush(cache));
	assert_status(read_on(reader, &list, 1), LC_CHANGED);
	later = open_source(cache);
	o.token = token;
	assert_status(lc_stream_open(&later, 1, &o, &resumed), LC_CHANGED);
	lc_source_close(later);
	lc_reader_close(reader);
	lc_stream_close(stream);
	lc_source_close(source);
	flat_free(&list);
	assert_ok(lc_close(cache));
}
END_TEST

/* Dead records leave and all are coded anew, but each chunk keeps its live ones: streams,
 * sources and tokens go on. */
START_TEST(rewritten_alone)
{
	lc_cache *cache = open_module(false);
	struct flat_list list = { 0 };
	unsigned char token[LC_TOKEN_SIZE];
	lc_stream_options o;
	lc_source *source, *later;
	lc_stream *stream, *resumed;
	lc_reader *reader;

	for (uint32_t k = 0; k < 8; k++)
		put(cache, &list, k, 0);
	need_ok(lc_flush(cache));
	for (uint32_t k = 0; k < 3; k++) {
		need_ok(flat_remove(cache, 2 * k));
		flat_delete(&list, 2 * k);
	}
	need_ok(lc_flush(cache));
	lc_stream_options_init(&o);
	o.batch = 2;
	source = open_source(cache);
	stream = open_stream(source, &o);
	reader = open_reader(stream, false);
	assert_ok(read_on(reader, &list, 0));
	assert_ok(lc_reader_token(reader, token));
	compact(cache, 1, LC_CODEC_LZ4);
	compact(cache, 1, LC_CODEC_NONE);
	assert_ok(read_on(reader, &list, 2));
	assert_ok(lc_source_refresh(source));
	later = open_source(cache);
	o.token = token;
	assert_ok(lc_stream_open(&later, 1, &o, &resumed));
	lc_reader_close(reader);
	reader = open_reader(resumed, false);
	assert_ok(read_on(reader, &list, 2));
	assert_ok(read_on(reader, &list, 4));
	assert_status(read_on(reader, &list, 6), LC_END);
	lc_reader_close(reader);
	lc_stream_close(resumed);
	lc_source_close(later);
	lc_stream_close(stream);
	lc_source_close(source);
	flat_free(&list);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- at random -------------------------------------------------------------------------- */

#define KEYS 24
#define STANDS 6
#define TOKENS 8
#define BATCH 3

/* A reader, and what its stream stood on when it was opened. */
struct stand {
	struct flat_list list;
	lc_source *source; /* NULL: free */
	lc_stream *stream;
	lc_reader *reader;
	uint64_t window;
	bool follow;
	bool changed;      /* a batch was LC_CHANGED */
};

struct saved_token {
	struct flat_list list; /* records NULL: free */
	uint64_t window;
	bool follow;
	uint64_t at;           /* batch that is the next */
	unsigned char bytes[LC_TOKEN_SIZE];
};

struct play {
	lc_cache *cache;
	struct flat_list list; /* the truth */
	struct stand stands[STANDS];
	struct saved_token tokens[TOKENS];
	uint64_t random;
	bool lengths;
	unsigned read, changed, resumed, refused;
};

static uint32_t
draw(struct play *p, uint32_t n)
{
	return (uint32_t)(run_random(&p->random) % n);
}

static lc_stream_options
order(uint64_t window, bool follow)
{
	lc_stream_options o;

	lc_stream_options_init(&o);
	o.batch = BATCH;
	o.window = window;
	o.follow = follow;
	return o;
}

static void
end_stand(struct stand *s)
{
	if (s->source == NULL)
		return;
	lc_reader_close(s->reader);
	lc_stream_close(s->stream);
	lc_source_close(s->source);
	flat_free(&s->list);
	s->source = NULL;
}

static void
begin_stand(struct play *p, struct stand *s)
{
	lc_stream_options o;

	end_stand(s);
	if (p->list.n == 0)
		return;
	s->window = p->lengths ? draw(p, 3) * 2 : 0;
	s->follow = draw(p, 3) == 0;
	o = order(s->window, s->follow);
	flat_copy(&s->list, &p->list);
	s->changed = false;
	s->source = open_source(p->cache);
	s->stream = open_stream(s->source, &o);
	s->reader = open_reader(s->stream, s->window == 0 && draw(p, 2) == 0);
}

/* Any batch of any stand, as it was then or not at all. */
static void
expect_batch(struct play *p, lc_reader *reader, const struct flat_list *list,
    uint64_t window, uint64_t number, bool *changed)
{
	const lc_batch *batch;
	const lc_status status = lc_reader_read(reader, number, &batch);
	const char *differs;

	if (status != LC_OK) {
		assert_status(status, LC_CHANGED);
		p->changed++;
		*changed = true;
		return;
	}
	differs = window > 0 ? flat_windows_differ(list, window, batch) :
	    flat_differs(list, batch->first, batch);
	ck_assert_msg(differs == NULL, "batch %llu: %s",
	    (unsigned long long)number, differs);
	lc_batch_release(batch);
	p->read++;
}

/* Those that can be read now. */
static uint64_t
batches_of(lc_stream *stream)
{
	lc_stream_info info = { .struct_size = sizeof(info) };

	assert_ok(lc_stream_info_get(stream, &info));
	return info.batches != UINT64_MAX ? info.batches : info.known / BATCH;
}

static void
read_stand(struct play *p, struct stand *s)
{
	const uint64_t n = s->source != NULL ? batches_of(s->stream) : 0;

	if (n > 0)
		expect_batch(p, s->reader, &s->list, s->window,
		    draw(p, (uint32_t)n), &s->changed);
}

static void
expect_prefix(const struct flat_list *prefix, size_t n,
    const struct flat_list *list)
{
	ck_assert_uint_le(n, prefix->n);
	ck_assert_uint_le(n, list->n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(prefix->records[i].key, list->records[i].key);
		ck_assert_uint_eq(prefix->records[i].version,
		    list->records[i].version);
	}
}

/* What a source goes on to begins with what it was, and a stream that follows it gives
 * the rest. */
static void
refresh_stand(struct stand *s, const struct play *p)
{
	lc_source_info info = { .struct_size = sizeof(info) };
	lc_status status;

	if (s->source == NULL)
		return;
	status = lc_source_refresh(s->source);
	if (status == LC_CHANGED)
		return;
	assert_ok(status);
	ck_assert(!s->changed);
	assert_ok(lc_source_info_get(s->source, &info));
	ck_assert_uint_eq(info.records, p->list.n);
	expect_prefix(&s->list, s->list.n, &p->list);
	if (s->follow) {
		flat_free(&s->list);
		flat_copy(&s->list, &p->list);
		assert_status(lc_stream_wait(s->stream, UINT64_MAX, 0), LC_TIMEOUT);
	}
}

static void
save_token(struct play *p, const struct stand *s)
{
	struct saved_token *t = &p->tokens[draw(p, TOKENS)];

	if (s->source == NULL)
		return;
	flat_free(&t->list);
	flat_copy(&t->list, &s->list);
	t->window = s->window;
	t->follow = s->follow;
	t->at = draw(p, (uint32_t)batches_of(s->stream) + 1);
	assert_ok(lc_stream_token(s->stream, t->at, t->bytes));
}

/* The records that the batches before a token are made of. */
static size_t
records_before(const struct saved_token *t)
{
	const uint64_t units = t->at * BATCH * (t->window > 0 ? t->window : 1);
	uint64_t sum = 0;
	size_t n = 0;

	for (; n < t->list.n && sum < units; n++)
		sum += t->window == 0 ? 1 : flat_length(t->list.records[n].key,
		    t->list.records[n].version);
	return n;
}

/* A token is refused, or goes on with what it was taken of. */
static void
use_token(struct play *p, const struct saved_token *t)
{
	const struct flat_list *list = t->follow ? &p->list : &t->list;
	lc_stream_options o = order(t->window, t->follow);
	lc_stream *stream = NULL;
	lc_source *source;
	lc_reader *reader;
	lc_status status;
	bool changed = false;

	if (t->list.records == NULL || p->list.n == 0)
		return;
	source = open_source(p->cache);
	o.token = t->bytes;
	status = lc_stream_open(&source, 1, &o, &stream);
	if (status == LC_OK) {
		reader = open_reader(stream, false);
		for (uint64_t b = t->at; b < batches_of(stream); b++)
			expect_batch(p, reader, list, t->window, b, &changed);
		if (t->follow)
			expect_prefix(&t->list, records_before(t), &p->list);
		/* Nothing changed since the source was opened. */
		ck_assert(!changed);
		lc_reader_close(reader);
		p->resumed++;
	} else {
		assert_status(status, LC_CHANGED);
		p->refused++;
	}
	lc_stream_close(stream);
	lc_source_close(source);
}

static void
remove_record(struct play *p, uint32_t key)
{
	const size_t before = p->list.n;

	flat_delete(&p->list, key);
	assert_status(flat_remove(p->cache, key),
	    p->list.n < before ? LC_OK : LC_NOT_FOUND);
}

static void
change_module(struct play *p)
{
	const uint32_t n = 1 + draw(p, 6);
	static const double ratios[] = { 0, 0.5, 0.9, 1 };

	switch (draw(p, 8)) {
	case 0:
	case 1:
		compact(p->cache, ratios[draw(p, 4)], draw(p, 3) == 0 ?
		    (draw(p, 2) ? LC_CODEC_LZ4 : LC_CODEC_NONE) : LC_CODEC_DEFAULT);
		return;
	case 2:
	case 3:
		for (uint32_t i = 0; i < n; i++) {
			remove_record(p, draw(p, KEYS));
		}
		break;
	case 4: /* all of some neighbours come back as they were */
		for (uint32_t i = 0, key = draw(p, KEYS); i < n; i++)
			put(p->cache, &p->list, (key + i) % KEYS, 0);
		break;
	case 5:
		if (draw(p, 40) == 0) {
			need_ok(lc_clear(p->cache));
			p->list.n = 0;
		}
		return;
	default:
		for (uint32_t i = 0; i < n; i++)
			put(p->cache, &p->list, draw(p, KEYS), draw(p, 2));
		break;
	}
	need_ok(lc_flush(p->cache));
}

static void
play_round(struct play *p)
{
	struct stand *s = &p->stands[draw(p, STANDS)];

	switch (draw(p, 12)) {
	case 0:
		begin_stand(p, s);
		break;
	case 1:
		refresh_stand(s, p);
		break;
	case 2:
	case 3:
		save_token(p, s);
		break;
	case 4:
	case 5:
		use_token(p, &p->tokens[draw(p, TOKENS)]);
		break;
	case 6:
	case 7:
		change_module(p);
		break;
	default:
		read_stand(p, s);
		break;
	}
}

START_TEST(at_random)
{
	struct play p = { .random = run_seed() + (uint64_t)_i,
		.lengths = _i % 2 == 1 };
	const unsigned rounds = sample_times(4000);

	p.cache = open_module(p.lengths);
	for (unsigned i = 0; i < rounds; i++)
		play_round(&p);
	/* The test tests something. */
	ck_assert_uint_gt(p.read, 0);
	ck_assert_uint_gt(p.changed, 0);
	ck_assert_uint_gt(p.resumed, 0);
	ck_assert_uint_gt(p.refused, 0);
	for (unsigned i = 0; i < STANDS; i++)
		end_stand(&p.stands[i]);
	for (unsigned i = 0; i < TOKENS; i++)
		flat_free(&p.tokens[i].list);
	flat_free(&p.list);
	assert_ok(lc_close(p.cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("streams over modules that change");
	TCase *tcase = tcase_create("changed");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, replaced_far_on, 0, 2);
	tcase_add_test(tcase, joined_to_the_same_number);
	tcase_add_test(tcase, same_bytes_come_back);
	tcase_add_test(tcase, rewritten_alone);
	tcase_add_loop_test(tcase, at_random, 0, 4);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
