/* SPDX-License-Identifier: BSD-2-Clause */
/* Creating, checking and freeing values, and adding them to maps, lists and tuples. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "value/node.h"
#include "value/tensor.h"

const char *
lc_kind_name(lc_kind kind)
{
	static const char *const names[] = { "tensor", "map", "list", "tuple", "nil",
		"boolean", "integer", "float", "string", "bytes", "tagged", "pairs" };

	return (unsigned)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

static lc_value *
make(lc_kind kind, size_t size)
{
	lc_value *value = calloc(1, size);

	if (value != NULL) {
		value->kind = (uint8_t)kind;
		value->height = 1;
	}
	return value;
}

/* Returned where no node can be created. */
static lc_value *
make_flawed(enum lc__flaw flaw)
{
	lc_value *value = make(LC_NIL, sizeof(*value));

	if (value != NULL)
		value->flaw = value->own_flaw = (uint8_t)flaw;
	return value;
}

lc_value *
lc_value_tensor(const lc_tensor *tensor)
{
	struct lc__tensor_node *node;

	if (tensor == NULL)
		return make_flawed(LC__FLAW_CONTENT);
	node = (struct lc__tensor_node *)make(LC_TENSOR, sizeof(*node));
	if (node == NULL)
		return NULL;
	node->tensor = *tensor;
	node->base.flags = LC__HAS_TENSOR;
	if (lc__tensor_check(tensor) != LC_OK) {
		/* Kept for the message of report() only: nothing else may use such a
		 * tensor. */
		node->base.kind = LC_NIL;
		node->base.flags = 0;
		node->base.flaw = node->base.own_flaw = LC__FLAW_TENSOR;
	}
	return &node->base;
}

lc_value *
lc_value_map(void)
{
	return make(LC_MAP, sizeof(struct lc__group));
}

lc_value *
lc_value_list(void)
{
	return make(LC_LIST, sizeof(struct lc__group));
}

lc_value *
lc_value_tuple(void)
{
	return make(LC_TUPLE, sizeof(struct lc__group));
}

lc_value *
lc_value_pairs(void)
{
	return make(LC_PAIRS, sizeof(struct lc__group));
}

lc_value *
lc_value_nil(void)
{
	return make(LC_NIL, sizeof(lc_value));
}

static lc_value *
make_bits(lc_kind kind, uint64_t bits, unsigned flags)
{
	lc_value *value = make(kind, sizeof(*value));

	if (value != NULL) {
		value->of.bits = bits;
		value->flags = (uint8_t)flags;
	}
	return value;
}

lc_value *
lc_value_boolean(int truth)
{
	return make_bits(LC_BOOLEAN, truth != 0, 0);
}

lc_value *
lc_value_integer(int64_t number)
{
	return make_bits(LC_INTEGER, (uint64_t)number, number < 0 ? LC__NEGATIVE : 0);
}

lc_value *
lc_value_unsigned(uint64_t number)
{
	return make_bits(LC_INTEGER, number, 0);
}

lc_value *
lc_value_float(double number)
{
	lc_value *value = make(LC_FLOAT, sizeof(*value));

	if (value != NULL)
		value->of.number = number;
	return value;
}

/* The bytes follow the node in the same allocation. */
static lc_value *
make_text(lc_kind kind, const void *bytes, size_t size)
{
	lc_value *value;

	if (bytes == NULL && size > 0)
		return make_flawed(LC__FLAW_CONTENT);
	if (size > UINT32_MAX)
		return make_flawed(LC__FLAW_SIZE);
	value = make(kind, sizeof(*value) + size + 1);
	if (value == NULL)
		return NULL;
	if (size > 0)
		memcpy(value + 1, bytes, size);
	value->of.text.bytes = (const char *)(value + 1);
	value->of.text.size = size;
	return value;
}

lc_value *
lc_value_str(const char *text)
{
	return text != NULL ? make_text(LC_STRING, text, strlen(text))
			    : make_flawed(LC__FLAW_CONTENT);
}

lc_value *
lc_value_strn(const char *text, size_t size)
{
	return make_text(LC_STRING, text, size);
}

lc_value *
lc_value_bytes(const void *data, size_t size)
{
	return make_text(LC_BYTES, data, size);
}

/* The nesting of a tree is limited, and with it this recursion. */
static void
free_node(lc_value *value)
{
	struct lc__group *group = lc__group_of(value);
	const unsigned flags = value->flags;

	if (lc__is_group(value) &&
	    (flags & (LC__ARENA_ROOT | LC__CHANGED)) != LC__ARENA_ROOT) {
		for (uint32_t i = 0; i < group->count; i++)
			free_node(group->child[i]);
		if (flags & LC__OWN_CHILD)
			free(group->child);
		if (flags & LC__OWN_INDEX)
			free(group->names.slot);
		free(group->bad_name);
	}
	if (flags & LC__OWN_NAME)
		free((char *)(uintptr_t)value->name);
	if ((flags & LC__IN_ARENA) == 0)
		free(value);
}

void
lc_value_free(lc_value *value)
{
	if (value != NULL)
		free_node(value);
}

/* The node with the flaw that the root has recorded. */
static const lc_value *
flawed_node(const lc_value *value)
{
	const struct lc__group *group = lc__const_group_of(value);
	const lc_value *found = NULL;

	if (value->own_flaw == value->flaw || !lc__is_group(value))
		return value;
	for (uint32_t i = 0; i < group->count && found == NULL; i++) {
		if (group->child[i]->flaw == value->flaw)
			found = flawed_node(group->child[i]);
	}
	return found;
}

static lc_status
report(const lc_value *value)
{
	static const char *const texts[] = {
		[LC__FLAW_NAME] = "an empty name or tag",
		[LC__FLAW_NAMELESS] = "a child without a name in a map",
		[LC__FLAW_NAMED] = "a name in something other than a map",
		[LC__FLAW_APPENDED] =
		    "a child appended to what is neither a list nor a tuple",
		[LC__FLAW_PAIRED] = "a key in something other than pairs",
		[LC__FLAW_KEY] = "a key that is a map or holds a tensor",
		[LC__FLAW_TAKEN] = "a child that is part of a value already",
		[LC__FLAW_CYCLE] = "a value inside of itself",
		[LC__FLAW_COUNT] = "too many children",
		[LC__FLAW_SIZE] = "a string or bytes of more than 4 GiB",
		[LC__FLAW_CONTENT] = "made of NULL",
	};
	const char *name;

	switch (value->own_flaw) {
	case LC__FLAW_MEMORY: return lc__no_memory("value");
	case LC__FLAW_TWICE:
		name = lc__const_group_of(value)->bad_name;
		return lc__error(LC_INVALID, 0, "value: name %s twice in a map",
		    name != NULL ? lc__quote_id(name, strlen(name)) : "given");
	case LC__FLAW_LEAF:
		return lc__error(LC_INVALID, 0, "value: a child of a leaf (%s)",
		    lc_kind_name((lc_kind)value->kind));
	case LC__FLAW_DEPTH:
		return lc__error(LC_INVALID, 0, "value: nested deeper than %d",
		    LC_MAX_DEPTH);
	case LC__FLAW_TENSOR:
		/* A copy no longer has the name. */
		if ((value->flags & (LC__ARENA_ROOT | LC__IN_ARENA)) == 0 &&
		    lc__tensor_check(lc__tensor_of(value)) != LC_OK)
			return lc__error_prefix("value");
		return lc__error(LC_INVALID, 0, "value: not a tensor");
	default: return lc__error(LC_INVALID, 0, "value: %s", texts[value->own_flaw]);
	}
}

lc_status
lc_value_check(const lc_value *value)
{
	if (value == NULL)
		return lc__error(LC_NO_MEMORY, 0, "value: none, or out of memory");
	return value->flaw == LC__SOUND ? LC_OK : report(flawed_node(value));
}

/* ---- children ---------------------------------------------------------------- */

/* More children would overflow the positions of a schema. */
#define MAX_CHILDREN (UINT32_MAX / 4)

static const char *
name_at(const void *owner, uint32_t at)
{
	const struct lc__group *map = owner;

	return map->child[at]->name;
}

lc_value *
lc__group_find(const struct lc__group *map, const char *name, size_t size)
{
	uint32_t at;

	if (map->names.room > 0) {
		at = lc__names_find(&map->names, name, size, name_at, map);
		return at == LC__NO_NAME ? NULL : map->child[at];
	}
	for (at = 0; at < map->count; at++) {
		const char *other = map->child[at]->name;
		if (strncmp(other, name, size) == 0 && other[size] == '\0')
			return map->child[at];
	}
	return NULL;
}

void
lc__group_link(struct lc__group *group, lc_value *child, const char *name)
{
	child->parent = &group->base;
	child->name = name;
	if (group->base.kind == LC_PAIRS && group->count % 2 == 0)
		child->flags |= LC__KEY;
	if (group->names.room > 0)
		lc__names_add(&group->names, name, group->count);
	group->child[group->count++] = child;
	group->base.flags |= child->flags & LC__HAS_TENSOR;
	if (group->base.height <= child->height)
		group->base.height = (uint8_t)(child->height + 1);
	if (group->base.flaw == LC__SOUND)
		group->base.flaw = child->flaw;
}

/* Update the groups around a node after it changed. */
static void
tell_ancestors(lc_value *value)
{
	lc_value *below = value;

	value->flags |= LC__CHANGED;
	for (lc_value *at = value->parent; at != NULL; below = at, at = at->parent) {
		at->flags |= (below->flags & LC__HAS_TENSOR) | LC__CHANGED;
		if (at->height <= below->height)
			at->height = (uint8_t)(below->height + 1);
		if (at->flaw == LC__SOUND)
			at->flaw = below->flaw;
	}
}

/* Freeing a child that contains the parent would free the parent: check this before any
 * other reason to refuse the child. */
static enum lc__flaw
check_child(const lc_value *parent, const lc_value *child)
{
	unsigned depth = 0, flags = 0;

	if (child == NULL)
		return LC__FLAW_MEMORY;
	for (const lc_value *at = parent; at != NULL; at = at->parent, depth++) {
		if (at == child)
			return LC__FLAW_CYCLE;
		flags |= at->flags;
	}
	if (child->parent != NULL)
		return LC__FLAW_TAKEN;
	if (!lc__is_group(parent))
		return LC__FLAW_LEAF;
	if (lc__const_group_of(parent)->count == MAX_CHILDREN)
		return LC__FLAW_COUNT;
	if ((flags & LC__KEY) != 0 && (child->flags & LC__HAS_TENSOR) != 0)
		return LC__FLAW_KEY;
	return depth + child->height > LC_MAX_DEPTH ? LC__FLAW_DEPTH : LC__SOUND;
}

static bool
grow_children(struct lc__group *group)
{
	const uint32_t room = group->room < 4 ? 4 : 2 * group->room;
	const bool own = (group->base.flags & LC__OWN_CHILD) != 0;
	lc_value **child = realloc(own ? group->child : NULL, room * sizeof(*child));

	if (child == NULL)
		return false;
	if (!own && group->count > 0)
		memcpy(child, group->child, group->count * sizeof(*child));
	group->child = child;
	group->room = room;
	group->base.flags |= LC__OWN_CHILD;
	return true;
}

/* Build an index with room for one more name. */
static bool
grow_names(struct lc__group *map)
{
	const size_t room = lc__names_room(2 * ((size_t)map->count + 1));
	struct lc__name_slot *slot = malloc(room * sizeof(*slot));

	if (slot == NULL)
		return false;
	if (map->base.flags & LC__OWN_INDEX)
		free(map->names.slot);
	map->base.flags |= LC__OWN_INDEX;
	lc__names_init(&map->names, slot, room);
	for (uint32_t i = 0; i < map->count; i++)
		lc__names_add(&map->names, map->child[i]->name, i);
	return true;
}

/* All or nothing, except for room that a later child will use. */
static bool
add(struct lc__group *group, const char *name, lc_value *child)
{
	char *copy = NULL;

	if (group->count == group->room && !grow_children(group))
		return false;
	if (name != NULL && group->count >= LC__NAMES_FEW &&
	    group->names.room < 2 * ((size_t)group->count + 1) && !grow_names(group))
		return false;
	if (name != NULL) {
		copy = strdup(name);
		if (copy == NULL)
			return false;
		child->flags |= LC__OWN_NAME;
	}
	lc__group_link(group, child, copy);
	tell_ancestors(&group->base);
	return true;
}

/* Record the flaw, and free the child unless it belongs to another tree. */
static lc_value *
refuse(lc_value *parent, enum lc__flaw flaw, const char *name, lc_value *child)
{
	if (parent->own_flaw == LC__SOUND) {
		parent->own_flaw = (uint8_t)flaw;
		if (flaw == LC__FLAW_TWICE && name != NULL)
			lc__group_of(parent)->bad_name = strdup(name);
	}
	if (parent->flaw == LC__SOUND)
		parent->flaw = (uint8_t)flaw;
	tell_ancestors(parent);
	if (flaw != LC__FLAW_TAKEN && flaw != LC__FLAW_CYCLE)
		lc_value_free(child);
	return NULL;
}

/* No parent can record the flaw: free the child. */
static lc_value *
drop(lc_value *child)
{
	if (child != NULL && child->parent == NULL)
		lc_value_free(child);
	return NULL;
}

lc_value *
lc_value_set(lc_value *map, const char *name, lc_value *child)
{
	enum lc__flaw flaw;

	if (map == NULL)
		return drop(child);
	flaw = check_child(map, child);
	if (flaw == LC__SOUND && map->kind != LC_MAP)
		flaw = LC__FLAW_NAMED;
	else if (flaw == LC__SOUND && (name == NULL || *name == '\0'))
		flaw = LC__FLAW_NAME;
	else if (flaw == LC__SOUND &&
	    lc__group_find(lc__group_of(map), name, strlen(name)) != NULL)
		flaw = LC__FLAW_TWICE;
	if (flaw == LC__SOUND && !add(lc__group_of(map), name, child))
		flaw = LC__FLAW_MEMORY;
	return flaw == LC__SOUND ? child : refuse(map, flaw, name, child);
}

lc_value *
lc_value_tagged(const char *tag, lc_value *child)
{
	lc_value *value = make(LC_TAGGED, sizeof(struct lc__group));
	enum lc__flaw flaw;

	if (value == NULL)
		return drop(child);
	flaw = check_child(value, child);
	if (flaw == LC__SOUND && (tag == NULL || *tag == '\0'))
		flaw = LC__FLAW_NAME;
	if (flaw == LC__SOUND && !add(lc__group_of(value), tag, child))
		flaw = LC__FLAW_MEMORY;
	if (flaw != LC__SOUND)
		refuse(value, flaw, NULL, child);
	return value;
}

lc_value *
lc_value_pair(lc_value *pairs, lc_value *key, lc_value *child)
{
	enum lc__flaw key_flaw, flaw;

	if (pairs == NULL) {
		if (key != child)
			drop(key);
		return drop(child);
	}
	key_flaw = check_child(pairs, key);
	flaw = key != child ? check_child(pairs, child) : LC__FLAW_TAKEN;
	if (key_flaw == LC__SOUND && pairs->kind != LC_PAIRS)
		key_flaw = LC__FLAW_PAIRED;
	else if (key_flaw == LC__SOUND && !lc__is_plain(key))
		key_flaw = LC__FLAW_KEY;
	if (key_flaw == LC__SOUND && !add(lc__group_of(pairs), NULL, key))
		key_flaw = LC__FLAW_MEMORY;
	if (key_flaw != LC__SOUND) {
		refuse(pairs, key_flaw, NULL, key);
		/* The flaw is recorded; the return value tells whether the child is
		 * freed. */
		return refuse(pairs, flaw != LC__SOUND ? flaw : LC__FLAW_KEY, NULL,
		    child);
	}
	if (flaw == LC__SOUND && !add(lc__group_of(pairs), NULL, child))
		flaw = LC__FLAW_MEMORY;
	return flaw == LC__SOUND ? child : refuse(pairs, flaw, NULL, child);
}

lc_value *
lc_value_append(lc_value *list, lc_value *child)
{
	enum lc__flaw flaw;

	if (list == NULL)
		return drop(child);
	flaw = check_child(list, child);
	if (flaw == LC__SOUND && list->kind == LC_MAP)
		flaw = LC__FLAW_NAMELESS;
	else if (flaw == LC__SOUND && list->kind != LC_LIST && list->kind != LC_TUPLE)
		flaw = LC__FLAW_APPENDED;
	if (flaw == LC__SOUND && !add(lc__group_of(list), NULL, child))
		flaw = LC__FLAW_MEMORY;
	return flaw == LC__SOUND ? child : refuse(list, flaw, NULL, child);
}
