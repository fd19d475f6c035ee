/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/element.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"

/* A small float from its bits: `exponent` and `fraction` bits wide, IEEE. */
static double
small_float(unsigned bits, int exponent, int fraction)
{
	const int top = (1 << exponent) - 1, bias = top / 2;
	const int e = (int)(bits >> fraction) & top;
	const unsigned f = bits & ((1u << fraction) - 1);
	const double sign = bits >> (exponent + fraction) & 1 ? -1 : 1;

	if (e == top)
		return f ? (double)NAN : sign * (double)INFINITY;
	if (e == 0)
		return sign * ldexp(f, 1 - bias - fraction);
	return sign * ldexp((double)f + (double)(1u << fraction),
	    e - bias - fraction);
}

/* OCP E4M3 has no infinity; its top exponent holds numbers, all ones is NaN. */
static double
e4m3(unsigned bits)
{
	if ((bits & 0x7f) == 0x7f)
		return (double)NAN;
	if ((bits >> 3 & 15) == 15)
		return (bits & 0x80 ? -1 : 1) * ldexp(8 + (bits & 7), 5);
	return small_float(bits, 4, 3);
}

static double
f32(const unsigned char *p)
{
	const uint32_t bits = lc__get32(p);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

static double
f64(const unsigned char *p)
{
	const uint64_t bits = lc__get64(p);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

double
lc__element_real(lc_dtype dtype, const void *data)
{
	const unsigned char *p = data;

	switch (dtype) {
	case LC_BOOL: return *p ? 1 : 0;
	case LC_U8: return *p;
	case LC_I8: return (int8_t)*p;
	case LC_U16: return lc__get16(p);
	case LC_I16: return (int16_t)lc__get16(p);
	case LC_U32: return lc__get32(p);
	case LC_I32: return (int32_t)lc__get32(p);
	case LC_U64: return (double)lc__get64(p);
	case LC_I64: return (double)(int64_t)lc__get64(p);
	case LC_F16: return small_float(lc__get16(p), 5, 10);
	case LC_BF16: return small_float(lc__get16(p), 8, 7);
	case LC_F32: return f32(p);
	case LC_F64: return f64(p);
	case LC_C64: return hypot(f32(p), f32(p + 4));
	case LC_C128: return hypot(f64(p), f64(p + 8));
	case LC_F8_E4M3: return e4m3(*p);
	case LC_F8_E5M2: return small_float(*p, 5, 2);
	default: return (double)NAN;
	}
}
