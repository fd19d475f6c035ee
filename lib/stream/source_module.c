/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules as sources: their chunks in order, how far that goes, who still writes. */
#include "stream/source_module.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/change.h"
#include "store/chunk_order.h"
#include "store/flush.h"
#include "store/settings.h"
#include "stream/layout.h"
#include "stream/source_join.h"

/* ---- places ------------------------------------------------------------------ */

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

lc_status
lc__module_places(struct lc__module_source *m, struct lc__snapshot *snapshot,
    uint64_t chunk, const struct lc__places_ask *ask, struct lc__places **out,
    bool *known)
{
	const struct lc__places_key key = { chunk, ask->row->records,
		ask->row->live, ask->row->hash, ask->row->ordinal };

	*out = lc__places_cache_get(m->places, &key);
	*known = *out != NULL;
	if (*known)
		return LC_OK;
	return_if_error(lc__places_read(snapshot, &key, ask, out));
	lc__places_cache_put(m->places, out);
	return LC_OK;
}

void
lc__module_info(const struct lc__module_source *m, lc_source_info *info)
{
	memset(info, 0, sizeof(*info));
	memcpy(info->uuid, lc__env_module(m->env)->uuid, sizeof(info->uuid));
	info->has_lengths = *m->source.length_field != '\0';
}

lc_status
lc__module_check_length(const struct lc__module_source *m, uint64_t length)
{
	if (length == 0 || !m->own_lengths || *m->source.length_field != '\0')
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%s: its records have lengths, but its "
	    "settings name no length field: they are lost", m->source.name);
}

/* ---- as a source ---------------------------------------------------------------- */

static lc_status
newest(lc_source *source, struct lc__layout *old, struct lc__layout **out)
{
	struct lc__module_source *m = lc__module_source_of(source);
	struct lc__snapshot *snapshot;
	lc_status status = LC_OK;

	return_if_error(lc__snapshot_take(m->env, &snapshot));
	if (old != NULL && lc__layout_commit(old) == snapshot->loaded)
		*out = lc__layout_hold(old);
	else
		status = snapshot->filled ?
		    lc__module_order(m, snapshot, old, out) :
		    lc__module_scan(m, snapshot, old, out);
	lc__snapshot_give(snapshot, 0);
	return status;
}

/* Chunks up to the one of that number, which with inputs is their number. */
static lc_status
chunks_at(lc_source *source, struct lc__layout *layout, uint64_t generation,
    uint64_t *chunks)
{
	const lc_source_info *info = lc__layout_info(layout);
	uint64_t low = 0, high = info->chunks;

	(void)source;
	/* So it is of plain puts that have each number once. */
	if (info->generation == info->chunks) {
		*chunks = generation;
		return LC_OK;
	}
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		struct lc__layout_row row;

		return_if_error(lc__layout_row(layout, middle, &row));
		if (row.id <= generation)
			low = middle + 1;
		else
			high = middle;
	}
	*chunks = low;
	return LC_OK;
}

static lc_status
newest_commit(lc_source *source, uint64_t *out)
{
	struct lc__env *env = lc__module_source_of(source)->env;
	lc_status status;

	lc__env_lock(env);
	status = lc__env_enter_locked(env);
	if (status == LC_OK) {
		*out = lc__env_last_txn(env);
		lc__env_leave_locked(env);
	}
	lc__env_unlock(env);
	return status;
}

/* Without inputs anybody may put. */
static lc_status
is_abandoned(lc_source *source, bool *out)
{
	struct lc__snapshot *snapshot;
	lc_fill fill = { .struct_size = sizeof(fill) };
	lc_status status = LC_OK;

	*out = false;
	return_if_error(lc__snapshot_take(lc__module_source_of(source)->env,
	    &snapshot));
	if (snapshot->filled) {
		status = lc__fill_load(snapshot, &fill);
		*out = status == LC_OK && !fill.final && fill.held == 0;
	}
	lc__snapshot_give(snapshot, 0);
	return status;
}

static void
free_source(lc_source *source)
{
	lc__places_cache_free(lc__module_source_of(source)->places);
	free(source);
}

static const struct lc__source_kind module_kind = {
	newest, chunks_at, newest_commit, is_abandoned, lc__module_cursor_new,
	free_source
};

/* ---- opening ---------------------------------------------------------------------- */

/* The module's own length field, unless another one is asked for. */
static lc_status
choose_length_field(struct lc__module_source *m,
    const lc_source_options *options)
{
	struct lc__snapshot *snapshot;
	lc_settings settings;
	lc_status status;

	return_if_error(lc__snapshot_take(m->env, &snapshot));
	status = lc__settings_load(m->env, snapshot->txn, &settings);
	lc__snapshot_give(snapshot, 0);
	return_if_error(status);
	if (options->length_field == NULL)
		strcpy(m->source.length_field, settings.length_field);
	m->own_lengths = strcmp(m->source.length_field,
	    settings.length_field) == 0;
	return LC_OK;
}

static lc_status
start(struct lc__module_source *m, const lc_source_options *options)
{
	return_if_error(choose_length_field(m, options));
	m->places = lc__places_cache_new(options->directory_bytes);
	if (m->places == NULL)
		return lc__no_memory("source");
	return lc__source_start(&m->source, options);
}

lc_status
lc_source_open_module(lc_cache *cache, const lc_source_options *given,
    lc_source **out)
{
	struct lc__module_source *m;
	lc_source_options options;
	lc_status status;

	return_if_error(lc__source_options_of(given, &options));
	return_if_error(lc__flush_all(cache));
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return lc__no_memory("source");
	m->env = cache->env;
	status = lc__source_begin(&m->source, &module_kind,
	    lc__env_dir(m->env), &options);
	if (status == LC_OK)
		status = start(m, &options);
	if (status != LC_OK) {
		lc_source_close(&m->source);
		return status;
	}
	return lc__source_take_part(&m->source, &options, out);
}

/* The layout of a module of plain puts: one scan of its ledger. */
/* A layout being made: one scan of the ledger. */
struct scan {
	struct lc__module_source *m;
	struct lc__snapshot *snapshot;
	struct lc__row_array *array;
	uint64_t prefix_hash;      /* so far */
	struct lc__layout *old;    /* what was known before, or NULL */
	uint64_t old_at;           /* the row of it to be looked at next */
};

/* The row that was known of a chunk, false if there is none: lengths that were added
 * up once need not be again. */
static bool
known_row(struct scan *s, uint64_t chunk, struct lc__layout_row *out)
{
	const uint64_t n = s->old == NULL ? 0 : lc__layout_info(s->old)->chunks;

	for (; s->old_at < n; s->old_at++) {
		if (lc__layout_row(s->old, s->old_at, out) != LC_OK ||
		    out->id > chunk)
			return false;
		if (out->id == chunk)
			return true;
	}
	return false;
}

static lc_status
add_up_units(struct scan *s, uint64_t chunk, const struct lc__ledger_row *row,
    uint64_t *out)
{
	const struct lc__places_ask ask = { .row = row,
		.length_field = s->m->source.length_field };
	struct lc__layout_row known;
	struct lc__places *places;
	bool kept;

	if (known_row(s, chunk, &known) && known.records == row->live &&
	    known.ordinal == row->ordinal) {
		*out = known.units;
		return LC_OK;
	}
	return_if_error(lc__module_places(s->m, s->snapshot, chunk, &ask, &places,
	    &kept));
	*out = places->units;
	lc__places_drop(places);
	return LC_OK;
}

static lc_status
scan_chunk(struct scan *s, uint64_t chunk, const struct lc__ledger_row *ledger)
{
	struct lc__layout_row row = { .id = chunk, .records = ledger->live,
		.units = ledger->live, .ordinal = ledger->ordinal };

	if (ledger->live == 0)
		return LC_OK;
	return_if_error(lc__module_check_length(s->m, ledger->length));
	if (*s->m->source.length_field != '\0' && s->m->own_lengths)
		row.units = ledger->length;
	else if (*s->m->source.length_field != '\0')
		return_if_error(add_up_units(s, chunk, ledger, &row.units));
	row.prefix_hash = s->prefix_hash = lc__plain_chain(s->prefix_hash, row.id,
	    ledger, row.units);
	return lc__row_array_add(s->array, &row);
}

static lc_status
scan_ledger(struct scan *s)
{
	struct lc__ledger_row row;
	uint64_t chunk = 0;
	lc_status status;
	bool intact;

	while ((status = lc__ledger_after(s->snapshot, chunk, &chunk, &row,
	    &intact)) == LC_OK) {
		if (!intact)
			return lc__error(LC_CORRUPT, 0, "%s: the ledger row of chunk "
			    "%llu is damaged", s->m->source.name,
			    (unsigned long long)chunk);
		return_if_error(scan_chunk(s, chunk, &row));
	}
	return status == LC_END ? LC_OK : status;
}

static lc_status
scan_layout(struct scan *s, struct lc__layout **out)
{
	lc_source_info info;

	return_if_error(scan_ledger(s));
	lc__module_info(s->m, &info);
	/* Chunk ids begin with 1. */
	info.generation = s->snapshot->state.next_chunk > 0 ?
	    s->snapshot->state.next_chunk - 1 : 0;
	info.prefix_hash = s->prefix_hash;
	lc__row_array_sum(s->array, &info);
	return lc__layout_new(&info, &s->array->rows, s->snapshot->loaded, out);
}

lc_status
lc__module_scan(struct lc__module_source *m, struct lc__snapshot *snapshot,
    struct lc__layout *old, struct lc__layout **out)
{
	struct scan s = { .m = m, .snapshot = snapshot, .old = old,
		.array = lc__row_array_new() };
	lc_status status;

	if (s.array == NULL)
		return lc__no_memory("source");
	status = scan_layout(&s, out);
	lc__rows_drop(&s.array->rows);
	return status;
}

/* The layout of a module with inputs: its published order. */
/* ---- rows as they are published ------------------------------------------------------ */

/* Those that are known, if the order still begins with them. */
static lc_status
share_rows(struct lc__layout *old, struct lc__snapshot *s, uint64_t n,
    struct lc__rows **out)
{
	struct lc__rows *rows = lc__layout_rows(old);
	bool same = false;

	return_if_error(lc__order_rows_extend(rows, s, n, &same));
	if (same)
		*out = lc__rows_hold(rows);
	return LC_OK;
}

static lc_status
published_rows(const struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, uint64_t n, struct lc__rows **out)
{
	lc_status status;
	bool same;

	*out = NULL;
	if (old != NULL && lc__is_order_rows(lc__layout_rows(old)))
		return_if_error(share_rows(old, s, n, out));
	if (*out != NULL)
		return LC_OK;
	return_if_error(lc__order_rows_new(m->env,
	    *m->source.length_field != '\0', out));
	status = lc__order_rows_extend(*out, s, n, &same);
	if (status != LC_OK)
		lc__rows_drop(*out);
	return status;
}

/* ---- rows with lengths of another field ------------------------------------------------ */

/* The chunk's records are measured, unless they were before. */
static lc_status
measure(struct lc__module_source *m, struct lc__snapshot *s,
    const struct lc__order_row *order, struct lc__layout_row *row)
{
	struct lc__places_ask ask = { .length_field = m->source.length_field };
	struct lc__ledger_row ledger;
	struct lc__places *places;
	lc_status status;
	bool kept;

	status = lc__module_ledger(s, order->chunk, &ledger);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: the ledger row of chunk %llu is "
		    "missing", m->source.name, (unsigned long long)order->chunk);
	return_if_error(status);
	ask.row = &ledger;
	return_if_error(lc__module_places(m, s, order->chunk, &ask, &places,
	    &kept));
	row->units = places->units;
	lc__places_drop(places);
	return LC_OK;
}

static lc_status
measured_row(struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, uint64_t position, struct lc__row_array *array)
{
	struct lc__order_row order;
	struct lc__layout_row row = { 0 };
	const lc_status status = lc__order_get(s, position, &order);

	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: order row %llu is missing",
		    m->source.name, (unsigned long long)position);
	return_if_error(status);
	if (old != NULL && position < lc__layout_info(old)->chunks)
		return_if_error(lc__layout_row(old, position, &row));
	if (row.id != order.chunk || row.prefix_hash != order.prefix_hash)
		return_if_error(measure(m, s, &order, &row));
	row.id = order.chunk;
	row.records = order.records;
	row.prefix_hash = order.prefix_hash;
	row.ordinal = order.ordinal;
	return lc__row_array_add(array, &row);
}

static lc_status
measured_rows(struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, uint64_t n, struct lc__rows **out)
{
	struct lc__row_array *array = lc__row_array_new();
	lc_status status = LC_OK;

	if (array == NULL)
		return lc__no_memory("source");
	for (uint64_t i = 0; status == LC_OK && i < n; i++)
		status = measured_row(m, s, old, i, array);
	if (status != LC_OK)
		lc__rows_drop(&array->rows);
	else
		*out = &array->rows;
	return status;
}

/* ---- the layout --------------------------------------------------------------------------- */

static lc_status
sum_up(struct lc__rows *rows, lc_source_info *info)
{
	struct lc__layout_row last = { 0 };

	if (info->chunks > 0)
		return_if_error(rows->kind->get(rows, info->chunks,
		    info->chunks - 1, &last));
	info->length = lc__row_end(&last, true);
	return LC_OK;
}

lc_status
lc__module_order(struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, struct lc__layout **out)
{
	const bool measured = *m->source.length_field != '\0' && !m->own_lengths;
	struct lc__rows *rows = NULL;
	struct lc__fill_row fill;
	lc_source_info info;
	lc_status status;

	return_if_error(lc__fill_get(s, &fill));
	/* Records are sought in chunks: without any, there is nowhere to begin. */
	if (fill.published == 0 && fill.records > 0)
		return lc__error(LC_CORRUPT, 0, "%s: the fill row counts %llu records in no "
		    "published chunk", m->source.name, (unsigned long long)fill.records);
	return_if_error(lc__module_check_length(m, fill.length));
	lc__module_info(m, &info);
	info.generation = info.chunks = fill.published;
	info.records = fill.records;
	info.length = info.has_lengths ? fill.length : fill.records;
	info.prefix_hash = fill.prefix_hash;
	info.final = fill.finished == fill.inputs;
	return_if_error(measured ?
	    measured_rows(m, s, old, fill.published, &rows) :
	    published_rows(m, s, old, fill.published, &rows));
	status = measured ? sum_up(rows, &info) : LC_OK;
	if (status == LC_OK)
		status = lc__layout_new(&info, rows, s->loaded, out);
	lc__rows_drop(rows);
	return status;
}
