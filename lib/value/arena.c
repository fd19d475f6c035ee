/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/arena.h"

#include <string.h>

static size_t
struct_size(lc_kind kind)
{
	switch (kind) {
	case LC_TENSOR:
		return sizeof(struct lc__tensor_node);
	case LC_MAP:
	case LC_LIST:
	case LC_TUPLE:
		return sizeof(struct lc__group);
	default:
		return sizeof(lc_value);
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
