/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "value/element.h"

/* The fewest digits, from `least` on, that read back as the same number. */
static void
put_real(FILE *out, double value, int least, int most)
{
	char text[40];

	if (isnan(value) || isinf(value)) {
		fputs(isnan(value) ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" :
		    "\"Infinity\"", out);
		return;
	}
	for (int digits = least; digits <= most; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (most == 9 ? (double)strtof(text, NULL) == value :
		    strtod(text, NULL) == value)
			break;
	}
	fputs(text, out);
}

static void
put_single(FILE *out, double value)
{
	put_real(out, value, 1, 9);
}

static void
put_double(FILE *out, double value)
{
	put_real(out, value, 1, 17);
}

static void
put_pair(FILE *out, lc_dtype dtype, const unsigned char *p)
{
	putc('[', out);
	if (dtype == LC_C64)
		put_single(out, lc__element_real(LC_F32, p));
	else
		put_double(out, lc__element_real(LC_F64, p));
	putc(',', out);
	if (dtype == LC_C64)
		put_single(out, lc__element_real(LC_F32, p + 4));
	else
		put_double(out, lc__element_real(LC_F64, p + 8));
	putc(']', out);
}

static void
put_integer(FILE *out, lc_dtype dtype, const unsigned char *p)
{
	switch (dtype) {
	case LC_BOOL: fputs(*p ? "true" : "false", out); break;
	case LC_U8: fprintf(out, "%u", *p); break;
	case LC_I8: fprintf(out, "%d", (int8_t)*p); break;
	case LC_U16: fprintf(out, "%u", lc__get16(p)); break;
	case LC_I16: fprintf(out, "%d", (int16_t)lc__get16(p)); break;
	case LC_U32: fprintf(out, "%u", lc__get32(p)); break;
	case LC_I32: fprintf(out, "%d", (int32_t)lc__get32(p)); break;
	case LC_U64:
		fprintf(out, "%llu", (unsigned long long)lc__get64(p));
		break;
	default:
		fprintf(out, "%lld", (long long)lc__get64(p));
	}
}

static void
put_element(FILE *out, lc_dtype dtype, const unsigned char *p)
{
	switch (dtype) {
	case LC_F16:
	case LC_BF16:
	case LC_F8_E5M2:
	case LC_F8_E4M3:
	case LC_F32: put_single(out, lc__element_real(dtype, p)); break;
	case LC_F64: put_double(out, lc__element_real(dtype, p)); break;
	case LC_C64:
	case LC_C128: put_pair(out, dtype, p); break;
	default: put_integer(out, dtype, p);
	}
}

/* The part below one index of the dimensions before `depth`. */
static const unsigned char *
put_nested(struct json *json, const lc_tensor *tensor, uint32_t depth,
    const unsigned char *p)
{
	if (depth == tensor->ndim) {
		jw_key(json, NULL);
		put_element(json->out, tensor->dtype, p);
		return p + lc_dtype_size(tensor->dtype);
	}
	jw_open(json, NULL, '[');
	for (uint64_t i = 0; i < tensor->shape[depth]; i++)
		p = put_nested(json, tensor, depth + 1, p);
	jw_close(json, ']');
	return p;
}

void
elements_write(struct json *json, const char *key, const lc_tensor *tensor)
{
	jw_key(json, key);
	json->comma = false;
	/* The other dimensions of an empty tensor may be astronomical. */
	if (tensor->nbytes == 0)
		fputs("[]", json->out);
	else
		put_nested(json, tensor, 0, tensor->data);
	json->comma = true;
}
