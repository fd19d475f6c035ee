/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XXH3 with the widest vectors of the processor. This is a separate file because
 * <xxhash.h> can either be inlined, as in hash.c, or choose at run time, but not both in
 * one file.
 */
#include "config.h"

#include "base/hash.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* libxxhash chooses between SSE2, AVX2 and AVX-512 at run time, which is twice as fast as
 * what a compiler may assume of every x86-64. Other machines have one kind of vectors. */
#ifdef HAVE_XXH_X86DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

/*
 * libxxhash computes with the widest vectors of an x86-64 and does not clear them. Until
 * they are cleared, each 128-bit instruction waits for the last one that wrote the same
 * register, so nothing runs in parallel with the computation.
 */
#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx"))) static void
clear_avx(void)
{
	_mm256_zeroupper();
}

static void
clear_vectors(void)
{
	if (__builtin_cpu_supports("avx"))
		clear_avx();
}
#else
static void
clear_vectors(void)
{
}
#endif

uint64_t
lc__hash64_long(const void *data, size_t size)
{
	const uint64_t h = XXH3_64bits(data, size);

	clear_vectors();
	return h;
}

/*
 * The next piece is prefetched while one is hashed. Longer pieces were measured to be
 * slower.
 */
#define PIECE ((size_t)4096)

/* A copy of this length does not stay in the nearer caches of the processor. Writing past
 * the caches saves reading what is overwritten. */
#define LONG_COPY ((size_t)1 << 20)

/*
 * Write past the caches; false where that is not possible. Call store_fence() after the
 * last.
 */
#ifdef __x86_64__
static bool
store_past(unsigned char *to, const unsigned char *from, size_t n)
{
	if ((uintptr_t)to % sizeof(__m128i) != 0 || n % sizeof(__m128i) != 0)
		return false;
	for (size_t i = 0; i < n; i += sizeof(__m128i))
		_mm_stream_si128((__m128i *)(void *)(to + i),
		    _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
	return true;
}

static void
store_fence(void)
{
	_mm_sfence();
}
#else
static bool
store_past(unsigned char *to, const unsigned char *from, size_t n)
{
	(void)to;
	(void)from;
	(void)n;
	return false;
}

static void
store_fence(void)
{
}
#endif

uint64_t
lc__hash64_copy(const void *data, size_t size, void *out, size_t n, size_t all)
{
	XXH3_state_t *state = n > PIECE ? XXH3_createState() : NULL;
	const bool past = all >= LONG_COPY;
	const unsigned char *from = data;
	unsigned char *to = out;
	uint64_t h;

	if (state == NULL) {
		if (n > 0)
			memcpy(out, data, n);
		return lc__hash64(data, size);
	}
	(void)XXH3_64bits_reset(state);
	for (size_t at = 0, piece; at < n; at += piece) {
		piece = n - at < PIECE ? n - at : PIECE;
		if (!past || !store_past(to + at, from + at, piece))
			memcpy(to + at, from + at, piece);
		for (size_t i = at + piece; i < n && i < at + piece + PIECE; i += 64)
			__builtin_prefetch(from + i, 0, 2);
		(void)XXH3_64bits_update(state, past ? from + at : to + at, piece);
		clear_vectors();
	}
	if (past)
		store_fence();
	(void)XXH3_64bits_update(state, from + n, size - n);
	h = XXH3_64bits_digest(state);
	(void)XXH3_freeState(state);
	clear_vectors();
	return h;
}

void
lc__hash128(const void *data, size_t size, uint64_t hash[2])
{
	const XXH128_hash_t h = XXH3_128bits(data, size);

	clear_vectors();
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
	clear_vectors();
}

void
lc__hash128_end(const struct lc__hash128 *state, uint64_t hash[2])
{
	const XXH128_hash_t h = XXH3_128bits_digest((const XXH3_state_t *)state);

	clear_vectors();
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
