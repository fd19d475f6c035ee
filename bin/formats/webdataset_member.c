/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/webdataset_member.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "formats/npz.h"
#include "formats/payload.h"
#include "formats/value_json.h"
#include "formats/webdataset_name.h"

/* Move a value and its memory; empties @p from. */
static lc_status
take_over(struct lc__loaded *from, struct lc__loaded *out, lc_value **part)
{
	lc_status status = LC_OK;

	for (size_t i = 0; i < from->count && status == LC_OK; i++) {
		status = lc__loaded_own(out, from->blocks[i]);
		from->blocks[i] = NULL;
	}
	if (status == LC_OK) {
		*part = from->value;
		from->value = NULL;
	}
	lc__loaded_free(from);
	return status;
}

static lc_status
load_text(const struct lc__buf *bytes, lc_value **part)
{
	if (!lc__utf8_valid(bytes->data, bytes->size))
		return lc__error(LC_CORRUPT, 0, "text that is not UTF-8");
	*part = lc_value_strn(bytes->size > 0 ? (const char *)bytes->data : "",
	    bytes->size);
	return LC_OK;
}

static lc_status
load_json(const struct lc__buf *bytes, struct lc__loaded *out, lc_value **part)
{
	struct lc__loaded loaded = { 0 };
	const lc_status status = lc__value_json_read(bytes->data, bytes->size, NULL,
	    NULL, &loaded);

	if (status == LC_OK)
		return take_over(&loaded, out, part);
	lc__loaded_free(&loaded);
	return status;
}

static lc_status
load_npz(const struct lc__buf *bytes, const struct lc__incoming_how *how,
    struct lc__loaded *out, lc_value **part)
{
	struct lc__loaded loaded = { 0 };
	const lc_status status = lc__npz_read(bytes->data, bytes->size, how->raw_dtype,
	    how->limit, &loaded);

	if (status == LC_OK)
		return take_over(&loaded, out, part);
	lc__loaded_free(&loaded);
	return status;
}

static bool
is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Digits of a number up to @p most; false if there is anything else. */
static bool
read_digits(const unsigned char *at, const unsigned char *end, uint64_t most,
    uint64_t *out)
{
	uint64_t number = 0;

	if (at == end)
		return false;
	for (; at < end; at++) {
		const unsigned digit = *at - (unsigned)'0';

		if (digit > 9 || number > (most - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*out = number;
	return true;
}

/* An integer as Python's int() takes it from text, but for underscores in it. */
static lc_status
load_integer(const struct lc__buf *bytes, lc_value **part)
{
	const unsigned char *at = bytes->data, *end = at + bytes->size;
	bool negative = false;
	uint64_t number;

	while (at < end && is_space(*at))
		at++;
	while (end > at && is_space(end[-1]))
		end--;
	if (at < end && (*at == '-' || *at == '+'))
		negative = *at++ == '-';
	if (!read_digits(at, end, negative ? (uint64_t)1 << 63 : UINT64_MAX, &number))
		return lc__error(LC_CORRUPT, 0, "not an integer from -2^63 to 2^64-1");
	*part = negative ? lc_value_integer((int64_t)(0 - number)) :
	    lc_value_unsigned(number);
	return LC_OK;
}

static lc_status
load_bytes(const struct lc__buf *bytes, lc_value **part)
{
	*part = lc_value_bytes(bytes->size > 0 ? (const void *)bytes->data : "",
	    bytes->size);
	return LC_OK;
}

static lc_status
refuse_pickle(void)
{
	return lc__error(LC_UNSUPPORTED, 0,
	    "pickled data, which runs as a program, is never loaded");
}

lc_status
lc__wds_load(const char *extension, struct lc__buf *bytes,
    const struct lc__incoming_how *how, struct lc__loaded *out, lc_value **part)
{
	const enum lc__wds_type type = lc__wds_type_of(extension);
	lc_status status;

	*part = NULL;
	if (type == LC__WDS_TEXT)
		status = load_text(bytes, part);
	else if (type == LC__WDS_JSON)
		status = load_json(bytes, out, part);
	else if (type == LC__WDS_INTEGER)
		status = load_integer(bytes, part);
	else if (type == LC__WDS_NPZ)
		status = load_npz(bytes, how, out, part);
	else if (type == LC__WDS_BYTES || (type == LC__WDS_PICKLE && how->raw))
		status = load_bytes(bytes, part);
	else if (type == LC__WDS_PICKLE)
		status = refuse_pickle();
	else
		return lc__payload_load(bytes, how, out, part);
	lc__buf_free(bytes);
	memset(bytes, 0, sizeof(*bytes));
	if (status == LC_OK && *part == NULL)
		return lc__no_memory(NULL);
	return status;
}
