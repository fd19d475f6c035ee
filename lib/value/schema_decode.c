/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures from the table schema: bytes that nobody vouches for. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "value/names.h"
#include "value/schema_private.h"

/* {"map": []} is the shortest node. */
#define SHORTEST_NODE 6

struct decoder {
	struct lc__tokens in;
	struct lc__schema_build build;
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

static bool
decode_tensor(struct decoder *d, struct lc__schema_node *node)
{
	struct lc__mpack_token token;
	char name[16];
	lc_dtype dtype;

	if (!lc__token_expect(&d->in, LC__TOKEN_MAP, &token) || token.size != 2 ||
	    !expect_text(&d->in, "dtype") ||
	    !lc__token_expect(&d->in, LC__TOKEN_STR, &token) ||
	    token.size >= sizeof(name))
		return false;
	memcpy(name, token.bytes, token.size);
	name[token.size] = '\0';
	return lc_dtype_parse(name, &dtype) == LC_OK && expect_text(&d->in, "ndim") &&
	    lc__token_expect(&d->in, LC__TOKEN_UINT, &token) &&
	    token.number <= LC_MAX_NDIM &&
	    lc__schema_count_tensor(&d->build, node, dtype, (uint32_t)token.number);
}

/* One pair of a map in front of its value: an array of two, the name first. */
static bool
decode_name(struct decoder *d, struct lc__mpack_token *name)
{
	struct lc__mpack_token pair;

	return lc__token_expect(&d->in, LC__TOKEN_ARRAY, &pair) && pair.size == 2 &&
	    lc__token_expect(&d->in, LC__TOKEN_STR, name) && name->size > 0 &&
	    memchr(name->bytes, '\0', name->size) == NULL;
}

static const char *
name_at(const void *owner, uint32_t at)
{
	const struct lc__schema *schema = owner;

	return schema->node[at].name;
}

static bool
few_differ(const struct lc__schema *schema, uint32_t map)
{
	const struct lc__schema_node *node = schema->node;

	for (uint32_t a = map + 1; a < node[map].end; a = node[a].end) {
		for (uint32_t b = map + 1; b < a; b = node[b].end) {
			if (strcmp(node[a].name, node[b].name) == 0)
				return false;
		}
	}
	return true;
}

static lc_status
check_names(const struct lc__schema *schema, uint32_t map)
{
	const struct lc__schema_node *node = schema->node;
	const size_t room = lc__names_room(node[map].children);
	struct lc__name_slot *slot;
	struct lc__names names;
	bool differ = true;

	if (node[map].children <= LC__NAMES_FEW)
		return few_differ(schema, map) ? LC_OK : corrupt();
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

static lc_status decode_node(struct decoder *d, unsigned depth,
    const struct lc__mpack_token *name);

static lc_status
decode_children(struct decoder *d, uint32_t at)
{
	struct lc__schema *const schema = d->build.schema;
	struct lc__schema_node *const node = &schema->node[at];
	const bool map = node->kind == LC_MAP;
	struct lc__mpack_token members, name;

	if (!lc__token_expect(&d->in, LC__TOKEN_ARRAY, &members))
		return corrupt();
	node->children = members.size;
	for (uint32_t i = 0; i < members.size; i++) {
		if (map && !decode_name(d, &name))
			return corrupt();
		return_if_error(decode_node(d, node->depth + 1u, map ? &name : NULL));
	}
	node->end = schema->nodes;
	if (map)
		return check_names(schema, at);
	/* Without a tensor it would be a leaf. */
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
	node = lc__schema_add(&d->build, kinds[i].kind, depth,
	    name != NULL ? name->bytes : NULL, name != NULL ? name->size : 0);
	if (node == NULL)
		return corrupt();
	if (node->kind == LC_TENSOR)
		return decode_tensor(d, node) ? LC_OK : corrupt();
	if (node->kind == LC__PLAIN)
		return lc__token_expect(&d->in, LC__TOKEN_NIL, &token) ? LC_OK
								       : corrupt();
	return decode_children(d, at);
}

/* The very same bytes must follow from what was read, so that equal structures have
 * equal bytes. */
static lc_status
finish(struct decoder *d, const void *bytes, size_t size, struct lc__schema **out)
{
	struct lc__schema *schema;

	return_if_error(lc__schema_finish(&d->build, &schema));
	if (schema->size != size || memcmp(schema->bytes, bytes, size) != 0) {
		lc__schema_free(schema);
		return corrupt();
	}
	*out = schema;
	return LC_OK;
}

lc_status
lc__schema_decode(const void *bytes, size_t size, struct lc__schema **out)
{
	struct decoder d;
	lc_status status;
	size_t nodes;

	nodes = size / SHORTEST_NODE + 1;
	return_if_error(lc__schema_begin(&d.build,
	    nodes < LC__MAX_NODES ? (uint32_t)nodes : LC__MAX_NODES, size));
	d.in.at = bytes;
	d.in.end = d.in.at + size;
	status = decode_node(&d, 1, NULL);
	if (status == LC_OK && d.in.at != d.in.end)
		status = corrupt();
	if (status == LC_OK)
		return finish(&d, bytes, size, out);
	lc__schema_free(d.build.schema);
	return status;
}
