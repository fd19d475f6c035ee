/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading values; value_json_write.c writes them. */
#include "formats/value_json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_tree.h"
#include "formats/base64.h"
#include "value/path.h"
#include "value/tensor.h"

struct reader {
	lc__json_open open;
	void *ctx;                 /* of open() */
	struct lc__loaded *loaded; /* memory of tensors */
	struct lc__buf path;       /* of the part being read */
	size_t depth;              /* of it */
};

/* Each reads one kind and returns a value to own, or says what is wrong. */
static lc_status read_part(struct reader *r, const struct lc__json *json, lc_value **out);

static lc_status __attribute__((format(printf, 2, 3)))
bad(const struct reader *r, const char *format, ...)
{
	const char *path = lc__path_text(&r->path);
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return lc__error(LC_INVALID, 0, "%s%s%s", path, *path ? ": " : "", text);
}

/* ---- plain data ------------------------------------------------------------- */

/* The bytes of a base64 string in new memory, with a NUL after them. */
static lc_status
decode_base64(struct reader *r, const struct lc__json *json, char **out, size_t *size)
{
	char *bytes;

	if (!lc__json_is(json, LC__JSON_STRING))
		return bad(r, "base64 is no text");
	bytes = malloc(json->string_size + 1);
	if (bytes == NULL)
		return lc__no_memory(NULL);
	memcpy(bytes, json->string, json->string_size);
	if (!lc__base64_decode(bytes, json->string_size, size)) {
		free(bytes);
		return bad(r, "not base64");
	}
	bytes[*size] = '\0';
	*out = bytes;
	return LC_OK;
}

static lc_status
read_bytes(struct reader *r, const struct lc__json *json, lc_value **out)
{
	char *bytes;
	size_t size;

	return_if_error(decode_base64(r, json, &bytes, &size));
	*out = lc_value_bytes(bytes, size);
	free(bytes);
	return LC_OK;
}

static lc_status
read_str(struct reader *r, const struct lc__json *json, lc_value **out)
{
	char *bytes;
	size_t size;

	return_if_error(decode_base64(r, json, &bytes, &size));
	*out = lc_value_strn(bytes, size);
	free(bytes);
	return LC_OK;
}

static lc_status
read_u64(struct reader *r, const struct lc__json *json, lc_value **out)
{
	const char *text = json->string != NULL ? json->string : "";
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
		return bad(r, "$u64 is no decimal number below 2^64 in quotes");
	*out = lc_value_unsigned(number);
	return LC_OK;
}

/* "nan:" and 16 digits: the bits of a NaN. */
static lc_status
read_nan(struct reader *r, const char *digits, lc_value **out)
{
	uint64_t bits = strtoull(digits, NULL, 16);
	double number;

	memcpy(&number, &bits, sizeof(number));
	if (strspn(digits, "0123456789abcdefABCDEF") != 16 || digits[16] != '\0' ||
	    !isnan(number))
		return bad(r, "$float has no bits of a NaN");
	*out = lc_value_float(number);
	return LC_OK;
}

static lc_status
read_float(struct reader *r, const struct lc__json *json, lc_value **out)
{
	const char *text = json->string != NULL ? json->string : "";

	if (strncmp(text, "nan:", 4) == 0)
		return read_nan(r, text + 4, out);
	if (strcmp(text, "nan") == 0)
		*out = lc_value_float((double)NAN);
	else if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0)
		*out = lc_value_float((*text == '-' ? -1 : 1) * (double)INFINITY);
	else
		return bad(r, "$float is none of nan, inf, -inf");
	return LC_OK;
}

/* ---- tensors ---------------------------------------------------------------- */

/* "f32[3,4]" */
static lc_status
read_type(struct reader *r, const struct lc__json *json, lc_tensor *out)
{
	if (lc__tensor_type_parse(json->string, json->string_size, out) != LC_OK)
		return bad(r, "%s", lc_last_error()->text);
	return LC_OK;
}

static lc_status
read_data(struct reader *r, const struct lc__json *json, lc_tensor *tensor)
{
	char *bytes;
	size_t size;

	return_if_error(decode_base64(r, json, &bytes, &size));
	return_if_error(lc__loaded_own(r->loaded, bytes));
	if (size != tensor->nbytes)
		return bad(r, "data has %zu bytes, its type takes %zu", size,
		    tensor->nbytes);
	tensor->data = bytes;
	return LC_OK;
}

static lc_status
read_tensor(struct reader *r, const struct lc__json *object, lc_value **out)
{
	const struct lc__json *type = lc__json_get(object, "$tensor");
	const struct lc__json *data = lc__json_get(object, "data");
	const struct lc__json *file = lc__json_get(object, "file");
	lc_tensor tensor;

	if (!lc__json_is(type, LC__JSON_STRING))
		return bad(r, "$tensor is no text");
	if (object->count != 1u + (data != NULL) + (file != NULL) ||
	    (data != NULL && file != NULL))
		return bad(r, "a tensor has $tensor and either data or file");
	return_if_error(read_type(r, type, &tensor));
	if (data != NULL)
		return_if_error(read_data(r, data, &tensor));
	else if (lc__json_is(file, LC__JSON_STRING) && r->open != NULL)
		return_if_error(r->open(r->ctx, file->string, &tensor, r->loaded));
	else if (file != NULL)
		return bad(r,
		    "a tensor in a file stands only in a directory's value.json");
	else
		return bad(r, "the data of the tensor %.60s is not here", type->string);
	*out = lc_value_tensor(&tensor);
	return LC_OK;
}

/* ---- structure -------------------------------------------------------------- */

/* Into a list or tuple that is being built; the caller frees it. */
static lc_status
read_items(struct reader *r, const struct lc__json *array, lc_value *into)
{
	const size_t size = r->path.size;
	const struct lc__json *json;
	size_t i = 0;

	if (array->kind != LC__JSON_ARRAY)
		return bad(r, "no list");
	lc__json_each(json, array)
	{
		lc_value *item = NULL;
		lc__path_index(&r->path, i++);
		return_if_error(read_part(r, json, &item));
		lc_value_append(into, item);
		lc__path_cut(&r->path, size);
	}
	return LC_OK;
}

static lc_status
read_list(struct reader *r, const struct lc__json *array, lc_value **out)
{
	*out = lc_value_list();
	return read_items(r, array, *out);
}

static lc_status
read_tuple(struct reader *r, const struct lc__json *array, lc_value **out)
{
	*out = lc_value_tuple();
	return read_items(r, array, *out);
}

static lc_status
set_name(struct reader *r, lc_value *map, const char *name, const struct lc__json *json)
{
	const size_t size = r->path.size;
	lc_value *part = NULL;

	if (*name == '\0')
		return bad(r, "a name is empty");
	lc__path_name(&r->path, name);
	return_if_error(read_part(r, json, &part));
	lc_value_set(map, name, part);
	lc__path_cut(&r->path, size);
	return LC_OK;
}

/* ["name", value], or [{"$str": base64}, value] */
static lc_status
read_pair(struct reader *r, const struct lc__json *pair, lc_value *map)
{
	const struct lc__json *name = pair->kind == LC__JSON_ARRAY && pair->count == 2
	    ? lc__json_first(pair)
	    : NULL;
	const struct lc__json *coded = lc__json_get(name, "$str");
	char *bytes = NULL;
	size_t size;
	lc_status status;

	if (name == NULL || (name->kind != LC__JSON_STRING && coded == NULL))
		return bad(r, "$map is no list of pairs of a name and a value");
	if (coded != NULL) {
		return_if_error(decode_base64(r, coded, &bytes, &size));
	} else {
		bytes = strdup(name->string);
		size = name->string_size;
	}
	if (bytes == NULL)
		status = lc__no_memory(NULL);
	else if (strlen(bytes) != size)
		status = bad(r, "a name holds a NUL");
	else
		status = set_name(r, map, bytes, lc__json_after(pair, name));
	free(bytes);
	return status;
}

static lc_status
read_pairs(struct reader *r, const struct lc__json *array, lc_value **out)
{
	const struct lc__json *pair;

	*out = lc_value_map();
	if (array->kind != LC__JSON_ARRAY)
		return bad(r, "$map is no list of pairs of a name and a value");
	lc__json_each(pair, array) return_if_error(read_pair(r, pair, *out));
	return LC_OK;
}

static const struct {
	const char *name;
	lc_status (*read)(struct reader *r, const struct lc__json *json, lc_value **out);
} specials[] = {
	{ "$tuple", read_tuple },
	{ "$bytes", read_bytes },
	{ "$str", read_str },
	{ "$u64", read_u64 },
	{ "$float", read_float },
	{ "$map", read_pairs },
};

static lc_status
read_special(struct reader *r, const struct lc__json *object, const char *name,
    lc_value **out)
{
	if (lc__json_get(object, "$tensor") != NULL)
		return read_tensor(r, object, out);
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
		if (strcmp(name, specials[i].name) == 0 && object->count == 1)
			return specials[i].read(r, lc__json_first(object), out);
	return bad(r,
	    "an object with '%.60s' has no meaning here; a map with such "
	    "a name is {\"$map\": [[name, value], ...]}",
	    name);
}

/* The members of an object but for one, which may be NULL. */
static lc_status
read_object(struct reader *r, const struct lc__json *object, const struct lc__json *but,
    lc_value **out)
{
	const struct lc__json *item;

	lc__json_each(item, object) if (*item->name == '$' &&
	    item != but) return read_special(r, object, item->name, out);
	*out = lc_value_map();
	lc__json_each(item, object) if (item != but)
	    return_if_error(set_name(r, *out, item->name, item));
	return LC_OK;
}

/* Without a point and an exponent a number is an integer; both kinds have 64 bits. */
static lc_status
read_number(struct reader *r, const struct lc__json *json, lc_value **out)
{
	const int size = json->source.size < 60 ? (int)json->source.size : 60;
	int64_t integer;
	double real;

	if (lc__json_int64(json, &integer)) {
		*out = lc_value_integer(integer);
		return LC_OK;
	}
	if (lc__json_is_integer(json))
		return bad(r,
		    "the integer %.*s is outside of -2^63 to 2^63 - 1; to 2^64 - 1 "
		    "it is {\"$u64\": \"decimal\"}",
		    size, json->source.text);
	if (!lc__json_double(json, &real) || isinf(real))
		return bad(r, "%.*s is too large for a float", size, json->source.text);
	*out = lc_value_float(real);
	return LC_OK;
}

static lc_status
read_kind(struct reader *r, const struct lc__json *json, lc_value **out)
{
	switch (json->kind) {
	case LC__JSON_OBJECT: return read_object(r, json, NULL, out);
	case LC__JSON_ARRAY: return read_list(r, json, out);
	case LC__JSON_STRING:
		*out = lc_value_strn(json->string, json->string_size);
		return LC_OK;
	case LC__JSON_NUMBER: return read_number(r, json, out);
	case LC__JSON_NULL: *out = lc_value_nil(); return LC_OK;
	default: *out = lc_value_boolean(json->kind == LC__JSON_TRUE); return LC_OK;
	}
}

static lc_status
read_part(struct reader *r, const struct lc__json *json, lc_value **out)
{
	lc_value *value = NULL;
	lc_status status;

	if (++r->depth > LC_MAX_DEPTH)
		return lc__error(LC_INVALID, 0, "nested deeper than %d", LC_MAX_DEPTH);
	status = read_kind(r, json, &value);
	r->depth--;
	if (status == LC_OK)
		*out = value;
	else
		lc_value_free(value);
	return status;
}

static lc_status
parse(const void *text, size_t size, struct lc__json_tree *out)
{
	static const struct lc__json_rules rules = { .nul = true };
	const lc_status status = lc__json_parse(text, size, &rules, out);

	if (status != LC_CORRUPT)
		return status;
	(void)lc__error_as(LC_INVALID);
	return lc__error_prefix("not JSON");
}

static lc_status
read_root(const struct lc__json *json, const struct lc__json *but, lc__json_open open,
    void *ctx, struct lc__loaded *out)
{
	struct reader r = {
		.open = open,
		.ctx = ctx,
		.loaded = out,
		.depth = but != NULL,
	};
	lc_status status = but != NULL ? read_object(&r, json, but, &out->value)
				       : read_part(&r, json, &out->value);

	if (status == LC_OK)
		status = lc_value_check(out->value);
	lc__buf_free(&r.path);
	return status;
}

lc_status
lc__value_json_read(const void *text, size_t size, lc__json_open open, void *ctx,
    struct lc__loaded *out)
{
	struct lc__json_tree tree = { 0 };
	lc_status status = parse(text, size, &tree);

	if (status == LC_OK)
		status = read_root(tree.values, NULL, open, ctx, out);
	lc__json_free(&tree);
	return status;
}

lc_status
lc__value_json_split(const void *text, size_t size, const char *name,
    struct lc__loaded *rest, struct lc__loaded *member)
{
	struct lc__json_tree tree = { 0 };
	const struct lc__json *part = NULL;
	lc_status status = parse(text, size, &tree);

	if (status == LC_OK)
		part = lc__json_get(tree.values, name);
	if (part != NULL)
		status = read_root(part, NULL, NULL, NULL, member);
	if (status == LC_OK)
		status = read_root(tree.values, part, NULL, NULL, rest);
	lc__json_free(&tree);
	return status;
}
