/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for all kinds of cursors: creating and freeing, extents, hints, names of
 * fields. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "stream/cursor.h"
#include "stream/source.h"

lc_status
lc__extents_add(struct lc__extents *extents, const unsigned char *at, uint64_t size)
{
	if (size == 0)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&extents->item, &extents->room, extents->n + 1, "read"));
	extents->item[extents->n++] = (struct lc__extent){ at, size };
	return LC_OK;
}

uint64_t
lc__extents_bytes(const struct lc__extents *extents)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < extents->n; i++)
		bytes += extents->item[i].size;
	return bytes;
}

lc_status
lc__copier_copy(struct lc__copier *copier, lc_tensor *tensors, size_t n)
{
	return_if_error(copier->place(copier, tensors));
	for (size_t i = 0; i < n; i++) {
		if (copier->to[i] == NULL)
			continue;
		if (tensors[i].nbytes > 0)
			memcpy(copier->to[i], tensors[i].data, tensors[i].nbytes);
		tensors[i].data = copier->to[i];
	}
	return LC_OK;
}

lc_status
lc__cursor_new(lc_source *source, struct lc__layout *layout, struct lc__cursor **out)
{
	return_if_error(source->kind->cursor_new(source, out));
	(*out)->at = *out;
	(*out)->source = source;
	(*out)->layout = lc__layout_hold(layout);
	return LC_OK;
}

struct lc__cursor_path {
	struct lc__cursor_path *next;
	const char *field[1];
	char text[];
};

void
lc__cursor_free(struct lc__cursor *cursor)
{
	struct lc__cursor_path *path, *next;
	struct lc__layout *layout;

	if (cursor == NULL)
		return;
	layout = cursor->layout;
	path = cursor->paths;
	cursor->kind->free(cursor);
	for (; path != NULL; path = next) {
		next = path->next;
		free(path);
	}
	lc__layout_drop(layout);
}

lc_status
lc__cursor_locate(struct lc__cursor *cursor, lc_id id, uint64_t *position,
    uint64_t *record)
{
	if (cursor->kind->locate != NULL)
		return cursor->kind->locate(cursor, id, position, record);
	return lc__error(LC_UNSUPPORTED, 0, "%s: has no index of cache_ids",
	    lc__source_name(cursor->source));
}

const char *const *
lc__cursor_field(struct lc__cursor *cursor, const char *text)
{
	const size_t size = strlen(text) + 1;
	struct lc__cursor_path *path = cursor->paths;

	while (path != NULL && strcmp(path->text, text) != 0)
		path = path->next;
	if (path != NULL)
		return path->field;
	path = malloc(sizeof(*path) + size);
	if (path == NULL)
		return NULL;
	memcpy(path->text, text, size);
	path->field[0] = path->text;
	path->next = cursor->paths;
	cursor->paths = path;
	return path->field;
}

/* ---- does a prefetch pay? -------------------------------------------------------- */

/* From this size on, checking whether bytes are in memory costs a few percent of reading
 * them. */
#define LARGE ((uint64_t)64 << 10)

/* Of this many small ranges one is checked. */
#define SAMPLE 64

/* Are these bytes in memory? True if the system cannot tell. The page in the middle
 * decides: pages at the ends may have been read with a neighbour. */
static bool
is_resident(const unsigned char *start, uint64_t size, uint32_t page_size)
{
	const uintptr_t page = (uintptr_t)(start + size / 2) &
	    ~((uintptr_t)page_size - 1);
	unsigned char resident = 1;

	return mincore((void *)page, 1, &resident) != 0 || (resident & 1) != 0;
}

bool
lc__hints_worth(struct lc__hints *hints, const unsigned char *start, uint64_t size,
    uint32_t page_size)
{
	if (size >= LARGE)
		return !is_resident(start, size, page_size);
	if (hints->left > 0) {
		hints->left--;
		return hints->cold;
	}
	hints->left = SAMPLE - 1;
	hints->cold = !is_resident(start, size, page_size);
	return hints->cold;
}

bool
lc__hints_missing(const unsigned char *start, uint64_t size, uint32_t page_size)
{
	return !is_resident(start, size, page_size);
}

/* ---- names of fields ------------------------------------------------------------ */

void
lc__field_names_free(char **names, size_t n)
{
	for (size_t i = 0; names != NULL && i < n; i++)
		free(names[i]);
	free(names);
}

lc_status
lc__field_names_copy(const char *const *from, size_t count, char ***names, size_t *n)
{
	char **out = calloc(count ? count : 1, sizeof(*out));

	for (size_t i = 0; out != NULL && i < count; i++) {
		out[i] = strdup(from[i]);
		if (out[i] != NULL)
			continue;
		lc__field_names_free(out, i);
		out = NULL;
	}
	if (out == NULL)
		return lc__no_memory("read");
	*names = out;
	*n = count;
	return LC_OK;
}
