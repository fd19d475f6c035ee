/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation of streams and readers fails once: the call says so, the next one goes
 * on where it was, and what comes out at last is the same. */
#include <stdlib.h>

#include "fail_malloc.h"
#include "made_stream.h"
#include "need.h"
#include "run.h"

static struct made_stream made[2];

/* What is read, and how. */
static const struct row {
	lc_stream_options stream;
	size_t sources;
	lc_reader_options reader;
} rows[] = {
	{ { .epochs = 1 }, 1, { .threads = 0 } },
	{ { .epochs = 2, .shuffle = LC_SHUFFLE_FULL }, 1, { .views = 1 } },
	{ { .epochs = 1, .window = 7, .stride = 3 }, 1, { .documents = 1 } },
	{ { .limit = 20, .window = 4, .idealised = 3 }, 1, { .threads = 1 } },
	{ { .limit = 20, .shuffle = LC_SHUFFLE_BLOCK }, 2, { .threads = 2 } },
	{ { .epochs = 1, .follow = 1, .limit = 20 }, 1, { .readers = 5 } },
};

static void
fill(struct made_stream *m, uint32_t tag)
{
	uint64_t lengths[6];

	made_stream_new(m, tag, tag == 0, true);
	for (int c = 0; c < 5; c++) {
		for (int k = 0; k < 6; k++)
			lengths[k] = (uint64_t)(c + 2 * k) % 7;
		made_stream_chunk(m, lengths, 6);
	}
}

static void
set_up(void)
{
	fill(&made[0], 0);
	fill(&made[1], 0);
}

static void
tear_down(void)
{
	made_stream_close(&made[0]);
	made_stream_close(&made[1]);
}

static lc_stream_options
stream_options(const struct row *row)
{
	lc_stream_options o;

	lc_stream_options_init(&o);
	o.window = row->stream.window;
	o.stride = row->stream.stride;
	o.idealised = row->stream.idealised;
	o.shuffle = row->stream.shuffle;
	o.epochs = row->stream.epochs;
	o.limit = row->stream.limit;
	o.follow = row->stream.follow;
	o.batch = 5;
	return o;
}

static lc_reader_options
reader_options(const struct row *row)
{
	lc_reader_options o;

	lc_reader_options_init(&o);
	o.threads = row->reader.threads;
	o.views = row->reader.views;
	o.documents = row->reader.documents;
	if (row->reader.readers != 0)
		o.readers = row->reader.readers;
	o.ahead = 3;
	return o;
}

/* Of all that a batch shows. */
static uint64_t
sum_of(const lc_batch *batch)
{
	uint64_t sum = batch->number * 1000 + batch->filled;
	const lc_batch_field *f = &batch->fields[0];

	for (size_t i = 0; f->data != NULL && i < f->nbytes / 4; i++)
		sum = sum * 31 + ((const uint32_t *)f->data)[i];
	for (size_t i = 0; i < batch->filled; i++) {
		const char *id = batch->ids[i].data;

		sum = sum * 31 + (uint64_t)id[batch->ids[i].size - 1];
	}
	return sum;
}

/* A failure is told of once. */
static lc_status
next(lc_reader *reader, const lc_batch **batch)
{
	lc_status status = lc_reader_next(reader, batch);

	if (status == LC_NO_MEMORY)
		status = lc_reader_next(reader, batch);
	return status;
}

static lc_status
read_all(lc_reader *reader, uint64_t *sum)
{
	unsigned char token[LC_TOKEN_SIZE];
	const lc_batch *batch;
	lc_status status;

	while ((status = next(reader, &batch)) == LC_OK) {
		*sum = *sum * 31 + sum_of(batch);
		lc_batch_release(batch);
	}
	if (status != LC_END)
		return status;
	status = lc_reader_token(reader, token);
	if (status != LC_OK)
		return status;
	status = lc_reader_read(reader, 1, &batch);
	if (status == LC_OK)
		lc_batch_release(batch);
	return status;
}

static lc_status
read_stream(lc_stream *stream, const struct row *row, uint64_t *sum)
{
	const lc_reader_options o = reader_options(row);
	lc_reader *reader = NULL;
	lc_status status = lc_reader_open(stream, &o, &reader);

	if (status == LC_OK)
		status = read_all(reader, sum);
	lc_reader_close(reader);
	return status;
}

static lc_status
pass(const struct row *row, uint64_t *sum)
{
	const lc_stream_options o = stream_options(row);
	lc_source *sources[2] = { NULL, NULL };
	lc_stream *stream = NULL;
	lc_status status = LC_OK;

	*sum = 0;
	for (size_t i = 0; i < 2 && status == LC_OK; i++)
		status = lc_source_open_module(made[i].cache, NULL, &sources[i]);
	if (status == LC_OK)
		status = lc_stream_open(sources, row->sources, &o, &stream);
	if (status == LC_OK)
		status = read_stream(stream, row, sum);
	lc_stream_close(stream);
	lc_source_close(sources[0]);
	lc_source_close(sources[1]);
	return status;
}

START_TEST(every_allocation)
{
	const struct row *row = &rows[_i];
	uint64_t want, got;
	lc_status status;
	long n = 0, hits;

	need_ok(pass(row, &want));
	do {
		fail_malloc(++n, false);
		status = pass(row, &got);
		hits = fail_malloc_hits();
		need(status == LC_OK || (hits > 0 && status == LC_NO_MEMORY));
		need(status != LC_OK || got == want);
	} while (hits > 0);
	fail_malloc(0, false);
	ck_assert_int_gt(n, 20);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("reader_chaos");
	TCase *tc = tcase_create("memory");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, every_allocation, 0,
	    (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
