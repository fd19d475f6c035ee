/* SPDX-License-Identifier: BSD-2-Clause */
#include "etl/halves_x86.h"

#if defined(__x86_64__)

#include <immintrin.h>

/*
 * The product is off by less than 2^-22 of its value. v / 255 keeps farther than
 * 2^-20 of its value away from every tie between two halves, as 255 times twice
 * the half's 11 bits is below 2^20: rounding twice is the same as once.
 */
__attribute__((target("avx2,f16c"))) static size_t
convert(const uint8_t *samples, size_t count, uint16_t *out)
{
	const __m256 scale = _mm256_set1_ps(1.0f / 255.0f);
	size_t i = 0;

	for (; i + 8 <= count; i += 8) {
		const __m256i wide = _mm256_cvtepu8_epi32(
		    _mm_loadl_epi64((const void *)(samples + i)));
		const __m256 values = _mm256_mul_ps(_mm256_cvtepi32_ps(wide), scale);
		_mm_storeu_si128((__m128i *)(void *)(out + i),
		    _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
	}
	return i;
}

size_t
lc__halves_x86(const uint8_t *samples, size_t count, uint16_t *out)
{
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c"))
		return 0;
	return convert(samples, count, out);
}

#else

size_t
lc__halves_x86(const uint8_t *samples, size_t count, uint16_t *out)
{
	(void)samples;
	(void)count;
	(void)out;
	return 0;
}

#endif
