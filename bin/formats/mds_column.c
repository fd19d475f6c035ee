/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodings: their texts, and the heads of arrays and images. */
#include "formats/mds_column.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Those with a name of their own; an array's begins with its name. */
static const struct {
	const char *name;
	enum lc__mds_kind kind;
} kinds[] = {
	{ "bytes", LC__MDS_BYTES },
	{ "str", LC__MDS_STR },
	{ "int", LC__MDS_INT },
	{ "json", LC__MDS_JSON },
	{ "str_int", LC__MDS_STR_INT },
	{ "str_float", LC__MDS_STR_FLOAT },
	{ "str_decimal", LC__MDS_STR_DECIMAL },
	{ "jpeg", LC__MDS_IMAGE },
	{ "png", LC__MDS_IMAGE },
	{ "pil", LC__MDS_PIXELS },
	{ "list[jpeg]", LC__MDS_IMAGES },
	{ "list[png]", LC__MDS_IMAGES },
	{ "list[pil]", LC__MDS_PIXELS_LIST },
	{ "jpeg_array", LC__MDS_JPEGS },
	{ "jpegarray", LC__MDS_JPEGS },
	{ "pkl", LC__MDS_PICKLE },
};

/* Numbers and elements of arrays; the code comes before an array of any dtype. */
static const struct {
	const char *name;
	lc_dtype dtype;
	unsigned char code;
} dtypes[] = {
	{ "uint8", LC_U8, 8 },
	{ "int8", LC_I8, 9 },
	{ "uint16", LC_U16, 16 },
	{ "int16", LC_I16, 17 },
	{ "float16", LC_F16, 18 },
	{ "uint32", LC_U32, 32 },
	{ "int32", LC_I32, 33 },
	{ "float32", LC_F32, 34 },
	{ "uint64", LC_U64, 64 },
	{ "int64", LC_I64, 65 },
	{ "float64", LC_F64, 66 },
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define ARRAY "ndarray"

/* ---- texts -------------------------------------------------------------------- */

static bool
dtype_named(const char *name, size_t size, lc_dtype *out)
{
	for (size_t i = 0; i < COUNT(dtypes); i++)
		if (strlen(dtypes[i].name) == size &&
		    memcmp(dtypes[i].name, name, size) == 0) {
			*out = dtypes[i].dtype;
			return true;
		}
	return false;
}

static const char *
name_of(lc_dtype dtype)
{
	for (size_t i = 0; i < COUNT(dtypes); i++)
		if (dtypes[i].dtype == dtype)
			return dtypes[i].name;
	return NULL;
}

bool
lc__mds_has_dtype(lc_dtype dtype)
{
	return name_of(dtype) != NULL;
}

static lc_status
bad_encoding(const char *text)
{
	return lc__error(LC_CORRUPT, 0, "%s is no encoding of an array",
	    lc__quote_id(text, strlen(text)));
}

/* "16,128,128": no dimension is 0. */
static lc_status
parse_shape(const char *text, const char *whole, lc_tensor *type)
{
	unsigned long long number;
	char *end;

	do {
		errno = 0;
		number = strtoull(text, &end, 10);
		if (*text < '0' || *text > '9' || errno != 0 || number == 0 ||
		    (*end != ',' && *end != '\0'))
			return bad_encoding(whole);
		if (type->ndim == LC_MAX_NDIM)
			return lc__error(LC_UNSUPPORTED, 0, "rank is above %d",
			    LC_MAX_NDIM);
		type->shape[type->ndim++] = number;
		text = end + 1;
	} while (*end == ',');
	return LC_OK;
}

/* Behind "ndarray": nothing, ":DTYPE" or ":DTYPE:SHAPE". */
static lc_status
parse_array(const char *text, const char *whole, struct lc__mds_encoding *out)
{
	lc_tensor type;
	const char *shape;

	if (strcmp(text, "") == 0 || strcmp(text, ":") == 0)
		return LC_OK;
	text++;
	shape = strchr(text, ':');
	out->has_dtype = true;
	out->has_shape = shape != NULL;
	if (!dtype_named(text, shape != NULL ? (size_t)(shape - text) : strlen(text),
		&out->type.dtype))
		return bad_encoding(whole);
	if (shape == NULL)
		return LC_OK;
	return_if_error(parse_shape(shape + 1, whole, &out->type));
	if (lc_tensor_init(&type, out->type.dtype, out->type.ndim, out->type.shape,
		NULL) != LC_OK)
		return bad_encoding(whole);
	out->type = type;
	return LC_OK;
}

lc_status
lc__mds_encoding_parse(const char *text, struct lc__mds_encoding *out)
{
	const size_t array = strlen(ARRAY);

	memset(out, 0, sizeof(*out));
	if (strncmp(text, ARRAY, array) == 0 &&
	    (text[array] == '\0' || text[array] == ':')) {
		out->kind = LC__MDS_ARRAY;
		return parse_array(text + array, text, out);
	}
	if (dtype_named(text, strlen(text), &out->type.dtype)) {
		out->kind = LC__MDS_NUMBER;
		return LC_OK;
	}
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (strcmp(kinds[i].name, text) == 0) {
			out->kind = kinds[i].kind;
			return LC_OK;
		}
	return lc__error(LC_UNSUPPORTED, 0, "encoding %s is not known",
	    lc__quote_id(text, strlen(text)));
}

void
lc__mds_encoding_text(const struct lc__mds_encoding *encoding, struct lc__buf *out)
{
	const lc_tensor *type = &encoding->type;
	size_t i = 0;

	if (encoding->kind == LC__MDS_NUMBER) {
		lc__buf_printf(out, "%s", name_of(type->dtype));
		return;
	}
	if (encoding->kind != LC__MDS_ARRAY) {
		while (kinds[i].kind != encoding->kind)
			i++;
		lc__buf_printf(out, "%s", kinds[i].name);
		return;
	}
	lc__buf_printf(out, ARRAY);
	if (encoding->has_dtype)
		lc__buf_printf(out, ":%s", name_of(type->dtype));
	for (; encoding->has_shape && i < type->ndim; i++)
		lc__buf_printf(out, "%c%" PRIu64, i == 0 ? ':' : ',', type->shape[i]);
}

uint64_t
lc__mds_encoding_size(const struct lc__mds_encoding *encoding)
{
	switch (encoding->kind) {
	case LC__MDS_INT: return 8;
	case LC__MDS_NUMBER: return lc_dtype_size(encoding->type.dtype);
	case LC__MDS_ARRAY: return encoding->has_shape ? encoding->type.nbytes : 0;
	default: return 0;
	}
}

/* ---- arrays -------------------------------------------------------------------- */

static lc_status
cut(void)
{
	return lc__error(LC_CORRUPT, 0, "an array that is cut");
}

static lc_status
take_dtype(const unsigned char **at, const unsigned char *end, lc_dtype *out)
{
	if (*at == end)
		return cut();
	for (size_t i = 0; i < COUNT(dtypes); i++)
		if (dtypes[i].code == **at) {
			*out = dtypes[i].dtype;
			(*at)++;
			return LC_OK;
		}
	return lc__error(LC_CORRUPT, 0, "an array of dtype %u, which is none", **at);
}

static lc_status
take_shape(const unsigned char **at, const unsigned char *end, lc_tensor *type)
{
	unsigned width;

	if (*at == end)
		return cut();
	type->ndim = **at >> 2;
	width = 1u << (**at & 3);
	(*at)++;
	if (type->ndim > LC_MAX_NDIM)
		return lc__error(LC_UNSUPPORTED, 0, "rank %u is above %d", type->ndim,
		    LC_MAX_NDIM);
	if ((size_t)(end - *at) < (size_t)type->ndim * width)
		return cut();
	for (uint32_t i = 0; i < type->ndim; i++, *at += width)
		type->shape[i] = lc__get_few(*at, width);
	return LC_OK;
}

lc_status
lc__mds_array(const struct lc__mds_encoding *encoding, const void *bytes, size_t size,
    lc_tensor *out)
{
	const unsigned char *at = bytes, *const end = at + size;
	lc_tensor type = encoding->type, tensor;

	if (!encoding->has_dtype)
		return_if_error(take_dtype(&at, end, &type.dtype));
	if (!encoding->has_shape)
		return_if_error(take_shape(&at, end, &type));
	if (lc_tensor_init(&tensor, type.dtype, type.ndim, type.shape, at) != LC_OK)
		return lc__error(LC_CORRUPT, 0, "an array whose shape overflows");
	if ((size_t)(end - at) != tensor.nbytes)
		return lc__error(LC_CORRUPT, 0,
		    "an array of %zu bytes, of which its shape makes %zu",
		    (size_t)(end - at), tensor.nbytes);
	*out = tensor;
	return LC_OK;
}

/* 0 for one byte a dimension, to 3 for eight. */
static unsigned
width_of(const lc_tensor *tensor)
{
	uint64_t largest = 0;

	for (uint32_t i = 0; i < tensor->ndim; i++)
		if (tensor->shape[i] > largest)
			largest = tensor->shape[i];
	return largest > UINT32_MAX ? 3 : largest > UINT16_MAX ? 2 : largest > UINT8_MAX;
}

void
lc__mds_array_head(const struct lc__mds_encoding *encoding, const lc_tensor *tensor,
    struct lc__buf *out)
{
	const unsigned width = width_of(tensor);
	unsigned char byte;
	size_t i = 0;

	if (!encoding->has_dtype) {
		while (i + 1 < COUNT(dtypes) && dtypes[i].dtype != tensor->dtype)
			i++;
		lc__buf_append(out, &dtypes[i].code, 1);
	}
	if (encoding->has_shape)
		return;
	byte = (unsigned char)(tensor->ndim << 2 | width);
	lc__buf_append(out, &byte, 1);
	for (i = 0; i < tensor->ndim; i++) {
		unsigned char dim[8];

		lc__set64(dim, tensor->shape[i]);
		lc__buf_append(out, dim, (size_t)1 << width);
	}
}

/* ---- images -------------------------------------------------------------------- */

lc_status
lc__mds_pixels(const void *bytes, size_t size, struct lc__mds_pixels *out)
{
	static const char *const modes[] = { "L", "LA", "RGB", "RGBA" };
	const unsigned char *at = bytes;
	uint64_t pixels, mode;

	if (size < 12 || (mode = lc__get32(at + 8)) > size - 12)
		return lc__error(LC_CORRUPT, 0, "an image that is cut");
	out->width = lc__get32(at);
	out->height = lc__get32(at + 4);
	out->data = at + 12 + mode;
	for (out->channels = 1; out->channels <= COUNT(modes); out->channels++)
		if (strlen(modes[out->channels - 1]) == mode &&
		    memcmp(modes[out->channels - 1], at + 12, mode) == 0)
			break;
	if (out->channels > COUNT(modes))
		return lc__error(LC_UNSUPPORTED, 0, "an image of mode %s",
		    lc__quote_id(at + 12, mode));
	if (!lc__mul64((uint64_t)out->width * out->height, out->channels, &pixels) ||
	    pixels != size - 12 - mode)
		return lc__error(LC_CORRUPT, 0,
		    "an image of %" PRIu32 " x %" PRIu32 " with %zu bytes", out->width,
		    out->height, (size_t)(size - 12 - mode));
	return LC_OK;
}

lc_status
lc__mds_list(enum lc__mds_kind kind, const void *bytes, size_t size,
    struct lc__mds_list *out)
{
	const size_t before = kind == LC__MDS_JPEGS ? 0 : 4; /* a word for the future */
	const unsigned char *at = bytes;
	uint64_t sum = 0;

	if (size < before + 4)
		return lc__error(LC_CORRUPT, 0, "a list that is cut");
	out->left = lc__get32(at + before);
	out->sizes = at + before + 4;
	size -= before + 4;
	if (out->left > size / 4)
		return lc__error(LC_CORRUPT, 0, "a list that is cut");
	out->data = out->sizes + (size_t)out->left * 4;
	for (uint32_t i = 0; i < out->left; i++)
		sum += lc__get32(out->sizes + (size_t)i * 4);
	if (sum != size - (size_t)out->left * 4)
		return lc__error(LC_CORRUPT, 0, "a list whose elements do not fill it");
	return LC_OK;
}

bool
lc__mds_list_next(struct lc__mds_list *list, const void **out, size_t *size)
{
	if (list->left == 0)
		return false;
	*size = lc__get32(list->sizes);
	*out = list->data;
	list->sizes += 4;
	list->data += *size;
	list->left--;
	return true;
}
