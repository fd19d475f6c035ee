/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/error.h"

static const struct {
	const char *name; /* ours */
	const char *long_name; /* NumPy's and PyTorch's */
	unsigned char size; /* bytes an element */
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
