/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns of MDS as values. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"
#include "formats/incoming.h"
#include "formats/mds_column.h"
#include "formats/value_json.h"
#include "value/dtype.h"

#define LONGEST 64 /* bytes of a number's text that are read */

static lc_status
made(lc_value *value, lc_value **out)
{
	*out = value;
	return value != NULL ? LC_OK : lc__no_memory(NULL);
}

static lc_status
check_size(size_t size, size_t want)
{
	return size == want ? LC_OK
			    : lc__error(LC_CORRUPT, 0,
				  "a number of %zu bytes, which has %zu", size, want);
}

static lc_status
read_text(const char *bytes, size_t size, lc_value **out)
{
	if (!lc__utf8_valid(bytes, size))
		return lc__error(LC_CORRUPT, 0, "text that is not UTF-8");
	return made(lc_value_strn(bytes, size), out);
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

/* A number that does not fit stays text, so that no digit is lost. */
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

/* Python writes a decimal point in any locale. */
static double
to_double(const char *text, char **end)
{
	const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	const locale_t old = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
	const double number = strtod(text, end);

	if (plain != (locale_t)0) {
		uselocale(old);
		freelocale(plain);
	}
	return number;
}

static lc_status
read_real(const char *bytes, size_t size, lc_value **out)
{
	char text[LONGEST + 1], *end = text;
	double number = 0;

	if (number_text(bytes, size, text) && strpbrk(text, "xX( \t\n\r\v\f") == NULL)
		number = to_double(text, &end);
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
	const size_t item = lc_dtype_size(encoding->type.dtype);

	switch (encoding->kind) {
	case LC__MDS_STR:
	case LC__MDS_STR_DECIMAL: return read_text(bytes, size, out);
	case LC__MDS_INT:
		return_if_error(check_size(size, 8));
		return read_number(LC_I64, bytes, size, out);
	case LC__MDS_NUMBER:
		return_if_error(check_size(size, item));
		return read_number(encoding->type.dtype, bytes, size, out);
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

/* ---- images ------------------------------------------------------------------ */

/* An image file. */
static lc_status
load_file(const void *bytes, size_t size, const struct lc__incoming_how *how,
    struct lc__loaded *loaded, lc_value **out)
{
	struct lc__buf copy = { 0 };

	if (lc__buf_append(&copy, bytes, size) == NULL)
		return lc__no_memory(NULL);
	return lc__payload_load(&copy, how, loaded, out);
}

static lc_status
check_pixels(const struct lc__mds_pixels *pixels, const struct lc__image_options *how)
{
	const uint64_t most = how->max_pixels ? how->max_pixels : LC__IMAGE_MAX_PIXELS;

	if ((uint64_t)pixels->width * pixels->height > most)
		return lc__error(LC_INVALID, 0,
		    "an image of %" PRIu32 " x %" PRIu32 " has more pixels than %" PRIu64,
		    pixels->width, pixels->height, most);
	return LC_OK;
}

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
	struct lc__mds_pixels pixels;
	uint64_t shape[3];
	uint32_t kept;
	lc_tensor tensor;
	void *data;

	return_if_error(lc__mds_pixels(bytes, size, &pixels));
	return_if_error(check_pixels(&pixels, &how->images));
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

static lc_status
load_one(enum lc__mds_kind kind, const void *bytes, size_t size,
    const struct lc__incoming_how *how, struct lc__loaded *loaded, lc_value **out)
{
	return kind == LC__MDS_PIXELS || kind == LC__MDS_PIXELS_LIST
	    ? load_pixels(bytes, size, how, loaded, out)
	    : load_file(bytes, size, how, loaded, out);
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
