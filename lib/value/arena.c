/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

static size_t
struct_size(lc_kind kind)
{
	switch (kind) {
	case LC_TENSOR: return sizeof(struct lc__tensor_node);
	case LC_MAP:
	case LC_LIST:
	case LC_TUPLE: return sizeof(struct lc__group);
	default: return sizeof(lc_value);
	}
}

static size_t
index_room(lc_kind kind, size_t count)
{
	return kind == LC_MAP && count > LC__NAMES_FEW ? lc__names_room(count) : 0;
}

/* All parts are multiples of 8 bytes. */
size_t
lc__arena_node_size(lc_kind kind, size_t count)
{
	return struct_size(kind) + count * sizeof(lc_value *) +
	    index_room(kind, count) * sizeof(struct lc__name_slot);
}

size_t
lc__arena_text_size(size_t size)
{
	return (size + 1 + 7) & ~(size_t)7;
}

static void *
take(struct lc__arena *arena, size_t size)
{
	void *place = arena->at;

	arena->at += size;
	return place;
}

lc_value *
lc__arena_node(struct lc__arena *arena, lc_kind kind, size_t count)
{
	const size_t size = struct_size(kind);
	const size_t room = index_room(kind, count);
	lc_value *node = take(arena, size);
	struct lc__group *group = lc__group_of(node);

	memset(node, 0, size);
	node->kind = (uint8_t)kind;
	node->height = 1;
	node->flags = arena->started ? LC__IN_ARENA : LC__ARENA_ROOT;
	arena->started = true;
	if (count > 0) {
		group->child = take(arena, count * sizeof(*group->child));
		group->room = (uint32_t)count;
	}
	if (room > 0)
		lc__names_init(&group->names,
		    take(arena, room * sizeof(struct lc__name_slot)), room);
	return node;
}

const char *
lc__arena_text(struct lc__arena *arena, const void *text, size_t size)
{
	char *place = take(arena, lc__arena_text_size(size));

	if (size > 0)
		memcpy(place, text, size);
	place[size] = '\0';
	return place;
}

/* ---- copies of whole trees, tensors' data included ------------------------------ */

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
			sizes->nodes += lc__arena_text_size(
			    strlen(lc_value_name(value, i)));
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
		const char *name = kind == LC_MAP
		    ? lc__arena_text(arena, from->name, strlen(from->name))
		    : NULL;
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
	if (sizes.overflow || !lc__add64(size, sizes.data, &size) || size > PTRDIFF_MAX)
		return NULL;
	arena.at = aligned_alloc(64, size);
	if (arena.at == NULL)
		return NULL;
	data = arena.at + lc__round_up(sizes.nodes, 64);
	return copy(&arena, value, &data);
}
