/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation of opening a stream and reading it fails once: the call says so, and
 * the next one goes on as if nothing had been. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail_malloc.h"
#include "made_stream.h"
#include "need.h"

#define RECORDS 12
#define BATCH 5
#define TRIES 4

/* What is read, and how. */
struct way {
	const char *name;
	uint64_t window;
	uint32_t idealised;
	lc_shuffle shuffle;
	int views;
	unsigned threads;
	uint32_t shares;
};

static const struct way ways[] = {
	{ "records", 0, 0, LC_SHUFFLE_NONE, 0, 0, 0 },
	{ "records by threads", 0, 0, LC_SHUFFLE_BLOCK, 0, 2, 0 },
	{ "views", 0, 0, LC_SHUFFLE_FULL, 1, 0, 0 },
	{ "views by threads", 0, 0, LC_SHUFFLE_FULL, 1, 2, 0 },
	{ "windows", 3, 0, LC_SHUFFLE_NONE, 0, 0, 0 },
	{ "windows by threads", 3, 2, LC_SHUFFLE_NONE, 0, 2, 0 },
	{ "shares", 0, 0, LC_SHUFFLE_BLOCK, 0, 0, BATCH },
	{ "windows of shares by threads", 3, 0, LC_SHUFFLE_BLOCK, 0, 2, BATCH }
};

static lc_stream_options
options_of(const struct way *way)
{
	lc_stream_options o;

	lc_stream_options_init(&o);
	o.batch = BATCH;
	o.window = way->window;
	o.idealised = way->idealised;
	o.epochs = way->idealised == 0;
	o.shuffle = way->shuffle;
	o.block = o.spread = 2;
	o.shares = way->shares;
	return o;
}

/* The first two batches; one that failed is tried again. */
static lc_status
read_two(lc_reader *reader)
{
	const lc_batch *batch;

	for (uint64_t number = 0; number < 2; number++) {
		lc_status status = LC_NO_MEMORY;

		for (int i = 0; i < TRIES && status == LC_NO_MEMORY; i++)
			status = lc_reader_next(reader, &batch);
		if (status != LC_OK)
			return status;
		need(batch->number == number && batch->n_fields == 1);
		need(batch->fields[0].dtype == LC_U32);
		need(batch->fields[0].shape[0] == BATCH);
		lc_batch_release(batch);
	}
	return LC_OK;
}

static lc_status
pass(struct made_stream *m, const struct way *way)
{
	const lc_stream_options o = options_of(way);
	lc_reader_options how;
	lc_source *source = NULL;
	lc_stream *stream = NULL;
	lc_reader *reader = NULL;
	lc_status status;

	lc_reader_options_init(&how);
	how.threads = way->threads;
	how.views = way->views;
	how.documents = way->window > 0;
	status = lc_source_open_module(m->cache, NULL, &source);
	if (status == LC_OK)
		status = lc_stream_open(&source, 1, &o, &stream);
	if (status == LC_OK)
		status = lc_reader_open(stream, &how, &reader);
	if (status == LC_OK)
		status = read_two(reader);
	lc_reader_close(reader);
	lc_stream_close(stream);
	lc_source_close(source);
	return status;
}

START_TEST(every_allocation)
{
	const struct way *way = &ways[_i];
	uint64_t lengths[RECORDS];
	struct made_stream m;
	long n, hits = 1;

	for (size_t i = 0; i < RECORDS; i++)
		lengths[i] = 3;
	made_stream_new(&m, 1, true, true);
	made_stream_chunk(&m, lengths, 6);
	made_stream_chunk(&m, lengths, 6);
	for (n = 1; hits > 0; n++) {
		lc_status status;

		ck_assert_int_lt(n, 10000);
		fail_malloc(n, false);
		status = pass(&m, way);
		hits = fail_malloc_hits();
		fail_malloc(0, false);
		ck_assert_msg(status == LC_OK || (hits > 0 &&
		    status == LC_NO_MEMORY), "%s: allocation %ld: %s", way->name,
		    n, lc_last_error()->text);
	}
	ck_assert_int_gt(n, 20);
	made_stream_close(&m);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("stream_chaos");
	TCase *tc = tcase_create("memory");

	tcase_add_loop_test(tc, every_allocation, 0,
	    sizeof(ways) / sizeof(ways[0]));
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
