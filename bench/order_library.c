/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's readers: batches of copies, or of records in place. */
#include <err.h>
#include <stdlib.h>

#include "module.h"
#include "order_stream.h"
#include "order_way.h"

struct library {
	struct order_stream open;
	bool views;
};

static const char *
file(const struct order_set *set)
{
	return set->module;
}

static void *
library_open(const struct order_run *run, bool verify, bool views)
{
	struct library *library = calloc(1, sizeof(*library));
	lc_stream_options options;

	if (library == NULL)
		err(1, NULL);
	library->views = views;
	lc_stream_options_init(&options);
	options.shuffle = order_shuffle(run->kind);
	options.seed = ORDER_SEED;
	options.batch = ORDER_BATCH;
	options.limit = run->examples;
	order_module_source(&library->open, run->set->root, ORDER_MODULE, verify);
	order_stream_open(&library->open, &options);
	return library;
}

static void *
copies_open(const struct order_run *run)
{
	return library_open(run, false, false);
}

static void *
copies_verified_open(const struct order_run *run)
{
	return library_open(run, true, false);
}

static void *
views_open(const struct order_run *run)
{
	return library_open(run, false, true);
}

static void *
views_verified_open(const struct order_run *run)
{
	return library_open(run, true, true);
}

static void
library_close(void *state)
{
	struct library *library = state;

	order_stream_close(&library->open);
	free(library);
}

static uint64_t
sum_rows(const lc_batch *batch)
{
	const lc_batch_field *field = batch->fields;
	const unsigned char *copies = field->data;
	uint64_t total = 0;

	for (size_t i = 0; i < batch->filled; i++)
		total += order_weighed(batch->examples[i], order_sum(copies != NULL ?
		    copies + i * ORDER_RECORD : field->rows[i]));
	return total;
}

static uint64_t
library_read(void *state, const struct order_run *run, unsigned number)
{
	const struct library *library = state;
	lc_reader_options options;
	const lc_batch *batch;
	lc_reader *reader;
	lc_status status;
	uint64_t total = 0;

	lc_reader_options_init(&options);
	options.reader = number;
	options.readers = run->readers;
	options.threads = run->threads;
	options.views = library->views;
	module_must(lc_reader_open(library->open.stream, &options, &reader));
	while ((status = lc_reader_next(reader, &batch)) == LC_OK) {
		total += run->sums ? sum_rows(batch) : batch->filled;
		lc_batch_release(batch);
	}
	if (status != LC_END)
		module_must(status);
	lc_reader_close(reader);
	return total;
}

const struct order_way order_copies = {
	.name = "copies", .ahead = true, .unsummed = true, .file = file,
	.open = copies_open, .read = library_read, .close = library_close,
};

const struct order_way order_copies_verified = {
	.name = "copies, verified", .ahead = true, .unsummed = true, .file = file,
	.open = copies_verified_open, .read = library_read, .close = library_close,
};

const struct order_way order_views = {
	.name = "views", .ahead = true, .unsummed = true, .file = file,
	.open = views_open, .read = library_read, .close = library_close,
};

const struct order_way order_views_verified = {
	.name = "views, verified", .ahead = true, .unsummed = true, .file = file,
	.open = views_verified_open, .read = library_read, .close = library_close,
};
