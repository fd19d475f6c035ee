/* SPDX-License-Identifier: BSD-2-Clause */
/* The tool's only user of jansson. */
#include "jsonrecord.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/base64.h"
#include "json.h"
#include "size.h"

void
jsonrecord_write(FILE *out, lc_id id, const lc_tensor *tensor)
{
	struct json json = { out, false };

	jw_open(&json, NULL, '{');
	jw_id(&json, id);
	jw_type(&json, tensor);
	jw_key(&json, "data");
	putc('"', out);
	lc__base64_write(out, tensor->data, tensor->nbytes);
	putc('"', out);
	jw_end_line(&json);
}

/* A base64 member, decoded into new memory. */
static lc_status
read_base64(const json_t *value, const char *name, void **out, size_t *size)
{
	const size_t length = json_string_length(value);
	char *text;

	if (!json_is_string(value))
		return lc__error(LC_INVALID, 0, "%s is no text", name);
	text = malloc(length + 1);
	if (text == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	memcpy(text, json_string_value(value), length + 1);
	if (!lc__base64_decode(text, length, size)) {
		free(text);
		return lc__error(LC_INVALID, 0, "%s is not base64", name);
	}
	*out = text;
	return LC_OK;
}

static lc_status
read_id(const json_t *root, struct jsonrecord *out)
{
	const json_t *id = json_object_get(root, "id");
	const json_t *coded = json_object_get(root, "id_base64");

	if ((id == NULL) == (coded == NULL))
		return lc__error(LC_INVALID, 0,
		    "a record has either id or id_base64");
	if (coded != NULL) {
		return_if_error(read_base64(coded, "id_base64",
		    &out->decoded_id, &out->id.size));
		out->id.data = out->decoded_id;
	} else if (json_is_string(id)) {
		out->id.data = json_string_value(id);
		out->id.size = json_string_length(id);
	} else {
		return lc__error(LC_INVALID, 0, "id is no text");
	}
	if (out->id.size == 0 || out->id.size > LC_MAX_ID)
		return lc__error(LC_INVALID, 0, "the cache_id has %zu bytes, not "
		    "1 to %d", out->id.size, LC_MAX_ID);
	return LC_OK;
}

static lc_status
read_shape(const json_t *value, uint32_t *ndim, uint64_t shape[LC_MAX_NDIM])
{
	const size_t n = json_array_size(value);

	if (!json_is_array(value))
		return lc__error(LC_INVALID, 0, "shape is no list");
	if (n > LC_MAX_NDIM)
		return lc__error(LC_INVALID, 0, "shape has more than %d dimensions",
		    LC_MAX_NDIM);
	for (size_t i = 0; i < n; i++) {
		const json_t *dim = json_array_get(value, i);
		if (!json_is_integer(dim) || json_integer_value(dim) < 0)
			return lc__error(LC_INVALID, 0,
			    "dimension %zu of shape is no count", i);
		shape[i] = (uint64_t)json_integer_value(dim);
	}
	*ndim = (uint32_t)n;
	return LC_OK;
}

static lc_status
read_tensor(const json_t *root, struct jsonrecord *out)
{
	const json_t *name = json_object_get(root, "dtype");
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim = 0;
	lc_dtype dtype;
	size_t size = 0;
	char bytes[SIZE_TEXT];

	if (!json_is_string(name))
		return lc__error(LC_INVALID, 0, "dtype is missing or no text");
	return_if_error(lc_dtype_parse(json_string_value(name), &dtype));
	return_if_error(read_shape(json_object_get(root, "shape"), &ndim, shape));
	return_if_error(read_base64(json_object_get(root, "data"), "data",
	    &out->data, &size));
	return_if_error(lc_tensor_init(&out->tensor, dtype, ndim, shape,
	    out->data));
	if (size != out->tensor.nbytes)
		return lc__error(LC_INVALID, 0, "data has %s, its shape takes %zu",
		    count_human(size, "byte", bytes, sizeof(bytes)),
		    out->tensor.nbytes);
	return LC_OK;
}

lc_status
jsonrecord_read(const char *line, size_t size, struct jsonrecord *out)
{
	struct jsonrecord record = { 0 };
	json_error_t error;
	json_t *root = json_loadb(line, size, JSON_REJECT_DUPLICATES |
	    JSON_ALLOW_NUL, &error);
	lc_status status;

	if (root == NULL)
		return lc__error(LC_INVALID, 0, "not JSON: %s", error.text);
	record.root = root;
	status = json_is_object(root) ? read_id(root, &record) :
	    lc__error(LC_INVALID, 0, "not a JSON object");
	if (status == LC_OK)
		status = read_tensor(root, &record);
	if (status == LC_OK)
		*out = record;
	else
		jsonrecord_free(&record);
	return status;
}

void
jsonrecord_free(struct jsonrecord *record)
{
	json_decref(record->root);
	free(record->data);
	free(record->decoded_id);
}
