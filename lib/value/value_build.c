/* SPDX-License-Identifier: BSD-2-Clause */
/* Putting values into maps, lists and tuples. */
#include <stdlib.h>
#include <string.h>

#include "value/node.h"

/* More would not fit into the positions of a schema. */
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
	if (group->names.room > 0)
		lc__names_add(&group->names, name, group->count);
	group->child[group->count++] = child;
	group->base.flags |= child->flags & LC__HAS_TENSOR;
	if (group->base.height <= child->height)
		group->base.height = (uint8_t)(child->height + 1);
	if (group->base.flaw == LC__SOUND)
		group->base.flaw = child->flaw;
}

/* Let the groups around one know what has become of it. */
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

static void
mark(lc_value *value, enum lc__flaw flaw, const char *name)
{
	if (value->own_flaw == LC__SOUND) {
		value->own_flaw = (uint8_t)flaw;
		if (flaw == LC__FLAW_TWICE && name != NULL)
			lc__group_of(value)->bad_name = strdup(name);
	}
	if (value->flaw == LC__SOUND)
		value->flaw = (uint8_t)flaw;
	tell_ancestors(value);
}

/* Freeing a child that the parent is part of would free the parent: this comes before
 * any other reason to refuse it. */
static enum lc__flaw
check_child(const lc_value *parent, const lc_value *child)
{
	unsigned depth = 0;

	if (child == NULL)
		return LC__FLAW_MEMORY;
	for (const lc_value *at = parent; at != NULL; at = at->parent, depth++) {
		if (at == child)
			return LC__FLAW_CYCLE;
	}
	if (child->parent != NULL)
		return LC__FLAW_TAKEN;
	if (!lc__is_group(parent))
		return LC__FLAW_LEAF;
	if (lc__const_group_of(parent)->count == MAX_CHILDREN)
		return LC__FLAW_COUNT;
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

/* Make an index that has room for one more than there are. */
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

/* All or nothing, but for room that a later child will use. */
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

/* Mark the parent, and free the child unless it belongs to another tree. */
static lc_value *
refuse(lc_value *parent, enum lc__flaw flaw, const char *name, lc_value *child)
{
	mark(parent, flaw, name);
	if (flaw != LC__FLAW_TAKEN && flaw != LC__FLAW_CYCLE)
		lc_value_free(child);
	return NULL;
}

/* With no parent to tell: the child is this function's to free. */
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
	else if (flaw == LC__SOUND && lc__group_find(lc__group_of(map), name,
	    strlen(name)) != NULL)
		flaw = LC__FLAW_TWICE;
	if (flaw == LC__SOUND && !add(lc__group_of(map), name, child))
		flaw = LC__FLAW_MEMORY;
	return flaw == LC__SOUND ? child : refuse(map, flaw, name, child);
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
	if (flaw == LC__SOUND && !add(lc__group_of(list), NULL, child))
		flaw = LC__FLAW_MEMORY;
	return flaw == LC__SOUND ? child : refuse(list, flaw, NULL, child);
}
