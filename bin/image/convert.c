/* SPDX-License-Identifier: BSD-2-Clause */
/* u8 samples as elements of a dtype. */
#include <string.h>

#include "base/error.h"
#include "image/transform.h"

/* Loops of this length become vectors. */
#define BLOCK 64

static inline __attribute__((always_inline)) float
float_of(uint8_t sample)
{
	return (float)sample / 255.0f;
}

/*
 * An IEEE 754 half has 13 bits of fraction less than a float, and an exponent whose
 * bias is 112 less; 1/255 is normal in both. Adding half of the last bit that stays
 * rounds to nearest. There are no ties to be made even: 255 times a tie, a number of
 * 12 bits, is never whole, so v / 255 keeps 2^-20 of its value away from it. The
 * product is off by less than 2^-22, so it falls on the same side.
 */
static inline __attribute__((always_inline)) uint16_t
half_of(uint8_t sample)
{
	const float value = (float)sample * (1.0f / 255.0f);
	int32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	bits = ((bits + 0x1000) >> 13) - (112 << 10);
	return (uint16_t)(bits < 0 ? 0 : bits);
}

static inline __attribute__((always_inline)) void
write_floats(const uint8_t *restrict samples, size_t count, float *restrict out)
{
	size_t done = 0;

	for (; done + BLOCK <= count; done += BLOCK)
		for (size_t i = done; i < done + BLOCK; i++)
			out[i] = float_of(samples[i]);
	for (; done < count; done++)
		out[done] = float_of(samples[done]);
}

static inline __attribute__((always_inline)) void
write_halves(const uint8_t *restrict samples, size_t count, uint16_t *restrict out)
{
	size_t done = 0;

	for (; done + BLOCK <= count; done += BLOCK)
		for (size_t i = done; i < done + BLOCK; i++)
			out[i] = half_of(samples[i]);
	for (; done < count; done++)
		out[done] = half_of(samples[done]);
}

/* The same loops for processors with wider vectors. */
#ifdef __x86_64__

__attribute__((target("avx2"))) static void
to_f32_avx2(const uint8_t *samples, size_t count, float *out)
{
	write_floats(samples, count, out);
}

__attribute__((target("avx2"))) static void
to_f16_avx2(const uint8_t *samples, size_t count, uint16_t *out)
{
	write_halves(samples, count, out);
}

#define WIDE __builtin_cpu_supports("avx2")

#else

#define WIDE 0
#define to_f32_avx2 write_floats
#define to_f16_avx2 write_halves

#endif

lc_status
lc__planes_convert(const uint8_t *planes, size_t count, lc_dtype dtype, void *out)
{
	switch (dtype) {
	case LC_U8:
		memcpy(out, planes, count);
		return LC_OK;
	case LC_F32:
		if (WIDE)
			to_f32_avx2(planes, count, out);
		else
			write_floats(planes, count, out);
		return LC_OK;
	case LC_F16:
		if (WIDE)
			to_f16_avx2(planes, count, out);
		else
			write_halves(planes, count, out);
		return LC_OK;
	default:
		return lc__error(LC_UNSUPPORTED, 0, "no pixels as %s",
		    lc_dtype_name(dtype));
	}
}
