/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structures: which row has which id. Rows are never changed and ids never used
 * again, so a row of an old commit is as good as one of the newest. The ids of a leaf
 * follow one another, so that one damaged key among them is seen and put right.
 */
#include <stdlib.h>

#include "base/error.h"
#include "life/salvage.h"

/* The rows of one leaf. */
struct leaf {
	const struct lc__salvage_row *row;
	uint64_t count;
	bool sure;      /* what the first id of the leaf is */
	int64_t first;  /* id of the row with index 0 */
};

static int
by_use_and_page(const void *a, const void *b)
{
	const struct lc__salvage_row *x = a, *y = b;

	if (x->use != y->use)
		return x->use > y->use ? -1 : 1;
	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The first id that more than half of the keys agree on, if there is one. A leaf with
 * all rows of the table begins with 0. */
static void
find_first(const struct lc__salvage *s, struct leaf *leaf)
{
	uint64_t lead = 0, votes = 0;

	leaf->first = 0;
	leaf->sure = true;
	if (s->state_found && s->state.next_schema == leaf->count)
		return;
	for (uint64_t i = 0; i < leaf->count; i++) {
		const int64_t first = (int64_t)leaf->row[i].number -
		    leaf->row[i].index;

		if (lead == 0)
			leaf->first = first;
		lead += leaf->first == first ? 1 : (uint64_t)-1;
	}
	for (uint64_t i = 0; i < leaf->count; i++)
		votes += (int64_t)leaf->row[i].number - leaf->row[i].index ==
		    leaf->first;
	leaf->sure = votes > leaf->count / 2;
}

static lc_status
set_schema(struct lc__salvage *s, uint64_t id, const struct lc__salvage_row *row)
{
	const unsigned char *bytes;
	struct lc__schema *schema;
	lc_status status;

	if (id >= LC__SCHEMAS_MAX || (id < s->nschema && s->schema[id] != NULL))
		return LC_OK;
	return_if_error(lc__salvage_at(s->file, row->at, row->size, &bytes));
	status = lc__schema_decode(bytes, row->size, &schema);
	if (status != LC_OK)
		return status == LC_NO_MEMORY ? status : LC_OK;
	if (id >= s->nschema) {
		struct lc__schema **grown = realloc(s->schema, (size_t)(id + 1) *
		    sizeof(struct lc__schema *));

		if (grown == NULL) {
			lc__schema_free(schema);
			return lc__error(LC_NO_MEMORY, 0, "salvage: out of memory");
		}
		for (; s->nschema <= id; s->nschema++)
			grown[s->nschema] = NULL;
		s->schema = grown;
	}
	s->schema[id] = schema;
	return LC_OK;
}

/* The rows of one leaf. A row alone on its leaf has nothing but its own key to go by:
 * those come last. */
static lc_status
read_leaf(struct lc__salvage *s, struct leaf *leaf, bool alone)
{
	find_first(s, leaf);
	if ((leaf->count == 1) != alone || !leaf->sure)
		return LC_OK;
	for (uint64_t i = 0; i < leaf->count; i++)
		if (leaf->row[i].index >= 0 &&
		    leaf->first + leaf->row[i].index >= 0)
			return_if_error(set_schema(s, (uint64_t)(leaf->first +
			    leaf->row[i].index), &leaf->row[i]));
	return LC_OK;
}

lc_status
lc__salvage_read_schemas(struct lc__salvage *s)
{
	struct lc__salvage_rows *rows = &s->schemas;

	if (rows->count > 0)
		qsort(rows->row, rows->count, sizeof(*rows->row), by_use_and_page);
	for (int alone = 0; alone < 2; alone++) {
		for (uint64_t i = 0; i < rows->count;) {
			struct leaf leaf = { .row = &rows->row[i] };

			while (i + leaf.count < rows->count &&
			    leaf.row[leaf.count].page == leaf.row->page)
				leaf.count++;
			return_if_error(read_leaf(s, &leaf, alone != 0));
			i += leaf.count;
		}
	}
	return LC_OK;
}
