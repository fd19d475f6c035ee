/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading values; value_json_write.c writes them. */
#include "formats/value_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/base64.h"
#include "format/json_parse.h"
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
static lc_status read_part(struct reader *r, const json_t *json, lc_value **out);

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

/* The bytes of a base64 string in new memory, with a NUL behind them. */
static lc_status
decode_base64(struct reader *r, const json_t *json, char **out, size_t *size)
{
	const size_t length = json_string_length(json);
	char *bytes;

	if (!json_is_string(json))
		return bad(r, "base64 is no text");
	bytes = malloc(length + 1);
	if (bytes == NULL)
		return lc__no_memory(NULL);
	memcpy(bytes, json_string_value(json), length);
	if (!lc__base64_decode(bytes, length, size)) {
		free(bytes);
		return bad(r, "not base64");
	}
	bytes[*size] = '\0';
	*out = bytes;
	return LC_OK;
}

static lc_status
read_bytes(struct reader *r, const json_t *json, lc_value **out)
{
	char *bytes;
	size_t size;

	return_if_error(decode_base64(r, json, &bytes, &size));
	*out = lc_value_bytes(bytes, size);
	free(bytes);
	return LC_OK;
}

static lc_status
read_str(struct reader *r, const json_t *json, lc_value **out)
{
	char *bytes;
	size_t size;

	return_if_error(decode_base64(r, json, &bytes, &size));
	*out = lc_value_strn(bytes, size);
	free(bytes);
	return LC_OK;
}

static lc_status
read_u64(struct reader *r, const json_t *json, lc_value **out)
{
	const char *text = json_is_string(json) ? json_string_value(json) : "";
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
read_float(struct reader *r, const json_t *json, lc_value **out)
{
	const char *text = json_is_string(json) ? json_string_value(json) : "";

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
read_type(struct reader *r, const json_t *json, lc_tensor *out)
{
	if (lc__tensor_type_parse(json_string_value(json), json_string_length(json),
	    out) != LC_OK)
		return bad(r, "%s", lc_last_error()->text);
	return LC_OK;
}

static lc_status
read_data(struct reader *r, const json_t *json, lc_tensor *tensor)
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
read_tensor(struct reader *r, const json_t *object, lc_value **out)
{
	const json_t *type = json_object_get(object, "$tensor");
	const json_t *data = json_object_get(object, "data");
	const json_t *file = json_object_get(object, "file");
	lc_tensor tensor;

	if (!json_is_string(type))
		return bad(r, "$tensor is no text");
	if (json_object_size(object) != 1u + (data != NULL) + (file != NULL) ||
	    (data != NULL && file != NULL))
		return bad(r, "a tensor has $tensor and either data or file");
	return_if_error(read_type(r, type, &tensor));
	if (data != NULL)
		return_if_error(read_data(r, data, &tensor));
	else if (file != NULL && json_is_string(file) && r->open != NULL)
		return_if_error(r->open(r->ctx, json_string_value(file), &tensor,
		    r->loaded));
	else if (file != NULL)
		return bad(r, "a tensor in a file stands only in a directory's "
		    "value.json");
	else
		return bad(r, "the data of the tensor %.60s is not here",
		    json_string_value(type));
	*out = lc_value_tensor(&tensor);
	return LC_OK;
}

/* ---- structure -------------------------------------------------------------- */

/* Into a list or tuple that is being built; the caller frees it. */
static lc_status
read_items(struct reader *r, const json_t *array, lc_value *into)
{
	const size_t size = r->path.size;

	if (!json_is_array(array))
		return bad(r, "no list");
	for (size_t i = 0; i < json_array_size(array); i++) {
		lc_value *item = NULL;
		lc__path_index(&r->path, i);
		return_if_error(read_part(r, json_array_get(array, i), &item));
		lc_value_append(into, item);
		lc__path_cut(&r->path, size);
	}
	return LC_OK;
}

static lc_status
read_list(struct reader *r, const json_t *array, lc_value **out)
{
	*out = lc_value_list();
	return read_items(r, array, *out);
}

static lc_status
read_tuple(struct reader *r, const json_t *array, lc_value **out)
{
	*out = lc_value_tuple();
	return read_items(r, array, *out);
}

static lc_status
set_name(struct reader *r, lc_value *map, const char *name, const json_t *json)
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
read_pair(struct reader *r, const json_t *pair, lc_value *map)
{
	const json_t *name = json_array_get(pair, 0);
	const json_t *coded = json_object_get(name, "$str");
	char *bytes = NULL;
	size_t size;
	lc_status status;

	if (json_array_size(pair) != 2 || (!json_is_string(name) && coded == NULL))
		return bad(r, "$map is no list of pairs of a name and a value");
	if (coded != NULL) {
		return_if_error(decode_base64(r, coded, &bytes, &size));
	} else {
		bytes = strdup(json_string_value(name));
		size = json_string_length(name);
	}
	if (bytes == NULL)
		status = lc__no_memory(NULL);
	else if (strlen(bytes) != size)
		status = bad(r, "a name holds a NUL");
	else
		status = set_name(r, map, bytes, json_array_get(pair, 1));
	free(bytes);
	return status;
}

static lc_status
read_pairs(struct reader *r, const json_t *array, lc_value **out)
{
	*out = lc_value_map();
	if (!json_is_array(array))
		return bad(r, "$map is no list of pairs of a name and a value");
	for (size_t i = 0; i < json_array_size(array); i++)
		return_if_error(read_pair(r, json_array_get(array, i), *out));
	return LC_OK;
}

static const struct {
	const char *name;
	lc_status (*read)(struct reader *r, const json_t *json, lc_value **out);
} specials[] = {
	{ "$tuple", read_tuple }, { "$bytes", read_bytes }, { "$str", read_str },
	{ "$u64", read_u64 }, { "$float", read_float }, { "$map", read_pairs },
};

static lc_status
read_special(struct reader *r, const json_t *object, const char *name,
    lc_value **out)
{
	if (json_object_get(object, "$tensor") != NULL)
		return read_tensor(r, object, out);
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
		if (strcmp(name, specials[i].name) == 0 &&
		    json_object_size(object) == 1)
			return specials[i].read(r, json_object_get(object, name),
			    out);
	return bad(r, "an object with '%.60s' has no meaning here; a map with such "
	    "a name is {\"$map\": [[name, value], ...]}", name);
}

static lc_status
read_object(struct reader *r, const json_t *object, lc_value **out)
{
	const char *name;
	json_t *json;

	json_object_foreach((json_t *)object, name, json)
		if (*name == '$')
			return read_special(r, object, name, out);
	*out = lc_value_map();
	json_object_foreach((json_t *)object, name, json)
		return_if_error(set_name(r, *out, name, json));
	return LC_OK;
}

static lc_status
read_kind(struct reader *r, const json_t *json, lc_value **out)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return read_object(r, json, out);
	case JSON_ARRAY:
		return read_list(r, json, out);
	case JSON_STRING:
		*out = lc_value_strn(json_string_value(json),
		    json_string_length(json));
		return LC_OK;
	case JSON_INTEGER:
		*out = lc_value_integer(json_integer_value(json));
		return LC_OK;
	case JSON_REAL:
		*out = lc_value_float(json_real_value(json));
		return LC_OK;
	case JSON_NULL:
		*out = lc_value_nil();
		return LC_OK;
	default:
		*out = lc_value_boolean(json_is_true(json));
		return LC_OK;
	}
}

static lc_status
read_part(struct reader *r, const json_t *json, lc_value **out)
{
	lc_value *value = NULL;
	lc_status status;

	if (++r->depth > LC_MAX_DEPTH)
		return lc__error(LC_INVALID, 0, "nested deeper than %d",
		    LC_MAX_DEPTH);
	status = read_kind(r, json, &value);
	r->depth--;
	if (status == LC_OK)
		*out = value;
	else
		lc_value_free(value);
	return status;
}

static lc_status
parse(const void *text, size_t size, json_t **out)
{
	json_error_t error;

	*out = lc__json_parse(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL |
	    JSON_DECODE_ANY, &error);
	if (*out != NULL)
		return LC_OK;
	if (json_error_code(&error) == json_error_out_of_memory)
		return lc__no_memory(NULL);
	return lc__error(LC_INVALID, 0, "not JSON: %s (line %d, column %d)",
	    error.text, error.line, error.column);
}

static lc_status
read_root(const json_t *json, lc__json_open open, void *ctx,
    struct lc__loaded *out)
{
	struct reader r = { .open = open, .ctx = ctx, .loaded = out };
	lc_status status = read_part(&r, json, &out->value);

	if (status == LC_OK)
		status = lc_value_check(out->value);
	lc__buf_free(&r.path);
	return status;
}

lc_status
lc__value_json_read(const void *text, size_t size, lc__json_open open, void *ctx,
    struct lc__loaded *out)
{
	json_t *json;
	lc_status status;

	return_if_error(parse(text, size, &json));
	status = read_root(json, open, ctx, out);
	json_decref(json);
	return status;
}

lc_status
lc__value_json_split(const void *text, size_t size, const char *name,
    struct lc__loaded *rest, struct lc__loaded *member)
{
	json_t *json, *part;
	lc_status status = LC_OK;

	return_if_error(parse(text, size, &json));
	part = json_incref(json_object_get(json, name));
	if (part != NULL) {
		json_object_del(json, name);
		status = read_root(part, NULL, NULL, member);
	}
	if (status == LC_OK)
		status = read_root(json, NULL, NULL, rest);
	json_decref(part);
	json_decref(json);
	return status;
}
