/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/shuffle.h"

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifdef __SSE2__

/* How far ahead the input is prefetched: the processor's own prefetch stops at the end of
 * a page. Prefetching past the input is harmless. */
#define AHEAD 4096

/*
 * Sixteen elements are `width` vectors: byte b of element e is at position e * width + b.
 * split() moves the bytes at even positions before those at odd ones, which rotates the
 * bits of the position by one, the lowest to the top. After log2(width) rounds the byte
 * is at b * 16 + e.
 */
static inline __attribute__((always_inline)) void
split(__m128i *v, unsigned width)
{
	const __m128i low = _mm_set1_epi16(0xff);
	__m128i w[8];

	for (unsigned i = 0; i < width / 2; i++) {
		w[i] = _mm_packus_epi16(_mm_and_si128(v[2 * i], low),
		    _mm_and_si128(v[2 * i + 1], low));
		w[i + width / 2] = _mm_packus_epi16(_mm_srli_epi16(v[2 * i], 8),
		    _mm_srli_epi16(v[2 * i + 1], 8));
	}
	for (unsigned i = 0; i < width; i++)
		v[i] = w[i];
}

/* The reverse of split(). */
static inline __attribute__((always_inline)) void
join(__m128i *v, unsigned width)
{
	__m128i w[8];

	for (unsigned i = 0; i < width / 2; i++) {
		w[2 * i] = _mm_unpacklo_epi8(v[i], v[i + width / 2]);
		w[2 * i + 1] = _mm_unpackhi_epi8(v[i], v[i + width / 2]);
	}
	for (unsigned i = 0; i < width; i++)
		v[i] = w[i];
}

static inline __attribute__((always_inline)) size_t
shuffle_vectors(const unsigned char *in, size_t n, unsigned width, unsigned char *out)
{
	__m128i v[8];
	size_t i;

	for (i = 0; i + 16 <= n; i += 16) {
		for (unsigned line = 0; line < 16 * width; line += 64)
			__builtin_prefetch(
			    (const void *)((uintptr_t)in + i * width + AHEAD + line));
		for (unsigned b = 0; b < width; b++)
			v[b] = _mm_loadu_si128((const __m128i *)(in + i * width) + b);
		for (unsigned step = 1; step < width; step *= 2)
			split(v, width);
		for (unsigned b = 0; b < width; b++)
			_mm_storeu_si128((__m128i *)(out + b * n + i), v[b]);
	}
	return i;
}

static inline __attribute__((always_inline)) size_t
unshuffle_vectors(const unsigned char *in, size_t n, unsigned width, unsigned char *out)
{
	__m128i v[8];
	size_t i;

	for (i = 0; i + 16 <= n; i += 16) {
		for (unsigned b = 0; b < width; b++)
			v[b] = _mm_loadu_si128((const __m128i *)(in + b * n + i));
		for (unsigned step = 1; step < width; step *= 2)
			join(v, width);
		for (unsigned b = 0; b < width; b++)
			_mm_storeu_si128((__m128i *)(out + i * width) + b, v[b]);
	}
	return i;
}

#else

static size_t
shuffle_vectors(const unsigned char *in, size_t n, unsigned width, unsigned char *out)
{
	(void)in, (void)n, (void)width, (void)out;
	return 0;
}

static size_t
unshuffle_vectors(const unsigned char *in, size_t n, unsigned width, unsigned char *out)
{
	(void)in, (void)n, (void)width, (void)out;
	return 0;
}

#endif

void
lc__shuffle(const unsigned char *in, size_t size, unsigned width, unsigned char *out)
{
	const size_t n = size / width;
	size_t done = 0;

	switch (width) {
	case 2: done = shuffle_vectors(in, n, 2, out); break;
	case 4: done = shuffle_vectors(in, n, 4, out); break;
	case 8: done = shuffle_vectors(in, n, 8, out); break;
	}
	/* The rest, one byte at a time. */
	for (size_t i = done; i < n; i++)
		for (unsigned b = 0; b < width; b++)
			out[b * n + i] = in[i * width + b];
}

void
lc__unshuffle(const unsigned char *in, size_t size, unsigned width, unsigned char *out)
{
	const size_t n = size / width;
	size_t done = 0;

	switch (width) {
	case 2: done = unshuffle_vectors(in, n, 2, out); break;
	case 4: done = unshuffle_vectors(in, n, 4, out); break;
	case 8: done = unshuffle_vectors(in, n, 8, out); break;
	}
	for (size_t i = done; i < n; i++)
		for (unsigned b = 0; b < width; b++)
			out[i * width + b] = in[b * n + i];
}
