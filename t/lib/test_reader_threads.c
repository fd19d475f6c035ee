/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readers and many threads: stopping early, releasing in any order, seeking while
 * others read, and following a writer. By hand under ThreadSanitizer too.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_stream.h"
#include "run.h"

#define CHUNKS 12
#define RECORDS (CHUNKS * 8)
#define BATCH 5
#define BATCHES ((RECORDS + BATCH - 1) / BATCH)

static struct made_stream made;
static lc_stream *stream;

static void
set_up(void)
{
	lc_stream_options o;
	uint64_t lengths[8];

	made_stream_new(&made, 1, true, true);
	for (int i = 0; i < CHUNKS; i++) {
		for (int k = 0; k < 8; k++)
			lengths[k] = 1 + (uint64_t)(i + k) % 9;
		made_stream_chunk(&made, lengths, 8);
	}
	made_stream_open(&made);
	lc_stream_options_init(&o);
	o.batch = BATCH;
	ck_assert_int_eq(lc_stream_open(&made.source, 1, &o, &stream), LC_OK);
}

static void
tear_down(void)
{
	lc_stream_close(stream);
	made_stream_close(&made);
}

static lc_reader *
reader_of(unsigned threads, unsigned ahead, int views)
{
	lc_reader_options o;
	lc_reader *reader;

	lc_reader_options_init(&o);
	o.threads = threads;
	o.ahead = ahead;
	o.views = views;
	ck_assert_int_eq(lc_reader_open(stream, &o, &reader), LC_OK);
	return reader;
}

/* Record k in a row of a batch. */
static bool
is_record(const lc_batch *batch, size_t row, uint64_t k)
{
	const lc_batch_field *f = &batch->fields[0];
	const uint64_t length = made.lengths[k];
	const uint32_t *got = f->rows != NULL ? f->rows[row] :
	    (const uint32_t *)f->data + (f->offsets != NULL ? f->offsets[row] :
	    row * length);

	for (uint64_t j = 0; j < length; j++)
		if (got[j] != made_token(1, k, j))
			return false;
	return true;
}

/* The batch is what it should be. No check macros: for any thread. */
static bool
is_batch(const lc_batch *batch, uint64_t number)
{
	if (batch->number != number || batch->rows != BATCH)
		return false;
	for (size_t row = 0; row < batch->filled; row++)
		if (batch->examples[row] != number * BATCH + row ||
		    !is_record(batch, row, number * BATCH + row))
			return false;
	return batch->filled == (number + 1 < BATCHES ? BATCH :
	    RECORDS - (BATCHES - 1) * BATCH);
}

/* ---- stopping ----------------------------------------------------------------------- */

START_TEST(stop_early)
{
	for (unsigned threads = 0; threads < 5; threads++)
		for (int batches = 0; batches < 12; batches++) {
			lc_reader *reader = reader_of(threads, 4, batches % 2);
			const lc_batch *batch;

			for (int i = 0; i < batches; i++) {
				ck_assert_int_eq(lc_reader_next(reader, &batch),
				    LC_OK);
				ck_assert(is_batch(batch, (uint64_t)i));
				lc_batch_release(batch);
			}
			lc_reader_close(reader);
		}
}
END_TEST

/* ---- fork ------------------------------------------------------------------------------ */

/* The exit status of a child that has the reader and a batch of its parent; 0 if all is
 * as it should be. */
static int
use_in_child(lc_reader *reader, const lc_batch *held, const lc_batch *detached)
{
	static const char text[] =
	    "reader: opened by the process that this one was forked from: open another";
	char token[LC_TOKEN_SIZE];
	const lc_batch *batch;

	alarm(60);
	if (!is_batch(held, 0) || !is_batch(detached, 1))
		return 1;
	if (lc_reader_next(reader, &batch) != LC_INVALID ||
	    strcmp(lc_last_error()->text, text) != 0 ||
	    lc_reader_read(reader, 0, &batch) != LC_INVALID ||
	    lc_reader_seek(reader, 0) != LC_INVALID ||
	    lc_reader_token(reader, token) != LC_INVALID ||
	    lc_batch_detach(held) != LC_OK)
		return 2;
	lc_batch_release(detached);
	lc_batch_release(held);
	lc_reader_close(reader);
	return 0;
}

START_TEST(forked)
{
	for (unsigned threads = 0; threads < 3; threads++) {
		lc_reader *reader = reader_of(threads, 4, (int)threads % 2);
		const lc_batch *held, *detached;
		int status;
		pid_t child;

		ck_assert_int_eq(lc_reader_next(reader, &held), LC_OK);
		ck_assert_int_eq(lc_reader_next(reader, &detached), LC_OK);
		ck_assert_int_eq(lc_batch_detach(detached), LC_OK);
		child = fork();
		if (child == 0)
			_exit(use_in_child(reader, held, detached));
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
		lc_batch_release(detached);
		lc_batch_release(held);
		lc_reader_close(reader);
	}
}
END_TEST

/* ---- releasing in any order, from anywhere ---------------------------------------------- */

#define HELD 16

struct shelf {
	pthread_mutex_t lock;
	const lc_batch *held[HELD];
	bool stop;
	uint64_t random;
};

static void *
release_some(void *arg)
{
	struct shelf *shelf = arg;
	bool stop = false;

	while (!stop) {
		const lc_batch *batch;
		size_t at;

		pthread_mutex_lock(&shelf->lock);
		at = (size_t)(run_random(&shelf->random) % HELD);
		batch = shelf->held[at];
		shelf->held[at] = NULL;
		stop = shelf->stop;
		pthread_mutex_unlock(&shelf->lock);
		lc_batch_release(batch);
	}
	return NULL;
}

static bool
put_on(struct shelf *shelf, const lc_batch *batch)
{
	bool done = false;

	pthread_mutex_lock(&shelf->lock);
	for (size_t i = 0; i < HELD && !done; i++)
		if (shelf->held[i] == NULL) {
			shelf->held[i] = batch;
			done = true;
		}
	pthread_mutex_unlock(&shelf->lock);
	return done;
}

START_TEST(release_anywhere)
{
	struct shelf shelf = { .lock = PTHREAD_MUTEX_INITIALIZER,
		.random = run_seed() };
	lc_reader *reader = reader_of((unsigned)_i, 6, _i % 2);
	pthread_t threads[2];
	const lc_batch *batch;

	for (int t = 0; t < 2; t++)
		pthread_create(&threads[t], NULL, release_some, &shelf);
	for (int round = 0; round < 20; round++) {
		uint64_t b = 0;

		ck_assert_int_eq(lc_reader_seek(reader, 0), LC_OK);
		while (b < BATCHES) {
			const lc_status status = lc_reader_next(reader, &batch);

			if (status == LC_BUSY)
				continue;
			ck_assert_int_eq(status, LC_OK);
			ck_assert(is_batch(batch, b++));
			while (!put_on(&shelf, batch))
				;
		}
	}
	pthread_mutex_lock(&shelf.lock);
	shelf.stop = true;
	pthread_mutex_unlock(&shelf.lock);
	for (int t = 0; t < 2; t++)
		pthread_join(threads[t], NULL);
	for (size_t i = 0; i < HELD; i++)
		lc_batch_release(shelf.held[i]);
	lc_reader_close(reader);
}
END_TEST

/* ---- seeking while others read -------------------------------------------------------------- */

struct reading {
	lc_reader *reader;
	uint64_t random;
	unsigned bad;
};

static void *
read_any(void *arg)
{
	struct reading *reading = arg;

	for (int i = 0; i < 200; i++) {
		const uint64_t b = run_random(&reading->random) % (BATCHES + 2);
		const lc_batch *batch;
		const lc_status status = lc_reader_read(reading->reader, b, &batch);

		if (b >= BATCHES) {
			reading->bad += status != LC_END;
			continue;
		}
		reading->bad += status != LC_OK || !is_batch(batch, b);
		if (status == LC_OK)
			lc_batch_release(batch);
	}
	return NULL;
}

START_TEST(seek_storm)
{
	lc_reader *reader = reader_of((unsigned)_i, 5, _i % 2);
	struct reading readings[3];
	pthread_t threads[3];
	uint64_t random = run_seed();

	for (int t = 0; t < 3; t++) {
		readings[t] = (struct reading){ reader, random + (uint64_t)t, 0 };
		pthread_create(&threads[t], NULL, read_any, &readings[t]);
	}
	for (int i = 0; i < 300; i++) {
		uint64_t b = run_random(&random) % (BATCHES + 1);
		const lc_batch *batch;

		ck_assert_int_eq(lc_reader_seek(reader, b), LC_OK);
		for (uint64_t n = run_random(&random) % 4; n > 0; n--, b++) {
			const lc_status status = lc_reader_next(reader, &batch);

			ck_assert_int_eq(status, b < BATCHES ? LC_OK : LC_END);
			if (status != LC_OK)
				break;
			ck_assert(is_batch(batch, b));
			lc_batch_release(batch);
		}
	}
	for (int t = 0; t < 3; t++) {
		pthread_join(threads[t], NULL);
		ck_assert_uint_eq(readings[t].bad, 0);
	}
	lc_reader_close(reader);
}
END_TEST

/* ---- an error in the middle ------------------------------------------------------------------- */

/* Batches before and behind it are fine; it is told of at its turn, again and again. */
START_TEST(error_in_the_middle)
{
	static const char bytes[8];
	static const uint64_t shape[] = { 1 };
	const uint64_t bad = BATCHES - 1;
	lc_reader *reader;
	lc_tensor odd;
	lc_stream_options o;
	lc_stream *longer;
	lc_reader_options ro;
	const lc_batch *batch;
	static const uint64_t ones[] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	ck_assert_int_eq(lc_tensor_init(&odd, LC_F64, 1, shape, bytes), LC_OK);
	ck_assert_int_eq(lc_put(made.cache, "odd", 3, &odd), LC_OK);
	made_stream_chunk(&made, ones, 8);
	made_stream_open(&made);
	lc_stream_options_init(&o);
	o.batch = BATCH;
	ck_assert_int_eq(lc_stream_open(&made.source, 1, &o, &longer), LC_OK);
	lc_reader_options_init(&ro);
	ro.threads = (unsigned)_i;
	ck_assert_int_eq(lc_reader_open(longer, &ro, &reader), LC_OK);
	for (uint64_t b = 0; b < bad; b++) {
		ck_assert_int_eq(lc_reader_next(reader, &batch), LC_OK);
		ck_assert(is_batch(batch, b));
		lc_batch_release(batch);
	}
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(lc_reader_next(reader, &batch), LC_SCHEMA);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "'odd'"));
	}
	ck_assert_int_eq(lc_reader_seek(reader, bad + 1), LC_OK);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_OK);
	ck_assert_uint_eq(batch->number, bad + 1);
	lc_batch_release(batch);
	lc_reader_close(reader);
	lc_stream_close(longer);
}
END_TEST

/* ---- a source that grows -------------------------------------------------------------------------- */

#define FOLLOWED 60

static lc_cache *
open_inputs(const char *root)
{
	const lc_input input = { .name = "in" };
	lc_options options;
	lc_cache *cache;

	lc_options_init(&options);
	options.durability = LC_DURABLE_RELAXED;
	ck_assert_int_eq(lc_open(root, "m", &options, &cache), LC_OK);
	ck_assert_int_eq(lc_inputs_declare(cache, 1, &input), LC_OK);
	return cache;
}

struct writing {
	lc_writer *writer;
	unsigned bad;
};

static bool
write_chunk(lc_writer *writer, uint64_t chunk, bool last)
{
	for (uint64_t i = 0; i < 3; i++) {
		const uint64_t shape[] = { 2 };
		const uint32_t words[] = { made_token(1, chunk, i),
			made_token(2, chunk, i) };
		lc_tensor tensor;

		if (lc_tensor_init(&tensor, LC_U32, 1, shape, words) != LC_OK ||
		    lc_writer_put(writer, NULL, 0, &tensor) != LC_OK)
			return false;
	}
	return (last ? lc_writer_finish(writer, "x", 1) :
	    lc_writer_commit(writer, "x", 1)) == LC_OK;
}

static void *
write_all(void *arg)
{
	struct writing *writing = arg;

	for (uint64_t i = 0; i < FOLLOWED; i++)
		writing->bad += !write_chunk(writing->writer, i, i + 1 == FOLLOWED);
	return NULL;
}

static void
expect_followed(const lc_batch *batch)
{
	const uint32_t *got = batch->fields[0].data;

	for (size_t row = 0; row < batch->filled; row++) {
		const uint64_t k = batch->examples[row];

		ck_assert_uint_eq(got[2 * row], made_token(1, k / 3, k % 3));
		ck_assert_uint_eq(got[2 * row + 1], made_token(2, k / 3, k % 3));
	}
}

static lc_stream *
follow(lc_source *source)
{
	lc_stream_options o;
	lc_stream *out;

	lc_stream_options_init(&o);
	o.batch = 7;
	o.epochs = 2;
	o.follow = 1;
	ck_assert_int_eq(lc_stream_open(&source, 1, &o, &out), LC_OK);
	return out;
}

/* A reader waits for a writer at work, and at last for none. */
START_TEST(follow_a_writer)
{
	lc_cache *cache = open_inputs(run_scratch());
	struct writing writing = { 0 };
	lc_source *source;
	lc_stream *followed;
	lc_reader_options o;
	lc_reader *reader;
	const lc_batch *batch;
	pthread_t thread;
	uint64_t seen = 0;
	lc_status status;

	ck_assert_int_eq(lc_writer_open(cache, "in", &writing.writer), LC_OK);
	ck_assert_int_eq(lc_source_open_module(cache, NULL, &source), LC_OK);
	followed = follow(source);
	lc_reader_options_init(&o);
	o.threads = (unsigned)_i;
	ck_assert_int_eq(lc_reader_open(followed, &o, &reader), LC_OK);
	pthread_create(&thread, NULL, write_all, &writing);
	while ((status = lc_reader_next(reader, &batch)) == LC_OK) {
		ck_assert_uint_eq(batch->number, seen / 7);
		for (size_t row = 0; row < batch->filled; row++)
			ck_assert_uint_eq(batch->epochs[row],
			    batch->examples[row] / (FOLLOWED * 3));
		if (batch->number < FOLLOWED * 3 / 7)
			expect_followed(batch);
		seen += batch->filled;
		lc_batch_release(batch);
	}
	ck_assert_int_eq(status, LC_END);
	ck_assert_uint_eq(seen, FOLLOWED * 3 * 2);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(writing.bad, 0);
	lc_writer_close(writing.writer);
	lc_reader_close(reader);
	lc_stream_close(followed);
	lc_source_close(source);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Nobody writes, or not yet: next() says so, can be called again, and nothing keeps the
 * reader from being closed. */
START_TEST(wait_for_nothing)
{
	lc_cache *cache = open_inputs(run_scratch());
	lc_writer *writer;
	lc_source *source;
	lc_stream *followed;
	lc_reader_options o;
	lc_reader *reader;
	const lc_batch *batch;

	ck_assert_int_eq(lc_source_open_module(cache, NULL, &source), LC_OK);
	followed = follow(source);
	lc_reader_options_init(&o);
	o.threads = (unsigned)_i;
	o.timeout_ms = 0;
	ck_assert_int_eq(lc_reader_open(followed, &o, &reader), LC_OK);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_ABANDONED);
	ck_assert_int_eq(lc_writer_open(cache, "in", &writer), LC_OK);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_TIMEOUT);
	ck_assert(write_chunk(writer, 0, false) && write_chunk(writer, 1, false));
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_TIMEOUT);
	ck_assert_int_eq(lc_reader_read(reader, 0, &batch), LC_TIMEOUT);
	ck_assert(write_chunk(writer, 2, false));
	ck_assert_int_eq(lc_reader_read(reader, 0, &batch), LC_OK);
	expect_followed(batch);
	lc_batch_release(batch);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_OK);
	expect_followed(batch);
	lc_batch_release(batch);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_TIMEOUT);
	lc_reader_close(reader);
	lc_stream_close(followed);
	lc_source_close(source);
	lc_writer_close(writer);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("reader_threads");
	TCase *tc = tcase_create("threads");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, stop_early);
	tcase_add_test(tc, forked);
	tcase_add_loop_test(tc, release_anywhere, 0, 5);
	tcase_add_loop_test(tc, seek_storm, 0, 5);
	tcase_add_loop_test(tc, error_in_the_middle, 0, 4);
	tcase_add_loop_test(tc, follow_a_writer, 0, 4);
	tcase_add_loop_test(tc, wait_for_nothing, 0, 3);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
