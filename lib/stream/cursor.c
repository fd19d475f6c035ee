/* SPDX-License-Identifier: BSD-2-Clause */
/* The face of cursors: what is asked goes to their kind. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "stream/cursor.h"
#include "stream/source.h"

lc_status
lc__extents_add(struct lc__extents *extents, const unsigned char *at,
    uint64_t size)
{
	if (size == 0)
		return LC_OK;
	return_if_error(lc__array_reserve(&extents->item, &extents->room, extents->n + 1, "read"));
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
lc__cursor_new(lc_source *source, struct lc__layout *layout,
    struct lc__cursor **out)
{
	return_if_error(source->kind->cursor_new(source, out));
	(*out)->source = source;
	(*out)->layout = lc__layout_hold(layout);
	return LC_OK;
}

void
lc__cursor_free(struct lc__cursor *cursor)
{
	struct lc__layout *layout;

	if (cursor == NULL)
		return;
	layout = cursor->layout;
	cursor->kind->free(cursor);
	lc__layout_drop(layout);
}

lc_status
lc__cursor_begin(struct lc__cursor *cursor)
{
	return cursor->kind->begin(cursor);
}

void
lc__cursor_end(struct lc__cursor *cursor)
{
	cursor->kind->end(cursor);
}

lc_status
lc__cursor_pin(struct lc__cursor *cursor, struct lc__pin **out)
{
	return cursor->kind->pin(cursor, out);
}

void
lc__pin_drop(struct lc__pin *pin)
{
	if (pin != NULL)
		pin->drop(pin);
}

uint64_t
lc__pin_bytes(const struct lc__pin *pin)
{
	return pin != NULL ? pin->bytes : 0;
}

lc_status
lc__cursor_go(struct lc__cursor *cursor, uint64_t position)
{
	return cursor->kind->go(cursor, position);
}

lc_status
lc__cursor_find(struct lc__cursor *cursor, uint64_t unit, uint64_t *record,
    uint64_t *before)
{
	return cursor->kind->find(cursor, unit, record, before);
}

uint64_t
lc__cursor_units(const struct lc__cursor *cursor, uint64_t record)
{
	return cursor->kind->units(cursor, record);
}

void
lc__cursor_willneed(struct lc__cursor *cursor, uint64_t first, uint64_t n)
{
	cursor->kind->willneed(cursor, first, n);
}

const unsigned char *
lc__cursor_place(const struct lc__cursor *cursor, uint64_t record)
{
	return cursor->kind->place(cursor, record);
}

uint64_t
lc__cursor_stored(const struct lc__cursor *cursor, uint64_t record)
{
	return cursor->kind->stored(cursor, record);
}

lc_status
lc__cursor_read(struct lc__cursor *cursor, uint64_t record,
    const char *const *fields, size_t n, const struct lc__row_span *rows,
    lc_tensor *tensors, lc_id *id)
{
	return cursor->kind->read(cursor, record, fields, n, rows, tensors, id);
}

uint64_t
lc__cursor_touched(const struct lc__cursor *cursor)
{
	return cursor->kind->touched(cursor);
}

lc_status
lc__cursor_extents(struct lc__cursor *cursor, uint64_t record,
    const char *const *fields, size_t n, const struct lc__row_span *rows,
    struct lc__extents *out)
{
	return cursor->kind->extents(cursor, record, fields, n, rows, out);
}

bool
lc__cursor_has_parts(const struct lc__cursor *cursor)
{
	return cursor->kind->ask != NULL;
}

void
lc__cursor_ask(struct lc__cursor *cursor, struct lc__extent extent)
{
	if (cursor->kind->ask != NULL)
		cursor->kind->ask(cursor, extent);
}

lc_status
lc__cursor_name(struct lc__cursor *cursor, uint64_t record, lc_id *id, lc_id *run)
{
	return cursor->kind->name(cursor, record, id, run);
}

void
lc__cursor_forget(struct lc__cursor *cursor)
{
	cursor->kind->forget(cursor);
}

lc_status
lc__cursor_fields(struct lc__cursor *cursor, uint64_t record, char ***names,
    size_t *n)
{
	return cursor->kind->fields(cursor, record, names, n);
}

void
lc__cursor_counts(const struct lc__cursor *cursor, uint64_t *hits,
    uint64_t *misses)
{
	*hits = cursor->hits;
	*misses = cursor->misses;
}

/* From this size on looking costs some percent of reading. */
#define LARGE ((uint64_t)64 << 10)

/* Small ranges of which one is looked at. */
#define SAMPLE 64

/* Whether it is in memory; a system that does not tell says yes. The middle tells: what
 * stands at an end may have been read with the neighbour. */
static bool
is_resident(const unsigned char *start, uint64_t size, uint32_t page_size)
{
	const uintptr_t page = (uintptr_t)(start + size / 2) &
	    ~((uintptr_t)page_size - 1);
	unsigned char resident = 1;

	return mincore((void *)page, 1, &resident) != 0 || (resident & 1) != 0;
}

bool
lc__hints_worth(struct lc__hints *hints, const unsigned char *start,
    uint64_t size, uint32_t page_size)
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

/* What the tensors of a record are called. */
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
