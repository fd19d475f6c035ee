/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/tool.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "store/change.h"
#include "store/decode.h"
#include "store/flush.h"
#include "store/lookup.h"
#include "store/put.h"

const char *
lc__cache_dir(const lc_cache *cache)
{
	return lc__env_path(cache->env);
}

uint64_t
lc__cache_uncommitted(const lc_cache *cache)
{
	return lc__flush_pending(cache);
}

/* ---- chunks ----------------------------------------------------------------------- */

lc_status
lc__cache_chunks(lc_cache *cache, struct lc__chunk_facts **out, size_t *n)
{
	struct lc__chunk_facts *chunks = NULL;
	struct lc__snapshot *snapshot;
	struct lc__ledger_row row;
	size_t count = 0, room = 0;
	uint64_t id = 0;
	bool intact;
	lc_status status;

	return_if_error(lc__array_reserve(&chunks, &room, 1, NULL));
	status = lc__snapshot_take(cache->env, &snapshot);
	if (status != LC_OK) {
		free(chunks);
		return status;
	}
	while ((status = lc__ledger_seek(snapshot, id, &id, &row, &intact)) == LC_OK) {
		status = lc__array_reserve(&chunks, &room, count + 1, NULL);
		if (status != LC_OK)
			break;
		chunks[count++] = (struct lc__chunk_facts){
			.chunk = id++,
			.records = row.records,
			.live = row.live,
			.bytes = row.bytes,
			.live_bytes = row.live_bytes,
			.input = row.source,
			.time_ms = row.time_ms,
			.read_ms = row.read_ms,
			.damaged = !intact,
		};
	}
	lc__snapshot_give(snapshot, 0);
	if (status != LC_END) {
		free(chunks);
		return status;
	}
	*out = chunks;
	*n = count;
	return LC_OK;
}

/* ---- what is stored under cache_ids ----------------------------------------------- */

/* Look-ups that are prefetched together: the memory of one arrives while others
 * proceed. */
#define WINDOW 16

struct look {
	lc_cache *cache;
	const struct lc__stored_check *how;
	struct lc__snapshot *snapshot;
	const struct lc__schema
	    *admitted; /* the structure accepted last in a strict module */
};

static bool
is_strict(const lc_cache *cache)
{
	return atomic_load(&lc__module_of(cache->env)->settings.policy) == LC_STRICT;
}

static lc_status
check_record(struct look *look, size_t number, const struct lc__lookup *lookup)
{
	const bool deep = look->how->deep;
	struct lc__decoder reading = { .record = lookup->record };
	const lc_value *value;
	lc_status status;

	/* A record without parts has one checksum, which covers the tensor too. */
	return_if_error(lc__decoder_open(&reading, look->cache, look->snapshot,
	    lookup->location, deep || lookup->record.has_parts));
	/* Equal structures are the same one. */
	if (reading.schema != look->admitted && is_strict(look->cache)) {
		return_if_error(lc__check_schema(look->cache, reading.schema));
		look->admitted = reading.schema;
	}
	if (look->how->fn == NULL)
		return LC_OK;
	reading.listed = !deep;
	status = lc__decoder_value(&reading, NULL, &value);
	if (status == LC_OK)
		status = look->how->fn(look->how->ctx, number, value);
	lc__decoder_close(&reading);
	return status;
}

/* Look up ids[first] and those after it, n in all. */
static lc_status
look_window(struct look *look, const lc_id *ids, size_t first, size_t n,
    enum lc__stored *out)
{
	struct lc__lookup lookups[WINDOW];

	for (size_t i = 0; i < n; i++) {
		lc__lookup_start(&lookups[i], look->cache->env, ids[first + i].data,
		    ids[first + i].size);
		lookups[i].reads = look->how->deep;
		lc__index_prefetch(look->snapshot, &lookups[i]);
	}
	for (size_t i = 0; i < n; i++) {
		lc_status status;

		if (out[first + i] == LC__STORED_DONE)
			continue;
		status = lc__index_find(look->snapshot, &lookups[i], LC_VERIFY_ALWAYS);
		if (status == LC_NOT_FOUND)
			continue; /* it is missing, as out says */
		if (status == LC_OK)
			status = check_record(look, first + i, &lookups[i]);
		switch (status) {
		case LC_OK: out[first + i] = LC__STORED_DONE; break;
		case LC_NOT_FOUND:
		case LC_CORRUPT:
		case LC_SCHEMA:
		case LC_INVALID: out[first + i] = LC__STORED_WRONG; break;
		default: /* LC_NO_MEMORY and others are not about the record */
			return status;
		}
	}
	return LC_OK;
}

lc_status
lc__stored_look(lc_cache *cache, const lc_id *ids, size_t n,
    const struct lc__stored_check *how, enum lc__stored *out)
{
	struct look look = { .cache = cache, .how = how };
	enum lc__uncommitted answer;
	lc_status status = LC_OK;

	/* Uncommitted records first: they may be committed before the snapshot is
	 * taken. */
	for (size_t i = 0; i < n; i++) {
		return_if_error(
		    lc__flush_find(cache, ids[i].data, ids[i].size, NULL, &answer));
		out[i] = answer == LC__UNCOMMITTED_PUT ? LC__STORED_DONE
						       : LC__STORED_MISSING;
	}
	return_if_error(lc__snapshot_take(cache->env, &look.snapshot));
	for (size_t i = 0; i < n && status == LC_OK; i += WINDOW)
		status = look_window(&look, ids, i, n - i < WINDOW ? n - i : WINDOW, out);
	lc__snapshot_give(look.snapshot, 0);
	return status;
}

lc_status
lc__stored_admits(lc_cache *cache, const lc_value *value)
{
	struct lc__schema *schema;
	lc_status status;

	if (!is_strict(cache))
		return LC_OK;
	return_if_error(lc__schema_infer(value, &schema));
	status = lc__check_schema(cache, schema);
	lc__schema_free(schema);
	return status;
}
