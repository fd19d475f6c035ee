/* SPDX-License-Identifier: BSD-2-Clause */
#include "order_stream.h"

#include <err.h>

#include "harness.h"
#include "module.h"

void
order_module_open(struct order_stream *out, const char *root, const char *module)
{
	lc_options options = module_options(1);

	options.flags = LC_RDONLY;
	*out = (struct order_stream){ .cache = module_open(root, module, &options) };
}

void
order_source_open(struct order_stream *stream, bool verify)
{
	lc_source_options options;

	lc_source_options_init(&options);
	options.verify = verify;
	module_must(lc_source_open_module(stream->cache, &options, &stream->source));
}

void
order_module_source(struct order_stream *out, const char *root, const char *module,
    bool verify)
{
	order_module_open(out, root, module);
	order_source_open(out, verify);
}

void
order_stream_open(struct order_stream *stream, const lc_stream_options *options)
{
	module_must(lc_stream_open(&stream->source, 1, options, &stream->stream));
}

void
order_stream_end(struct order_stream *stream)
{
	lc_stream_close(stream->stream);
	stream->stream = NULL;
}

void
order_stream_close(struct order_stream *stream)
{
	order_stream_end(stream);
	lc_source_close(stream->source);
	module_must(lc_close(stream->cache));
}

lc_reader *
order_reader(const struct order_stream *stream, unsigned threads)
{
	lc_reader_options options;
	lc_reader *reader;

	lc_reader_options_init(&options);
	options.threads = threads;
	module_must(lc_reader_open(stream->stream, &options, &reader));
	return reader;
}

double
order_epoch(const struct order_stream *stream, uint64_t records)
{
	lc_reader *reader = order_reader(stream, 0);
	const double start = bench_cpu_seconds();
	const lc_batch *batch;
	uint64_t examples = 0;
	lc_status status;

	while ((status = lc_reader_next(reader, &batch)) == LC_OK) {
		examples += batch->filled;
		lc_batch_release(batch);
	}
	if (status != LC_END)
		module_must(status);
	if (examples != records)
		errx(1, "%ju records of %ju", (uintmax_t)examples, (uintmax_t)records);
	lc_reader_close(reader);
	return (double)examples / (bench_cpu_seconds() - start);
}
