/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/json_load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mpack.h"
#include "format/json_parse.h"

#define FLAGS (JSON_REJECT_DUPLICATES | JSON_DECODE_ANY)

/* ---- numbers that jansson refuses --------------------------------------------- */

/*
 * jansson's integers have a sign, and its floats are finite. A text with other
 * numbers is parsed again with each of those as a string that begins with a NUL,
 * which no string of the text may hold.
 */

static size_t
skip_digits(const char *text, size_t size, size_t at)
{
	while (at < size && text[at] >= '0' && text[at] <= '9')
		at++;
	return at;
}

/* The grammar of RFC 8259; jansson is left to complain about everything else. */
static bool
is_number(const char *text, size_t size)
{
	const size_t first = size > 0 && text[0] == '-';
	size_t at = skip_digits(text, size, first), start;

	if (at == first || (text[first] == '0' && at > first + 1))
		return false;
	if (at < size && text[at] == '.') {
		start = ++at;
		at = skip_digits(text, size, at);
		if (at == start)
			return false;
	}
	if (at < size && (text[at] == 'e' || text[at] == 'E')) {
		at++;
		if (at < size && (text[at] == '+' || text[at] == '-'))
			at++;
		start = at;
		at = skip_digits(text, size, at);
		if (at == start)
			return false;
	}
	return at == size;
}

static bool
is_refused(const char *number)
{
	errno = 0;
	if (strpbrk(number, ".eE") == NULL)
		(void)strtoll(number, NULL, 10);
	else
		return isinf(strtod(number, NULL));
	return errno == ERANGE;
}

static void
put_number(struct lc__buf *out, const char *text, size_t size)
{
	char *number = strndup(text, size);

	if (number == NULL)
		out->failed = true;
	else if (is_number(text, size) && is_refused(number))
		lc__buf_printf(out, "\"\\u0000%s\"", number);
	else
		lc__buf_append(out, text, size);
	free(number);
}

/* The string that begins at text[0], with its quotes; 0 if it holds a NUL. */
static size_t
string_size(const char *text, size_t size)
{
	size_t at = 1;

	while (at < size && text[at] != '"') {
		if (text[at] == '\\' && size - at >= 6 &&
		    memcmp(text + at, "\\u0000", 6) == 0)
			return 0;
		at += text[at] == '\\' ? 2 : 1;
	}
	return at < size ? at + 1 : size;
}

static bool
disguise(const char *text, size_t size, struct lc__buf *out)
{
	static const char digits[] = "+-.0123456789eE";
	size_t n;

	for (size_t at = 0; at < size; at += n) {
		n = 1;
		if (text[at] == '"') {
			n = string_size(text + at, size - at);
			if (n == 0)
				return false;
			lc__buf_append(out, text + at, n);
		} else if (text[at] == '-' || (text[at] >= '0' &&
		    text[at] <= '9')) {
			while (at + n < size && memchr(digits, text[at + n],
			    sizeof(digits) - 1) != NULL)
				n++;
			put_number(out, text + at, n);
		} else {
			lc__buf_append(out, text + at, 1);
		}
	}
	return true;
}

static lc_status
load_disguised(const void *bytes, size_t size, json_t **out, json_error_t *error)
{
	struct lc__buf text = { 0 };
	bool failed;

	if (!disguise(bytes, size, &text))
		snprintf(error->text, sizeof(error->text), "\\u0000 in a string");
	else if (!text.failed)
		*out = lc__json_parse((char *)text.data, text.size,
		    FLAGS | JSON_ALLOW_NUL, error);
	failed = text.failed;
	lc__buf_free(&text);
	return failed ? lc__error(LC_NO_MEMORY, 0, "out of memory") : LC_OK;
}

lc_status
lc__json_load(const void *bytes, size_t size, json_t **out, char why[256])
{
	json_error_t error = { .line = -1 };

	*out = lc__json_parse(bytes, size, FLAGS, &error);
	if (*out == NULL &&
	    json_error_code(&error) == json_error_numeric_overflow)
		return_if_error(load_disguised(bytes, size, out, &error));
	if (*out != NULL)
		return LC_OK;
	if (json_error_code(&error) == json_error_out_of_memory)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	snprintf(why, 256, "not JSON: %s (line %d, column %d)", error.text,
	    error.line, error.column);
	return LC_OK;
}

/* ---- looking ---------------------------------------------------------------- */

/* The digits of a number in disguise, or NULL. */
static const char *
disguised(const json_t *json)
{
	return json_is_string(json) && json_string_length(json) > 1 &&
	    json_string_value(json)[0] == '\0' ? json_string_value(json) + 1 : NULL;
}

static bool
parse_uint(const char *digits, uint64_t *out)
{
	errno = 0;
	if (strspn(digits, "0123456789") != strlen(digits))
		return false;
	*out = strtoull(digits, NULL, 10);
	return errno == 0;
}

bool
lc__json_float(const json_t *json, double *out)
{
	const char *digits = disguised(json);

	if (digits != NULL)
		*out = strtod(digits, NULL);
	else if (json_is_number(json))
		*out = json_number_value(json);
	else
		return false;
	return true;
}

bool
lc__json_uint(const json_t *json, uint64_t *out)
{
	const char *digits = disguised(json);

	if (digits != NULL)
		return parse_uint(digits, out);
	if (!json_is_integer(json) || json_integer_value(json) < 0)
		return false;
	*out = (uint64_t)json_integer_value(json);
	return true;
}

bool
lc__json_is_text(const json_t *json)
{
	return json_is_string(json) && disguised(json) == NULL;
}

bool
lc__json_box(const json_t *json, double out[4])
{
	if (json_array_size(json) != 4)
		return false;
	for (size_t i = 0; i < 4; i++)
		if (!lc__json_float(json_array_get(json, i), &out[i]))
			return false;
	return true;
}

bool
lc__json_is_blank(const json_t *json)
{
	const char *text;

	if (json == NULL || json_is_null(json))
		return true;
	if (!lc__json_is_text(json))
		return false;
	text = json_string_value(json);
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* ---- MessagePack -------------------------------------------------------------- */

static bool pack(const json_t *json, unsigned depth, struct lc__buf *out);

static bool
pack_object(const json_t *json, unsigned depth, struct lc__buf *out)
{
	const char *name;
	json_t *member;

	lc__mpack_map(out, (uint32_t)json_object_size(json));
	json_object_foreach((json_t *)json, name, member) {
		lc__mpack_str(out, name);
		if (!pack(member, depth + 1, out))
			return false;
	}
	return true;
}

static bool
pack_array(const json_t *json, unsigned depth, struct lc__buf *out)
{
	lc__mpack_array(out, (uint32_t)json_array_size(json));
	for (size_t i = 0; i < json_array_size(json); i++)
		if (!pack(json_array_get(json, i), depth + 1, out))
			return false;
	return true;
}

static void
pack_string(const json_t *json, struct lc__buf *out)
{
	const char *digits = disguised(json);
	uint64_t number;

	if (digits == NULL)
		lc__mpack_strn(out, json_string_value(json),
		    json_string_length(json));
	else if (parse_uint(digits, &number))
		lc__mpack_uint(out, number);
	else
		lc__mpack_float(out, strtod(digits, NULL));
}

static bool
pack(const json_t *json, unsigned depth, struct lc__buf *out)
{
	if (depth > LC__LABEL_JSON_DEPTH)
		return false;
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return pack_object(json, depth, out);
	case JSON_ARRAY:
		return pack_array(json, depth, out);
	case JSON_STRING:
		pack_string(json, out);
		break;
	case JSON_INTEGER:
		lc__mpack_int(out, json_integer_value(json));
		break;
	case JSON_REAL:
		lc__mpack_float(out, json_real_value(json));
		break;
	case JSON_NULL:
		lc__mpack_nil(out);
		break;
	default:
		lc__mpack_boolean(out, json_is_true(json));
	}
	return true;
}

bool
lc__json_pack(const json_t *json, struct lc__buf *out)
{
	return pack(json, 1, out);
}
