/* SPDX-License-Identifier: BSD-2-Clause */
#include "source_walk.h"

#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "sample.h"

#define MOST_FIELDS 64

struct lc__cursor *
walk_cursor(lc_source *source)
{
	struct lc__layout *layout = lc__source_layout(source);
	struct lc__cursor *cursor;

	need_ok(lc__cursor_new(source, layout, &cursor));
	lc__layout_drop(layout);
	return cursor;
}

lc_source_info
walk_info(const lc_source *source)
{
	lc_source_info info = { .struct_size = sizeof(info) };

	need_ok(lc_source_info_get(source, &info));
	return info;
}

char **
walk_names(struct lc__cursor *cursor, uint64_t record, size_t *n)
{
	char **names;

	need_ok(lc__cursor_fields(cursor, record, &names, n));
	return names;
}

void
walk_free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

lc_status
walk_read_one(struct lc__cursor *cursor, uint64_t record, lc_tensor *tensor,
    lc_id *id)
{
	static const char *const field[] = { "." };

	return lc__cursor_read(cursor, record, field, 1, NULL, tensor, id);
}

/* Tensors by their paths in what the walk stands on. */
static void
expect_tensors(lc_iter *iter, char **names, const lc_tensor *tensors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const lc_value *part;
		lc_tensor want;

		need_ok(lc_iter_value(iter, strcmp(names[i], ".") == 0 ? NULL :
		    names[i], &part));
		need_ok(lc_value_as_tensor(part, &want));
		need(sample_same(&tensors[i], &want));
	}
}

static void
expect_record(lc_iter *iter, struct lc__cursor *cursor, uint64_t record)
{
	lc_tensor tensors[MOST_FIELDS];
	lc_item item;
	char **names;
	size_t n;
	lc_id id;

	need_ok(lc_iter_next(iter, &item));
	names = walk_names(cursor, record, &n);
	need(n <= MOST_FIELDS);
	need_ok(lc__cursor_read(cursor, record, (const char *const *)names, n, NULL,
	    tensors, &id));
	need(id.size == item.id.size && memcmp(id.data, item.id.data, id.size) == 0);
	need(lc__cursor_stored(cursor, record) >= item.stored_size);
	expect_tensors(iter, names, tensors, n);
	walk_free_names(names, n);
}

void
walk_expect_same(lc_cache *cache, lc_source *source)
{
	struct lc__layout *layout = lc__source_layout(source);
	const lc_source_info *info = lc__layout_info(layout);
	struct lc__cursor *cursor = walk_cursor(source);
	struct lc__chunk_row row;
	uint64_t records = 0, units = 0;
	lc_iter *iter;
	lc_item item;

	need_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
	need_ok(lc__cursor_begin(cursor));
	for (uint64_t p = 0; p < info->chunks; p++) {
		need_ok(lc__layout_row(layout, p, &row));
		need(row.first_record == records && row.first_unit == units);
		need(row.records > 0);
		need_ok(lc__cursor_go(cursor, p));
		for (uint64_t i = 0; i < row.records; i++) {
			expect_record(iter, cursor, i);
			units += lc__cursor_units(cursor, i);
		}
		records += row.records;
	}
	need(lc_iter_next(iter, &item) == LC_END);
	need(info->records == records && info->length == units);
	lc_iter_close(iter);
	lc__cursor_end(cursor);
	lc__cursor_free(cursor);
	lc__layout_drop(layout);
}
