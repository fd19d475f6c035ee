/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking a value apart. */
#include "base/error.h"
#include "base/mpack.h"
#include "value/node.h"
#include "value/value.h"

static void
encode(const lc_value *value, struct lc__buf *out)
{
	const size_t start = out->size;
	const size_t count = lc_value_count(value);

	switch ((lc_kind)value->kind) {
	case LC_NIL:
		lc__mpack_nil(out);
		break;
	case LC_BOOLEAN:
		lc__mpack_boolean(out, value->of.bits != 0);
		break;
	case LC_INTEGER:
		if (value->flags & LC__NEGATIVE)
			lc__mpack_int(out, (int64_t)value->of.bits);
		else
			lc__mpack_uint(out, value->of.bits);
		break;
	case LC_FLOAT:
		lc__mpack_float(out, value->of.number);
		break;
	case LC_STRING:
		lc__mpack_strn(out, value->of.text.bytes, value->of.text.size);
		break;
	case LC_BYTES:
		lc__mpack_bin(out, value->of.text.bytes, value->of.text.size);
		break;
	case LC_MAP:
		lc__mpack_map(out, (uint32_t)count);
		break;
	case LC_LIST:
	case LC_TUPLE:
		lc__mpack_array(out, (uint32_t)count);
		break;
	case LC_TENSOR: /* never in plain data */
		break;
	}
	for (size_t i = 0; i < count; i++) {
		if (value->kind == LC_MAP)
			lc__mpack_str(out, lc_value_name(value, i));
		encode(lc_value_at(value, i), out);
	}
	if (value->kind == LC_TUPLE && !out->failed)
		lc__mpack_ext_of(out, start, LC__TUPLE_EXT);
}

static const lc_tensor **
take_apart(const lc_value *value, const lc_tensor **tensors, struct lc__buf *plain)
{
	if (lc__is_plain(value)) {
		encode(value, plain);
	} else if (value->kind == LC_TENSOR) {
		*tensors++ = lc__tensor_of(value);
	} else {
		for (size_t i = 0; i < lc_value_count(value); i++)
			tensors = take_apart(lc_value_at(value, i), tensors, plain);
	}
	return tensors;
}

lc_status
lc__value_leaves(const lc_value *value, const lc_tensor **tensors,
    struct lc__buf *plain)
{
	const size_t start = plain->size;

	take_apart(value, tensors, plain);
	if (plain->failed)
		return lc__no_memory(NULL);
	if (plain->size - start > UINT32_MAX)
		return lc__error(LC_INVALID, 0,
		    "value: more than 4 GiB of plain data");
	return LC_OK;
}
