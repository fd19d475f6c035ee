/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what is left of a damaged module: every intact record of its chunks, whatever
 * surrounds it, and every entry of its index, with the gaps between them.
 */
#include "base/error.h"
#include "base/array.h"
#include "base/hash.h"
#include "index/run_build.h"
#include "store/chunk.h"
#include "store/lookup.h"
#include "store/record.h"
#include "life/recover.h"

/* ---- chunks --------------------------------------------------------------- */

/* The records of one chunk as they are read. */
struct chunk_reader {
	struct lc__recovery *r;
	struct lc__recovery_chunk *chunk;
	const unsigned char *records; /* after the header */
	uint64_t size;                /* of all */
	uint64_t room;                /* bytes after the header */
	bool headless;                /* it is unknown how much of them are records */
};

/* Without a header, the directory tells where the records end. */
static void
end_at_tables(struct chunk_reader *reader, uint64_t at)
{
	if (reader->headless &&
	    lc__directory_tables_at(reader->records + at, reader->room - at,
		reader->chunk->id) > 0)
		reader->size = at;
}

static uint64_t
location_at(const struct chunk_reader *reader, uint64_t at)
{
	return lc__location(reader->chunk->id, at / LC__RECORD_ALIGN);
}

/* The damage that lc_verify() would report for a record, or NULL: then it has a
 * schema. */
static const char *
find_fault(struct lc__snapshot *s, const struct lc__record *record,
    const struct lc__schema **schema)
{
	struct lc__known *known;

	if (!lc__record_intact(record))
		return "checksum mismatch";
	if (lc__snapshot_schema(s, record->schema, &known) != LC_OK)
		return "its schema is lost";
	*schema = known->schema;
	return lc__record_fits(record, known->schema) ? NULL : "shape and size disagree";
}

static lc_status
add_sound(struct chunk_reader *reader, const struct lc__record *record,
    const struct lc__schema *schema, uint64_t at)
{
	struct lc__recovery *r = reader->r;

	return_if_error(
	    lc__array_reserve(&r->records, &r->records_room, r->nrecords + 1, "recover"));
	return_if_error(
	    lc__array_reserve(&r->claims, &r->claims_room, r->nclaims + 1, "recover"));
	r->records[r->nrecords++] = (struct lc__recovery_record){
		.location = location_at(reader, at),
		.moved_to = location_at(reader, at),
		.bytes = reader->records + at,
		.size = (uint32_t)record->size,
		.length = lc__measure(&r->measure, record, schema),
	};
	r->claims[r->nclaims++] = (struct lc__recovery_claim){
		.prefix = lc__sort_prefix(&record->id),
		.id = record->id.data,
		.id_size = (uint32_t)record->id.size,
		.run = LC__CLAIM_RECORD,
		.location = location_at(reader, at),
	};
	reader->chunk->count++;
	return LC_OK;
}

/* The record at an offset, or the damage there; *next is the offset after it. */
static lc_status
read_at(struct chunk_reader *reader, uint64_t at, uint64_t *next)
{
	const unsigned long long chunk = reader->chunk->id;
	struct lc__recovery *r = reader->r;
	struct lc__record record;
	const bool parsed = lc__record_parse(reader->records + at, reader->size - at,
	    &record);
	const struct lc__schema *schema = NULL;
	const char *fault = parsed ? find_fault(&r->change->snapshot, &record, &schema)
				   : "no record";

	if (fault == NULL) {
		*next = at + record.size;
		return add_sound(reader, &record, schema, at);
	}
	lc__progress_damage(r->progress, "lost: chunk %llu, byte %llu%s%s: %s", chunk,
	    (unsigned long long)(at + LC__CHUNK_HEADER), parsed ? ", key " : "",
	    parsed ? lc__quote_id(record.id.data, record.id.size) : "", fault);
	/* The damage ends where the next intact record begins. */
	*next = at;
	do {
		*next += LC__RECORD_ALIGN;
		if (*next < reader->size)
			end_at_tables(reader, *next);
	} while (*next < reader->size &&
	    (!lc__record_parse(reader->records + *next, reader->size - *next, &record) ||
		find_fault(&r->change->snapshot, &record, &schema) != NULL));
	if (*next > reader->size)
		*next = reader->size;
	return_if_error(
	    lc__array_reserve(&r->spans, &r->spans_room, r->nspans + 1, "recover"));
	r->spans[r->nspans++] = (struct lc__recovery_span){
		.start = location_at(reader, at),
		.end = location_at(reader, *next),
	};
	reader->chunk->rewrite = true;
	return LC_OK;
}

/* Records end at a multiple of their alignment, with padding after the last. Without a
 * header, its zeros distinguish padding from records. */
static uint64_t
records_size(const struct lc__slice *value, const struct lc__chunk *chunk, bool intact)
{
	/* The bits that a location has for the offset in a chunk. */
	const uint64_t most = (uint64_t)LC__RECORD_ALIGN << LC__LOCATION_UNIT_BITS;
	uint64_t size = value->size <= LC__CHUNK_HEADER
	    ? 0
	    : (value->size - LC__CHUNK_HEADER) / LC__RECORD_ALIGN * LC__RECORD_ALIGN;

	if (intact)
		size = chunk->bytes;
	if (size > most)
		size = most;
	if (intact)
		return size;
	while (size > 0 && value->data[LC__CHUNK_HEADER + size - 1] == 0) {
		const uint64_t before = size - LC__RECORD_ALIGN;
		bool zeros = true;

		for (uint64_t i = before; i < size && zeros; i++)
			zeros = value->data[LC__CHUNK_HEADER + i] == 0;
		if (!zeros)
			break;
		size = before;
	}
	return size;
}

/* Does the directory agree with the records, or is it missing? */
static bool
directory_agrees(const struct lc__recovery *r, const struct lc__recovery_chunk *chunk,
    const struct lc__slice *value, const struct lc__chunk *header)
{
	const struct lc__recovery_record *sounds = &r->records[chunk->first];
	struct lc__directory d;

	if (!lc__directory_parse(value->data, value->size, header, &d))
		return false;
	for (uint64_t i = 0; i < d.records; i++) {
		const uint64_t offset = lc__directory_offset(&d, i);

		if (sounds[i].location !=
			lc__location(chunk->id, offset / LC__RECORD_ALIGN) ||
		    (d.has_lengths && lc__measures(&r->measure) &&
			lc__directory_length(&d, i) != sounds[i].length))
			return false;
	}
	return true;
}

/* A chunk that is not rewritten keeps all of its records. */
static void
check_frame(struct lc__recovery *r, struct lc__recovery_chunk *chunk,
    const struct lc__slice *value, const struct lc__chunk *header, bool intact)
{
	const char *damaged = NULL;

	if (!intact || (header->records != chunk->count && !chunk->rewrite))
		damaged = "header";
	else if (!chunk->rewrite && !directory_agrees(r, chunk, value, header))
		damaged = "directory";
	if (damaged == NULL)
		return;
	r->result.rows++;
	lc__progress_damage(r->progress, "chunk %llu: its %s is damaged",
	    (unsigned long long)chunk->id, damaged);
	chunk->rewrite = true;
}

static lc_status
read_chunk(struct lc__recovery *r, uint64_t id, const struct lc__slice *value)
{
	struct lc__chunk header = { 0 };
	const bool intact = lc__chunk_parse(value->data, value->size, id, &header);
	struct chunk_reader reader = { .r = r, .headless = !intact };
	struct lc__record record;
	uint64_t at = 0;

	return_if_error(
	    lc__array_reserve(&r->chunks, &r->chunks_room, r->nchunks + 1, "recover"));
	reader.chunk = &r->chunks[r->nchunks++];
	*reader.chunk = (struct lc__recovery_chunk){ .id = id, .first = r->nrecords };
	reader.size = records_size(value, &header, intact);
	reader.records = value->data + LC__CHUNK_HEADER;
	reader.room = value->size <= LC__CHUNK_HEADER ? 0
						      : value->size - LC__CHUNK_HEADER;
	while (at < reader.size) {
		if (!intact) {
			end_at_tables(&reader, at);
			if (at == reader.size)
				break;
			/* Zeros at the end of the last record look like padding, but
			 * belong to it. */
			if (lc__record_parse(reader.records + at, reader.room - at,
				&record) &&
			    at + record.size > reader.size && lc__record_intact(&record))
				reader.size = at + record.size;
		}
		return_if_error(read_at(&reader, at, &at));
	}
	check_frame(r, reader.chunk, value, &header, intact);
	return LC_OK;
}

static lc_status
step(const struct lc__recovery *r)
{
	const uint64_t total = r->change->snapshot.state.bytes;

	return lc__progress_step(r->progress, r->done, r->done > total ? r->done : total,
	    "recover");
}

lc_status
lc__recovery_read_chunks(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__slice value;
	uint64_t id = 0;
	lc_status status = lc__txn_seek(s->txn, LC__CHUNK, 0, &id, &value);

	for (; status == LC_OK;
	     status = lc__txn_seek_after(s->txn, LC__CHUNK, id, &id, &value)) {
		lc__env_willneed(s->env, value.data, value.size);
		return_if_error(read_chunk(r, id, &value));
		r->done += value.size;
		return_if_error(step(r));
	}
	return status == LC_END ? LC_OK : status;
}

/* ---- index runs ----------------------------------------------------------- */

/* A run being read. */
struct run_reader {
	struct lc__recovery *r;
	uint32_t position;
	uint64_t entries;          /* read so far */
	bool in_gap;               /* the block before was damaged */
	struct lc__run_entry last; /* id NULL before the first */
};

static lc_status
open_gap(struct run_reader *reader)
{
	struct lc__recovery *r = reader->r;

	if (reader->in_gap)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&r->gaps, &r->gaps_room, r->ngaps + 1, "recover"));
	r->gaps[r->ngaps++] = (struct lc__recovery_gap){
		.run = reader->position,
		.after = reader->last,
	};
	reader->in_gap = true;
	return LC_OK;
}

static lc_status
add_entry(struct run_reader *reader, const struct lc__run_entry *entry)
{
	struct lc__recovery *r = reader->r;
	const lc_id id = { entry->id, entry->id_size };

	return_if_error(
	    lc__array_reserve(&r->claims, &r->claims_room, r->nclaims + 1, "recover"));
	r->claims[r->nclaims++] = (struct lc__recovery_claim){
		.prefix = lc__sort_prefix(&id),
		.id = entry->id,
		.id_size = (uint32_t)entry->id_size,
		.run = reader->position,
		.location = entry->location & LC__TOMBSTONE ? LC__TOMBSTONE
							    : entry->location,
	};
	if (reader->in_gap)
		r->gaps[r->ngaps - 1].before = *entry;
	reader->in_gap = false;
	reader->last = *entry;
	reader->entries++;
	return LC_OK;
}

/* Read the entries of a block; *whole becomes false if any of them is damaged. */
static lc_status
read_block(struct run_reader *reader, const struct lc__run *run, uint32_t block,
    bool *whole)
{
	const uint64_t seed = lc__env_seed(reader->r->change->snapshot.env);
	struct lc__run_cursor cursor;
	const struct lc__run_entry *entry = &cursor.entry;
	bool more = lc__run_enter(&cursor, run, block);

	while (more && cursor.left > 0) {
		more = lc__run_next(&cursor);
		if (!more)
			break;
		return_if_error(add_entry(reader, entry));
		*whole &= lc__run_has(run, lc__run_hash(seed, entry->id, entry->id_size),
		    entry->location);
	}
	*whole &= more;
	return more ? LC_OK : open_gap(reader);
}

static lc_status
read_blocks(struct run_reader *reader, const struct lc__run *run, bool *whole)
{
	*whole = lc__run_table_intact(run);
	for (uint32_t i = 0; i < run->blocks; i++)
		return_if_error(read_block(reader, run, i, whole));
	*whole &= reader->entries == run->entries;
	return LC_OK;
}

static lc_status
read_run(struct lc__recovery *r, uint32_t position)
{
	struct lc__snapshot *s = &r->change->snapshot;
	const struct lc__run_row *row = &s->state.runs[position];
	struct run_reader reader = { .r = r, .position = position };
	struct lc__run *run = &r->runs[position];
	struct lc__slice value;
	const lc_status status = lc__txn_get(s->txn, LC__INDEX, row->id, &value);
	bool whole = false;

	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	if (status == LC_OK && value.size == row->bytes &&
	    lc__run_parse(value.data, value.size, row->id, run) &&
	    run->entries == row->entries)
		return_if_error(read_blocks(&reader, run, &whole));
	else
		return_if_error(open_gap(&reader));
	if (whole)
		return LC_OK;
	r->result.runs++;
	r->index_damaged = true;
	lc__progress_damage(r->progress,
	    "index run %llu: damaged, %llu of %llu entries read",
	    (unsigned long long)row->id, (unsigned long long)reader.entries,
	    (unsigned long long)row->entries);
	return LC_OK;
}

lc_status
lc__recovery_read_runs(struct lc__recovery *r)
{
	const uint32_t n = r->change->snapshot.state.nruns;

	for (uint32_t i = 0; i < n; i++) {
		return_if_error(
		    lc__array_reserve(&r->runs, &r->runs_room, r->nruns + 1, "recover"));
		r->runs[r->nruns++] = (struct lc__run){ .entries = 0 };
		return_if_error(read_run(r, i));
	}
	return LC_OK;
}
