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
	assert_status(status, LC_NOT_FOUND);
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
	assert_status(status, LC_NOT_FOUND);
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

int
main(void)
{
	Suite *suite = suite_create("streams over modules that change");
	TCase *tcase = tcase_create("changed");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, replaced_far_on, 0, 2);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
