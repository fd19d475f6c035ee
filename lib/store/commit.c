/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/commit.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/cache.h"
#include "store/change.h"
#include "store/chunk_order.h"
#include "store/evict.h"
#include "store/fold.h"
#include "store/lookup.h"
#include "store/module.h"
#include "store/reclaim.h"
#include "store/record.h"

/* Keys that are looked up together, so that their cache misses overlap. */
#define LOOKUP_GROUP 16

/* A put or delete that was not replaced by a later one. */
struct item {
	const unsigned char *bytes;   /* the pending record */
	const struct lc__draft *rest; /* whole record, if bytes has only its head */
	size_t size;                  /* of the record */
	uint64_t length;              /* by the module's length field; 0 for a delete */
	uint32_t schema;              /* position in pending->schemas */
	bool skip;                    /* a delete of a key that does not exist */
};

/* A commit in progress. */
struct commit {
	struct lc__change *change;
	const struct lc__pending *pending;
	struct lc__input_step *step;   /* NULL for a handle's own writes */
	struct item *items;            /* in put order */
	struct lc__new_entry *entries; /* of the items; finally sorted by cache_id */
	uint32_t count;                /* number of items, and of entries */
	struct lc__dead *dead;         /* the records that the items replace */
	uint32_t ndead;
	uint32_t *schema_ids;       /* ids in the module of pending->schemas */
	lc_settings settings;       /* of the module */
	struct lc__measure measure; /* measures by settings.length_field */
	struct lc__ledger_row row;  /* of the new chunk */
	uint64_t chunk;             /* its id; 0 without a chunk */
	struct lc__counters counts; /* counters that this commit saves */
	struct lc__evicted evicted; /* what was evicted for the budget */
	uint32_t nreads;            /* number of reads that were recorded */
};

/* ---- collecting ----------------------------------------------------------- */

static void
collect(struct commit *c)
{
	const struct lc__pending *pending = c->pending;
	struct lc__record record;

	for (uint32_t i = 0; i < pending->count; i++) {
		const struct lc__pending_entry *entry = &pending->entries[i];
		struct item *item = &c->items[c->count];

		if (entry->dead)
			continue;
		lc__pending_record(pending, entry, &record);
		c->entries[c->count++] = (struct lc__new_entry){
			.prefix = lc__sort_prefix(&record.id),
			.id = record.id,
			.hash = entry->hash,
			.location = entry->deletes ? LC__TOMBSTONE : 0,
		};
		item->bytes = lc__record_start(&record);
		item->rest = lc__pending_rest(pending, entry);
		item->size = record.size;
		item->schema = entry->schema;
		item->length = entry->deletes
		    ? 0
		    : lc__measure(&c->measure, &record,
			  pending->schemas[entry->schema].known->schema);
		item->skip = false;
	}
}

/* Record that a record dies. Its length counts as 0 if its structure cannot be read: the
 * ledger's sum is then wrong by that. */
static lc_status
note_dead(struct commit *c, const struct lc__lookup *found)
{
	struct lc__dead *old = &c->dead[c->ndead++];
	struct lc__known *known;
	lc_status status;

	old->chunk = lc__location_chunk(found->location);
	old->bytes = found->record.size;
	old->checksum = lc__record_checksum(&found->record);
	old->length = 0;
	if (!lc__measures(&c->measure))
		return LC_OK;
	status = lc__snapshot_schema(&c->change->snapshot, found->record.schema, &known);
	if (status == LC_OK)
		old->length = lc__measure(&c->measure, &found->record, known->schema);
	return status == LC_CORRUPT ? LC_OK : status;
}

/* Find the record that an item replaces, and record that it dies. */
static lc_status
find_replaced(struct commit *c, uint32_t i)
{
	struct lc__lookup lookup = {
		.id = c->entries[i].id,
		.hash = c->entries[i].hash,
		.location = LC__TOMBSTONE,
	};
	const lc_status status = lc__index_find(&c->change->snapshot, &lookup,
	    LC_VERIFY_ALWAYS);

	if (c->step != NULL) {
		/* An input does not replace records. If the look-up failed, it is not
		 * certain that the key is new: refuse it too. */
		if (status != LC_OK)
			return status == LC_NOT_FOUND ? LC_OK : status;
		return lc__error(LC_EXISTS, 0, "%s: key %s is in the module already",
		    c->step->name, lc__quote_id(lookup.id.data, lookup.id.size));
	}
	/* Damage may be replaced: that repairs it. Its size and checksum cannot be read,
	 * so 0 bytes die; the location, which is unique, takes the place of the
	 * checksum. */
	if (status == LC_CORRUPT && !(lookup.location & LC__TOMBSTONE)) {
		c->dead[c->ndead++] = (struct lc__dead){
			.chunk = lc__location_chunk(lookup.location),
			.checksum = lookup.location,
		};
	} else if (status == LC_OK) {
		return note_dead(c, &lookup);
	} else if (status == LC_NOT_FOUND) {
		c->items[i].skip = c->entries[i].location == LC__TOMBSTONE;
	} else if (status != LC_CORRUPT) {
		return status;
	}
	return LC_OK;
}

static lc_status
find_all_replaced(struct commit *c)
{
	for (uint32_t i = 0; i < c->count; i += LOOKUP_GROUP) {
		const uint32_t end = c->count - i < LOOKUP_GROUP ? c->count
								 : i + LOOKUP_GROUP;

		for (uint32_t j = i; j < end; j++) {
			const struct lc__lookup lookup = {
				.hash = c->entries[j].hash,
			};
			lc__index_prefetch(&c->change->snapshot, &lookup);
		}
		for (uint32_t j = i; j < end; j++)
			return_if_error(find_replaced(c, j));
	}
	return LC_OK;
}

static void
drop_skipped(struct commit *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		if (c->items[i].skip)
			continue;
		c->items[kept] = c->items[i];
		c->entries[kept++] = c->entries[i];
	}
	c->count = kept;
}

/* ---- the chunk ------------------------------------------------------------ */

/* Copy a record into the chunk. Seal it if that was not possible before: its schema had
 * no id yet, or its tensors were still in the caller's memory. */
static void
copy_record(const struct commit *c, const struct item *item, unsigned char *out)
{
	const uint32_t sealed = c->pending->schemas[item->schema].id;

	if (item->rest != NULL)
		lc__record_encode(out, item->size, item->rest);
	else
		memcpy(out, item->bytes, item->size);
	if (item->rest != NULL || sealed != c->schema_ids[item->schema])
		lc__record_seal(out, c->schema_ids[item->schema]);
}

/* Copy the records into the chunk. */
static lc_status
fill_chunk(struct commit *c, uint64_t chunk, unsigned char *records)
{
	unsigned char *p = records;
	struct lc__record record;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct item *item = &c->items[i];

		if (c->entries[i].location & LC__TOMBSTONE)
			continue;
		copy_record(c, item, p);
		lc__ledger_hash(&c->row, p);
		(void)lc__record_parse(p, item->size, &record);
		return_if_error(lc__change_count(c->change, &record,
		    c->pending->schemas[item->schema].known->schema, 1));
		c->entries[i].location = lc__location(chunk,
		    (uint64_t)(p - records) / LC__RECORD_ALIGN);
		p += item->size;
	}
	return LC_OK;
}

static lc_status
add_chunk(struct commit *c, const struct lc__directory_build *directory)
{
	unsigned char *records;
	uint64_t chunk;

	return_if_error(
	    lc__change_add_chunk(c->change, &c->row, directory, &chunk, &records));
	return_if_error(fill_chunk(c, chunk, records));
	lc__ledger_name_records(&c->row);
	if (c->step != NULL) {
		c->row.source = (uint64_t)c->step->index + 1;
		c->row.ordinal = c->step->chunks;
	}
	c->chunk = chunk;
	c->row.time_ms = lc__clock_wall_ms();
	return lc__change_put_ledger(c->change, chunk, &c->row);
}

/* Count the records in the ledger row and the directory, then write the chunk. */
static lc_status
write_chunk(struct commit *c)
{
	struct lc__directory_build directory = {
		.has_lengths = lc__measures(&c->measure),
	};
	lc_status status = LC_OK;

	for (uint32_t i = 0; i < c->count; i++) {
		const struct item *item = &c->items[i];

		if (c->entries[i].location & LC__TOMBSTONE)
			continue;
		lc__ledger_count(&c->row, item->size, item->length);
		lc__directory_add(&directory, item->size, item->length);
	}
	if (c->row.records > 0)
		status = add_chunk(c, &directory);
	lc__directory_free(&directory);
	return status;
}

/* ---- the space of dead records -------------------------------------------- */

static lc_status
free_space(struct commit *c)
{
	const bool compacts = c->settings.auto_compact != 0;

	return_if_error(lc__change_bury(c->change, c->dead, c->ndead, compacts));
	return compacts ? lc__reclaim(c->change, c->dead, c->ndead) : LC_OK;
}

/* ---- the budget ----------------------------------------------------------- */

/* Record in the ledger which chunks were read since the last commit. */
static lc_status
note_reads(struct commit *c)
{
	struct lc__env *env = c->change->snapshot.env;
	struct lc__reads *reads = &lc__module_of(env)->reads;
	uint64_t *chunks = NULL;
	lc_status status;

	lc__env_lock(env);
	c->nreads = reads->count;
	if (c->nreads > 0)
		chunks = malloc(c->nreads * sizeof(*chunks));
	if (chunks != NULL)
		memcpy(chunks, reads->chunks, c->nreads * sizeof(*chunks));
	lc__env_unlock(env);
	if (c->nreads > 0 && chunks == NULL)
		return lc__no_memory("commit");
	status = lc__evict_note_reads(c->change, chunks, c->nreads, lc__clock_wall_ms());
	free(chunks);
	return status;
}

static lc_status
keep_budget(struct commit *c)
{
	if (c->settings.evict == LC_EVICT_UNREAD)
		return_if_error(note_reads(c));
	if (c->settings.max_bytes == 0)
		return LC_OK;
	return lc__evict(c->change, c->settings.max_bytes, c->settings.evict,
	    &c->evicted);
}

/* ---- the counters --------------------------------------------------------- */

/* Add to the stored counters what this process counted since its last commit, and this
 * commit. */
static lc_status
write_counts(struct commit *c)
{
	struct lc__counters sum;

	lc__counters_take(c->change->snapshot.env, &c->counts);
	sum = c->counts;
	sum.puts += c->row.records;
	sum.put_bytes += c->row.bytes;
	sum.deletes += c->count - c->row.records;
	sum.commits++;
	sum.evicted_records += c->evicted.records;
	sum.evicted_bytes += c->evicted.bytes;
	return lc__counters_store(c->change->snapshot.txn, &sum);
}

/* Give back the counters that the last attempt took, if there was one. */
static void
settle_counts(struct lc__env *env, struct commit *c, bool saved)
{
	lc__counters_settle(env, &c->counts, saved);
	memset(&c->counts, 0, sizeof(c->counts));
}

/* ---- the commit ----------------------------------------------------------- */

/* Write all rows of a commit, each after those that it depends on. */
static lc_status
write_rows(struct commit *c)
{
	struct lc__snapshot *s = &c->change->snapshot;
	const uint32_t stored = s->state.next_schema;

	return_if_error(c->step != NULL
		? lc__input_check(c->change, c->step)
		: lc__check_plain_now(&c->change->snapshot, "put"));
	return_if_error(lc__settings_load(s->env, s->txn, &c->settings));
	c->measure = (struct lc__measure){ .field = c->settings.length_field };
	collect(c);
	return_if_error(find_all_replaced(c));
	for (uint32_t i = 0; i < c->pending->nschemas; i++)
		return_if_error(lc__change_schema(c->change, c->pending->schemas[i].known,
		    stored, &c->schema_ids[i]));
	drop_skipped(c);
	return_if_error(write_chunk(c));
	if (c->count > 0)
		return_if_error(lc__change_add_run(c->change, c->entries, c->count));
	return_if_error(free_space(c));
	return_if_error(c->step != NULL
		? lc__input_advance(c->change, c->step, c->chunk, &c->row)
		: keep_budget(c));
	if (c->chunk != 0 && c->settings.auto_compact != 0)
		return_if_error(lc__fold(c->change, c->chunk));
	return write_counts(c);
}

static lc_status
write_change(struct lc__change *change, void *ctx)
{
	struct commit *c = ctx;

	settle_counts(change->snapshot.env, c, false);
	c->change = change;
	c->count = c->ndead = 0;
	c->chunk = 0;
	memset(&c->row, 0, sizeof(c->row));
	memset(&c->evicted, 0, sizeof(c->evicted));
	c->nreads = 0;
	return write_rows(c);
}

lc_status
lc__commit(struct lc__env *env, const struct lc__pending *pending,
    lc_durability durability, struct lc__input_step *step)
{
	const uint64_t started_ns = lc__clock_ns();
	struct commit c = { .pending = pending, .step = step };
	lc_status status;

	c.items = calloc(pending->count + 1, sizeof(*c.items));
	c.entries = calloc(pending->count + 1, sizeof(*c.entries));
	c.dead = calloc(pending->count + 1, sizeof(*c.dead));
	c.schema_ids = calloc(pending->nschemas + 1, sizeof(*c.schema_ids));
	if (c.items == NULL || c.entries == NULL || c.dead == NULL ||
	    c.schema_ids == NULL)
		status = lc__no_memory("commit");
	else
		status = lc__change_run(env, durability, write_change, &c);
	for (uint32_t i = 0; i < pending->nschemas && status == LC_OK; i++)
		lc__schemas_stored(lc__module_of(env)->schemas, pending->schemas[i].known,
		    c.schema_ids[i]);
	settle_counts(env, &c, status == LC_OK);
	if (status == LC_OK) {
		struct lc__module *module = lc__module_of(env);

		/* This commit has stored the counters: the next one stores how long it
		 * took. */
		lc__env_lock(env);
		lc__counters_duration(&module->counts, lc__clock_ns() - started_ns);
		lc__reads_forget_locked(&module->reads, c.nreads);
		lc__env_unlock(env);
	}
	free(c.items);
	free(c.entries);
	free(c.dead);
	free(c.schema_ids);
	return status;
}
