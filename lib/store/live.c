/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "index/run_build.h"
#include "store/lookup.h"

/* Keys that are looked up together, so that their cache misses overlap. */
#define LOOKUP_GROUP 16

static lc_status
disagree(const struct lc__snapshot *s, uint64_t chunk, const char *what)
{
	return lc__error(LC_CORRUPT, 0, "%s: chunk %llu: %s", lc__env_dir(s->env),
	    (unsigned long long)chunk, what);
}

/* Add all records of a chunk. */
static lc_status
append_chunk(struct lc__live_list *list, struct lc__snapshot *s, uint64_t chunk,
    const struct lc__ledger_row *row)
{
	const uint64_t seed = lc__env_seed(s->env);
	struct lc__mapped_chunk mapped;
	uint64_t offset = LC__CHUNK_HEADER, records = 0;

	return_if_error(lc__snapshot_chunk(s, chunk, &mapped));
	lc__env_willneed(s->env, mapped.bytes, (size_t)mapped.end);
	for (; offset < mapped.end; records++) {
		struct lc__live_record entry;
		struct lc__record record;

		if (!lc__record_parse(mapped.bytes + offset, mapped.end - offset,
			&record))
			return disagree(s, chunk, "a record is damaged");
		entry.location = lc__location(chunk,
		    (offset - LC__CHUNK_HEADER) / LC__RECORD_ALIGN);
		entry.id = record.id;
		entry.hash = lc__run_hash(seed, record.id.data, record.id.size);
		entry.bytes = mapped.bytes + offset;
		entry.size = record.size;
		return_if_error(lc__array_reserve(&list->records, &list->room,
		    (size_t)list->count + 1, NULL));
		list->records[list->count++] = entry;
		offset += record.size;
	}
	return records == row->records
	    ? LC_OK
	    : disagree(s, chunk, "its ledger row has another number of records");
}

/* Of the records from position @p from on, keep those that are live. */
static lc_status
keep_live(struct lc__live_list *list, struct lc__snapshot *s, uint32_t from, bool intact)
{
	const uint32_t count = list->count;

	list->count = from;
	for (uint32_t i = from; i < count; i++) {
		const struct lc__live_record *listed = &list->records[i];
		struct lc__lookup lookup = {
			.id = listed->id,
			.hash = listed->hash,
			.location = LC__TOMBSTONE,
		};
		struct lc__record record;
		lc_status status;

		if ((i - from) % LOOKUP_GROUP == 0)
			for (uint32_t j = i; j < count && j < i + LOOKUP_GROUP; j++) {
				const struct lc__lookup ahead = {
					.hash = list->records[j].hash,
				};
				lc__index_prefetch(s, &ahead);
			}
		/* It is live if the index names it. */
		status = lc__index_find(s, &lookup, LC_VERIFY_ALWAYS);
		if (status == LC_NOT_FOUND ||
		    (status == LC_OK && lookup.location != listed->location))
			continue;
		return_if_error(status);
		if (intact &&
		    !(lc__record_parse(listed->bytes, listed->size, &record) &&
			lc__record_intact(&record)))
			return lc__error(LC_CORRUPT, 0, "%s: key %s: checksum mismatch",
			    lc__env_dir(s->env),
			    lc__quote_id(listed->id.data, listed->id.size));
		list->bytes += listed->size;
		list->records[list->count++] = *listed;
	}
	return LC_OK;
}

lc_status
lc__live_add(struct lc__live_list *list, struct lc__snapshot *s, uint64_t chunk,
    const struct lc__ledger_row *row, bool intact)
{
	const uint32_t from = list->count;
	const uint64_t bytes = list->bytes;
	lc_status status = append_chunk(list, s, chunk, row);

	if (status == LC_OK)
		status = keep_live(list, s, from, intact);
	if (status == LC_OK && list->count - from != row->live)
		status = disagree(s, chunk,
		    "the index names another number of live records");
	if (status != LC_OK) {
		list->count = from;
		list->bytes = bytes;
	}
	return status;
}

void
lc__live_free(struct lc__live_list *list)
{
	free(list->records);
	memset(list, 0, sizeof(*list));
}
