/* SPDX-License-Identifier: BSD-2-Clause */
/* The main tree and the tables that it names. */
#include "base/error.h"
#include "pages/page_layout.h"
#include "pages/page_walk.h"

static const struct lc__pages_table *
find_expected(struct lc__page_walk *walk, const struct lc__walk_entry *entry)
{
	const struct lc__pages_options *options = walk->options;

	for (size_t i = 0; i < options->table_count; i++) {
		const struct lc__pages_table *table = &options->tables[i];

		if (strlen(table->name) == entry->key_size &&
		    memcmp(table->name, entry->key, entry->key_size) == 0) {
			walk->tables_seen |= (uint64_t)1 << i;
			return table;
		}
	}
	return NULL;
}

/* Only plain tables are ever created: keys are bytes or integers, one value for each
 * key. */
static lc_status
check_table_flags(const struct lc__pages_tree *record,
    const struct lc__pages_table *expected)
{
	if (record->pad != 0 || (record->flags & ~TREE_INTEGER_KEYS) != 0 ||
	    (expected != NULL && record->flags != expected->flags))
		return lc__error(LC_CORRUPT, 0, "flags 0x%x, pad %u", record->flags,
		    record->pad);
	return LC_OK;
}

static lc_status
walk_table(struct lc__page_walk *walk, const struct lc__walk_entry *entry)
{
	const struct lc__pages_table *expected = find_expected(walk, entry);
	struct lc__pages_tree record;
	struct lc__walk_tree tree = { .record = &record };

	if (entry->size != TREE_RECORD)
		return lc__error(LC_CORRUPT, 0, "page %llu: record of %llu bytes",
		    (unsigned long long)entry->page, (unsigned long long)entry->size);
	if (walk->options->main_only)
		return LC_OK;
	lc__walk_read_tree(entry->value, &record);
	return_if_error(check_table_flags(&record, expected));
	if (expected != NULL && (expected->flags & TREE_INTEGER_KEYS))
		tree.key_size = expected->key_size;
	return lc__walk_tree(walk, &tree);
}

/* With a callback, check the other tables too. */
static lc_status
report_damage(struct lc__page_walk *walk)
{
	if (walk->options->damage == NULL)
		return LC_CORRUPT;
	walk->options->damage(walk->options->damage_ctx, lc_last_error()->text);
	if (walk->first.status == LC_OK)
		walk->first = *lc_last_error();
	return LC_OK;
}

static lc_status
main_entry(struct lc__page_walk *walk, const struct lc__walk_entry *entry)
{
	if (entry->flags != NODE_TREE) {
		if (find_expected(walk, entry) == NULL)
			return LC_OK;
		return lc__error(LC_CORRUPT, 0, "page %llu: %s is not a table",
		    (unsigned long long)entry->page,
		    lc__quote_id(entry->key, entry->key_size));
	}
	if (walk_table(walk, entry) == LC_OK)
		return LC_OK;
	lc__error_prefix("table %s", lc__quote_id(entry->key, entry->key_size));
	return report_damage(walk);
}

static lc_status
check_missing(struct lc__page_walk *walk)
{
	for (size_t i = 0; i < walk->options->table_count; i++) {
		if (!(walk->tables_seen >> i & 1)) {
			lc__error(LC_CORRUPT, 0, "table %s is missing",
			    walk->options->tables[i].name);
			return_if_error(report_damage(walk));
		}
	}
	return LC_OK;
}

lc_status
lc__walk_tables(struct lc__page_walk *walk)
{
	const struct lc__pages_tree *record = &walk->report->meta.main_tree;
	struct lc__walk_tree tree = { .record = record, .entry = main_entry };
	lc_status status = LC_OK;

	if (record->flags != 0 || record->pad != 0)
		status = lc__error(LC_CORRUPT, 0, "flags 0x%x, pad %u", record->flags,
		    record->pad);
	if (status == LC_OK)
		status = lc__walk_tree(walk, &tree);
	if (status != LC_OK) {
		/* The error of a table names it already. */
		if (strncmp(lc_last_error()->text, "table ", 6) != 0)
			lc__error_prefix("main table");
		return report_damage(walk);
	}
	walk->report->main_complete = !tree.cut;
	if (record->root == PAGE_NONE || tree.cut)
		return LC_OK;
	return check_missing(walk);
}
