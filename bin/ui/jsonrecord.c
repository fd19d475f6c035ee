/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/jsonrecord.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/base64.h"
#include "formats/value_json.h"
#include "ui/json.h"
#include "ui/size.h"

#define FORMAT 1

void
jsonrecord_write_tensor(FILE *out, lc_id id, const lc_tensor *tensor)
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

lc_status
jsonrecord_write_value(FILE *out, lc_id id, const lc_value *value)
{
	static const struct lc__json_tensors with_data = { .data = LC__JSON_DATA };
	struct json json = { out, false };
	lc_status status;

	jw_open(&json, NULL, '{');
	jw_count(&json, "format", FORMAT);
	jw_id(&json, id);
	jw_key(&json, "value");
	status = lc__value_json_write(out, value, &with_data);
	jw_end_line(&json);
	return status;
}

/* A member of the line's object, NULL if there is none. */
static const lc_value *
member(const struct jsonrecord *record, const char *name)
{
	return lc_value_find(record->line.value, name);
}

/* A base64 member, decoded into new memory. */
static lc_status
read_base64(const lc_value *value, const char *name, void **out, size_t *size)
{
	const char *coded;
	size_t length;
	char *text;

	if (lc_value_as_str(value, &coded, &length) != LC_OK)
		return lc__error(LC_INVALID, 0, "%s is no text", name);
	text = malloc(length + 1);
	if (text == NULL)
		return lc__no_memory(NULL);
	memcpy(text, coded, length + 1);
	if (!lc__base64_decode(text, length, size)) {
		free(text);
		return lc__error(LC_INVALID, 0, "%s is not base64", name);
	}
	*out = text;
	return LC_OK;
}

static lc_status
read_id(struct jsonrecord *record)
{
	const lc_value *id = member(record, "id");
	const lc_value *coded = member(record, "id_base64");
	const char *text;

	if ((id == NULL) == (coded == NULL))
		return lc__error(LC_INVALID, 0, "a record has either id or id_base64");
	if (coded != NULL) {
		return_if_error(read_base64(coded, "id_base64", &record->decoded_id,
		    &record->id.size));
		record->id.data = record->decoded_id;
	} else if (lc_value_as_str(id, &text, &record->id.size) == LC_OK) {
		record->id.data = text;
	} else {
		return lc__error(LC_INVALID, 0, "id is no text");
	}
	if (record->id.size == 0 || record->id.size > LC_MAX_ID)
		return lc__error(LC_INVALID, 0, "the cache_id has %zu bytes, not 1 to %d",
		    record->id.size, LC_MAX_ID);
	return LC_OK;
}

static lc_status
read_shape(const lc_value *list, uint32_t *ndim, uint64_t shape[LC_MAX_NDIM])
{
	const size_t n = lc_value_count(list);
	int64_t dim;

	if (lc_value_kind(list) != LC_LIST)
		return lc__error(LC_INVALID, 0, "shape is no list");
	if (n > LC_MAX_NDIM)
		return lc__error(LC_INVALID, 0, "shape has more than %d dimensions",
		    LC_MAX_NDIM);
	for (size_t i = 0; i < n; i++) {
		if (lc_value_as_integer(lc_value_at(list, i), &dim) != LC_OK || dim < 0)
			return lc__error(LC_INVALID, 0,
			    "dimension %zu of shape is no count", i);
		shape[i] = (uint64_t)dim;
	}
	*ndim = (uint32_t)n;
	return LC_OK;
}

static lc_status
read_data(struct jsonrecord *record, lc_dtype dtype, uint32_t ndim, const uint64_t *shape)
{
	void *data;
	size_t size;
	lc_tensor tensor;
	char bytes[SIZE_TEXT];

	return_if_error(read_base64(member(record, "data"), "data", &data, &size));
	return_if_error(lc__loaded_own(&record->part, data));
	return_if_error(lc_tensor_init(&tensor, dtype, ndim, shape, data));
	if (size != tensor.nbytes)
		return lc__error(LC_INVALID, 0, "data has %s, its shape takes %zu",
		    count_human(size, "byte", bytes, sizeof(bytes)), tensor.nbytes);
	record->part.value = lc_value_tensor(&tensor);
	record->value = record->part.value;
	return lc_value_check(record->value);
}

static lc_status
read_tensor(struct jsonrecord *record)
{
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim = 0;
	lc_dtype dtype;
	const char *name;

	if (lc_value_as_str(member(record, "dtype"), &name, NULL) != LC_OK)
		return lc__error(LC_INVALID, 0, "dtype is missing or no text");
	return_if_error(lc_dtype_parse(name, &dtype));
	return_if_error(read_shape(member(record, "shape"), &ndim, shape));
	return read_data(record, dtype, ndim, shape);
}

static lc_status
read_value(struct jsonrecord *record)
{
	if (member(record, "dtype") != NULL || member(record, "data") != NULL)
		return lc__error(LC_INVALID, 0,
		    "a record has either value or dtype, shape and data");
	record->value = record->part.value;
	return LC_OK;
}

static lc_status
check_format(const struct jsonrecord *record)
{
	const lc_value *format = member(record, "format");
	int64_t number;

	if (format == NULL)
		return LC_OK;
	if (lc_value_as_integer(format, &number) != LC_OK || number < 1)
		return lc__error(LC_INVALID, 0, "format is no number");
	if (number > FORMAT)
		return lc__error(LC_VERSION, 0, "format %lld is newer than this program",
		    (long long)number);
	return LC_OK;
}

static lc_status
read_record(const char *line, size_t size, struct jsonrecord *record)
{
	return_if_error(
	    lc__value_json_split(line, size, "value", &record->line, &record->part));
	if (lc_value_kind(record->line.value) != LC_MAP)
		return lc__error(LC_INVALID, 0, "not a JSON object");
	return_if_error(check_format(record));
	return_if_error(read_id(record));
	return record->part.value ? read_value(record) : read_tensor(record);
}

lc_status
jsonrecord_read(const char *line, size_t size, struct jsonrecord *out)
{
	struct jsonrecord record = { 0 };
	const lc_status status = read_record(line, size, &record);

	if (status == LC_OK)
		*out = record;
	else
		jsonrecord_free(&record);
	return status;
}

void
jsonrecord_free(struct jsonrecord *record)
{
	lc__loaded_free(&record->line);
	lc__loaded_free(&record->part);
	free(record->decoded_id);
}
