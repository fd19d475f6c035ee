/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/packing.h"

#include <string.h>

#include "base/error.h"
#include "store/lookup.h"
#include "store/settings.h"

lc_status
lc__packing_lay_out(struct lc__packing *p, const struct lc__ledger_row *first)
{
	struct lc__snapshot *s = &p->change->snapshot;
	struct lc__measure measure = { 0 };
	lc_settings settings;

	return_if_error(lc__settings_load(s->env, s->txn, &settings));
	p->row.source = first->source;
	p->row.ordinal = first->ordinal;
	p->row.time_ms = first->time_ms;
	p->row.read_ms = first->read_ms;
	measure.field = settings.length_field;
	p->directory.has_lengths = lc__measures(&measure);
	for (uint32_t i = 0; i < p->live.count; i++) {
		const struct lc__live_record *live = &p->live.records[i];
		struct lc__record record;
		struct lc__known *known;
		uint64_t length;

		(void)lc__record_parse(live->bytes, live->size, &record);
		return_if_error(lc__snapshot_schema(s, record.schema, &known));
		length = lc__measure(&measure, &record, known->schema);
		lc__ledger_count(&p->row, live->size, length);
		lc__directory_add(&p->directory, live->size, length);
	}
	return LC_OK;
}

lc_status
lc__packing_write(struct lc__packing *p, uint64_t id, struct lc__new_entry *entries,
    uint32_t *n)
{
	struct lc__snapshot *s = &p->change->snapshot;
	unsigned char *records, *to;
	struct lc__record record;
	struct lc__known *known;

	return_if_error(
	    lc__change_put_chunk(p->change, id, &p->row, &p->directory, &records));
	to = records;
	for (uint32_t i = 0; i < p->live.count; i++) {
		const struct lc__live_record *from = &p->live.records[i];
		const uint64_t location = lc__location(id,
		    (uint64_t)(to - records) / LC__RECORD_ALIGN);

		/* The old chunks are deleted, but they are not overwritten before the
		 * commit. */
		memcpy(to, from->bytes, from->size);
		lc__ledger_hash(&p->row, to);
		(void)lc__record_parse(to, from->size, &record);
		return_if_error(lc__snapshot_schema(s, record.schema, &known));
		if (lc__record_fits(&record, known->schema))
			return_if_error(
			    lc__change_count(p->change, &record, known->schema, 1));
		to += from->size;
		if (location != from->location)
			entries[(*n)++] = (struct lc__new_entry){
				.prefix = lc__sort_prefix(&from->id),
				.id = from->id,
				.hash = from->hash,
				.location = location,
			};
	}
	return LC_OK;
}

void
lc__packing_free(struct lc__packing *p)
{
	lc__live_free(&p->live);
	lc__directory_free(&p->directory);
}
