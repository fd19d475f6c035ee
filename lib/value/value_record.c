/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/value_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/mpack.h"
#include "value/node.h"

static const struct {
	enum lc__ext ext;
	lc_kind kind;
	enum lc__token_kind token; /* that its bytes begin with */
} extensions[] = {
	{ LC__TUPLE_EXT, LC_TUPLE, LC__TOKEN_ARRAY },
	{ LC__TAGGED_EXT, LC_TAGGED, LC__TOKEN_MAP },
	{ LC__PAIRS_EXT, LC_PAIRS, LC__TOKEN_ARRAY },
};

/* ---- taking a value apart ----------------------------------------------------- */

static void
encode(const lc_value *value, struct lc__buf *out)
{
	const size_t start = out->size;
	const size_t count = lc_value_count(value);

	switch ((lc_kind)value->kind) {
	case LC_NIL: lc__mpack_nil(out); break;
	case LC_BOOLEAN: lc__mpack_boolean(out, value->of.bits != 0); break;
	case LC_INTEGER:
		if (value->flags & LC__NEGATIVE)
			lc__mpack_int(out, (int64_t)value->of.bits);
		else
			lc__mpack_uint(out, value->of.bits);
		break;
	case LC_FLOAT: lc__mpack_float(out, value->of.number); break;
	case LC_STRING:
		lc__mpack_strn(out, value->of.text.bytes, value->of.text.size);
		break;
	case LC_BYTES:
		lc__mpack_bin(out, value->of.text.bytes, value->of.text.size);
		break;
	case LC_MAP:
	case LC_TAGGED: lc__mpack_map(out, (uint32_t)count); break;
	case LC_LIST:
	case LC_TUPLE:
	case LC_PAIRS: lc__mpack_array(out, (uint32_t)count); break;
	case LC_TENSOR: /* never appears in plain data */ break;
	}
	for (size_t i = 0; i < count; i++) {
		if (lc__has_names(value->kind))
			lc__mpack_str(out, lc_value_name(value, i));
		encode(lc_value_at(value, i), out);
	}
	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++)
		if (value->kind == extensions[i].kind && !out->failed)
			lc__mpack_ext_of(out, start, (int8_t)extensions[i].ext);
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
lc__value_leaves(const lc_value *value, const lc_tensor **tensors, struct lc__buf *plain)
{
	const size_t start = plain->size;

	take_apart(value, tensors, plain);
	if (plain->failed)
		return lc__no_memory(NULL);
	if (plain->size - start > UINT32_MAX)
		return lc__error(LC_INVALID, 0, "value: more than 4 GiB of plain data");
	return LC_OK;
}

/* ---- trees in one allocation, an arena ------------------------------------------- */

/* Where the next node is placed. */
struct arena {
	unsigned char *at;
	bool started; /* the root has been placed */
};

static size_t
struct_size(lc_kind kind)
{
	switch (kind) {
	case LC_TENSOR: return sizeof(struct lc__tensor_node);
	case LC_MAP:
	case LC_LIST:
	case LC_TUPLE:
	case LC_TAGGED:
	case LC_PAIRS: return sizeof(struct lc__group);
	default: return sizeof(lc_value);
	}
}

static size_t
index_room(lc_kind kind, size_t count)
{
	return kind == LC_MAP && count > LC__NAMES_FEW ? lc__names_room(count) : 0;
}

/* The size of a tensor, a leaf, or a group of so many children. All sizes are multiples
 * of 8 bytes. */
static size_t
node_size(lc_kind kind, size_t count)
{
	return struct_size(kind) + count * sizeof(lc_value *) +
	    index_room(kind, count) * sizeof(struct lc__name_slot);
}

/* The size of a string, bytes or a name. */
static size_t
text_size(size_t size)
{
	return (size + 1 + 7) & ~(size_t)7;
}

static void *
take(struct arena *arena, size_t size)
{
	void *place = arena->at;

	arena->at += size;
	return place;
}

/* Place a node that has no children yet. The first is the root. */
static lc_value *
place_node(struct arena *arena, lc_kind kind, size_t count)
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

/* Place a copy of a text, with a NUL after it. */
static const char *
place_text(struct arena *arena, const void *text, size_t size)
{
	char *place = take(arena, text_size(size));

	if (size > 0)
		memcpy(place, text, size);
	place[size] = '\0';
	return place;
}

/* ---- restoring a value: the size of its nodes ------------------------------------ */

static bool measure_object(struct lc__tokens *in, unsigned depth, size_t *size);

static bool
next_is_map(struct lc__tokens in)
{
	struct lc__mpack_token token;

	return lc__token_expect(&in, LC__TOKEN_MAP, &token);
}

static bool
measure_members(struct lc__tokens *in, const struct lc__mpack_token *group, lc_kind kind,
    unsigned depth, size_t *size)
{
	struct lc__mpack_token name;

	if (!lc__count_fits(kind, group->size))
		return false;
	*size += node_size(kind, group->size);
	for (uint32_t i = 0; i < group->size; i++) {
		if (kind == LC_PAIRS && i % 2 == 0 && next_is_map(*in))
			return false;
		if (lc__has_names(kind)) {
			if (!lc__token_expect(in, LC__TOKEN_STR, &name) ||
			    name.size == 0 || memchr(name.bytes, '\0', name.size) != NULL)
				return false;
			*size += text_size(name.size);
		}
		if (!measure_object(in, depth + 1, size))
			return false;
	}
	return true;
}

/* The array or map in the bytes of an extension; @p in becomes the part after its
 * head. */
static bool
open_ext(const struct lc__mpack_token *ext, struct lc__tokens *in, lc_kind *kind,
    struct lc__mpack_token *members)
{
	in->at = ext->bytes;
	in->end = in->at + ext->size;
	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		if (ext->ext == (int)extensions[i].ext) {
			*kind = extensions[i].kind;
			return lc__token_expect(in, extensions[i].token, members);
		}
	}
	return false;
}

static bool
measure_object(struct lc__tokens *in, unsigned depth, size_t *size)
{
	struct lc__mpack_token token, members;
	struct lc__tokens inside;
	lc_kind kind;

	if (depth > LC_MAX_DEPTH || !lc__token_next(in, &token))
		return false;
	switch (token.kind) {
	case LC__TOKEN_ARRAY: return measure_members(in, &token, LC_LIST, depth, size);
	case LC__TOKEN_MAP: return measure_members(in, &token, LC_MAP, depth, size);
	case LC__TOKEN_EXT:
		return open_ext(&token, &inside, &kind, &members) &&
		    measure_members(&inside, &members, kind, depth, size) &&
		    inside.at == inside.end;
	case LC__TOKEN_STR:
	case LC__TOKEN_BIN: *size += text_size(token.size); break;
	default: break;
	}
	*size += node_size(LC_NIL, 0);
	return true;
}

/* Check all leaves of plain data; @p own becomes the start of the part's own. */
static bool
measure_plain(const struct lc__schema *schema, uint32_t part, struct lc__tokens in,
    struct lc__tokens *own, size_t *size)
{
	const uint32_t end = schema->node[part].end;
	size_t ignored = 0;

	*own = in;
	for (uint32_t i = 0; i < schema->nodes && schema->plains > 0; i++) {
		struct lc__tokens first = in;
		struct lc__mpack_token token;

		if (i == part)
			*own = in;
		if (schema->node[i].kind != LC__PLAIN)
			continue;
		/* A map is not a leaf: its names are in the schema. */
		if (!lc__token_next(&first, &token) || token.kind == LC__TOKEN_MAP ||
		    !measure_object(&in, schema->node[i].depth,
			i >= part && i < end ? size : &ignored))
			return false;
	}
	return in.at == in.end;
}

/* ---- restoring a value: the nodes ------------------------------------------------ */

struct restorer {
	const struct lc__schema *schema;
	const lc_tensor *tensors; /* the next one */
	struct lc__tokens plain;  /* not restored yet */
	struct arena arena;
};

static lc_value *restore_object(struct arena *arena, struct lc__tokens *in);

/* Returns NULL if a name is repeated. */
static lc_value *
restore_members(struct arena *arena, struct lc__tokens *in,
    const struct lc__mpack_token *array, lc_kind kind)
{
	lc_value *value = place_node(arena, kind, array->size);
	struct lc__group *group = lc__group_of(value);
	const char *name = NULL;
	struct lc__mpack_token token;
	lc_value *child;

	for (uint32_t i = 0; i < array->size; i++) {
		if (lc__has_names(kind)) {
			lc__token_next(in, &token);
			if (lc__group_find(group, token.bytes, token.size) != NULL)
				return NULL;
			name = place_text(arena, token.bytes, token.size);
		}
		child = restore_object(arena, in);
		if (child == NULL)
			return NULL;
		lc__group_link(group, child, name);
	}
	return value;
}

static lc_value *
restore_bits(struct arena *arena, lc_kind kind, const struct lc__mpack_token *token)
{
	lc_value *value = place_node(arena, kind, 0);

	value->of.bits = token->number;
	if (token->kind == LC__TOKEN_NEGATIVE)
		value->flags |= LC__NEGATIVE;
	return value;
}

/* measure_object() has checked all of it except for repeated names. */
static lc_value *
restore_object(struct arena *arena, struct lc__tokens *in)
{
	struct lc__mpack_token token, members;
	struct lc__tokens inside;
	lc_value *value;
	lc_kind kind;

	lc__token_next(in, &token);
	switch (token.kind) {
	case LC__TOKEN_NIL: return place_node(arena, LC_NIL, 0);
	case LC__TOKEN_BOOLEAN: return restore_bits(arena, LC_BOOLEAN, &token);
	case LC__TOKEN_FLOAT: return restore_bits(arena, LC_FLOAT, &token);
	case LC__TOKEN_STR:
	case LC__TOKEN_BIN:
		value = place_node(arena,
		    token.kind == LC__TOKEN_STR ? LC_STRING : LC_BYTES, 0);
		value->of.text.size = token.size;
		value->of.text.bytes = place_text(arena, token.bytes, token.size);
		return value;
	case LC__TOKEN_ARRAY: return restore_members(arena, in, &token, LC_LIST);
	case LC__TOKEN_MAP: return restore_members(arena, in, &token, LC_MAP);
	case LC__TOKEN_EXT:
		open_ext(&token, &inside, &kind, &members);
		return restore_members(arena, &inside, &members, kind);
	default: return restore_bits(arena, LC_INTEGER, &token);
	}
}

static lc_value *
restore_node(struct restorer *r, uint32_t at)
{
	const struct lc__schema_node *node = &r->schema->node[at];
	lc_value *value, *child;

	if (node->kind == LC__PLAIN)
		return restore_object(&r->arena, &r->plain);
	value = place_node(&r->arena, (lc_kind)node->kind, node->children);
	if (node->kind == LC_TENSOR) {
		((struct lc__tensor_node *)value)->tensor = *r->tensors++;
		value->flags |= LC__HAS_TENSOR;
		return value;
	}
	for (uint32_t i = at + 1; i < node->end; i = r->schema->node[i].end) {
		child = restore_node(r, i);
		if (child == NULL)
			return NULL;
		lc__group_link(lc__group_of(value), child, r->schema->node[i].name);
	}
	return value;
}

lc_status
lc__value_restore(const struct lc__schema *schema, uint32_t node,
    const lc_tensor *tensors, const void *plain, size_t plain_size, lc_value **out)
{
	struct restorer r = { .schema = schema, .tensors = tensors };
	struct lc__tokens in = { plain, NULL };
	size_t size = 0;
	void *memory;

	for (uint32_t i = node; i < schema->node[node].end; i++)
		if (schema->node[i].kind != LC__PLAIN)
			size += node_size((lc_kind)schema->node[i].kind,
			    schema->node[i].children);
	in.end = plain_size > 0 ? in.at + plain_size : in.at;
	if (!measure_plain(schema, node, in, &r.plain, &size))
		return lc__error(LC_CORRUPT, 0, "malformed plain data");
	memory = malloc(size);
	if (memory == NULL)
		return lc__no_memory(NULL);
	r.arena.at = memory;
	if (restore_node(&r, node) == NULL) {
		free(memory);
		return lc__error(LC_CORRUPT, 0, "plain data with a name twice");
	}
	*out = memory;
	return LC_OK;
}

/* ---- copies of whole trees, tensors' data included ------------------------------ */

/* The size of a copy: nodes, then the data of tensors. */
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

	sizes->nodes += node_size(kind, count);
	if (kind == LC_TENSOR &&
	    !lc__add64(sizes->data, lc__round_up(lc__tensor_of(value)->nbytes, 64),
		&sizes->data))
		sizes->overflow = true;
	if (kind == LC_STRING || kind == LC_BYTES)
		sizes->nodes += text_size(value->of.text.size);
	for (size_t i = 0; i < count; i++) {
		if (lc__has_names(kind))
			sizes->nodes += text_size(strlen(lc_value_name(value, i)));
		measure(lc_value_at(value, i), sizes);
	}
}

static lc_value *
copy(struct arena *arena, const lc_value *value, unsigned char **data)
{
	const lc_kind kind = (lc_kind)value->kind;
	const size_t count = lc_value_count(value);
	lc_value *out = place_node(arena, kind, count);

	out->flags |= value->flags & (LC__HAS_TENSOR | LC__NEGATIVE);
	out->flaw = value->flaw;
	out->own_flaw = value->own_flaw;
	if (kind == LC_TENSOR) {
		const lc_tensor *from = lc__tensor_of(value);
		lc_tensor *to = &((struct lc__tensor_node *)out)->tensor;

		*to = *from;
		to->data = from->nbytes > 0 ? *data : NULL;
		if (from->nbytes > 0)
			memcpy(*data, from->data, from->nbytes);
		*data += lc__round_up(from->nbytes, 64);
	} else if (kind == LC_STRING || kind == LC_BYTES) {
		out->of.text.size = value->of.text.size;
		out->of.text.bytes = place_text(arena, value->of.text.bytes,
		    value->of.text.size);
	} else {
		out->of = value->of;
	}
	for (size_t i = 0; i < count; i++) {
		const lc_value *from = lc_value_at(value, i);
		const char *name = lc__has_names(kind)
		    ? place_text(arena, from->name, strlen(from->name))
		    : NULL;

		lc__group_link(lc__group_of(out), copy(arena, from, data), name);
	}
	return out;
}

lc_value *
lc_value_copy(const lc_value *value)
{
	struct sizes sizes = { 0 };
	struct arena arena = { 0 };
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
