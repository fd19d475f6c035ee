/* SPDX-License-Identifier: BSD-2-Clause */
/* The chunks of a damaged module: every whole record, whatever surrounds it. */
#include "base/error.h"
#include "base/array.h"
#include "base/hash.h"
#include "store/directory.h"
#include "store/record.h"
#include "life/recovery.h"

/* The records of one chunk as they are read. */
struct reader {
	struct lc__recovery *r;
	struct lc__found *chunk;
	const unsigned char *records; /* behind the header */
	uint64_t size;                /* of all */
	uint64_t room;                /* bytes behind the header */
	bool headless;                /* how much of them are records is not known */
};

/* Without a header, the tables of the directory say where the records end. */
static void
end_at_tables(struct reader *reader, uint64_t at)
{
	if (reader->headless && lc__directory_tables_at(reader->records + at,
	    reader->room - at, reader->chunk->id) > 0)
		reader->size = at;
}

static uint64_t
location_at(const struct reader *reader, uint64_t at)
{
	return lc__location(reader->chunk->id, at / LC__RECORD_ALIGN);
}

/* A record that lc_verify() would have nothing to say against has a schema. */
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
	return lc__record_fits(record, known->schema) ? NULL :
	    "shape and size disagree";
}

static lc_status
add_sound(struct reader *reader, const struct lc__record *record,
    const struct lc__schema *schema, uint64_t at)
{
	struct lc__recovery *r = reader->r;

	return_if_error(lc__array_reserve(&r->sounds, &r->sounds_room,
	    r->nsounds + 1, "recover"));
	return_if_error(lc__array_reserve(&r->claims, &r->claims_room,
	    r->nclaims + 1, "recover"));
	r->sounds[r->nsounds++] = (struct lc__sound) {
		.location = location_at(reader, at),
		.moved_to = location_at(reader, at),
		.bytes = reader->records + at, .size = (uint32_t)record->size,
		.length = lc__measure(&r->measure, record, schema)
	};
	r->claims[r->nclaims++] = (struct lc__claim) {
		.prefix = lc__sort_prefix(&record->id), .id = record->id.data,
		.id_size = (uint32_t)record->id.size,
		.run = LC__CLAIM_RECORD, .location = location_at(reader, at)
	};
	reader->chunk->count++;
	return LC_OK;
}

/* Is there a whole record? */
static bool
is_sound(const struct reader *reader, uint64_t at)
{
	const struct lc__schema *schema;
	struct lc__record record;

	return lc__record_parse(reader->records + at, reader->size - at,
	    &record) && find_fault(&reader->r->change->snapshot, &record,
	    &schema) == NULL;
}

/* Where the next whole record stands behind a damaged one. */
static uint64_t
skip_damage(struct reader *reader, uint64_t at)
{
	do {
		at += LC__RECORD_ALIGN;
		if (at < reader->size)
			end_at_tables(reader, at);
	} while (at < reader->size && !is_sound(reader, at));
	return at < reader->size ? at : reader->size;
}

static lc_status
add_span(struct reader *reader, uint64_t at, uint64_t end)
{
	struct lc__recovery *r = reader->r;

	return_if_error(lc__array_reserve(&r->spans, &r->spans_room,
	    r->nspans + 1, "recover"));
	r->spans[r->nspans++] = (struct lc__span) {
		.start = location_at(reader, at), .end = location_at(reader, end)
	};
	reader->chunk->rewrite = true;
	return LC_OK;
}

/* The record at an offset, or what is there instead; *next is behind it. */
static lc_status
read_at(struct reader *reader, uint64_t at, uint64_t *next)
{
	const unsigned long long chunk = reader->chunk->id;
	struct lc__record record;
	const bool parsed = lc__record_parse(reader->records + at,
	    reader->size - at, &record);
	const struct lc__schema *schema = NULL;
	const char *fault = parsed ? find_fault(&reader->r->change->snapshot,
	    &record, &schema) : "no record";

	if (fault == NULL) {
		*next = at + record.size;
		return add_sound(reader, &record, schema, at);
	}
	lc__found_tell(reader->r->progress, "lost: chunk %llu, byte %llu%s%s: %s",
	    chunk, (unsigned long long)(at + LC__CHUNK_HEADER),
	    parsed ? ", key " : "", parsed ? lc__quote_id(record.id.data,
	    record.id.size) : "", fault);
	*next = skip_damage(reader, at);
	return add_span(reader, at, *next);
}

/* Records end at a multiple of their alignment; behind them may be padding. Without
 * a header, that padding is told from records by its zeros. */
static uint64_t
records_size(const struct lc__slice *value, const struct lc__chunk *chunk,
    bool intact)
{
	/* A location has so many bits for the place in a chunk. */
	const uint64_t most = (uint64_t)LC__RECORD_ALIGN << LC__LOCATION_UNIT_BITS;
	uint64_t size = value->size <= LC__CHUNK_HEADER ? 0 :
	    (value->size - LC__CHUNK_HEADER) / LC__RECORD_ALIGN *
	    LC__RECORD_ALIGN;

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

/* Zeros at the end of the last record look like padding: they are its own. */
static void
reach_record_end(struct reader *reader, uint64_t at)
{
	struct lc__record record;

	if (lc__record_parse(reader->records + at, reader->room - at, &record) &&
	    at + record.size > reader->size && lc__record_intact(&record))
		reader->size = at + record.size;
}

static lc_status
read_records(struct reader *reader)
{
	uint64_t at = 0;

	while (at < reader->size) {
		if (reader->headless) {
			end_at_tables(reader, at);
			if (at == reader->size)
				break;
			reach_record_end(reader, at);
		}
		return_if_error(read_at(reader, at, &at));
	}
	return LC_OK;
}

/* Does the directory say what the records do, or nothing? */
static bool
directory_agrees(const struct lc__recovery *r, const struct lc__found *chunk,
    const struct lc__slice *value, const struct lc__chunk *header)
{
	const struct lc__sound *sounds = &r->sounds[chunk->first];
	struct lc__directory d;

	if (!lc__directory_parse(value->data, value->size, header, &d))
		return false;
	for (uint64_t i = 0; i < d.records; i++) {
		const uint64_t offset = lc__directory_offset(&d, i);

		if (sounds[i].location != lc__location(chunk->id, offset /
		    LC__RECORD_ALIGN) || (d.has_lengths &&
		    lc__measures(&r->measure) &&
		    lc__directory_length(&d, i) != sounds[i].length))
			return false;
	}
	return true;
}

/* The records of a chunk that is not rewritten yet are all there. */
static void
check_frame(struct lc__recovery *r, struct lc__found *chunk,
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
	lc__found_tell(r->progress, "chunk %llu: its %s is damaged",
	    (unsigned long long)chunk->id, damaged);
	chunk->rewrite = true;
}

static lc_status
read_chunk(struct lc__recovery *r, uint64_t id, const struct lc__slice *value)
{
	struct lc__chunk header = { 0 };
	const bool intact = lc__chunk_parse(value->data, value->size, id,
	    &header);
	struct reader reader = { .r = r, .headless = !intact };

	return_if_error(lc__array_reserve(&r->chunks, &r->chunks_room,
	    r->nchunks + 1, "recover"));
	reader.chunk = &r->chunks[r->nchunks++];
	*reader.chunk = (struct lc__found) { .id = id, .first = r->nsounds };
	reader.size = records_size(value, &header, intact);
	reader.records = value->data + LC__CHUNK_HEADER;
	reader.room = value->size <= LC__CHUNK_HEADER ? 0 :
	    value->size - LC__CHUNK_HEADER;
	return_if_error(read_records(&reader));
	check_frame(r, reader.chunk, value, &header, intact);
	return LC_OK;
}

static lc_status
step(const struct lc__recovery *r)
{
	const lc_progress *progress = r->progress;
	const uint64_t total = r->change->snapshot.state.bytes;

	if (progress != NULL && progress->step != NULL && progress->step(
	    progress->ctx, r->done, r->done > total ? r->done : total) != 0)
		return lc__error(LC_CANCELLED, 0, "recover: cancelled");
	return LC_OK;
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
