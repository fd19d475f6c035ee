/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/jsonline.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/value_json.h"

/* ---- lists of numbers ------------------------------------------------------------- */

/* Are there only numbers? Integers alone that fit 64 bits with a sign stay integers. */
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

static double
real_of(const lc_value *item)
{
	double real = 0;
	uint64_t large = 0;
	int64_t number = 0;

	if (lc_value_as_float(item, &real) == LC_OK)
		return real;
	if (lc_value_as_integer(item, &number) == LC_OK)
		return (double)number;
	return lc_value_as_unsigned(item, &large) == LC_OK ? (double)large : 0;
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

		if (!integers)
			real[i] = real_of(item);
		else if (lc_value_as_integer(item, &whole[i]) != LC_OK)
			return NULL;
	}
	if (lc_tensor_init(&tensor, integers ? LC_I64 : LC_F64, 1, &n, whole) != LC_OK)
		return NULL;
	return lc_value_tensor(&tensor);
}

/* ---- values -------------------------------------------------------------------------- */

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

/* Of two members with one name there is only the last one. */
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

static lc_status
read_line(const char *line, size_t size, const char *field, struct jsonrecord *record)
{
	return_if_error(lc__value_json_read(line, size, NULL, NULL, &record->line));
	if (lc_value_kind(record->line.value) != LC_MAP)
		return lc__error(LC_INVALID, 0, "not a JSON object");
	return_if_error(find_id(record, field));
	record->part.value = convert(record->line.value, &record->part);
	record->value = record->part.value;
	return lc_value_check(record->value);
}

lc_status
jsonline_read(const char *line, size_t size, const char *field, struct jsonrecord *out)
{
	struct jsonrecord record = { 0 };
	const lc_status status = read_line(line, size, field, &record);

	if (status == LC_OK)
		*out = record;
	else
		jsonrecord_free(&record);
	return status;
}
