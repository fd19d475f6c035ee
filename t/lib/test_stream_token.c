/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens: their bytes, going on from them, and streams that follow. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "made_stream.h"
#include "model_order.h"
#include "run.h"

static const uint64_t lengths_a[] = { 3, 0, 4 }, lengths_b[] = { 5, 2 },
    lengths_c[] = { 1, 1, 4, 1 };

static struct made_stream made;

static void
set_up(void)
{
	made_stream_new(&made, 1, false, true);
	made_stream_chunk(&made, lengths_a, 3);
	made_stream_chunk(&made, lengths_b, 2);
	made_stream_open(&made);
}

static void
tear_down(void)
{
	made_stream_close(&made);
}

static lc_stream *
open_ok(const lc_stream_options *options)
{
	lc_stream *stream = NULL;

	ck_assert_msg(lc_stream_open(&made.source, 1, options, &stream) == LC_OK,
	    "%s", lc_last_error()->text);
	return stream;
}

/* The token of a batch of an order. */
static void
token_of(const lc_stream_options *options, uint64_t batch, unsigned char *token)
{
	lc_stream *stream = open_ok(options);

	ck_assert_int_eq(lc_stream_token(stream, batch, token), LC_OK);
	lc_stream_close(stream);
}

static lc_status
resume(lc_stream_options options, const unsigned char *token, uint64_t *batch)
{
	lc_stream_info info = { .struct_size = sizeof(info) };
	lc_stream *stream = NULL;
	lc_status status;

	options.token = token;
	status = lc_stream_open(&made.source, 1, &options, &stream);
	if (status != LC_OK)
		return status;
	ck_assert_int_eq(lc_stream_info_get(stream, &info), LC_OK);
	*batch = info.first_batch;
	lc_stream_close(stream);
	return LC_OK;
}

/* ---- bytes ------------------------------------------------------------------------- */

/* Of chunks of 3 and 2 records, 7 tokens each, and of the records' bytes. */
#define PREFIX UINT64_C(1204961804362089032)

/* Words 4 to 8: order hash, prefix hash, seed, epoch, next example. They stand for
 * ever: tokens are kept in checkpoints. */
static const struct {
	lc_stream_options o;
	uint64_t batch;
	uint64_t words[5];
} byte_rows[] = {
	{ { .batch = 2, .epochs = 1, .seed = 5 }, 1, { UINT64_C(18135959558757833776), PREFIX,
	    5, 0, 2 } },
	{ { .batch = 2, .epochs = 3, .window = 4, .stride = 3, .seed = 7,
	    .shuffle = LC_SHUFFLE_FULL }, 5, { UINT64_C(3999339098700110857), PREFIX,
	    7, 2, 10 } },
	{ { .batch = 2, .epochs = 0, .window = 4, .drop_short = 1,
	    .shuffle = LC_SHUFFLE_BLOCK, .block = 3, .spread = 2 }, 100, { UINT64_C(10457192085302719814), PREFIX,
	    0, 66, 200 } },
	{ { .batch = 1, .epochs = 1, .shuffle = LC_SHUFFLE_ERA, .block = 3,
	    .spread = 2, .era_first = 4, .era_max = 8 }, 9, { UINT64_C(14150105210682830211), PREFIX,
	    0, 1, 5 } },
	{ { .batch = 4, .epochs = 0, .window = 3, .shuffle = LC_SHUFFLE_BLOCK, .spread = 2,
	    .shares = 2, .seed = 9 }, 7, { UINT64_C(14090937128343937175), PREFIX,
	    9, 4, 28 } },
	{ { .batch = 3, .epochs = 0, .window = 4, .idealised = 3 }, 4, { UINT64_C(671872357281993167), PREFIX,
	    0, 3, 12 } },
};

static lc_stream_options
options_of(const lc_stream_options *row)
{
	lc_stream_options o = *row;
	lc_stream_options defaults;

	lc_stream_options_init(&defaults);
	o.struct_size = defaults.struct_size;
	o.mixture_block = defaults.mixture_block;
	if (o.block == 0)
		o.block = defaults.block;
	if (o.spread == 0)
		o.spread = defaults.spread;
	if (o.era_first == 0)
		o.era_first = defaults.era_first;
	if (o.era_max == 0)
		o.era_max = defaults.era_max;
	return o;
}

START_TEST(bytes)
{
	const lc_stream_options o = options_of(&byte_rows[_i].o);
	lc_source_info info = { .struct_size = sizeof(info) };
	unsigned char token[LC_TOKEN_SIZE];

	token_of(&o, byte_rows[_i].batch, token);
	ck_assert_int_eq(lc_source_info_get(made.source, &info), LC_OK);
	ck_assert_mem_eq(token, "LCTOKEN\1", 8);
	ck_assert_mem_eq(token + 8, info.uuid, 16);
	ck_assert_uint_eq(lc__get64(token + 24), info.generation);
	ck_assert_uint_eq(lc__get64(token + 40), info.prefix_hash);
	for (int w = 0; w < 5; w++)
		ck_assert_msg(lc__get64(token + 32 + 8 * w) ==
		    byte_rows[_i].words[w], "row %d word %d: %llu", _i, w,
		    (unsigned long long)lc__get64(token + 32 + 8 * w));
	ck_assert_uint_eq(lc__get32(token + 72), 0);
	ck_assert_uint_eq(lc__get32(token + 76), o.shares);
	ck_assert_uint_eq(lc__get64(token + 80), o.shares > 0 ? o.spread : 0);
	ck_assert_uint_eq(lc__get32(token + 88), 0);
}
END_TEST

/* Other shares, and other windows of them, are refused by name; a block has no effect. */
START_TEST(other_shares)
{
	lc_stream_options o = options_of(&(lc_stream_options) { .epochs = 1, .batch = 4,
	    .shuffle = LC_SHUFFLE_BLOCK, .spread = 3, .shares = 2 }), other = o;
	unsigned char token[LC_TOKEN_SIZE];
	uint64_t batch = 77;

	token_of(&o, 1, token);
	other.block = 7;
	ck_assert_int_eq(resume(other, token, &batch), LC_OK);
	ck_assert_uint_eq(batch, 1);
	other.batch = 2;
	ck_assert_int_eq(resume(other, token, &batch), LC_OK);
	ck_assert_uint_eq(batch, 2);
	other.batch = 4;
	other.shares = 4;
	ck_assert_int_eq(resume(other, token, &batch), LC_OTHER_ORDER);
	ck_assert_str_eq(lc_last_error()->text, "token: of 2 shares, the stream has 4");
	other.shares = 0;
	ck_assert_int_eq(resume(other, token, &batch), LC_OTHER_ORDER);
	ck_assert_str_eq(lc_last_error()->text, "token: of 2 shares, the stream has 0");
	other = o;
	other.spread = 2;
	ck_assert_int_eq(resume(other, token, &batch), LC_OTHER_ORDER);
	ck_assert_str_eq(lc_last_error()->text, "token: of shares in windows of 3 chunks, "
	    "the stream's are of 2");
	other = o;
	other.seed = 1;
	ck_assert_int_eq(resume(other, token, &batch), LC_OTHER_ORDER);
	ck_assert_str_eq(lc_last_error()->text, "token: made for seed 0; the stream has 1");
}
END_TEST

/* ---- what counts --------------------------------------------------------------------- */

/* The order is another one if these differ, and only then. */
static const struct {
	lc_stream_options o;
	lc_status status;
} count_rows[] = {
	{ { .epochs = 1, .window = 4 }, LC_OK },
	{ { .epochs = 1, .window = 4, .stride = 4 }, LC_OK },
	{ { .epochs = 7, .window = 4 }, LC_OK },
	{ { .epochs = 0, .window = 4, .limit = 5 }, LC_OK },
	{ { .epochs = 1, .window = 4, .batch = 4 }, LC_OK },
	{ { .epochs = 1, .window = 4, .block = 3, .spread = 9 }, LC_OK },
	{ { .epochs = 1, .window = 4, .follow = 1 }, LC_OK },
	{ { .epochs = 1, .window = 3 }, LC_OTHER_ORDER },
	{ { .epochs = 1, .window = 4, .stride = 3 }, LC_OTHER_ORDER },
	{ { .epochs = 1, .window = 4, .drop_short = 1 }, LC_OTHER_ORDER },
	{ { .epochs = 0, .window = 4, .idealised = 1 }, LC_OTHER_ORDER },
	{ { .epochs = 1, .window = 4, .shuffle = LC_SHUFFLE_ERA }, LC_OTHER_ORDER },
	{ { .epochs = 1, .window = 4, .seed = 1 }, LC_OTHER_ORDER },
	{ { .epochs = 1 }, LC_OTHER_ORDER },
	{ { .epochs = 1, .window = 4, .batch = 3 }, LC_INVALID },
};

START_TEST(what_counts)
{
	lc_stream_options first = { .epochs = 1, .window = 4, .batch = 2 };
	lc_stream_options o = options_of(&count_rows[_i].o);
	unsigned char token[LC_TOKEN_SIZE];
	uint64_t batch = 77;

	first = options_of(&first);
	token_of(&first, 1, token);
	if (o.batch == 0)
		o.batch = 2;
	if (o.batch == 4)
		token_of(&first, 0, token);
	ck_assert_int_eq(resume(o, token, &batch), count_rows[_i].status);
	if (count_rows[_i].status == LC_OK)
		ck_assert_uint_eq(batch, o.batch == 4 ? 0 : 1);
}
END_TEST

/* ---- what is wrong with them -------------------------------------------------------------- */

static lc_stream_options
plain_options(void)
{
	lc_stream_options o;

	lc_stream_options_init(&o);
	o.batch = 2;
	return o;
}

START_TEST(damaged)
{
	const lc_stream_options o = plain_options();
	unsigned char token[LC_TOKEN_SIZE];
	uint64_t batch;

	token_of(&o, 1, token);
	for (int i = 0; i < LC_TOKEN_SIZE; i++) {
		token[i] ^= 0x10;
		ck_assert_int_eq(resume(o, token, &batch), LC_CORRUPT);
		token[i] ^= 0x10;
	}
	ck_assert_int_eq(resume(o, token, &batch), LC_OK);
	ck_assert_uint_eq(batch, 1);
}
END_TEST

START_TEST(other_cache)
{
	const lc_stream_options o = plain_options();
	unsigned char token[LC_TOKEN_SIZE];
	struct made_stream first = made;
	uint64_t batch;

	token_of(&o, 1, token);
	set_up();
	ck_assert_int_eq(resume(o, token, &batch), LC_OTHER_CACHE);
	tear_down();
	made = first;
}
END_TEST

/* A module with inputs is known by their names: another one with the same list and the same
 * chunks goes on. */
START_TEST(same_list)
{
	static const uint64_t lengths[] = { 3, 5, 2 };
	lc_stream_options o = plain_options();
	lc_source_info info = { .struct_size = sizeof(info) };
	unsigned char token[2][LC_TOKEN_SIZE];
	struct made_stream first = made;
	uint64_t hash[2], batch;

	for (int i = 0; i < 2; i++) {
		made_stream_new(&made, 1, true, false);
		made_stream_input(&made);
		for (int k = 0; k < 8; k++)
			made_stream_chunk(&made, lengths, 3);
		made_stream_finish(&made);
		made_stream_open(&made);
		token_of(&o, 1, token[i]);
		if (i == 1)
			ck_assert_int_eq(resume(o, token[0], &batch), LC_OK);
		ck_assert_int_eq(lc_source_info_get(made.source, &info), LC_OK);
		lc__hash128("in", 3, hash);
		ck_assert_uint_eq(lc__get64(info.uuid), hash[0]);
		ck_assert_uint_eq(lc__get64(info.uuid + 8), hash[1]);
		tear_down();
	}
	ck_assert_mem_eq(token[0], token[1], LC_TOKEN_SIZE);
	made = first;
}
END_TEST

START_TEST(changed)
{
	const lc_stream_options o = plain_options();
	unsigned char token[LC_TOKEN_SIZE];
	uint64_t batch;

	token_of(&o, 1, token);
	ck_assert_int_eq(lc_delete(made.cache, "1-2", 3), LC_OK);
	ck_assert_int_eq(lc_flush(made.cache), LC_OK);
	lc_source_close(made.source);
	made.source = NULL;
	made_stream_open(&made);
	ck_assert_int_eq(resume(o, token, &batch), LC_CHANGED);
}
END_TEST

START_TEST(no_batch_begins_there)
{
	lc_stream_options o = plain_options();
	unsigned char token[LC_TOKEN_SIZE];
	uint64_t batch;

	token_of(&o, 1, token);
	o.batch = 3;
	ck_assert_int_eq(resume(o, token, &batch), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "token: no batch of 3 examples begins with example 2");
	/* The end is none, whatever the batches: 5 examples. */
	o.batch = 2;
	token_of(&o, 3, token);
	ck_assert_uint_eq(lc__get64(token + 64), 5);
	ck_assert_int_eq(resume(o, token, &batch), LC_OK);
	ck_assert_uint_eq(batch, 3);
	o.batch = 3;
	ck_assert_int_eq(resume(o, token, &batch), LC_OK);
	ck_assert_uint_eq(batch, 2);
	o.epochs = 2;
	ck_assert_int_eq(resume(o, token, &batch), LC_INVALID);
	token_of(&o, UINT64_MAX, token);
	ck_assert_uint_eq(lc__get64(token + 64), 10);
}
END_TEST

/* ---- going on after appends ------------------------------------------------------------------ */

START_TEST(appended)
{
	lc_stream_options o = plain_options();
	unsigned char token[LC_TOKEN_SIZE], again[LC_TOKEN_SIZE];
	lc_stream *stream;
	lc_stream_info info = { .struct_size = sizeof(info) };

	o.shuffle = LC_SHUFFLE_FULL;
	o.epochs = 4;
	token_of(&o, 3, token);
	made_stream_chunk(&made, lengths_c, 4);
	made_stream_open(&made);
	token_of(&o, 3, again);
	ck_assert_mem_ne(token, again, LC_TOKEN_SIZE);
	o.token = token;
	stream = open_ok(&o);
	ck_assert_int_eq(lc_stream_info_get(stream, &info), LC_OK);
	ck_assert_uint_eq(info.epoch_examples, 5);
	ck_assert_uint_eq(info.examples, 20);
	ck_assert_uint_eq(info.first_batch, 3);
	ck_assert_int_eq(lc_stream_token(stream, 3, again), LC_OK);
	ck_assert_mem_eq(token, again, LC_TOKEN_SIZE);
	lc_stream_close(stream);
}
END_TEST

/* ---- mixtures ------------------------------------------------------------------------------------ */

START_TEST(mixture)
{
	struct made_stream first = made;
	lc_source *both[2];
	lc_stream_options o = plain_options();
	unsigned char token[LC_TOKEN_SIZE];
	lc_stream *stream;

	set_up();
	both[0] = first.source;
	both[1] = made.source;
	o.epochs = 0;
	o.mixture_block = 4;
	ck_assert_int_eq(lc_stream_open(both, 2, &o, &stream), LC_OK);
	ck_assert_int_eq(lc_stream_token(stream, 1000, token), LC_OK);
	lc_stream_close(stream);
	ck_assert_uint_eq(lc__get64(token + 24), 0);
	ck_assert_uint_eq(lc__get64(token + 56), 200); /* 1000 of 5 an epoch */
	o.token = token;
	ck_assert_int_eq(lc_stream_open(both, 2, &o, &stream), LC_OK);
	lc_stream_close(stream);
	both[0] = made.source;
	both[1] = first.source;
	ck_assert_int_eq(lc_stream_open(both, 2, &o, &stream), LC_OTHER_CACHE);
	both[0] = first.source;
	both[1] = made.source;
	o.mixture_block = 6;
	ck_assert_int_eq(lc_stream_open(both, 2, &o, &stream), LC_OTHER_ORDER);
	o.mixture_block = 4;
	made_stream_chunk(&made, lengths_c, 4);
	made_stream_open(&made);
	ck_assert_int_eq(lc_stream_open(both, 2, &o, &stream), LC_CHANGED);
	tear_down();
	made = first;
}
END_TEST

/* ---- following --------------------------------------------------------------------------------------- */

static const lc_stream_options follow_rows[] = {
	{ .batch = 3 },
	{ .batch = 3, .window = 4 },
	{ .batch = 3, .window = 5, .stride = 2 },
	{ .batch = 3, .window = 2, .stride = 7 },
	{ .batch = 3, .shuffle = LC_SHUFFLE_ERA, .block = 2, .spread = 2,
	    .era_first = 3, .era_max = 9, .seed = 4 },
	{ .batch = 3, .window = 3, .shuffle = LC_SHUFFLE_ERA, .block = 1,
	    .spread = 5, .era_first = 2, .era_max = 2 },
	{ .batch = 3, .idealised = 3 },
	{ .batch = 3, .window = 4, .stride = 3, .idealised = 2 },
};

static struct model_stream
model_of(const lc_stream_options *o, struct model_chunk *chunks)
{
	struct model_source source = { chunks, made.n };

	for (size_t i = 0; i < made.n; i++) {
		chunks[i] = (struct model_chunk){ made.chunks[i].records, 0 };
		for (uint64_t k = 0; k < made.chunks[i].records; k++)
			chunks[i].units +=
			    made.lengths[made.chunks[i].first + k];
	}
	return model_stream(&source, 1, o, true, 100000);
}

static void
expect_example(lc_stream *stream, uint64_t i, const struct model_units *units)
{
	lc_piece pieces[16];
	size_t n, at = 0;

	ck_assert_int_eq(lc_stream_locate(stream, i, pieces, 16, &n), LC_OK);
	for (size_t p = 0; p < n; p++)
		for (uint64_t u = 0; u < pieces[p].units; u++, at++) {
			ck_assert_uint_lt(at, units->n);
			ck_assert_uint_eq(pieces[p].chunk, units->units[at].chunk);
			ck_assert_uint_eq(pieces[p].first + u,
			    units->units[at].unit);
		}
	ck_assert_uint_eq(at, units->n);
}

#define MOST_BATCHES 1000

/* A stream is as far as the source lets it be, what it has never changes, and a token
 * is the same whenever it is asked for. */
START_TEST(following)
{
	static unsigned char tokens[MOST_BATCHES][LC_TOKEN_SIZE];
	struct model_chunk chunks[80];
	lc_stream_options o = options_of(&follow_rows[_i]);
	uint64_t state = run_seed() + (uint64_t)_i, batches = 0;
	lc_stream *stream;

	o.follow = 1;
	stream = open_ok(&o);
	for (int round = 0; round < 40; round++) {
		struct model_stream model = model_of(&o, chunks);
		lc_stream_info info = { .struct_size = sizeof(info) };
		uint64_t lengths[6];
		unsigned char token[LC_TOKEN_SIZE];
		uint64_t batch;
		lc_piece piece;
		size_t n;

		ck_assert_int_eq(lc_stream_wait(stream, model.n, 0), LC_OK);
		ck_assert_int_eq(lc_stream_info_get(stream, &info), LC_OK);
		ck_assert_uint_eq(info.known, model.n);
		ck_assert_uint_eq(info.examples, UINT64_MAX);
		for (uint64_t i = 0; i < model.n; i++)
			expect_example(stream, i, &model.examples[i]);
		ck_assert_int_eq(lc_stream_locate(stream, model.n, &piece, 1, &n),
		    LC_TIMEOUT);
		for (batch = 0; batch * o.batch <= model.n; batch++) {
			ck_assert_int_eq(lc_stream_token(stream, batch, token),
			    LC_OK);
			if (batch < batches)
				ck_assert_mem_eq(token, tokens[batch],
				    LC_TOKEN_SIZE);
			else
				memcpy(tokens[batch], token, LC_TOKEN_SIZE);
			ck_assert_int_eq(resume(o, token, &n), LC_OK);
			ck_assert_uint_eq(n, batch);
			o.follow = 0;
			ck_assert_int_eq(resume(o, token, &n), LC_OTHER_ORDER);
			o.follow = 1;
		}
		batches = batch;
		ck_assert_int_eq(lc_stream_token(stream, batch, token), LC_TIMEOUT);
		model_stream_free(&model);
		for (int k = 0; k < 6; k++)
			lengths[k] = run_random(&state) % 5;
		made_stream_chunk(&made, lengths, 1 + run_random(&state) % 6);
		made_stream_open(&made);
	}
	lc_stream_close(stream);
}
END_TEST

/* ---- following to the end ------------------------------------------------------------------------------ */

/* When the source is final, the stream is what one is that begins then; and what was
 * read before is its beginning. */
START_TEST(following_to_the_end)
{
	struct made_stream first = made;
	struct model_chunk chunks[80];
	struct model_source source = { chunks, 0 };
	lc_stream_options o = options_of(&follow_rows[_i]);
	lc_stream_info info = { .struct_size = sizeof(info) };
	struct model_stream growing, all;
	lc_stream *stream;

	made_stream_new(&made, 1, true, true);
	made_stream_input(&made);
	o.epochs = o.idealised > 0 ? 0 : 2;
	o.follow = 1;
	for (int i = 0; i < 7; i++)
		made_stream_chunk(&made, lengths_c, 4);
	made_stream_open(&made);
	stream = open_ok(&o);
	growing = model_of(&o, chunks);
	for (uint64_t i = 0; i < growing.n; i++)
		expect_example(stream, i, &growing.examples[i]);
	ck_assert_int_eq(lc_stream_wait(stream, growing.n + 1, 0), LC_TIMEOUT);
	made_stream_chunk(&made, lengths_a, 1);
	made_stream_finish(&made);
	model_stream_free(&growing);
	growing = model_of(&o, chunks); /* fills chunks */
	source.n = made.n;
	all = model_stream(&source, 1, &o, false, 300);
	ck_assert_int_eq(lc_stream_wait(stream, all.n, 0), LC_OK);
	for (uint64_t i = 0; i < all.n; i++)
		expect_example(stream, i, &all.examples[i]);
	ck_assert_int_eq(lc_stream_info_get(stream, &info), LC_OK);
	ck_assert_uint_eq(info.examples, o.epochs == 0 ? UINT64_MAX : all.n);
	if (o.epochs > 0)
		ck_assert_int_eq(lc_stream_wait(stream, all.n + 1, UINT64_MAX),
		    LC_END);
	lc_stream_close(stream);
	model_stream_free(&growing);
	model_stream_free(&all);
	tear_down();
	made = first;
}
END_TEST

/* A source that is final and empty has nothing that a stream could wait for. */
START_TEST(following_nothing)
{
	struct made_stream first = made;
	lc_stream_options o = plain_options();
	unsigned char token[LC_TOKEN_SIZE];
	lc_stream *stream, *again;

	made_stream_new(&made, 1, true, true);
	made_stream_input(&made);
	made_stream_open(&made);
	o.follow = 1;
	stream = open_ok(&o);
	ck_assert_int_eq(lc_stream_wait(stream, 1, 0), LC_TIMEOUT);
	made_stream_finish(&made);
	ck_assert_int_eq(lc_stream_wait(stream, 1, UINT64_MAX), LC_END);
	ck_assert_int_eq(lc_stream_token(stream, 3, token), LC_OK);
	ck_assert_uint_eq(lc__get64(token + 64), 0);
	ck_assert_int_eq(lc_stream_open(&made.source, 1, &o, &again), LC_INVALID);
	lc_stream_close(stream);
	tear_down();
	made = first;
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *suite = suite_create("stream_token");
	TCase *tc = tcase_create("tokens");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, bytes, 0, ROWS(byte_rows));
	tcase_add_test(tc, other_shares);
	tcase_add_loop_test(tc, what_counts, 0, ROWS(count_rows));
	tcase_add_test(tc, damaged);
	tcase_add_test(tc, other_cache);
	tcase_add_test(tc, same_list);
	tcase_add_test(tc, changed);
	tcase_add_test(tc, no_batch_begins_there);
	tcase_add_test(tc, appended);
	tcase_add_test(tc, mixture);
	tcase_add_loop_test(tc, following, 0, ROWS(follow_rows));
	tcase_add_loop_test(tc, following_to_the_end, 0, ROWS(follow_rows));
	tcase_add_test(tc, following_nothing);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
