/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which record a cache_id leads to, from the readable parts of the index and of
 * the chunks. The newest readable entry decides. But if a newer run has a gap, the newest
 * record that no readable entry names may be the one that the gap named: it is restored.
 * The record at the later location is the newer one: chunks are in commit order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "index/run_build.h"
#include "life/recover.h"
#include "store/change.h"

#define NOWHERE LC__TOMBSTONE

/* All claims of one cache_id. */
struct group {
	const struct lc__recovery_claim *claims;
	uint64_t count;
	const struct lc__recovery_claim *newest; /* of a run; NULL if there is none */
	const struct lc__recovery_claim
	    *record; /* the last location; NULL if there is none */
};

static int
by_id(const void *a, const void *b)
{
	const struct lc__recovery_claim *x = a, *y = b;

	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	return lc__id_compare(x->id, x->id_size, y->id, y->id_size);
}

struct lc__recovery_record *
lc__recovery_record_at(const struct lc__recovery *r, uint64_t location)
{
	uint64_t low = 0, high = r->nrecords;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (r->records[middle].location < location)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->nrecords && r->records[low].location == location
	    ? &r->records[low]
	    : NULL;
}

/* ---- the claims of one cache_id ------------------------------------------- */

static bool
in_gap(const struct lc__recovery_gap *gap, const struct lc__recovery_claim *claim)
{
	return (gap->after.id == NULL ||
		   lc__id_compare(gap->after.id, gap->after.id_size, claim->id,
		       claim->id_size) < 0) &&
	    (gap->before.id == NULL ||
		lc__id_compare(claim->id, claim->id_size, gap->before.id,
		    gap->before.id_size) < 0);
}

/* Could a run newer than the newest entry have said something else? Without the state row
 * it is unknown which runs are newer. */
static bool
has_newer_gap(const struct lc__recovery *r, const struct group *g)
{
	for (uint64_t i = 0; i < r->ngaps; i++)
		if ((r->state_lost || g->newest == NULL ||
			r->gaps[i].run > g->newest->run) &&
		    in_gap(&r->gaps[i], g->claims))
			return true;
	return false;
}

/* The newest run's entry with this location. */
static const struct lc__recovery_claim *
find_entry(const struct group *g, uint64_t location)
{
	const struct lc__recovery_claim *found = NULL;

	for (uint64_t i = 0; i < g->count; i++)
		if (g->claims[i].run != LC__CLAIM_RECORD &&
		    g->claims[i].location == location &&
		    (found == NULL || g->claims[i].run > found->run))
			found = &g->claims[i];
	return found;
}

static bool
has_record(const struct group *g, uint64_t location)
{
	for (uint64_t i = 0; i < g->count; i++)
		if (g->claims[i].run == LC__CLAIM_RECORD &&
		    g->claims[i].location == location)
			return true;
	return false;
}

/* The record at the last location that an entry names. */
static const struct lc__recovery_claim *
last_named(const struct group *g)
{
	const struct lc__recovery_claim *last = NULL;

	for (uint64_t i = 0; i < g->count; i++) {
		const struct lc__recovery_claim *c = &g->claims[i];

		if (c->run == LC__CLAIM_RECORD &&
		    (last == NULL || c->location > last->location) &&
		    find_entry(g, c->location) != NULL)
			last = c;
	}
	return last;
}

/* The damaged span that contains a location, NULL if there is none. */
static struct lc__recovery_span *
find_span(const struct lc__recovery *r, uint64_t location)
{
	for (uint64_t i = 0; i < r->nspans; i++)
		if (location >= r->spans[i].start && location < r->spans[i].end)
			return &r->spans[i];
	return NULL;
}

/* A cache_id leads to a location without its record. */
static uint64_t
lose(struct lc__recovery *r, const struct group *g)
{
	struct lc__recovery_span *span = find_span(r, g->newest->location);

	if (r->trial)
		return NOWHERE;
	if (span != NULL)
		span->counted = true;
	r->index_damaged = true;
	r->result.lost++;
	lc__progress_damage(r->progress, "lost: key %s: its record is damaged or missing",
	    lc__quote_id(g->claims->id, g->claims->id_size));
	return NOWHERE;
}

/* Without the state row: runs with a higher number are newer, except for a run that was
 * too large to be merged when its older neighbours were. In case of doubt a record was
 * not deleted. */
static uint64_t
decide_unordered(struct lc__recovery *r, const struct group *g)
{
	const struct lc__recovery_claim *deletion = find_entry(g, LC__TOMBSTONE);
	const struct lc__recovery_claim *record = last_named(g), *entry;

	/* A record that was replaced by one now damaged must not be restored. */
	if (g->newest != NULL && find_span(r, g->newest->location) != NULL)
		return lose(r, g);
	if (record == NULL)
		return NOWHERE;
	entry = find_entry(g, record->location);
	if (deletion != NULL && deletion->run > entry->run &&
	    (r->runs[deletion->run].level != LC__LEVEL_FULL ||
		r->runs[entry->run].level == LC__LEVEL_FULL))
		return NOWHERE;
	return record->location;
}

static uint64_t
decide(struct lc__recovery *r, const struct group *g)
{
	if (g->record != NULL && find_entry(g, g->record->location) == NULL &&
	    has_newer_gap(r, g)) {
		r->result.rescued++;
		lc__progress_damage(r->progress, "rescued: key %s%s",
		    lc__quote_id(g->claims->id, g->claims->id_size),
		    g->newest == NULL ? ", which may have been deleted"
				      : ", which may have been deleted or replaced");
		return g->record->location;
	}
	if (r->state_lost)
		return decide_unordered(r, g);
	if (g->newest == NULL || g->newest->location == LC__TOMBSTONE)
		return NOWHERE;
	if (has_record(g, g->newest->location))
		return g->newest->location;
	return lose(r, g);
}

/* ---- all of them ---------------------------------------------------------- */

static lc_status
add_live(struct lc__recovery *r, const struct lc__recovery_claim *claim,
    uint64_t location)
{
	struct lc__recovery_record *sound = lc__recovery_record_at(r, location);

	if (sound == NULL)
		return lc__error(LC_CORRUPT, 0, "recover: no record at %llu",
		    (unsigned long long)location);
	return_if_error(
	    lc__array_reserve(&r->live, &r->live_room, r->nlive + 1, "recover"));
	sound->live = true;
	r->live[r->nlive++] = (struct lc__new_entry){
		.prefix = claim->prefix,
		.id = { claim->id, claim->id_size },
		.hash = lc__run_hash(lc__env_seed(r->change->snapshot.env), claim->id,
		    claim->id_size),
		.location = location,
	};
	return LC_OK;
}

/* Collect the claims of the cache_id at a position. */
static void
collect(const struct lc__recovery *r, uint64_t from, struct group *g)
{
	*g = (struct group){ .claims = &r->claims[from] };
	for (; from + g->count < r->nclaims &&
	     by_id(&r->claims[from], &r->claims[from + g->count]) == 0;
	     g->count++) {
		const struct lc__recovery_claim *c = &r->claims[from + g->count];

		if (c->run == LC__CLAIM_RECORD) {
			if (g->record == NULL || c->location > g->record->location)
				g->record = c;
		} else if (g->newest == NULL || c->run > g->newest->run) {
			g->newest = c;
		}
	}
}

/* The number of live cache_ids according to the ledger; false if it is unknown. */
static bool
count_after_ledger(struct lc__recovery *r, uint64_t *out)
{
	*out = 0;
	for (uint64_t i = 0; i < r->nchunks; i++) {
		struct lc__ledger_row row;
		uint64_t id = 0;
		bool intact = false;

		if (lc__ledger_seek(&r->change->snapshot, r->chunks[i].id, &id, &row,
			&intact) != LC_OK ||
		    !intact || id != r->chunks[i].id)
			return false;
		*out += row.live;
	}
	return true;
}

/* Without the state row it is unknown whether a run is missing. If the ledger counts more
 * live records than all runs, one may be missing, and may have had any content. */
static lc_status
suspect_missing_run(struct lc__recovery *r)
{
	uint64_t wanted, found = 0;
	struct group g;

	r->trial = true;
	for (uint64_t i = 0; i < r->nclaims; i += g.count) {
		collect(r, i, &g);
		found += decide_unordered(r, &g) != NOWHERE;
	}
	r->trial = false;
	if (count_after_ledger(r, &wanted) && found >= wanted)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&r->gaps, &r->gaps_room, r->ngaps + 1, "recover"));
	r->gaps[r->ngaps++] = (struct lc__recovery_gap){ .run = UINT32_MAX };
	return LC_OK;
}

lc_status
lc__recovery_decide(struct lc__recovery *r)
{
	struct group g;

	if (r->nclaims > 0)
		qsort(r->claims, r->nclaims, sizeof(*r->claims), by_id);
	if (r->state_lost)
		return_if_error(suspect_missing_run(r));
	for (uint64_t i = 0; i < r->nclaims; i += g.count) {
		uint64_t location;

		collect(r, i, &g);
		location = decide(r, &g);
		if (location != NOWHERE)
			return_if_error(add_live(r, g.claims, location));
	}
	/* A span to which no key leads was a dead record, unless part of the index is
	 * lost. */
	for (uint64_t i = 0; i < r->nspans; i++)
		r->result.unknown += !r->spans[i].counted && r->ngaps > 0;
	r->result.records = r->nlive;
	return LC_OK;
}
