/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hash.h"

/* Inlined: a call into the shared library costs a tenth of a short hash. */
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Up to this length XXH3 uses no vectors, and inlining pays. */
#define SHORT_INPUT 240

uint64_t
lc__hash64(const void *data, size_t size)
{
	return size <= SHORT_INPUT ? XXH3_64bits(data, size)
				   : lc__hash64_long(data, size);
}

uint64_t
lc__hash64_seed(const void *data, size_t size, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, size, seed);
}
