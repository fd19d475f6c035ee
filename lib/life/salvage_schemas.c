/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures: which row has which id. Rows are never changed and ids never used
 * again, so a row of an old commit is as good as one of the newest. The checksum of a row
 * is right for its own id alone.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "life/salvage.h"
#include "store/schemas.h"

static int
by_use(const void *a, const void *b)
{
	const struct lc__salvage_row *x = a, *y = b;

	if (x->use != y->use)
		return x->use > y->use ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool
is_known(const struct lc__salvage *s, uint64_t id)
{
	return id < s->nschema && s->schema[id] != NULL;
}

static lc_status
set_schema(struct lc__salvage *s, uint64_t id, const struct lc__salvage_row *row)
{
	const unsigned char *bytes;
	struct lc__schema *schema;
	lc_status status;

	if (id >= LC__SCHEMAS_MAX || is_known(s, id))
		return LC_OK;
	return_if_error(lc__salvage_at(s->file, row->at, row->size, &bytes));
	status = lc__schema_row_decode(bytes, row->size, (uint32_t)id,
	    &schema);
	if (status != LC_OK)
		return status == LC_NO_MEMORY ? status : LC_OK;
	if (id >= s->nschema) {
		status = lc__array_reserve(&s->schema, &s->schema_room, (size_t)id + 1, "salvage");
		if (status != LC_OK) {
			lc__schema_free(schema);
			return status;
		}
		for (; s->nschema <= id; s->nschema++)
			s->schema[s->nschema] = NULL;
	}
	s->schema[id] = schema;
	return LC_OK;
}

/* The id after the last one that the state or a record names. */
static uint64_t
end_of_ids(const struct lc__salvage *s)
{
	uint64_t end = s->state_found ? s->state.next_schema : 0;

	for (uint64_t i = 0; i < s->nrecords; i++)
		if (s->records[i].schema >= end)
			end = (uint64_t)s->records[i].schema + 1;
	return end < LC__SCHEMAS_MAX ? end : LC__SCHEMAS_MAX;
}

/* Try the ids that are missing for a row that is under another key than its own. */
static lc_status
find_id(struct lc__salvage *s, const struct lc__salvage_row *row, uint64_t end,
    uint64_t *budget)
{
	const unsigned char *bytes;

	return_if_error(lc__salvage_at(s->file, row->at, row->size, &bytes));
	for (uint64_t id = 0; id < end; id++) {
		if (is_known(s, id))
			continue;
		if (*budget < row->size + 64)
			return LC_OK;
		*budget -= row->size + 64;
		if (lc__row_intact(bytes, row->size, id))
			return set_schema(s, id, row);
	}
	return LC_OK;
}

lc_status
lc__salvage_read_schemas(struct lc__salvage *s)
{
	const struct lc__salvage_rows *rows = &s->schemas;
	/* Bytes to hash: a file that is made for it must not take hours. */
	uint64_t budget = (uint64_t)1 << 30;
	const uint64_t end = end_of_ids(s);

	if (rows->count > 0)
		qsort(rows->row, rows->count, sizeof(*rows->row), by_use);
	for (uint64_t i = 0; i < rows->count; i++)
		if (rows->row[i].number != UINT64_MAX)
			return_if_error(set_schema(s, rows->row[i].number,
			    &rows->row[i]));
	for (uint64_t i = 0; i < rows->count; i++)
		if (rows->row[i].number == UINT64_MAX)
			return_if_error(find_id(s, &rows->row[i], end, &budget));
	return LC_OK;
}
