/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The header of a .npy file: \x93NUMPY, two bytes of version, the length of
 * the text (u16 in version 1, u32 in 2 and 3), then the text of a Python
 * dictionary with the keys descr, fortran_order and shape.
 */
#include "format/npy.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "value/dtype.h"

static const char magic[6] = { '\x93', 'N', 'U', 'M', 'P', 'Y' };

/* Element types by NumPy's kind and size, and by NumPy's long name. */
static const struct {
	const char *code;
	const char *name;
} codes[LC_DTYPE_COUNT] = {
	[LC_BOOL] = { "b1", "bool" },
	[LC_U8] = { "u1", "uint8" },
	[LC_I8] = { "i1", "int8" },
	[LC_U16] = { "u2", "uint16" },
	[LC_I16] = { "i2", "int16" },
	[LC_U32] = { "u4", "uint32" },
	[LC_I32] = { "i4", "int32" },
	[LC_U64] = { "u8", "uint64" },
	[LC_I64] = { "i8", "int64" },
	[LC_F16] = { "f2", "float16" },
	[LC_F32] = { "f4", "float32" },
	[LC_F64] = { "f8", "float64" },
	[LC_C64] = { "c8", "complex64" },
	[LC_C128] = { "c16", "complex128" },
};

/* Element types that are valid in NumPy and that a tensor cannot hold. */
static const struct {
	const char *kind;
	const char *what;
} refused[] = {
	{ "O", "Python objects" },
	{ "object", "Python objects" },
	{ "S", "byte strings" },
	{ "a", "byte strings" },
	{ "U", "text" },
	{ "M", "dates" },
	{ "m", "time spans" },
	{ "f12", "long doubles" },
	{ "f16", "long doubles" },
	{ "c24", "long doubles" },
	{ "c32", "long doubles" },
	{ "V", "raw elements other than of 1 to 64 bytes" },
};

/* ---- reading -------------------------------------------------------------- */

/* The header's text, read from the front. */
struct text {
	const char *at;  /* what comes next */
	const char *end; /* after the last byte */
	int version;     /* 1, 2 or 3 */
};

/* A borrowed piece of the text. */
struct span {
	const char *data;
	size_t size;
};

static bool
span_is(struct span span, const char *word)
{
	return span.size == strlen(word) && memcmp(span.data, word, span.size) == 0;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void
skip_space(struct text *text)
{
	while (text->at < text->end && *text->at != '\0' &&
	    strchr(" \t\n\r\f", *text->at) != NULL)
		text->at++;
}

/* Consume the byte c after white space; false if another one is next. */
static bool
take(struct text *text, char c)
{
	skip_space(text);
	if (text->at == text->end || *text->at != c)
		return false;
	text->at++;
	return true;
}

static lc_status
expected(const struct text *text, const char *what)
{
	const size_t left = (size_t)(text->end - text->at);

	if (left == 0)
		return lc__error(LC_CORRUPT, 0, "header ends where %s must be", what);
	return lc__error(LC_CORRUPT, 0, "header has %s where %s must be",
	    lc__quote_id(text->at, left < 24 ? left : 24), what);
}

/* A Python string without escapes; old Pythons wrote u'...' too. */
static lc_status
read_string(struct text *text, const char *what, struct span *out)
{
	const char *start, *quote;

	skip_space(text);
	if (text->end - text->at > 1 && *text->at == 'u' &&
	    (text->at[1] == '\'' || text->at[1] == '"'))
		text->at++;
	if (text->at == text->end || (*text->at != '\'' && *text->at != '"'))
		return expected(text, what);
	start = text->at + 1;
	quote = memchr(start, *text->at, (size_t)(text->end - start));
	if (quote == NULL)
		return lc__error(LC_CORRUPT, 0, "header has a string without an end");
	out->data = start;
	out->size = (size_t)(quote - start);
	if (memchr(start, '\\', out->size) || memchr(start, '\n', out->size))
		return lc__error(LC_CORRUPT, 0,
		    "header has an escape or a line break in string %s",
		    lc__quote_id(out->data, out->size));
	text->at = quote + 1;
	return LC_OK;
}

/* Consume kind and size, "f4", of a known element type. */
static bool
find_code(struct span code, bool long_names, struct lc__npy_info *info)
{
	for (int i = 0; i < LC_DTYPE_COUNT; i++) {
		if (codes[i].code == NULL)
			continue;
		if (span_is(code, codes[i].code) ||
		    (long_names && span_is(code, codes[i].name))) {
			info->dtype = (lc_dtype)i;
			info->item = lc_dtype_size(info->dtype);
			return true;
		}
	}
	return false;
}

/* The bits of a type that NumPy does not have: "V2". ml_dtypes writes such headers, and
 * "f1". */
static bool
find_raw(struct span code, struct lc__npy_info *info)
{
	size_t item = 0;

	if (code.size < 2 || code.size > 3 || code.data[1] == '0' ||
	    (code.data[0] != 'V' && !span_is(code, "f1")))
		return false;
	for (size_t i = 1; i < code.size; i++) {
		if (!is_digit(code.data[i]))
			return false;
		item = item * 10 + (size_t)(code.data[i] - '0');
	}
	info->item = item;
	info->raw = item <= LC_OPAQUE_SIZE_MAX;
	return info->raw;
}

/* Whether code is this kind with any size ("U12") or unit ("M8[ns]"). */
static bool
is_kind(struct span code, const char *kind)
{
	const size_t n = strlen(kind);

	return code.size >= n && memcmp(code.data, kind, n) == 0 &&
	    (code.size == n || is_digit(code.data[n]) || code.data[n] == '[');
}

static lc_status
read_descr(struct text *text, struct lc__npy_info *info)
{
	struct span descr, code;
	bool ordered;

	skip_space(text);
	if (text->at < text->end && (*text->at == '[' || *text->at == '('))
		return lc__error(LC_UNSUPPORTED, 0,
		    "structured elements cannot be stored");
	return_if_error(read_string(text, "a string for descr", &descr));
	ordered = descr.size > 0 && descr.data[0] != '\0' &&
	    strchr("<>=|", descr.data[0]) != NULL;
	code = (struct span){ descr.data + ordered, descr.size - ordered };
	if (code.size == 0 ||
	    (!find_code(code, !ordered, info) && !find_raw(code, info))) {
		for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
			if (is_kind(code, refused[i].kind))
				return lc__error(LC_UNSUPPORTED, 0,
				    "descr %s: %s cannot be stored",
				    lc__quote_id(descr.data, descr.size),
				    refused[i].what);
		return lc__error(LC_CORRUPT, 0, "descr %s is not an element type",
		    lc__quote_id(descr.data, descr.size));
	}
	/* '=', '|' and no mark mean the reader's own order. */
	info->big_endian = ordered && descr.data[0] == '>';
	if (!ordered || descr.data[0] == '=' || descr.data[0] == '|')
		info->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	/* Raw elements have no byte order, except for the two bytes of a bf16. */
	if (info->item == 1 || (info->raw && info->item != 2))
		info->big_endian = false;
	return LC_OK;
}

static lc_status
read_order(struct text *text, struct lc__npy_info *info)
{
	static const char *const words[] = { "False", "True" };

	skip_space(text);
	for (int i = 0; i < 2; i++) {
		const size_t n = strlen(words[i]);
		if ((size_t)(text->end - text->at) >= n &&
		    memcmp(text->at, words[i], n) == 0) {
			text->at += n;
			info->fortran = i == 1;
			return LC_OK;
		}
	}
	return expected(text, "True or False for fortran_order");
}

/* A decimal integer; Python 2 appended L to long ones. */
static lc_status
read_dimension(struct text *text, uint32_t axis, uint64_t *out)
{
	uint64_t value = 0;
	const char *start;

	skip_space(text);
	if (text->at < text->end && *text->at == '-')
		return lc__error(LC_CORRUPT, 0, "dimension %u is negative", axis);
	start = text->at;
	for (; text->at < text->end && is_digit(*text->at); text->at++) {
		if (!lc__mul64(value, 10, &value) ||
		    !lc__add64(value, (uint64_t)(*text->at - '0'), &value))
			return lc__error(LC_UNSUPPORTED, 0, "dimension %u is too large",
			    axis);
	}
	if (text->at == start || (*start == '0' && value != 0)) {
		text->at = start;
		return expected(text, "a dimension");
	}
	if (text->version < 3 && text->at < text->end && *text->at == 'L')
		text->at++;
	*out = value;
	return LC_OK;
}

/* () or (5,) or (3, 4): the comma makes the tuple, (5) is just a number. */
static lc_status
read_shape(struct text *text, struct lc__npy_info *info)
{
	uint64_t dim = 0;
	bool comma = true;

	if (!take(text, '('))
		return expected(text, "a tuple for shape");
	info->ndim = 0;
	while (!take(text, ')')) {
		if (!comma)
			return expected(text, "a comma or the end of the shape");
		return_if_error(read_dimension(text, info->ndim, &dim));
		if (info->ndim == LC_MAX_NDIM)
			return lc__error(LC_UNSUPPORTED, 0, "rank is above %d",
			    LC_MAX_NDIM);
		info->shape[info->ndim++] = dim;
		comma = take(text, ',');
	}
	if (info->ndim == 1 && !comma)
		return lc__error(LC_CORRUPT, 0,
		    "shape is a number, not a tuple: its comma is missing");
	return LC_OK;
}

/* The keys of the dictionary, with the function that reads each value. */
static const struct {
	const char *name;
	lc_status (*read)(struct text *text, struct lc__npy_info *info);
} keys[] = {
	{ "descr", read_descr },
	{ "fortran_order", read_order },
	{ "shape", read_shape },
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static lc_status
read_dictionary(struct text *text, struct lc__npy_info *info)
{
	unsigned seen = 0; /* the bit of each key that was read */
	bool comma = true;

	if (!take(text, '{'))
		return expected(text, "a dictionary");
	while (!take(text, '}')) {
		struct span name;
		size_t i = 0;

		if (!comma)
			return expected(text, "a comma or the end of the dictionary");
		return_if_error(read_string(text, "a key", &name));
		while (i < KEY_COUNT && !span_is(name, keys[i].name))
			i++;
		if (i == KEY_COUNT)
			return lc__error(LC_CORRUPT, 0, "header has an unknown key %s",
			    lc__quote_id(name.data, name.size));
		if (seen & 1u << i)
			return lc__error(LC_CORRUPT, 0, "header has the key '%s' twice",
			    keys[i].name);
		seen |= 1u << i;
		if (!take(text, ':'))
			return expected(text, "a colon");
		return_if_error(keys[i].read(text, info));
		comma = take(text, ',');
	}
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (!(seen & 1u << i))
			return lc__error(LC_CORRUPT, 0, "header has no key '%s'",
			    keys[i].name);
	skip_space(text);
	if (text->at < text->end)
		return expected(text, "the end of the header");
	return LC_OK;
}

static lc_status
header_is_cut(size_t want, size_t size)
{
	return lc__error(LC_CORRUPT, 0, "the file ends in its header, %zu bytes short",
	    want - size);
}

/* Check magic, version and length; find the text and the start of the elements. */
static lc_status
find_text(const unsigned char *bytes, size_t size, struct text *text, size_t *data_offset)
{
	size_t start, length;

	if (memcmp(bytes, magic, size < sizeof(magic) ? size : sizeof(magic)) != 0)
		return lc__error(LC_CORRUPT, 0, "not a .npy file");
	if (size < 12)
		return header_is_cut(12, size);
	if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
		return lc__error(bytes[6] < 1 ? LC_CORRUPT : LC_VERSION, 0,
		    ".npy version %u.%u is unknown", bytes[6], bytes[7]);
	start = bytes[6] == 1 ? 10 : 12;
	length = bytes[6] == 1 ? lc__get16(bytes + 8) : lc__get32(bytes + 8);
	if (length > LC__NPY_MAX_HEADER)
		return lc__error(LC_CORRUPT, 0,
		    "header of %zu bytes is above the limit of %d", length,
		    LC__NPY_MAX_HEADER);
	if (length > size - start)
		return header_is_cut(start + length, size);
	text->at = (const char *)bytes + start;
	text->end = text->at + length;
	text->version = bytes[6];
	*data_offset = start + length;
	return LC_OK;
}

lc_status
lc__npy_decode_header(const void *bytes, size_t size, struct lc__npy_info *out)
{
	struct lc__npy_info info = { 0 };
	struct text text;
	lc_tensor sized;

	return_if_error(find_text(bytes, size, &text, &info.data_offset));
	return_if_error(read_dictionary(&text, &info));
	if (info.raw)
		info.dtype = LC_U8;
	if (lc_tensor_init(&sized, info.dtype, info.ndim, info.shape, NULL) != LC_OK ||
	    (info.raw && sized.nbytes > INT64_MAX / info.item))
		return lc__error(LC_UNSUPPORTED, 0, "shape is too large");
	info.nbytes = info.raw ? sized.nbytes * info.item : sized.nbytes;
	*out = info;
	return LC_OK;
}

/* ---- writing -------------------------------------------------------------- */

/* The dictionary as Python prints it. NumPy leaves room after it for the first dimension
 * to grow to 21 digits in place. */
static lc_status
encode_dictionary(const lc_tensor *tensor, bool raw, struct lc__buf *text)
{
	const char *code = lc__dtype_is_opaque(tensor->dtype) ? NULL
							      : codes[tensor->dtype].code;
	const size_t item = lc_dtype_size(tensor->dtype);
	size_t before;

	if (code != NULL)
		lc__buf_printf(text, "{'descr': '%c%s", item == 1 ? '|' : '<', code);
	else if (raw)
		lc__buf_printf(text, "{'descr': '%cV%zu",
		    lc__dtype_is_opaque(tensor->dtype) ? '|' : '<', item);
	else
		return lc__error(LC_UNSUPPORTED, 0,
		    ".npy has no name for %s; it can hold the raw bits",
		    lc_dtype_name(tensor->dtype));
	lc__buf_printf(text, "', 'fortran_order': False, 'shape': (");
	before = text->size;
	for (uint32_t i = 0; i < tensor->ndim; i++)
		lc__buf_printf(text, "%s%llu", i ? ", " : "",
		    (unsigned long long)tensor->shape[i]);
	lc__buf_printf(text, "%s), }", tensor->ndim == 1 ? "," : "");
	if (tensor->ndim > 0 && !text->failed) {
		const char *digits = (const char *)text->data + before;
		lc__buf_printf(text, "%*s", 21 - (int)strspn(digits, "0123456789"), "");
	}
	return LC_OK;
}

lc_status
lc__npy_encode_header(const lc_tensor *tensor, bool raw, struct lc__buf *out)
{
	struct lc__buf text = { 0 };
	lc_tensor sized;
	lc_status status;
	size_t total;

	return_if_error(
	    lc_tensor_init(&sized, tensor->dtype, tensor->ndim, tensor->shape, NULL));
	status = encode_dictionary(&sized, raw, &text);
	if (status != LC_OK)
		goto out;
	/* Padded to a multiple of 64 by at least one space, so by 64 if the text is a
	 * multiple already. With rank 16 it is far below the 65,535 bytes of version
	 * 1. */
	total = (size_t)lc__round_up(10 + text.size + 2, 64);
	lc__buf_append(out, magic, sizeof(magic));
	lc__buf_append(out,
	    (const unsigned char[]){ 1, 0, (unsigned char)(total - 10),
		(unsigned char)((total - 10) >> 8) },
	    4);
	lc__buf_append(out, text.data, text.size);
	lc__buf_printf(out, "%*s\n", (int)(total - 11 - text.size), "");
	if (text.failed || out->failed)
		status = lc__no_memory(NULL);
out:
	lc__buf_free(&text);
	return status;
}
