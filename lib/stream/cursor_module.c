/* SPDX-License-Identifier: BSD-2-Clause */
/* Cursors over modules: a snapshot, a chunk of it, the records of the chunk. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/get.h"
#include "store/live.h"
#include "store/lookup.h"
#include "stream/cursor.h"
#include "stream/record_reader.h"
#include "stream/source_module.h"

/* Chunks whose records a cursor remembers: a power of two. */
#define VISITS 512

/** A chunk that the cursor visited. */
struct visit {
	uint64_t age;      /* of the cursor when the chunk was looked up; 0: never */
	uint64_t position; /* in the layout */
	struct lc__chunk_row row;
	struct lc__ledger_row ledger;
	const unsigned char *bytes; /* the chunk */
	uint64_t end;               /* offset after its last record */
	bool needs_offsets;         /* the directory does not have all that is needed */
	struct lc__once_seen seen;  /* of it, to verify once */
	struct lc__directory directory;
};

/** The positions of the present chunk's records. */
struct here {
	struct visit *visit; /* NULL: not at a chunk */
	uint64_t n;          /* records */
	uint64_t stride;     /* as in struct lc__directory */
	const unsigned char *offsets;
	const struct lc__record_offset *at; /* as in struct lc__record_offsets */
	uint64_t length;
	const uint64_t *ends;
	struct lc__record_offsets *computed; /* the owner of these; held, or NULL */
};

struct module_cursor {
	struct lc__cursor base;
	struct lc__module_source *m;
	struct lc__snapshot *snapshot; /* set between begin and end */
	uint64_t commit;               /* of the visits */
	uint32_t map_version;
	uint64_t age; /* increases with each new commit: older visits are stale */
	struct here here;
	struct lc__hints hints;
	struct lc__record_reader reader;
	struct visit visits[VISITS];
};

struct module_pin {
	struct lc__pin pin;
	struct lc__snapshot *snapshot;
	struct lc__block_list decoded;
};

static struct module_cursor *
of(struct lc__cursor *cursor)
{
	return (struct module_cursor *)cursor;
}

static const struct module_cursor *
of_const(const struct lc__cursor *cursor)
{
	return (const struct module_cursor *)cursor;
}

/* ---- on a commit: the cursor holds a snapshot ------------------------------------ */

static void
leave(struct module_cursor *c)
{
	lc__record_offsets_drop(c->here.computed);
	c->here.computed = NULL;
	c->here.visit = NULL;
}

static lc_status
begin(struct lc__cursor *cursor)
{
	struct module_cursor *c = of(cursor);

	return_if_error(lc__snapshot_take(c->m->env, &c->snapshot));
	/* The thread may take another snapshot before this one ends, for rows of the
	 * layout or with another cursor. That must not wait for this one. */
	lc__snapshot_keep(c->snapshot);
	if (c->snapshot->loaded == c->commit &&
	    c->snapshot->map_version == c->map_version)
		return LC_OK;
	c->commit = c->snapshot->loaded;
	c->map_version = c->snapshot->map_version;
	c->age++;
	return LC_OK;
}

static void
end(struct lc__cursor *cursor)
{
	struct module_cursor *c = of(cursor);

	if (c->snapshot == NULL)
		return;
	leave(c);
	lc__block_list_drop(&c->reader.decoded);
	lc__snapshot_end_keep(c->snapshot);
	c->snapshot = NULL;
}

static void
forget(struct lc__cursor *cursor)
{
	lc__block_list_drop(&of(cursor)->reader.decoded);
}

static void
drop_pin(struct lc__pin *pin)
{
	struct module_pin *p = (struct module_pin *)pin;

	lc__block_list_free(&p->decoded);
	lc__snapshot_unpin(p->snapshot);
	free(p);
}

static lc_status
pin(struct lc__cursor *cursor, struct lc__pin **out)
{
	struct module_cursor *c = of(cursor);
	struct module_pin *p = malloc(sizeof(*p));

	if (p == NULL) {
		end(cursor);
		return lc__no_memory("read");
	}
	p->pin.drop = drop_pin;
	p->snapshot = c->snapshot;
	p->decoded = c->reader.decoded;
	p->pin.bytes = sizeof(*p) + lc__block_list_bytes(&p->decoded);
	memset(&c->reader.decoded, 0, sizeof(c->reader.decoded));
	leave(c);
	lc__snapshot_end_keep_pinned(c->snapshot);
	c->snapshot = NULL;
	*out = &p->pin;
	return LC_OK;
}

static void
free_cursor(struct lc__cursor *cursor)
{
	end(cursor);
	lc__record_reader_free(&of(cursor)->reader);
	free(cursor);
}

/* ---- moving to a chunk ----------------------------------------------------------- */

lc_status
lc__module_ledger(struct lc__snapshot *snapshot, uint64_t chunk,
    struct lc__ledger_row *out)
{
	struct lc__slice value;

	return_if_error(lc__txn_get(snapshot->txn, LC__LEDGER, chunk, &value));
	if (!lc__ledger_decode(value.data, value.size, chunk, out))
		return lc__error(LC_CORRUPT, 0,
		    "%s: the ledger row of chunk %llu is damaged",
		    lc__env_dir(snapshot->env), (unsigned long long)chunk);
	return LC_OK;
}

static lc_status
changed(const struct module_cursor *c, const struct lc__chunk_row *row, const char *what)
{
	return lc__error(LC_CHANGED, 0, "%s: chunk %llu %s", c->m->source.name,
	    (unsigned long long)row->id, what);
}

/* Look a chunk up in the snapshot: it must be the one in the layout. */
static lc_status
look_up(struct module_cursor *c, uint64_t position, struct visit *v)
{
	const bool has_field = *c->m->source.length_field != '\0';
	struct lc__mapped_chunk chunk;
	lc_status status;

	v->age = 0;
	return_if_error(lc__layout_row(c->base.layout, position, &v->row));
	status = lc__module_ledger(c->snapshot, v->row.id, &v->ledger);
	if (status == LC_NOT_FOUND)
		return changed(c, &v->row, "is no longer there");
	return_if_error(status);
	if (v->ledger.live != v->row.records || v->ledger.ordinal != v->row.ordinal)
		return changed(c, &v->row, "has other records now");

	return_if_error(lc__snapshot_chunk(c->snapshot, v->row.id, &chunk));
	if (chunk.records != v->ledger.records)
		return lc__error(LC_CORRUPT, 0,
		    "%s: chunk %llu has another number "
		    "of records than its ledger row says",
		    c->m->source.name, (unsigned long long)v->row.id);
	lc__snapshot_note_read(c->snapshot, lc__location(v->row.id, 0));
	v->bytes = chunk.bytes;
	v->end = chunk.end;
	if (c->reader.verify == LC_VERIFY_ONCE)
		v->seen = lc__seen_of(lc__module_of(c->m->env)->once, c->snapshot,
		    &chunk);
	return_if_error(lc__snapshot_directory(c->snapshot, &chunk, &v->directory));

	/* The directory suffices if all records are live and it has the lengths that
	 * count. */
	v->needs_offsets = v->ledger.live != v->ledger.records ||
	    (has_field &&
		(!c->m->own_lengths || !v->directory.has_lengths ||
		    v->directory.lengths != NULL));
	v->position = position;
	v->age = c->age;
	return LC_OK;
}

static lc_status
go(struct lc__cursor *cursor, uint64_t position)
{
	struct module_cursor *c = of(cursor);
	struct here *here = &c->here;
	struct visit *v = &c->visits[position % VISITS];
	bool known = v->age == c->age && v->position == position;
	uint64_t units = 0;

	if (known && here->visit == v)
		return LC_OK;
	leave(c);
	if (!known)
		return_if_error(look_up(c, position, v));
	memset(here, 0, sizeof(*here));
	here->n = v->row.records;
	if (v->needs_offsets) {
		const struct lc__record_offsets_input input = {
			.row = &v->ledger,
			.length_field = c->m->source.length_field,
			.own_lengths = c->m->own_lengths,
		};

		return_if_error(lc__offsets_cache_need(c->m->offsets, c->snapshot,
		    v->row.id, &input, &here->computed, &known));
		here->stride = here->computed->stride;
		here->at = here->computed->at;
		if (here->stride == 0 && here->at == NULL)
			here->offsets = v->directory.offsets;
		here->length = here->computed->length;
		here->ends = here->computed->ends;
	} else {
		here->stride = v->directory.stride;
		here->offsets = v->directory.offsets;
		here->length = v->directory.length;
	}
	if (*c->m->source.length_field == '\0')
		here->length = 1;
	if (known)
		cursor->hits++;
	else
		cursor->misses++;

	/* The records must have the units that the layout counted: windows depend on
	 * that. */
	if (here->ends != NULL)
		units = here->ends[here->n - 1];
	else if (!lc__mul64(here->n, here->length, &units))
		units = 0;
	if (units != v->row.units)
		return lc__error(LC_CORRUPT, 0,
		    "%s: the lengths of the records of chunk "
		    "%llu differ from those in its ledger row",
		    c->m->source.name, (unsigned long long)v->row.id);
	here->visit = v;
	c->reader.seen = v->seen;
	return LC_OK;
}

/* ---- in the chunk ---------------------------------------------------------------- */

static uint64_t
offset_of(const struct here *here, uint64_t record)
{
	if (here->stride != 0)
		return LC__CHUNK_HEADER + record * here->stride;
	return LC__CHUNK_HEADER +
	    LC__RECORD_ALIGN *
	    (uint64_t)(here->at != NULL ? here->at[record].at
					: lc__get32(here->offsets + 4 * record));
}

/* The end of a record: the begin of the next one, unless there are dead ones. */
static uint64_t
end_of(const struct here *here, uint64_t record)
{
	if (here->stride != 0)
		return offset_of(here, record) + here->stride;
	if (here->at != NULL)
		return offset_of(here, record) +
		    LC__RECORD_ALIGN * (uint64_t)here->at[record].size;
	return record + 1 < here->n ? offset_of(here, record + 1) : here->visit->end;
}

static lc_status
find(struct lc__cursor *cursor, uint64_t unit, uint64_t *record, uint64_t *before)
{
	const struct here *here = &of(cursor)->here;
	uint64_t low = 0, high = here->n - 1;

	if (unit >= here->visit->row.units)
		return lc__error(LC_NOT_FOUND, 0, "read: chunk %llu has no unit %llu",
		    (unsigned long long)here->visit->row.id, (unsigned long long)unit);
	if (here->ends == NULL) {
		*record = unit / here->length;
		*before = *record * here->length;
		return LC_OK;
	}
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (unit < here->ends[middle])
			high = middle;
		else
			low = middle + 1;
	}
	*record = low;
	*before = low > 0 ? here->ends[low - 1] : 0;
	return LC_OK;
}

static uint64_t
units(const struct lc__cursor *cursor, uint64_t record)
{
	const struct here *here = &of_const(cursor)->here;

	if (here->ends == NULL)
		return here->length;
	return here->ends[record] - (record > 0 ? here->ends[record - 1] : 0);
}

static uint64_t
stored(const struct lc__cursor *cursor, uint64_t record)
{
	const struct here *here = &of_const(cursor)->here;

	return end_of(here, record) - offset_of(here, record);
}

static const unsigned char *
address(const struct lc__cursor *cursor, uint64_t record)
{
	const struct here *here = &of_const(cursor)->here;
	const uint64_t offset = offset_of(here, record);

	return here->visit->bytes +
	    (offset < here->visit->end ? offset : here->visit->end);
}

static void
willneed(struct lc__cursor *cursor, uint64_t first, uint64_t n)
{
	struct module_cursor *c = of(cursor);
	const struct visit *v = c->here.visit;
	uint64_t from, to;

	if (n > c->here.n - first)
		n = c->here.n - first;
	if (n == 0)
		return;
	from = offset_of(&c->here, first);
	to = end_of(&c->here, first + n - 1);
	if (to > v->end)
		to = v->end;
	if (from >= to ||
	    !lc__hints_worth(&c->hints, v->bytes + from, to - from,
		lc__env_page_size(c->m->env)))
		return;
	lc__env_willneed(c->m->env, v->bytes + from, (size_t)(to - from));
}

/* ---- records ----------------------------------------------------------------------- */

static lc_status
parse(const struct module_cursor *c, uint64_t record, struct lc__record *out)
{
	const struct visit *v = c->here.visit;
	const uint64_t offset = offset_of(&c->here, record);
	const char *key;

	if (offset < v->end && lc__record_parse(v->bytes + offset, v->end - offset, out))
		return LC_OK;
	key = lc__index_key_at(c->snapshot, v->row.id, offset);
	return lc__error(LC_CORRUPT, 0,
	    "%s: %s%s%snumber %llu of chunk %llu is not a record", c->m->source.name,
	    key ? "key " : "", key ? key : "", key ? ": " : "",
	    (unsigned long long)record, (unsigned long long)v->row.id);
}

static lc_status
read_record(struct lc__cursor *cursor, uint64_t number, const char *const *fields,
    size_t n, const struct lc__row_span *rows, struct lc__copier *copier,
    lc_tensor *tensors, lc_id *id)
{
	struct module_cursor *c = of(cursor);
	struct lc__record record;

	return_if_error(parse(c, number, &record));
	*id = record.id;
	return lc__record_read(&c->reader, c->snapshot, &record, fields, n, rows, copier,
	    tensors);
}

/* The view pins the snapshot, unless it has a copy. */
static lc_status
view(struct lc__cursor *cursor, uint64_t number, lc_view *out)
{
	struct module_cursor *c = of(cursor);
	lc_cache *cache = c->m->cache;
	struct lc__verified before;
	struct lc__once_seen seen;
	struct lc__record record;
	uint64_t location;
	unsigned pins = 0;
	lc_status status = parse(c, number, &record);

	if (status == LC_OK) {
		location = lc__location(c->here.visit->row.id,
		    offset_of(&c->here, number));
		seen = lc__decode_seen(cache, c->snapshot, location);
		before = lc__record_verified(&seen, &record);
		lc__view_willneed(cache, &record, location,
		    lc__view_reads(cache, &before));
		status = lc__view_record(cache, c->snapshot, &record, location,
		    lc__view_verifies(cache, &before), out, &pins);
	}
	if (pins == 0) {
		end(cursor);
		return status;
	}
	leave(c);
	lc__snapshot_end_keep_pinned(c->snapshot);
	c->snapshot = NULL;
	return LC_OK;
}

static uint64_t
touched(const struct lc__cursor *cursor)
{
	return of_const(cursor)->reader.touched;
}

static lc_status
extents(struct lc__cursor *cursor, uint64_t number, const char *const *fields, size_t n,
    const struct lc__row_span *rows, struct lc__extents *out)
{
	struct module_cursor *c = of(cursor);
	struct lc__record record;

	if (lc__record_reads_all(&c->reader, c->snapshot, stored(cursor, number), fields,
		n, rows))
		return lc__extents_add(out, address(cursor, number),
		    stored(cursor, number));
	return_if_error(parse(c, number, &record));
	return lc__record_extents(&c->reader, c->snapshot, &record, fields, n, rows, out);
}

static void
willneed_bytes(struct lc__cursor *cursor, struct lc__extent extent)
{
	const struct module_cursor *c = of(cursor);

	if (lc__hints_missing(extent.at, extent.size, lc__env_page_size(c->m->env)))
		lc__env_willneed(c->m->env, extent.at, (size_t)extent.size);
}

static lc_status
fields_of(struct lc__cursor *cursor, uint64_t number, char ***names, size_t *n)
{
	struct module_cursor *c = of(cursor);
	struct lc__record record;

	return_if_error(parse(c, number, &record));
	return lc__record_fields(&c->reader, c->snapshot, &record, names, n);
}

static lc_status
name_of(struct lc__cursor *cursor, uint64_t number, lc_id *id, lc_id *run)
{
	struct lc__record record;

	return_if_error(parse(of(cursor), number, &record));
	*id = record.id;
	*run = (lc_id){ NULL, 0 };
	return LC_OK;
}

/* The chunk's index in the layout: those of plain puts are in the order of their
 * numbers. */
static lc_status
find_chunk(const struct module_cursor *c, uint64_t chunk, uint64_t *position)
{
	uint64_t low = 0, high = lc__layout_info(c->base.layout)->chunks;
	struct lc__chunk_row row;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		return_if_error(lc__layout_row(c->base.layout, middle, &row));
		if (row.id == chunk) {
			*position = middle;
			return LC_OK;
		}
		if (row.id < chunk)
			low = middle + 1;
		else
			high = middle;
	}
	return LC_NOT_FOUND;
}

static lc_status
locate(struct lc__cursor *cursor, lc_id id, uint64_t *position, uint64_t *record)
{
	struct module_cursor *c = of(cursor);
	struct lc__lookup lookup;
	uint64_t offset, low = 0, high;

	if (c->snapshot->filled)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: is filled by its inputs, and their order has no index",
		    c->m->source.name);
	lc__lookup_start(&lookup, c->m->env, id.data, id.size);
	return_if_error(lc__index_find(c->snapshot, &lookup, c->m->source.verify));
	return_if_error(find_chunk(c, lc__location_chunk(lookup.location), position));
	return_if_error(go(cursor, *position));
	offset = lc__location_offset(lookup.location);
	high = c->here.n;
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (offset_of(&c->here, middle) < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < c->here.n && offset_of(&c->here, low) == offset) {
		*record = low;
		return LC_OK;
	}
	return lc__error(LC_CORRUPT, 0,
	    "%s: key %s is not among the records of chunk %llu", c->m->source.name,
	    lc__quote_id(id.data, id.size), (unsigned long long)c->here.visit->row.id);
}

static const struct lc__cursor_kind module_cursor_kind = {
	.begin = begin,
	.end = end,
	.pin = pin,
	.go = go,
	.find = find,
	.units = units,
	.willneed = willneed,
	.address = address,
	.stored = stored,
	.read = read_record,
	.fields = fields_of,
	.view = view,
	.forget = forget,
	.free = free_cursor,
	.name = name_of,
	.locate = locate,
	.touched = touched,
	.extents = extents,
	.willneed_bytes = willneed_bytes,
};

lc_status
lc__module_cursor_new(lc_source *source, struct lc__cursor **out)
{
	struct module_cursor *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return lc__no_memory("read");
	c->base.kind = &module_cursor_kind;
	c->m = lc__module_source_of(source);
	c->reader.verify = source->verify;
	*out = &c->base;
	return LC_OK;
}
