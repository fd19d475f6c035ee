/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "base/hash_long.h"

#include "base/vectors.h"

/* libxxhash chooses SSE2, AVX2 or AVX-512 when it runs: twice as fast as what a
 * compiler may assume of any x86-64. Other machines have one kind of vectors. */
#ifdef HAVE_XXH_X86DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

uint64_t
lc__hash64_long(const void *data, size_t size)
{
	const uint64_t h = XXH3_64bits(data, size);

	lc__vectors_clear();
	return h;
}
