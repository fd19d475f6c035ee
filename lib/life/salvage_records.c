/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the records with correct checksums in the chunks that the scan found, and their
 * structures. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "life/salvage.h"
#include "store/chunk.h"
#include "store/record.h"
#include "store/schemas.h"

/* The state of reading one chunk's records. */
struct reader {
	struct lc__salvage *s;
	uint64_t chunk; /* index in s->chunks */
	uint64_t start; /* of the value in the file */
	uint64_t end;   /* end of the bytes that may be records, in the value */
	uint64_t
	    stride; /* size of every record, if the header says that they are equal */
	unsigned char *offsets; /* the directory's, u32 each; malloc'ed, NULL without */
	uint64_t noffsets;
	uint64_t next; /* of the offsets */
	bool bad;      /* inside a span without an intact record */
};

/* ---- one record ----------------------------------------------------------- */

/* Get the intact record at an offset in the value; false if there is none. */
static lc_status
read_record(struct reader *r, uint64_t at, struct lc__record *out, bool *whole)
{
	struct lc__salvage *s = r->s;
	const uint64_t room = r->end - at;
	const unsigned char *bytes;
	uint64_t head;

	*whole = false;
	/* Bytes that turned out not to be a record are counted: so the search for the
	 * next intact one ends even among many byte sequences that look like long
	 * records. */
	if (room < LC__RECORD_ALIGN || s->wasted > 16 * s->file->size)
		return LC_OK;
	return_if_error(lc__salvage_at(s->file, r->start + at, LC__RECORD_ALIGN, &bytes));
	s->wasted += LC__RECORD_ALIGN;
	if (!lc__record_parse(bytes, room, out) ||
	    (at - LC__CHUNK_HEADER) / LC__RECORD_ALIGN >> LC__LOCATION_UNIT_BITS != 0)
		return LC_OK;
	/* A record with parts has a separate checksum for its head: check that before
	 * reading the rest. */
	head = out->has_parts ? out->size - out->payload_size : out->size;
	s->wasted += head;
	return_if_error(lc__salvage_at(s->file, r->start + at, head, &bytes));
	(void)lc__record_parse(bytes, room, out);
	if (!lc__record_head_intact(out))
		return LC_OK;
	if (out->has_parts && out->payload_size > 0) {
		s->wasted += out->payload_size;
		return_if_error(
		    lc__salvage_at(s->file, r->start + at, out->size, &bytes));
		(void)lc__record_parse(bytes, room, out);
	}
	*whole = lc__record_intact(out);
	/* Bytes of an intact record do not count. */
	if (*whole)
		s->wasted -= LC__RECORD_ALIGN + out->size;
	return LC_OK;
}

static lc_status
add_record(struct reader *r, uint64_t at, const struct lc__record *record)
{
	struct lc__salvage *s = r->s;
	struct lc__salvage_record *new;

	if (r->chunk >= (uint64_t)1 << 28)
		return lc__error(LC_UNSUPPORTED, 0, "%s: too many chunks", s->file->path);
	return_if_error(
	    lc__array_reserve(&s->records, &s->records_room, s->nrecords + 1, "salvage"));
	new = &s->records[s->nrecords++];
	*new = (struct lc__salvage_record){
		.location = lc__location(s->chunks[r->chunk].id,
		    (at - LC__CHUNK_HEADER) / LC__RECORD_ALIGN),
		.at = r->start + at,
		.size = (uint32_t)record->size,
		.schema = record->schema,
		.chunk = (uint32_t)r->chunk,
	};
	lc__hash128(record->id.data, record->id.size, new->hash);
	s->chunks[r->chunk].whole++;
	/* Pages that begin inside it are part of it, whatever they look like. */
	for (uint64_t page = (r->start + at + s->page_size - 1) / s->page_size;
	     page * s->page_size < r->start + at + record->size; page++)
		s->inside[page / 8] |= (unsigned char)(1u << page % 8);
	return LC_OK;
}

/* ---- one chunk ------------------------------------------------------------ */

/* The table of offsets, if the chunk has an intact one. */
static lc_status
read_offsets(struct reader *r, const struct lc__chunk *header, uint64_t size)
{
	const uint64_t tables = lc__chunk_tables(header);
	const uint64_t at = LC__CHUNK_HEADER + header->bytes;
	const unsigned char *bytes;

	if (!(header->directory & LC__DIRECTORY_OFFSETS) || at > size ||
	    tables > size - at)
		return LC_OK;
	return_if_error(lc__salvage_at(r->s->file, r->start + at, tables, &bytes));
	if (lc__get64(bytes + tables - 8) !=
	    lc__hash64_seed(bytes, (size_t)(tables - 8), header->id))
		return LC_OK;
	r->offsets = malloc((size_t)header->records * 4 + 1);
	if (r->offsets == NULL)
		return lc__no_memory("salvage");
	memcpy(r->offsets, bytes + lc__at_tables, (size_t)header->records * 4);
	r->noffsets = header->records;
	return LC_OK;
}

/* What the header tells about the records. */
static lc_status
read_header(struct reader *r, const struct lc__salvage_chunk *chunk)
{
	const unsigned char *bytes;
	struct lc__chunk header;

	return_if_error(lc__salvage_at(r->s->file, r->start, LC__CHUNK_HEADER, &bytes));
	if (!lc__chunk_parse(bytes, UINT64_MAX, chunk->id, &header))
		return LC_OK;
	if (header.bytes < r->end - LC__CHUNK_HEADER)
		r->end = LC__CHUNK_HEADER + header.bytes;
	if (header.records > 0 && !(header.directory & LC__DIRECTORY_OFFSETS) &&
	    header.bytes % header.records == 0)
		r->stride = header.bytes / header.records;
	return read_offsets(r, &header, chunk->size);
}

/* Where to look for the next record, after damage at an offset. */
static uint64_t
after_damage(struct reader *r, uint64_t at)
{
	if (r->stride >= LC__RECORD_ALIGN && r->stride % LC__RECORD_ALIGN == 0)
		return LC__CHUNK_HEADER +
		    ((at - LC__CHUNK_HEADER) / r->stride + 1) * r->stride;
	for (; r->next < r->noffsets; r->next++) {
		const uint64_t offset = LC__CHUNK_HEADER +
		    (uint64_t)LC__RECORD_ALIGN * lc__get32(r->offsets + r->next * 4);

		if (offset > at)
			return offset;
	}
	return r->noffsets > 0 ? r->end : at + LC__RECORD_ALIGN;
}

/* Are these bytes padding, or the directory of a chunk without its header? */
static lc_status
is_behind_records(struct reader *r, uint64_t at, bool *out)
{
	static const unsigned char zeros[LC__RECORD_ALIGN];
	const unsigned char *bytes;

	return_if_error(
	    lc__salvage_at(r->s->file, r->start + at, LC__RECORD_ALIGN, &bytes));
	*out = memcmp(bytes, LC__TABLES_MAGIC, 4) == 0 ||
	    memcmp(bytes, zeros, sizeof(zeros)) == 0;
	return LC_OK;
}

static lc_status
read_records(struct reader *r)
{
	struct lc__salvage_chunk *chunk = &r->s->chunks[r->chunk];
	uint64_t at = LC__CHUNK_HEADER, stepped = 0;

	while (at < r->end && r->end - at >= LC__RECORD_ALIGN) {
		struct lc__record record;
		bool whole, behind = false;

		return_if_error(read_record(r, at, &record, &whole));
		if (whole) {
			return_if_error(add_record(r, at, &record));
			at += record.size;
			r->bad = false;
		} else {
			if (chunk->headless)
				return_if_error(is_behind_records(r, at, &behind));
			chunk->damaged += !r->bad && !behind;
			r->bad = !behind;
			at = after_damage(r, at);
		}
		if (at - stepped >= (uint64_t)1 << 20) {
			return_if_error(lc__salvage_step(r->s, at - stepped));
			stepped = at;
		}
	}
	return lc__salvage_step(r->s, at - stepped);
}

static lc_status
read_chunk(struct lc__salvage *s, uint64_t i)
{
	struct lc__salvage_chunk *chunk = &s->chunks[i];
	struct reader r = {
		.s = s,
		.chunk = i,
		.start = lc__salvage_value(s, chunk->page) + chunk->at,
		.end = chunk->size,
	};
	lc_status status = LC_OK;

	if (chunk->size < LC__CHUNK_HEADER)
		return LC_OK;
	if (!chunk->headless)
		status = read_header(&r, chunk);
	if (status == LC_OK)
		status = read_records(&r);
	free(r.offsets);
	/* The header knows the number of records better than a search. */
	if (!chunk->headless)
		chunk->damaged = chunk->records > chunk->whole
		    ? chunk->records - chunk->whole
		    : 0;
	else if (chunk->whole == 0)
		chunk->damaged = 0; /* it may not be a chunk */
	return status;
}

/* ---- what lies in whole records ------------------------------------------- */

static void
drop_rows_inside(const struct lc__salvage *s, struct lc__salvage_rows *rows)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < rows->count; i++)
		if (!lc__salvage_bit(s->inside, rows->row[i].page) &&
		    !lc__salvage_bit(s->inside, rows->row[i].at / s->page_size))
			rows->row[kept++] = rows->row[i];
	rows->count = kept;
}

/* Chunks are sorted by page: pages inside intact records are known before they are
 * read. */
lc_status
lc__salvage_read_records(struct lc__salvage *s)
{
	uint64_t kept = 0;

	s->inside = calloc(1, (size_t)(s->pages / 8 + 1));
	if (s->inside == NULL)
		return lc__no_memory("salvage");
	for (uint64_t i = 0; i < s->nchunks; i++)
		if (!lc__salvage_bit(s->inside, s->chunks[i].page))
			return_if_error(read_chunk(s, i));
	drop_rows_inside(s, &s->states);
	drop_rows_inside(s, &s->settings);
	drop_rows_inside(s, &s->schemas);
	drop_rows_inside(s, &s->inputs);
	drop_rows_inside(s, &s->anchors);
	for (uint64_t i = 0; i < s->nruns; i++)
		if (!lc__salvage_bit(s->inside, s->runs[i].page))
			s->runs[kept++] = s->runs[i];
	s->nruns = kept;
	return LC_OK;
}

/* ---- structures -----------------------------------------------------------
 *
 * Which row has which id? Rows are never changed and ids never used again, so a row of an
 * old commit is as good as one of the newest. The checksum of a row is right for its own id
 * alone.
 */

static int
by_use(const void *a, const void *b)
{
	const struct lc__salvage_row *x = a, *y = b;

	if (x->use != y->use)
		return x->use > y->use ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool
is_known(const struct lc__salvage *s, uint64_t id)
{
	return id < s->nschema && s->schema[id] != NULL;
}

static lc_status
set_schema(struct lc__salvage *s, uint64_t id, const struct lc__salvage_row *row)
{
	const unsigned char *bytes;
	struct lc__schema *schema;
	lc_status status;

	if (id >= LC__SCHEMAS_MAX || is_known(s, id))
		return LC_OK;
	return_if_error(lc__salvage_at(s->file, row->at, row->size, &bytes));
	status = lc__schema_row_decode(bytes, row->size, (uint32_t)id, &schema);
	if (status != LC_OK)
		return status == LC_NO_MEMORY ? status : LC_OK;
	if (id >= s->nschema) {
		status = lc__array_reserve(&s->schema, &s->schema_room, (size_t)id + 1,
		    "salvage");
		if (status != LC_OK) {
			lc__schema_free(schema);
			return status;
		}
		for (; s->nschema <= id; s->nschema++)
			s->schema[s->nschema] = NULL;
	}
	s->schema[id] = schema;
	return LC_OK;
}

/* Try the missing ids for a row that is under another key than its own. */
static lc_status
find_id(struct lc__salvage *s, const struct lc__salvage_row *row, uint64_t end,
    uint64_t *budget)
{
	const unsigned char *bytes;

	return_if_error(lc__salvage_at(s->file, row->at, row->size, &bytes));
	for (uint64_t id = 0; id < end; id++) {
		if (is_known(s, id))
			continue;
		if (*budget < row->size + 64)
			return LC_OK;
		*budget -= row->size + 64;
		if (lc__row_intact(bytes, row->size, id))
			return set_schema(s, id, row);
	}
	return LC_OK;
}

lc_status
lc__salvage_read_schemas(struct lc__salvage *s)
{
	const struct lc__salvage_rows *rows = &s->schemas;
	/* Limit on the bytes to hash: a crafted file must not take hours. */
	uint64_t budget = (uint64_t)1 << 30;
	/* The id after the last one that the state or a record uses. */
	uint64_t end = s->state_found ? s->state.next_schema : 0;

	for (uint64_t i = 0; i < s->nrecords; i++)
		if (s->records[i].schema >= end)
			end = (uint64_t)s->records[i].schema + 1;
	if (end > LC__SCHEMAS_MAX)
		end = LC__SCHEMAS_MAX;
	if (rows->count > 0)
		qsort(rows->row, rows->count, sizeof(*rows->row), by_use);
	for (uint64_t i = 0; i < rows->count; i++)
		if (rows->row[i].number != UINT64_MAX)
			return_if_error(
			    set_schema(s, rows->row[i].number, &rows->row[i]));
	for (uint64_t i = 0; i < rows->count; i++)
		if (rows->row[i].number == UINT64_MAX)
			return_if_error(find_id(s, &rows->row[i], end, &budget));
	return LC_OK;
}
