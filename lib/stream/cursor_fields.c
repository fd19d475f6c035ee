/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tensors of a record are called. */
#include "stream/cursor_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

static void
free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

lc_status
lc__field_names_copy(const char *const *from, size_t count, char ***names,
    size_t *n)
{
	char **out = calloc(count ? count : 1, sizeof(*out));

	for (size_t i = 0; out != NULL && i < count; i++) {
		out[i] = strdup(from[i]);
		if (out[i] != NULL)
			continue;
		free_names(out, i);
		out = NULL;
	}
	if (out == NULL)
		return lc__no_memory("read");
	*names = out;
	*n = count;
	return LC_OK;
}

/* ---- out of a structure ---------------------------------------------------------- */

/* A walk over the nodes: the names so far and the path of the node. */
struct naming {
	const struct lc__schema *schema;
	char **names;
	size_t n;
	struct lc__buf path; /* without a terminator */
};

static void
append_name(struct lc__buf *path, const char *name)
{
	for (; *name != '\0'; name++) {
		if (*name == '.' || *name == '\\')
			lc__buf_append(path, "\\", 1);
		lc__buf_append(path, name, 1);
	}
}

static lc_status
take_name(struct naming *naming)
{
	const struct lc__buf *path = &naming->path;
	char *name = path->failed ? NULL : malloc(path->size + 2);

	if (name == NULL)
		return lc__no_memory("read");
	if (path->size > 0)
		memcpy(name, path->data, path->size);
	name[path->size] = '\0';
	/* The record itself. */
	if (path->size == 0)
		strcpy(name, ".");
	naming->names[naming->n++] = name;
	return LC_OK;
}

/* Children follow their parent, each with all of its own; nesting is limited, and so
 * are the calls. */
static lc_status
name_node(struct naming *naming, uint32_t node)
{
	const struct lc__schema_node *of = &naming->schema->node[node];
	const size_t size = naming->path.size;
	uint32_t child = node + 1;

	if (of->kind == LC_TENSOR)
		return take_name(naming);
	for (uint32_t i = 0; i < of->children;
	    i++, child = naming->schema->node[child].end) {
		if (lc__schema_tensors(naming->schema, child) == 0)
			continue;
		if (size > 0)
			lc__buf_append(&naming->path, ".", 1);
		if (of->kind == LC_MAP)
			append_name(&naming->path, naming->schema->node[child].name);
		else
			lc__buf_printf(&naming->path, "%u", i);
		return_if_error(name_node(naming, child));
		naming->path.size = size;
	}
	return LC_OK;
}

lc_status
lc__field_names(const struct lc__schema *schema, char ***names, size_t *n)
{
	struct naming naming = { .schema = schema };
	lc_status status;

	naming.names = calloc((size_t)schema->tensors + 1, sizeof(*naming.names));
	if (naming.names == NULL)
		return lc__no_memory("read");
	status = name_node(&naming, 0);
	lc__buf_free(&naming.path);
	if (status != LC_OK) {
		free_names(naming.names, naming.n);
		return status;
	}
	*names = naming.names;
	*n = naming.n;
	return LC_OK;
}
