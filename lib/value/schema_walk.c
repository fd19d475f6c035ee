/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding nodes of a schema, and comparing schemas node by node. */
#include <stdlib.h>
#include <string.h>

#include "value/names.h"
#include "value/path.h"
#include "value/schema.h"

/* The child that a step leads to, or 0, which is no child's position. */
static uint32_t
child_of_step(const struct lc__schema *schema, uint32_t at,
    const struct lc__step *step)
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
lc__schema_walk(const struct lc__schema *schema, const char *path,
    uint32_t *node, const char **rest)
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
find_name(const struct lc__schema *schema, uint32_t map,
    const struct lc__names *names, const char *name)
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

static bool alike(const struct lc__schema *a, uint32_t i,
    const struct lc__schema *b, uint32_t j);

static bool
maps_alike(const struct lc__schema *a, uint32_t i, const struct lc__schema *b,
    uint32_t j)
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
alike(const struct lc__schema *a, uint32_t i, const struct lc__schema *b,
    uint32_t j)
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
