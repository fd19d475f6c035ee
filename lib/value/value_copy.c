/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of whole trees, tensors' data included. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "value/arena.h"

/* What a copy takes: nodes, then the data of tensors. */
struct sizes {
	size_t nodes;
	uint64_t data; /* each tensor at a multiple of 64 */
	bool overflow;
};

static void
measure(const lc_value *value, struct sizes *sizes)
{
	const lc_kind kind = (lc_kind)value->kind;
	const size_t count = lc_value_count(value);

	sizes->nodes += lc__arena_node_size(kind, count);
	if (kind == LC_TENSOR &&
	    !lc__add64(sizes->data, lc__round_up(lc__tensor_of(value)->nbytes, 64),
	    &sizes->data))
		sizes->overflow = true;
	if (kind == LC_STRING || kind == LC_BYTES)
		sizes->nodes += lc__arena_text_size(value->of.text.size);
	for (size_t i = 0; i < count; i++) {
		if (kind == LC_MAP)
			sizes->nodes += lc__arena_text_size(strlen(lc_value_name(value, i)));
		measure(lc_value_at(value, i), sizes);
	}
}

static void
copy_tensor(lc_tensor *out, const lc_tensor *tensor, unsigned char **data)
{
	*out = *tensor;
	out->data = tensor->nbytes > 0 ? *data : NULL;
	if (tensor->nbytes > 0)
		memcpy(*data, tensor->data, tensor->nbytes);
	*data += lc__round_up(tensor->nbytes, 64);
}

static lc_value *
copy(struct lc__arena *arena, const lc_value *value, unsigned char **data)
{
	const lc_kind kind = (lc_kind)value->kind;
	const size_t count = lc_value_count(value);
	lc_value *out = lc__arena_node(arena, kind, count);

	out->flags |= value->flags & (LC__HAS_TENSOR | LC__NEGATIVE);
	out->flaw = value->flaw;
	out->own_flaw = value->own_flaw;
	if (kind == LC_TENSOR) {
		copy_tensor(&((struct lc__tensor_node *)out)->tensor,
		    lc__tensor_of(value), data);
	} else if (kind == LC_STRING || kind == LC_BYTES) {
		out->of.text.size = value->of.text.size;
		out->of.text.bytes = lc__arena_text(arena, value->of.text.bytes,
		    value->of.text.size);
	} else {
		out->of = value->of;
	}
	for (size_t i = 0; i < count; i++) {
		const lc_value *from = lc_value_at(value, i);
		const char *name = kind == LC_MAP ?
		    lc__arena_text(arena, from->name, strlen(from->name)) : NULL;
		lc__group_link(lc__group_of(out), copy(arena, from, data), name);
	}
	return out;
}

lc_value *
lc_value_copy(const lc_value *value)
{
	struct sizes sizes = { 0 };
	struct lc__arena arena = { 0 };
	unsigned char *data;
	uint64_t size;

	if (value == NULL)
		return NULL;
	measure(value, &sizes);
	size = lc__round_up(sizes.nodes, 64);
	if (sizes.overflow || !lc__add64(size, sizes.data, &size) ||
	    size > PTRDIFF_MAX)
		return NULL;
	arena.at = aligned_alloc(64, size);
	if (arena.at == NULL)
		return NULL;
	data = arena.at + lc__round_up(sizes.nodes, 64);
	return copy(&arena, value, &data);
}
