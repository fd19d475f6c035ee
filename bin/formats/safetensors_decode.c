/* SPDX-License-Identifier: BSD-2-Clause */
/* A header on its way in: every rule of the format is checked. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_number.h"
#include "base/json_scan.h"
#include "base/utf8.h"
#include "formats/safetensors.h"

/* The members of one tensor. */
struct entry {
	bool dtype, shape, offsets; /* what there was */
	lc_tensor type;             /* nbytes as the offsets say */
	uint64_t begin, end;
};

/* ---- one tensor ------------------------------------------------------------- */

/* An array of whole numbers, of which @p room fit; more are counted. The text is an
 * array that has been scanned. */
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

static lc_status
read_dtype(const struct lc__json_member *member, struct entry *entry)
{
	struct lc__buf name = { 0 };
	lc_status status;

	if (member->kind != LC__JSON_STRING)
		return lc__error(LC_CORRUPT, 0, "its dtype is no string");
	status = lc__json_unescape(member->value, &name);
	if (status == LC_OK &&
	    !lc__safetensors_dtype_of((const char *)name.data, name.size,
		&entry->type.dtype))
		status = lc__error(LC_UNSUPPORTED, 0,
		    "dtype %s is none that modules have",
		    lc__quote_id(name.data, name.size));
	lc__buf_free(&name);
	return status;
}

static lc_status
read_shape(const struct lc__json_member *member, struct entry *entry)
{
	if (member->kind != LC__JSON_ARRAY ||
	    !numbers(member->value, entry->type.shape, LC_MAX_NDIM, &entry->type.ndim))
		return lc__error(LC_CORRUPT, 0, "its shape is no list of sizes");
	if (entry->type.ndim > LC_MAX_NDIM)
		return lc__error(LC_UNSUPPORTED, 0, "rank %" PRIu32 " is above %d",
		    entry->type.ndim, LC_MAX_NDIM);
	return LC_OK;
}

static lc_status
read_offsets(const struct lc__json_member *member, struct entry *entry)
{
	uint64_t pair[2];
	uint32_t count;

	if (member->kind != LC__JSON_ARRAY || !numbers(member->value, pair, 2, &count) ||
	    count != 2)
		return lc__error(LC_CORRUPT, 0, "its data_offsets are not two offsets");
	entry->begin = pair[0];
	entry->end = pair[1];
	return LC_OK;
}

/* Names that the format does not know are skipped, as its own reader does. */
static lc_status
read_field(const struct lc__json_member *member, struct entry *entry)
{
	static const struct {
		const char *name;
		lc_status (*read)(const struct lc__json_member *, struct entry *);
	} fields[] = {
		{ "dtype", read_dtype },
		{ "shape", read_shape },
		{ "data_offsets", read_offsets },
	};
	bool *const there[] = { &entry->dtype, &entry->shape, &entry->offsets };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!lc__json_name_is(member->name, fields[i].name))
			continue;
		if (*there[i])
			return lc__error(LC_CORRUPT, 0, "it has two %s", fields[i].name);
		*there[i] = true;
		return fields[i].read(member, entry);
	}
	return LC_OK;
}

static lc_status
check_entry(struct entry *entry, uint64_t data_size)
{
	lc_tensor type;

	if (!entry->dtype || !entry->shape || !entry->offsets)
		return lc__error(LC_CORRUPT, 0, "it has no %s",
		    !entry->dtype       ? "dtype"
			: !entry->shape ? "shape"
					: "data_offsets");
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
read_entry(const struct lc__json_member *tensor, uint64_t data_size, struct entry *entry)
{
	struct lc__json_members members;
	struct lc__json_member member;
	lc_status status;

	if (tensor->kind != LC__JSON_OBJECT)
		return lc__error(LC_CORRUPT, 0, "what it is told is no object");
	return_if_error(
	    lc__json_object(tensor->value.text, tensor->value.size, &members));
	while ((status = lc__json_next(&members, &member)) == LC_OK)
		return_if_error(read_field(&member, entry));
	return status == LC_END ? check_entry(entry, data_size) : status;
}

/* ---- all of them ------------------------------------------------------------ */

static lc_status
read_note(const struct lc__json_member *note, struct lc__buf *text,
    struct lc__safetensors *out)
{
	size_t name;

	text->size = 0;
	return_if_error(lc__json_unescape(note->name, text));
	name = text->size;
	if (note->kind != LC__JSON_STRING)
		return lc__error(LC_CORRUPT, 0, "%s is no string",
		    lc__quote_id(text->data, text->size));
	return_if_error(lc__json_unescape(note->value, text));
	return lc__safetensors_note(out, (lc_id){ text->data, name },
	    (lc_id){ text->data + name, text->size - name });
}

/* What users note of a file: strings under names. null is none. */
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
		return lc__error(LC_CORRUPT, 0, "__metadata__ is no object");
	return_if_error(
	    lc__json_object(metadata->value.text, metadata->value.size, &members));
	while ((status = lc__json_next(&members, &member)) == LC_OK)
		if (read_note(&member, text, out) != LC_OK)
			return lc__error_prefix("__metadata__");
	return status == LC_END ? LC_OK : status;
}

static lc_status
read_tensor(const struct lc__json_member *member, uint64_t data_size,
    struct lc__buf *name, struct lc__safetensors *out)
{
	struct lc__safetensors_row *row;
	struct entry entry = { 0 };

	name->size = 0;
	return_if_error(lc__json_unescape(member->name, name));
	if (read_entry(member, data_size, &entry) != LC_OK)
		return lc__error_prefix("%s", lc__quote_id(name->data, name->size));
	return_if_error(lc__safetensors_append(out, (lc_id){ name->data, name->size },
	    &entry.type, &row));
	row->begin = entry.begin;
	row->end = entry.end;
	return LC_OK;
}

static lc_status
read_members(struct lc__json_members *members, uint64_t data_size, struct lc__buf *name,
    struct lc__safetensors *out)
{
	struct lc__json_member member;
	bool metadata = false;
	lc_status status;

	while ((status = lc__json_next(members, &member)) == LC_OK) {
		if (!lc__json_name_is(member.name, "__metadata__")) {
			return_if_error(read_tensor(&member, data_size, name, out));
			continue;
		}
		if (metadata)
			return lc__error(LC_CORRUPT, 0, "two __metadata__");
		metadata = true;
		return_if_error(read_metadata(&member, name, out));
	}
	return status == LC_END ? LC_OK : status;
}

/* Tensors of no bytes may share a place: they stay as they came. */
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

/* Every byte is of one tensor. */
static lc_status
check_places(const struct lc__safetensors *table, uint64_t data_size)
{
	uint64_t at = 0;

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

static lc_status
check_table(struct lc__safetensors *table, uint64_t data_size)
{
	lc_id name;

	if (table->count > 0)
		qsort(table->rows, table->count, sizeof(*table->rows), by_place);
	return_if_error(lc__safetensors_index(table));
	if (lc__safetensors_twice(table, &name))
		return lc__error(LC_CORRUPT, 0, "two tensors have the name %s",
		    lc__quote_id(name.data, name.size));
	table->data_size = data_size;
	return check_places(table, data_size);
}

lc_status
lc__safetensors_decode(const void *header, size_t size, uint64_t data_size,
    struct lc__safetensors *out)
{
	struct lc__json_members members;
	struct lc__buf name = { 0 };
	lc_status status;

	if (size == 0 || *(const char *)header != '{')
		return lc__error(LC_CORRUPT, 0, "the header does not begin with {");
	status = lc__json_object(header, size, &members);
	if (status == LC_OK)
		status = read_members(&members, data_size, &name, out);
	lc__buf_free(&name);
	return status == LC_OK ? check_table(out, data_size) : lc__error_prefix("header");
}
