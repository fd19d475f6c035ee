/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which of the records found are live. The index tells: the newest run with a key
 * names its record, or says that it was deleted. If a run that may be newer is missing,
 * keys that it may have had are uncertain: their last record is taken, unless it is known
 * to have been replaced.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "index/run_layout.h"
#include "life/salvage.h"

/* The records of one cache_id. */
struct group {
	struct lc__salvage_record *first;
	uint64_t count;
};

static enum lc__salvage_use
use_of(const struct lc__salvage *s, const struct lc__salvage_record *record)
{
	return s->chunks[record->chunk].use;
}

static int
by_hash(const void *a, const void *b)
{
	const struct lc__salvage_record *x = a, *y = b;
	int order = memcmp(x->hash, y->hash, sizeof(x->hash));

	if (order == 0)
		order = x->location < y->location ? -1 : x->location > y->location;
	return order != 0 ? order : x->at < y->at ? -1 : x->at > y->at;
}

/* ---- the entries of the runs ---------------------------------------------- */

/* An entry of run number i; runs come from old to new. */
static void
take_entry(struct lc__salvage *s, uint32_t position, const void *id, size_t id_size,
    uint64_t location)
{
	struct lc__salvage_record *record, *first;
	uint64_t low = 0, high = s->nrecords;
	uint64_t hash[2];

	if (!(location & LC__TOMBSTONE) && location > s->reach[position])
		s->reach[position] = location;
	lc__hash128(id, id_size, hash);
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (memcmp(s->records[middle].hash, hash, sizeof(hash)) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	first = &s->records[low];
	if (low == s->nrecords || memcmp(first->hash, hash, sizeof(hash)) != 0)
		return;
	first->newest = location & LC__TOMBSTONE ? LC__TOMBSTONE : location;
	first->newest_run = position;
	/* Most keys have few versions; in a file with a million versions of one key this
	 * search is slow. */
	high = s->nrecords;
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		const int order = memcmp(s->records[middle].hash, hash, sizeof(hash));

		if (order < 0 || (order == 0 && s->records[middle].location < location))
			low = middle + 1;
		else
			high = middle;
	}
	for (record = &s->records[low];
	     low < s->nrecords && record->location == location && !record->named &&
	     memcmp(record->hash, hash, sizeof(hash)) == 0;
	     low++, record++)
		record->named = true;
}

/* Read the entries of a block; false if it is damaged. */
static bool
take_block(struct lc__salvage *s, uint32_t position, const unsigned char *block,
    uint32_t size, uint32_t number)
{
	const uint32_t entries = lc__get32(block + block_at_entries);
	const unsigned char *p = block + block_header, *end = block + size;

	if (lc__get64(block + block_at_checksum) !=
	    block_checksum(block, size, number, entries))
		return false;
	for (uint32_t i = 0; i < entries; i++) {
		size_t id_size;

		if (end - p < entry_head)
			return false;
		id_size = (size_t)lc__get16(p + 8) + 1;
		if ((size_t)(end - p) - entry_head < id_size)
			return false;
		take_entry(s, position, p + entry_head, id_size, lc__get64(p));
		p += entry_head + id_size;
	}
	return true;
}

/* Read all blocks of a run in order. They follow one another in the file, so that none is
 * read twice. */
static lc_status
read_blocks(struct lc__salvage *s, const struct lc__salvage_run *run, uint32_t position,
    const unsigned char *offsets, uint32_t blocks, bool *whole)
{
	const uint64_t room = run->keys_size - 4 - (uint64_t)blocks * 4;
	uint64_t end = 0;

	*whole = true;
	for (uint32_t i = 0; i < blocks; i++) {
		const uint64_t at = lc__get32(offsets + (size_t)i * 4);
		const unsigned char *block;
		uint32_t size;

		if (at < end || at > room || room - at < block_header) {
			*whole = false;
			continue;
		}
		return_if_error(
		    lc__salvage_at(s->file, run->keys + at, block_header, &block));
		size = lc__get32(block + block_at_size);
		if (size < block_header || size > room - at) {
			*whole = false;
			continue;
		}
		end = at + size;
		return_if_error(lc__salvage_at(s->file, run->keys + at, size, &block));
		if (!take_block(s, position, block, size, i))
			*whole = false;
	}
	return LC_OK;
}

static lc_status
read_run(struct lc__salvage *s, const struct lc__salvage_run *run, uint32_t position,
    bool *whole)
{
	const uint64_t blocks = (run->entries + LC__RUN_BLOCK - 1) / LC__RUN_BLOCK;
	unsigned char *offsets;
	const unsigned char *bytes;
	lc_status status;

	*whole = false;
	s->reach[position] = s->reach[position - 1];
	if (blocks > (run->keys_size - 4) / 4)
		return LC_OK;
	return_if_error(lc__salvage_at(s->file,
	    run->keys + run->keys_size - 4 - blocks * 4, blocks * 4 + 4, &bytes));
	if (lc__get32(bytes + blocks * 4) != blocks)
		return LC_OK;
	offsets = malloc((size_t)blocks * 4 + 1);
	if (offsets == NULL)
		return lc__no_memory("salvage");
	memcpy(offsets, bytes, (size_t)blocks * 4);
	status = read_blocks(s, run, position, offsets, (uint32_t)blocks, whole);
	free(offsets);
	return status == LC_OK ? lc__salvage_step(s, run->keys_size) : status;
}

/* ---- the order of the runs ------------------------------------------------ */

static int
by_id(const void *a, const void *b)
{
	const struct lc__salvage_run *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (int)y->use - (int)x->use;
}

/* A run of the state row. Ids of runs are never reused, so it is valid wherever it is. */
static const struct lc__salvage_run *
find_run(const struct lc__salvage *s, const struct lc__run_row *row)
{
	for (uint64_t low = 0, high = s->nruns; low < high;) {
		const uint64_t middle = low + (high - low) / 2;

		if (s->runs[middle].id == row->id &&
		    (middle == 0 || s->runs[middle - 1].id != row->id))
			return s->runs[middle].entries == row->entries ? &s->runs[middle]
								       : NULL;
		if (s->runs[middle].id < row->id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The runs that the state row lists, in its order. */
static lc_status
read_listed(struct lc__salvage *s)
{
	for (uint32_t i = 0; i < s->state.nruns; i++) {
		const struct lc__run_row *row = &s->state.runs[i];
		const struct lc__salvage_run *run = find_run(s, row);
		bool whole = false;

		s->reach[i + 1] = s->reach[i];
		if (run != NULL)
			return_if_error(read_run(s, run, i + 1, &whole));
		if (whole)
			continue;
		s->gap = i + 1;
		lc__progress_damage(s->progress,
		    "index run %llu is %s: its information about its %llu keys is lost",
		    (unsigned long long)row->id, run == NULL ? "missing" : "damaged",
		    (unsigned long long)row->entries);
	}
	return LC_OK;
}

/* Add the runs of commits later than the state row's, or all of them without one. A run
 * with a higher number is newer, except for large ones, which stay as they are when older
 * neighbours are merged. */
static lc_status
read_unlisted(struct lc__salvage *s)
{
	uint32_t position = s->state_found ? s->state.nruns : 0;
	bool whole;

	if (s->newest && s->state_found)
		return LC_OK;
	s->gap = UINT32_MAX;
	lc__progress_damage(s->progress, "%s",
	    s->state_found
		? "commits later than the last whole one are missing"
		: "the state row is missing: a part of the index may be missing, too");
	for (uint64_t i = 0; i < s->nruns; i++)
		if (s->runs[i].use != LC__USE_FREED &&
		    (!s->state_found || s->runs[i].id >= s->state.next_run) &&
		    (i == 0 || s->runs[i].id != s->runs[i - 1].id))
			return_if_error(read_run(s, &s->runs[i], ++position, &whole));
	return LC_OK;
}

/* ---- one key -------------------------------------------------------------- */

/* The record of a key at a location, the one of the newest commit if there are
 * several. */
static struct lc__salvage_record *
record_at(const struct lc__salvage *s, const struct group *g, uint64_t location)
{
	struct lc__salvage_record *best = NULL;

	for (uint64_t i = 0; i < g->count; i++) {
		struct lc__salvage_record *r = &g->first[i];

		if (r->location == location &&
		    (best == NULL || use_of(s, r) > use_of(s, best)))
			best = r;
	}
	return best != NULL && use_of(s, best) != LC__USE_FREED ? best : NULL;
}

/* The last record of a key; with @p old, including those of old commits. */
static struct lc__salvage_record *
last_record(const struct lc__salvage *s, const struct group *g, bool old)
{
	for (uint64_t i = g->count; i-- > 0;)
		if (old || use_of(s, &g->first[i]) != LC__USE_FREED)
			return &g->first[i];
	return NULL;
}

/* A record that no run names, of a key that a missing run may have had: that run may have
 * named it, if the record is later than those named by others. */
static struct lc__salvage_record *
find_doubtful(const struct lc__salvage *s, const struct group *g)
{
	struct lc__salvage_record *last = last_record(s, g, false);

	if (last == NULL || last->named || g->first->newest_run >= s->gap ||
	    (g->first->newest_run > 0 &&
		last->location <= s->reach[g->first->newest_run]))
		return NULL;
	return last;
}

/* The record of a key to take, NULL for none. */
static struct lc__salvage_record *
choose(const struct lc__salvage *s, const struct group *g, bool stale)
{
	const bool has_entry = g->first->newest_run > 0;
	const bool deleted = has_entry && g->first->newest == LC__TOMBSTONE;
	struct lc__salvage_record *found = find_doubtful(s, g);

	if (found == NULL && has_entry && !deleted)
		found = record_at(s, g, g->first->newest);
	if (found != NULL) {
		found->doubted = g->first->newest_run < s->gap;
		return found;
	}
	/* A key whose newest entry is a deletion stays deleted. */
	if (!stale || deleted)
		return NULL;
	found = last_record(s, g, true);
	found->old = true;
	return found;
}

static void
decide_all(struct lc__salvage *s, bool stale, lc_salvage_result *out)
{
	uint64_t certain = 0, lost = 0;

	for (uint64_t i = 0; i < s->nrecords;) {
		struct group g = { &s->records[i], 0 };
		struct lc__salvage_record *taken;
		bool versions = false, named;

		while (i + g.count < s->nrecords &&
		    memcmp(g.first->hash, g.first[g.count].hash, sizeof(g.first->hash)) ==
			0)
			g.count++;
		for (uint64_t k = 1; k < g.count; k++)
			versions |= g.first[k].location != g.first->location ||
			    g.first[k].size != g.first->size;
		out->versions += versions;
		taken = choose(s, &g, stale);
		if (taken != NULL) {
			taken->taken = true;
			out->records++;
			out->undecided += taken->doubted;
			out->stale += taken->old;
			certain += !taken->old;
		} else if (g.first->newest != LC__TOMBSTONE) {
			out->left++;
		}
		/* The newest record of a key is lost if it is named and not found. */
		named = g.first->newest_run > 0 && g.first->newest != LC__TOMBSTONE;
		lost += named && record_at(s, &g, g.first->newest) == NULL &&
		    (taken == NULL || taken->old);
		i += g.count;
	}
	/* If the index is complete, the state tells the number of records. */
	out->lost = lost;
	if (s->gap == 0)
		out->lost = s->state.live > certain ? s->state.live - certain : 0;
}

lc_status
lc__salvage_decide(struct lc__salvage *s, bool stale, lc_salvage_result *out)
{
	if (s->nrecords > 0)
		qsort(s->records, s->nrecords, sizeof(*s->records), by_hash);
	if (s->nruns > 0)
		qsort(s->runs, s->nruns, sizeof(*s->runs), by_id);
	s->reach = calloc(s->state.nruns + s->nruns + 2, sizeof(*s->reach));
	if (s->reach == NULL)
		return lc__no_memory("salvage");
	if (s->state_found)
		return_if_error(read_listed(s));
	return_if_error(read_unlisted(s));
	decide_all(s, stale, out);
	for (uint64_t i = 0; i < s->nchunks; i++) {
		const struct lc__salvage_chunk *chunk = &s->chunks[i];

		if (chunk->use == LC__USE_FREED || chunk->damaged == 0)
			continue;
		out->damaged += chunk->damaged;
		lc__progress_damage(s->progress,
		    "chunk %llu on page %llu: %llu damaged records",
		    (unsigned long long)chunk->id, (unsigned long long)chunk->page,
		    (unsigned long long)chunk->damaged);
	}
	out->uncertain = s->gap != 0;
	for (uint64_t i = 0; i < s->inputs.count; i++)
		if (s->inputs.row[i].use != LC__USE_FREED)
			out->inputs = s->inputs.row[i].number;
	return LC_OK;
}
