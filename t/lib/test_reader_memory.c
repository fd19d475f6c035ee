/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of batches: detached ones, which are the caller's; functions of the caller that
 * allocate it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_stream.h"
#include "made_warehouse.h"
#include "run.h"

#define RECORDS 40

static struct made_stream made;
static bool is_made;

static void
set_up(void)
{
	uint64_t fives[8];

	for (int i = 0; i < 8; i++)
		fives[i] = 5;
	made_stream_new(&made, 1, false, true);
	for (int i = 0; i < RECORDS / 8; i++)
		made_stream_chunk(&made, fives, 8);
	made_stream_open(&made);
	is_made = true;
}

static void
close_all(void)
{
	if (is_made)
		made_stream_close(&made);
	is_made = false;
}

static lc_stream *
stream_of(lc_source *source, uint64_t batch, uint64_t window)
{
	lc_stream_options o;
	lc_stream *stream;

	lc_stream_options_init(&o);
	o.batch = batch;
	o.window = window;
	ck_assert_msg(lc_stream_open(&source, 1, &o, &stream) == LC_OK, "%s",
	    lc_last_error()->text);
	return stream;
}

static lc_reader *
reader_of(lc_stream *stream, const lc_reader_options *o)
{
	lc_reader *reader;

	ck_assert_msg(lc_reader_open(stream, o, &reader) == LC_OK, "%s",
	    lc_last_error()->text);
	return reader;
}

static const lc_batch *
next_of(lc_reader *reader)
{
	const lc_batch *batch;

	ck_assert_msg(lc_reader_next(reader, &batch) == LC_OK, "%s",
	    lc_last_error()->text);
	return batch;
}

static const lc_batch *
detached(const lc_batch *batch)
{
	ck_assert_int_eq(lc_batch_detach(batch), LC_OK);
	return batch;
}

/* A batch of one record, number k, by copies or views. */
static void
expect_record(const lc_batch *batch, uint64_t k)
{
	char id[16];
	const int size = snprintf(id, sizeof(id), "1-%u", (unsigned)k);
	const lc_batch_field *f = batch->fields;
	const void *tokens = f[0].data != NULL ? f[0].data : f[0].rows[0];
	const void *label = f[2].data != NULL ? f[2].data : f[2].rows[0];
	const int64_t want = 1000 + (int64_t)k;

	ck_assert_uint_eq(batch->number, k);
	ck_assert_uint_eq(batch->examples[0], k);
	ck_assert_uint_eq(batch->mask[0], 1);
	ck_assert_uint_eq(batch->ids[0].size, (size_t)size);
	ck_assert_mem_eq(batch->ids[0].data, id, (size_t)size);
	ck_assert_uint_eq(batch->n_fields, 3);
	ck_assert_str_eq(f[0].name, "tokens");
	ck_assert_str_eq(f[2].name, "label");
	for (uint64_t j = 0; j < 5; j++)
		ck_assert_uint_eq(((const uint32_t *)tokens)[j], made_token(1, k, j));
	ck_assert_mem_eq(label, &want, sizeof(want));
}

static uint64_t
buffers_of(const lc_reader *reader)
{
	lc_reader_stats stats = { .struct_size = sizeof(stats) };

	ck_assert_int_eq(lc_reader_stat(reader, &stats), LC_OK);
	return stats.buffer_bytes;
}

/* ---- detached batches ------------------------------------------------------------- */

/* As many as there are, of a reader that may be three ahead; they outlive everything. */
START_TEST(all_batches_are_held)
{
	lc_stream *stream = stream_of(made.source, 1, 0);
	const lc_batch *held[RECORDS], *more;
	lc_reader_options o;
	lc_reader *reader;

	lc_reader_options_init(&o);
	o.threads = (unsigned)_i;
	o.ahead = 3;
	reader = reader_of(stream, &o);
	for (int i = 0; i < RECORDS; i++)
		held[i] = detached(next_of(reader));
	ck_assert_int_eq(lc_reader_next(reader, &more), LC_END);
	/* None of their memory is the reader's any more. */
	ck_assert_uint_eq(buffers_of(reader), 0);
	lc_reader_close(reader);
	lc_stream_close(stream);
	close_all();
	for (int i = 0; i < RECORDS; i++) {
		expect_record(held[i], (uint64_t)i);
		memset(held[i]->fields[0].data, 0xee, held[i]->fields[0].nbytes);
	}
	for (int i = RECORDS - 1; i >= 0; i--)
		lc_batch_release(held[i]);
}
END_TEST

/* A batch that is detached makes room for another one, and keeps no other from it. */
START_TEST(detaching_makes_room)
{
	lc_stream *stream = stream_of(made.source, 1, 0);
	const lc_batch *held[4], *more;
	lc_reader_options o;
	lc_reader *reader;

	lc_reader_options_init(&o);
	o.threads = (unsigned)_i;
	o.ahead = 3;
	reader = reader_of(stream, &o);
	for (int i = 0; i < 3; i++)
		held[i] = next_of(reader);
	ck_assert_int_eq(lc_reader_next(reader, &more), LC_BUSY);
	detached(held[1]);
	held[3] = next_of(reader);
	ck_assert_int_eq(lc_reader_next(reader, &more), LC_BUSY);
	/* Once more changes nothing, nor does its release. */
	detached(held[1]);
	ck_assert_int_eq(lc_reader_next(reader, &more), LC_BUSY);
	expect_record(held[1], 1);
	lc_batch_release(held[1]);
	ck_assert_int_eq(lc_reader_next(reader, &more), LC_BUSY);
	lc_batch_release(held[0]);
	lc_batch_release(held[2]);
	for (uint64_t k = 4; k < RECORDS; k++) {
		more = next_of(reader);
		expect_record(more, k);
		lc_batch_release(more);
	}
	expect_record(held[3], 3);
	lc_batch_release(held[3]);
	lc_reader_close(reader);
	lc_stream_close(stream);
	ck_assert_int_eq(lc_batch_detach(NULL), LC_OK);
}
END_TEST

START_TEST(read_at_any_number)
{
	lc_stream *stream = stream_of(made.source, 1, 0);
	lc_reader *reader = reader_of(stream, NULL);
	const lc_batch *held[2];

	ck_assert_int_eq(lc_reader_read(reader, 17, &held[0]), LC_OK);
	ck_assert_int_eq(lc_reader_read(reader, 5, &held[1]), LC_OK);
	ck_assert_uint_gt(buffers_of(reader), 0);
	detached(held[0]);
	detached(held[1]);
	ck_assert_uint_eq(buffers_of(reader), 0);
	lc_reader_close(reader);
	lc_stream_close(stream);
	close_all();
	expect_record(held[0], 17);
	expect_record(held[1], 5);
	lc_batch_release(held[0]);
	lc_batch_release(held[1]);
}
END_TEST

/* All that a batch of windows points to. */
START_TEST(windows_with_documents)
{
	lc_stream *stream = stream_of(made.source, 3, 7);
	const lc_batch *batch;
	lc_reader_options o;
	lc_reader *reader;

	lc_reader_options_init(&o);
	o.documents = 1;
	reader = reader_of(stream, &o);
	batch = detached(next_of(reader));
	lc_reader_close(reader);
	lc_stream_close(stream);
	close_all();
	ck_assert_str_eq(batch->fields[0].name, "tokens");
	for (uint64_t at = 0; at < 21; at++) {
		ck_assert_uint_eq(((const uint32_t *)batch->fields[0].data)[at],
		    made_token(1, at / 5, at % 5));
		ck_assert_uint_eq(batch->positions[at], at % 5);
		ck_assert_uint_eq(batch->documents[at], at / 5 - at / 7 * 7 / 5);
	}
	ck_assert_mem_eq(batch->ids[1].data, "1-1", 3);
	lc_batch_release(batch);
}
END_TEST

/* ---- detached batches of views ------------------------------------------------------ */

/* A batch of views of a module pins a snapshot: what it shows stays after the reader, the
 * stream and the source are closed, whatever is written meanwhile. */
START_TEST(views_of_a_module)
{
	static const uint64_t fives[] = { 5, 5, 5, 5, 5, 5, 5, 5 };
	lc_stream *stream = stream_of(made.source, 1, 0);
	const lc_batch *held[RECORDS];
	lc_reader_options o;
	lc_reader *reader;

	lc_reader_options_init(&o);
	o.views = 1;
	o.ahead = 3;
	o.threads = (unsigned)_i;
	reader = reader_of(stream, &o);
	for (int i = 0; i < RECORDS; i++)
		held[i] = detached(next_of(reader));
	lc_reader_close(reader);
	lc_stream_close(stream);
	lc_source_close(made.source);
	made.source = NULL;
	ck_assert_int_eq(lc_delete(made.cache, "1-1", 3), LC_OK);
	for (int i = 0; i < 20; i++)
		made_stream_chunk(&made, fives, 8);
	ck_assert_int_eq(lc_compact(made.cache, NULL, NULL), LC_OK);
	for (int i = 0; i < 20; i++)
		made_stream_chunk(&made, fives, 8);
	for (int i = 0; i < RECORDS; i++) {
		ck_assert_ptr_null(held[i]->fields[0].data);
		expect_record(held[i], (uint64_t)i);
		lc_batch_release(held[i]);
	}
}
END_TEST

/* Coded tensors are decoded into memory that the batch keeps. */
START_TEST(views_of_coded_tensors)
{
	const uint64_t shape[] = { 4096 };
	static uint32_t words[4096];
	const lc_batch *batch;
	lc_reader_options o;
	lc_reader *reader;
	lc_tensor tensor;
	lc_stream *stream;

	ck_assert_int_eq(lc_tensor_init(&tensor, LC_U32, 1, shape, words), LC_OK);
	for (uint32_t i = 0; i < 4; i++) {
		lc_value *value = lc_value_tensor(&tensor);
		char id[16];
		const int size = snprintf(id, sizeof(id), "c%u", i);

		for (size_t j = 0; j < 4096; j++)
			words[j] = i;
		ck_assert_int_eq(lc_put_coded(made.cache, id, (size_t)size, value,
				     LC_CODEC_LZ4, 0),
		    LC_OK);
		lc_value_free(value);
	}
	ck_assert_int_eq(lc_flush(made.cache), LC_OK);
	made_stream_open(&made);
	stream = stream_of(made.source, 4, 0);
	lc_reader_options_init(&o);
	o.views = 1;
	reader = reader_of(stream, &o);
	ck_assert_int_eq(lc_reader_read(reader, RECORDS / 4, &batch), LC_OK);
	detached(batch);
	lc_reader_close(reader);
	lc_stream_close(stream);
	lc_source_close(made.source);
	made.source = NULL;
	for (uint32_t row = 0; row < 4; row++) {
		const uint32_t *got = batch->fields[0].rows[row];

		for (size_t j = 0; j < 4096; j++)
			ck_assert_uint_eq(got[j], row);
	}
	lc_batch_release(batch);
}
END_TEST

/* Of shards they show the maps of the source, which is closed after them. */
START_TEST(shards)
{
	static const struct made_variant plain;
	const struct made warehouse = made_warehouse(&plain);
	const lc_batch *held[6];
	lc_reader_options o;
	lc_stream *stream;
	lc_source *source;
	lc_reader *reader;

	ck_assert_int_eq(lc_source_open_shards(warehouse.warehouse, NULL, &source),
	    LC_OK);
	stream = stream_of(source, 1, 0);
	lc_reader_options_init(&o);
	o.views = _i;
	o.ahead = 2;
	reader = reader_of(stream, &o);
	for (int i = 0; i < 6; i++)
		held[i] = detached(next_of(reader));
	lc_reader_close(reader);
	lc_stream_close(stream);
	if (!o.views)
		lc_source_close(source);
	for (uint64_t i = 0; i < 6; i++) {
		const lc_batch_field *f = held[i]->fields;

		ck_assert_str_eq(f[0].name, "image");
		ck_assert_mem_eq(o.views ? f[0].rows[0] : f[0].data, made_image(i),
		    MADE_IMAGE);
		lc_batch_release(held[i]);
	}
	if (o.views)
		lc_source_close(source);
}
END_TEST

/* ---- memory of the caller ----------------------------------------------------------- */

#define PLACES 1024

/* What alloc() gave and free() did not get back. */
static struct ledger {
	pthread_mutex_t lock;
	struct {
		void *at;
		size_t size;
	} place[PLACES];
	size_t live, given;
	size_t refuse;     /* the call of this number gets NULL; 0: none */
	size_t off;        /* bytes that memory is off its alignment */
	_Atomic(lc_reader *) reader; /* that must not be locked; NULL: do not look */
} ledger = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* This takes the reader's lock: if the caller had it, the test would stop here. */
static void
look_at_reader(struct ledger *l)
{
	lc_reader *reader = atomic_load(&l->reader);

	if (reader != NULL)
		(void)buffers_of(reader);
}

static void *
ledger_alloc(void *ctx, size_t size)
{
	struct ledger *l = ctx;
	unsigned char *at = NULL;
	size_t i = 0;

	look_at_reader(l);
	ck_assert(size > 0 && size % 64 == 0);
	pthread_mutex_lock(&l->lock);
	if (++l->given != l->refuse) {
		at = aligned_alloc(64, size + 64);
		ck_assert_ptr_nonnull(at);
		at += l->off;
		memset(at, 0xee, size);
		while (l->place[i].at != NULL)
			ck_assert_uint_lt(++i, PLACES);
		l->place[i].at = at;
		l->place[i].size = size;
		l->live++;
	}
	pthread_mutex_unlock(&l->lock);
	return at;
}

static size_t
ledger_find(const struct ledger *l, const void *at)
{
	size_t i = 0;

	while (l->place[i].at != at)
		ck_assert_uint_lt(++i, PLACES);
	return i;
}

static void
ledger_free(void *ctx, void *memory, size_t size)
{
	struct ledger *l = ctx;
	size_t i;

	look_at_reader(l);
	pthread_mutex_lock(&l->lock);
	i = ledger_find(l, memory);
	ck_assert_uint_eq(l->place[i].size, size);
	l->place[i].at = NULL;
	l->live--;
	free((unsigned char *)memory - l->off);
	pthread_mutex_unlock(&l->lock);
}

static void
ledger_options(lc_reader_options *o, unsigned threads)
{
	lc_reader_options_init(o);
	o->threads = threads;
	o->alloc = ledger_alloc;
	o->free = ledger_free;
	o->alloc_ctx = &ledger;
}

/* The data of every field, and nothing else, is in the caller's memory. */
static void
expect_in_ledger(const lc_batch *batch)
{
	pthread_mutex_lock(&ledger.lock);
	for (size_t i = 0; i < batch->n_fields; i++)
		ck_assert_uint_ge(ledger.place[ledger_find(&ledger,
				      batch->fields[i].data)].size,
		    batch->fields[i].nbytes);
	pthread_mutex_unlock(&ledger.lock);
}

/* Without a lock of the reader, in all places that free batches: also with memory for none
 * of them, and when the reader goes elsewhere while threads read. All comes back. */
START_TEST(own_memory)
{
	lc_stream *stream = stream_of(made.source, 1, 0);
	const lc_batch *held, *batch;
	lc_reader_options o;
	lc_reader *reader;

	for (int memory = 0; memory < 2; memory++) {
		ledger_options(&o, (unsigned)_i);
		if (memory == 0)
			o.memory = 0;
		reader = reader_of(stream, &o);
		ledger.reader = reader;
		for (uint64_t round = 0; round < 20; round++) {
			ck_assert_int_eq(lc_reader_seek(reader, round), LC_OK);
			for (uint64_t k = round; k < round + 3; k++) {
				batch = next_of(reader);
				expect_record(batch, k);
				expect_in_ledger(batch);
				lc_batch_release(batch);
			}
		}
		held = detached(next_of(reader));
		ck_assert_int_eq(lc_reader_read(reader, 7, &batch), LC_OK);
		expect_in_ledger(batch);
		lc_batch_release(batch);
		ledger.reader = NULL;
		lc_reader_close(reader);
		/* That of the detached batch is there still: three fields. */
		ck_assert_uint_eq(ledger.live, 3);
		expect_in_ledger(held);
		expect_record(held, 22);
		lc_batch_release(held);
		ck_assert_uint_eq(ledger.live, 0);
	}
	lc_stream_close(stream);
}
END_TEST

/* Memory that is refused fails one batch, which comes when it is asked for again. */
START_TEST(refused_memory)
{
	lc_stream *stream = stream_of(made.source, 1, 0);
	const lc_batch *batch = NULL;
	lc_reader_options o;
	lc_reader *reader;

	ledger_options(&o, (unsigned)_i);
	ledger.refuse = 2;
	reader = reader_of(stream, &o);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_NO_MEMORY);
	ck_assert_ptr_null(batch);
	for (uint64_t k = 0; k < RECORDS; k++) {
		batch = next_of(reader);
		expect_record(batch, k);
		lc_batch_release(batch);
	}
	lc_reader_close(reader);
	lc_stream_close(stream);
	ck_assert_uint_eq(ledger.live, 0);
}
END_TEST

START_TEST(memory_off_its_alignment)
{
	lc_stream *stream = stream_of(made.source, 1, 0);
	const lc_batch *batch = NULL;
	lc_reader_options o;
	lc_reader *reader;

	ledger_options(&o, (unsigned)_i);
	ledger.off = 32;
	reader = reader_of(stream, &o);
	ck_assert_int_eq(lc_reader_next(reader, &batch), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "reader: the function alloc returned memory that is not aligned to 64 bytes");
	lc_reader_close(reader);
	lc_stream_close(stream);
	ck_assert_uint_eq(ledger.live, 0);
}
END_TEST

START_TEST(one_function_of_two)
{
	lc_stream *stream = stream_of(made.source, 1, 0);
	lc_reader_options o;
	lc_reader *reader;

	ledger_options(&o, 0);
	if (_i == 0)
		o.alloc = NULL;
	else
		o.free = NULL;
	ck_assert_int_eq(lc_reader_open(stream, &o, &reader), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "reader: alloc and free go together: set both or neither");
	lc_stream_close(stream);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("reader_memory");
	TCase *tc = tcase_create("reader_memory");

	tcase_add_checked_fixture(tc, set_up, close_all);
	tcase_add_loop_test(tc, all_batches_are_held, 0, 4);
	tcase_add_loop_test(tc, detaching_makes_room, 0, 4);
	tcase_add_test(tc, read_at_any_number);
	tcase_add_test(tc, windows_with_documents);
	tcase_add_loop_test(tc, views_of_a_module, 0, 3);
	tcase_add_test(tc, views_of_coded_tensors);
	tcase_add_loop_test(tc, shards, 0, 2);
	tcase_add_loop_test(tc, own_memory, 0, 4);
	tcase_add_loop_test(tc, refused_memory, 0, 3);
	tcase_add_loop_test(tc, memory_off_its_alignment, 0, 2);
	tcase_add_loop_test(tc, one_function_of_two, 0, 2);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
