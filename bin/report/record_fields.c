/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/record_fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "draw/ticks.h"
#include "value/dtype.h"

#define BINS 63     /* most bins, for numbers that are not integers */
#define FAR_AWAY 20 /* the range of the middle 99 % must be exceeded so many times */

void
lc__record_fields_init(struct lc__record_fields *fields, uint64_t records)
{
	*fields = (struct lc__record_fields){ .share = LC__FIELD_NUMBERS };
	if (records > 0 && LC__FIELD_NUMBERS / records < fields->share)
		fields->share = (size_t)(LC__FIELD_NUMBERS / records);
	if (fields->share == 0)
		fields->share = 1;
}

static bool
is_integer(const struct lc__record_field *field)
{
	const char *name;

	if (field->kind != LC_TENSOR)
		return field->kind == LC_INTEGER || field->kind == LC_BOOLEAN;
	name = lc__dtype_is_number(field->dtype) ? lc_dtype_name(field->dtype) : "";
	return name[0] == 'u' || name[0] == 'i' || strcmp(name, "bool") == 0;
}

/* Find the field, or create it if there is room; else *out is NULL. */
static lc_status
find(struct lc__record_fields *fields, const char *path, lc_kind kind, lc_dtype dtype,
    uint32_t ndim, struct lc__record_field **out)
{
	struct lc__record_field *field;

	*out = NULL;
	for (size_t i = 0; i < fields->n; i++) {
		field = &fields->all[i];
		if (field->kind == kind && field->dtype == dtype && field->ndim == ndim &&
		    strcmp(field->path, path) == 0) {
			*out = field;
			return LC_OK;
		}
	}
	if (fields->n == LC__RECORD_FIELDS) {
		fields->others++;
		return LC_OK;
	}
	return_if_error(
	    lc__array_reserve(&fields->all, &fields->room, fields->n + 1, NULL));
	field = &fields->all[fields->n];
	*field = (struct lc__record_field){ .path = strdup(path),
		.kind = kind,
		.dtype = dtype,
		.ndim = ndim };
	if (field->path == NULL)
		return lc__no_memory(NULL);
	field->integers = is_integer(field);
	fields->n++;
	*out = field;
	return LC_OK;
}

static void
note_size(struct lc__record_field *field, uint32_t d, uint64_t size)
{
	if (field->values == 1 || size < field->least[d])
		field->least[d] = size;
	if (field->values == 1 || size > field->most[d])
		field->most[d] = size;
}

/* Count a value of the field in the current record. */
static void
count(struct lc__record_fields *fields, struct lc__record_field *field)
{
	field->values++;
	if (field->last == fields->records)
		return;
	field->last = fields->records;
	field->records++;
	field->kept_before = field->n_kept;
}

static lc_status
keep(struct lc__record_fields *fields, struct lc__record_field *field, double number)
{
	if (!isfinite(number) || field->n_kept == LC__FIELD_NUMBERS ||
	    field->n_kept - field->kept_before >= fields->share)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&field->kept, &field->kept_room, field->n_kept + 1, NULL));
	field->kept[field->n_kept++] = number;
	return LC_OK;
}

static lc_status
add_number(struct lc__record_fields *fields, struct lc__record_field *field,
    double number)
{
	lc__moments_add(&field->numbers, LC_F64, &number, 1, sizeof(number));
	return keep(fields, field, number);
}

/* ---- tensors --------------------------------------------------------------------------- */

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		const uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* The step between elements that are read, so that there are about @p most. A step that
 * has no common divisor with a dimension reaches all channels, rows and columns
 * alike. */
static uint64_t
step_of(const lc_tensor *tensor, uint64_t all, uint64_t most)
{
	uint64_t step = all > most ? (all + most - 1) / most : 1;

	for (int tries = 0; step > 1 && tries < 1000; tries++, step++) {
		bool alone = true;
		for (uint32_t d = 0; d < tensor->ndim && alone; d++)
			alone = common_divisor(step, tensor->shape[d]) == 1;
		if (alone)
			break;
	}
	return step;
}

static lc_status
add_elements(struct lc__record_fields *fields, struct lc__record_field *field,
    const lc_tensor *tensor)
{
	const size_t size = lc_dtype_size(tensor->dtype);
	const uint64_t all = tensor->nbytes / size;
	const char *data = tensor->data;
	uint64_t step = step_of(tensor, all, LC__FIELD_ELEMENTS);

	field->elements += all;
	if (all == 0 || data == NULL || !lc__dtype_is_number(tensor->dtype))
		return LC_OK;
	field->some |= step > 1;
	if (lc__dtype_is_complex(tensor->dtype)) {
		for (uint64_t i = 0; i < all; i += step) {
			const double x = lc__element_real(tensor->dtype, data + i * size);
			lc__moments_add(&field->numbers, LC_F64, &x, 1, sizeof(x));
		}
	} else {
		lc__moments_add(&field->numbers, tensor->dtype, data,
		    (all + step - 1) / step, step * size);
	}
	step = step_of(tensor, all, fields->share);
	for (uint64_t i = 0; i < all; i += step)
		return_if_error(keep(fields, field,
		    lc__element_real(tensor->dtype, data + i * size)));
	return LC_OK;
}

static lc_status
add_tensor(struct lc__record_fields *fields, const char *path, const lc_tensor *tensor)
{
	struct lc__record_field *field;

	return_if_error(
	    find(fields, path, LC_TENSOR, tensor->dtype, tensor->ndim, &field));
	if (field == NULL)
		return LC_OK;
	count(fields, field);
	for (uint32_t d = 0; d < tensor->ndim; d++)
		note_size(field, d, tensor->shape[d]);
	return add_elements(fields, field, tensor);
}

/* ---- values ---------------------------------------------------------------------------- */

/* Count a value that is neither a tensor nor has children. */
static lc_status
add_plain(struct lc__record_fields *fields, struct lc__record_field *field,
    const lc_value *value)
{
	double number = 0;
	int64_t integer;
	uint64_t natural;
	int truth;
	const char *text;
	const void *bytes;
	size_t size;

	switch (field->kind) {
	case LC_BOOLEAN:
		return_if_error(lc_value_as_boolean(value, &truth));
		return add_number(fields, field, truth);
	case LC_INTEGER:
		if (lc_value_as_integer(value, &integer) == LC_OK)
			return add_number(fields, field, (double)integer);
		return_if_error(lc_value_as_unsigned(value, &natural));
		return add_number(fields, field, (double)natural);
	case LC_FLOAT:
		return_if_error(lc_value_as_float(value, &number));
		return add_number(fields, field, number);
	case LC_STRING:
		return_if_error(lc_value_as_str(value, &text, &size));
		note_size(field, 0, size);
		return lc__texts_add(&field->texts, (lc_id){ text, size }, 0);
	case LC_BYTES:
		return_if_error(lc_value_as_bytes(value, &bytes, &size));
		note_size(field, 0, size);
		return LC_OK;
	default: return LC_OK;
	}
}

static lc_status
add(struct lc__record_fields *fields, const lc_value *value, struct lc__buf *path)
{
	const size_t size = path->size;
	const lc_kind kind = lc_value_kind(value);
	const bool named = kind == LC_MAP;
	const size_t n = lc_value_count(value);
	struct lc__record_field *field;
	lc_tensor tensor;
	lc_status status = LC_OK;

	lc__buf_append(path, "", 1);
	path->size = size;
	if (path->failed)
		return lc__no_memory(NULL);
	if (lc_value_as_tensor(value, &tensor) == LC_OK)
		return add_tensor(fields, (const char *)path->data, &tensor);
	if (!named || n == 0) {
		return_if_error(
		    find(fields, (const char *)path->data, kind, LC_U8, 0, &field));
		if (field != NULL) {
			count(fields, field);
			if (kind == LC_LIST || kind == LC_TUPLE || kind == LC_PAIRS)
				note_size(field, 0, n);
			return_if_error(add_plain(fields, field, value));
		}
	}
	if (kind == LC_STRING || kind == LC_BYTES)
		return LC_OK;
	for (size_t i = 0; i < n && (named || i < LC__FIELD_CHILDREN) && status == LC_OK;
	     i++) {
		if (size > 0)
			lc__buf_append(path, ".", 1);
		if (named)
			lc__buf_append(path, lc_value_name(value, i),
			    strlen(lc_value_name(value, i)));
		else
			lc__buf_append(path, "*", 1);
		status = add(fields, lc_value_at(value, i), path);
		path->size = size;
	}
	return status;
}

lc_status
lc__record_fields_add(struct lc__record_fields *fields, const lc_value *value)
{
	struct lc__buf path = { 0 };
	lc_status status;

	fields->records++;
	status = add(fields, value, &path);
	lc__buf_free(&path);
	return status;
}

lc_status
lc__record_fields_add_tensor(struct lc__record_fields *fields, const lc_tensor *tensor)
{
	fields->records++;
	return add_tensor(fields, "", tensor);
}

/* ---- what was found --------------------------------------------------------------------- */

static int
by_path(const void *a, const void *b)
{
	const struct lc__record_field *x = a, *y = b;
	const int order = strcmp(x->path, y->path);

	/* Of the kinds at one path, the one in more records comes first. */
	if (order != 0)
		return order;
	return x->records != y->records ? (x->records < y->records ? 1 : -1)
					: (x->last > y->last) - (x->last < y->last);
}

void
lc__record_fields_end(struct lc__record_fields *fields)
{
	if (fields->n > 0)
		qsort(fields->all, fields->n, sizeof(*fields->all), by_path);
	for (size_t i = 0; i < fields->n; i++)
		lc__texts_sort(&fields->all[i].texts);
}

uint64_t
lc__record_fields_missing(const struct lc__record_fields *fields, size_t i)
{
	uint64_t have = 0;

	for (size_t k = 0; k < fields->n; k++)
		if (strcmp(fields->all[k].path, fields->all[i].path) == 0)
			have += fields->all[k].records;
	/* The children of a list may have several kinds, so a record may count more
	 * than once. */
	return have < fields->records ? fields->records - have : 0;
}

static int
by_number(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

bool
lc__record_field_histogram(const struct lc__record_field *field,
    struct lc__histogram *out)
{
	const size_t n = field->n_kept;
	double *sorted, low, high, step, bins;

	if (n == 0)
		return false;
	sorted = malloc(n * sizeof(*sorted));
	if (sorted == NULL)
		return false;
	memcpy(sorted, field->kept, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_number);
	low = sorted[n / 200];
	high = sorted[n - 1 - n / 200];
	if (high <= low ||
	    sorted[n - 1] / 2 - sorted[0] / 2 < FAR_AWAY * (high / 2 - low / 2)) {
		low = sorted[0];
		high = sorted[n - 1];
	}
	free(sorted);
	if (!(low < high) || !isfinite(high - low))
		return false;
	if (field->integers) {
		step = ceil((high - low + 1) / LC__HISTOGRAM_BINS);
		bins = ceil((high - low + 1) / step);
	} else {
		const struct lc__ticks ticks = lc__ticks_of(low, high, BINS, 0);
		step = ticks.step;
		low = floor(low / step) * step;
		/* Puts the greatest number below the upper edge of the last bin. */
		bins = fmin(floor((high - low) / step) + 1, LC__HISTOGRAM_BINS);
	}
	if (!(step > 0) || !isfinite(low + bins * step) || !(low < low + bins * step))
		return false;
	lc__histogram_init(out, "", "", low, low + bins * step, (uint32_t)bins);
	for (size_t i = 0; i < n; i++)
		lc__histogram_add(out, field->kept[i]);
	return true;
}

void
lc__record_field_type(const struct lc__record_field *field, char *out, size_t room)
{
	size_t at;

	if (field->kind != LC_TENSOR) {
		snprintf(out, room, "%s", lc_kind_name(field->kind));
		return;
	}
	at = (size_t)snprintf(out, room, "%s[", lc_dtype_name(field->dtype));
	for (uint32_t d = 0; d < field->ndim && at < room; d++) {
		at += (size_t)snprintf(out + at, room - at, "%s%" PRIu64,
		    d > 0 ? "," : "", field->least[d]);
		if (field->least[d] != field->most[d] && at < room)
			at += (size_t)snprintf(out + at, room - at, "..%" PRIu64,
			    field->most[d]);
	}
	if (at < room)
		snprintf(out + at, room - at, "]");
}

void
lc__record_fields_free(struct lc__record_fields *fields)
{
	for (size_t i = 0; i < fields->n; i++) {
		free(fields->all[i].path);
		free(fields->all[i].kept);
		lc__texts_free(&fields->all[i].texts);
	}
	free(fields->all);
	memset(fields, 0, sizeof(*fields));
}
