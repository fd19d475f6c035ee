/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/dtype.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

static const struct {
	const char *name;      /* our name */
	const char *long_name; /* names in NumPy and PyTorch */
	unsigned char size;    /* bytes of an element */
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
	[LC_F8_E8M0] = { "f8_e8m0", "float8_e8m0fnu", 1 },
	[LC_F8_E4M3FNUZ] = { "f8_e4m3fnuz", "float8_e4m3fnuz", 1 },
	[LC_F8_E5M2FNUZ] = { "f8_e5m2fnuz", "float8_e5m2fnuz", 1 },
	[LC_F4_E2M1_X2] = { "f4_e2m1_x2", "float4_e2m1fn_x2", 1 },
	[LC_C32] = { "c32", "complex32", 4 },
};

/* ---- opaque dtypes ------------------------------------------------------------ */

/* An entry of the table never changes: its number and name stay valid for ever. */
struct opaque {
	size_t size;
	char name[LC__DTYPE_TEXT]; /* "opaque16:pose" */
};

/* A hash table with open addressing; the position of a dtype is its number minus
 * LC_OPAQUE. Entries are added by compare and swap, so that no lock can be held across
 * fork(). */
static _Atomic(struct opaque *) opaques[LC_OPAQUE_MAX];

static const struct opaque *
opaque_of(lc_dtype dtype)
{
	const unsigned place = (unsigned)dtype - LC_OPAQUE;

	return place < LC_OPAQUE_MAX
	    ? atomic_load_explicit(&opaques[place], memory_order_acquire)
	    : NULL;
}

static bool
is_name(const char *name)
{
	const size_t size = strlen(name);

	return size >= 1 && size <= LC_OPAQUE_NAME_MAX &&
	    strspn(name,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
		"_.,:+-<>|") == size;
}

/* Find the dtype, or add it. */
static lc_status
intern(const struct opaque *wanted, lc_dtype *out)
{
	const uint64_t hash = lc__hash64(wanted->name, strlen(wanted->name));
	struct opaque *copy = NULL;

	for (unsigned i = 0; i < LC_OPAQUE_MAX; i++) {
		const unsigned place = (unsigned)(hash + i) % LC_OPAQUE_MAX;
		struct opaque *there = atomic_load_explicit(&opaques[place],
		    memory_order_acquire);

		if (there == NULL) {
			if (copy == NULL && (copy = malloc(sizeof(*copy))) == NULL)
				return lc__no_memory(NULL);
			*copy = *wanted;
			if (atomic_compare_exchange_strong(&opaques[place], &there, copy))
				there = copy;
		}
		if (strcmp(there->name, wanted->name) == 0) {
			if (there != copy)
				free(copy);
			*out = (lc_dtype)(LC_OPAQUE + place);
			return LC_OK;
		}
	}
	free(copy);
	return lc__error(LC_UNSUPPORTED, 0,
	    "%s is one opaque dtype too many: a process has %d at most", wanted->name,
	    LC_OPAQUE_MAX);
}

lc_status
lc_dtype_opaque(const char *name, size_t size, lc_dtype *out)
{
	struct opaque wanted = { .size = size };

	if (size < 1 || size > LC_OPAQUE_SIZE_MAX)
		return lc__error(LC_INVALID, 0,
		    "an opaque element has 1 to %d bytes, not %zu", LC_OPAQUE_SIZE_MAX,
		    size);
	if (!is_name(name))
		return lc__error(LC_INVALID, 0,
		    "%s is not a name of an opaque dtype: 1 to %d letters, digits and "
		    "_.,:+-<>|",
		    lc__quote_id(name, strlen(name)), LC_OPAQUE_NAME_MAX);
	snprintf(wanted.name, sizeof(wanted.name), "opaque%zu:%s", size, name);
	return intern(&wanted, out);
}

/* "opaque16:pose"; the size has no leading zeros. */
static bool
split_opaque(const char *text, const char **name, size_t *size)
{
	static const char word[] = "opaque";
	char *end;

	if (strncmp(text, word, sizeof(word) - 1) != 0)
		return false;
	text += sizeof(word) - 1;
	if (*text < '1' || *text > '9' || strspn(text, "0123456789") > 2)
		return false;
	*size = strtoul(text, &end, 10);
	*name = end + 1;
	return *end == ':';
}

/* ---- all of them -------------------------------------------------------------- */

size_t
lc_dtype_size(lc_dtype dtype)
{
	const struct opaque *opaque;

	if ((unsigned)dtype < LC_DTYPE_COUNT)
		return dtypes[dtype].size;
	opaque = opaque_of(dtype);
	return opaque != NULL ? opaque->size : 0;
}

const char *
lc_dtype_name(lc_dtype dtype)
{
	const struct opaque *opaque;

	if ((unsigned)dtype < LC_DTYPE_COUNT)
		return dtypes[dtype].name;
	opaque = opaque_of(dtype);
	return opaque != NULL ? opaque->name : NULL;
}

lc_status
lc_dtype_parse(const char *name, lc_dtype *out)
{
	const char *own;
	size_t size;

	for (int i = 0; i < LC_DTYPE_COUNT; i++) {
		if (strcmp(name, dtypes[i].name) == 0 ||
		    strcmp(name, dtypes[i].long_name) == 0) {
			*out = (lc_dtype)i;
			return LC_OK;
		}
	}
	if (split_opaque(name, &own, &size))
		return lc_dtype_opaque(own, size, out);
	return lc__error(LC_INVALID, 0, "unknown dtype '%s'", name);
}

lc_status
lc__dtype_need_numbers(lc_dtype dtype)
{
	return lc__dtype_is_number(dtype)
	    ? LC_OK
	    : lc__error(LC_UNSUPPORTED, 0, "the elements of %s are not numbers",
		  lc_dtype_name(dtype));
}

/* ---- elements --------------------------------------------------------------- */

/* A small float from its bits. It has `exponent` and `fraction` bits, and all bit
 * patterns are numbers. */
static double
finite_float(unsigned bits, int exponent, int fraction, int bias)
{
	const int e = (int)(bits >> fraction) & ((1 << exponent) - 1);
	const unsigned f = bits & ((1u << fraction) - 1);
	const double sign = bits >> (exponent + fraction) & 1 ? -1 : 1;

	if (e == 0)
		return sign * ldexp(f, 1 - bias - fraction);
	return sign * ldexp((double)f + (double)(1u << fraction), e - bias - fraction);
}

/* The same with IEEE's special values: the top exponent is for infinities and NaNs. */
static double
small_float(unsigned bits, int exponent, int fraction)
{
	const int top = (1 << exponent) - 1;
	const unsigned f = bits & ((1u << fraction) - 1);

	if ((int)(bits >> fraction & (unsigned)top) != top)
		return finite_float(bits, exponent, fraction, top / 2);
	if (f != 0)
		return (double)NAN;
	return bits >> (exponent + fraction) & 1 ? -(double)INFINITY : (double)INFINITY;
}

/* Negative zero is the NaN; there is no infinity. */
static double
fnuz(unsigned bits, int exponent, int fraction)
{
	return bits == 0x80 ? (double)NAN
			    : finite_float(bits, exponent, fraction, 1 << (exponent - 1));
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
	/* OCP E4M3 has no infinity; all ones are the NaN. */
	case LC_F8_E4M3:
		return (*p & 0x7f) == 0x7f ? (double)NAN : finite_float(*p, 4, 3, 7);
	case LC_F8_E5M2: return small_float(*p, 5, 2);
	case LC_F8_E8M0: return *p == 0xff ? (double)NAN : ldexp(1, *p - 127);
	case LC_F8_E4M3FNUZ: return fnuz(*p, 4, 3);
	case LC_F8_E5M2FNUZ: return fnuz(*p, 5, 2);
	case LC_C32:
		return hypot(small_float(lc__get16(p), 5, 10),
		    small_float(lc__get16(p + 2), 5, 10));
	default: return (double)NAN;
	}
}

double
lc__element_e2m1(const void *p, unsigned i)
{
	return finite_float(*(const unsigned char *)p >> 4 * i & 15u, 2, 1, 1);
}
