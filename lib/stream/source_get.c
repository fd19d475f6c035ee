/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of a source by their ordinals, one at a time. */
#include <string.h>

#include "base/error.h"
#include "store/get.h"
#include "stream/cursor.h"
#include "stream/source.h"

/* A cursor over this layout: the one that the source keeps, unless another thread has it or
 * it is over an older layout. */
static lc_status
take_cursor(lc_source *source, struct lc__layout *layout, struct lc__cursor **out)
{
	struct lc__cursor *cursor;

	pthread_mutex_lock(&source->lock);
	cursor = source->cursor;
	source->cursor = NULL;
	pthread_mutex_unlock(&source->lock);
	if (cursor != NULL && cursor->layout == layout) {
		*out = cursor;
		return LC_OK;
	}
	lc__cursor_free(cursor);
	return lc__cursor_new(source, layout, out);
}

static void
give_cursor(lc_source *source, struct lc__cursor *cursor)
{
	struct lc__cursor *before;

	pthread_mutex_lock(&source->lock);
	before = source->cursor;
	source->cursor = cursor;
	pthread_mutex_unlock(&source->lock);
	lc__cursor_free(before);
}

/* A cursor, begun and at the chunk of the record, which has this number in the chunk. */
static lc_status
go_to(lc_source *source, uint64_t ordinal, struct lc__cursor **out, uint64_t *record)
{
	struct lc__layout *layout = lc__source_layout(source);
	const uint64_t records = lc__layout_info(layout)->records;
	struct lc__cursor *cursor = NULL;
	struct lc__chunk_row row;
	uint64_t position = 0;
	lc_status status;

	if (ordinal >= records)
		status = lc__error(LC_INVALID, 0,
		    "%s: there is no record %llu: it has %llu records, from 0",
		    source->name, (unsigned long long)ordinal,
		    (unsigned long long)records);
	else
		status = lc__layout_find_record(layout, ordinal, &position, &row);
	if (status == LC_OK)
		status = take_cursor(source, layout, &cursor);
	lc__layout_drop(layout);
	return_if_error(status);

	status = lc__cursor_begin(cursor);
	if (status == LC_OK) {
		status = lc__cursor_go(cursor, position);
		if (status == LC_OK) {
			*out = cursor;
			*record = ordinal - row.first_record;
			return LC_OK;
		}
		lc__cursor_end(cursor);
	}
	give_cursor(source, cursor);
	return status;
}

lc_status
lc_source_get(lc_source *source, uint64_t ordinal, lc_view *out)
{
	struct lc__cursor *cursor;
	uint64_t record;
	lc_status status = go_to(source, ordinal, &cursor, &record);

	if (status == LC_OK) {
		status = lc__cursor_view(cursor, record, out);
		give_cursor(source, cursor);
	}
	if (status != LC_OK)
		lc__view_clear(out, status);
	return status;
}

lc_status
lc_source_id(lc_source *source, uint64_t ordinal, void *out, size_t room, size_t *size)
{
	static const char *const no_fields[] = { NULL };
	struct lc__cursor *cursor;
	lc_tensor no_tensors[1];
	uint64_t record;
	lc_status status;
	lc_id id;

	return_if_error(go_to(source, ordinal, &cursor, &record));
	status = lc__cursor_read(cursor, record, no_fields, 0, NULL, no_tensors, &id);
	if (status == LC_OK) {
		*size = id.size;
		if (id.size > room)
			status = lc__error(LC_INVALID, 0,
			    "%s: the cache_id of record %llu has %zu bytes, and there is "
			    "room for %zu",
			    source->name, (unsigned long long)ordinal, id.size, room);
		else if (id.size > 0)
			memcpy(out, id.data, id.size);
	}
	lc__cursor_end(cursor);
	give_cursor(source, cursor);
	return status;
}
