/* SPDX-License-Identifier: BSD-2-Clause */
/* The face of cursors: what is asked goes to their kind. */
#include "stream/source_private.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

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
