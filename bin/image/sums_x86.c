/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/sums.h"

#include <string.h>

#ifdef __SSE2__

#include <immintrin.h>

/* ---- rows ------------------------------------------------------------------------- */

/* Two weights as a pair, as the multiplication of pairs of samples needs them. */
static inline int32_t
pair(const int16_t *weights)
{
	int32_t both;

	memcpy(&both, weights, sizeof(both));
	return both;
}

/* The sums of sixteen samples, unrolled so that they stay in registers. */
struct sums_128 {
	__m128i a, b, c, d;
};

static inline struct sums_128
begin_128(const int32_t *before)
{
	const __m128i *from = (const __m128i *)before, zero = _mm_setzero_si128();

	if (before == NULL)
		return (struct sums_128){ zero, zero, zero, zero };
	return (struct sums_128){ _mm_load_si128(from), _mm_load_si128(from + 1),
		_mm_load_si128(from + 2), _mm_load_si128(from + 3) };
}

static inline void
store_sums_128(int32_t *after, const struct sums_128 *sums)
{
	__m128i *to = (__m128i *)after;

	_mm_store_si128(to, sums->a);
	_mm_store_si128(to + 1, sums->b);
	_mm_store_si128(to + 2, sums->c);
	_mm_store_si128(to + 3, sums->d);
}

static inline __m128i
add_pairs_128(__m128i sum, __m128i samples, __m128i weights)
{
	return _mm_add_epi32(sum, _mm_madd_epi16(samples, weights));
}

static inline __attribute__((always_inline)) void
add_two_rows_128(const uint8_t *first, const uint8_t *second, __m128i weights,
    struct sums_128 *sums)
{
	const __m128i zero = _mm_setzero_si128();
	const __m128i one = _mm_loadu_si128((const void *)first);
	const __m128i two = _mm_loadu_si128((const void *)second);
	const __m128i low = _mm_unpacklo_epi8(one, two);
	const __m128i high = _mm_unpackhi_epi8(one, two);

	sums->a = add_pairs_128(sums->a, _mm_unpacklo_epi8(low, zero), weights);
	sums->b = add_pairs_128(sums->b, _mm_unpackhi_epi8(low, zero), weights);
	sums->c = add_pairs_128(sums->c, _mm_unpacklo_epi8(high, zero), weights);
	sums->d = add_pairs_128(sums->d, _mm_unpackhi_epi8(high, zero), weights);
}

static inline __m128i
rounded_128(__m128i sums)
{
	return _mm_srai_epi32(_mm_add_epi32(sums, _mm_set1_epi32(LC__SUMS_DOWN_HALF)),
	    LC__SUMS_DOWN_SHIFT);
}

static inline void
store_rounded_128(int16_t *out, const struct sums_128 *sums)
{
	_mm_store_si128((__m128i *)out,
	    _mm_packs_epi32(rounded_128(sums->a), rounded_128(sums->b)));
	_mm_store_si128((__m128i *)out + 1,
	    _mm_packs_epi32(rounded_128(sums->c), rounded_128(sums->d)));
}

static void
down_sse2(const uint8_t *const *rows, const int16_t *weights, unsigned count, size_t n,
    const int32_t *before, int32_t *after, int16_t *out)
{
	size_t x = 0;

	for (; x + 16 <= n; x += 16) {
		struct sums_128 sums = begin_128(before != NULL ? before + x : NULL);
		for (unsigned k = 0; k < count; k += 2)
			add_two_rows_128(rows[k] + x, rows[k + 1] + x,
			    _mm_set1_epi32(pair(weights + k)), &sums);
		if (after != NULL)
			store_sums_128(after + x, &sums);
		else
			store_rounded_128(out + x, &sums);
	}
	lc__sums_down_from(rows, weights, count, x, n, before, after, out);
}

/* ---- channels --------------------------------------------------------------------- */

/*
 * Eight pixels are 24 samples, sample 3 q + c at place 3 q + c. Interleaving the
 * first twelve with the last twelve doubles every place modulo 23; done three times
 * the sample is at 8 (3 q + c) = 8 c + q.
 */
static inline void
interleave_halves(__m128i v[3])
{
	const __m128i a = _mm_unpacklo_epi16(v[0], _mm_srli_si128(v[1], 8));
	const __m128i b = _mm_unpacklo_epi16(_mm_srli_si128(v[0], 8), v[2]);
	const __m128i c = _mm_unpacklo_epi16(v[1], _mm_srli_si128(v[2], 8));

	v[0] = a;
	v[1] = b;
	v[2] = c;
}

/* Writes up to seven samples beyond the end, into the margin. */
static void
split_sse2(const int16_t *pixels, size_t n, int16_t *const rows[3])
{
	for (size_t i = 0; i < n; i += 8) {
		__m128i v[3];
		for (int c = 0; c < 3; c++)
			v[c] = _mm_loadu_si128((const __m128i *)(pixels + 3 * i) + c);
		for (int round = 0; round < 3; round++)
			interleave_halves(v);
		for (int c = 0; c < 3; c++)
			_mm_storeu_si128((__m128i *)(rows[c] + i), v[c]);
	}
}

/* ---- columns ---------------------------------------------------------------------- */

static inline __m128i
load_half(const int16_t *low, const int16_t *high)
{
	return _mm_unpacklo_epi64(_mm_loadl_epi64((const void *)low),
	    _mm_loadl_epi64((const void *)high));
}

/* Four bytes of four taps: two a vector, then even and odd sums together. */
static inline __m128i
four_of_4_taps(const int16_t *in, const uint32_t *first, const int16_t *weights)
{
	const __m128 a = _mm_castsi128_ps(
	    _mm_madd_epi16(load_half(in + first[0], in + first[1]),
		_mm_loadu_si128((const void *)weights)));
	const __m128 b = _mm_castsi128_ps(
	    _mm_madd_epi16(load_half(in + first[2], in + first[3]),
		_mm_loadu_si128((const void *)(weights + 8))));

	return _mm_add_epi32(_mm_castps_si128(
				 _mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0))),
	    _mm_castps_si128(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1))));
}

static inline __m128i
one_of_8_taps(const int16_t *in, const int16_t *weights, unsigned taps)
{
	__m128i sum = _mm_madd_epi16(_mm_loadu_si128((const void *)in),
	    _mm_loadu_si128((const void *)weights));

	for (unsigned k = 8; k < taps; k += 8)
		sum = _mm_add_epi32(sum,
		    _mm_madd_epi16(_mm_loadu_si128((const void *)(in + k)),
			_mm_loadu_si128((const void *)(weights + k))));
	return sum;
}

/* Four bytes of eight taps or more: the sums over four vectors, by transposing. */
static inline __m128i
four_of_8_taps(const int16_t *in, const uint32_t *first, const int16_t *weights,
    unsigned taps)
{
	const __m128i a = one_of_8_taps(in + first[0], weights, taps);
	const __m128i b = one_of_8_taps(in + first[1], weights + taps, taps);
	const __m128i c = one_of_8_taps(in + first[2], weights + 2 * taps, taps);
	const __m128i d = one_of_8_taps(in + first[3], weights + 3 * taps, taps);
	const __m128i ab = _mm_add_epi32(_mm_unpacklo_epi32(a, b),
	    _mm_unpackhi_epi32(a, b));
	const __m128i cd = _mm_add_epi32(_mm_unpacklo_epi32(c, d),
	    _mm_unpackhi_epi32(c, d));

	return _mm_add_epi32(_mm_unpacklo_epi64(ab, cd), _mm_unpackhi_epi64(ab, cd));
}

static inline __attribute__((always_inline)) void
across_128(const int16_t *in, const uint32_t *first, const int16_t *weights,
    unsigned taps, size_t n, uint8_t *out)
{
	for (size_t i = 0; i < n; i += 8) {
		uint8_t bytes[8];
		__m128i sums[2];
		for (int half = 0; half < 2; half++, first += 4, weights += 4 * taps) {
			sums[half] = taps == 4 ? four_of_4_taps(in, first, weights)
					       : four_of_8_taps(in, first, weights, taps);
			sums[half] = _mm_srai_epi32(_mm_add_epi32(sums[half],
							_mm_set1_epi32(
							    LC__SUMS_ACROSS_HALF)),
			    LC__SUMS_ACROSS_SHIFT);
		}
		sums[0] = _mm_packs_epi32(sums[0], sums[1]);
		sums[0] = _mm_packus_epi16(sums[0], sums[0]);
		_mm_storel_epi64((__m128i *)bytes, sums[0]);
		memcpy(out + i, bytes, n - i < 8 ? n - i : 8);
	}
}

static void
across_sse2(const int16_t *in, const uint32_t *first, const int16_t *weights,
    unsigned taps, size_t n, uint8_t *out)
{
	if (taps == 4)
		across_128(in, first, weights, 4, n, out);
	else if (taps == 8)
		across_128(in, first, weights, 8, n, out);
	else
		across_128(in, first, weights, taps, n, out);
}

static const struct lc__sums sse2 = { "SSE2", down_sse2, split_sse2, across_sse2 };

/* ---- wider rows ------------------------------------------------------------------- */

#define AVX2 __attribute__((target("avx2")))

/* The sums of 32 samples. */
struct sums_256 {
	__m256i a, b, c, d;
};

AVX2 static inline struct sums_256
begin_256(const int32_t *before)
{
	const __m256i *from = (const __m256i *)before, zero = _mm256_setzero_si256();

	if (before == NULL)
		return (struct sums_256){ zero, zero, zero, zero };
	return (struct sums_256){ _mm256_load_si256(from), _mm256_load_si256(from + 1),
		_mm256_load_si256(from + 2), _mm256_load_si256(from + 3) };
}

AVX2 static inline void
store_sums_256(int32_t *after, const struct sums_256 *sums)
{
	__m256i *to = (__m256i *)after;

	_mm256_store_si256(to, sums->a);
	_mm256_store_si256(to + 1, sums->b);
	_mm256_store_si256(to + 2, sums->c);
	_mm256_store_si256(to + 3, sums->d);
}

AVX2 static inline __m256i
add_pairs_256(__m256i sum, __m256i samples, __m256i weights)
{
	return _mm256_add_epi32(sum, _mm256_madd_epi16(samples, weights));
}

/* As with 16, in both halves of the vectors. */
AVX2 static inline __attribute__((always_inline)) void
add_two_rows_256(const uint8_t *first, const uint8_t *second, __m256i weights,
    struct sums_256 *sums)
{
	const __m256i zero = _mm256_setzero_si256();
	const __m256i one = _mm256_loadu_si256((const void *)first);
	const __m256i two = _mm256_loadu_si256((const void *)second);
	const __m256i low = _mm256_unpacklo_epi8(one, two);
	const __m256i high = _mm256_unpackhi_epi8(one, two);

	sums->a = add_pairs_256(sums->a, _mm256_unpacklo_epi8(low, zero), weights);
	sums->b = add_pairs_256(sums->b, _mm256_unpackhi_epi8(low, zero), weights);
	sums->c = add_pairs_256(sums->c, _mm256_unpacklo_epi8(high, zero), weights);
	sums->d = add_pairs_256(sums->d, _mm256_unpackhi_epi8(high, zero), weights);
}

AVX2 static inline __m256i
rounded_256(__m256i sums)
{
	return _mm256_srai_epi32(_mm256_add_epi32(sums,
				     _mm256_set1_epi32(LC__SUMS_DOWN_HALF)),
	    LC__SUMS_DOWN_SHIFT);
}

/* Samples 0 to 7 and 16 to 23, 8 to 15 and 24 to 31: back in order. */
AVX2 static inline void
store_rounded_256(int16_t *out, const struct sums_256 *sums)
{
	const __m256i ab = _mm256_packs_epi32(rounded_256(sums->a), rounded_256(sums->b));
	const __m256i cd = _mm256_packs_epi32(rounded_256(sums->c), rounded_256(sums->d));

	_mm256_store_si256((__m256i *)out, _mm256_permute2x128_si256(ab, cd, 0x20));
	_mm256_store_si256((__m256i *)out + 1, _mm256_permute2x128_si256(ab, cd, 0x31));
}

AVX2 static void
down_avx2(const uint8_t *const *rows, const int16_t *weights, unsigned count, size_t n,
    const int32_t *before, int32_t *after, int16_t *out)
{
	size_t x = 0;

	for (; x + 32 <= n; x += 32) {
		struct sums_256 sums = begin_256(before != NULL ? before + x : NULL);
		for (unsigned k = 0; k < count; k += 2)
			add_two_rows_256(rows[k] + x, rows[k + 1] + x,
			    _mm256_set1_epi32(pair(weights + k)), &sums);
		if (after != NULL)
			store_sums_256(after + x, &sums);
		else
			store_rounded_256(out + x, &sums);
	}
	lc__sums_down_from(rows, weights, count, x, n, before, after, out);
}

static const struct lc__sums avx2 = { "AVX2", down_avx2, split_sse2, across_sse2 };

/* ---- places chosen by a vector ------------------------------------------------------ */

#define AVX512 __attribute__((target("avx512f,avx512bw")))

/*
 * Sample j of channel c is at place 3 j + c of the 96 samples of 32 pixels. Of a place the
 * instructions read the bits that they need, so that a place in the third vector is also
 * one within it.
 */
AVX512 static void
split_avx512(const int16_t *pixels, size_t n, int16_t *const rows[3])
{
	static const __mmask32 in_third[3] = { 0xffc00000, 0xffe00000, 0xffe00000 };
	uint16_t places[32];
	__m512i first;
	size_t i = 0;

	for (unsigned j = 0; j < 32; j++)
		places[j] = (uint16_t)(3 * j);
	first = _mm512_loadu_si512(places);
	for (; i + 32 <= n; i += 32) {
		const int16_t *from = pixels + 3 * i;
		const __m512i a = _mm512_loadu_si512(from);
		const __m512i b = _mm512_loadu_si512(from + 32);
		const __m512i c = _mm512_loadu_si512(from + 64);

		for (int channel = 0; channel < 3; channel++) {
			const __m512i at = _mm512_add_epi16(first,
			    _mm512_set1_epi16((int16_t)channel));

			_mm512_storeu_si512(rows[channel] + i,
			    _mm512_mask_permutexvar_epi16(_mm512_permutex2var_epi16(a, at,
							      b),
				in_third[channel], at, c));
		}
	}
	split_sse2(pixels + 3 * i, n - i,
	    (int16_t *[]){ rows[0] + i, rows[1] + i, rows[2] + i });
}

/* Sixteen bytes of four taps, whose samples are among the 64 from in[first[0]] on. */
AVX512 static inline void
sixteen_of_4_taps(const int16_t *in, const uint32_t *first, const int16_t *weights,
    uint8_t *out)
{
	const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10,
	    8, 6, 4, 2, 0);
	const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
	const __m512i begins = _mm512_sub_epi32(_mm512_loadu_si512(first),
	    _mm512_set1_epi32((int32_t)first[0]));
	/* The places of two taps, beside each other. */
	const __m512i two = _mm512_add_epi32(_mm512_or_si512(begins,
						 _mm512_slli_epi32(begins, 16)),
	    _mm512_set1_epi32(0x10000));
	const __m512i next_two = _mm512_add_epi32(two, _mm512_set1_epi32(0x20002));
	const __m512i low = _mm512_loadu_si512(in + first[0]);
	const __m512i w0 = _mm512_loadu_si512(weights);
	const __m512i w1 = _mm512_loadu_si512(weights + 32);
	__m512i a, b, sums;

	/* Samples that are not needed may not be there. */
	if (first[15] - first[0] + 4 <= 32) {
		a = _mm512_permutexvar_epi16(two, low);
		b = _mm512_permutexvar_epi16(next_two, low);
	} else {
		const __m512i high = _mm512_loadu_si512(in + first[0] + 32);

		a = _mm512_permutex2var_epi16(low, two, high);
		b = _mm512_permutex2var_epi16(low, next_two, high);
	}
	a = _mm512_madd_epi16(a, _mm512_permutex2var_epi32(w0, even, w1));
	b = _mm512_madd_epi16(b, _mm512_permutex2var_epi32(w0, odd, w1));
	sums = _mm512_add_epi32(_mm512_add_epi32(a, b),
	    _mm512_set1_epi32(LC__SUMS_ACROSS_HALF));
	_mm_storeu_si128((__m128i *)out,
	    _mm512_cvtepi32_epi8(_mm512_srai_epi32(sums, LC__SUMS_ACROSS_SHIFT)));
}

AVX512 static void
across_avx512(const int16_t *in, const uint32_t *first, const int16_t *weights,
    unsigned taps, size_t n, uint8_t *out)
{
	size_t i = 0;

	for (; taps == 4 && i + 16 <= n && first[i + 15] - first[i] + 4 <= 64; i += 16)
		sixteen_of_4_taps(in, first + i, weights + 4 * i, out + i);
	across_sse2(in, first + i, weights + taps * i, taps, n - i, out + i);
}

static const struct lc__sums avx512 = { "AVX-512", down_avx2, split_avx512,
	across_avx512 };

size_t
lc__sums_x86(const struct lc__sums *out[3])
{
	size_t n = 0;

	out[n++] = &sse2;
	if (__builtin_cpu_supports("avx2"))
		out[n++] = &avx2;
	if (n == 2 && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw"))
		out[n++] = &avx512;
	return n;
}

#else

size_t
lc__sums_x86(const struct lc__sums *out[3])
{
	(void)out;
	return 0;
}

#endif
