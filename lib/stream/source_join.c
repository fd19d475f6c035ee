/* SPDX-License-Identifier: BSD-2-Clause */
/* A join as a source: opens the modules and matches their records. */
#include "stream/source_join.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/words.h"
#include "store/flush.h"
#include "stream/cursor.h"
#include "value/path.h"

/* ---- words ---------------------------------------------------------------------- */

static const char *const missings[] = {
	[LC_MISSING_REFUSE] = "refuse",
	[LC_MISSING_DROP] = "drop",
	NULL,
};

const char *
lc_missing_name(lc_missing missing)
{
	return lc__word(missings, (unsigned)missing);
}

lc_status
lc_missing_parse(const char *name, lc_missing *out)
{
	unsigned i;

	return_if_error(
	    lc__word_parse("way to treat missing partners", missings, name, &i));
	*out = (lc_missing)i;
	return LC_OK;
}

/* ---- matching ------------------------------------------------------------------ */

/* Looks up all records of the first source in the partners, chunk by chunk. */
struct matching {
	struct lc__join_source *join;
	struct lc__cursor *cursor;
	struct lc__selection *selection; /* of the present chunk */
	struct lc__buf found;            /* locations of its partners' records */
	struct lc__row_array *array;
	uint64_t prefix_hash;
	struct lc__buf lacking; /* the first cache_id that a partner does not have */
	uint64_t matched, lost; /* records */
};

/* Select a record if it is in the part of the split that is read, and all partners have
 * its cache_id. Otherwise count it for each partner without it. */
static lc_status
match_record(struct matching *m, uint64_t record)
{
	const struct lc__split_parts *parts = &m->join->parts;
	const size_t before = m->found.size;
	bool all = true;
	lc_id id, run;

	return_if_error(lc__cursor_name(m->cursor, record, &id, &run));
	if (parts->n > 0) {
		const lc_id key = parts->by_run ? run : id;

		if (key.size == 0)
			return lc__error(LC_INVALID, 0,
			    "%s: a record has no %s to split by", m->join->source.name,
			    parts->by_run ? "run" : "cache_id");
		if (lc__parts_of(parts, key.data, key.size) != m->join->part)
			return LC_OK;
	}
	for (size_t i = 0; i < m->join->n; i++) {
		struct lc__join_partner *partner = &m->join->partners[i];
		struct lc__lookup lookup;
		const lc_status status = lc__join_find(partner, id, LC_VERIFY_ALWAYS,
		    &lookup);

		if (status == LC_OK) {
			lc__buf_append64(&m->found, lookup.location);
			continue;
		}
		if (status != LC_NOT_FOUND)
			return status;
		partner->missing++;
		all = false;
	}
	if (!all) {
		m->found.size = before;
		if (m->lost++ == 0)
			lc__buf_append(&m->lacking, id.data, id.size);
		return LC_OK;
	}
	m->matched++;
	if (lc__selection_add(m->selection, record, lc__cursor_units(m->cursor, record)))
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s: the records' lengths overflow",
	    m->join->first->name);
}

/* The row of a chunk of the join, with a hash over its selected records and the locations
 * of the partners' records. */
static lc_status
add_row(struct matching *m, uint64_t position, struct lc__chunk_row *row)
{
	const struct lc__selection *s = m->selection;
	struct lc__buf *text = &m->found;

	lc__buf_append64(text, m->prefix_hash);
	lc__buf_append64(text, row->prefix_hash);
	for (size_t i = 0; i < lc__selection_words(s); i++)
		lc__buf_append64(text, s->words[i]);
	if (text->failed || m->lacking.failed)
		return lc__no_memory("join");
	row->records = s->n;
	row->units = s->sum;
	row->ordinal = position;
	row->prefix_hash = m->prefix_hash = lc__hash64(text->data, text->size);
	return lc__row_array_add(m->array, row);
}

static lc_status
match_chunk(struct matching *m, uint64_t position)
{
	struct lc__chunk_row row;
	lc_status status;

	return_if_error(lc__layout_row(m->join->all, position, &row));
	m->selection = lc__selection_new(row.records);
	if (m->selection == NULL)
		return lc__no_memory("join");
	m->found.size = 0;
	status = lc__cursor_go(m->cursor, position);
	for (uint64_t i = 0; status == LC_OK && i < row.records; i++)
		status = match_record(m, i);
	lc__selection_end(m->selection);
	if (status == LC_OK)
		status = add_row(m, position, &row);
	/* A chunk with all records selected needs no selection. */
	if (status == LC_OK && m->selection->n < m->selection->records)
		m->join->kept[position] = m->selection;
	else
		lc__selection_free(m->selection);
	return status;
}

/* The text lists the partners: "10 missing in vae, 2 missing in t5". */
static lc_status
refuse(const struct matching *m)
{
	struct lc__buf text = { 0 };
	lc_status status;

	for (size_t i = 0; i < m->join->n; i++) {
		const struct lc__join_partner *partner = &m->join->partners[i];

		if (partner->missing > 0)
			lc__buf_printf(&text, "%s%llu missing in %s",
			    text.size > 0 ? ", " : "",
			    (unsigned long long)partner->missing, partner->name);
	}
	lc__buf_append(&text, "", 1);
	status = lc__error(LC_SCHEMA, 0,
	    "%s: %llu of %llu records have no partner: %s; the first is %s",
	    m->join->source.name, (unsigned long long)m->lost,
	    (unsigned long long)(m->lost + m->matched),
	    text.failed ? "…" : (const char *)text.data,
	    lc__quote_id(m->lacking.data, m->lacking.size));
	lc__buf_free(&text);
	return status;
}

/* ---- its uuid and its layout -------------------------------------------------------- */

/* Computed from the uuids of all modules in order, and the names with which their fields
 * begin. Another part, or another split, is another source. */
static lc_status
make_uuid(const struct lc__join_source *join, uint8_t uuid[16])
{
	const struct lc__split_parts *parts = &join->parts;
	struct lc__buf text = { 0 };
	uint64_t hash[2];
	bool failed;

	lc__buf_append(&text, lc__layout_info(join->all)->uuid, 16);
	if (join->name != NULL)
		lc__buf_append(&text, join->name, strlen(join->name) + 1);
	if (parts->n > 0) {
		lc__buf_append64(&text, parts->seed);
		lc__buf_append64(&text, parts->by_run);
		lc__buf_append64(&text, join->part > 0 ? parts->ends[join->part - 1] : 0);
		lc__buf_append64(&text, parts->ends[join->part]);
		lc__buf_append64(&text, parts->ends[parts->n - 1]);
	}
	for (size_t i = 0; i < join->n; i++) {
		const struct lc__join_partner *partner = &join->partners[i];

		lc__buf_append(&text, lc__env_module(partner->env)->uuid, 16);
		lc__buf_append(&text, partner->name, strlen(partner->name) + 1);
	}
	failed = text.failed;
	if (!failed) {
		lc__hash128(text.data, text.size, hash);
		lc__set64(uuid, hash[0]);
		lc__set64(uuid + 8, hash[1]);
	}
	lc__buf_free(&text);
	return failed ? lc__no_memory("join") : LC_OK;
}

static lc_status
make_layout(struct matching *m, lc_missing missing, struct lc__layout **out)
{
	struct lc__join_source *join = m->join;
	lc_source_info info = *lc__layout_info(join->all);
	lc_status status = LC_OK;

	return_if_error(lc__cursor_begin(m->cursor));
	for (uint64_t i = 0; status == LC_OK && i < join->chunks; i++)
		status = match_chunk(m, i);
	lc__cursor_end(m->cursor);
	return_if_error(status);
	if (m->lost > 0 && missing == LC_MISSING_REFUSE)
		return refuse(m);

	return_if_error(make_uuid(join, info.uuid));
	lc__row_array_sum(m->array, &info);
	info.prefix_hash = m->prefix_hash;
	info.dropped = m->lost;
	info.final = 1;
	return_if_error(lc__layout_new(&info, &m->array->rows, 0, out));
	lc__layout_set_series(*out, lc__layout_series(join->all));
	return LC_OK;
}

static lc_status
match_modules(struct lc__join_source *join, lc_missing missing)
{
	struct matching m = { .join = join, .array = lc__row_array_new() };
	lc_status status = m.array != NULL ? LC_OK : lc__no_memory("join");

	join->all = lc__source_layout(join->first);
	join->chunks = lc__layout_info(join->all)->chunks;
	join->kept = join->chunks < SIZE_MAX / sizeof(struct lc__selection *)
	    ? calloc((size_t)join->chunks + 1, sizeof(struct lc__selection *))
	    : NULL;
	if (join->kept == NULL) {
		join->chunks = 0;
		status = lc__no_memory("join");
	}
	if (status == LC_OK)
		status = lc__cursor_new(join->first, join->all, &m.cursor);
	if (status == LC_OK)
		status = make_layout(&m, missing, &join->source.layout);
	lc__cursor_free(m.cursor);
	if (m.array != NULL)
		lc__rows_drop(&m.array->rows);
	lc__buf_free(&m.found);
	lc__buf_free(&m.lacking);
	return status;
}

/* ---- as a source ------------------------------------------------------------------- */

/* A join does not grow. */
static lc_status
newest(lc_source *source, struct lc__layout *old, struct lc__layout **out)
{
	(void)old;
	*out = lc__source_layout(source);
	return LC_OK;
}

/* The chunks of a join correspond to those of its first source. */
static lc_status
chunks_at(lc_source *source, struct lc__layout *layout, uint64_t generation,
    uint64_t *chunks)
{
	struct lc__join_source *join = lc__join_source_of(source);

	(void)layout;
	return join->first->kind->chunks_at(join->first, join->all, generation, chunks);
}

static void
free_source(lc_source *source)
{
	struct lc__join_source *join = lc__join_source_of(source);

	for (size_t i = 0; i < join->n; i++) {
		struct lc__join_partner *partner = &join->partners[i];

		if (partner->snapshot != NULL)
			lc__snapshot_end_keep(partner->snapshot);
		lc__cache_let_close(partner->cache);
		pthread_mutex_destroy(&partner->lock);
		free(partner->name);
	}
	for (uint64_t i = 0; i < join->chunks; i++)
		lc__selection_free(join->kept[i]);
	free(join->kept);
	free(join->partners);
	lc__layout_drop(join->all);
	lc_source_close(join->first);
	free(join->name);
	free(join);
}

/* A part of a split has the chunks of its source; partners are modules of this machine. */
static lc_status
fetched(lc_source *source, struct lc__layout *layout, uint64_t first,
    struct lc__fetched_list *out)
{
	struct lc__join_source *join = lc__join_source_of(source);

	(void)layout;
	return lc__source_fetched(join->first, join->all, first, out);
}

/* Its rows have the ids of those of the first source. */
static lc_status
file_bytes(lc_source *source, uint64_t shard, uint64_t *bytes)
{
	return lc__source_file_bytes(lc__join_source_of(source)->first, shard, bytes);
}

static const struct lc__source_kind join_kind = {
	.newest = newest,
	.chunks_at = chunks_at,
	.commit = lc__final_commit,
	.is_abandoned = lc__final_never,
	.has_inputs = lc__final_never,
	.cursor_new = lc__join_cursor_new,
	.free = free_source,
	.fetched = fetched,
	.file_bytes = file_bytes,
};

/* ---- opening ----------------------------------------------------------------------- */

static lc_status
check_modules(const lc_join *modules, size_t n, lc_missing missing)
{
	if (modules == NULL || n == 0)
		return lc__error(LC_INVALID, 0, "join: no modules");
	if (missing != LC_MISSING_REFUSE && missing != LC_MISSING_DROP)
		return lc__error(LC_INVALID, 0,
		    "join: %d is not a way to treat missing partners", (int)missing);
	for (size_t i = 0; i < n; i++) {
		if (modules[i].name == NULL || *modules[i].name == '\0' ||
		    modules[i].cache == NULL)
			return lc__error(LC_INVALID, 0,
			    "join: module %zu has no name or no handle", i);
		for (size_t k = 0; k < i; k++)
			if (strcmp(modules[i].name, modules[k].name) == 0)
				return lc__error(LC_INVALID, 0,
				    "join: two modules are "
				    "named %s: their fields would have the same names",
				    modules[i].name);
	}
	return LC_OK;
}

/* The name as a step of a path; NULL without memory. */
static char *
escape(const char *name)
{
	struct lc__buf text = { 0 };

	lc__path_name(&text, name);
	if (text.failed)
		lc__buf_free(&text);
	return (char *)text.data;
}

/* The length field belongs to the first module: "module.field" in the join, "field" in
 * the module. */
static lc_status
open_first(struct lc__join_source *join, const lc_join *module,
    const lc_source_options *options)
{
	lc_source_options own = *options;
	const char *field;
	int size;

	own.part = own.split = NULL;
	if (own.length_field != NULL && *own.length_field != '\0') {
		own.length_field = lc__join_field(join->name, own.length_field);
		if (own.length_field == NULL)
			return lc__error(LC_INVALID, 0,
			    "join: the length field %s is "
			    "not one of %s, which gives the order",
			    options->length_field, join->name);
	}
	return_if_error(lc_source_open_module(module->cache, &own, &join->first));
	field = lc__source_length_field(join->first);
	size = *field == '\0'
	    ? 0
	    : snprintf(join->source.length_field, sizeof(join->source.length_field),
		  "%s%s%s", join->name, strcmp(field, ".") == 0 ? "" : ".",
		  strcmp(field, ".") == 0 ? "" : field);
	if (size >= (int)sizeof(join->source.length_field))
		return lc__error(LC_INVALID, 0,
		    "join: the name of the length field is longer than %d bytes",
		    LC_LENGTH_FIELD_MAX);
	return LC_OK;
}

/* ---- one part of a split -------------------------------------------------------------- */

static lc_status
take_parts(struct lc__join_source *join, const lc_source_options *options)
{
	if (options->part == NULL)
		return LC_OK;
	if (options->split == NULL)
		return lc__error(LC_INVALID, 0, "%s: part '%.100s' needs a split",
		    join->source.name, options->part);
	return_if_error(lc__parts_parse(options->split, &join->parts));
	join->parts.seed = options->split_seed;
	join->parts.by_run = options->split_by_run != 0;
	return lc__parts_named(&join->parts, options->part, &join->part);
}

lc_status
lc__source_take_part(lc_source *source, const lc_source_options *options, lc_source **out)
{
	struct lc__join_source *join;
	lc_source_options plain = *options;
	lc_status status;

	if (options->part == NULL) {
		*out = source;
		return LC_OK;
	}
	join = calloc(1, sizeof(*join));
	if (join == NULL) {
		lc_source_close(source);
		return lc__no_memory("join");
	}
	plain.length_field = source->length_field;
	join->first = source;
	status = lc__source_begin(&join->source, &join_kind, source->name, &plain);
	join->source.pinned = true;
	if (status == LC_OK)
		status = take_parts(join, options);
	if (status == LC_OK)
		status = match_modules(join, LC_MISSING_REFUSE);
	if (status != LC_OK) {
		lc_source_close(&join->source);
		return status;
	}
	*out = &join->source;
	return LC_OK;
}

/* ---- several modules ------------------------------------------------------------------- */

static lc_status
open_modules(struct lc__join_source *join, const lc_join *modules, size_t n,
    lc_missing missing, const lc_source_options *options)
{
	join->name = escape(modules[0].name);
	join->partners = calloc(n, sizeof(*join->partners));
	if (join->name == NULL || join->partners == NULL)
		return lc__no_memory("join");
	return_if_error(take_parts(join, options));
	return_if_error(open_first(join, &modules[0], options));
	for (size_t i = 1; i < n; i++) {
		struct lc__join_partner *partner = &join->partners[join->n++];

		pthread_mutex_init(&partner->lock, NULL);
		partner->cache = modules[i].cache;
		partner->env = partner->cache->env;
		lc__cache_keep_open(partner->cache);
		partner->name = escape(modules[i].name);
		if (partner->name == NULL)
			return lc__no_memory("join");
		return_if_error(lc__flush_all(modules[i].cache));
		return_if_error(lc__snapshot_take(partner->env, &partner->snapshot));
		lc__snapshot_keep(partner->snapshot);
	}
	return match_modules(join, missing);
}

lc_status
lc_source_open_join(const lc_join *modules, size_t n, lc_missing missing,
    const lc_source_options *given, lc_source **out)
{
	struct lc__join_source *join;
	lc_source_options options, plain;
	struct lc__buf name = { 0 }; /* "a+b+c", for messages */
	lc_status status;

	return_if_error(lc__source_options_of(given, &options));
	return_if_error(check_modules(modules, n, missing));
	join = calloc(1, sizeof(*join));
	for (size_t i = 0; i < n; i++)
		lc__buf_printf(&name, "%s%s", i > 0 ? "+" : "", modules[i].name);
	lc__buf_append(&name, "", 1);
	if (join == NULL || name.failed) {
		free(join);
		lc__buf_free(&name);
		return lc__no_memory("join");
	}
	plain = options;
	plain.length_field = NULL;
	status = lc__source_begin(&join->source, &join_kind, (const char *)name.data,
	    &plain);
	lc__buf_free(&name);
	join->source.pinned = true;
	if (status == LC_OK)
		status = open_modules(join, modules, n, missing, &options);
	if (status != LC_OK) {
		lc_source_close(&join->source);
		return status;
	}
	*out = &join->source;
	return LC_OK;
}

lc_status
lc_source_missing(const lc_source *source, size_t i, uint64_t *out)
{
	const struct lc__join_source *join = (const struct lc__join_source *)source;

	if (source->kind != &join_kind || i > join->n)
		return lc__error(LC_INVALID, 0, "%s: is not a join of %zu modules",
		    source->name, i + 1);
	*out = i == 0 ? 0 : join->partners[i - 1].missing;
	return LC_OK;
}
