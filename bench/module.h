/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules of this engine, as the benches of its features use them. */
#ifndef BENCH_MODULE_H
#define BENCH_MODULE_H

#include "lmdbcache.h"

/** End the program, unless the call was good. */
void module_must(lc_status status);

/** The defaults, but commits only by count, @p every records each. */
lc_options module_options(uint64_t every);

/** Open a module under @p root. */
lc_cache *module_open(const char *root, const char *name, const lc_options *options);

/** The same module as @p cache, whose reads verify nothing. */
lc_cache *module_trusting(const char *root, const char *name);

/** A tensor of f32 in a row, as many as @p size bytes hold. */
lc_tensor module_row(const void *data, size_t size);

#endif
