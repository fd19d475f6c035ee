/* SPDX-License-Identifier: BSD-2-Clause */
/* Orders over sources: options, numbers, parts of examples. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "made_stream.h"
#include "run.h"

/* Chunks of 3, 2 and 4 records: 21 tokens. */
static const uint64_t lengths_a[] = { 3, 0, 4 }, lengths_b[] = { 5, 2 },
    lengths_c[] = { 1, 1, 4, 1 };

static struct made_stream made, other;

static void
fill(struct made_stream *m, uint32_t tag)
{
	made_stream_new(m, tag, false, true);
	made_stream_chunk(m, lengths_a, 3);
	made_stream_chunk(m, lengths_b, 2);
	made_stream_chunk(m, lengths_c, 4);
	made_stream_open(m);
}

static void
set_up(void)
{
	fill(&made, 1);
	fill(&other, 2);
}

static void
tear_down(void)
{
	made_stream_close(&made);
	made_stream_close(&other);
}

static lc_status
open_with(const lc_stream_options *options, size_t sources, lc_stream **out)
{
	lc_source *both[] = { made.source, other.source };

	return lc_stream_open(both, sources, options, out);
}

static lc_stream *
open_one(const lc_stream_options *options)
{
	lc_stream *stream = NULL;

	ck_assert_msg(open_with(options, 1, &stream) == LC_OK, "%s",
	    lc_last_error()->text);
	return stream;
}

static lc_stream_info
info_of(const lc_stream *stream)
{
	lc_stream_info info = { .struct_size = sizeof(info) };

	ck_assert_int_eq(lc_stream_info_get(stream, &info), LC_OK);
	return info;
}

/* ---- names ------------------------------------------------------------------------ */

START_TEST(names)
{
	static const char *const shuffles[] = { "none", "full", "block", "era" };
	static const char *const splits[] = { "strided", "contiguous" };
	lc_shuffle shuffle;
	lc_split split;

	for (int i = 0; i < 4; i++) {
		ck_assert_str_eq(lc_shuffle_name((lc_shuffle)i), shuffles[i]);
		ck_assert_int_eq(lc_shuffle_parse(shuffles[i], &shuffle), LC_OK);
		ck_assert_int_eq(shuffle, i);
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_str_eq(lc_split_name((lc_split)i), splits[i]);
		ck_assert_int_eq(lc_split_parse(splits[i], &split), LC_OK);
		ck_assert_int_eq(split, i);
	}
	ck_assert_ptr_null(lc_shuffle_name((lc_shuffle)4));
	ck_assert_ptr_null(lc_shuffle_name((lc_shuffle)-1));
	ck_assert_ptr_null(lc_split_name((lc_split)2));
	ck_assert_int_eq(lc_shuffle_parse("Full", &shuffle), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "unknown shuffle 'Full'");
	ck_assert_int_eq(lc_shuffle_parse(NULL, &shuffle), LC_INVALID);
	ck_assert_int_eq(lc_split_parse("", &split), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "unknown split ''");
}
END_TEST

/* ---- options that contradict one another --------------------------------------------- */

static const uint64_t zero_weight[] = { 1, 0 };
static const uint64_t great_weight[] = { ((uint64_t)1 << 32) + 1, 1 };
static const uint64_t far_weights[] = { 1, (uint64_t)1 << 32 };

/* What is changed of the defaults; epochs are 0 where there are several sources. */
static const struct {
	lc_stream_options o;
	size_t sources;
	const char *text;
} bad_rows[] = {
	{ { .batch = UINT64_MAX }, 1, "stream: a batch has 1 to 4294967295 examples" },
	{ { .stride = 3 }, 1, "stream: a stride without a window" },
	{ { .drop_short = 1 }, 1,
	    "stream: no short window to drop without a window" },
	{ { .window = (uint64_t)1 << 32 }, 1,
	    "stream: a window has at most 4294967295 units" },
	{ { .window = 1, .stride = (uint64_t)1 << 63 }, 1,
	    "stream: the stride is above 2^63 - 1" },
	{ { .shuffle = (lc_shuffle)7 }, 1, "stream: no shuffle 7" },
	{ { .shuffle = LC_SHUFFLE_BLOCK, .block = UINT64_MAX }, 1,
	    "stream: block times spread is above 2^63 - 1" },
	{ { .shuffle = LC_SHUFFLE_ERA, .era_first = 5, .era_max = 4 }, 1,
	    "stream: the first era has at least one example and no more than the "
	    "largest" },
	{ { .idealised = 65537 }, 1, "stream: at most 65536 idealised readers" },
	{ { .idealised = 2, .shuffle = LC_SHUFFLE_FULL }, 1,
	    "stream: idealised readers do not shuffle" },
	{ { .idealised = 2, .epochs = 1 }, 1,
	    "stream: idealised readers run for ever: epochs is 0" },
	{ { .epochs = 1 }, 2, "stream: a mixture runs for ever: epochs is 0" },
	{ { .follow = 1 }, 2, "stream: a mixture does not follow its sources" },
	{ { .mixture_block = 1 }, 2, "stream: a block of the mixture has fewer "
	    "examples than there are sources" },
	{ { .weights = zero_weight }, 2,
	    "stream: weight 1 is not 1 to 4294967296" },
	{ { .weights = great_weight }, 2,
	    "stream: weight 0 is not 1 to 4294967296" },
	{ { .follow = 1, .shuffle = LC_SHUFFLE_FULL, .epochs = 1 }, 1,
	    "stream: a shuffle that needs to know the end does not follow: shuffle "
	    "in eras" },
	{ { .follow = 1, .shuffle = LC_SHUFFLE_BLOCK, .epochs = 1 }, 1,
	    "stream: a shuffle that needs to know the end does not follow: shuffle "
	    "in eras" },
	{ { .shares = 65537, .shuffle = LC_SHUFFLE_BLOCK, .epochs = 1 }, 1,
	    "stream: at most 65536 shares" },
	{ { .shares = 2, .epochs = 1 }, 1,
	    "stream: shares need the shuffle in blocks" },
	{ { .shares = 2, .shuffle = LC_SHUFFLE_ERA, .epochs = 1 }, 1,
	    "stream: shares need the shuffle in blocks" },
	{ { .shares = 2, .idealised = 2 }, 1,
	    "stream: shares need the shuffle in blocks" },
	{ { .shares = 2, .shuffle = LC_SHUFFLE_BLOCK }, 2,
	    "stream: shares need a single source, not a mixture" },
	{ { .shares = 3, .shuffle = LC_SHUFFLE_BLOCK, .batch = 100, .epochs = 1 }, 1,
	    "stream: a batch of 100 examples is not a multiple of 3 shares" },
	{ { .shares = 2, .shuffle = LC_SHUFFLE_BLOCK, .epochs = 1, .follow = 1 }, 1,
	    "stream: a shuffle that needs to know the end does not follow: shuffle "
	    "in eras" },
	{ { .window = 0 }, 0, "stream: no sources" },
};

static lc_stream_options
changed(const lc_stream_options *to)
{
	lc_stream_options o;

	lc_stream_options_init(&o);
	o.window = to->window;
	o.stride = to->stride;
	o.drop_short = to->drop_short;
	o.idealised = to->idealised;
	o.shuffle = to->shuffle;
	o.shares = to->shares;
	o.epochs = to->epochs;
	o.limit = to->limit;
	o.follow = to->follow;
	o.weights = to->weights;
	if (to->batch != 0)
		o.batch = to->batch;
	if (to->block != 0)
		o.block = to->block;
	if (to->spread != 0)
		o.spread = to->spread;
	if (to->era_first != 0)
		o.era_first = to->era_first;
	if (to->era_max != 0)
		o.era_max = to->era_max;
	if (to->mixture_block != 0)
		o.mixture_block = to->mixture_block;
	return o;
}

START_TEST(contradictions)
{
	const lc_stream_options o = changed(&bad_rows[_i].o);
	lc_stream *stream = (void *)1;

	ck_assert_int_eq(open_with(&o, bad_rows[_i].sources, &stream), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].text);
	ck_assert_ptr_eq(stream, (void *)1);
}
END_TEST

START_TEST(nothing_of_what_is_needed)
{
	lc_stream_options o;
	lc_stream *stream;

	lc_stream_options_init(&o);
	o.batch = 0;
	ck_assert_int_eq(open_with(&o, 1, &stream), LC_INVALID);
	lc_stream_options_init(&o);
	o.shuffle = LC_SHUFFLE_BLOCK;
	o.spread = 0;
	ck_assert_int_eq(open_with(&o, 1, &stream), LC_INVALID);
	o.spread = 1;
	o.block = 0;
	ck_assert_int_eq(open_with(&o, 1, &stream), LC_INVALID);
	memset(&o, 0, sizeof(o));
	ck_assert_int_eq(open_with(&o, 1, &stream), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "stream: options were not made by "
	    "lc_stream_options_init()");
	/* Of what weighs next to nothing there is never one. */
	lc_stream_options_init(&o);
	o.epochs = 0;
	o.weights = far_weights;
	ck_assert_int_eq(open_with(&o, 2, &stream), LC_INVALID);
}
END_TEST

/* ---- readers of shares ---------------------------------------------------------------- */

static lc_status
open_reader(lc_stream *stream, uint32_t readers, lc_split split)
{
	lc_reader_options o;
	lc_reader *reader;
	lc_status status;

	lc_reader_options_init(&o);
	o.readers = readers;
	o.split = split;
	status = lc_reader_open(stream, &o, &reader);
	if (status == LC_OK)
		lc_reader_close(reader);
	return status;
}

START_TEST(readers_of_shares)
{
	lc_stream_options o;
	uint64_t chunks[3] = { 7, 7, 7 }, all = 0;
	lc_stream *stream;
	size_t n = 9;

	lc_stream_options_init(&o);
	o.shuffle = LC_SHUFFLE_BLOCK;
	stream = open_one(&o);
	ck_assert_int_eq(lc_stream_share_chunks(stream, 0, 1, chunks, 3, &n), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "stream: it has no shares");
	lc_stream_close(stream);
	o.shares = 4;
	stream = open_one(&o);
	ck_assert_uint_eq(info_of(stream).examples, 9);
	ck_assert_uint_eq(info_of(stream).epoch_examples, 12);
	ck_assert_int_eq(open_reader(stream, 4, LC_SPLIT_STRIDED), LC_OK);
	ck_assert_int_eq(open_reader(stream, 3, LC_SPLIT_STRIDED), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "reader: 4 shares are not a multiple of 3 readers");
	ck_assert_int_eq(open_reader(stream, 8, LC_SPLIT_STRIDED), LC_INVALID);
	ck_assert_int_eq(open_reader(stream, 2, LC_SPLIT_CONTIGUOUS), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "reader: a reader of shares has every R'th one: split is strided");
	ck_assert_int_eq(lc_stream_share_chunks(stream, 2, 2, chunks, 3, &n), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "reader: there is no reader 2 of 2");
	ck_assert_int_eq(lc_stream_share_chunks(stream, 0, 1, chunks, 2, &n), LC_INVALID);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(chunks[0], 7);
	ck_assert_str_eq(lc_last_error()->text,
	    "stream: reader 0 of 1 has 3 chunks, there is room for 2");
	ck_assert_int_eq(lc_stream_share_chunks(stream, 0, 1, chunks, 3, &n), LC_OK);
	ck_assert_uint_eq(n, 3);
	for (uint64_t c = 0; c < 3; c++)
		ck_assert_uint_eq(chunks[c], c);
	for (uint32_t r = 0; r < 4; r++) {
		ck_assert_int_eq(lc_stream_share_chunks(stream, r, 4, chunks, 3, &n), LC_OK);
		all += n;
	}
	ck_assert_uint_ge(all, 4);
	lc_stream_close(stream);
	o.shares = 32;
	ck_assert_int_eq(open_with(&o, 1, &stream), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "9 examples are too few for 32 shares"));
}
END_TEST

/* Several threads locate examples in a stream, each in an order of its own. */
#define LOCATED 36

struct locating {
	lc_stream *stream;
	uint64_t step; /* has no divisor in common with LOCATED */
	lc_piece found[LOCATED];
};

static void *
locate_all(void *arg)
{
	struct locating *l = arg;
	size_t n;

	for (uint64_t i = 0; i < 20 * LOCATED; i++) {
		const uint64_t x = i * l->step % LOCATED;

		if (lc_stream_locate(l->stream, x, &l->found[x], 1, &n) != LC_OK)
			return l;
	}
	return NULL;
}

START_TEST(located_by_threads)
{
	static const uint64_t steps[] = { 1, 5, 7, 11 };
	struct locating by[4];
	pthread_t thread[4];
	lc_stream_options o;
	lc_stream *stream;

	lc_stream_options_init(&o);
	o.shuffle = LC_SHUFFLE_BLOCK;
	o.spread = 1;
	o.shares = 4;
	o.epochs = 0;
	stream = open_one(&o);
	for (int t = 0; t < 4; t++) {
		memset(&by[t], 0, sizeof(by[t]));
		by[t].stream = stream;
		by[t].step = steps[t];
		ck_assert_int_eq(pthread_create(&thread[t], NULL, locate_all, &by[t]), 0);
	}
	for (int t = 0; t < 4; t++) {
		void *failed;

		ck_assert_int_eq(pthread_join(thread[t], &failed), 0);
		ck_assert_ptr_null(failed);
	}
	for (int t = 1; t < 4; t++)
		for (uint64_t x = 0; x < LOCATED; x++) {
			ck_assert_uint_eq(by[t].found[x].chunk, by[0].found[x].chunk);
			ck_assert_uint_eq(by[t].found[x].first, by[0].found[x].first);
			ck_assert_uint_eq(by[t].found[x].epoch, x / 12);
		}
	lc_stream_close(stream);
}
END_TEST

/* ---- no data -------------------------------------------------------------------------- */

START_TEST(no_data)
{
	static const uint64_t zeros[] = { 0, 0 };
	struct made_stream m;
	lc_stream_options o;
	lc_stream *stream;

	made_stream_new(&m, 3, true, true);
	made_stream_open(&m);
	lc_stream_options_init(&o);
	ck_assert_int_eq(lc_stream_open(&m.source, 1, NULL, &stream), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "no examples"));
	made_stream_chunk(&m, zeros, 2);
	made_stream_open(&m);
	o.window = 4;
	ck_assert_int_eq(lc_stream_open(&m.source, 1, &o, &stream), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "the length 0"));
	o.epochs = 0;
	ck_assert_int_eq(lc_stream_open(&m.source, 1, &o, &stream), LC_INVALID);
	o.idealised = 3;
	ck_assert_int_eq(lc_stream_open(&m.source, 1, &o, &stream), LC_INVALID);
	/* Two empty documents are two records. */
	lc_stream_options_init(&o);
	ck_assert_int_eq(lc_stream_open(&m.source, 1, &o, &stream), LC_OK);
	ck_assert_uint_eq(info_of(stream).examples, 2);
	lc_stream_close(stream);
	made_stream_close(&m);
}
END_TEST

START_TEST(no_full_window)
{
	lc_stream_options o;
	lc_stream *stream;

	lc_stream_options_init(&o);
	o.window = 27;
	o.drop_short = 1;
	ck_assert_int_eq(open_with(&o, 1, &stream), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "fewer units than a window"));
	o.drop_short = 0;
	stream = open_one(&o);
	ck_assert_uint_eq(info_of(stream).examples, 1);
	lc_stream_close(stream);
}
END_TEST

/* One idealised reader, of chunks 1 and 3, would have nothing. */
START_TEST(idealised_reader_without_data)
{
	static const uint64_t one[] = { 1 }, none[] = { 0 };
	struct made_stream m;
	lc_stream_options o;
	lc_stream *stream;

	made_stream_new(&m, 3, true, true);
	for (int i = 0; i < 4; i++)
		made_stream_chunk(&m, i % 2 == 0 ? one : none, 1);
	made_stream_open(&m);
	lc_stream_options_init(&o);
	o.epochs = 0;
	o.window = 2;
	o.idealised = 2;
	ck_assert_int_eq(lc_stream_open(&m.source, 1, &o, &stream), LC_INVALID);
	o.idealised = 3;
	ck_assert_int_eq(lc_stream_open(&m.source, 1, &o, &stream), LC_OK);
	lc_stream_close(stream);
	made_stream_close(&m);
}
END_TEST

/* ---- numbers -------------------------------------------------------------------------- */

#define EVER UINT64_MAX

static const struct {
	lc_stream_options o;
	uint64_t examples, batches, epoch_examples;
} number_rows[] = {
	{ { .epochs = 1, .batch = 4 }, 9, 3, 9 },
	{ { .epochs = 3, .batch = 9 }, 27, 3, 9 },
	{ { .epochs = 0, .batch = 4 }, EVER, EVER, 9 },
	{ { .epochs = 0, .batch = 4, .limit = 30 }, 30, 8, 9 },
	{ { .epochs = 1, .batch = 4, .limit = 5 }, 5, 2, 9 },
	{ { .epochs = 1, .batch = 4, .limit = 100 }, 9, 3, 9 },
	{ { .epochs = 1, .batch = 2, .window = 4 }, 6, 3, 6 },
	{ { .epochs = 1, .batch = 2, .window = 4, .drop_short = 1 }, 5, 3, 5 },
	{ { .epochs = 2, .batch = 2, .window = 4, .stride = 3 }, 14, 7, 7 },
	{ { .epochs = 1, .batch = 2, .window = 4, .stride = 5 }, 5, 3, 5 },
	{ { .epochs = 0, .batch = 2, .idealised = 3, .limit = 11 }, 11, 6, 0 },
	{ { .epochs = 0, .batch = 2, .idealised = 3, .window = 4 }, EVER, EVER, 0 },
};

START_TEST(numbers)
{
	lc_stream_options o = changed(&number_rows[_i].o);
	lc_stream *stream = open_one(&o);
	const lc_stream_info info = info_of(stream);

	ck_assert_uint_eq(info.examples, number_rows[_i].examples);
	ck_assert_uint_eq(info.known, number_rows[_i].examples);
	ck_assert_uint_eq(info.batches, number_rows[_i].batches);
	ck_assert_uint_eq(info.epoch_examples, number_rows[_i].epoch_examples);
	ck_assert_uint_eq(info.batch, o.batch);
	ck_assert_uint_eq(info.first_batch, 0);
	lc_stream_close(stream);
}
END_TEST

START_TEST(numbers_that_overflow)
{
	lc_stream_options o;
	lc_stream *stream;

	lc_stream_options_init(&o);
	o.epochs = UINT64_MAX / 8;
	ck_assert_int_eq(open_with(&o, 1, &stream), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "can be numbered"));
	o.epochs = UINT64_MAX / 9;
	stream = open_one(&o);
	ck_assert_uint_eq(info_of(stream).examples, UINT64_MAX / 9 * 9);
	lc_stream_close(stream);
}
END_TEST

/* ---- parts of examples ------------------------------------------------------------------- */

START_TEST(parts)
{
	lc_stream_options o;
	lc_stream *stream;
	lc_piece pieces[3] = { { .units = 77 }, { .units = 77 }, { .units = 77 } };
	size_t n;

	lc_stream_options_init(&o);
	o.window = 9;
	o.stride = 6;
	o.epochs = 0;
	stream = open_one(&o);
	/* Units 6 to 14: the last one of the first chunk, all of the second, one of
	 * the third. */
	ck_assert_int_eq(lc_stream_locate(stream, 1, pieces, 2, &n),
	    LC_INVALID);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(pieces[0].units, 77);
	ck_assert_int_eq(lc_stream_locate(stream, 1, pieces, 3, &n), LC_OK);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(pieces[0].chunk, 0);
	ck_assert_uint_eq(pieces[0].first, 6);
	ck_assert_uint_eq(pieces[0].units, 1);
	ck_assert_uint_eq(pieces[1].chunk, 1);
	ck_assert_uint_eq(pieces[1].first, 0);
	ck_assert_uint_eq(pieces[1].units, 7);
	ck_assert_uint_eq(pieces[2].chunk, 2);
	ck_assert_uint_eq(pieces[2].first, 0);
	ck_assert_uint_eq(pieces[2].units, 1);
	ck_assert_uint_ne(pieces[0].chunk_id, pieces[1].chunk_id);
	/* Three windows an epoch: 0-8, 6-14, 12-20. */
	ck_assert_uint_eq(info_of(stream).epoch_examples, 3);
	ck_assert_int_eq(lc_stream_locate(stream, 3001, pieces, 3, &n), LC_OK);
	ck_assert_uint_eq(pieces[0].epoch, 1000);
	ck_assert_uint_eq(pieces[0].first, 6);
	lc_stream_close(stream);
}
END_TEST

START_TEST(parts_behind_the_end)
{
	lc_stream *stream = open_one(NULL);
	lc_piece piece;
	size_t n = 5;

	ck_assert_int_eq(lc_stream_locate(stream, 8, &piece, 1, &n), LC_OK);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(piece.chunk, 2);
	ck_assert_uint_eq(piece.first, 3);
	ck_assert_uint_eq(piece.units, 1);
	ck_assert_int_eq(lc_stream_locate(stream, 9, &piece, 1, &n), LC_END);
	ck_assert_int_eq(lc_stream_locate(stream, UINT64_MAX, &piece, 1, &n),
	    LC_END);
	lc_stream_close(stream);
}
END_TEST

/* Each source of a mixture may have the R* order: example by example what it is
 * alone. */
START_TEST(mixture_of_idealised)
{
	lc_stream_options o;
	lc_stream *both, *alone[2];
	uint64_t next[2] = { 0 };
	lc_piece got[8], want[8];
	size_t n, n_want;
	lc_source *sources[] = { made.source, other.source };

	lc_stream_options_init(&o);
	o.epochs = 0;
	o.window = 4;
	o.idealised = 2;
	o.mixture_block = 2;
	ck_assert_int_eq(open_with(&o, 2, &both), LC_OK);
	for (int s = 0; s < 2; s++)
		ck_assert_int_eq(lc_stream_open(&sources[s], 1, &o, &alone[s]),
		    LC_OK);
	for (uint64_t i = 0; i < 40; i++) {
		uint32_t s;

		ck_assert_int_eq(lc_stream_locate(both, i, got, 8, &n), LC_OK);
		s = got[0].source;
		ck_assert_int_eq(lc_stream_locate(alone[s], next[s]++, want, 8,
		    &n_want), LC_OK);
		ck_assert_uint_eq(n, n_want);
		for (size_t p = 0; p < n; p++) {
			ck_assert_uint_eq(got[p].source, s);
			ck_assert_uint_eq(got[p].epoch, want[p].epoch);
			ck_assert_uint_eq(got[p].chunk, want[p].chunk);
			ck_assert_uint_eq(got[p].first, want[p].first);
			ck_assert_uint_eq(got[p].units, want[p].units);
		}
	}
	ck_assert_uint_eq(next[0], 20);
	ck_assert_uint_eq(next[1], 20);
	lc_stream_close(both);
	lc_stream_close(alone[0]);
	lc_stream_close(alone[1]);
}
END_TEST

/* Windows that count tokens here and records there are no order. */
START_TEST(mixture_of_units)
{
	struct made_stream m;
	lc_source *both[] = { made.source, NULL };
	lc_stream_options o;
	lc_stream *stream;

	made_stream_new(&m, 5, false, false);
	made_stream_chunk(&m, lengths_a, 3);
	made_stream_open(&m);
	both[1] = m.source;
	lc_stream_options_init(&o);
	o.epochs = 0;
	o.window = 3;
	ck_assert_int_eq(lc_stream_open(both, 2, &o, &stream), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "length field"));
	o.window = 0;
	ck_assert_int_eq(lc_stream_open(both, 2, &o, &stream), LC_OK);
	lc_stream_close(stream);
	both[1] = NULL;
	ck_assert_int_eq(lc_stream_open(both, 2, &o, &stream), LC_INVALID);
	made_stream_close(&m);
}
END_TEST

START_TEST(waiting_for_what_is_there)
{
	lc_stream_options o;
	lc_stream *stream = open_one(NULL);

	ck_assert_int_eq(lc_stream_wait(stream, 9, UINT64_MAX), LC_OK);
	ck_assert_int_eq(lc_stream_wait(stream, 10, UINT64_MAX), LC_END);
	lc_stream_close(stream);
	lc_stream_options_init(&o);
	o.limit = 4;
	o.follow = 1;
	stream = open_one(&o);
	ck_assert_uint_eq(info_of(stream).examples, 4);
	ck_assert_int_eq(lc_stream_wait(stream, 4, UINT64_MAX), LC_OK);
	ck_assert_int_eq(lc_stream_wait(stream, 5, UINT64_MAX), LC_END);
	lc_stream_close(stream);
	o.limit = 40;
	stream = open_one(&o);
	ck_assert_uint_eq(info_of(stream).examples, UINT64_MAX);
	ck_assert_uint_eq(info_of(stream).known, 9);
	ck_assert_uint_eq(info_of(stream).epoch_examples, 0);
	ck_assert_int_eq(lc_stream_wait(stream, 10, 0), LC_TIMEOUT);
	ck_assert_int_eq(lc_stream_wait(stream, 41, 0), LC_END);
	lc_stream_close(stream);
	lc_stream_close(NULL);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *suite = suite_create("stream");
	TCase *tc = tcase_create("stream");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, names);
	tcase_add_loop_test(tc, contradictions, 0, ROWS(bad_rows));
	tcase_add_test(tc, nothing_of_what_is_needed);
	tcase_add_test(tc, readers_of_shares);
	tcase_add_test(tc, located_by_threads);
	tcase_add_test(tc, no_data);
	tcase_add_test(tc, no_full_window);
	tcase_add_test(tc, idealised_reader_without_data);
	tcase_add_loop_test(tc, numbers, 0, ROWS(number_rows));
	tcase_add_test(tc, numbers_that_overflow);
	tcase_add_test(tc, parts);
	tcase_add_test(tc, parts_behind_the_end);
	tcase_add_test(tc, mixture_of_idealised);
	tcase_add_test(tc, mixture_of_units);
	tcase_add_test(tc, waiting_for_what_is_there);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
