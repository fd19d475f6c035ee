/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of tensors, and the header that a table makes. */
#include "formats/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/json_write.h"
#include "base/utf8.h"

/* In the order in which the format's own writer sorts, which is from the end. */
static const struct {
	const char *name;
	lc_dtype dtype;
} dtypes[] = {
	{ "BOOL", LC_BOOL },
	{ "U8", LC_U8 },
	{ "I8", LC_I8 },
	{ "F8_E5M2", LC_F8_E5M2 },
	{ "F8_E4M3", LC_F8_E4M3 },
	{ "I16", LC_I16 },
	{ "U16", LC_U16 },
	{ "F16", LC_F16 },
	{ "BF16", LC_BF16 },
	{ "I32", LC_I32 },
	{ "U32", LC_U32 },
	{ "F32", LC_F32 },
	{ "C64", LC_C64 },
	{ "F64", LC_F64 },
	{ "I64", LC_I64 },
	{ "U64", LC_U64 },
};
#define DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

/* The place of a dtype in the table, DTYPES if it is not there. */
static size_t
weight(unsigned dtype)
{
	size_t i = 0;

	while (i < DTYPES && dtypes[i].dtype != dtype)
		i++;
	return i;
}

const char *
lc__safetensors_dtype_name(lc_dtype dtype)
{
	const size_t i = weight(dtype);

	return i < DTYPES ? dtypes[i].name : NULL;
}

bool
lc__safetensors_dtype_of(const char *name, size_t size, lc_dtype *out)
{
	for (size_t i = 0; i < DTYPES; i++)
		if (strlen(dtypes[i].name) == size &&
		    memcmp(dtypes[i].name, name, size) == 0) {
			*out = dtypes[i].dtype;
			return true;
		}
	return false;
}

bool
lc__safetensors_is(const void *bytes, size_t size)
{
	/* The size of a header is small enough that no text begins with it. */
	return size > LC__SAFETENSORS_PREFIX &&
	    lc__get64(bytes) <= LC__SAFETENSORS_MAX_HEADER &&
	    ((const char *)bytes)[LC__SAFETENSORS_PREFIX] == '{';
}

lc_status
lc__safetensors_header_size(const void *prefix, uint64_t file_size, size_t *out)
{
	const uint64_t size = lc__get64(prefix);

	if (size > LC__SAFETENSORS_MAX_HEADER)
		return lc__error(LC_CORRUPT, 0,
		    "a header of %" PRIu64 " bytes, of which %d are allowed", size,
		    LC__SAFETENSORS_MAX_HEADER);
	if (file_size < LC__SAFETENSORS_PREFIX ||
	    size > file_size - LC__SAFETENSORS_PREFIX)
		return lc__error(LC_CORRUPT, 0,
		    "a header of %" PRIu64 " bytes in a file of %" PRIu64, size,
		    file_size);
	*out = (size_t)size;
	return LC_OK;
}

/* ---- the table -------------------------------------------------------------- */

lc_status
lc__safetensors_append(struct lc__safetensors *table, lc_id name, const lc_tensor *type,
    struct lc__safetensors_row **out)
{
	struct lc__safetensors_row *row;

	if (name.size > LC__SAFETENSORS_MAX_HEADER)
		return lc__error(LC_UNSUPPORTED, 0, "a name of %zu bytes", name.size);
	if (table->count >= UINT32_MAX)
		return lc__error(LC_UNSUPPORTED, 0, "more than %u tensors", UINT32_MAX);
	return_if_error(
	    lc__array_reserve(&table->rows, &table->room, table->count + 1, NULL));
	row = &table->rows[table->count];
	*row = (struct lc__safetensors_row){
		.end = type->nbytes,
		.name = table->names.size,
		.dims = table->dims.size / sizeof(uint64_t),
		.name_size = (uint32_t)name.size,
		.dtype = (uint8_t)type->dtype,
		.ndim = (uint8_t)type->ndim,
	};
	lc__buf_append(&table->names, name.data, name.size);
	lc__buf_append(&table->dims, type->shape, type->ndim * sizeof(uint64_t));
	if (table->names.failed || table->dims.failed)
		return lc__no_memory(NULL);
	table->count++;
	*out = row;
	return LC_OK;
}

static lc_id
name_of(const struct lc__safetensors *table, const struct lc__safetensors_row *row)
{
	return (lc_id){ table->names.data + row->name, row->name_size };
}

struct lc__safetensor
lc__safetensors_at(const struct lc__safetensors *table, size_t i)
{
	const struct lc__safetensors_row *row = &table->rows[i];
	struct lc__safetensor out = {
		.name = name_of(table, row),
		.begin = row->begin,
	};

	out.type.dtype = (lc_dtype)row->dtype;
	out.type.ndim = row->ndim;
	if (row->ndim > 0)
		memcpy(out.type.shape, table->dims.data + row->dims * sizeof(uint64_t),
		    row->ndim * sizeof(uint64_t));
	out.type.nbytes = (size_t)(row->end - row->begin);
	return out;
}

static int
compare_names(lc_id a, lc_id b)
{
	const int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int
by_name(const void *a, const void *b, void *ctx)
{
	const struct lc__safetensors *table = ctx;

	return compare_names(name_of(table, &table->rows[*(const uint32_t *)a]),
	    name_of(table, &table->rows[*(const uint32_t *)b]));
}

lc_status
lc__safetensors_index(struct lc__safetensors *table)
{
	if (table->count == 0)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&table->by_name, &table->by_name_room, table->count, NULL));
	for (size_t i = 0; i < table->count; i++)
		table->by_name[i] = (uint32_t)i;
	qsort_r(table->by_name, table->count, sizeof(*table->by_name), by_name, table);
	return LC_OK;
}

bool
lc__safetensors_twice(const struct lc__safetensors *table, lc_id *out)
{
	for (size_t i = 1; i < table->count; i++) {
		*out = name_of(table, &table->rows[table->by_name[i]]);
		if (compare_names(name_of(table, &table->rows[table->by_name[i - 1]]),
			*out) == 0)
			return true;
	}
	return false;
}

bool
lc__safetensors_find(const struct lc__safetensors *table, lc_id name, size_t *out)
{
	size_t low = 0, high = table->by_name != NULL ? table->count : 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const uint32_t at = table->by_name[middle];
		const int order = compare_names(name, name_of(table, &table->rows[at]));

		if (order == 0) {
			*out = at;
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

void
lc__safetensors_free(struct lc__safetensors *table)
{
	free(table->rows);
	free(table->by_name);
	lc__buf_free(&table->names);
	lc__buf_free(&table->dims);
	lc__buf_free(&table->metadata);
	memset(table, 0, sizeof(*table));
}

/* ---- the header ------------------------------------------------------------- */

lc_status
lc__safetensors_add(struct lc__safetensors *table, lc_id name, const lc_tensor *type)
{
	static const char reserved[] = "__metadata__";
	struct lc__safetensors_row *row;

	if (lc__safetensors_dtype_name(type->dtype) == NULL)
		return lc__error(LC_UNSUPPORTED, 0, "safetensors has no dtype %s",
		    lc_dtype_name(type->dtype));
	if (!lc__utf8_valid(name.data, name.size))
		return lc__error(LC_UNSUPPORTED, 0,
		    "safetensors cannot have the name %s, which is not UTF-8",
		    lc__quote_id(name.data, name.size));
	if (name.size == sizeof(reserved) - 1 &&
	    memcmp(name.data, reserved, name.size) == 0)
		return lc__error(LC_UNSUPPORTED, 0, "safetensors has no tensor named %s",
		    reserved);
	return lc__safetensors_append(table, name, type, &row);
}

static int
by_weight(const void *a, const void *b, void *ctx)
{
	const struct lc__safetensors *table = ctx;
	const struct lc__safetensors_row *left = a, *right = b;
	const size_t heavy = weight(left->dtype), other = weight(right->dtype);

	if (heavy != other)
		return heavy > other ? -1 : 1;
	return compare_names(name_of(table, left), name_of(table, right));
}

static lc_status
place(struct lc__safetensors *table)
{
	uint64_t at = 0;

	if (table->count > 0)
		qsort_r(table->rows, table->count, sizeof(*table->rows), by_weight,
		    table);
	for (size_t i = 0; i < table->count; i++) {
		struct lc__safetensors_row *row = &table->rows[i];
		const uint64_t size = row->end - row->begin;

		row->begin = at;
		if (!lc__add64(at, size, &at) || at > INT64_MAX)
			return lc__error(LC_UNSUPPORTED, 0, "more bytes than a file has");
		row->end = at;
	}
	table->data_size = at;
	return LC_OK;
}

/* As the format's own writer does, so that files are the same byte by byte. */
static void
put_string(struct lc__buf *out, lc_id text)
{
	lc__json_put_string(out, text.data, text.size, LC__JSON_LETTERS);
}

/* Is a member of this name, with its quotes and colon, in the list? */
static bool
is_noted(const struct lc__buf *list, const struct lc__buf *name)
{
	const char *at = (const char *)list->data, *const end = at + list->size;

	/* A quote in a string has a backslash before it: quotes come in pairs. */
	for (int quotes = 0; at < end; at++) {
		if (quotes == 0 && (size_t)(end - at) > name->size &&
		    memcmp(at, name->data, name->size) == 0)
			return true;
		if (*at == '\\')
			at++;
		else if (*at == '"')
			quotes = (quotes + 1) % 4;
	}
	return false;
}

lc_status
lc__safetensors_note(struct lc__safetensors *table, lc_id name, lc_id text)
{
	struct lc__buf member = { 0 };
	lc_status status = LC_OK;

	if (!lc__utf8_valid(name.data, name.size) ||
	    !lc__utf8_valid(text.data, text.size))
		return lc__error(LC_UNSUPPORTED, 0,
		    "safetensors cannot have the metadata %s, which is not UTF-8",
		    lc__quote_id(name.data, name.size));
	put_string(&member, name);
	lc__buf_append(&member, ":", 1);
	if (!member.failed && table->metadata.size > 0 &&
	    is_noted(&table->metadata, &member))
		status = lc__error(LC_INVALID, 0, "two metadata have the name %s",
		    lc__quote_id(name.data, name.size));
	put_string(&member, text);
	if (status == LC_OK && table->metadata.size > 0)
		lc__buf_append(&table->metadata, ",", 1);
	if (status == LC_OK)
		lc__buf_append(&table->metadata, member.data, member.size);
	if (status == LC_OK && (member.failed || table->metadata.failed))
		status = lc__no_memory(NULL);
	lc__buf_free(&member);
	return status;
}

static void
put_row(struct lc__buf *out, const struct lc__safetensor *tensor)
{
	put_string(out, tensor->name);
	lc__buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[",
	    lc__safetensors_dtype_name(tensor->type.dtype));
	for (uint32_t i = 0; i < tensor->type.ndim; i++)
		lc__buf_printf(out, "%s%" PRIu64, i > 0 ? "," : "",
		    tensor->type.shape[i]);
	lc__buf_printf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
	    tensor->begin, tensor->begin + tensor->type.nbytes);
}

static lc_status
put_header(const struct lc__safetensors *table, struct lc__buf *out)
{
	static const char blanks[8] = "        ";
	const size_t start = out->size;
	size_t size = 0;

	lc__buf_append64(out, 0);
	lc__buf_append(out, "{", 1);
	if (table->metadata.size > 0) {
		lc__buf_printf(out, "\"__metadata__\":{");
		lc__buf_append(out, table->metadata.data, table->metadata.size);
		lc__buf_append(out, "},", table->count > 0 ? 2 : 1);
	}
	for (size_t i = 0; i < table->count; i++) {
		const struct lc__safetensor tensor = lc__safetensors_at(table, i);

		lc__buf_append(out, ",", i > 0);
		put_row(out, &tensor);
		if (!out->failed)
			size = out->size - start - LC__SAFETENSORS_PREFIX;
		if (size >= LC__SAFETENSORS_MAX_HEADER)
			return lc__error(LC_UNSUPPORTED, 0,
			    "%zu tensors need a header "
			    "of more than the %d bytes that safetensors allows",
			    table->count, LC__SAFETENSORS_MAX_HEADER);
	}
	lc__buf_append(out, "}", 1);
	lc__buf_append(out, blanks, -(out->size - start) % sizeof(blanks));
	if (out->failed)
		return lc__no_memory(NULL);
	lc__set64(out->data + start, out->size - start - LC__SAFETENSORS_PREFIX);
	return LC_OK;
}

lc_status
lc__safetensors_encode(struct lc__safetensors *table, struct lc__buf *out)
{
	lc_id name;

	return_if_error(place(table));
	return_if_error(lc__safetensors_index(table));
	if (lc__safetensors_twice(table, &name))
		return lc__error(LC_INVALID, 0, "two tensors have the name %s",
		    lc__quote_id(name.data, name.size));
	return put_header(table, out);
}
