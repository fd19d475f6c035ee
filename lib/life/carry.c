/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/carry.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "index/run_build.h"
#include "store/fold.h"
#include "store/lookup.h"
#include "store/settings.h"

/* A commit has about this many times the chunk_bytes of the handle, unless a single chunk
 * is larger. */
#define COMMIT_CHUNKS 16
/* Keys that are looked up together, so that their cache misses overlap. */
#define LOOKUP_GROUP 16
/* Larger chunks are prefetched as a whole before they are read. */
#define AHEAD_BYTES ((uint64_t)64 << 10)

/* A chunk of the source that is intact. */
struct lc__carried {
	struct lc__placed_chunk place;
	const unsigned char *records; /* in the source's map */
	struct lc__ledger_row row;    /* for the target, without its hash */
	struct lc__directory_build directory;
};

/* The change of one input in a commit. */
struct lc__carried_input {
	uint32_t input;
	uint64_t before;          /* chunks that it has in the target */
	uint64_t chunks;          /* chunks that are added */
	uint64_t records, length; /* in these */
	bool finish;
	lc_id cursor; /* with finish */
};

/* ---- reading the source --------------------------------------------------- */

static lc_status
damaged(const struct lc__carry *c, const struct lc__placed_chunk *chunk, const char *what)
{
	return lc__error(LC_CORRUPT, 0, "merge: %s: chunk %llu of input %s: %s",
	    lc__env_dir(c->from->env), (unsigned long long)chunk->ordinal, c->input,
	    what);
}

static lc_status
read_record(struct lc__carry *c, struct lc__carried *carried,
    const struct lc__record *record)
{
	struct lc__known *theirs, *known;
	uint64_t length;

	return_if_error(lc__snapshot_schema(c->from, record->schema, &theirs));
	return_if_error(
	    lc__put_schema(c->to, record->schema, theirs->schema, &c->known, &known));
	if (!lc__record_fits(record, known->schema))
		return damaged(c, &carried->place, "a record's shape and size disagree");
	return_if_error(
	    lc__array_reserve(&c->entries, &c->entries_room, c->nentries + 1, "merge"));
	c->entries[c->nentries++] = (struct lc__new_entry){
		.prefix = lc__sort_prefix(&record->id),
		.id = record->id,
		.hash = lc__run_hash(lc__env_seed(c->to->env), record->id.data,
		    record->id.size),
	};
	length = lc__measure(&c->measure, record, known->schema);
	lc__ledger_count(&carried->row, record->size, length);
	lc__directory_add(&carried->directory, record->size, length);
	return LC_OK;
}

/* Read all records of a chunk, whose ledger row is @p theirs. */
static lc_status
read_records(struct lc__carry *c, struct lc__carried *carried,
    const struct lc__mapped_chunk *mapped, const struct lc__ledger_row *theirs)
{
	struct lc__ledger_row found = { 0 };
	struct lc__record record;

	for (uint64_t at = LC__CHUNK_HEADER; at < mapped->end; at += record.size) {
		if (!lc__record_parse(mapped->bytes + at, mapped->end - at, &record) ||
		    !lc__record_intact(&record))
			return damaged(c, &carried->place, "a record is damaged");
		lc__ledger_hash(&found, mapped->bytes + at);
		return_if_error(read_record(c, carried, &record));
	}
	if (found.hash != theirs->hash || carried->row.bytes != theirs->bytes ||
	    carried->row.records != carried->place.records ||
	    carried->row.length != carried->place.length)
		return damaged(c, &carried->place,
		    "its records differ from those that were committed");
	return LC_OK;
}

static lc_status
read_chunk(struct lc__carry *c, struct lc__carried *carried)
{
	const struct lc__placed_chunk *place = &carried->place;
	struct lc__mapped_chunk mapped;
	struct lc__ledger_row row;
	uint64_t id = 0;
	bool intact = false;
	lc_status status = lc__ledger_seek(c->from, place->chunk, &id, &row, &intact);

	if (status != LC_OK && status != LC_END)
		return status;
	if (status == LC_END || id != place->chunk || !intact ||
	    row.source != (uint64_t)place->input + 1 || row.ordinal != place->ordinal ||
	    row.live != row.records)
		return damaged(c, place, "its ledger row is missing or damaged");
	status = lc__snapshot_chunk(c->from, place->chunk, &mapped);
	if (status == LC_CORRUPT)
		return lc__error_prefix("merge: input %s", c->input);
	return_if_error(status);
	if (mapped.size > AHEAD_BYTES)
		lc__env_willneed(c->from->env, mapped.bytes, mapped.size);
	carried->records = mapped.bytes + LC__CHUNK_HEADER;
	carried->row.source = row.source;
	carried->row.ordinal = row.ordinal;
	carried->row.time_ms = row.time_ms;
	return read_records(c, carried, &mapped, &row);
}

/* ---- writing the target --------------------------------------------------- */

/* Assign ids to the structures; those that are new to the target are stored. */
static lc_status
number_schemas(struct lc__carry *c, struct lc__change *change)
{
	const uint32_t stored = change->snapshot.state.next_schema;

	return_if_error(lc__array_reserve(&c->ids, &c->ids_room, c->known.n, "merge"));
	for (size_t i = 0; i < c->known.n; i++)
		if (c->known.all[i] != NULL)
			return_if_error(lc__change_schema(change, c->known.all[i], stored,
			    &c->ids[i]));
	return LC_OK;
}

/* Get the input of a chunk of the target. */
static lc_status
input_of_chunk(struct lc__snapshot *s, uint64_t chunk, struct lc__input_row *out)
{
	struct lc__ledger_row row;
	uint64_t id = 0;
	bool intact = false;
	const lc_status status = lc__ledger_seek(s, chunk, &id, &row, &intact);

	if (status != LC_OK && status != LC_END)
		return status;
	if (status == LC_END || id != chunk || !intact || row.source == 0)
		return lc__error(LC_CORRUPT, 0,
		    "%s: the ledger row of chunk %llu is missing or damaged",
		    lc__env_dir(s->env), (unsigned long long)chunk);
	return lc__input_get(s, (uint32_t)(row.source - 1), out);
}

/* A key is in the chunks of two inputs, or twice in one input. */
static lc_status
key_twice(struct lc__snapshot *s, const lc_id *id, uint64_t a, uint64_t b)
{
	struct lc__input_row first, second;

	return_if_error(input_of_chunk(s, lc__location_chunk(a), &first));
	return_if_error(input_of_chunk(s, lc__location_chunk(b), &second));
	return lc__error(LC_EXISTS, 0,
	    "merge: key %.300s is in input %.*s and in input %.*s",
	    lc__quote_id(id->data, id->size), (int)first.name.size,
	    (const char *)first.name.data, (int)second.name.size,
	    (const char *)second.name.data);
}

/* Check that no key is in the index, which does not have the new entries yet. */
static lc_status
check_keys(struct lc__carry *c, struct lc__snapshot *s)
{
	for (size_t i = 0; i < c->nentries; i += LOOKUP_GROUP) {
		const size_t end = c->nentries - i < LOOKUP_GROUP ? c->nentries
								  : i + LOOKUP_GROUP;

		for (size_t j = i; j < end; j++)
			lc__index_prefetch(s,
			    &(struct lc__lookup){ .hash = c->entries[j].hash });
		for (size_t j = i; j < end; j++) {
			struct lc__lookup lookup = {
				.id = c->entries[j].id,
				.hash = c->entries[j].hash,
				.location = LC__TOMBSTONE,
			};
			const lc_status status = lc__index_find(s, &lookup,
			    LC_VERIFY_ALWAYS);

			if (status == LC_OK)
				return key_twice(s, &lookup.id, lookup.location,
				    c->entries[j].location);
			if (status != LC_NOT_FOUND)
				return status;
		}
	}
	return LC_OK;
}

/* The same among the new keys, once they are sorted. */
static lc_status
check_new_keys(const struct lc__carry *c, struct lc__snapshot *s)
{
	for (size_t i = 1; i < c->nentries; i++) {
		const struct lc__new_entry *a = &c->entries[i - 1], *b = &c->entries[i];

		if (a->prefix == b->prefix && a->id.size == b->id.size &&
		    memcmp(a->id.data, b->id.data, a->id.size) == 0)
			return key_twice(s, &a->id, a->location, b->location);
	}
	return LC_OK;
}

/* Copy the records of a chunk, renumber their structures for the target, and set the
 * locations of their entries. */
static lc_status
copy_records(struct lc__carry *c, struct lc__change *change, uint64_t chunk,
    const struct lc__carried *carried, struct lc__ledger_row *row, unsigned char *to,
    struct lc__new_entry *entries)
{
	uint64_t at = 0;

	memcpy(to, carried->records, row->bytes);
	for (uint64_t i = 0; i < row->records; i++) {
		struct lc__record record;
		uint32_t schema;

		(void)lc__record_parse(to + at, row->bytes - at, &record);
		schema = record.schema;
		if (c->ids[schema] != schema) {
			lc__record_seal(to + at, c->ids[schema]);
			record.schema = c->ids[schema];
		}
		lc__ledger_hash(row, to + at);
		return_if_error(
		    lc__change_count(change, &record, c->known.all[schema]->schema, 1));
		entries[i].location = lc__location(chunk, at / LC__RECORD_ALIGN);
		at += record.size;
	}
	return LC_OK;
}

static lc_status
write_chunk(struct lc__carry *c, struct lc__change *change,
    const struct lc__carried *carried, struct lc__new_entry *entries)
{
	struct lc__order_row order = {
		.input = carried->place.input,
		.ordinal = carried->place.ordinal,
		.records = carried->place.records,
		.length = carried->place.length,
		.digest = carried->place.digest,
	};
	struct lc__ledger_row row = carried->row;
	unsigned char *records;

	return_if_error(lc__change_add_chunk(change, &row, &carried->directory,
	    &order.chunk, &records));
	return_if_error(
	    copy_records(c, change, order.chunk, carried, &row, records, entries));
	return_if_error(lc__change_put_ledger(change, order.chunk, &row));
	return lc__order_wait(change, &order);
}

static lc_status
write_chunks(struct lc__carry *c, struct lc__change *change)
{
	struct lc__snapshot *s = &change->snapshot;
	lc_settings settings;
	size_t first = 0;

	return_if_error(lc__settings_load(s->env, s->txn, &settings));
	for (size_t i = 0; i < c->nchunks; i++) {
		return_if_error(
		    write_chunk(c, change, &c->chunks[i], c->entries + first));
		/* Its id is the newest. */
		if (settings.auto_compact != 0)
			return_if_error(lc__fold(change, s->state.next_chunk - 1));
		first += c->chunks[i].row.records;
	}
	return LC_OK;
}

static lc_status
write_input(struct lc__change *change, const struct lc__carried_input *in,
    struct lc__fill_row *fill)
{
	struct lc__input_row row;

	return_if_error(lc__input_get(&change->snapshot, in->input, &row));
	if (row.finished || row.chunks != in->before)
		return lc__error(LC_BUSY, 0, "%s: input %u was written meanwhile",
		    lc__env_dir(change->snapshot.env), in->input);
	row.chunks += in->chunks;
	row.records += in->records;
	row.length += in->length;
	row.finished = in->finish;
	row.merging = !in->finish;
	row.cursor = in->cursor;
	fill->committed += in->chunks;
	fill->finished += in->finish;
	return lc__input_put(change, in->input, &row);
}

static lc_status
write_inputs(const struct lc__carry *c, struct lc__change *change)
{
	struct lc__fill_row fill;

	return_if_error(lc__fill_get(&change->snapshot, &fill));
	for (size_t i = 0; i < c->ninputs; i++)
		return_if_error(write_input(change, &c->inputs[i], &fill));
	return_if_error(lc__order_publish(change, &fill));
	return lc__fill_put(change, &fill);
}

/* Restore the order of the records, after a run that failed when it had sorted them. */
static int
by_location(const void *a, const void *b)
{
	const struct lc__new_entry *x = a, *y = b;

	return (x->location > y->location) - (x->location < y->location);
}

/* The body of a change. */
static lc_status
write_all(struct lc__change *change, void *ctx)
{
	struct lc__carry *c = ctx;

	if (c->sorted)
		qsort(c->entries, c->nentries, sizeof(*c->entries), by_location);
	c->sorted = false;
	return_if_error(number_schemas(c, change));
	return_if_error(write_chunks(c, change));
	return_if_error(check_keys(c, &change->snapshot));
	return_if_error(write_inputs(c, change));
	c->sorted = c->nentries > 0;
	if (c->nentries == 0)
		return LC_OK;
	return_if_error(lc__change_add_run(change, c->entries, (uint32_t)c->nentries));
	return check_new_keys(c, &change->snapshot);
}

static void
clear(struct lc__carry *c)
{
	for (size_t i = 0; i < c->nchunks; i++)
		lc__directory_free(&c->chunks[i].directory);
	c->nchunks = c->ninputs = c->nentries = 0;
	c->sorted = false;
	c->pending = 0;
}

lc_status
lc__carry_commit(struct lc__carry *c)
{
	struct lc__env *env = c->to->env;
	lc_status status = LC_OK;

	if (c->ninputs > 0 && !c->reads_only)
		status = lc__change_run(env, c->to->options.durability, write_all, c);
	for (size_t i = 0; i < c->known.n && status == LC_OK && !c->reads_only; i++)
		if (c->known.all[i] != NULL)
			lc__schemas_stored(lc__module_of(env)->schemas, c->known.all[i],
			    c->ids[i]);
	clear(c);
	return status;
}

/* ---- adding ---------------------------------------------------------------- */

/* Get the change of the input in the next commit; *out is valid until the next call. */
static lc_status
get_input(struct lc__carry *c, uint32_t input, uint64_t before,
    struct lc__carried_input **out)
{
	if (c->ninputs == 0 || c->inputs[c->ninputs - 1].input != input) {
		return_if_error(lc__array_reserve(&c->inputs, &c->inputs_room,
		    c->ninputs + 1, "merge"));
		c->inputs[c->ninputs++] = (struct lc__carried_input){
			.input = input,
			.before = before,
		};
	}
	*out = &c->inputs[c->ninputs - 1];
	return LC_OK;
}

lc_status
lc__carry_chunk(struct lc__carry *c, const struct lc__placed_chunk *chunk)
{
	struct lc__carried_input *in;
	struct lc__carried *carried;

	return_if_error(
	    lc__array_reserve(&c->chunks, &c->chunks_room, c->nchunks + 1, "merge"));
	carried = &c->chunks[c->nchunks++];
	*carried = (struct lc__carried){
		.place = *chunk,
		.directory.has_lengths = lc__measures(&c->measure),
	};
	return_if_error(read_chunk(c, carried));
	return_if_error(get_input(c, chunk->input, chunk->ordinal, &in));
	in->chunks++;
	in->records += carried->row.records;
	in->length += carried->row.length;
	c->bytes += carried->row.bytes;
	c->pending += carried->row.bytes + lc__env_page_size(c->to->env);
	return c->pending < COMMIT_CHUNKS * c->to->options.chunk_bytes
	    ? LC_OK
	    : lc__carry_commit(c);
}

lc_status
lc__carry_finish(struct lc__carry *c, uint32_t input, uint64_t chunks,
    const lc_id *cursor)
{
	struct lc__carried_input *in;

	return_if_error(get_input(c, input, chunks, &in));
	in->finish = true;
	in->cursor = *cursor;
	return LC_OK;
}

void
lc__carry_free(struct lc__carry *c)
{
	clear(c);
	free(c->chunks);
	free(c->inputs);
	free(c->entries);
	free(c->known.all);
	free(c->ids);
}
