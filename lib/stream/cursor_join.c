/* SPDX-License-Identifier: BSD-2-Clause */
/* Cursors over joins: one of the first source, and look-ups in the partners. Also the
 * partners' records as values. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "store/decode.h"
#include "stream/join_records.h"
#include "stream/record_reader.h"
#include "stream/source_join.h"

/** Which module has each field of a reader. */
struct route {
	const char *const *fields; /* of the reader */
	size_t n;                  /* of them */
	const char **paths;        /* in the records, sorted by module; malloc'ed */
	size_t *slots;             /* for each path: the index of its field */
	size_t *ends;              /* for each module: the index after its last path */
	lc_tensor *tensors;        /* of each path */
};

struct join_cursor {
	struct lc__cursor base;
	struct lc__join_source *join;
	struct lc__cursor *first;
	const struct lc__selection *kept;  /* of the chunk; NULL: all of it */
	struct lc__record_reader *readers; /* of the partners */
	struct route route;
};

struct join_pin {
	struct lc__pin pin;
	struct lc__pin *first;
	lc_source *source; /* held: it keeps the partners' snapshots */
	size_t n;
	struct lc__block_list decoded[]; /* of the partners */
};

static struct join_cursor *
of(struct lc__cursor *cursor)
{
	return (struct join_cursor *)cursor;
}

static const struct join_cursor *
of_const(const struct lc__cursor *cursor)
{
	return (const struct join_cursor *)cursor;
}

/* ---- on a commit: the partners' snapshots stay while the source is open ---------- */

static lc_status
begin(struct lc__cursor *cursor)
{
	return lc__cursor_begin(of(cursor)->first);
}

static void
drop_decoded(struct join_cursor *c)
{
	for (size_t i = 0; i < c->join->n; i++)
		lc__block_list_drop(&c->readers[i].decoded);
}

static void
end(struct lc__cursor *cursor)
{
	drop_decoded(of(cursor));
	lc__cursor_end(of(cursor)->first);
}

static void
forget(struct lc__cursor *cursor)
{
	drop_decoded(of(cursor));
	lc__cursor_forget(of(cursor)->first);
}

static void
drop_pin(struct lc__pin *pin)
{
	struct join_pin *p = (struct join_pin *)pin;

	for (size_t i = 0; i < p->n; i++)
		lc__block_list_free(&p->decoded[i]);
	lc__pin_drop(p->first);
	lc_source_close(p->source);
	free(p);
}

static lc_status
pin(struct lc__cursor *cursor, struct lc__pin **out)
{
	struct join_cursor *c = of(cursor);
	const size_t n = c->join->n;
	struct join_pin *p = malloc(sizeof(*p) + n * sizeof(p->decoded[0]));
	lc_status status;

	if (p == NULL) {
		end(cursor);
		return lc__no_memory("read");
	}
	status = lc__cursor_pin(c->first, &p->first);
	if (status != LC_OK) {
		drop_decoded(c);
		free(p);
		return status;
	}
	p->pin.drop = drop_pin;
	p->source = lc__source_hold(&c->join->source);
	p->pin.bytes = sizeof(*p) + n * sizeof(p->decoded[0]) + lc__pin_bytes(p->first);
	p->n = n;
	for (size_t i = 0; i < n; i++) {
		p->decoded[i] = c->readers[i].decoded;
		memset(&c->readers[i].decoded, 0, sizeof(c->readers[i].decoded));
		p->pin.bytes += lc__block_list_bytes(&p->decoded[i]);
	}
	*out = &p->pin;
	return LC_OK;
}

/* ---- in a chunk: only the selected records count --------------------------------- */

static lc_status
go(struct lc__cursor *cursor, uint64_t position)
{
	struct join_cursor *c = of(cursor);
	struct lc__chunk_row row;

	return_if_error(lc__layout_row(cursor->layout, position, &row));
	return_if_error(lc__cursor_go(c->first, row.ordinal));
	c->kept = c->join->kept[row.ordinal];
	lc__cursor_counts(c->first, &cursor->hits, &cursor->misses);
	return LC_OK;
}

/* The number of a record in the chunk of the first source. */
static uint64_t
number_of(const struct join_cursor *c, uint64_t record)
{
	return c->kept == NULL ? record : lc__selection_at(c->kept, record);
}

static uint64_t
units(const struct lc__cursor *cursor, uint64_t record)
{
	const struct join_cursor *c = of_const(cursor);

	return lc__cursor_units(c->first, number_of(c, record));
}

static lc_status
find(struct lc__cursor *cursor, uint64_t unit, uint64_t *record, uint64_t *before)
{
	struct join_cursor *c = of(cursor);
	uint64_t size;

	if (c->kept == NULL)
		return lc__cursor_find(c->first, unit, record, before);
	if (unit >= c->kept->sum)
		return lc__error(LC_NOT_FOUND, 0, "%s: the chunk has no unit %llu",
		    c->join->source.name, (unsigned long long)unit);
	lc__selection_find(c->kept, unit, record, before);
	while ((size = units(cursor, *record)) <= unit - *before) {
		*before += size;
		++*record;
	}
	return LC_OK;
}

static void
willneed(struct lc__cursor *cursor, uint64_t first, uint64_t n)
{
	struct join_cursor *c = of(cursor);
	uint64_t from, last;

	if (c->kept == NULL) {
		lc__cursor_willneed(c->first, first, n);
		return;
	}
	if (n > c->kept->n - first)
		n = c->kept->n - first;
	if (n == 0)
		return;
	from = number_of(c, first);
	last = number_of(c, first + n - 1);
	lc__cursor_willneed(c->first, from, last - from + 1);
}

static const unsigned char *
address(const struct lc__cursor *cursor, uint64_t record)
{
	const struct join_cursor *c = of_const(cursor);

	return lc__cursor_address(c->first, number_of(c, record));
}

static uint64_t
stored(const struct lc__cursor *cursor, uint64_t record)
{
	const struct join_cursor *c = of_const(cursor);

	return lc__cursor_stored(c->first, number_of(c, record));
}

static lc_status
name_of(struct lc__cursor *cursor, uint64_t record, lc_id *id, lc_id *run)
{
	struct join_cursor *c = of(cursor);

	return lc__cursor_name(c->first, number_of(c, record), id, run);
}

/* ---- which module has a field --------------------------------------------------------- */

const char *
lc__join_field(const char *name, const char *field)
{
	const size_t size = name == NULL ? 0 : strlen(name);

	if (name == NULL)
		return field;
	if (strncmp(field, name, size) != 0)
		return NULL;
	if (field[size] == '\0')
		return ".";
	return field[size] == '.' ? field + size + 1 : NULL;
}

static const char *
module_name(const struct lc__join_source *join, size_t module)
{
	return module == 0 ? join->name : join->partners[module - 1].name;
}

static void
free_route(struct route *route)
{
	free(route->paths);
	free(route->slots);
	free(route->ends);
	free(route->tensors);
	memset(route, 0, sizeof(*route));
}

/* The paths of each module's fields, one module after another. */
static lc_status
sort_fields(const struct lc__join_source *join, struct route *route)
{
	size_t at = 0;

	for (size_t m = 0; m <= join->n; m++) {
		for (size_t i = 0; i < route->n; i++) {
			const char *path = lc__join_field(module_name(join, m),
			    route->fields[i]);

			if (path == NULL)
				continue;
			route->paths[at] = path;
			route->slots[at++] = i;
		}
		route->ends[m] = at;
	}
	for (size_t i = 0; at < route->n; i++) {
		size_t m = 0;

		while (m <= join->n &&
		    lc__join_field(module_name(join, m), route->fields[i]) == NULL)
			m++;
		if (m > join->n)
			return lc__error(LC_SCHEMA, 0,
			    "%s: field %s begins with none of these modules",
			    join->source.name, route->fields[i]);
	}
	return LC_OK;
}

/* Find the module of each field, unless it is known. Record readers identify paths by the
 * address of their array: other paths must get another array, so the old one is freed
 * only after the new one was allocated. */
static lc_status
need_route(struct join_cursor *c, const char *const *fields, size_t n)
{
	struct route route = { .fields = fields, .n = n };
	lc_status status;

	if (c->route.fields == fields && c->route.n == n && c->route.ends != NULL)
		return LC_OK;
	route.paths = calloc(n + 1, sizeof(*route.paths));
	route.slots = calloc(n + 1, sizeof(*route.slots));
	route.ends = calloc(c->join->n + 1, sizeof(*route.ends));
	route.tensors = calloc(n + 1, sizeof(*route.tensors));
	status = route.paths == NULL || route.slots == NULL || route.ends == NULL ||
		route.tensors == NULL
	    ? lc__no_memory("read")
	    : sort_fields(c->join, &route);
	if (status != LC_OK) {
		free_route(&route);
		return status;
	}
	free_route(&c->route);
	c->route = route;
	return LC_OK;
}

/* ---- records ---------------------------------------------------------------------------- */

lc_status
lc__join_find(struct lc__join_partner *partner, lc_id id, lc_verify_mode verify,
    struct lc__lookup *out)
{
	lc__lookup_start(out, partner->env, id.data, id.size);
	out->reads = true;
	return lc__index_find(partner->snapshot, out, verify);
}

/* The record was in this snapshot when the join was opened. */
static lc_status
find_partner(const struct join_cursor *c, struct lc__join_partner *partner, lc_id id,
    struct lc__lookup *out)
{
	const lc_verify_mode mode = c->join->source.verify;
	const lc_status status = lc__join_find(partner, id,
	    mode == LC_VERIFY_ONCE ? mode : LC_VERIFY_ALWAYS, out);

	if (status != LC_NOT_FOUND)
		return status;
	return lc__error(LC_CORRUPT, 0,
	    "%s: key %s: its cache_id has changed since the join was opened",
	    c->join->source.name, lc__quote_id(id.data, id.size));
}

/* With a plan for the schema, reading a record does not use the snapshot: the lock is
 * held for the look-up only, and other threads can look up while this one verifies and
 * decodes. */
static lc_status
read_partner(struct join_cursor *c, size_t i, lc_id id, const char *const *paths,
    size_t n, const struct lc__row_span *rows, lc_tensor *tensors)
{
	struct lc__join_partner *partner = &c->join->partners[i];
	struct lc__record_reader *reader = &c->readers[i];
	const struct lc__field_plan *plan;
	struct lc__lookup lookup;
	bool planned = false;
	lc_status status;

	pthread_mutex_lock(&partner->lock);
	status = find_partner(c, partner, id, &lookup);
	if (status == LC_OK) {
		if (reader->verify == LC_VERIFY_ONCE)
			reader->seen = lc__snapshot_seen(partner->snapshot,
			    lookup.location);
		plan = &reader->plans[lookup.record.schema % LC__FIELD_PLANS];
		planned = plan->schema != NULL && plan->id == lookup.record.schema &&
		    plan->fields == paths && plan->n == n;
		if (!planned)
			status = lc__record_read(reader, partner->snapshot,
			    &lookup.record, paths, n, rows, NULL, tensors);
	}
	pthread_mutex_unlock(&partner->lock);
	if (planned)
		status = lc__record_read(reader, partner->snapshot, &lookup.record, paths,
		    n, rows, NULL, tensors);
	return status;
}

static lc_status
read_record(struct lc__cursor *cursor, uint64_t number, const char *const *fields,
    size_t n, const struct lc__row_span *rows, struct lc__copier *copier,
    lc_tensor *tensors, lc_id *id)
{
	const bool again = rows != NULL && rows->done > 0;
	struct join_cursor *c = of(cursor);
	struct route *route = &c->route;

	return_if_error(need_route(c, fields, n));
	/* All fields are those of the first source, in their order. */
	if (c->join->n == 0)
		return c->first->kind->read(c->first, number_of(c, number), route->paths,
		    n, rows, copier, tensors, id);
	return_if_error(lc__cursor_read(c->first, number_of(c, number), route->paths,
	    route->ends[0], rows, route->tensors, id));
	for (size_t i = 0; i < c->join->n; i++) {
		const size_t from = route->ends[i], count = route->ends[i + 1] - from;

		if (count > 0)
			return_if_error(read_partner(c, i, *id, route->paths + from,
			    count, rows, route->tensors + from));
	}
	for (size_t i = 0; i < n && !again; i++)
		tensors[route->slots[i]] = route->tensors[i];
	return copier != NULL ? lc__copier_copy(copier, tensors, n) : LC_OK;
}

/* A part of a split has the records of its source unchanged. */
static lc_status
view(struct lc__cursor *cursor, uint64_t number, lc_view *out)
{
	struct join_cursor *c = of(cursor);

	if (c->join->name == NULL)
		return lc__cursor_view(c->first, number_of(c, number), out);
	end(cursor);
	return lc__error(LC_UNSUPPORTED, 0,
	    "%s: a record of a join is several records: view each in its module by "
	    "its cache_id",
	    c->join->source.name);
}

static uint64_t
touched(const struct lc__cursor *cursor)
{
	const struct join_cursor *c = of_const(cursor);
	uint64_t bytes = lc__cursor_touched(c->first);

	for (size_t i = 0; i < c->join->n; i++)
		bytes += c->readers[i].touched;
	return bytes;
}

/* Of the first module only: the partners' records are not looked up yet. */
static lc_status
extents(struct lc__cursor *cursor, uint64_t number, const char *const *fields, size_t n,
    const struct lc__row_span *rows, struct lc__extents *out)
{
	struct join_cursor *c = of(cursor);

	return_if_error(need_route(c, fields, n));
	return lc__cursor_extents(c->first, number_of(c, number), c->route.paths,
	    c->route.ends[0], rows, out);
}

static void
willneed_bytes(struct lc__cursor *cursor, struct lc__extent extent)
{
	lc__cursor_willneed_bytes(of(cursor)->first, extent);
}

/* ---- the fields of a record ---------------------------------------------------------------- */

struct naming {
	char **names; /* malloc'ed, and each too */
	size_t n, room;
};

/* Add the names of a module's fields, prefixed with its own name. Takes ownership of
 * them. */
static lc_status
add_names(struct naming *all, const char *module, char **names, size_t n)
{
	lc_status status;

	if (module == NULL) {
		all->names = names;
		all->n = n;
		return LC_OK;
	}
	status = lc__array_reserve(&all->names, &all->room, all->n + n + 1, "read");
	for (size_t i = 0; i < n && status == LC_OK; i++) {
		const bool whole = strcmp(names[i], ".") == 0;
		const size_t size = strlen(module) + strlen(names[i]) + 2;
		char *name = malloc(size);

		if (name == NULL) {
			status = lc__no_memory("read");
			break;
		}
		snprintf(name, size, "%s%s%s", module, whole ? "" : ".",
		    whole ? "" : names[i]);
		all->names[all->n++] = name;
	}
	lc__field_names_free(names, n);
	return status;
}

static lc_status
all_fields(struct join_cursor *c, uint64_t number, struct naming *all)
{
	char **names;
	size_t n;
	lc_id id, run;

	return_if_error(lc__cursor_fields(c->first, number, &names, &n));
	return_if_error(add_names(all, c->join->name, names, n));
	return_if_error(lc__cursor_name(c->first, number, &id, &run));
	for (size_t i = 0; i < c->join->n; i++) {
		struct lc__join_partner *partner = &c->join->partners[i];
		struct lc__lookup lookup;
		lc_status status;

		pthread_mutex_lock(&partner->lock);
		status = find_partner(c, partner, id, &lookup);
		if (status == LC_OK)
			status = lc__record_fields(&c->readers[i], partner->snapshot,
			    &lookup.record, &names, &n);
		pthread_mutex_unlock(&partner->lock);
		return_if_error(status);
		return_if_error(add_names(all, partner->name, names, n));
	}
	return LC_OK;
}

static lc_status
fields_of(struct lc__cursor *cursor, uint64_t record, char ***names, size_t *n)
{
	struct join_cursor *c = of(cursor);
	struct naming all = { .names = NULL };
	const lc_status status = all_fields(c, number_of(c, record), &all);

	if (status != LC_OK) {
		lc__field_names_free(all.names, all.n);
		return status;
	}
	*names = all.names;
	*n = all.n;
	return LC_OK;
}

/* ---- making and freeing ----------------------------------------------------------------------- */

static void
free_cursor(struct lc__cursor *cursor)
{
	struct join_cursor *c = of(cursor);

	for (size_t i = 0; c->readers != NULL && i < c->join->n; i++)
		lc__record_reader_free(&c->readers[i]);
	lc__cursor_free(c->first);
	free(c->readers);
	free_route(&c->route);
	free(c);
}

static const struct lc__cursor_kind join_cursor_kind = {
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
	.touched = touched,
	.extents = extents,
	.willneed_bytes = willneed_bytes,
};

lc_status
lc__join_cursor_new(lc_source *source, struct lc__cursor **out)
{
	struct lc__join_source *join = lc__join_source_of(source);
	struct join_cursor *c = calloc(1, sizeof(*c));
	lc_status status;

	if (c == NULL)
		return lc__no_memory("read");
	c->base.kind = &join_cursor_kind;
	c->join = join;
	c->readers = calloc(join->n + 1, sizeof(*c->readers));
	status = c->readers == NULL ? lc__no_memory("read")
				    : lc__cursor_new(join->first, join->all, &c->first);
	if (status != LC_OK) {
		free_cursor(&c->base);
		return status;
	}
	for (size_t i = 0; i < join->n; i++)
		c->readers[i].verify = source->verify;
	*out = &c->base;
	return LC_OK;
}

/* ---- records as values, for an export ---------------------------------------------- */

struct lc__join_records {
	struct lc__join_source *source;
	lc_cache *const *partners;
	size_t n;
	struct lc__decoder decoders[]; /* one a partner */
};

lc_status
lc__join_records_new(lc_source *join, lc_cache *const *partners, size_t n,
    struct lc__join_records **out)
{
	struct lc__join_records *records = calloc(1,
	    sizeof(*records) + n * sizeof(records->decoders[0]));

	if (records == NULL)
		return lc__no_memory(NULL);
	records->source = lc__join_source_of(join);
	records->partners = partners;
	records->n = n;
	*out = records;
	return LC_OK;
}

lc_status
lc__join_records_read(struct lc__join_records *records, size_t i, lc_id id, bool listed,
    const lc_value **out)
{
	struct lc__join_partner *partner = &records->source->partners[i];
	struct lc__decoder *decoder = &records->decoders[i];
	struct lc__lookup lookup;

	return_if_error(lc__join_find(partner, id, LC_VERIFY_ALWAYS, &lookup));
	decoder->record = lookup.record;
	return_if_error(lc__decoder_open(decoder, records->partners[i], partner->snapshot,
	    lookup.location, !listed));
	decoder->listed = listed;
	return lc__decoder_value(decoder, NULL, out);
}

void
lc__join_records_end(struct lc__join_records *records)
{
	for (size_t i = 0; i < records->n; i++) {
		lc__decoder_close(&records->decoders[i]);
		memset(&records->decoders[i], 0, sizeof(records->decoders[i]));
	}
}

void
lc__join_records_free(struct lc__join_records *records)
{
	if (records == NULL)
		return;
	lc__join_records_end(records);
	free(records);
}
