/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/json_number.h"
#include "base/json_scan.h"
#include "base/json_write.h"
#include "base/utf8.h"

/* A tensor, in little memory: a header may have two million. */
struct lc__safetensors_row {
	uint64_t begin, end; /* range of the tensor's data */
	size_t name;         /* where it begins in table->names */
	size_t dims;         /* and its shape in table->dims, in elements */
	uint32_t name_size;
	uint8_t dtype; /* lc_dtype */
	uint8_t ndim;  /* rank */
};

/* In the order of the format's own writer, which sorts from the last of them to the
 * first. */
static const struct {
	const char *name;
	lc_dtype dtype;
} dtypes[] = {
	{ "BOOL", LC_BOOL },
	{ "F4", LC_F4_E2M1_X2 },
	{ "U8", LC_U8 },
	{ "I8", LC_I8 },
	{ "F8_E5M2", LC_F8_E5M2 },
	{ "F8_E4M3", LC_F8_E4M3 },
	{ "F8_E8M0", LC_F8_E8M0 },
	{ "F8_E4M3FNUZ", LC_F8_E4M3FNUZ },
	{ "F8_E5M2FNUZ", LC_F8_E5M2FNUZ },
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

static const char *
dtype_name(lc_dtype dtype)
{
	const size_t i = weight(dtype);

	return i < DTYPES ? dtypes[i].name : NULL;
}

static bool
dtype_of(const char *name, size_t size, lc_dtype *out)
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
	/* Headers are so small that the high bytes of their size are 0: no text begins
	 * like that. */
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

/* Append a row, its name and shape; its place is the caller's. */
static lc_status
append_row(struct lc__safetensors *table, lc_id name, const lc_tensor *type,
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

/* Make the index of names. */
static lc_status
index_names(struct lc__safetensors *table)
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

/* The first name that occurs twice, or false. */
static bool
find_twice(const struct lc__safetensors *table, lc_id *out)
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

/* ---- the header out ------------------------------------------------------------- */

lc_status
lc__safetensors_add(struct lc__safetensors *table, lc_id name, const lc_tensor *type)
{
	static const char reserved[] = "__metadata__";
	struct lc__safetensors_row *row;

	if (dtype_name(type->dtype) == NULL)
		return lc__error(LC_UNSUPPORTED, 0, "safetensors has no dtype %s",
		    lc_dtype_name(type->dtype));
	if (type->dtype == LC_F4_E2M1_X2 && type->ndim == 0)
		return lc__error(LC_UNSUPPORTED, 0,
		    "safetensors has no shape for f4_e2m1_x2[]: two numbers of F4");
	if (!lc__utf8_valid(name.data, name.size))
		return lc__error(LC_UNSUPPORTED, 0,
		    "safetensors cannot have the name %s, which is not UTF-8",
		    lc__quote_id(name.data, name.size));
	if (name.size == sizeof(reserved) - 1 &&
	    memcmp(name.data, reserved, name.size) == 0)
		return lc__error(LC_UNSUPPORTED, 0, "safetensors has no tensor named %s",
		    reserved);
	return append_row(table, name, type, &row);
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

/* Escaped as by the format's own writer, so that the files are equal byte by byte. */
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

/* The format counts numbers: one element of F4 has two of them, adjacent on the last
 * axis. */
static uint64_t
numbers_of(const lc_tensor *type)
{
	return type->dtype == LC_F4_E2M1_X2 ? 2 : 1;
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
		put_string(out, tensor.name);
		lc__buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[",
		    dtype_name(tensor.type.dtype));
		for (uint32_t k = 0; k < tensor.type.ndim; k++)
			lc__buf_printf(out, "%s%" PRIu64, k > 0 ? "," : "",
			    tensor.type.shape[k] *
				(k + 1 == tensor.type.ndim ? numbers_of(&tensor.type)
							   : 1));
		lc__buf_printf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
		    tensor.begin, tensor.begin + tensor.type.nbytes);
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
	return_if_error(index_names(table));
	if (find_twice(table, &name))
		return lc__error(LC_INVALID, 0, "two tensors have the name %s",
		    lc__quote_id(name.data, name.size));
	return put_header(table, out);
}

/* ---- the header in: every rule of the format is checked ---------------------- */

/* The members of one tensor. */
struct entry {
	bool dtype, shape, offsets; /* what there was */
	lc_tensor type;             /* nbytes as the offsets say */
	uint64_t begin, end;
};

/* An array of whole numbers; the first @p room of them are stored, all are counted. The
 * text is an array that has been scanned. */
static bool
numbers(struct lc__json_slice array, uint64_t *out, uint32_t room, uint32_t *count)
{
	struct lc__json_scan scan = {
		.at = array.text,
		.begin = array.text,
		.end = array.text + array.size,
	};
	struct lc__json_number number;
	uint64_t amount;

	*count = 0;
	if (!lc__json_accept(&scan, '[') || lc__json_accept(&scan, ']'))
		return true;
	do {
		(void)lc__json_peek(&scan);
		scan.at = lc__json_number(scan.at, scan.end, &number);
		if (scan.at == NULL || !number.integer || number.negative ||
		    !lc__json_number_integer(&number, &amount))
			return false;
		if (*count < room)
			out[*count] = amount;
		(*count)++;
	} while (lc__json_accept(&scan, ','));
	return true;
}

/* Read a member of a tensor. Names that the format does not know are skipped, as its own
 * reader does. */
static lc_status
read_field(const struct lc__json_member *member, struct entry *entry,
    struct lc__buf *text)
{
	const bool array = member->kind == LC__JSON_ARRAY;
	const bool dtype = lc__json_name_is(member->name, "dtype");
	const bool shape = lc__json_name_is(member->name, "shape");
	const bool offsets = lc__json_name_is(member->name, "data_offsets");
	uint64_t pair[2];
	uint32_t count;

	if ((dtype && entry->dtype) || (shape && entry->shape) ||
	    (offsets && entry->offsets))
		return lc__error(LC_CORRUPT, 0, "it has two %s",
		    dtype       ? "dtype"
			: shape ? "shape"
				: "data_offsets");
	if (dtype) {
		if (member->kind != LC__JSON_STRING)
			return lc__error(LC_CORRUPT, 0, "its dtype is not a string");
		text->size = 0;
		return_if_error(lc__json_unescape(member->value, text));
		if (!dtype_of((const char *)text->data, text->size, &entry->type.dtype))
			return lc__error(LC_UNSUPPORTED, 0,
			    "dtype %s is not one that modules have",
			    lc__quote_id(text->data, text->size));
	} else if (shape) {
		if (!array ||
		    !numbers(member->value, entry->type.shape, LC_MAX_NDIM,
			&entry->type.ndim))
			return lc__error(LC_CORRUPT, 0,
			    "its shape is not a list of sizes");
		if (entry->type.ndim > LC_MAX_NDIM)
			return lc__error(LC_UNSUPPORTED, 0,
			    "rank %" PRIu32 " is above %d", entry->type.ndim,
			    LC_MAX_NDIM);
	} else if (offsets) {
		if (!array || !numbers(member->value, pair, 2, &count) || count != 2)
			return lc__error(LC_CORRUPT, 0,
			    "its data_offsets are not two offsets");
		entry->begin = pair[0];
		entry->end = pair[1];
	}
	entry->dtype |= dtype;
	entry->shape |= shape;
	entry->offsets |= offsets;
	return LC_OK;
}

static lc_status
read_entry(const struct lc__json_member *tensor, uint64_t data_size, struct lc__buf *text,
    struct entry *entry)
{
	struct lc__json_members members;
	struct lc__json_member member;
	uint64_t one = 1, *last;
	lc_tensor type;
	lc_status status;

	if (tensor->kind != LC__JSON_OBJECT)
		return lc__error(LC_CORRUPT, 0, "its description is not an object");
	return_if_error(
	    lc__json_object(tensor->value.text, tensor->value.size, &members));
	while ((status = lc__json_next(&members, &member)) == LC_OK)
		return_if_error(read_field(&member, entry, text));
	if (status != LC_END)
		return status;

	if (!entry->dtype || !entry->shape || !entry->offsets)
		return lc__error(LC_CORRUPT, 0, "it has no %s",
		    !entry->dtype       ? "dtype"
			: !entry->shape ? "shape"
					: "data_offsets");
	last = entry->type.ndim > 0 ? &entry->type.shape[entry->type.ndim - 1] : &one;
	if (*last % numbers_of(&entry->type) != 0)
		return lc__error(LC_UNSUPPORTED, 0,
		    "its last dimension has %" PRIu64
		    " numbers of F4, and a byte has two",
		    *last);
	*last /= numbers_of(&entry->type);
	if (lc_tensor_init(&type, entry->type.dtype, entry->type.ndim, entry->type.shape,
		NULL) != LC_OK)
		return lc__error(LC_CORRUPT, 0, "its shape overflows");
	if (entry->begin > entry->end || entry->end > data_size)
		return lc__error(LC_CORRUPT, 0,
		    "its data_offsets %" PRIu64 " to %" PRIu64 " are not in the %" PRIu64
		    " bytes of data",
		    entry->begin, entry->end, data_size);
	if (entry->end - entry->begin != type.nbytes)
		return lc__error(LC_CORRUPT, 0,
		    "dtype and shape make %zu bytes, its data_offsets %" PRIu64,
		    type.nbytes, entry->end - entry->begin);
	entry->type = type;
	return LC_OK;
}

static lc_status
read_note(const struct lc__json_member *note, struct lc__buf *text,
    struct lc__safetensors *out)
{
	size_t name;

	text->size = 0;
	return_if_error(lc__json_unescape(note->name, text));
	name = text->size;
	if (note->kind != LC__JSON_STRING)
		return lc__error(LC_CORRUPT, 0, "%s is not a string",
		    lc__quote_id(text->data, text->size));
	return_if_error(lc__json_unescape(note->value, text));
	return lc__safetensors_note(out, (lc_id){ text->data, name },
	    (lc_id){ text->data + name, text->size - name });
}

/* A file's metadata: named strings. null means none. */
static lc_status
read_metadata(const struct lc__json_member *metadata, struct lc__buf *text,
    struct lc__safetensors *out)
{
	struct lc__json_members members;
	struct lc__json_member member;
	lc_status status;

	if (metadata->kind == LC__JSON_NULL)
		return LC_OK;
	if (metadata->kind != LC__JSON_OBJECT)
		return lc__error(LC_CORRUPT, 0, "__metadata__ is not an object");
	return_if_error(
	    lc__json_object(metadata->value.text, metadata->value.size, &members));
	while ((status = lc__json_next(&members, &member)) == LC_OK)
		if (read_note(&member, text, out) != LC_OK)
			return lc__error_prefix("__metadata__");
	return status == LC_END ? LC_OK : status;
}

static lc_status
read_tensor(const struct lc__json_member *member, uint64_t data_size,
    struct lc__buf *name, struct lc__buf *text, struct lc__safetensors *out)
{
	struct lc__safetensors_row *row;
	struct entry entry = { 0 };

	name->size = 0;
	return_if_error(lc__json_unescape(member->name, name));
	if (read_entry(member, data_size, text, &entry) != LC_OK)
		return lc__error_prefix("%s", lc__quote_id(name->data, name->size));
	return_if_error(
	    append_row(out, (lc_id){ name->data, name->size }, &entry.type, &row));
	row->begin = entry.begin;
	row->end = entry.end;
	return LC_OK;
}

static lc_status
read_members(struct lc__json_members *members, uint64_t data_size, struct lc__buf *name,
    struct lc__buf *text, struct lc__safetensors *out)
{
	struct lc__json_member member;
	bool metadata = false;
	lc_status status;

	while ((status = lc__json_next(members, &member)) == LC_OK) {
		if (!lc__json_name_is(member.name, "__metadata__")) {
			return_if_error(read_tensor(&member, data_size, name, text, out));
			continue;
		}
		if (metadata)
			return lc__error(LC_CORRUPT, 0, "two __metadata__");
		metadata = true;
		return_if_error(read_metadata(&member, name, out));
	}
	return status == LC_END ? LC_OK : status;
}

/* Tensors of no bytes may have one place: they keep their order. */
static int
by_place(const void *a, const void *b)
{
	const struct lc__safetensors_row *left = a, *right = b;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	if (left->end != right->end)
		return left->end < right->end ? -1 : 1;
	return (left->name > right->name) - (left->name < right->name);
}

/* Sort by place, and check that each byte belongs to one tensor and each name occurs
 * once. */
static lc_status
check_table(struct lc__safetensors *table, uint64_t data_size)
{
	uint64_t at = 0;
	lc_id name;

	if (table->count > 0)
		qsort(table->rows, table->count, sizeof(*table->rows), by_place);
	return_if_error(index_names(table));
	if (find_twice(table, &name))
		return lc__error(LC_CORRUPT, 0, "two tensors have the name %s",
		    lc__quote_id(name.data, name.size));
	table->data_size = data_size;
	for (size_t i = 0; i < table->count; i++) {
		const struct lc__safetensor tensor = lc__safetensors_at(table, i);

		if (tensor.begin != at)
			return lc__error(LC_CORRUPT, 0,
			    "%s: it begins at %" PRIu64
			    " of the data, the one before it ends at %" PRIu64,
			    lc__quote_id(tensor.name.data, tensor.name.size),
			    tensor.begin, at);
		at = tensor.begin + tensor.type.nbytes;
	}
	if (at != data_size)
		return lc__error(LC_CORRUPT, 0,
		    "the tensors end at %" PRIu64 " of %" PRIu64 " bytes of data", at,
		    data_size);
	return LC_OK;
}

lc_status
lc__safetensors_decode(const void *header, size_t size, uint64_t data_size,
    struct lc__safetensors *out)
{
	struct lc__json_members members;
	struct lc__buf name = { 0 }, text = { 0 };
	lc_status status;

	if (size == 0 || *(const char *)header != '{')
		return lc__error(LC_CORRUPT, 0, "the header does not begin with {");
	status = lc__json_object(header, size, &members);
	if (status == LC_OK)
		status = read_members(&members, data_size, &name, &text, out);
	lc__buf_free(&name);
	lc__buf_free(&text);
	return status == LC_OK ? check_table(out, data_size) : lc__error_prefix("header");
}
