/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/expect.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "value/dtype.h"
#include "value/path.h"
#include "value/tensor.h"

#define NO_ELLIPSIS UINT32_MAX

/* ---- reading ---------------------------------------------------------------------- */

/* The path ends at the last equals sign: names may contain others. */
static lc_status
parse_path(const char *text, struct lc__expect *out, const char **rest)
{
	const char *equals = strrchr(text, '='), *at;
	struct lc__step step;
	bool good = true;
	char *path;

	out->path = text;
	*rest = text;
	if (equals == NULL)
		return LC_OK;
	out->path_size = (size_t)(equals - text);
	*rest = equals + 1;
	path = strndup(text, out->path_size);
	if (path == NULL)
		return lc__no_memory(NULL);
	for (at = path; good && at != NULL;)
		good = lc__path_step(&at, &step) && step.size > 0;
	free(path);
	if (!good)
		return lc__error(LC_INVALID, 0,
		    "there is no path before the equals sign");
	return LC_OK;
}

static bool
parse_size(const char *text, size_t size, uint64_t *out)
{
	uint64_t sum = 0;

	if (size == 1 && *text == '*') {
		*out = LC__ANY;
		return true;
	}
	for (size_t i = 0; i < size; i++) {
		const unsigned digit = (unsigned)(text[i] - '0');
		if (digit > 9 || sum > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		sum = sum * 10 + digit;
	}
	*out = sum;
	return size > 0;
}

/* One item between the brackets: a number, * or an ellipsis. */
static lc_status
parse_dimension(const char *text, size_t size, struct lc__expect *out)
{
	if (size == 3 && memcmp(text, "...", 3) == 0) {
		if (out->ellipsis != NO_ELLIPSIS)
			return lc__error(LC_INVALID, 0, "has ... twice");
		out->ellipsis = out->ndim;
		return LC_OK;
	}
	if (out->ndim == LC_MAX_NDIM)
		return lc__error(LC_INVALID, 0, "more than %d dimensions", LC_MAX_NDIM);
	if (!parse_size(text, size, &out->shape[out->ndim]))
		return lc__error(LC_INVALID, 0, "'%.*s' is not a dimension",
		    (int)(size < 100 ? size : 100), text);
	out->ndim++;
	return LC_OK;
}

static lc_status
parse_shape(const char *p, struct lc__expect *out)
{
	const char *end = strchr(p, ']');

	if (end == NULL)
		return lc__error(LC_INVALID, 0, "the bracket is not closed");
	if (end[1] != '\0')
		return lc__error(LC_INVALID, 0, "'%.100s' follows the bracket", end + 1);
	while (p < end || p[-1] == ',') {
		const size_t size = strcspn(p, ",]");
		return_if_error(parse_dimension(p, size, out));
		p += size + 1;
	}
	return LC_OK;
}

static lc_status
parse(const char *text, struct lc__expect *out)
{
	const char *name, *bracket;
	char copy[LC__DTYPE_TEXT + 1];
	size_t size;

	return_if_error(parse_path(text, out, &name));
	bracket = strchr(name, '[');
	size = strcspn(name, "[");
	out->any_shape = bracket == NULL;
	out->any_dtype = size == 1 && *name == '*';
	if (size == 0)
		return lc__error(LC_INVALID, 0, "no dtype, nor * for any");
	if (!out->any_dtype) {
		snprintf(copy, sizeof(copy), "%.*s",
		    (int)(size < sizeof(copy) ? size : sizeof(copy)), name);
		return_if_error(lc_dtype_parse(copy, &out->dtype));
	}
	return bracket != NULL ? parse_shape(bracket + 1, out) : LC_OK;
}

lc_status
lc__expect_parse(const char *text, struct lc__expect *out)
{
	struct lc__expect got = { .ellipsis = NO_ELLIPSIS };

	if (parse(text, &got) != LC_OK)
		return lc__error_prefix("'%.200s'", text);
	*out = got;
	return LC_OK;
}

/* ---- writing ---------------------------------------------------------------------- */

/* Text that is too long for its buffer is cut; the whole length is still counted. */
struct text {
	char *at;
	size_t room, used;
};

static void __attribute__((format(printf, 2, 3)))
add(struct text *text, const char *format, ...)
{
	const size_t used = text->used < text->room ? text->used : text->room;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->room > 0 ? text->at + used : NULL, text->room - used, format,
	    args);
	va_end(args);
	text->used += n > 0 ? (size_t)n : 0;
}

/* Without the path. */
static void
add_type(const struct lc__expect *expect, struct text *text)
{
	const char *comma = "";

	add(text, "%s", expect->any_dtype ? "*" : lc_dtype_name(expect->dtype));
	if (expect->any_shape)
		return;
	add(text, "[");
	for (uint32_t i = 0; i <= expect->ndim; i++) {
		if (i == expect->ellipsis) {
			add(text, "%s...", comma);
			comma = ",";
		}
		if (i == expect->ndim)
			break;
		if (expect->shape[i] == LC__ANY)
			add(text, "%s*", comma);
		else
			add(text, "%s%llu", comma, (unsigned long long)expect->shape[i]);
		comma = ",";
	}
	add(text, "]");
}

int
lc__expect_describe(const struct lc__expect *expect, char *out, size_t room)
{
	struct text text = { .at = out, .room = room };

	if (expect->path_size > 0)
		add(&text, "%.*s=", (int)expect->path_size, expect->path);
	add_type(expect, &text);
	return (int)text.used;
}

/* ---- comparing -------------------------------------------------------------------- */

static bool
shape_matches(const struct lc__expect *expect, const lc_tensor *tensor)
{
	const uint32_t before = expect->ellipsis < expect->ndim ? expect->ellipsis
								: expect->ndim;
	const uint32_t skipped = tensor->ndim - expect->ndim;

	if (expect->any_shape)
		return true;
	if (expect->ellipsis == NO_ELLIPSIS ? tensor->ndim != expect->ndim
					    : tensor->ndim < expect->ndim)
		return false;
	for (uint32_t i = 0; i < expect->ndim; i++) {
		const uint64_t got = tensor->shape[i < before ? i : i + skipped];
		if (expect->shape[i] != LC__ANY && expect->shape[i] != got)
			return false;
	}
	return true;
}

lc_status
lc__expect_tensor(const struct lc__expect *expect, const lc_tensor *tensor)
{
	char is[LC__TENSOR_TEXT], want[LC__TENSOR_TEXT];
	struct text text = { .at = want, .room = sizeof(want) };

	if ((expect->any_dtype || expect->dtype == tensor->dtype) &&
	    shape_matches(expect, tensor))
		return LC_OK;
	add_type(expect, &text);
	return lc__error(LC_SCHEMA, 0, "is %s, not %s",
	    lc__tensor_describe(tensor, is, sizeof(is)), want);
}

/* A part, NULL if it is missing; or the value itself. */
static lc_status
check_part(const struct lc__expect *expect, const lc_value *part)
{
	char want[LC__TENSOR_TEXT];
	struct text text = { .at = want, .room = sizeof(want) };
	lc_tensor tensor;

	if (part != NULL && lc_value_kind(part) == LC_TENSOR) {
		return_if_error(lc_value_as_tensor(part, &tensor));
		return lc__expect_tensor(expect, &tensor);
	}
	add_type(expect, &text);
	if (part == NULL)
		return lc__error(LC_SCHEMA, 0, "is missing, not %s", want);
	return lc__error(LC_SCHEMA, 0, "is of kind %s, not %s",
	    lc_kind_name(lc_value_kind(part)), want);
}

static lc_status
check_path(const struct lc__expect *expect, const lc_value *value)
{
	char *path = strndup(expect->path, expect->path_size);
	lc_status status;

	if (path == NULL)
		return lc__no_memory(NULL);
	status = check_part(expect, lc_value_find(value, path));
	free(path);
	if (status != LC_OK)
		return lc__error_prefix("part '%.*s'",
		    (int)(expect->path_size < 200 ? expect->path_size : 200),
		    expect->path);
	return LC_OK;
}

lc_status
lc__expect_value(const struct lc__expect *expect, size_t n, const lc_value *value)
{
	for (size_t i = 0; i < n; i++)
		return_if_error(expect[i].path_size > 0 ? check_path(&expect[i], value)
							: check_part(&expect[i], value));
	return LC_OK;
}
