/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/mds_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "value/dtype.h"
#include "value/node.h"
#include "value/path.h"

#define ID "id"

/* A record that is being looked through. */
struct walk {
	struct lc__mds_plan *plan;
	struct lc__buf path;    /* to the part, ended by a NUL */
	size_t found;           /* columns that it has */
	const lc_value **parts; /* those, or NULL while columns are planned */
};

/* ---- what a part needs ----------------------------------------------------------- */

lc_tensor
lc__mds_plan_tensor(const struct lc__mds_plan *plan, const lc_value *part)
{
	lc_tensor tensor = *lc__tensor_of(part);

	if (plan->bits && tensor.dtype == LC_BF16)
		tensor.dtype = LC_U16;
	else if (plan->bits && tensor.dtype >= LC_F8_E4M3 &&
	    lc_dtype_size(tensor.dtype) == 1 && !lc__dtype_is_opaque(tensor.dtype))
		tensor.dtype = LC_U8;
	return tensor;
}

static lc_status
tensor_encoding(const struct lc__mds_plan *plan, const lc_value *part,
    struct lc__mds_encoding *out)
{
	const lc_tensor tensor = lc__mds_plan_tensor(plan, part);

	if (!lc__mds_has_dtype(tensor.dtype))
		return lc__error(LC_UNSUPPORTED, 0, "MDS has no arrays of %s",
		    lc_dtype_name(tensor.dtype));
	if (tensor.nbytes == 0)
		return lc__error(LC_UNSUPPORTED, 0, "MDS has no arrays without elements");
	if (tensor.nbytes > UINT32_MAX)
		return lc__error(LC_UNSUPPORTED, 0,
		    "a tensor of %zu bytes, and MDS has shards below 4 GiB",
		    tensor.nbytes);
	out->kind = tensor.ndim > 0 ? LC__MDS_ARRAY : LC__MDS_NUMBER;
	out->has_dtype = out->has_shape = tensor.ndim > 0;
	out->type = tensor;
	out->type.data = NULL;
	return LC_OK;
}

static lc_status
encoding_of(const struct lc__mds_plan *plan, const lc_value *part,
    struct lc__mds_encoding *out)
{
	const char *text;
	size_t size;
	int64_t number;

	memset(out, 0, sizeof(*out));
	out->kind = LC__MDS_JSON;
	switch (lc_value_kind(part)) {
	case LC_TENSOR: return tensor_encoding(plan, part, out);
	case LC_STRING:
		if (lc_value_as_str(part, &text, &size) == LC_OK &&
		    lc__utf8_valid(text, size))
			out->kind = LC__MDS_STR;
		break;
	case LC_BYTES: out->kind = LC__MDS_BYTES; break;
	case LC_INTEGER:
		if (lc_value_as_integer(part, &number) == LC_OK)
			out->kind = LC__MDS_INT;
		break;
	case LC_FLOAT:
		out->kind = LC__MDS_NUMBER;
		out->type.dtype = LC_F64;
		break;
	default: break;
	}
	return LC_OK;
}

/* Make an encoding general enough for one more part of its column. An array of any
 * dtype is of any shape too. */
static lc_status
widen(struct lc__mds_encoding *encoding, const struct lc__mds_encoding *other,
    bool tensors)
{
	if (encoding->kind == other->kind && encoding->kind == LC__MDS_ARRAY) {
		encoding->has_dtype &= encoding->type.dtype == other->type.dtype;
		encoding->has_shape &= encoding->has_dtype &&
		    encoding->type.ndim == other->type.ndim &&
		    memcmp(encoding->type.shape, other->type.shape,
			other->type.ndim * sizeof(other->type.shape[0])) == 0;
	} else if (tensors &&
	    (encoding->kind != other->kind ||
		encoding->type.dtype != other->type.dtype)) {
		return lc__error(LC_UNSUPPORTED, 0,
		    "a tensor of another %s than in other records",
		    encoding->kind != other->kind ? "rank, 0 or not,"
						  : "dtype, with rank 0,");
	} else if (encoding->kind != other->kind) {
		encoding->kind = LC__MDS_JSON;
	}
	return LC_OK;
}

/* ---- columns -------------------------------------------------------------------- */

/* Where the column is, or belongs; true if it is there. */
static bool
find(const struct lc__mds_columns *columns, const char *name, size_t *out)
{
	size_t low = 0, high = columns->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(name, columns->column[middle].name);

		if (order == 0) {
			*out = middle;
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	*out = low;
	return false;
}

static lc_status
insert(struct lc__mds_plan *plan, size_t at, const char *name,
    const struct lc__mds_encoding *encoding, bool tensor)
{
	const size_t after = plan->columns.count - at, room = plan->columns.count + 1;
	char *copy;

	return_if_error(
	    lc__array_reserve(&plan->columns.column, &plan->columns_room, room, NULL));
	return_if_error(lc__array_reserve(&plan->seen, &plan->seen_room, room, NULL));
	return_if_error(lc__array_reserve(&plan->tensor, &plan->tensor_room, room, NULL));
	copy = strdup(name);
	if (copy == NULL)
		return lc__no_memory(NULL);
	memmove(plan->columns.column + at + 1, plan->columns.column + at,
	    after * sizeof(*plan->columns.column));
	memmove(plan->seen + at + 1, plan->seen + at, after * sizeof(*plan->seen));
	memmove(plan->tensor + at + 1, plan->tensor + at, after * sizeof(*plan->tensor));
	plan->columns.column[at] = (struct lc__mds_column){ copy, *encoding, 0 };
	plan->seen[at] = plan->records;
	plan->tensor[at] = tensor;
	plan->columns.count++;
	return LC_OK;
}

void
lc__mds_plan_end(struct lc__mds_plan *plan)
{
	plan->columns.sizes = 0;
	for (size_t i = 0; i < plan->columns.count; i++) {
		struct lc__mds_column *column = &plan->columns.column[i];

		column->size = lc__mds_encoding_size(&column->encoding);
		plan->columns.sizes += column->size == 0;
	}
}

/* ---- records -------------------------------------------------------------------- */

static lc_status
plan_part(struct walk *walk, const char *name, const lc_value *part)
{
	struct lc__mds_plan *plan = walk->plan;
	const bool tensor = lc_value_kind(part) == LC_TENSOR;
	struct lc__mds_encoding encoding;
	size_t i;

	return_if_error(encoding_of(plan, part, &encoding));
	if (find(&plan->columns, name, &i) && strcmp(name, ID) != 0) {
		plan->seen[i] = plan->records;
		if (plan->tensor[i] != tensor)
			return lc__error(LC_UNSUPPORTED, 0,
			    "a tensor in some records, plain data in others");
		return widen(&plan->columns.column[i].encoding, &encoding, tensor);
	}
	if (!lc__utf8_valid(name, strlen(name)))
		return lc__error(LC_UNSUPPORTED, 0,
		    "MDS has no columns with names that are not UTF-8");
	if (strcmp(name, ID) == 0)
		return lc__error(LC_UNSUPPORTED, 0,
		    "the column " ID " is that of cache_ids");
	if (plan->records > 1)
		return lc__error(LC_UNSUPPORTED, 0,
		    "other records have no such part, and in MDS all have the same");
	return insert(plan, i, name, &encoding, tensor);
}

/* The part must be one that the column was planned for. */
static lc_status
take_part(struct walk *walk, const char *name, const lc_value *part)
{
	struct lc__mds_plan *plan = walk->plan;
	struct lc__mds_encoding encoding, wide;
	size_t i;

	return_if_error(encoding_of(plan, part, &encoding));
	if (!find(&plan->columns, name, &i))
		return lc__error(LC_INVALID, 0, "came after the files were planned");
	wide = plan->columns.column[i].encoding;
	if (plan->tensor[i] != (lc_value_kind(part) == LC_TENSOR) ||
	    (wide.kind != LC__MDS_JSON &&
		(widen(&wide, &encoding, plan->tensor[i]) != LC_OK ||
		    wide.kind != plan->columns.column[i].encoding.kind ||
		    wide.has_dtype != plan->columns.column[i].encoding.has_dtype ||
		    wide.has_shape != plan->columns.column[i].encoding.has_shape)))
		return lc__error(LC_INVALID, 0, "changed after the files were planned");
	walk->parts[i] = part;
	return LC_OK;
}

static lc_status
meet(struct walk *walk, const lc_value *value)
{
	const size_t size = walk->path.size;
	const bool root = size == 0;

	if (!lc__is_group(value) ||
	    ((value->flags & LC__HAS_TENSOR) == 0 && !(root && value->kind == LC_MAP))) {
		const char *path = lc__path_text(&walk->path);
		const char *name = *path != '\0'        ? path
		    : lc_value_kind(value) == LC_TENSOR ? "tensor"
							: "value";
		const lc_status status = walk->parts != NULL
		    ? take_part(walk, name, value)
		    : plan_part(walk, name, value);

		walk->found++;
		if (status == LC_OK || *path == '\0')
			return status;
		return lc__error_prefix("%s", lc__quote_id(path, strlen(path)));
	}
	for (size_t i = 0; i < lc_value_count(value); i++) {
		const char *name = lc_value_name(value, i);

		if (name != NULL)
			lc__path_name(&walk->path, name);
		else
			lc__path_index(&walk->path, i);
		if (walk->path.failed)
			return lc__no_memory(NULL);
		return_if_error(meet(walk, lc_value_at(value, i)));
		lc__path_cut(&walk->path, size);
	}
	return LC_OK;
}

/* Every column but the cache_id's has been met. */
static lc_status
check_all_met(const struct walk *walk)
{
	const struct lc__mds_plan *plan = walk->plan;

	if (walk->found == plan->columns.count - 1)
		return LC_OK;
	if (walk->parts != NULL)
		return lc__error(LC_INVALID, 0, "changed after the files were planned");
	for (size_t i = 0; i < plan->columns.count; i++)
		if (plan->seen[i] != plan->records)
			return lc__error(LC_UNSUPPORTED, 0,
			    "it has no part %s as other "
			    "records have, and in MDS all have the same",
			    lc__quote_id(plan->columns.column[i].name,
				strlen(plan->columns.column[i].name)));
	return LC_OK;
}

static lc_status
look_through(struct walk *walk, lc_id id, const lc_value *value)
{
	lc_status status = meet(walk, value);

	if (status == LC_OK)
		status = check_all_met(walk);
	lc__buf_free(&walk->path);
	return status == LC_OK ? LC_OK
			       : lc__error_prefix("%s", lc__quote_id(id.data, id.size));
}

lc_status
lc__mds_plan_add(struct lc__mds_plan *plan, lc_id id, const lc_value *value)
{
	struct walk walk = { .plan = plan };
	struct lc__mds_encoding encoding = {
		.kind = lc__utf8_valid(id.data, id.size) ? LC__MDS_STR : LC__MDS_BYTES,
	};
	size_t i;

	/* The column of cache_ids is text while all of them are, then bytes. */
	plan->records++;
	if (!find(&plan->columns, ID, &i))
		return_if_error(insert(plan, i, ID, &encoding, false));
	plan->seen[i] = plan->records;
	if (encoding.kind == LC__MDS_BYTES)
		plan->columns.column[i].encoding = encoding;
	return look_through(&walk, id, value);
}

lc_status
lc__mds_plan_parts(struct lc__mds_plan *plan, lc_id id, const lc_value *value,
    const lc_value **out)
{
	struct walk walk = { .plan = plan, .parts = out };

	memset(out, 0, plan->columns.count * sizeof(*out));
	return look_through(&walk, id, value);
}

void
lc__mds_plan_free(struct lc__mds_plan *plan)
{
	lc__mds_columns_free(&plan->columns);
	free(plan->seen);
	free(plan->tensor);
	memset(plan, 0, sizeof(*plan));
}
