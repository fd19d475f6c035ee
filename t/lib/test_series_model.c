/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A warehouse with images of two sizes as one stream, against the order written out from
 * the formulas of lmdbcache_stream(3). T_SEED repeats a run; T_LONG=1 does many more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_warehouse.h"
#include "model_order.h"
#include "model_shuffle.h"
#include "need.h"
#include "run.h"

#define SERIES 2
static const uint64_t sizes[SERIES] = { MADE_FIRST, MADE_SECOND };

struct a_case {
	uint64_t *state;
	const char *path;
	lc_source *source;
	lc_stream_options options;
	lc_stream *stream;
	uint64_t batches;  /* of all epochs that are looked at */
	uint64_t *samples; /* of each place, B a batch; UINT64_MAX for none */
	bool *second;      /* of each batch: which size */
	char text[200];
};

static uint64_t
below(const struct a_case *c, uint64_t n)
{
	return run_random(c->state) % n;
}

/* ---- the model ------------------------------------------------------------------------ */

/* Which size each batch of an epoch has. */
static void
order_of_sizes(const struct a_case *c, uint64_t epoch, const uint64_t m[SERIES],
    bool *out)
{
	const uint64_t all = m[0] + m[1];

	for (uint64_t i = 0; i < all; i++) {
		const uint64_t key = model_key((uint64_t[]) { c->options.seed, 0, 3,
			epoch }, 4);
		const uint64_t slot = c->options.shuffle == LC_SHUFFLE_NONE ? i :
		    model_permute(all, key, MODEL_ROUNDS, i);

		out[i] = slot >= m[0];
	}
}

/* The batches of one size of an epoch, in the order of that mixture's slots. */
static uint64_t
slot_in_series(const struct a_case *c, uint64_t epoch, const uint64_t m[SERIES],
    uint64_t i)
{
	const uint64_t all = m[0] + m[1];
	const uint64_t key = model_key((uint64_t[]) { c->options.seed, 0, 3, epoch },
	    4);
	const uint64_t slot = c->options.shuffle == LC_SHUFFLE_NONE ? i :
	    model_permute(all, key, MODEL_ROUNDS, i);

	return slot < m[0] ? slot : slot - m[0];
}

static void
make_model(struct a_case *c, uint64_t epochs)
{
	const uint64_t batch = c->options.batch;
	uint64_t m[SERIES], at = 0;

	for (int s = 0; s < SERIES; s++)
		m[s] = (sizes[s] + batch - 1) / batch;
	c->batches = epochs * (m[0] + m[1]);
	c->samples = calloc((size_t)(c->batches * batch) + 1, sizeof(*c->samples));
	c->second = calloc((size_t)c->batches + 1, sizeof(*c->second));
	for (uint64_t e = 0; e < epochs; e++) {
		uint64_t *order[SERIES];

		for (uint64_t s = 0; s < SERIES; s++) {
			lc_stream_options its = c->options;

			its.seed = model_key((uint64_t[]) { c->options.seed, 0, 4, s },
			    4);
			order[s] = model_shuffle(&its, sizes[s], e);
		}
		order_of_sizes(c, e, m, c->second + at);
		for (uint64_t i = 0; i < m[0] + m[1]; i++, at++) {
			const int s = c->second[at];
			const uint64_t first = batch * slot_in_series(c, e, m, i);

			for (uint64_t x = 0; x < batch; x++)
				c->samples[at * batch + x] = first + x < sizes[s] ?
				    order[s][first + x] + (s ? MADE_FIRST : 0) :
				    UINT64_MAX;
		}
		free(order[0]);
		free(order[1]);
	}
}

/* ---- what is read ----------------------------------------------------------------------- */

static uint64_t
places(const struct a_case *c)
{
	const uint64_t all = c->batches * c->options.batch;

	return c->options.limit > 0 && c->options.limit < all ? c->options.limit : all;
}

static void
expect_info(const struct a_case *c)
{
	lc_stream_info info = { .struct_size = sizeof(info) };
	uint64_t examples = 0;

	for (uint64_t i = 0; i < places(c); i++)
		examples += c->samples[i] != UINT64_MAX;
	assert_ok(lc_stream_info_get(c->stream, &info));
	ck_assert_uint_eq(info.epoch_examples, MADE_SAMPLES);
	if (c->options.epochs == 0 && c->options.limit == 0) {
		ck_assert_uint_eq(info.batches, UINT64_MAX);
		return;
	}
	ck_assert_msg(info.examples == examples, "%s: %llu examples, not %llu",
	    c->text, (unsigned long long)info.examples, (unsigned long long)examples);
	ck_assert_uint_eq(info.batches, (places(c) + c->options.batch - 1) /
	    c->options.batch);
}

static void
expect_batch(const struct a_case *c, const lc_reader_options *how,
    const lc_batch *batch)
{
	const bool second = c->second[batch->number];
	size_t rows;
	uint64_t *share = model_share(how->split, how->readers, how->reader,
	    c->options.batch, &rows);
	const lc_batch_field *image = &batch->fields[0];

	ck_assert_uint_eq(batch->rows, rows);
	ck_assert_str_eq(image->name, "image");
	ck_assert_uint_eq(image->shape[2], second ? 48 : 24);
	ck_assert_uint_eq(image->shape[3], second ? 16 : 32);
	for (size_t row = 0; row < rows; row++) {
		const uint64_t place = batch->first + share[row];
		const uint64_t sample = place < places(c) ? c->samples[place] :
		    UINT64_MAX;

		ck_assert_msg(batch->mask[row] == (sample != UINT64_MAX), "%s: batch "
		    "%llu row %zu", c->text, (unsigned long long)batch->number, row);
		ck_assert_uint_eq(batch->sources[row], 0);
		if (sample == UINT64_MAX)
			continue;
		ck_assert_uint_eq(batch->examples[row], place);
		ck_assert_msg(memcmp((const char *)image->data + row * MADE_IMAGE,
		    made_image(sample), MADE_IMAGE) == 0, "%s: batch %llu row %zu is "
		    "not sample %llu", c->text, (unsigned long long)batch->number,
		    row, (unsigned long long)sample);
	}
	free(share);
}

static void
expect_pieces(const struct a_case *c)
{
	for (uint64_t i = 0; i < 60; i++) {
		const uint64_t place = below(c, places(c));
		lc_piece piece;
		size_t n;
		const lc_status status = lc_stream_locate(c->stream, place, &piece, 1,
		    &n);

		if (c->samples[place] == UINT64_MAX) {
			ck_assert_int_eq(status, LC_END);
			continue;
		}
		assert_status(status, LC_OK);
		ck_assert_uint_eq(n, 1);
		ck_assert_uint_eq(piece.source, 0);
		ck_assert_uint_eq(piece.units, 1);
		/* The chunk is a shard, and its number the same. */
		ck_assert_uint_eq(piece.chunk, piece.chunk_id);
	}
}

static void
read_from(const struct a_case *c, lc_stream *stream, uint64_t number)
{
	const bool for_ever = c->options.epochs == 0 && c->options.limit == 0;
	lc_reader_options how;
	const lc_batch *batch;
	lc_reader *reader;

	lc_reader_options_init(&how);
	how.readers = 1 + (uint32_t)below(c, 5);
	how.reader = (uint32_t)below(c, how.readers);
	how.split = (lc_split)below(c, 2);
	how.threads = (unsigned)below(c, 3);
	assert_ok(lc_reader_open(stream, &how, &reader));
	for (; number * c->options.batch < places(c); number++) {
		assert_ok(lc_reader_next(reader, &batch));
		ck_assert_uint_eq(batch->number, number);
		expect_batch(c, &how, batch);
		lc_batch_release(batch);
	}
	if (!for_ever)
		assert_status(lc_reader_next(reader, &batch), LC_END);
	lc_reader_close(reader);
}

static void
resume(const struct a_case *c)
{
	const uint64_t all = (places(c) + c->options.batch - 1) / c->options.batch;
	const uint64_t at = below(c, all + 1);
	lc_stream_options options = c->options;
	unsigned char token[LC_TOKEN_SIZE];
	lc_source *source;
	lc_stream *stream;

	assert_ok(lc_stream_token(c->stream, at, token));
	options.token = token;
	assert_ok(lc_source_open_shards(c->path, NULL, &source));
	assert_ok(lc_stream_open(&source, 1, &options, &stream));
	read_from(c, stream, at);
	lc_stream_close(stream);
	/* Another size of batches has other batches. */
	options.batch++;
	assert_status(lc_stream_open(&source, 1, &options, &stream), LC_OTHER_ORDER);
	lc_source_close(source);
}

static void
run_case(struct a_case *c)
{
	lc_stream_options *o = &c->options;

	lc_stream_options_init(o);
	o->batch = 1 + below(c, below(c, 3) ? 12 : 80);
	o->shuffle = (lc_shuffle)below(c, 4);
	o->seed = below(c, 5);
	o->block = 1 + below(c, 6);
	o->spread = 1 + below(c, 4);
	o->era_first = 1 + below(c, 20);
	o->era_max = o->era_first + below(c, 60);
	o->epochs = below(c, 3);
	o->limit = below(c, 3) ? 0 : 1 + below(c, 150);
	snprintf(c->text, sizeof(c->text), "batch %llu shuffle %d seed %llu epochs %llu "
	    "limit %llu", (unsigned long long)o->batch, (int)o->shuffle,
	    (unsigned long long)o->seed, (unsigned long long)o->epochs,
	    (unsigned long long)o->limit);
	make_model(c, o->epochs > 0 ? o->epochs : 2);
	assert_ok(lc_stream_open(&c->source, 1, o, &c->stream));
	expect_info(c);
	expect_pieces(c);
	read_from(c, c->stream, 0);
	resume(c);
	lc_stream_close(c->stream);
	free(c->samples);
	free(c->second);
}

START_TEST(random_streams)
{
	uint64_t state = run_seed();
	const struct made_variant variant = { .version = 0 };
	const struct made made = made_warehouse(&variant);
	const int rounds = getenv("T_LONG") != NULL ? 3000 : 60;
	struct a_case c = { .state = &state, .path = made.warehouse };

	assert_ok(lc_source_open_shards(made.warehouse, NULL, &c.source));
	for (int i = 0; i < rounds; i++)
		run_case(&c);
	lc_source_close(c.source);
}
END_TEST

START_TEST(what_sizes_do_not_take)
{
	const struct made_variant variant = { .version = 0 };
	const struct made made = made_warehouse(&variant);
	lc_source *sources[2];
	lc_stream_options options;
	lc_stream *stream;

	assert_ok(lc_source_open_shards(made.warehouse, NULL, &sources[0]));
	sources[1] = sources[0];
	lc_stream_options_init(&options);
	options.window = 2;
	assert_status(lc_stream_open(sources, 1, &options, &stream), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, ": has images of 2 sizes, "
	    "and a batch is of one size: no windows; open the directory of one size"));
	options.window = 0;
	options.epochs = 0;
	assert_status(lc_stream_open(sources, 2, &options, &stream), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "no mixtures"));
	options.idealised = 2;
	assert_status(lc_stream_open(sources, 1, &options, &stream), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "no idealised readers"));
	lc_source_close(sources[0]);
}
END_TEST

/* Parts of a split, each of both sizes, have all samples once. */
START_TEST(parts_of_several_sizes)
{
	const struct made_variant variant = { .version = 0 };
	const struct made made = made_warehouse(&variant);
	static const char *const parts[] = { "a", "b", "c" };
	lc_source_options how;
	lc_stream_options options;
	uint64_t seen = 0;

	lc_source_options_init(&how);
	lc_stream_options_init(&options);
	how.split = "a=0.8,b=0.1,c=0.1";
	options.batch = 7;
	options.shuffle = LC_SHUFFLE_FULL;
	for (int i = 0; i < 3; i++) {
		lc_source *source;
		lc_stream *stream;
		lc_reader *reader;
		const lc_batch *batch;

		how.part = parts[i];
		assert_ok(lc_source_open_shards(made.warehouse, &how, &source));
		assert_ok(lc_stream_open(&source, 1, &options, &stream));
		assert_ok(lc_reader_open(stream, NULL, &reader));
		while (lc_reader_next(reader, &batch) == LC_OK) {
			seen += batch->filled;
			lc_batch_release(batch);
		}
		lc_reader_close(reader);
		lc_stream_close(stream);
		lc_source_close(source);
	}
	ck_assert_uint_eq(seen, MADE_SAMPLES);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("series_model");
	TCase *tc = tcase_create("model");

	tcase_add_test(tc, random_streams);
	tcase_add_test(tc, what_sizes_do_not_take);
	tcase_add_test(tc, parts_of_several_sizes);
	tcase_set_timeout(tc, 600);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
