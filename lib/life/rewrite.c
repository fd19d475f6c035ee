/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/length.h"
#include "store/live.h"
#include "store/settings.h"
#include "life/recode.h"

/* What is rewritten, as the transaction finds it. */
struct work {
	struct lc__change *change;
	struct lc__rewrite *rewrite;
	struct lc__group found;     /* the chunks of the group that are still there */
	struct lc__ledger_row rows[LC__GROUP_CHUNKS]; /* of them */
	struct lc__live_list live;  /* of them */
	unsigned char **recoded;    /* those coded anew, else NULL; malloc'ed, all */
	struct lc__ledger_row row;  /* of the new chunk */
	struct lc__directory_build directory; /* of it */
	struct lc__new_entry *entries; /* of records that stand elsewhere now; malloc'ed */
	uint32_t nentries;
};

/* Take in a chunk of the group; *taken is false if it does not belong any more. */
static lc_status
take_chunk(struct work *w, uint64_t id, bool *taken)
{
	struct lc__snapshot *s = &w->change->snapshot;
	const uint32_t count = w->live.count;
	const uint64_t bytes = w->live.bytes;
	struct lc__ledger_row row;
	uint64_t found;
	bool intact;
	const lc_status status = lc__ledger_seek(s, id, &found, &row, &intact);

	*taken = true;
	if (status == LC_END || (status == LC_OK && found != id))
		return LC_OK; /* somebody else dropped it */
	return_if_error(status);
	if (!intact)
		return lc__error(LC_CORRUPT, 0, "%s: the ledger row of chunk "
		    "%llu is damaged", lc__env_dir(s->env),
		    (unsigned long long)id);
	return_if_error(lc__live_add(&w->live, s, id, &row, true));
	*taken = lc__group_add(&w->found, id, &row, w->rewrite->options);
	if (*taken) {
		w->rows[w->found.count - 1] = row;
	} else {
		w->live.count = count;
		w->live.bytes = bytes;
	}
	return LC_OK;
}

static lc_status
take_chunks(struct work *w)
{
	const struct lc__group *group = w->rewrite->group;

	for (unsigned i = 0; i < group->count; i++) {
		bool taken = false;
		const lc_status status = take_chunk(w, group->ids[i], &taken);

		w->rewrite->next = group->ids[i] + 1;
		if (status == LC_CORRUPT && w->found.count == 0)
			return status;
		if (status != LC_OK && status != LC_CORRUPT)
			return status;
		if ((status == LC_CORRUPT || !taken) && w->found.count > 0) {
			w->rewrite->next = group->ids[i];
			break;
		}
	}
	return lc__group_worth(&w->found) ? LC_OK : LC_NOT_FOUND;
}

/* Where a record would not be found any more: locations have 24 bits. */
#define MAX_BYTES ((uint64_t)512 << 20)

/* Code record i anew, unless it is the same then, or too large. */
static lc_status
recode_one(struct work *w, uint32_t i, bool *changed)
{
	const lc_compact_options *options = w->rewrite->options;
	struct lc__live_record *live = &w->live.records[i];
	struct lc__record record;
	struct lc__known *known;
	unsigned char *bytes;
	size_t size = 0;

	(void)lc__record_parse(live->bytes, live->size, &record);
	return_if_error(lc__snapshot_schema(&w->change->snapshot, record.schema,
	    &known));
	if (!lc__record_fits(&record, known->schema))
		return lc__error(LC_CORRUPT, 0, "key %s: shape and size disagree",
		    lc__quote_id(record.id.data, record.id.size));
	return_if_error(lc__recode(&record, known->schema, options->recode,
	    options->level, &bytes, &size));
	if (bytes == NULL || w->live.bytes - live->size + size > MAX_BYTES ||
	    (size == live->size && memcmp(bytes, live->bytes, size) == 0)) {
		free(bytes);
		return LC_OK;
	}
	w->live.bytes += size;
	w->live.bytes -= live->size;
	w->recoded[i] = bytes;
	live->bytes = bytes;
	live->size = size;
	*changed = true;
	return LC_OK;
}

/* Code all records anew; LC_NOT_FOUND if that and all else changes nothing. */
static lc_status
recode(struct work *w)
{
	bool changed = w->found.count > 1 || w->live.count < w->found.records;

	if (w->rewrite->options->recode == LC_CODEC_DEFAULT)
		return LC_OK;
	w->recoded = calloc(w->live.count + 1, sizeof(unsigned char *));
	if (w->recoded == NULL)
		return lc__no_memory("compact");
	for (uint32_t i = 0; i < w->live.count; i++)
		return_if_error(recode_one(w, i, &changed));
	return changed ? LC_OK : LC_NOT_FOUND;
}

/* What stays of the old ledger rows: where the data came from, and its last use. */
static void
inherit(struct work *w)
{
	w->row.source = w->rows[0].source;
	w->row.ordinal = w->rows[0].ordinal;
	w->row.time_ms = w->rows[0].time_ms;
	for (unsigned i = 0; i < w->found.count; i++)
		if (w->rows[i].read_ms > w->row.read_ms)
			w->row.read_ms = w->rows[i].read_ms;
}

/* Count the records and say where they will be. */
static lc_status
lay_out(struct work *w)
{
	struct lc__snapshot *s = &w->change->snapshot;
	struct lc__measure measure = { 0 };
	lc_settings settings;

	return_if_error(lc__settings_load(s->env, s->txn, &settings));
	measure.field = settings.length_field;
	w->directory.has_lengths = lc__measures(&measure);
	for (uint32_t i = 0; i < w->live.count; i++) {
		const struct lc__live_record *live = &w->live.records[i];
		struct lc__record record;
		struct lc__known *known;
		uint64_t length;

		(void)lc__record_parse(live->bytes, live->size, &record);
		return_if_error(lc__snapshot_schema(s, record.schema, &known));
		length = lc__measure(&measure, &record, known->schema);
		lc__ledger_count(&w->row, live->size, length);
		lc__directory_add(&w->directory, live->size, length);
	}
	return LC_OK;
}

/* Copy the records and note those that stand elsewhere now. The old chunks are
 * deleted, but nothing is written over them before the commit. */
static lc_status
fill_chunk(struct work *w, uint64_t chunk, unsigned char *records)
{
	unsigned char *p = records;
	struct lc__record record;
	struct lc__known *known;

	for (uint32_t i = 0; i < w->live.count; i++) {
		const struct lc__live_record *from = &w->live.records[i];
		const uint64_t location = lc__location(chunk,
		    (uint64_t)(p - records) / LC__RECORD_ALIGN);

		memcpy(p, from->bytes, from->size);
		lc__ledger_hash(&w->row, p);
		(void)lc__record_parse(p, from->size, &record);
		return_if_error(lc__snapshot_schema(&w->change->snapshot,
		    record.schema, &known));
		return_if_error(lc__change_count(w->change, &record,
		    known->schema, 1));
		p += from->size;
		if (location != from->location)
			w->entries[w->nentries++] = (struct lc__new_entry) {
				.prefix = lc__sort_prefix(&from->id),
				.id = from->id, .hash = from->hash,
				.location = location
			};
	}
	return LC_OK;
}

static lc_status
write_chunk(struct work *w)
{
	const uint64_t id = w->found.ids[0];
	unsigned char *records;

	if (w->live.count == 0)
		return LC_OK;
	return_if_error(lc__change_put_chunk(w->change, id, &w->row,
	    &w->directory, &records));
	return_if_error(fill_chunk(w, id, records));
	/* Live records of other chunks have come to those of the first one. */
	if (w->row.live != w->rows[0].live)
		lc__ledger_name_records(&w->row);
	return_if_error(lc__change_put_ledger(w->change, id, &w->row));
	if (w->nentries == 0)
		return LC_OK;
	return lc__change_add_run(w->change, w->entries, w->nentries);
}

static lc_status
replace_chunks(struct work *w)
{
	w->entries = malloc((w->live.count + 1) * sizeof(*w->entries));
	if (w->entries == NULL)
		return lc__no_memory("compact");
	inherit(w);
	return_if_error(lay_out(w));
	for (unsigned i = 0; i < w->found.count; i++)
		return_if_error(lc__change_drop_chunk(w->change,
		    w->found.ids[i], &w->rows[i]));
	return_if_error(write_chunk(w));
	w->rewrite->rewritten = w->found.count;
	w->rewrite->moved = w->live.count;
	w->rewrite->dropped = w->found.records - w->live.count;
	return LC_OK;
}

lc_status
lc__rewrite(struct lc__change *change, void *rewrite)
{
	struct work *w = calloc(1, sizeof(*w));
	lc_status status;

	if (w == NULL)
		return lc__no_memory("compact");
	w->change = change;
	w->rewrite = rewrite;
	status = take_chunks(w);
	if (status == LC_OK)
		status = recode(w);
	if (status == LC_OK)
		status = replace_chunks(w);
	for (uint32_t i = 0; w->recoded != NULL && i < w->live.count; i++)
		free(w->recoded[i]);
	free(w->recoded);
	lc__live_free(&w->live);
	lc__directory_free(&w->directory);
	free(w->entries);
	free(w);
	return status;
}
