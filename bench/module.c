/* SPDX-License-Identifier: BSD-2-Clause */
#include "module.h"

#include <err.h>

void
module_must(lc_status status)
{
	if (status != LC_OK)
		errx(1, "cachex: %s", lc_last_error()->text);
}

lc_options
module_options(uint64_t every)
{
	lc_options options;

	lc_options_init(&options);
	options.flush_every = every;
	options.chunk_bytes = 64 << 20; /* beyond most commits here */
	options.flush_interval_ms = 0;
	return options;
}

lc_cache *
module_open(const char *root, const char *name, const lc_options *options)
{
	lc_cache *cache;

	module_must(lc_open(root, name, options, &cache));
	return cache;
}

lc_cache *
module_trusting(const char *root, const char *name)
{
	lc_options options = module_options(1000);

	options.verify = 0;
	return module_open(root, name, &options);
}

lc_tensor
module_row(const void *data, size_t size)
{
	const uint64_t shape[1] = { size / sizeof(float) };
	lc_tensor tensor;

	module_must(lc_tensor_init(&tensor, LC_F32, 1, shape, data));
	return tensor;
}
