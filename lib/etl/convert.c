/* SPDX-License-Identifier: BSD-2-Clause */
/* u8 samples as elements of a dtype. */
#include <string.h>

#include "base/error.h"
#include "etl/halves_x86.h"
#include "etl/transform.h"

static void
to_f32(const uint8_t *restrict planes, size_t count, float *restrict out)
{
	float floats[256];

	for (int v = 0; v < 256; v++)
		floats[v] = (float)v / 255.0f;
	for (size_t i = 0; i < count; i++)
		out[i] = floats[planes[i]];
}

/* v / 255 as an IEEE 754 half: m * 2^(-10 - shift), m of 11 bits, m rounded to
 * nearest even. The smallest, 1 / 255, is a normal number. */
static uint16_t
half_of(unsigned v)
{
	unsigned shift = 0, m, left;

	if (v == 0)
		return 0;
	while (v << shift < 255)
		shift++;
	m = (v << (10 + shift)) / 255;
	left = (v << (10 + shift)) % 255;
	/* 255 is odd: there is no exact half. */
	m += left > 127;
	/* The sum carries into the exponent where m has become 2^11. */
	return (uint16_t)(((15 - shift) << 10) + (m - 1024));
}

static void
to_f16(const uint8_t *restrict planes, size_t count, uint16_t *restrict out)
{
	uint16_t halves[256];

	for (unsigned v = 0; v < 256; v++)
		halves[v] = half_of(v);
	for (size_t i = lc__halves_x86(planes, count, out); i < count; i++)
		out[i] = halves[planes[i]];
}

lc_status
lc__planes_convert(const uint8_t *planes, size_t count, lc_dtype dtype, void *out)
{
	switch (dtype) {
	case LC_U8:
		memcpy(out, planes, count);
		return LC_OK;
	case LC_F32:
		to_f32(planes, count, out);
		return LC_OK;
	case LC_F16:
		to_f16(planes, count, out);
		return LC_OK;
	default:
		return lc__error(LC_UNSUPPORTED, 0, "no pixels as %s",
		    lc_dtype_name(dtype));
	}
}
