/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/loaded.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "format/npy.h"
#include "value/path.h"

lc_status
lc__loaded_own(struct lc__loaded *loaded, void *block)
{
	lc_status status;

	if (block == NULL)
		return LC_OK;
	status = lc__array_reserve(&loaded->blocks, &loaded->room, loaded->count + 1,
	    NULL);
	if (status == LC_OK)
		loaded->blocks[loaded->count++] = block;
	else
		free(block);
	return status;
}

lc_status
lc__loaded_npy(struct lc__loaded *loaded, struct lc__buf *file, int raw_dtype,
    lc_tensor *out)
{
	const struct lc__buf bytes = *file;
	struct lc__npy_info info;
	void *reordered = NULL;

	memset(file, 0, sizeof(*file));
	return_if_error(lc__loaded_own(loaded, bytes.data));
	return_if_error(lc__npy_decode_header(bytes.data, bytes.size, &info));
	return_if_error(lc__npy_read(bytes.data, bytes.size,
	    info.raw ? raw_dtype : LC__NPY_ANY_DTYPE, out, &reordered));
	return lc__loaded_own(loaded, reordered);
}

void
lc__loaded_free(struct lc__loaded *loaded)
{
	lc_value_free(loaded->value);
	for (size_t i = 0; i < loaded->count; i++)
		free(loaded->blocks[i]);
	free(loaded->blocks);
	memset(loaded, 0, sizeof(*loaded));
}

/* ---- parts under paths ------------------------------------------------------- */

/* A node of the tree: a part, or a map or list of others. */
struct lc__part_node {
	char *name;                     /* its last step, NULL for the root */
	uint64_t hash;                  /* of the name */
	lc_value *value;                /* NULL if it holds others */
	struct lc__part_node *children; /* in the order in which they came */
	size_t count, room;             /* of children */
};

/* Equal names often follow each other, or are rising positions: look there first. */
static struct lc__part_node *
find_child(const struct lc__part_node *parent, const char *name, uint64_t hash)
{
	size_t position;

	if (parent->count == 0)
		return NULL;
	if (strcmp(parent->children[parent->count - 1].name, name) == 0)
		return &parent->children[parent->count - 1];
	if (lc__path_position(name, &position) && position < parent->count &&
	    strcmp(parent->children[position].name, name) == 0)
		return &parent->children[position];
	for (size_t i = 0; i < parent->count; i++)
		if (parent->children[i].hash == hash &&
		    strcmp(parent->children[i].name, name) == 0)
			return &parent->children[i];
	return NULL;
}

/* Find the node of a path; make it, and those above it, if they are missing. */
static lc_status
reach(struct lc__part_node *part, const char *path, struct lc__buf *name,
    struct lc__part_node **out)
{
	lc_status status;
	size_t depth = 1;

	while ((status = lc__path_take(&path, name)) == LC_OK) {
		const char *text = (const char *)name->data;
		const uint64_t hash = lc__hash64(text, name->size);
		struct lc__part_node *child = find_child(part, text, hash);
		if (++depth > LC_MAX_DEPTH)
			return lc__error(LC_INVALID, 0, "deeper than %d", LC_MAX_DEPTH);
		if (child == NULL) {
			return_if_error(lc__array_reserve(&part->children, &part->room,
			    part->count + 1, NULL));
			child = &part->children[part->count];
			*child = (struct lc__part_node){
				.name = strdup(text),
				.hash = hash,
			};
			if (child->name == NULL)
				return lc__no_memory(NULL);
			part->count++;
		}
		if (child->value != NULL)
			return lc__error(LC_INVALID, 0, "%s",
			    path == NULL ? "occurs twice"
					 : "leads through a part that holds no others");
		part = child;
	}
	if (status != LC_END)
		return status;
	if (part->count > 0)
		return lc__error(LC_INVALID, 0, "holds other parts");
	*out = part;
	return LC_OK;
}

lc_status
lc__parts_add(struct lc__parts *parts, const char *path, lc_value *part)
{
	struct lc__buf name = { 0 };
	struct lc__part_node *place = NULL;
	lc_status status;

	if (parts->root == NULL)
		parts->root = calloc(1, sizeof(*parts->root));
	status = parts->root && part ? reach(parts->root, path, &name, &place)
				     : lc__no_memory(NULL);
	if (status == LC_OK)
		place->value = part;
	else
		lc_value_free(part);
	lc__buf_free(&name);
	return status;
}

/* A failure is kept in the value; lc__parts_build() reports it. */
static lc_value *
build(struct lc__part_node *part)
{
	lc_value *value = part->value;
	struct lc__part_node **order;
	bool list = part->count > 0;
	size_t position;

	part->value = NULL;
	if (value != NULL)
		return value;
	/* Are the names exactly 0 … count-1? No name occurs twice. */
	for (size_t i = 0; list && i < part->count; i++)
		list = lc__path_position(part->children[i].name, &position) &&
		    position < part->count;
	if (list) {
		value = lc_value_list();
		order = calloc(part->count, sizeof(*order));
		for (size_t i = 0; order != NULL && i < part->count; i++)
			if (lc__path_position(part->children[i].name, &position))
				order[position] = &part->children[i];
		for (size_t i = 0; i < part->count; i++)
			lc_value_append(value, order ? build(order[i]) : NULL);
		free(order);
		return value;
	}
	value = lc_value_map();
	for (size_t i = 0; i < part->count; i++)
		lc_value_set(value, part->children[i].name, build(&part->children[i]));
	return value;
}

lc_status
lc__parts_build(struct lc__parts *parts, lc_value **out)
{
	lc_value *value = parts->root ? build(parts->root) : lc_value_map();
	const lc_status status = lc_value_check(value);

	lc__parts_free(parts);
	if (status == LC_OK)
		*out = value;
	else
		lc_value_free(value);
	return status;
}

static void
free_part(struct lc__part_node *part)
{
	for (size_t i = 0; i < part->count; i++)
		free_part(&part->children[i]);
	free(part->children);
	free(part->name);
	lc_value_free(part->value);
}

void
lc__parts_free(struct lc__parts *parts)
{
	if (parts->root != NULL)
		free_part(parts->root);
	free(parts->root);
	parts->root = NULL;
}
