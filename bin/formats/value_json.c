/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/value_json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_tree.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "formats/base64.h"
#include "value/path.h"
#include "value/tensor.h"

/* ---- reading ----------------------------------------------------------------- */

struct reader {
	lc__json_open open;
	void *ctx;                 /* of open() */
	struct lc__loaded *loaded; /* memory of tensors */
	struct lc__buf path;       /* of the part being read */
	size_t depth;              /* depth of that part */
};

/* Each reads one kind, and returns a value that the caller owns, or sets the error. */
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

/* The bytes of a base64 string in new memory, with a NUL after them. */
static lc_status
decode_base64(struct reader *r, const struct lc__json *json, char **out, size_t *size)
{
	char *bytes;

	if (!lc__json_is(json, LC__JSON_STRING))
		return bad(r, "base64 is not text");
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
		return bad(r, "$u64 is not a decimal number below 2^64 in quotes");
	*out = lc_value_unsigned(number);
	return LC_OK;
}

static lc_status
read_float(struct reader *r, const struct lc__json *json, lc_value **out)
{
	const char *text = json->string != NULL ? json->string : "";

	uint64_t bits;
	double number;

	/* "nan:" and 16 digits: the bits of a NaN. */
	if (strncmp(text, "nan:", 4) == 0) {
		text += 4;
		bits = strtoull(text, NULL, 16);
		memcpy(&number, &bits, sizeof(number));
		if (strspn(text, "0123456789abcdefABCDEF") != 16 || text[16] != '\0' ||
		    !isnan(number))
			return bad(r, "$float has no bits of a NaN");
		*out = lc_value_float(number);
	} else if (strcmp(text, "nan") == 0)
		*out = lc_value_float((double)NAN);
	else if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0)
		*out = lc_value_float((*text == '-' ? -1 : 1) * (double)INFINITY);
	else
		return bad(r, "$float is not one of nan, inf, -inf");
	return LC_OK;
}

static lc_status
read_tensor(struct reader *r, const struct lc__json *object, lc_value **out)
{
	const struct lc__json *type = lc__json_get(object, "$tensor");
	const struct lc__json *data = lc__json_get(object, "data");
	const struct lc__json *file = lc__json_get(object, "file");
	lc_tensor tensor;
	char *bytes;
	size_t size;

	if (!lc__json_is(type, LC__JSON_STRING))
		return bad(r, "$tensor is not text");
	if (object->count != 1u + (data != NULL) + (file != NULL) ||
	    (data != NULL && file != NULL))
		return bad(r, "a tensor has $tensor and either data or file");
	if (lc__tensor_type_parse(type->string, type->string_size, &tensor) != LC_OK)
		return bad(r, "%s", lc_last_error()->text);
	if (data != NULL) {
		return_if_error(decode_base64(r, data, &bytes, &size));
		return_if_error(lc__loaded_own(r->loaded, bytes));
		if (size != tensor.nbytes)
			return bad(r, "data has %zu bytes; its type needs %zu", size,
			    tensor.nbytes);
		tensor.data = bytes;
	} else if (lc__json_is(file, LC__JSON_STRING) && r->open != NULL)
		return_if_error(r->open(r->ctx, file->string, &tensor, r->loaded));
	else if (file != NULL)
		return bad(r,
		    "a tensor in a file is allowed only in a directory's value.json");
	else
		return bad(r, "the data of the tensor %.60s is not here", type->string);
	*out = lc_value_tensor(&tensor);
	return LC_OK;
}

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

/* A name, "text" or {"$str": base64}, in new memory. */
static lc_status
read_name(struct reader *r, const struct lc__json *name, char **out)
{
	const struct lc__json *coded = lc__json_get(name, "$str");
	char *text;
	size_t size;

	if (coded != NULL) {
		return_if_error(decode_base64(r, coded, &text, &size));
	} else if (!lc__json_is(name, LC__JSON_STRING)) {
		return bad(r, "a name is not text");
	} else {
		text = strdup(name->string);
		size = name->string_size;
	}
	if (text == NULL)
		return lc__no_memory(NULL);
	if (strlen(text) == size) {
		*out = text;
		return LC_OK;
	}
	free(text);
	return bad(r, "a name holds a NUL");
}

/* ["tag", value] */
static lc_status
read_tagged(struct reader *r, const struct lc__json *array, lc_value **out)
{
	const struct lc__json *tag = array->kind == LC__JSON_ARRAY && array->count == 2
	    ? lc__json_first(array)
	    : NULL;
	const size_t size = r->path.size;
	lc_value *part = NULL;
	char *text;
	lc_status status;

	if (tag == NULL)
		return bad(r, "$tagged is not a list of a tag and a value");
	return_if_error(read_name(r, tag, &text));
	lc__path_name(&r->path, text);
	status = read_part(r, lc__json_after(array, tag), &part);
	if (status == LC_OK)
		*out = lc_value_tagged(text, part);
	lc__path_cut(&r->path, size);
	free(text);
	return status;
}

/* [[key, value], ...] */
static lc_status
read_pairs(struct reader *r, const struct lc__json *array, lc_value **out)
{
	const size_t size = r->path.size;
	const struct lc__json *pair;
	size_t i = 0;

	*out = lc_value_pairs();
	if (array->kind != LC__JSON_ARRAY)
		return bad(r, "$pairs is not a list of pairs of a key and a value");
	lc__json_each(pair, array)
	{
		lc_value *part[2] = { NULL, NULL };
		const struct lc__json *json = pair->kind == LC__JSON_ARRAY
		    ? lc__json_first(pair)
		    : NULL;

		if (json == NULL || pair->count != 2)
			return bad(r,
			    "$pairs is not a list of pairs of a key and a value");
		for (size_t j = 0; j < 2; j++, json = lc__json_after(pair, json)) {
			lc_status status;

			lc__path_index(&r->path, i++);
			status = read_part(r, json, &part[j]);
			if (status != LC_OK) {
				lc_value_free(part[0]);
				return status;
			}
			lc__path_cut(&r->path, size);
		}
		lc_value_pair(*out, part[0], part[1]);
	}
	return LC_OK;
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

/* ["name", value] */
static lc_status
read_member(struct reader *r, const struct lc__json *pair, lc_value *map)
{
	const struct lc__json *name = pair->kind == LC__JSON_ARRAY && pair->count == 2
	    ? lc__json_first(pair)
	    : NULL;
	char *text;
	lc_status status;

	if (name == NULL ||
	    (name->kind != LC__JSON_STRING && lc__json_get(name, "$str") == NULL))
		return bad(r, "$map is not a list of pairs of a name and a value");
	return_if_error(read_name(r, name, &text));
	status = set_name(r, map, text, lc__json_after(pair, name));
	free(text);
	return status;
}

static lc_status
read_members(struct reader *r, const struct lc__json *array, lc_value **out)
{
	const struct lc__json *pair;

	*out = lc_value_map();
	if (array->kind != LC__JSON_ARRAY)
		return bad(r, "$map is not a list of pairs of a name and a value");
	lc__json_each(pair, array) return_if_error(read_member(r, pair, *out));
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
	{ "$map", read_members },
	{ "$tagged", read_tagged },
	{ "$pairs", read_pairs },
};

/* The members of an object but for one, which may be NULL. */
static lc_status
read_object(struct reader *r, const struct lc__json *object, const struct lc__json *but,
    lc_value **out)
{
	const struct lc__json *item;

	lc__json_each(item, object)
	{
		if (*item->name != '$' || item == but)
			continue;
		if (lc__json_get(object, "$tensor") != NULL)
			return read_tensor(r, object, out);
		for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
			if (strcmp(item->name, specials[i].name) == 0 &&
			    object->count == 1)
				return specials[i].read(r, lc__json_first(object), out);
		return bad(r,
		    "an object with '%.60s' has no meaning here; a map with such "
		    "a name is {\"$map\": [[name, value], ...]}",
		    item->name);
	}
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
read_part(struct reader *r, const struct lc__json *json, lc_value **out)
{
	lc_value *value = NULL;
	lc_status status = LC_OK;

	if (++r->depth > LC_MAX_DEPTH)
		return lc__error(LC_INVALID, 0, "nested deeper than %d", LC_MAX_DEPTH);
	switch (json->kind) {
	case LC__JSON_OBJECT: status = read_object(r, json, NULL, &value); break;
	case LC__JSON_ARRAY: status = read_list(r, json, &value); break;
	case LC__JSON_STRING:
		value = lc_value_strn(json->string, json->string_size);
		break;
	case LC__JSON_NUMBER: status = read_number(r, json, &value); break;
	case LC__JSON_NULL: value = lc_value_nil(); break;
	default: value = lc_value_boolean(json->kind == LC__JSON_TRUE); break;
	}
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

/* ---- writing ----------------------------------------------------------------- */

#define PLAIN_NAN UINT64_C(0x7ff8000000000000)

struct writer {
	FILE *out;
	const struct lc__json_tensors *tensors;
	struct lc__buf path; /* of the part being written */
};

static lc_status write_part(struct writer *w, const lc_value *value);

static void
put_base64(FILE *out, const char *key, const void *data, size_t size)
{
	fprintf(out, "{\"%s\":\"", key);
	lc__base64_write(out, data, size);
	fputs("\"}", out);
}

static void
put_text(FILE *out, const char *text, size_t size)
{
	if (lc__utf8_valid(text, size))
		lc__json_string(out, text, size);
	else
		put_base64(out, "$str", text, size);
}

static lc_status
write_float(struct writer *w, const lc_value *value)
{
	double number;
	uint64_t bits;

	return_if_error(lc_value_as_float(value, &number));
	memcpy(&bits, &number, sizeof(bits));
	if (isnan(number) && bits != PLAIN_NAN)
		fprintf(w->out, "{\"$float\":\"nan:%016llx\"}", (unsigned long long)bits);
	else if (isnan(number))
		fputs("{\"$float\":\"nan\"}", w->out);
	else if (isinf(number))
		fprintf(w->out, "{\"$float\":\"%s\"}", number < 0 ? "-inf" : "inf");
	else
		lc__json_real(w->out, number);
	return LC_OK;
}

static lc_status
write_plain(struct writer *w, const lc_value *value)
{
	const char *text;
	const void *bytes;
	uint64_t large;
	int64_t number;
	size_t size;
	int truth;

	switch (lc_value_kind(value)) {
	case LC_BOOLEAN:
		return_if_error(lc_value_as_boolean(value, &truth));
		fputs(truth ? "true" : "false", w->out);
		return LC_OK;
	case LC_INTEGER:
		/* An integer above 2^63-1 does not fit an int64_t. The larger type is
		 * tried last, as it fails for negative ones. */
		if (lc_value_as_integer(value, &number) == LC_OK) {
			fprintf(w->out, "%lld", (long long)number);
			return LC_OK;
		}
		return_if_error(lc_value_as_unsigned(value, &large));
		fprintf(w->out, "{\"$u64\":\"%llu\"}", (unsigned long long)large);
		return LC_OK;
	case LC_FLOAT: return write_float(w, value);
	case LC_STRING:
		return_if_error(lc_value_as_str(value, &text, &size));
		put_text(w->out, text, size);
		return LC_OK;
	case LC_BYTES:
		return_if_error(lc_value_as_bytes(value, &bytes, &size));
		put_base64(w->out, "$bytes", bytes, size);
		return LC_OK;
	default: fputs("null", w->out); return LC_OK;
	}
}

static lc_status
write_tensor(struct writer *w, const lc_value *value)
{
	struct lc__buf name = { 0 };
	char type[LC__TENSOR_TEXT];
	lc_tensor tensor;
	lc_status status = LC_OK;

	return_if_error(lc_value_as_tensor(value, &tensor));
	fprintf(w->out, "{\"$tensor\":\"%s\"",
	    lc__tensor_describe(&tensor, type, sizeof(type)));
	if (w->tensors->data == LC__JSON_DATA) {
		fputs(",\"data\":\"", w->out);
		lc__base64_write(w->out, tensor.data, tensor.nbytes);
		putc('"', w->out);
	} else if (w->tensors->data == LC__JSON_FILE) {
		status = w->tensors->file(w->tensors->ctx, lc__path_text(&w->path),
		    &tensor, &name);
		if (status == LC_OK && name.failed)
			status = lc__no_memory(NULL);
		if (status == LC_OK) {
			fputs(",\"file\":", w->out);
			lc__json_string(w->out, name.data, name.size);
		}
		lc__buf_free(&name);
	}
	if (status == LC_OK)
		putc('}', w->out);
	return status;
}

static lc_status
write_list(struct writer *w, const lc_value *list)
{
	const size_t size = w->path.size;

	putc('[', w->out);
	for (size_t i = 0; i < lc_value_count(list); i++) {
		if (i > 0)
			putc(',', w->out);
		lc__path_index(&w->path, i);
		return_if_error(write_part(w, lc_value_at(list, i)));
		lc__path_cut(&w->path, size);
	}
	putc(']', w->out);
	return LC_OK;
}

static lc_status
write_map(struct writer *w, const lc_value *map)
{
	const size_t size = w->path.size;
	bool escape = false;

	for (size_t i = 0; i < lc_value_count(map) && !escape; i++) {
		const char *name = lc_value_name(map, i);

		escape = *name == '$' || !lc__utf8_valid(name, strlen(name));
	}
	fputs(escape ? "{\"$map\":[" : "{", w->out);
	for (size_t i = 0; i < lc_value_count(map); i++) {
		const char *name = lc_value_name(map, i);
		fputs(i > 0 ? "," : "", w->out);
		fputs(escape ? "[" : "", w->out);
		put_text(w->out, name, strlen(name));
		putc(escape ? ',' : ':', w->out);
		lc__path_name(&w->path, name);
		return_if_error(write_part(w, lc_value_at(map, i)));
		lc__path_cut(&w->path, size);
		fputs(escape ? "]" : "", w->out);
	}
	fputs(escape ? "]}" : "}", w->out);
	return LC_OK;
}

/* ["tag", value] */
static lc_status
write_tagged(struct writer *w, const lc_value *tagged)
{
	const char *tag = lc_value_name(tagged, 0);
	const size_t size = w->path.size;

	fputs("{\"$tagged\":[", w->out);
	put_text(w->out, tag, strlen(tag));
	putc(',', w->out);
	lc__path_name(&w->path, tag);
	return_if_error(write_part(w, lc_value_at(tagged, 0)));
	lc__path_cut(&w->path, size);
	fputs("]}", w->out);
	return LC_OK;
}

/* [[key, value], ...] */
static lc_status
write_pairs(struct writer *w, const lc_value *pairs)
{
	const size_t size = w->path.size;

	fputs("{\"$pairs\":[", w->out);
	for (size_t i = 0; i < lc_value_count(pairs); i++) {
		const bool key = i % 2 == 0;

		fputs(!key ? "," : i > 0 ? ",[" : "[", w->out);
		lc__path_index(&w->path, i);
		return_if_error(write_part(w, lc_value_at(pairs, i)));
		lc__path_cut(&w->path, size);
		fputs(key ? "" : "]", w->out);
	}
	fputs("]}", w->out);
	return LC_OK;
}

/* LC_MAX_DEPTH bounds the recursion: no value is deeper. */
static lc_status
write_part(struct writer *w, const lc_value *value)
{
	switch (lc_value_kind(value)) {
	case LC_TENSOR: return write_tensor(w, value);
	case LC_MAP: return write_map(w, value);
	case LC_LIST: return write_list(w, value);
	case LC_TUPLE:
		fputs("{\"$tuple\":", w->out);
		return_if_error(write_list(w, value));
		putc('}', w->out);
		return LC_OK;
	case LC_TAGGED: return write_tagged(w, value);
	case LC_PAIRS: return write_pairs(w, value);
	default: return write_plain(w, value);
	}
}

lc_status
lc__value_json_write(FILE *out, const lc_value *value,
    const struct lc__json_tensors *tensors)
{
	struct writer w = { .out = out, .tensors = tensors };
	lc_status status = write_part(&w, value);

	if (status == LC_OK && w.path.failed)
		status = lc__no_memory(NULL);
	lc__buf_free(&w.path);
	return status;
}

char *
lc__value_json_text(const lc_value *value)
{
	static const struct lc__json_tensors plain = { .data = LC__JSON_SUMMARY };
	struct lc__buf text = { 0 };
	FILE *out = lc__buf_stream(&text);
	lc_status status;

	if (out == NULL)
		return NULL;
	status = lc__value_json_write(out, value, &plain);
	if (lc__buf_stream_end(out, &text) && status == LC_OK)
		return (char *)text.data;
	lc__buf_free(&text);
	return NULL;
}
