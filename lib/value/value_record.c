/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/value_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mpack.h"
#include "value/arena.h"
#include "value/node.h"

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
	case LC_MAP: lc__mpack_map(out, (uint32_t)count); break;
	case LC_LIST:
	case LC_TUPLE: lc__mpack_array(out, (uint32_t)count); break;
	case LC_TENSOR: /* never in plain data */ break;
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

/* ---- putting it together again ------------------------------------------------ */

/* ---- what the nodes take -------------------------------------------------- */

static bool measure_object(struct lc__tokens *in, unsigned depth, size_t *size);

static bool
good_name(const struct lc__mpack_token *token)
{
	return token->kind == LC__TOKEN_STR && token->size > 0 &&
	    memchr(token->bytes, '\0', token->size) == NULL;
}

static bool
measure_members(struct lc__tokens *in, const struct lc__mpack_token *group, lc_kind kind,
    unsigned depth, size_t *size)
{
	struct lc__mpack_token name;

	*size += lc__arena_node_size(kind, group->size);
	for (uint32_t i = 0; i < group->size; i++) {
		if (kind == LC_MAP) {
			if (!lc__token_next(in, &name) || !good_name(&name))
				return false;
			*size += lc__arena_text_size(name.size);
		}
		if (!measure_object(in, depth + 1, size))
			return false;
	}
	return true;
}

/* The array that the bytes of a tuple are; @p in becomes what follows its head. */
static bool
open_tuple(const struct lc__mpack_token *ext, struct lc__tokens *in,
    struct lc__mpack_token *array)
{
	in->at = ext->bytes;
	in->end = in->at + ext->size;
	return ext->ext == LC__TUPLE_EXT && lc__token_expect(in, LC__TOKEN_ARRAY, array);
}

static bool
measure_tuple(const struct lc__mpack_token *ext, unsigned depth, size_t *size)
{
	struct lc__tokens in;
	struct lc__mpack_token array;

	return open_tuple(ext, &in, &array) &&
	    measure_members(&in, &array, LC_TUPLE, depth, size) && in.at == in.end;
}

static bool
measure_object(struct lc__tokens *in, unsigned depth, size_t *size)
{
	struct lc__mpack_token token;

	if (depth > LC_MAX_DEPTH || !lc__token_next(in, &token))
		return false;
	switch (token.kind) {
	case LC__TOKEN_ARRAY: return measure_members(in, &token, LC_LIST, depth, size);
	case LC__TOKEN_MAP: return measure_members(in, &token, LC_MAP, depth, size);
	case LC__TOKEN_EXT: return measure_tuple(&token, depth, size);
	case LC__TOKEN_STR:
	case LC__TOKEN_BIN: *size += lc__arena_text_size(token.size); break;
	default: break;
	}
	*size += lc__arena_node_size(LC_NIL, 0);
	return true;
}

/* A map is not a leaf: its names are in the schema. */
static bool
measure_leaf(struct lc__tokens *in, unsigned depth, size_t *size)
{
	struct lc__tokens first = *in;
	struct lc__mpack_token token;

	return lc__token_next(&first, &token) && token.kind != LC__TOKEN_MAP &&
	    measure_object(in, depth, size);
}

/* Check all leaves of plain data; @p own becomes where those of the part start. */
static bool
measure_plain(const struct lc__schema *schema, uint32_t part, struct lc__tokens in,
    struct lc__tokens *own, size_t *size)
{
	const uint32_t end = schema->node[part].end;
	size_t ignored = 0;

	*own = in;
	for (uint32_t i = 0; i < schema->nodes && schema->plains > 0; i++) {
		if (i == part)
			*own = in;
		if (schema->node[i].kind == LC__PLAIN &&
		    !measure_leaf(&in, schema->node[i].depth,
			i >= part && i < end ? size : &ignored))
			return false;
	}
	return in.at == in.end;
}

static size_t
measure_structure(const struct lc__schema *schema, uint32_t part)
{
	size_t size = 0;

	for (uint32_t i = part; i < schema->node[part].end; i++) {
		const struct lc__schema_node *node = &schema->node[i];
		if (node->kind != LC__PLAIN)
			size += lc__arena_node_size((lc_kind)node->kind, node->children);
	}
	return size;
}

/* ---- the nodes ------------------------------------------------------------ */

struct restorer {
	const struct lc__schema *schema;
	const lc_tensor *tensors; /* the next one */
	struct lc__tokens plain;  /* what has not been restored yet */
	struct lc__arena arena;
};

static lc_value *restore_object(struct lc__arena *arena, struct lc__tokens *in);

/* NULL if a name is there twice. */
static lc_value *
restore_members(struct lc__arena *arena, struct lc__tokens *in,
    const struct lc__mpack_token *array, lc_kind kind)
{
	lc_value *value = lc__arena_node(arena, kind, array->size);
	struct lc__group *group = lc__group_of(value);
	const char *name = NULL;
	struct lc__mpack_token token;
	lc_value *child;

	for (uint32_t i = 0; i < array->size; i++) {
		if (kind == LC_MAP) {
			lc__token_next(in, &token);
			if (lc__group_find(group, token.bytes, token.size) != NULL)
				return NULL;
			name = lc__arena_text(arena, token.bytes, token.size);
		}
		child = restore_object(arena, in);
		if (child == NULL)
			return NULL;
		lc__group_link(group, child, name);
	}
	return value;
}

static lc_value *
restore_tuple(struct lc__arena *arena, const struct lc__mpack_token *ext)
{
	struct lc__tokens in;
	struct lc__mpack_token array;

	open_tuple(ext, &in, &array);
	return restore_members(arena, &in, &array, LC_TUPLE);
}

static lc_value *
restore_text(struct lc__arena *arena, const struct lc__mpack_token *token)
{
	lc_value *value = lc__arena_node(arena,
	    token->kind == LC__TOKEN_STR ? LC_STRING : LC_BYTES, 0);

	value->of.text.size = token->size;
	value->of.text.bytes = lc__arena_text(arena, token->bytes, token->size);
	return value;
}

static lc_value *
restore_bits(struct lc__arena *arena, lc_kind kind, const struct lc__mpack_token *token)
{
	lc_value *value = lc__arena_node(arena, kind, 0);

	value->of.bits = token->number;
	if (token->kind == LC__TOKEN_NEGATIVE)
		value->flags |= LC__NEGATIVE;
	return value;
}

/* What measure_object() has found good but for names that are there twice. */
static lc_value *
restore_object(struct lc__arena *arena, struct lc__tokens *in)
{
	struct lc__mpack_token token;

	lc__token_next(in, &token);
	switch (token.kind) {
	case LC__TOKEN_NIL: return lc__arena_node(arena, LC_NIL, 0);
	case LC__TOKEN_BOOLEAN: return restore_bits(arena, LC_BOOLEAN, &token);
	case LC__TOKEN_FLOAT: return restore_bits(arena, LC_FLOAT, &token);
	case LC__TOKEN_STR:
	case LC__TOKEN_BIN: return restore_text(arena, &token);
	case LC__TOKEN_ARRAY: return restore_members(arena, in, &token, LC_LIST);
	case LC__TOKEN_MAP: return restore_members(arena, in, &token, LC_MAP);
	case LC__TOKEN_EXT: return restore_tuple(arena, &token);
	default: return restore_bits(arena, LC_INTEGER, &token);
	}
}

static lc_value *
restore_tensor(struct restorer *r)
{
	lc_value *value = lc__arena_node(&r->arena, LC_TENSOR, 0);

	((struct lc__tensor_node *)value)->tensor = *r->tensors++;
	value->flags |= LC__HAS_TENSOR;
	return value;
}

static lc_value *
restore_node(struct restorer *r, uint32_t at)
{
	const struct lc__schema_node *node = &r->schema->node[at];
	lc_value *value, *child;

	if (node->kind == LC_TENSOR)
		return restore_tensor(r);
	if (node->kind == LC__PLAIN)
		return restore_object(&r->arena, &r->plain);
	value = lc__arena_node(&r->arena, (lc_kind)node->kind, node->children);
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
	size_t size = measure_structure(schema, node);
	void *memory;

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
