/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/json.h"

#include <string.h>

#include "base/json_write.h"
#include "base/utf8.h"
#include "formats/base64.h"

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

void
jw_text(struct json *json, const char *key, const char *text)
{
	jw_key(json, key);
	lc__json_string(json->out, text, strlen(text));
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
jw_null(struct json *json, const char *key)
{
	jw_key(json, key);
	fputs("null", json->out);
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
	if (lc__utf8_valid(id.data, id.size)) {
		jw_key(json, "id");
		lc__json_string(json->out, id.data, id.size);
		return;
	}
	jw_key(json, "id_base64");
	putc('"', json->out);
	lc__base64_write(json->out, id.data, id.size);
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
