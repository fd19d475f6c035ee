/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams where something ends, or leaves a gap: limits, chunks without records, tokens
 * taken there, settings that are lost, memory. */
#include "made_stream.h"
#include "need.h"
#include "rawdb.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static const uint64_t lengths[4] = { 2, 2, 2, 2 };

static lc_stream *
open_stream(const struct made_stream *m, const lc_stream_options *options)
{
	lc_stream *stream = NULL;

	assert_ok(lc_stream_open(&m->source, 1, options, &stream));
	return stream;
}

static lc_stream_info
info_of(const lc_stream *stream)
{
	lc_stream_info info = { .struct_size = sizeof(info) };

	assert_ok(lc_stream_info_get(stream, &info));
	return info;
}

static void
delete_record(struct made_stream *m, unsigned k)
{
	char id[32];
	const int size = snprintf(id, sizeof(id), "%u-%u", m->tag, k);

	assert_ok(lc_delete(m->cache, id, (size_t)size));
	assert_ok(lc_flush(m->cache));
}

/* Every chunk has one record, and the second has lost it. */
START_TEST(tokens_around_a_gap)
{
	struct made_stream m;
	lc_stream_options o;
	lc_stream *stream;

	made_stream_new(&m, 1, true, false);
	for (int i = 0; i < 8; i++)
		made_stream_chunk(&m, lengths, 1);
	delete_record(&m, 1);
	made_stream_open(&m);
	lc_stream_options_init(&o);
	o.batch = 1;
	o.follow = 1;
	stream = open_stream(&m, &o);
	ck_assert_uint_eq(info_of(stream).known, 7);
	for (uint64_t batch = 0; batch <= 7; batch++) {
		unsigned char token[LC_TOKEN_SIZE], again[LC_TOKEN_SIZE];
		lc_stream_options resume = o;
		lc_stream *resumed;

		assert_ok(lc_stream_token(stream, batch, token));
		resume.token = token;
		resumed = open_stream(&m, &resume);
		ck_assert_uint_eq(info_of(resumed).first_batch, batch);
		assert_ok(lc_stream_token(resumed, batch, again));
		ck_assert_mem_eq(again, token, sizeof(token));
		lc_stream_close(resumed);
	}
	lc_stream_close(stream);
	made_stream_close(&m);
}
END_TEST

/* What a limit rules out never comes, whatever becomes of the source. */
START_TEST(limit_of_a_source_that_grows)
{
	struct made_stream m;
	lc_stream_options o;
	lc_reader_options how;
	lc_stream *stream;
	lc_reader *reader;
	const lc_batch *batch;
	lc_piece piece;
	size_t n;

	made_stream_new(&m, 1, true, false);
	made_stream_chunk(&m, lengths, 4);
	made_stream_open(&m);
	lc_stream_options_init(&o);
	lc_reader_options_init(&how);
	o.batch = 2;
	o.follow = 1;
	o.limit = 10;
	how.timeout_ms = 0;
	stream = open_stream(&m, &o);
	assert_ok(lc_reader_open(stream, &how, &reader));
	assert_status(lc_reader_read(reader, 4, &batch), LC_TIMEOUT);
	assert_status(lc_reader_read(reader, 5, &batch), LC_END);
	ck_assert_int_eq(lc_last_error()->status, LC_END);
	assert_status(lc_stream_locate(stream, 9, &piece, 1, &n), LC_TIMEOUT);
	assert_status(lc_stream_locate(stream, 10, &piece, 1, &n), LC_END);
	assert_status(lc_stream_wait(stream, 10, 0), LC_TIMEOUT);
	assert_status(lc_stream_wait(stream, 11, 0), LC_END);
	assert_ok(lc_reader_seek(reader, 5));
	assert_status(lc_reader_next(reader, &batch), LC_END);
	ck_assert_int_eq(lc_last_error()->status, LC_END);
	lc_reader_close(reader);
	lc_stream_close(stream);
	made_stream_close(&m);
}
END_TEST

/* Units are numbered in 64 bits: an idealised reader whose windows are so far apart
 * comes to their end before the limit. */
START_TEST(limit_behind_the_last_unit)
{
	struct made_stream m;
	unsigned char token[LC_TOKEN_SIZE];
	lc_stream_options o;
	lc_stream *stream, *resumed;
	lc_stream_info info;

	made_stream_new(&m, 1, true, false);
	made_stream_chunk(&m, lengths, 4);
	made_stream_open(&m);
	lc_stream_options_init(&o);
	o.batch = 1;
	o.idealised = 1;
	o.epochs = 0;
	o.window = 1;
	o.stride = (uint64_t)1 << 62;
	o.limit = 1000;
	stream = open_stream(&m, &o);
	info = info_of(stream);
	ck_assert_uint_eq(info.examples, info.known);
	ck_assert_uint_eq(info.batches, info.known);
	assert_ok(lc_stream_token(stream, 1000, token));
	o.token = token;
	resumed = open_stream(&m, &o);
	ck_assert_uint_eq(info_of(resumed).first_batch, info.batches);
	lc_stream_close(resumed);
	lc_stream_close(stream);
	made_stream_close(&m);
}
END_TEST

/* A stream of ten records that does not follow, and how many of its examples one that
 * follows has in the same places. */
static const struct {
	lc_shuffle shuffle;
	uint64_t window, epochs, examples, same;
} unlike[] = {
	{ LC_SHUFFLE_NONE, 0, 1, 10, 10 },
	{ LC_SHUFFLE_NONE, 0, 2, 20, 10 },
	{ LC_SHUFFLE_NONE, 4, 1, 3, 2 },
	{ LC_SHUFFLE_ERA, 0, 1, 10, 8 }
};

START_TEST(following_after_all)
{
	static const uint64_t one[10] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	unsigned char token[LC_TOKEN_SIZE];
	struct made_stream m;
	lc_stream_options o;
	lc_stream *stream, *resumed;

	made_stream_new(&m, 1, true, false);
	made_stream_chunk(&m, one, 10);
	made_stream_open(&m);
	lc_stream_options_init(&o);
	o.batch = 1;
	o.shuffle = unlike[_i].shuffle;
	o.era_first = o.era_max = 8;
	o.window = unlike[_i].window;
	o.epochs = unlike[_i].epochs;
	stream = open_stream(&m, &o);
	made_stream_chunk(&m, one, 10);
	o.follow = 1;
	o.token = token;
	for (uint64_t i = 0; i <= unlike[_i].examples; i++) {
		assert_ok(lc_stream_token(stream, i, token));
		if (i <= unlike[_i].same) {
			resumed = open_stream(&m, &o);
			ck_assert_uint_eq(info_of(resumed).first_batch, i);
			lc_stream_close(resumed);
		} else {
			assert_status(lc_stream_open(&m.source, 1, &o, &resumed),
			    LC_OTHER_ORDER);
		}
	}
	lc_stream_close(stream);
	made_stream_close(&m);
}
END_TEST

static void
fill_with_lengths(lc_cache *cache, bool by_inputs)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	const lc_input input = { .name = "a" };
	const uint64_t shape[] = { 4 };
	lc_writer *writer;
	lc_tensor tensor;

	assert_ok(lc_settings_get(cache, &settings));
	strcpy(settings.length_field, ".");
	assert_ok(lc_settings_set(cache, &settings));
	assert_ok(lc_tensor_init(&tensor, LC_U8, 1, shape, "four"));
	if (!by_inputs) {
		assert_ok(lc_put(cache, "k", 1, &tensor));
		return;
	}
	assert_ok(lc_inputs_declare(cache, 1, &input));
	assert_ok(lc_writer_open(cache, "a", &writer));
	assert_ok(lc_writer_put(writer, "k", 1, &tensor));
	assert_ok(lc_writer_finish(writer, NULL, 0));
	lc_writer_close(writer);
}

static void
lose_settings(const char *root)
{
	MDB_val key = { strlen("settings"), (void *)"settings" };
	char dir[300];
	MDB_env *env;
	MDB_txn *txn;

	snprintf(dir, sizeof(dir), "%s/m", root);
	env = rawdb_open_env(dir, 0);
	txn = rawdb_begin(env, 0);
	rawdb_must(mdb_del(txn, rawdb_table(txn, "meta", 0), &key, NULL));
	rawdb_must(mdb_txn_commit(txn));
	mdb_env_close(env);
}

/* Without its settings nobody knows what the units of its windows are. */
START_TEST(settings_lost)
{
	const char *root = run_scratch();
	lc_source_options options;
	lc_source *source;
	lc_cache *cache;

	assert_ok(lc_open(root, "m", NULL, &cache));
	fill_with_lengths(cache, _i);
	assert_ok(lc_close(cache));
	lose_settings(root);
	assert_ok(lc_open(root, "m", NULL, &cache));
	assert_status(lc_source_open_module(cache, NULL, &source), LC_CORRUPT);
	lc_source_options_init(&options);
	options.length_field = ".";
	assert_status(lc_source_open_module(cache, &options, &source), LC_CORRUPT);
	assert_ok(lc_close(cache));
}
END_TEST

#define CODED_BYTES ((uint64_t)1 << 20)
#define CODED_RECORDS 64

static void
put_coded(struct made_stream *m)
{
	lc_settings settings = { .struct_size = sizeof(settings) };
	unsigned char *bytes = calloc(1, CODED_BYTES);
	const uint64_t shape[] = { CODED_BYTES };
	lc_tensor tensor;

	assert_ok(lc_settings_get(m->cache, &settings));
	settings.codec = LC_CODEC_LZ4;
	assert_ok(lc_settings_set(m->cache, &settings));
	assert_ok(lc_tensor_init(&tensor, LC_U8, 1, shape, bytes));
	for (unsigned char k = 0; k < CODED_RECORDS; k++)
		assert_ok(lc_put(m->cache, &k, 1, &tensor));
	assert_ok(lc_flush(m->cache));
	free(bytes);
}

/* What views show of coded tensors is memory of the reader's. */
START_TEST(memory_of_views)
{
	lc_reader_stats stats = { .struct_size = sizeof(stats) };
	const lc_batch *batch[CODED_RECORDS];
	struct made_stream m;
	lc_stream_options o;
	lc_reader_options how;
	lc_stream *stream;
	lc_reader *reader;
	lc_status status = LC_OK;
	size_t n = 0;

	made_stream_new(&m, 1, true, false);
	put_coded(&m);
	made_stream_open(&m);
	lc_stream_options_init(&o);
	lc_reader_options_init(&how);
	o.batch = 1;
	how.views = 1;
	how.threads = (unsigned)_i;
	how.ahead = CODED_RECORDS;
	how.memory = 4 * CODED_BYTES;
	stream = open_stream(&m, &o);
	assert_ok(lc_reader_open(stream, &how, &reader));
	while (n < CODED_RECORDS && status == LC_OK) {
		status = lc_reader_next(reader, &batch[n]);
		n += status == LC_OK;
	}
	ck_assert_int_eq(status, LC_BUSY);
	ck_assert_uint_ge(n, 3);
	ck_assert_uint_le(n, 5);
	assert_ok(lc_reader_stat(reader, &stats));
	ck_assert_uint_ge(stats.buffer_bytes, n * CODED_BYTES);
	while (n > 0)
		lc_batch_release(batch[--n]);
	assert_ok(lc_reader_stat(reader, &stats));
	if (how.threads == 0) /* else more is read by now */
		ck_assert_uint_lt(stats.buffer_bytes, CODED_BYTES);
	lc_reader_close(reader);
	lc_stream_close(stream);
	made_stream_close(&m);
}
END_TEST

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif

/* The sanitizer does, and valgrind, under which T_SLOW is set. */
static bool
keeps_what_is_freed(void)
{
#ifdef UNDER_ASAN
	return true;
#else
	return getenv("T_SLOW") != NULL;
#endif
}

/* The most memory of this process so far, in bytes. */
static uint64_t
most_memory(void)
{
	struct rusage usage;

	need(getrusage(RUSAGE_SELF, &usage) == 0);
	return (uint64_t)usage.ru_maxrss * 1024;
}

/* One batch of all records; nothing but the batch is as large. */
static void
read_coded(void *ctx)
{
	const struct made_stream *m = ctx;
	const uint64_t before = most_memory();
	lc_stream_options o;
	lc_reader_options how;
	const lc_batch *batch;
	lc_stream *stream;
	lc_reader *reader;

	lc_stream_options_init(&o);
	lc_reader_options_init(&how);
	o.batch = CODED_RECORDS;
	how.threads = 0;
	need_ok(lc_stream_open(&m->source, 1, &o, &stream));
	need_ok(lc_reader_open(stream, &how, &reader));
	need_ok(lc_reader_next(reader, &batch));
	need(batch->fields[0].nbytes == CODED_RECORDS * CODED_BYTES);
	need(most_memory() - before < CODED_RECORDS * CODED_BYTES * 3 / 2);
	lc_batch_release(batch);
	lc_reader_close(reader);
	lc_stream_close(stream);
}

/* Tensors are decoded one after another, not all of a batch at once. */
START_TEST(memory_of_decoding)
{
	struct made_stream m;

	made_stream_new(&m, 1, true, false);
	put_coded(&m);
	made_stream_open(&m);
	if (!keeps_what_is_freed())
		ck_assert_int_eq(child_run(read_coded, &m), 0);
	made_stream_close(&m);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("stream_edges");
	TCase *tc = tcase_create("edges");

	tcase_add_test(tc, tokens_around_a_gap);
	tcase_add_test(tc, limit_of_a_source_that_grows);
	tcase_add_test(tc, limit_behind_the_last_unit);
	tcase_add_loop_test(tc, following_after_all, 0,
	    sizeof(unlike) / sizeof(unlike[0]));
	tcase_add_loop_test(tc, settings_lost, 0, 2);
	tcase_add_loop_test(tc, memory_of_views, 0, 3);
	tcase_add_test(tc, memory_of_decoding);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
