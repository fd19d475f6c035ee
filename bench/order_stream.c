/* SPDX-License-Identifier: BSD-2-Clause */
#include "order_stream.h"

#include "module.h"

void
order_source_open(struct order_stream *out, const char *root, const char *module,
    bool verify)
{
	lc_options reading = module_options(1);
	lc_source_options options;

	reading.flags = LC_RDONLY;
	out->cache = module_open(root, module, &reading);
	lc_source_options_init(&options);
	options.verify = verify;
	module_must(lc_source_open_module(out->cache, &options, &out->source));
	out->stream = NULL;
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
