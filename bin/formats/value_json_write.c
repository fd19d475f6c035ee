/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "formats/base64.h"
#include "formats/value_json.h"
#include "value/path.h"
#include "value/tensor.h"

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
write_integer(struct writer *w, const lc_value *value)
{
	uint64_t large;
	int64_t number;

	/* Above 2^63-1 it is no int64_t: that is asked first, as it may fail. */
	if (lc_value_as_integer(value, &number) == LC_OK) {
		fprintf(w->out, "%lld", (long long)number);
		return LC_OK;
	}
	return_if_error(lc_value_as_unsigned(value, &large));
	fprintf(w->out, "{\"$u64\":\"%llu\"}", (unsigned long long)large);
	return LC_OK;
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
	size_t size;
	int truth;

	switch (lc_value_kind(value)) {
	case LC_BOOLEAN:
		return_if_error(lc_value_as_boolean(value, &truth));
		fputs(truth ? "true" : "false", w->out);
		return LC_OK;
	case LC_INTEGER: return write_integer(w, value);
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
write_file(struct writer *w, const lc_tensor *tensor)
{
	struct lc__buf name = { 0 };
	lc_status status = w->tensors->file(w->tensors->ctx, lc__path_text(&w->path),
	    tensor, &name);

	if (status == LC_OK && name.failed)
		status = lc__no_memory(NULL);
	if (status == LC_OK) {
		fputs(",\"file\":", w->out);
		lc__json_string(w->out, name.data, name.size);
	}
	lc__buf_free(&name);
	return status;
}

static lc_status
write_tensor(struct writer *w, const lc_value *value)
{
	char type[LC__TENSOR_TEXT];
	lc_tensor tensor;

	return_if_error(lc_value_as_tensor(value, &tensor));
	fprintf(w->out, "{\"$tensor\":\"%s\"",
	    lc__tensor_describe(&tensor, type, sizeof(type)));
	if (w->tensors->data == LC__JSON_DATA) {
		fputs(",\"data\":\"", w->out);
		lc__base64_write(w->out, tensor.data, tensor.nbytes);
		putc('"', w->out);
	} else if (w->tensors->data == LC__JSON_FILE) {
		return_if_error(write_file(w, &tensor));
	}
	putc('}', w->out);
	return LC_OK;
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
write_tuple(struct writer *w, const lc_value *tuple)
{
	fputs("{\"$tuple\":", w->out);
	return_if_error(write_list(w, tuple));
	putc('}', w->out);
	return LC_OK;
}

static bool
needs_escape(const lc_value *map)
{
	for (size_t i = 0; i < lc_value_count(map); i++) {
		const char *name = lc_value_name(map, i);
		if (*name == '$' || !lc__utf8_valid(name, strlen(name)))
			return true;
	}
	return false;
}

static lc_status
write_map(struct writer *w, const lc_value *map)
{
	const bool escape = needs_escape(map);
	const size_t size = w->path.size;

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

/* LC_MAX_DEPTH bounds the recursion: no value is deeper. */
static lc_status
write_part(struct writer *w, const lc_value *value)
{
	switch (lc_value_kind(value)) {
	case LC_TENSOR: return write_tensor(w, value);
	case LC_MAP: return write_map(w, value);
	case LC_LIST: return write_list(w, value);
	case LC_TUPLE: return write_tuple(w, value);
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
