/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/commit.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/lookup.h"
#include "store/merge.h"
#include "index/run_build.h"

/* Keys looked up together, so that their cache misses overlap. */
#define LOOKUP_GROUP 16

/* One put or delete that is worth storing. */
struct item {
	uint64_t prefix;   /* first 8 bytes of the cache_id, big-endian: sorts */
	lc_id id;
	uint64_t hash;
	uint64_t location; /* in the new chunk, or LC__TOMBSTONE */
	const unsigned char *bytes; /* the pending record */
	size_t size;       /* of it */
	uint32_t schema;   /* position in pending->schemas */
	bool skip;         /* a delete of something that is not there */
};

/* A record of an older chunk that this commit makes dead. */
struct replaced {
	uint64_t chunk;
	uint64_t bytes;
};

/* A commit under way. */
struct commit {
	struct lc__snapshot snapshot; /* of the write transaction */
	const struct lc__pending *pending;
	struct item *items;    /* in put order, later by cache_id */
	uint32_t count;
	struct replaced *replaced;
	uint32_t nreplaced;
	uint32_t *schema_ids;  /* of pending->schemas in the module */
	struct lc__ledger_row row; /* of the new chunk */
};

/* ---- collecting ----------------------------------------------------------- */

static uint64_t
sort_prefix(const lc_id *id)
{
	uint64_t prefix = 0;

	memcpy(&prefix, id->data, id->size < 8 ? id->size : 8);
	return be64toh(prefix);
}

static lc_status
collect(struct commit *c)
{
	const struct lc__pending *pending = c->pending;
	struct lc__record record;

	c->items = calloc(pending->count, sizeof(*c->items));
	c->replaced = calloc(pending->count, sizeof(*c->replaced));
	c->schema_ids = calloc(pending->nschemas + 1, sizeof(*c->schema_ids));
	if (c->items == NULL || c->replaced == NULL || c->schema_ids == NULL)
		return lc__error(LC_NO_MEMORY, 0, "commit: out of memory");
	for (uint32_t i = 0; i < pending->count; i++) {
		const struct lc__pending_entry *entry = &pending->entries[i];
		struct item *item = &c->items[c->count];

		if (entry->dead)
			continue;
		lc__pending_record(pending, entry, &record);
		item->id = record.id;
		item->prefix = sort_prefix(&record.id);
		item->hash = entry->hash;
		item->location = entry->deletes ? LC__TOMBSTONE : 0;
		item->bytes = lc__record_start(&record);
		item->size = record.size;
		item->schema = entry->schema;
		c->count++;
	}
	return LC_OK;
}

/* Look up what stands under an item's cache_id and note that it will be dead. */
static lc_status
find_replaced(struct commit *c, struct item *item)
{
	struct lc__lookup lookup = {
		.id = item->id, .hash = item->hash, .location = LC__TOMBSTONE
	};
	lc_status status = lc__index_find(&c->snapshot, &lookup, true);
	struct replaced *old = &c->replaced[c->nreplaced];

	/* A damaged record may be replaced, which is its cure; its size is lost. */
	if (status == LC_CORRUPT && !(lookup.location & LC__TOMBSTONE)) {
		old->chunk = lc__location_chunk(lookup.location);
		c->nreplaced++;
	} else if (status == LC_OK) {
		old->chunk = lc__location_chunk(lookup.location);
		old->bytes = lookup.record.size;
		c->nreplaced++;
	} else if (status == LC_NOT_FOUND) {
		item->skip = item->location == LC__TOMBSTONE;
	} else if (status != LC_CORRUPT) {
		return status;
	}
	return LC_OK;
}

static lc_status
find_all_replaced(struct commit *c)
{
	for (uint32_t i = 0; i < c->count; i += LOOKUP_GROUP) {
		const uint32_t end = c->count - i < LOOKUP_GROUP ? c->count :
		    i + LOOKUP_GROUP;

		for (uint32_t j = i; j < end; j++) {
			const struct lc__lookup lookup = { .hash = c->items[j].hash };
			lc__index_prefetch(&c->snapshot, &lookup);
		}
		for (uint32_t j = i; j < end; j++)
			return_if_error(find_replaced(c, &c->items[j]));
	}
	return LC_OK;
}

/* ---- schemas -------------------------------------------------------------- */

static lc_status
add_schema(struct commit *c, const struct lc__schema *schema, uint32_t *out)
{
	struct lc__buf bytes = { 0 };
	lc_status status;

	lc__schema_encode(schema, &bytes);
	if (bytes.failed)
		return lc__error(LC_NO_MEMORY, 0, "commit: out of memory");
	*out = c->snapshot.state.next_schema++;
	status = lc__txn_put(c->snapshot.txn, LC__SCHEMA, *out, bytes.data,
	    bytes.size);
	lc__buf_free(&bytes);
	return status;
}

static lc_status
intern_schema(struct commit *c, const struct lc__schema *schema, uint32_t *out)
{
	const struct lc__schema *known;

	for (uint32_t id = 0; id < c->snapshot.state.next_schema; id++) {
		return_if_error(lc__snapshot_schema(&c->snapshot, id, &known));
		if (known->dtype == schema->dtype && known->ndim == schema->ndim) {
			*out = id;
			return LC_OK;
		}
	}
	return add_schema(c, schema, out);
}

/* ---- the chunk ------------------------------------------------------------ */

static void
count_records(struct commit *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		if (c->items[i].location & LC__TOMBSTONE)
			continue;
		c->row.records++;
		c->row.bytes += c->items[i].size;
	}
	c->row.live = c->row.records;
	c->row.live_bytes = c->row.bytes;
}

/* Copy the records into the chunk, sealing those that put could not. */
static lc_status
fill_chunk(struct commit *c, unsigned char *chunk, uint64_t id)
{
	unsigned char *p = chunk + LC__CHUNK_HEADER;
	uint64_t hash = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		struct item *item = &c->items[i];

		if (item->location & LC__TOMBSTONE)
			continue;
		memcpy(p, item->bytes, item->size);
		if (c->pending->schemas[item->schema].id !=
		    c->schema_ids[item->schema])
			lc__record_seal(p, item->size,
			    c->schema_ids[item->schema]);
		hash = lc__hash64_seed(p, 8, hash);
		item->location = lc__location(id,
		    (uint64_t)(p - chunk - LC__CHUNK_HEADER) / LC__RECORD_ALIGN);
		p += item->size;
	}
	c->row.hash = hash;
	return LC_OK;
}

static lc_status
write_chunk(struct commit *c)
{
	struct lc__state *state = &c->snapshot.state;
	const uint64_t size = lc__chunk_size(c->row.bytes,
	    lc__env_page_size(c->snapshot.env));
	const struct lc__chunk chunk = {
		.id = state->next_chunk, .records = c->row.records,
		.bytes = c->row.bytes
	};
	unsigned char *bytes;

	if (chunk.id > LC__CHUNK_ID_MAX)
		return lc__error(LC_UNSUPPORTED, 0, "commit: no chunk ids left");
	return_if_error(lc__txn_append(c->snapshot.txn, LC__CHUNK, chunk.id,
	    size, &bytes));
	lc__chunk_encode(bytes, &chunk);
	return_if_error(fill_chunk(c, bytes, chunk.id));
	memset(bytes + LC__CHUNK_HEADER + chunk.bytes, 0,
	    size - LC__CHUNK_HEADER - chunk.bytes);
	state->next_chunk++;
	state->records += c->row.records;
	state->live += c->row.records;
	state->bytes += c->row.bytes;
	state->live_bytes += c->row.bytes;
	return LC_OK;
}

/* ---- the index run -------------------------------------------------------- */

static int
by_id(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	return lc__id_compare(x->id.data, x->id.size, y->id.data, y->id.size);
}

static void
drop_skipped(struct commit *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->count; i++)
		if (!c->items[i].skip)
			c->items[kept++] = c->items[i];
	c->count = kept;
}

static lc_status
store_run(struct commit *c, const struct lc__run_builder *builder)
{
	struct lc__state *state = &c->snapshot.state;
	const struct lc__run_row row = {
		.id = state->next_run++, .entries = builder->entries,
		.bytes = builder->used, .level = 0
	};
	unsigned char *bytes;

	return_if_error(lc__txn_append(c->snapshot.txn, LC__INDEX, row.id,
	    row.bytes, &bytes));
	memcpy(bytes, builder->bytes, row.bytes);
	if (!lc__state_push_run(state, &row))
		return lc__error(LC_NO_MEMORY, 0, "commit: out of memory");
	return LC_OK;
}

static lc_status
write_run(struct commit *c)
{
	struct lc__run_builder builder;
	uint64_t id_bytes = 0;
	lc_status status;

	qsort(c->items, c->count, sizeof(*c->items), by_id);
	for (uint32_t i = 0; i < c->count; i++)
		id_bytes += c->items[i].id.size;
	return_if_error(lc__run_build_start(&builder,
	    lc__env_seed(c->snapshot.env), c->count, id_bytes));
	for (uint32_t i = 0; i < c->count; i++)
		lc__run_build_add(&builder, c->items[i].hash,
		    c->items[i].location, c->items[i].id.data,
		    c->items[i].id.size);
	lc__run_build_finish(&builder, c->snapshot.state.next_run, 0);
	status = store_run(c, &builder);
	lc__run_build_free(&builder);
	if (status == LC_OK)
		status = lc__merge_runs(&c->snapshot);
	return status;
}

/* ---- the ledger ----------------------------------------------------------- */

static int
by_chunk(const void *a, const void *b)
{
	const struct replaced *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

static lc_status
put_ledger_row(struct commit *c, uint64_t chunk,
    const struct lc__ledger_row *row)
{
	unsigned char bytes[LC__LEDGER_ROW];

	lc__ledger_encode(row, bytes);
	return lc__txn_put(c->snapshot.txn, LC__LEDGER, chunk, bytes,
	    sizeof(bytes));
}

static uint64_t
less(uint64_t count, uint64_t n)
{
	return count < n ? 0 : count - n;
}

/* Take n records of some bytes off the live ones of an older chunk. A damaged
 * ledger row stays as it is: verify tells of it, the commit goes on. */
static lc_status
bury(struct commit *c, uint64_t chunk, uint64_t n, uint64_t bytes)
{
	struct lc__state *state = &c->snapshot.state;
	struct lc__ledger_row row;
	struct lc__slice value;

	state->live = less(state->live, n);
	state->live_bytes = less(state->live_bytes, bytes);
	if (lc__txn_get(c->snapshot.txn, LC__LEDGER, chunk, &value) != LC_OK ||
	    !lc__ledger_decode(value.data, value.size, &row))
		return LC_OK;
	row.live = less(row.live, n);
	row.live_bytes = less(row.live_bytes, bytes);
	return put_ledger_row(c, chunk, &row);
}

static lc_status
write_ledger(struct commit *c, uint64_t chunk)
{
	c->row.ordinal = chunk;
	c->row.time_ms = lc__clock_wall_ms();
	if (c->row.records > 0)
		return_if_error(put_ledger_row(c, chunk, &c->row));
	qsort(c->replaced, c->nreplaced, sizeof(*c->replaced), by_chunk);
	for (uint32_t i = 0, n; i < c->nreplaced; i += n) {
		uint64_t bytes = 0;

		for (n = 0; i + n < c->nreplaced &&
		    c->replaced[i + n].chunk == c->replaced[i].chunk; n++)
			bytes += c->replaced[i + n].bytes;
		return_if_error(bury(c, c->replaced[i].chunk, n, bytes));
	}
	return LC_OK;
}

/* ---- the commit ----------------------------------------------------------- */

static lc_status
write_state(struct commit *c)
{
	struct lc__buf row = { 0 };
	lc_status status;

	c->snapshot.state.generation++;
	if (!lc__state_encode(&c->snapshot.state, &row))
		status = lc__error(LC_NO_MEMORY, 0, "commit: out of memory");
	else
		status = lc__txn_put_meta(c->snapshot.txn, "state", row.data,
		    row.size);
	lc__buf_free(&row);
	return status;
}

/* All rows of a commit, in the order of their dependence. */
static lc_status
write_rows(struct commit *c)
{
	const uint64_t chunk = c->snapshot.state.next_chunk;

	return_if_error(collect(c));
	return_if_error(find_all_replaced(c));
	for (uint32_t i = 0; i < c->pending->nschemas; i++)
		return_if_error(intern_schema(c, &c->pending->schemas[i].schema,
		    &c->schema_ids[i]));
	drop_skipped(c);
	count_records(c);
	if (c->row.records > 0)
		return_if_error(write_chunk(c));
	if (c->count > 0)
		return_if_error(write_run(c));
	return_if_error(write_ledger(c, chunk));
	return write_state(c);
}

static lc_status
commit_once(struct lc__env *env, const struct lc__pending *pending,
    lc_durability durability)
{
	struct commit *c = calloc(1, sizeof(*c));
	lc_status status;

	if (c == NULL)
		return lc__error(LC_NO_MEMORY, 0, "commit: out of memory");
	c->pending = pending;
	c->snapshot.env = env;
	status = lc__txn_begin_write(env, durability, &c->snapshot.txn);
	if (status == LC_OK)
		status = lc__snapshot_load(&c->snapshot);
	if (status == LC_OK)
		status = write_rows(c);
	if (status == LC_OK) {
		status = lc__txn_commit(c->snapshot.txn);
		c->snapshot.txn = NULL;
	}
	for (uint32_t i = 0; i < pending->nschemas && status == LC_OK; i++)
		lc__env_learn_schema(env, &pending->schemas[i].schema,
		    c->schema_ids[i]);
	lc__txn_abort(c->snapshot.txn);
	lc__snapshot_free_parts(&c->snapshot);
	free(c->items);
	free(c->replaced);
	free(c->schema_ids);
	free(c);
	return status;
}

lc_status
lc__commit(struct lc__env *env, const struct lc__pending *pending,
    lc_durability durability)
{
	lc_status status = commit_once(env, pending, durability);

	while (status == LC_MAP_FULL) {
		return_if_error(lc__env_grow(env));
		status = commit_once(env, pending, durability);
	}
	return status;
}
