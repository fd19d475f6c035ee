/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/mds_column.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"
#include "formats/value_json.h"
#include "value/dtype.h"

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
	return lc__error(LC_CORRUPT, 0, "%s is not an encoding of an array",
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

/* After "ndarray": nothing, ":DTYPE" or ":DTYPE:SHAPE". */
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

lc_status
lc__mds_array(const struct lc__mds_encoding *encoding, const void *bytes, size_t size,
    lc_tensor *out)
{
	const unsigned char *at = bytes, *const end = at + size;
	lc_tensor type = encoding->type, tensor;
	size_t row = 0, width;

	if (!encoding->has_dtype) {
		if (at == end)
			return cut();
		while (row < COUNT(dtypes) && dtypes[row].code != *at)
			row++;
		if (row == COUNT(dtypes))
			return lc__error(LC_CORRUPT, 0,
			    "an array of dtype %u, which does not exist", *at);
		type.dtype = dtypes[row].dtype;
		at++;
	}
	/* The rank, the logarithm of the bytes of each dimension, and the dimensions. */
	if (!encoding->has_shape) {
		if (at == end)
			return cut();
		type.ndim = *at >> 2;
		width = (size_t)1 << (*at & 3);
		at++;
		if (type.ndim > LC_MAX_NDIM)
			return lc__error(LC_UNSUPPORTED, 0, "rank %u is above %d",
			    type.ndim, LC_MAX_NDIM);
		if ((size_t)(end - at) < type.ndim * width)
			return cut();
		for (uint32_t i = 0; i < type.ndim; i++, at += width)
			type.shape[i] = lc__get_few(at, width);
	}
	if (lc_tensor_init(&tensor, type.dtype, type.ndim, type.shape, at) != LC_OK)
		return lc__error(LC_CORRUPT, 0, "an array whose shape overflows");
	if ((size_t)(end - at) != tensor.nbytes)
		return lc__error(LC_CORRUPT, 0,
		    "an array of %zu bytes, of which its shape makes %zu",
		    (size_t)(end - at), tensor.nbytes);
	*out = tensor;
	return LC_OK;
}

void
lc__mds_array_head(const struct lc__mds_encoding *encoding, const lc_tensor *tensor,
    struct lc__buf *out)
{
	uint64_t largest = 0;
	unsigned char byte;
	unsigned width; /* 0: dimensions have one byte each; 3: eight bytes each */
	size_t i = 0;

	if (!encoding->has_dtype) {
		while (i + 1 < COUNT(dtypes) && dtypes[i].dtype != tensor->dtype)
			i++;
		lc__buf_append(out, &dtypes[i].code, 1);
	}
	if (encoding->has_shape)
		return;
	for (i = 0; i < tensor->ndim; i++)
		if (tensor->shape[i] > largest)
			largest = tensor->shape[i];
	width = largest > UINT32_MAX ? 3 : largest > UINT16_MAX ? 2 : largest > UINT8_MAX;
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
	const size_t before = kind == LC__MDS_JPEGS ? 0 : 4; /* reserved */
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

/* ---- values -------------------------------------------------------------------- */

#define LONGEST 64 /* bytes of the text of a number that are read */

static lc_status
made(lc_value *value, lc_value **out)
{
	*out = value;
	return value != NULL ? LC_OK : lc__no_memory(NULL);
}

static lc_status
read_number(lc_dtype dtype, const void *bytes, size_t size, lc_value **out)
{
	const uint64_t bits = lc__get_few(bytes, size);
	const unsigned unused = 64 - 8 * (unsigned)size;

	switch (dtype) {
	case LC_U8:
	case LC_U16:
	case LC_U32:
	case LC_U64: return made(lc_value_unsigned(bits), out);
	case LC_I8:
	case LC_I16:
	case LC_I32:
	case LC_I64:
		return made(lc_value_integer((int64_t)(bits << unused) >> unused), out);
	default: return made(lc_value_float(lc__element_real(dtype, bytes)), out);
	}
}

/* Copy a number's text and end it with a NUL; false if it is too long to be one. */
static bool
number_text(const char *bytes, size_t size, char out[LONGEST + 1])
{
	if (size == 0 || size > LONGEST || memchr(bytes, '\0', size) != NULL)
		return false;
	memcpy(out, bytes, size);
	out[size] = '\0';
	return true;
}

/* A number that does not fit is kept as text, so that no digit is lost. */
static lc_status
read_digits(const char *bytes, size_t size, lc_value **out)
{
	const size_t sign = size > 0 && *bytes == '-';
	char text[LONGEST + 1];

	if (size == sign)
		return lc__error(LC_CORRUPT, 0, "an integer without a digit");
	for (size_t i = sign; i < size; i++)
		if (bytes[i] < '0' || bytes[i] > '9')
			return lc__error(LC_CORRUPT, 0, "an integer that is %s",
			    lc__quote_id(bytes, size));
	errno = 0;
	if (!number_text(bytes, size, text))
		return made(lc_value_strn(bytes, size), out);
	if (sign) {
		const long long number = strtoll(text, NULL, 10);
		return made(errno == 0 ? lc_value_integer(number)
				       : lc_value_strn(bytes, size),
		    out);
	} else {
		const unsigned long long number = strtoull(text, NULL, 10);
		return made(errno == 0 ? lc_value_unsigned(number)
				       : lc_value_strn(bytes, size),
		    out);
	}
}

static lc_status
read_real(const char *bytes, size_t size, lc_value **out)
{
	char text[LONGEST + 1], *end = text;
	double number = 0;

	if (number_text(bytes, size, text) && strpbrk(text, "xX( \t\n\r\v\f") == NULL) {
		/* Python writes a decimal point in every locale. */
		const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
		const locale_t old = plain != (locale_t)0 ? uselocale(plain)
							  : (locale_t)0;

		number = strtod(text, &end);
		if (plain != (locale_t)0) {
			uselocale(old);
			freelocale(plain);
		}
	}
	if (end == text || *end != '\0')
		return lc__error(LC_CORRUPT, 0, "a number that is %s",
		    lc__quote_id(bytes, size));
	return made(lc_value_float(number), out);
}

static lc_status
read_json(const void *bytes, size_t size, struct lc__loaded *loaded, lc_value **out)
{
	struct lc__loaded one = { 0 };
	lc_status status = lc__value_json_read(bytes, size, NULL, NULL, &one);

	for (size_t i = 0; status == LC_OK && i < one.count; i++) {
		status = lc__loaded_own(loaded, one.blocks[i]);
		one.blocks[i] = NULL;
	}
	if (status == LC_OK) {
		*out = one.value;
		one.value = NULL;
	}
	lc__loaded_free(&one);
	return status;
}

static lc_status
read_array(const struct lc__mds_encoding *encoding, const void *bytes, size_t size,
    struct lc__loaded *loaded, lc_value **out)
{
	lc_tensor tensor;
	void *data;

	return_if_error(lc__mds_array(encoding, bytes, size, &tensor));
	data = malloc(tensor.nbytes + 1);
	if (data == NULL)
		return lc__no_memory(NULL);
	memcpy(data, tensor.data, tensor.nbytes);
	tensor.data = data;
	return_if_error(lc__loaded_own(loaded, data));
	return made(lc_value_tensor(&tensor), out);
}

lc_status
lc__mds_decode(const struct lc__mds_encoding *encoding, const void *bytes, size_t size,
    struct lc__loaded *loaded, lc_value **out)
{
	lc_dtype dtype;

	switch (encoding->kind) {
	case LC__MDS_STR:
	case LC__MDS_STR_DECIMAL:
		if (!lc__utf8_valid(bytes, size))
			return lc__error(LC_CORRUPT, 0, "text that is not UTF-8");
		return made(lc_value_strn(bytes, size), out);
	case LC__MDS_INT:
	case LC__MDS_NUMBER:
		dtype = encoding->kind == LC__MDS_INT ? LC_I64 : encoding->type.dtype;
		if (size != lc_dtype_size(dtype))
			return lc__error(LC_CORRUPT, 0,
			    "a number of %zu bytes, which has %zu", size,
			    lc_dtype_size(dtype));
		return read_number(dtype, bytes, size, out);
	case LC__MDS_ARRAY: return read_array(encoding, bytes, size, loaded, out);
	case LC__MDS_STR_INT: return read_digits(bytes, size, out);
	case LC__MDS_STR_FLOAT: return read_real(bytes, size, out);
	case LC__MDS_JSON: return read_json(bytes, size, loaded, out);
	case LC__MDS_BYTES: return made(lc_value_bytes(bytes, size), out);
	default:
		return lc__error(LC_UNSUPPORTED, 0,
		    "pickled, which could run any program");
	}
}

/* ---- images as values ------------------------------------------------------------ */

/* Rows of pixels into the order of a layout; channels after the kept ones are alpha. */
static void
arrange(const struct lc__mds_pixels *pixels, uint32_t kept,
    const struct lc__image_options *how, unsigned char *out)
{
	const size_t element = lc_dtype_size(lc__image_dtype(how->elements));
	const unsigned char *from = pixels->data;
	const size_t count = (size_t)pixels->width * pixels->height;

	for (size_t i = 0; i < count; i++, from += pixels->channels)
		for (uint32_t c = 0; c < kept; c++)
			lc__image_put(how->elements, from[c], 255,
			    out +
				element *
				    (how->layout == LC__IMAGE_CHW ? c * count + i
								  : i * kept + c));
}

static lc_status
load_pixels(const void *bytes, size_t size, const struct lc__incoming_how *how,
    struct lc__loaded *loaded, lc_value **out)
{
	const uint64_t most = how->images.max_pixels ? how->images.max_pixels
						     : LC__IMAGE_MAX_PIXELS;
	struct lc__mds_pixels pixels;
	uint64_t shape[3];
	uint32_t kept;
	lc_tensor tensor;
	void *data;

	return_if_error(lc__mds_pixels(bytes, size, &pixels));
	if ((uint64_t)pixels.width * pixels.height > most)
		return lc__error(LC_INVALID, 0,
		    "an image of %" PRIu32 " x %" PRIu32 " has more pixels than %" PRIu64,
		    pixels.width, pixels.height, most);
	kept = pixels.channels - (pixels.channels % 2 == 0 && !how->images.keep_alpha);
	shape[0] = how->images.layout == LC__IMAGE_CHW ? kept : pixels.height;
	shape[1] = how->images.layout == LC__IMAGE_CHW ? pixels.height : pixels.width;
	shape[2] = how->images.layout == LC__IMAGE_CHW ? pixels.width : kept;
	/* Pixels are a part of the size bytes, and an element has 4 bytes at most. */
	data = calloc(size + 1, 4);
	if (data == NULL)
		return lc__no_memory(NULL);
	return_if_error(lc__loaded_own(loaded, data));
	arrange(&pixels, kept, &how->images, data);
	return_if_error(lc_tensor_init(&tensor, lc__image_dtype(how->images.elements), 3,
	    shape, data));
	*out = lc_value_tensor(&tensor);
	return *out != NULL ? LC_OK : lc__no_memory(NULL);
}

/* One image, as a file or as pixels. */
static lc_status
load_one(enum lc__mds_kind kind, const void *bytes, size_t size,
    const struct lc__incoming_how *how, struct lc__loaded *loaded, lc_value **out)
{
	struct lc__buf copy = { 0 };

	if (kind == LC__MDS_PIXELS || kind == LC__MDS_PIXELS_LIST)
		return load_pixels(bytes, size, how, loaded, out);
	if (lc__buf_append(&copy, bytes, size) == NULL)
		return lc__no_memory(NULL);
	return lc__payload_load(&copy, how, loaded, out);
}

static lc_status
load_list(enum lc__mds_kind kind, const void *bytes, size_t size,
    const struct lc__incoming_how *how, struct lc__loaded *loaded, lc_value **out)
{
	struct lc__mds_list list;
	const void *element;
	lc_value *value, *one;
	lc_status status = LC_OK;

	return_if_error(lc__mds_list(kind, bytes, size, &list));
	value = lc_value_list();
	if (value == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; status == LC_OK && lc__mds_list_next(&list, &element, &size);
	     i++) {
		status = load_one(kind, element, size, how, loaded, &one);
		if (status != LC_OK)
			status = lc__error_prefix("image %zu", i);
		else
			lc_value_append(value, one);
	}
	if (status == LC_OK)
		*out = value;
	else
		lc_value_free(value);
	return status;
}

lc_status
lc__mds_image(enum lc__mds_kind kind, const void *bytes, size_t size,
    const struct lc__incoming_how *how, struct lc__loaded *loaded, lc_value **out)
{
	if (how->raw) {
		*out = lc_value_bytes(bytes, size);
		return *out != NULL ? LC_OK : lc__no_memory(NULL);
	}
	return kind == LC__MDS_IMAGE || kind == LC__MDS_PIXELS
	    ? load_one(kind, bytes, size, how, loaded, out)
	    : load_list(kind, bytes, size, how, loaded, out);
}
