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
		return lc__error(LC_INVALID, 0, "%s is not text", name);
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
		return lc__error(LC_INVALID, 0, "id is not text");
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
		return lc__error(LC_INVALID, 0, "shape is not a list");
	if (n > LC_MAX_NDIM)
		return lc__error(LC_INVALID, 0, "shape has more than %d dimensions",
		    LC_MAX_NDIM);
	for (size_t i = 0; i < n; i++) {
		if (lc_value_as_integer(lc_value_at(list, i), &dim) != LC_OK || dim < 0)
			return lc__error(LC_INVALID, 0,
			    "dimension %zu of shape is not a whole number", i);
		shape[i] = (uint64_t)dim;
	}
	*ndim = (uint32_t)n;
	return LC_OK;
}

static lc_status
read_tensor(struct jsonrecord *record)
{
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim = 0;
	lc_dtype dtype;
	lc_tensor tensor;
	const char *name;
	void *data;
	size_t size;
	char bytes[SIZE_TEXT];

	if (lc_value_as_str(member(record, "dtype"), &name, NULL) != LC_OK)
		return lc__error(LC_INVALID, 0, "dtype is missing or not text");
	return_if_error(lc_dtype_parse(name, &dtype));
	return_if_error(read_shape(member(record, "shape"), &ndim, shape));

	return_if_error(read_base64(member(record, "data"), "data", &data, &size));
	return_if_error(lc__loaded_own(&record->part, data));
	return_if_error(lc_tensor_init(&tensor, dtype, ndim, shape, data));
	if (size != tensor.nbytes)
		return lc__error(LC_INVALID, 0, "data has %s; its shape needs %zu",
		    count_human(size, "byte", bytes, sizeof(bytes)), tensor.nbytes);
	record->part.value = lc_value_tensor(&tensor);
	record->value = record->part.value;
	return lc_value_check(record->value);
}

static lc_status
read_record(const char *line, size_t size, struct jsonrecord *record)
{
	const lc_value *format;
	int64_t number;

	return_if_error(
	    lc__value_json_split(line, size, "value", &record->line, &record->part));
	if (lc_value_kind(record->line.value) != LC_MAP)
		return lc__error(LC_INVALID, 0, "not a JSON object");

	format = member(record, "format");
	if (format != NULL &&
	    (lc_value_as_integer(format, &number) != LC_OK || number < 1))
		return lc__error(LC_INVALID, 0, "format is not a number");
	if (format != NULL && number > FORMAT)
		return lc__error(LC_VERSION, 0, "format %lld is newer than this program",
		    (long long)number);

	return_if_error(read_id(record));
	if (record->part.value == NULL)
		return read_tensor(record);
	if (member(record, "dtype") != NULL || member(record, "data") != NULL)
		return lc__error(LC_INVALID, 0,
		    "a record has either value or dtype, shape and data");
	record->value = record->part.value;
	return LC_OK;
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

/* ---- objects of others ----------------------------------------------------------------- */

/* True if the list has numbers and nothing else. *integers: all fit 64 bits with a sign. */
static bool
is_numbers(const lc_value *list, bool *integers)
{
	const size_t n = lc_value_kind(list) == LC_LIST ? lc_value_count(list) : 0;

	*integers = true;
	for (size_t i = 0; i < n; i++) {
		const lc_value *item = lc_value_at(list, i);
		int64_t number;

		if (lc_value_kind(item) != LC_INTEGER && lc_value_kind(item) != LC_FLOAT)
			return false;
		if (lc_value_as_integer(item, &number) != LC_OK)
			*integers = false;
	}
	return n > 0;
}

/* The numbers go to memory of @p loaded. */
static lc_value *
make_tensor(const lc_value *list, bool integers, struct lc__loaded *loaded)
{
	const uint64_t n = lc_value_count(list);
	int64_t *whole = malloc((size_t)n * sizeof(*whole));
	double *real = (double *)(void *)whole;
	lc_tensor tensor;

	if (lc__loaded_own(loaded, whole) != LC_OK || whole == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const lc_value *item = lc_value_at(list, i);
		uint64_t large = 0;
		int64_t number;

		if (integers && lc_value_as_integer(item, &whole[i]) != LC_OK)
			return NULL;
		if (integers || lc_value_as_float(item, &real[i]) == LC_OK)
			continue;
		if (lc_value_as_integer(item, &number) == LC_OK)
			real[i] = (double)number;
		else
			real[i] = lc_value_as_unsigned(item, &large) == LC_OK
			    ? (double)large
			    : 0;
	}
	if (lc_tensor_init(&tensor, integers ? LC_I64 : LC_F64, 1, &n, whole) != LC_OK)
		return NULL;
	return lc_value_tensor(&tensor);
}

static lc_value *
convert(const lc_value *value, struct lc__loaded *loaded)
{
	const bool map = lc_value_kind(value) == LC_MAP;
	lc_value *out;
	bool integers;

	if (is_numbers(value, &integers))
		return make_tensor(value, integers, loaded);
	if (!map && lc_value_kind(value) != LC_LIST)
		return lc_value_copy(value);
	out = map ? lc_value_map() : lc_value_list();
	for (size_t i = 0; out != NULL && i < lc_value_count(value); i++) {
		lc_value *child = convert(lc_value_at(value, i), loaded);

		if (map)
			lc_value_set(out, lc_value_name(value, i), child);
		else
			lc_value_append(out, child);
	}
	return out;
}

/* Of two members with one name the last one counts. */
static lc_status
find_id(struct jsonrecord *record, const char *field)
{
	const lc_value *object = record->line.value, *id = NULL;
	const char *text;
	char digits[24];
	int64_t number;

	for (size_t i = 0; i < lc_value_count(object); i++)
		if (strcmp(lc_value_name(object, i), field) == 0)
			id = lc_value_at(object, i);
	if (id == NULL)
		return lc__error(LC_INVALID, 0, "has no member '%s'", field);
	if (lc_value_as_str(id, &text, &record->id.size) == LC_OK) {
		record->id.data = text;
	} else if (lc_value_as_integer(id, &number) == LC_OK) {
		snprintf(digits, sizeof(digits), "%lld", (long long)number);
		record->decoded_id = strdup(digits);
		record->id = (lc_id){ record->decoded_id, strlen(digits) };
		if (record->decoded_id == NULL)
			return lc__no_memory(NULL);
	} else {
		return lc__error(LC_INVALID, 0, "'%s' is neither a string nor an integer",
		    field);
	}
	if (record->id.size == 0 || record->id.size > LC_MAX_ID)
		return lc__error(LC_INVALID, 0, "'%s' has %zu bytes, not 1 to %d", field,
		    record->id.size, LC_MAX_ID);
	return LC_OK;
}

lc_status
jsonrecord_read_any(const char *line, size_t size, const char *field,
    struct jsonrecord *out)
{
	struct jsonrecord record = { 0 };
	lc_status status = lc__value_json_read(line, size, NULL, NULL, &record.line);

	if (status == LC_OK && lc_value_kind(record.line.value) != LC_MAP)
		status = lc__error(LC_INVALID, 0, "not a JSON object");
	if (status == LC_OK)
		status = find_id(&record, field);
	if (status == LC_OK) {
		record.part.value = convert(record.line.value, &record.part);
		record.value = record.part.value;
		status = lc_value_check(record.value);
	}
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
