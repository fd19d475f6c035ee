/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/numbers.h"

#include <math.h>

#include "base/bytes.h"

static double
of_f16(unsigned bits)
{
	const int e = bits >> 10 & 31;
	const unsigned f = bits & 1023;
	const double sign = bits >> 15 ? -1 : 1;

	if (e == 31)
		return f ? (double)NAN : sign * (double)INFINITY;
	if (e == 0)
		return sign * ldexp(f, -24);
	return sign * ldexp(f + 1024, e - 25);
}

static double
of_f32(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

static double
of_f64(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

bool
lc__number_known(lc_dtype dtype)
{
	return dtype == LC_U8 || dtype == LC_F16 || dtype == LC_BF16 ||
	    dtype == LC_F32 || dtype == LC_F64;
}

double
lc__number(lc_dtype dtype, const void *data, size_t i)
{
	const unsigned char *bytes = data;

	switch (dtype) {
	case LC_U8: return bytes[i];
	case LC_F16: return of_f16(lc__get16(bytes + 2 * i));
	case LC_BF16: return of_f32((uint32_t)lc__get16(bytes + 2 * i) << 16);
	case LC_F32: return of_f32(lc__get32(bytes + 4 * i));
	default: return of_f64(lc__get64(bytes + 8 * i));
	}
}
