/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hash.h"

/* Inlined: the call through the shared library costs a tenth of a short hash. */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t
lc__hash64(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

uint64_t
lc__hash64_seed(const void *data, size_t size, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, size, seed);
}
