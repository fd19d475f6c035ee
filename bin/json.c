/* SPDX-License-Identifier: BSD-2-Clause */
#include "json.h"

#include <string.h>

#include "base64.h"
#include "utf8.h"

void
jw_key(struct json *json, const char *key)
{
	if (json->comma)
		putc(',', json->out);
	if (key != NULL)
		fprintf(json->out, "\"%s\":", key);
	json->comma = true;
}

void
jw_open(struct json *json, const char *key, char bracket)
{
	jw_key(json, key);
	putc(bracket, json->out);
	json->comma = false;
}

void
jw_close(struct json *json, char bracket)
{
	putc(bracket, json->out);
	json->comma = true;
}

void
jw_end_line(struct json *json)
{
	fputs("}\n", json->out);
	json->comma = false;
}

static void
put_character(FILE *out, const unsigned char *text, size_t size)
{
	if (size == 0)
		fputs("\\ufffd", out);
	else if (*text == '"' || *text == '\\')
		fprintf(out, "\\%c", *text);
	else if (*text < 0x20 || *text == 0x7f)
		fprintf(out, "\\u%04x", *text);
	else
		fwrite(text, 1, size, out);
}

static void
put_string(FILE *out, const void *data, size_t size)
{
	const unsigned char *text = data;

	putc('"', out);
	for (size_t at = 0; at < size;) {
		const size_t n = utf8_length(text + at, size - at);
		put_character(out, text + at, n);
		at += n ? n : 1;
	}
	putc('"', out);
}

void
jw_text(struct json *json, const char *key, const char *text)
{
	jw_key(json, key);
	put_string(json->out, text, strlen(text));
}

void
jw_count(struct json *json, const char *key, uint64_t value)
{
	jw_key(json, key);
	fprintf(json->out, "%llu", (unsigned long long)value);
}

void
jw_real(struct json *json, const char *key, double value)
{
	jw_key(json, key);
	fprintf(json->out, "%.6g", value);
}

void
jw_flag(struct json *json, const char *key, bool value)
{
	jw_key(json, key);
	fputs(value ? "true" : "false", json->out);
}

void
jw_id(struct json *json, lc_id id)
{
	if (utf8_valid(id.data, id.size)) {
		jw_key(json, "id");
		put_string(json->out, id.data, id.size);
		return;
	}
	jw_key(json, "id_base64");
	putc('"', json->out);
	base64_write(json->out, id.data, id.size);
	putc('"', json->out);
}

void
jw_type(struct json *json, const lc_tensor *tensor)
{
	jw_text(json, "dtype", lc_dtype_name(tensor->dtype));
	jw_open(json, "shape", '[');
	for (uint32_t i = 0; i < tensor->ndim; i++)
		jw_count(json, NULL, tensor->shape[i]);
	jw_close(json, ']');
}
