/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/dtype.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

static const struct {
	const char *name;      /* ours */
	const char *long_name; /* NumPy's and PyTorch's */
	unsigned char size;    /* bytes an element */
} dtypes[LC_DTYPE_COUNT] = {
	[LC_BOOL] = { "bool", "bool", 1 },
	[LC_U8] = { "u8", "uint8", 1 },
	[LC_I8] = { "i8", "int8", 1 },
	[LC_U16] = { "u16", "uint16", 2 },
	[LC_I16] = { "i16", "int16", 2 },
	[LC_U32] = { "u32", "uint32", 4 },
	[LC_I32] = { "i32", "int32", 4 },
	[LC_U64] = { "u64", "uint64", 8 },
	[LC_I64] = { "i64", "int64", 8 },
	[LC_F16] = { "f16", "float16", 2 },
	[LC_BF16] = { "bf16", "bfloat16", 2 },
	[LC_F32] = { "f32", "float32", 4 },
	[LC_F64] = { "f64", "float64", 8 },
	[LC_C64] = { "c64", "complex64", 8 },
	[LC_C128] = { "c128", "complex128", 16 },
	[LC_F8_E4M3] = { "f8_e4m3", "float8_e4m3fn", 1 },
	[LC_F8_E5M2] = { "f8_e5m2", "float8_e5m2", 1 },
};

size_t
lc_dtype_size(lc_dtype dtype)
{
	return (unsigned)dtype < LC_DTYPE_COUNT ? dtypes[dtype].size : 0;
}

const char *
lc_dtype_name(lc_dtype dtype)
{
	return (unsigned)dtype < LC_DTYPE_COUNT ? dtypes[dtype].name : NULL;
}

lc_status
lc_dtype_parse(const char *name, lc_dtype *out)
{
	for (int i = 0; i < LC_DTYPE_COUNT; i++) {
		if (strcmp(name, dtypes[i].name) == 0 ||
		    strcmp(name, dtypes[i].long_name) == 0) {
			*out = (lc_dtype)i;
			return LC_OK;
		}
	}
	return lc__error(LC_INVALID, 0, "unknown dtype '%s'", name);
}

/* ---- elements --------------------------------------------------------------- */

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
	return sign * ldexp((double)f + (double)(1u << fraction), e - bias - fraction);
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
