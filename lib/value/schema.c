/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mpack.h"
#include "value/dtype.h"
#include "value/names.h"
#include "value/node.h"
#include "value/path.h"

/* ---- making one -------------------------------------------------------------------- */

/* A schema under construction, node by node. */
struct schema_build {
	struct lc__schema *schema;
	uint32_t room;     /* for nodes */
	char *names;       /* where the next name goes */
	const char *limit; /* the limit that was exceeded, or NULL */
};

/* Allocate for this many nodes and bytes of names, terminators included. */
static lc_status
begin(struct schema_build *build, uint32_t nodes, size_t names)
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

/* Append a node with a copy of the name; if a limit is exceeded, note it and return
 * NULL. */
static struct lc__schema_node *
add_node(struct schema_build *build, unsigned kind, unsigned depth, const char *name,
    size_t name_size)
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

/* Count a tensor; if a limit is exceeded, note it and return false. */
static bool
count_tensor(struct schema_build *build, struct lc__schema_node *node, lc_dtype dtype,
    uint32_t ndim)
{
	struct lc__schema *schema = build->schema;

	node->dtype = (uint16_t)dtype;
	node->ndim = (uint8_t)ndim;
	schema->dims += ndim;
	if (++schema->tensors > LC__MAX_TENSORS)
		build->limit = "tensors";
	else if (schema->dims > LC__MAX_DIMS)
		build->limit = "dimensions";
	return build->limit == NULL;
}

/* {"tensor": {"dtype": name, "ndim": rank}}, written in one piece because all parts are
 * short: inferring a schema takes most of its time here. */
static void
encode_tensor(const struct lc__schema_node *node, struct lc__buf *out)
{
	static const char head[] = "\x81\xa6tensor\x82\xa5"
				   "dtype";
	static const char ndim[] = "\xa4ndim";
	const char *name = lc_dtype_name((lc_dtype)node->dtype);
	const size_t size = strlen(name);
	unsigned char bytes[sizeof(head) + 2 + LC__DTYPE_TEXT + sizeof(ndim) + 1];
	unsigned char *p = bytes;

	memcpy(p, head, sizeof(head) - 1);
	p += sizeof(head) - 1;
	if (size < 32) {
		*p++ = (unsigned char)(0xa0 | size);
	} else {
		*p++ = 0xd9;
		*p++ = (unsigned char)size;
	}
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

/* Encode the nodes and hash the bytes; frees the schema on failure. */
static lc_status
finish(struct schema_build *build, struct lc__schema **out)
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

/* Count the nodes and names of a value's schema. Plain lists are leaves: their elements
 * are not counted. */
static void
measure(const lc_value *value, size_t *nodes, size_t *names)
{
	const size_t count = lc__is_plain(value) ? 0 : lc_value_count(value);

	++*nodes;
	for (size_t i = 0; i < count; i++) {
		if (lc__has_names(value->kind))
			*names += strlen(lc_value_name(value, i)) + 1;
		measure(lc_value_at(value, i), nodes, names);
	}
}

static bool
infer(struct schema_build *build, const lc_value *value, unsigned depth)
{
	const bool plain = lc__is_plain(value);
	const char *name = value->name;
	const size_t count = plain ? 0 : lc_value_count(value);
	struct lc__schema_node *node;

	if (depth == 1) /* the value may itself have a parent, which does not matter */
		name = NULL;
	node = add_node(build, plain ? LC__PLAIN : value->kind, depth, name,
	    name != NULL ? strlen(name) : 0);
	if (node == NULL)
		return false;
	if (value->kind == LC_TENSOR) {
		const lc_tensor *tensor = lc__tensor_of(value);
		return count_tensor(build, node, tensor->dtype, tensor->ndim);
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
	struct schema_build build;
	size_t nodes = 0, names = 0;

	return_if_error(lc_value_check(value));
	measure(value, &nodes, &names);
	if (nodes > LC__MAX_NODES)
		return lc__error(LC_INVALID, 0, "value: %zu parts are too many", nodes);
	if (names > LC__MAX_NAMES)
		return lc__error(LC_INVALID, 0, "value: %zu bytes of names are too many",
		    names);
	return_if_error(begin(&build, (uint32_t)nodes, names));
	if (infer(&build, value, 1))
		return finish(&build, out);
	lc__schema_free(build.schema);
	return lc__error(LC_INVALID, 0, "value: too many %s", build.limit);
}

/* Compare the nodes that infer() would make with those from *at on. */
static bool
fits(const struct lc__schema *schema, uint32_t *at, const lc_value *value,
    const char *name)
{
	const bool plain = lc__is_plain(value);
	const size_t count = plain ? 0 : lc_value_count(value);
	const struct lc__schema_node *node = &schema->node[*at];

	if (*at == schema->nodes || node->kind != (plain ? LC__PLAIN : value->kind) ||
	    node->children != count || (node->name == NULL) != (name == NULL) ||
	    (name != NULL && strcmp(node->name, name) != 0))
		return false;
	++*at;
	if (value->kind == LC_TENSOR)
		return node->dtype == lc__tensor_of(value)->dtype &&
		    node->ndim == lc__tensor_of(value)->ndim;
	for (size_t i = 0; i < count; i++) {
		const lc_value *child = lc__const_group_of(value)->child[i];

		if (!fits(schema, at, child, child->name))
			return false;
	}
	return true;
}

bool
lc__schema_fits(const struct lc__schema *schema, const lc_value *value)
{
	uint32_t at = 0;

	return fits(schema, &at, value, NULL);
}

lc_status
lc__schema_of_tensor(lc_dtype dtype, uint32_t ndim, struct lc__schema **out)
{
	struct schema_build build;

	return_if_error(begin(&build, 1, 0));
	count_tensor(&build, add_node(&build, LC_TENSOR, 1, NULL, 0), dtype, ndim);
	return finish(&build, out);
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

bool
lc__schema_walk(const struct lc__schema *schema, const char *path, uint32_t *out,
    const char **rest)
{
	const struct lc__schema_node *node = schema->node;
	struct lc__step step;
	uint32_t at = 0;

	if (path != NULL && *path == '\0')
		path = NULL;
	while (path != NULL && node[at].kind != LC__PLAIN) {
		const bool map = lc__has_names(node[at].kind);
		const uint32_t end = node[at].end;
		size_t position = 0, n = 0;

		if (!lc__path_step(&path, &step) ||
		    (!map && !lc__step_position(&step, &position)))
			return false;
		/* The child that the step leads to. */
		for (at++; at < end; at = node[at].end, n++)
			if (map ? lc__step_is(&step, node[at].name) : n == position)
				break;
		if (at == end)
			return false;
	}
	*out = at;
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

/* An index of a large map's names. Without memory there is none, and look-ups take
 * longer. */
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

static bool
alike(const struct lc__schema *a, uint32_t i, const struct lc__schema *b, uint32_t j)
{
	const struct lc__schema_node *m = &a->node[i], *n = &b->node[j];
	struct lc__names names = { NULL, 0 };
	bool same = true;
	uint32_t y = j + 1;

	if (m->kind != n->kind || m->dtype != n->dtype || m->ndim != n->ndim ||
	    m->children != n->children || m->end - i != n->end - j)
		return false;
	if (m->kind == LC_MAP)
		index_names(b, j, &names);
	for (uint32_t x = i + 1; same && x < m->end; x = a->node[x].end) {
		if (lc__has_names(m->kind))
			y = find_name(b, j, &names, a->node[x].name);
		same = y > 0 && alike(a, x, b, y);
		y = b->node[y].end;
	}
	free(names.slot);
	return same;
}

bool
lc__schema_alike(const struct lc__schema *a, const struct lc__schema *b)
{
	return lc__schema_equal(a, b) || alike(a, 0, b, 0);
}

/* ---- from the table schema: untrusted bytes -------------------------------------- */

/* {"map": []} is the shortest node. */
#define SHORTEST_NODE 6

struct decoder {
	struct lc__tokens in;
	struct schema_build build;
};

static lc_status
corrupt(void)
{
	return lc__error(LC_CORRUPT, 0, "no known structure");
}

static bool
text_is(const struct lc__mpack_token *token, const char *text)
{
	return token->kind == LC__TOKEN_STR && token->size == strlen(text) &&
	    memcmp(token->bytes, text, token->size) == 0;
}

static bool
expect_text(struct lc__tokens *in, const char *text)
{
	struct lc__mpack_token token;

	return lc__token_next(in, &token) && text_is(&token, text);
}

/* A dtype's short name, or the definition of an opaque dtype. */
static lc_status
decode_dtype(const struct lc__mpack_token *token, lc_dtype *out)
{
	char name[LC__DTYPE_TEXT];
	lc_status status;

	if (token->size >= sizeof(name))
		return corrupt();
	memcpy(name, token->bytes, token->size);
	name[token->size] = '\0';
	status = lc_dtype_parse(name, out);
	return status == LC_INVALID ? corrupt() : status;
}

static lc_status
decode_tensor(struct decoder *d, struct lc__schema_node *node)
{
	struct lc__mpack_token token;
	lc_dtype dtype;

	if (!lc__token_expect(&d->in, LC__TOKEN_MAP, &token) || token.size != 2 ||
	    !expect_text(&d->in, "dtype") ||
	    !lc__token_expect(&d->in, LC__TOKEN_STR, &token))
		return corrupt();
	return_if_error(decode_dtype(&token, &dtype));
	return expect_text(&d->in, "ndim") &&
		lc__token_expect(&d->in, LC__TOKEN_UINT, &token) &&
		token.number <= LC_MAX_NDIM &&
		count_tensor(&d->build, node, dtype, (uint32_t)token.number)
	    ? LC_OK
	    : corrupt();
}

/* Are the names of a map different? A large map uses an index. */
static lc_status
check_names(const struct lc__schema *schema, uint32_t map)
{
	const struct lc__schema_node *node = schema->node;
	const size_t room = lc__names_room(node[map].children);
	struct lc__name_slot *slot;
	struct lc__names names;
	bool differ = true;

	if (node[map].children <= LC__NAMES_FEW) {
		for (uint32_t a = map + 1; a < node[map].end; a = node[a].end)
			for (uint32_t b = map + 1; b < a; b = node[b].end)
				if (strcmp(node[a].name, node[b].name) == 0)
					return corrupt();
		return LC_OK;
	}
	slot = malloc(room * sizeof(*slot));
	if (slot == NULL)
		return lc__no_memory(NULL);
	lc__names_init(&names, slot, room);
	for (uint32_t i = map + 1; i < node[map].end && differ; i = node[i].end) {
		differ = lc__names_find(&names, node[i].name, strlen(node[i].name),
			     name_at, schema) == LC__NO_NAME;
		lc__names_add(&names, node[i].name, i);
	}
	free(slot);
	return differ ? LC_OK : corrupt();
}

/* Every other child of pairs is a key. */
static bool
keys_are_plain(const struct lc__schema *schema, uint32_t pairs)
{
	const struct lc__schema_node *node = schema->node;
	bool key = true;

	for (uint32_t i = pairs + 1; i < node[pairs].end; i = node[i].end, key = !key)
		if (key && node[i].kind != LC__PLAIN)
			return false;
	return true;
}

static lc_status decode_node(struct decoder *d, unsigned depth,
    const struct lc__mpack_token *name);

static lc_status
decode_children(struct decoder *d, uint32_t at)
{
	struct lc__schema *const schema = d->build.schema;
	struct lc__schema_node *const node = &schema->node[at];
	const bool map = lc__has_names(node->kind);
	struct lc__mpack_token members, pair, name;

	if (!lc__token_expect(&d->in, LC__TOKEN_ARRAY, &members))
		return corrupt();
	node->children = members.size;
	for (uint32_t i = 0; i < members.size; i++) {
		/* A child of a map is an array of two, the name first. */
		if (map &&
		    (!lc__token_expect(&d->in, LC__TOKEN_ARRAY, &pair) ||
			pair.size != 2 ||
			!lc__token_expect(&d->in, LC__TOKEN_STR, &name) ||
			name.size == 0 || memchr(name.bytes, '\0', name.size) != NULL))
			return corrupt();
		return_if_error(decode_node(d, node->depth + 1u, map ? &name : NULL));
	}
	node->end = schema->nodes;
	if (node->kind == LC_MAP)
		return check_names(schema, at);
	if (!lc__count_fits(node->kind, node->children) ||
	    (node->kind == LC_PAIRS && !keys_are_plain(schema, at)))
		return corrupt();
	/* Without a tensor it would have been stored as a leaf. */
	return schema->tensors > node->first_tensor ? LC_OK : corrupt();
}

static lc_status
decode_node(struct decoder *d, unsigned depth, const struct lc__mpack_token *name)
{
	static const struct {
		const char *key;
		unsigned kind;
	} kinds[] = {
		{ "tensor", LC_TENSOR },
		{ "plain", LC__PLAIN },
		{ "map", LC_MAP },
		{ "list", LC_LIST },
		{ "tuple", LC_TUPLE },
		{ "tagged", LC_TAGGED },
		{ "pairs", LC_PAIRS },
	};
	const uint32_t at = d->build.schema->nodes;
	struct lc__schema_node *node;
	struct lc__mpack_token token, key;
	size_t i = 0;

	if (depth > LC_MAX_DEPTH || !lc__token_expect(&d->in, LC__TOKEN_MAP, &token) ||
	    token.size != 1 || !lc__token_next(&d->in, &key))
		return corrupt();
	while (i < sizeof(kinds) / sizeof(kinds[0]) && !text_is(&key, kinds[i].key))
		i++;
	if (i == sizeof(kinds) / sizeof(kinds[0]))
		return corrupt();
	node = add_node(&d->build, kinds[i].kind, depth,
	    name != NULL ? name->bytes : NULL, name != NULL ? name->size : 0);
	if (node == NULL)
		return corrupt();
	if (node->kind == LC_TENSOR)
		return decode_tensor(d, node);
	if (node->kind == LC__PLAIN)
		return lc__token_expect(&d->in, LC__TOKEN_NIL, &token) ? LC_OK
								       : corrupt();
	return decode_children(d, at);
}

lc_status
lc__schema_decode(const void *bytes, size_t size, struct lc__schema **out)
{
	const size_t nodes = size / SHORTEST_NODE + 1;
	struct lc__schema *schema;
	struct decoder d;
	lc_status status;

	return_if_error(begin(&d.build,
	    nodes < LC__MAX_NODES ? (uint32_t)nodes : LC__MAX_NODES, size));
	d.in.at = bytes;
	d.in.end = d.in.at + size;
	status = decode_node(&d, 1, NULL);
	if (status == LC_OK && d.in.at != d.in.end)
		status = corrupt();
	if (status != LC_OK) {
		lc__schema_free(d.build.schema);
		return status;
	}
	return_if_error(finish(&d.build, &schema));
	/* Encoding the nodes again must give the same bytes: equal structures have equal
	 * bytes. */
	if (schema->size != size || memcmp(schema->bytes, bytes, size) != 0) {
		lc__schema_free(schema);
		return corrupt();
	}
	*out = schema;
	return LC_OK;
}
