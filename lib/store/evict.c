/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/evict.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "store/live.h"

#define MAX_CHUNKS 64
#define MAX_BYTES ((uint64_t)64 << 20)

/* A chunk that may be evicted. */
struct candidate {
	uint64_t when; /* the smallest is evicted first */
	uint64_t id;
	struct lc__ledger_row row;
};

/* The chunks that may be evicted, and the chosen ones. */
struct eviction {
	struct lc__change *change;
	struct candidate *candidates; /* malloc'ed */
	size_t count, room;
	struct lc__live_list live; /* of the victims */
	struct candidate victims[MAX_CHUNKS];
	unsigned nvictims;
	uint64_t bytes; /* of the victims */
};

static int
by_when(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->when != y->when)
		return x->when < y->when ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Find all chunks except the newest, sorted by order of eviction. If that is the order of
 * ids, only as many as can be evicted at once are examined. */
static lc_status
find_candidates(struct eviction *e, lc_evict how)
{
	struct lc__snapshot *s = &e->change->snapshot;
	struct candidate c = { .id = 0 };
	lc_status status;
	bool intact;

	while ((status = lc__ledger_after(s, c.id, &c.id, &c.row, &intact)) == LC_OK &&
	    c.id < s->state.next_chunk - 1) {
		/* Chunks of inputs are never evicted. */
		if (!intact || c.row.source > 0)
			continue;
		/* Uses within one second count as equal: then the older chunk is
		 * evicted. */
		c.when = how == LC_EVICT_OLDEST
		    ? c.id
		    : (c.row.read_ms > c.row.time_ms ? c.row.read_ms : c.row.time_ms) /
			1000;
		return_if_error(
		    lc__array_reserve(&e->candidates, &e->room, e->count + 1, "evict"));
		e->candidates[e->count++] = c;
		if (how == LC_EVICT_OLDEST && e->count == 2 * MAX_CHUNKS)
			break;
	}
	if (status != LC_OK && status != LC_END)
		return status;
	qsort(e->candidates, e->count, sizeof(*e->candidates), by_when);
	return LC_OK;
}

/* Choose victims until the others fit the budget. */
static lc_status
choose(struct eviction *e, uint64_t max_bytes, uint64_t limit)
{
	struct lc__snapshot *s = &e->change->snapshot;

	for (size_t i = 0; i < e->count && e->nvictims < MAX_CHUNKS && e->bytes < limit &&
	     s->state.bytes - e->bytes > max_bytes;
	     i++) {
		const struct candidate *c = &e->candidates[i];
		const lc_status status = lc__live_add(&e->live, s, c->id, &c->row, false);

		if (status == LC_CORRUPT)
			continue;
		return_if_error(status);
		e->victims[e->nvictims++] = *c;
		e->bytes += c->row.bytes;
	}
	return LC_OK;
}

/* Add one run that deletes all live records of the victims. */
static lc_status
bury_live(struct eviction *e)
{
	struct lc__new_entry *entries;
	lc_status status;

	if (e->live.count == 0)
		return LC_OK;
	entries = malloc(e->live.count * sizeof(*entries));
	if (entries == NULL)
		return lc__no_memory("evict");
	for (uint32_t i = 0; i < e->live.count; i++) {
		const struct lc__live_record *record = &e->live.records[i];

		entries[i] = (struct lc__new_entry){
			.prefix = lc__sort_prefix(&record->id),
			.id = record->id,
			.hash = record->hash,
			.location = LC__TOMBSTONE,
		};
	}
	status = lc__change_add_run(e->change, entries, e->live.count);
	free(entries);
	return status;
}

/* How many bytes may be evicted at once: at least the size of the newest chunk. */
static uint64_t
bytes_limit(struct lc__snapshot *s)
{
	struct lc__ledger_row row;
	uint64_t id;
	bool intact;

	if (lc__ledger_seek(s, s->state.next_chunk - 1, &id, &row, &intact) == LC_OK &&
	    row.bytes > MAX_BYTES)
		return row.bytes;
	return MAX_BYTES;
}

lc_status
lc__evict(struct lc__change *change, uint64_t max_bytes, lc_evict how,
    struct lc__evicted *out)
{
	struct eviction *e;
	lc_status status;

	if (change->snapshot.state.bytes <= max_bytes)
		return LC_OK;
	return_if_error(lc__snapshot_load_runs(&change->snapshot));
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return lc__no_memory("evict");
	e->change = change;
	status = find_candidates(e, how);
	if (status == LC_OK)
		status = choose(e, max_bytes, bytes_limit(&change->snapshot));
	if (status == LC_OK)
		status = bury_live(e);
	for (unsigned i = 0; i < e->nvictims && status == LC_OK; i++)
		status = lc__change_drop_chunk(change, e->victims[i].id,
		    &e->victims[i].row);
	if (status == LC_OK) {
		out->chunks += e->nvictims;
		out->records += e->live.count;
		out->bytes += e->live.bytes;
	}
	lc__live_free(&e->live);
	free(e->candidates);
	free(e);
	return status;
}

lc_status
lc__evict_note_reads(struct lc__change *change, const uint64_t *chunks, size_t n,
    uint64_t now_ms)
{
	for (size_t i = 0; i < n; i++) {
		struct lc__ledger_row row;
		uint64_t id;
		bool intact;
		const lc_status status = lc__ledger_seek(&change->snapshot, chunks[i],
		    &id, &row, &intact);

		if (status == LC_END)
			continue;
		return_if_error(status);
		if (id != chunks[i] || !intact)
			continue;
		row.read_ms = now_ms;
		return_if_error(lc__change_put_ledger(change, id, &row));
	}
	return LC_OK;
}
