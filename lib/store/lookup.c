/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/lookup.h"

#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "index/run_build.h"
#include "index/run.h"
#include "store/module.h"

/* ---- by number ----------------------------------------------------------- */

lc_status
lc__chunk_row(struct lc__txn *txn, uint64_t id, uint64_t *first, struct lc__slice *out)
{
	const lc_status status = lc__txn_seek_back(txn, LC__CHUNK, id, first, out);

	if (status == LC_END || (status == LC_OK && *first < id - id % LC__FOLD_BLOCK))
		return LC_NOT_FOUND;
	return status;
}

/* The bytes of a chunk, which may be a part of its row. */
static lc_status
find_chunk(struct lc__txn *txn, uint64_t id, struct lc__slice *out)
{
	struct lc__folded chunk;
	uint64_t first;

	return_if_error(lc__chunk_row(txn, id, &first, out));
	if (!lc__is_folded(out->data, out->size))
		return first == id ? LC_OK : LC_NOT_FOUND;
	if (!lc__folded_find(out->data, out->size, id, &chunk))
		return LC_NOT_FOUND;
	*out = (struct lc__slice){ out->data + chunk.at, (size_t)chunk.size };
	return LC_OK;
}

/* Find a chunk in its table, and remember its address in @p slot. */
static __attribute__((noinline)) lc_status
load_chunk(struct lc__snapshot *s, uint64_t id, struct lc__chunk_slot *slot,
    struct lc__mapped_chunk *out)
{
	struct lc__slice value;
	struct lc__chunk chunk;
	lc_status status;

	slot->chunk.id = 0;
	slot->read = false;
	status = find_chunk(s->txn, id, &value);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: chunk %llu is missing",
		    lc__env_dir(s->env), (unsigned long long)id);
	return_if_error(status);
	if (!lc__chunk_parse(value.data, value.size, id, &chunk))
		return lc__error(LC_CORRUPT, 0, "%s: the header of chunk %llu is damaged",
		    lc__env_dir(s->env), (unsigned long long)id);
	s->remembers = true;
	slot->chunk = (struct lc__mapped_chunk){
		.id = id,
		.bytes = value.data,
		.size = value.size,
		.end = LC__CHUNK_HEADER + chunk.bytes,
		.records = chunk.records,
	};
	*out = slot->chunk;
	return LC_OK;
}

/* Every read calls this and lc__snapshot_schema(), so both are short; rare cases are in
 * separate functions. */
lc_status
lc__snapshot_chunk(struct lc__snapshot *s, uint64_t id, struct lc__mapped_chunk *out)
{
	struct lc__chunk_slot *slot = &s->chunks[id % LC__CHUNK_SLOTS];

	if (slot->chunk.id != id || id == 0)
		return load_chunk(s, id, slot, out);
	*out = slot->chunk;
	return LC_OK;
}

void
lc__snapshot_forget_chunk(struct lc__snapshot *s, uint64_t id)
{
	s->chunks[id % LC__CHUNK_SLOTS].chunk.id = 0;
}

static __attribute__((noinline)) lc_status
load_schema(struct lc__snapshot *s, uint32_t id, struct lc__known **out)
{
	const size_t had = s->schemas_room;
	struct lc__slice row;

	/* Ids are dense, so a damaged one must not cause a large allocation. */
	if (id >= s->state.next_schema ||
	    lc__txn_get(s->txn, LC__SCHEMA, id, &row) != LC_OK)
		return lc__error(LC_CORRUPT, 0, "%s: schema %u is missing",
		    lc__env_dir(s->env), id);
	return_if_error(
	    lc__array_reserve(&s->schemas, &s->schemas_room, (size_t)id + 1, NULL));
	memset(s->schemas + had, 0, (s->schemas_room - had) * sizeof(*s->schemas));
	if (lc__schemas_row(lc__module_of(s->env)->schemas, id, row.data, row.size,
		&s->schemas[id]) != LC_OK)
		return lc__error_prefix("%s: schema %u", lc__env_dir(s->env), id);
	*out = s->schemas[id];
	return LC_OK;
}

lc_status
lc__snapshot_schema(struct lc__snapshot *s, uint32_t id, struct lc__known **out)
{
	if (id >= s->schemas_room || s->schemas[id] == NULL)
		return load_schema(s, id, out);
	*out = s->schemas[id];
	return LC_OK;
}

lc_status
lc__snapshot_record(struct lc__snapshot *s, uint64_t location, struct lc__record *out)
{
	const uint64_t id = lc__location_chunk(location);
	const uint64_t offset = lc__location_offset(location);
	struct lc__mapped_chunk chunk;

	return_if_error(lc__snapshot_chunk(s, id, &chunk));
	if (offset >= chunk.end ||
	    !lc__record_parse(chunk.bytes + offset, chunk.end - offset, out))
		return lc__error(LC_CORRUPT, 0,
		    "%s: no record at byte %llu of chunk %llu", lc__env_dir(s->env),
		    (unsigned long long)offset, (unsigned long long)id);
	return LC_OK;
}

struct lc__once_seen
lc__snapshot_seen(struct lc__snapshot *s, uint64_t location)
{
	struct lc__mapped_chunk chunk;

	if (lc__snapshot_chunk(s, lc__location_chunk(location), &chunk) != LC_OK)
		return (struct lc__once_seen){ .once = NULL };
	return lc__seen_of(lc__module_of(s->env)->once, s, &chunk);
}

struct lc__verified
lc__record_verified(const struct lc__once_seen *seen, const struct lc__record *record)
{
	struct lc__verified verified;
	const void *last;
	uint64_t sum;

	verified.all = lc__record_last_sum(record, &last, &sum);
	verified.head = lc__seen_before(seen, last, sum);
	verified.all &= verified.head;
	return verified;
}

lc_status
lc__snapshot_directory(struct lc__snapshot *snapshot,
    const struct lc__mapped_chunk *mapped, struct lc__directory *out)
{
	struct lc__directory directory;
	struct lc__chunk chunk;

	if (!lc__chunk_parse(mapped->bytes, mapped->size, mapped->id, &chunk) ||
	    !lc__directory_parse(mapped->bytes, mapped->size, &chunk, &directory))
		return lc__error(LC_CORRUPT, 0,
		    "%s: the directory of chunk %llu is damaged",
		    lc__env_dir(snapshot->env), (unsigned long long)mapped->id);
	*out = directory;
	return LC_OK;
}

/* ---- by cache_id --------------------------------------------------------- */

void
lc__lookup_start(struct lc__lookup *lookup, struct lc__env *env, const void *id,
    size_t id_size)
{
	lookup->id.data = id;
	lookup->id.size = id_size;
	lookup->hash = lc__run_hash(lc__env_seed(env), id, id_size);
	lookup->guess = 0;
	lookup->reads = false;
	lookup->once = NULL;
	lookup->fetched = UINT64_MAX;
	lookup->verified = (struct lc__verified){ false, false };
}

void
lc__index_prefetch(const struct lc__snapshot *s, const struct lc__lookup *lookup)
{
	for (uint32_t i = s->state.nruns; i-- > 0;)
		__builtin_prefetch(lc__run_bucket(&s->runs[i], lookup->hash));
	/* A function that only prefetches has no effect for gcc, which then omits calls. */
	__asm__ volatile("");
}

static bool
same_id(const lc_id *a, const void *b, size_t b_size)
{
	return a->size == b_size && memcmp(a->data, b, b_size) == 0;
}

static lc_status
damaged_run(const struct lc__snapshot *s, const struct lc__lookup *lookup, uint64_t run)
{
	return lc__error(LC_CORRUPT, 0, "%s: key %s: index run %llu is damaged",
	    lc__env_dir(s->env), lc__quote_id(lookup->id.data, lookup->id.size),
	    (unsigned long long)run);
}

/* A slot of the index led to another cache_id. If the hash of that one fits the slot it
 * is a collision of fingerprints, else damage. */
static lc_status
check_collision(const struct lc__snapshot *s, const struct lc__lookup *lookup,
    const void *id, size_t id_size)
{
	const uint64_t hash = lc__run_hash(lc__env_seed(s->env), id, id_size);

	if ((uint32_t)hash == (uint32_t)lookup->hash)
		return LC_NOT_FOUND;
	return lc__error(LC_CORRUPT, 0, "%s: key %s: the index leads to key %s",
	    lc__env_dir(s->env), lc__quote_id(lookup->id.data, lookup->id.size),
	    lc__quote_id(id, id_size));
}

/* A slot of the index led to a location without the cache_id; @p failure tells what is
 * there. The slot may belong to another cache_id whose record was replaced later: then
 * its location may hold anything. The sorted entries of the run decide. */
static lc_status
check_listed(const struct lc__snapshot *s, const struct lc__lookup *lookup,
    const struct lc__run *run, uint64_t location, const lc_error *failure)
{
	struct lc__run_cursor cursor;

	if (!lc__run_seek(&cursor, run, lookup->id.data, lookup->id.size))
		return cursor.damaged ? damaged_run(s, lookup, run->id) : LC_NOT_FOUND;
	if (!same_id(&lookup->id, cursor.entry.id, cursor.entry.id_size))
		return LC_NOT_FOUND;
	if (cursor.entry.location == location)
		return lc__error_raise(failure);
	return lc__run_has(run, lookup->hash, cursor.entry.location)
	    ? LC_NOT_FOUND
	    : damaged_run(s, lookup, run->id);
}

/* The record at a location has another cache_id. */
static lc_status
check_stranger(const struct lc__snapshot *s, const struct lc__lookup *lookup,
    const struct lc__run *run, uint64_t location)
{
	const lc_id *id = &lookup->record.id;
	lc_error failure;

	if (check_collision(s, lookup, id->data, id->size) == LC_NOT_FOUND)
		return LC_NOT_FOUND;
	failure = *lc_last_error();
	return check_listed(s, lookup, run, location, &failure);
}

/* There is no readable record at the location. */
static lc_status
check_nothing(const struct lc__snapshot *s, const struct lc__lookup *lookup,
    const struct lc__run *run, uint64_t location)
{
	lc_error failure;

	(void)lc__error_prefix("key %s", lc__quote_id(lookup->id.data, lookup->id.size));
	failure = *lc_last_error();
	return check_listed(s, lookup, run, location, &failure);
}

/* Waiting for a record's memory takes longer than hashing it: prefetch this many bytes
 * before its length is known. More would usually be wasted. */
#define FETCHED_AHEAD 2176

static void
fetch_record(struct lc__snapshot *s, uint64_t location)
{
	struct lc__mapped_chunk chunk;
	uint64_t offset = lc__location_offset(location);

	if (lc__snapshot_chunk(s, lc__location_chunk(location), &chunk) != LC_OK)
		return;
	for (const uint64_t end = offset + FETCHED_AHEAD;
	     offset < end && offset < chunk.end; offset += 64)
		__builtin_prefetch(chunk.bytes + offset);
}

void
lc__lookup_fetch_seen(const struct lc__snapshot *snapshot, struct lc__lookup *lookup,
    const struct lc__mapped_chunk *chunk)
{
	lookup->seen = lc__seen_of(lookup->once, snapshot, chunk);
	lookup->fetched = lookup->location;
	lc__seen_fetch(&lookup->seen,
	    chunk->bytes + lc__location_offset(lookup->location));
}

static void
fetch_seen(struct lc__snapshot *s, struct lc__lookup *lookup)
{
	struct lc__mapped_chunk chunk;

	if (lookup->fetched != lookup->location &&
	    lc__snapshot_chunk(s, lc__location_chunk(lookup->location), &chunk) == LC_OK)
		lc__lookup_fetch_seen(s, lookup, &chunk);
}

/* Does lookup->location, which a probe found, have the cache_id? LC_NOT_FOUND: it has
 * another one with the same fingerprint. */
static lc_status
compare(struct lc__snapshot *s, struct lc__lookup *lookup, const struct lc__run *run)
{
	const uint64_t location = lookup->location;
	struct lc__run_entry entry;

	if (location & LC__TOMBSTONE) {
		if (!lc__run_tombstone(run, location, &entry))
			return damaged_run(s, lookup, run->id);
		if (same_id(&lookup->id, entry.id, entry.id_size))
			return LC_OK;
		return check_collision(s, lookup, entry.id, entry.id_size);
	}
	if (lookup->reads)
		fetch_record(s, location);
	if (lookup->once != NULL)
		fetch_seen(s, lookup);
	if (lc__snapshot_record(s, location, &lookup->record) != LC_OK)
		return check_nothing(s, lookup, run, location);
	if (same_id(&lookup->id, lookup->record.id.data, lookup->record.id.size)) {
		if (lookup->once != NULL)
			lookup->verified = lc__record_verified(&lookup->seen,
			    &lookup->record);
		return LC_OK;
	}
	return check_stranger(s, lookup, run, location);
}

static lc_status
find_in_run(struct lc__snapshot *s, struct lc__lookup *lookup, const struct lc__run *run,
    lc_verify_mode verify)
{
	struct lc__run_probe probe;
	enum lc__run_found found;
	lc_status status;

	lc__run_probe_start(&probe, run, lookup->hash, verify);
	while ((found = lc__run_probe_next(&probe, &lookup->location)) == LC__RUN_MATCH) {
		status = compare(s, lookup, run);
		if (status != LC_NOT_FOUND)
			return status;
	}
	if (found == LC__RUN_DAMAGED)
		return damaged_run(s, lookup, run->id);
	return LC_NOT_FOUND;
}

lc_status
lc__index_find(struct lc__snapshot *s, struct lc__lookup *lookup, lc_verify_mode verify)
{
	lc_status status = LC_NOT_FOUND;

	/* Nearly every guess is right. After a collision, search from the beginning. */
	if (lookup->guess > 0)
		status = compare(s, lookup, &s->runs[lookup->guess - 1]);
	if (status == LC_NOT_FOUND) {
		lc__index_prefetch(s, lookup);
		if (verify == LC_VERIFY_ONCE)
			lc__snapshot_lend_intact(s);
		for (uint32_t i = s->state.nruns; i-- > 0 && status == LC_NOT_FOUND;)
			status = find_in_run(s, lookup, &s->runs[i], verify);
	}
	if (status == LC_OK && (lookup->location & LC__TOMBSTONE))
		return LC_NOT_FOUND;
	return status;
}

lc_status
lc__index_guess(struct lc__snapshot *s, struct lc__lookup *lookup, lc_verify_mode verify)
{
	struct lc__run_probe probe;
	enum lc__run_found found;

	if (verify == LC_VERIFY_ONCE)
		lc__snapshot_lend_intact(s);
	for (uint32_t i = s->state.nruns; i-- > 0;) {
		lc__run_probe_start(&probe, &s->runs[i], lookup->hash, verify);
		found = lc__run_probe_next(&probe, &lookup->location);
		if (found == LC__RUN_DAMAGED)
			return damaged_run(s, lookup, s->runs[i].id);
		if (found == LC__RUN_MATCH) {
			lookup->guess = i + 1;
			return LC_OK;
		}
	}
	return LC_NOT_FOUND;
}

/* ---- reverse look-ups ------------------------------------------------------------ */

const char *
lc__index_key_at(struct lc__snapshot *snapshot, uint64_t chunk, uint64_t offset)
{
	struct lc__run_merge *merge = lc__run_merge_open(snapshot->runs,
	    snapshot->state.nruns, NULL, 0);
	const char *name = NULL;
	struct lc__run_entry entry;
	lc_status status;

	while (merge != NULL && name == NULL &&
	    (status = lc__run_merge_next(merge, &entry)) != LC_END)
		if (status == LC_OK && !(entry.location & LC__TOMBSTONE) &&
		    lc__location_chunk(entry.location) == chunk &&
		    lc__location_offset(entry.location) == offset)
			name = lc__quote_id(entry.id, entry.id_size);
	lc__run_merge_close(merge);
	return name;
}
