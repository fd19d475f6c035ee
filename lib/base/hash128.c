/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "base/hash128.h"

#include <stdio.h>

#include "base/vectors.h"

/* As in hash_long.c: the widest vectors of the processor it runs on. */
#ifdef HAVE_XXH_X86DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

void
lc__hash128(const void *data, size_t size, uint64_t hash[2])
{
	const XXH128_hash_t h = XXH3_128bits(data, size);

	lc__vectors_clear();
	hash[0] = h.high64;
	hash[1] = h.low64;
}

struct lc__hash128 *
lc__hash128_new(void)
{
	XXH3_state_t *state = XXH3_createState();

	if (state != NULL)
		(void)XXH3_128bits_reset(state);
	return (struct lc__hash128 *)state;
}

void
lc__hash128_update(struct lc__hash128 *state, const void *data, size_t size)
{
	(void)XXH3_128bits_update((XXH3_state_t *)state, data, size);
	lc__vectors_clear();
}

void
lc__hash128_end(const struct lc__hash128 *state, uint64_t hash[2])
{
	const XXH128_hash_t h = XXH3_128bits_digest((const XXH3_state_t *)state);

	lc__vectors_clear();
	hash[0] = h.high64;
	hash[1] = h.low64;
}

void
lc__hash128_hex(const struct lc__hash128 *state, char out[LC__HASH128_HEX])
{
	uint64_t hash[2];

	lc__hash128_end(state, hash);
	sprintf(out, "%016llx%016llx", (unsigned long long)hash[0],
	    (unsigned long long)hash[1]);
}

void
lc__hash128_free(struct lc__hash128 *state)
{
	(void)XXH3_freeState((XXH3_state_t *)state);
}
