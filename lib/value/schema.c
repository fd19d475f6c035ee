/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mpack.h"
#include "value/names.h"
#include "value/node.h"
#include "value/path.h"
#include "value/schema_private.h"

lc_status
lc__schema_begin(struct lc__schema_build *build, uint32_t nodes, size_t names)
{
	const size_t size = sizeof(struct lc__schema) +
	    nodes * sizeof(struct lc__schema_node);
	struct lc__schema *schema = malloc(size + names);

	if (schema == NULL)
		return lc__no_memory(NULL);
	memset(schema, 0, sizeof(*schema));
	schema->node = (struct lc__schema_node *)(schema + 1);
	memset(build, 0, sizeof(*build));
	build->schema = schema;
	build->room = nodes;
	build->names = (char *)schema + size;
	return LC_OK;
}

struct lc__schema_node *
lc__schema_add(struct lc__schema_build *build, unsigned kind, unsigned depth,
    const char *name, size_t name_size)
{
	struct lc__schema *schema = build->schema;
	struct lc__schema_node *node = &schema->node[schema->nodes];

	if (schema->nodes == build->room || schema->nodes == LC__MAX_NODES) {
		build->limit = "parts";
		return NULL;
	}
	memset(node, 0, sizeof(*node));
	node->kind = (uint8_t)kind;
	node->depth = (uint8_t)depth;
	node->end = ++schema->nodes;
	node->first_tensor = schema->tensors;
	node->first_dim = schema->dims;
	node->first_plain = schema->plains;
	schema->plains += kind == LC__PLAIN;
	if (name != NULL) {
		memcpy(build->names, name, name_size);
		build->names[name_size] = '\0';
		node->name = build->names;
		build->names += name_size + 1;
	}
	return node;
}

bool
lc__schema_count_tensor(struct lc__schema_build *build, struct lc__schema_node *node,
    lc_dtype dtype, uint32_t ndim)
{
	struct lc__schema *schema = build->schema;

	node->dtype = (uint8_t)dtype;
	node->ndim = (uint8_t)ndim;
	schema->dims += ndim;
	if (++schema->tensors > LC__MAX_TENSORS)
		build->limit = "tensors";
	else if (schema->dims > LC__MAX_DIMS)
		build->limit = "dimensions";
	return build->limit == NULL;
}

/* {"tensor": {"dtype": name, "ndim": rank}}, all of whose parts are short, in one
 * piece: this is most of what inferring a schema takes. */
static void
encode_tensor(const struct lc__schema_node *node, struct lc__buf *out)
{
	static const char head[] = "\x81\xa6tensor\x82\xa5"
				   "dtype";
	static const char ndim[] = "\xa4ndim";
	const char *name = lc_dtype_name((lc_dtype)node->dtype);
	const size_t size = strlen(name);
	unsigned char bytes[sizeof(head) + 1 + 16 + sizeof(ndim) + 1];
	unsigned char *p = bytes;

	memcpy(p, head, sizeof(head) - 1);
	p += sizeof(head) - 1;
	*p++ = (unsigned char)(0xa0 | size);
	memcpy(p, name, size);
	p += size;
	memcpy(p, ndim, sizeof(ndim) - 1);
	p += sizeof(ndim) - 1;
	*p++ = node->ndim;
	lc__buf_append(out, bytes, (size_t)(p - bytes));
}

/* Nodes come before their children in the bytes as well. */
static void
encode_node(const struct lc__schema_node *node, struct lc__buf *out)
{
	if (node->name != NULL) {
		lc__mpack_array(out, 2);
		lc__mpack_str(out, node->name);
	}
	if (node->kind == LC_TENSOR) {
		encode_tensor(node, out);
		return;
	}
	lc__mpack_map(out, 1);
	if (node->kind == LC__PLAIN) {
		lc__mpack_str(out, "plain");
		lc__mpack_nil(out);
	} else {
		lc__mpack_str(out, lc_kind_name((lc_kind)node->kind));
		lc__mpack_array(out, node->children);
	}
}

lc_status
lc__schema_finish(struct lc__schema_build *build, struct lc__schema **out)
{
	struct lc__schema *schema = build->schema;
	struct lc__buf bytes = { 0 };

	for (uint32_t i = 0; i < schema->nodes; i++)
		encode_node(&schema->node[i], &bytes);
	schema->bytes = bytes.data;
	schema->size = bytes.size;
	if (bytes.failed) {
		lc__schema_free(schema);
		return lc__no_memory(NULL);
	}
	schema->hash = lc__hash64(bytes.data, bytes.size);
	*out = schema;
	return LC_OK;
}

/* Count what a value's schema takes. Without those of plain lists, which are leaves. */
static void
measure(const lc_value *value, size_t *nodes, size_t *names)
{
	const size_t count = lc__is_plain(value) ? 0 : lc_value_count(value);

	++*nodes;
	for (size_t i = 0; i < count; i++) {
		if (value->kind == LC_MAP)
			*names += strlen(lc_value_name(value, i)) + 1;
		measure(lc_value_at(value, i), nodes, names);
	}
}

static bool
infer(struct lc__schema_build *build, const lc_value *value, unsigned depth)
{
	const bool plain = lc__is_plain(value);
	const char *name = value->name;
	const size_t count = plain ? 0 : lc_value_count(value);
	struct lc__schema_node *node;

	if (depth == 1) /* the value's own parents do not matter */
		name = NULL;
	node = lc__schema_add(build, plain ? LC__PLAIN : value->kind, depth, name,
	    name != NULL ? strlen(name) : 0);
	if (node == NULL)
		return false;
	if (value->kind == LC_TENSOR) {
		const lc_tensor *tensor = lc__tensor_of(value);
		return lc__schema_count_tensor(build, node, tensor->dtype, tensor->ndim);
	}
	node->children = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		if (!infer(build, lc_value_at(value, i), depth + 1))
			return false;
	}
	node->end = build->schema->nodes;
	return true;
}

lc_status
lc__schema_infer(const lc_value *value, struct lc__schema **out)
{
	struct lc__schema_build build;
	size_t nodes = 0, names = 0;

	return_if_error(lc_value_check(value));
	measure(value, &nodes, &names);
	if (nodes > LC__MAX_NODES)
		return lc__error(LC_INVALID, 0, "value: %zu parts are too many", nodes);
	if (names > LC__MAX_NAMES)
		return lc__error(LC_INVALID, 0, "value: %zu bytes of names are too many",
		    names);
	return_if_error(lc__schema_begin(&build, (uint32_t)nodes, names));
	if (infer(&build, value, 1))
		return lc__schema_finish(&build, out);
	lc__schema_free(build.schema);
	return lc__error(LC_INVALID, 0, "value: too many %s", build.limit);
}

lc_status
lc__schema_of_tensor(lc_dtype dtype, uint32_t ndim, struct lc__schema **out)
{
	struct lc__schema_build build;

	return_if_error(lc__schema_begin(&build, 1, 0));
	lc__schema_count_tensor(&build, lc__schema_add(&build, LC_TENSOR, 1, NULL, 0),
	    dtype, ndim);
	return lc__schema_finish(&build, out);
}

void
lc__schema_free(struct lc__schema *schema)
{
	if (schema == NULL)
		return;
	free((void *)(uintptr_t)schema->bytes);
	free(schema);
}

bool
lc__schema_equal(const struct lc__schema *a, const struct lc__schema *b)
{
	return a->hash == b->hash && a->size == b->size &&
	    memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* ---- finding nodes, comparing schemas ------------------------------------------ */

/* The child that a step leads to, or 0, which is never a child's position. */
static uint32_t
child_of_step(const struct lc__schema *schema, uint32_t at, const struct lc__step *step)
{
	const struct lc__schema_node *node = schema->node;
	const bool map = node[at].kind == LC_MAP;
	size_t position = 0, n = 0;

	if (!map && !lc__step_position(step, &position))
		return 0;
	for (uint32_t i = at + 1; i < node[at].end; i = node[i].end, n++) {
		if (map ? lc__step_is(step, node[i].name) : n == position)
			return i;
	}
	return 0;
}

bool
lc__schema_walk(const struct lc__schema *schema, const char *path, uint32_t *node,
    const char **rest)
{
	struct lc__step step;
	uint32_t at = 0;

	if (path != NULL && *path == '\0')
		path = NULL;
	while (path != NULL && schema->node[at].kind != LC__PLAIN) {
		if (!lc__path_step(&path, &step))
			return false;
		at = child_of_step(schema, at, &step);
		if (at == 0)
			return false;
	}
	*node = at;
	*rest = path;
	return true;
}

bool
lc__schema_find(const struct lc__schema *schema, const char *path, uint32_t *node)
{
	const char *rest;
	uint32_t at;

	if (!lc__schema_walk(schema, path, &at, &rest) || rest != NULL)
		return false;
	*node = at;
	return true;
}

static const char *
name_at(const void *owner, uint32_t at)
{
	const struct lc__schema *schema = owner;

	return schema->node[at].name;
}

/* The index of a big map's names. Without memory there is none, and finding a name
 * takes longer. */
static void
index_names(const struct lc__schema *schema, uint32_t map, struct lc__names *names)
{
	const struct lc__schema_node *node = schema->node;
	const size_t room = lc__names_room(node[map].children);
	struct lc__name_slot *slot;

	memset(names, 0, sizeof(*names));
	if (node[map].children <= LC__NAMES_FEW)
		return;
	slot = malloc(room * sizeof(*slot));
	if (slot == NULL)
		return;
	lc__names_init(names, slot, room);
	for (uint32_t i = map + 1; i < node[map].end; i = node[i].end)
		lc__names_add(names, node[i].name, i);
}

static uint32_t
find_name(const struct lc__schema *schema, uint32_t map, const struct lc__names *names,
    const char *name)
{
	const struct lc__schema_node *node = schema->node;
	uint32_t i;

	if (names->room > 0) {
		i = lc__names_find(names, name, strlen(name), name_at, schema);
		return i == LC__NO_NAME ? 0 : i;
	}
	for (i = map + 1; i < node[map].end; i = node[i].end) {
		if (strcmp(node[i].name, name) == 0)
			return i;
	}
	return 0;
}

static bool alike(const struct lc__schema *a, uint32_t i, const struct lc__schema *b,
    uint32_t j);

static bool
maps_alike(const struct lc__schema *a, uint32_t i, const struct lc__schema *b, uint32_t j)
{
	struct lc__names names;
	bool same = true;

	index_names(b, j, &names);
	for (uint32_t x = i + 1; x < a->node[i].end && same; x = a->node[x].end) {
		const uint32_t y = find_name(b, j, &names, a->node[x].name);
		same = y > 0 && alike(a, x, b, y);
	}
	free(names.slot);
	return same;
}

static bool
alike(const struct lc__schema *a, uint32_t i, const struct lc__schema *b, uint32_t j)
{
	const struct lc__schema_node *m = &a->node[i], *n = &b->node[j];
	uint32_t y = j + 1;

	if (m->kind != n->kind || m->dtype != n->dtype || m->ndim != n->ndim ||
	    m->children != n->children || m->end - i != n->end - j)
		return false;
	if (m->kind == LC_MAP)
		return maps_alike(a, i, b, j);
	for (uint32_t x = i + 1; x < m->end; x = a->node[x].end, y = b->node[y].end) {
		if (!alike(a, x, b, y))
			return false;
	}
	return true;
}

bool
lc__schema_alike(const struct lc__schema *a, const struct lc__schema *b)
{
	return lc__schema_equal(a, b) || alike(a, 0, b, 0);
}
