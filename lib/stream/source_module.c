/* SPDX-License-Identifier: BSD-2-Clause */
/* A module as a source: its chunks in order, its generations, and whether it still has a
 * writer. */
#include "stream/source_module.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/change.h"
#include "store/chunk_order.h"
#include "store/flush.h"
#include "store/settings.h"
#include "stream/layout.h"
#include "stream/source_join.h"

/* The members that do not depend on the chunks; the rest is 0. */
static void
set_info(const struct lc__module_source *m, lc_source_info *info)
{
	memset(info, 0, sizeof(*info));
	memcpy(info->uuid, lc__env_module(m->env)->uuid, sizeof(info->uuid));
	info->has_lengths = *m->source.length_field != '\0';
}

/* LC_CORRUPT if records have lengths, and the settings of the module have lost their
 * field. */
static lc_status
check_length(const struct lc__module_source *m, uint64_t length)
{
	if (length == 0 || !m->own_lengths || *m->source.length_field != '\0')
		return LC_OK;
	return lc__error(LC_CORRUPT, 0,
	    "%s: its records have lengths, but its "
	    "settings name no length field: they are lost",
	    m->source.name);
}

/* The units of a chunk, counted by a field that the ledger does not sum. */
static lc_status
measure(struct lc__module_source *m, struct lc__snapshot *s, uint64_t chunk,
    const struct lc__ledger_row *ledger, uint64_t *units)
{
	const struct lc__record_offsets_input input = {
		.row = ledger,
		.length_field = m->source.length_field,
	};
	struct lc__record_offsets *offsets;
	bool known;

	return_if_error(
	    lc__offsets_cache_need(m->offsets, s, chunk, &input, &offsets, &known));
	*units = offsets->units;
	lc__record_offsets_drop(offsets);
	return LC_OK;
}

/* ---- the layout of plain puts: one scan of the ledger -------------------------------- */

struct scan {
	struct lc__module_source *m;
	struct lc__snapshot *snapshot;
	struct lc__row_array *array;
	uint64_t prefix_hash;   /* so far */
	struct lc__layout *old; /* what was known before, or NULL */
	uint64_t old_at;        /* the row of it to compare next */
};

static lc_status
scan_chunk(struct scan *s, uint64_t chunk, const struct lc__ledger_row *ledger)
{
	const uint64_t n_old = s->old == NULL ? 0 : lc__layout_info(s->old)->chunks;
	struct lc__chunk_row known = { 0 },
			     row = {
				     .id = chunk,
				     .records = ledger->live,
				     .units = ledger->live,
				     .ordinal = ledger->ordinal,
			     };

	if (ledger->live == 0)
		return LC_OK;
	return_if_error(check_length(s->m, ledger->length));
	if (*s->m->source.length_field != '\0' && s->m->own_lengths) {
		row.units = ledger->length;
	} else if (*s->m->source.length_field != '\0') {
		/* What the old layout counted need not be counted again. Both lists of
		 * chunks ascend. */
		for (; s->old_at < n_old; s->old_at++)
			if (lc__layout_row(s->old, s->old_at, &known) != LC_OK ||
			    known.id >= chunk)
				break;
		if (s->old_at < n_old && known.id == chunk &&
		    known.records == ledger->live && known.ordinal == ledger->ordinal)
			row.units = known.units;
		else
			return_if_error(
			    measure(s->m, s->snapshot, chunk, ledger, &row.units));
	}
	row.prefix_hash = s->prefix_hash = lc__plain_chain(s->prefix_hash, row.id, ledger,
	    row.units);
	return lc__row_array_add(s->array, &row);
}

static lc_status
scan_ledger(struct scan *s)
{
	struct lc__ledger_row row;
	uint64_t chunk = 0;
	lc_status status;
	bool intact;

	while ((status = lc__ledger_after(s->snapshot, chunk, &chunk, &row, &intact)) ==
	    LC_OK) {
		if (!intact)
			return lc__error(LC_CORRUPT, 0,
			    "%s: the ledger row of chunk %llu is damaged",
			    s->m->source.name, (unsigned long long)chunk);
		return_if_error(scan_chunk(s, chunk, &row));
	}
	return status == LC_END ? LC_OK : status;
}

/* @p old as in struct lc__source_kind. */
static lc_status
scan_layout(struct lc__module_source *m, struct lc__snapshot *snapshot,
    struct lc__layout *old, struct lc__layout **out)
{
	struct scan s = {
		.m = m,
		.snapshot = snapshot,
		.old = old,
		.array = lc__row_array_new(),
	};
	lc_source_info info;
	lc_status status;

	if (s.array == NULL)
		return lc__no_memory("source");
	status = scan_ledger(&s);
	if (status == LC_OK) {
		set_info(m, &info);
		/* Chunk ids begin with 1. */
		info.generation = snapshot->state.next_chunk > 0
		    ? snapshot->state.next_chunk - 1
		    : 0;
		info.prefix_hash = s.prefix_hash;
		lc__row_array_sum(s.array, &info);
		status = lc__layout_new(&info, &s.array->rows, snapshot->loaded, out);
	}
	lc__rows_drop(&s.array->rows);
	return status;
}

/* ---- the layout of a module with inputs: its published order ------------------------- */

/* The published rows. The layout shares those that the old one knows, if the order still
 * begins with them. */
static lc_status
published_rows(const struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, uint64_t n, struct lc__rows **out)
{
	lc_status status;
	bool same = false;

	if (old != NULL && lc__is_order_rows(lc__layout_rows(old))) {
		struct lc__rows *rows = lc__layout_rows(old);

		return_if_error(lc__order_rows_extend(rows, s, n, &same));
		if (same) {
			*out = lc__rows_hold(rows);
			return LC_OK;
		}
	}
	return_if_error(lc__order_rows_new(m->env, *m->source.length_field != '\0', out));
	status = lc__order_rows_extend(*out, s, n, &same);
	if (status != LC_OK)
		lc__rows_drop(*out);
	return status;
}

/* The length field is not the one that the order counts: the records of a chunk are
 * measured, unless the old layout has the result. */
static lc_status
measured_row(struct lc__module_source *m, struct lc__snapshot *s, struct lc__layout *old,
    uint64_t position, struct lc__row_array *array)
{
	struct lc__order_row order;
	struct lc__ledger_row ledger;
	struct lc__chunk_row row = { 0 };
	lc_status status = lc__order_get(s, position, &order);

	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: order row %llu is missing",
		    m->source.name, (unsigned long long)position);
	return_if_error(status);
	if (old != NULL && position < lc__layout_info(old)->chunks)
		return_if_error(lc__layout_row(old, position, &row));
	if (row.id != order.chunk || row.prefix_hash != order.prefix_hash) {
		status = lc__module_ledger(s, order.chunk, &ledger);
		if (status == LC_NOT_FOUND)
			return lc__error(LC_CORRUPT, 0,
			    "%s: the ledger row of chunk %llu is missing", m->source.name,
			    (unsigned long long)order.chunk);
		return_if_error(status);
		return_if_error(measure(m, s, order.chunk, &ledger, &row.units));
	}
	row.id = order.chunk;
	row.records = order.records;
	row.prefix_hash = order.prefix_hash;
	row.ordinal = order.ordinal;
	return lc__row_array_add(array, &row);
}

static lc_status
measured_rows(struct lc__module_source *m, struct lc__snapshot *s, struct lc__layout *old,
    uint64_t n, struct lc__rows **out)
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

/* The identity of a module with inputs is the hash of their names in order: modules that
 * were filled from one list are the same source, as long as their prefix hashes agree. */
static lc_status
hash_list(struct lc__snapshot *s, uint64_t inputs, struct lc__hash128 *state)
{
	for (uint32_t i = 0; i < inputs; i++) {
		struct lc__input_row row;
		const lc_status status = lc__input_get(s, i, &row);

		if (status == LC_NOT_FOUND)
			return lc__error_as(LC_CORRUPT);
		return_if_error(status);
		lc__hash128_update(state, row.name.data, row.name.size);
		lc__hash128_update(state, "", 1);
	}
	return LC_OK;
}

/* The names do not change while a module grows: the old layout has their hash. */
static lc_status
identify(struct lc__snapshot *s, uint64_t inputs, const struct lc__layout *old,
    uint8_t uuid[16])
{
	struct lc__hash128 *state;
	uint64_t hash[2];
	lc_status status;

	if (old != NULL && memcmp(lc__layout_info(old)->uuid, uuid, 16) != 0) {
		memcpy(uuid, lc__layout_info(old)->uuid, 16);
		return LC_OK;
	}
	state = lc__hash128_new();
	if (state == NULL)
		return lc__no_memory("source");
	status = hash_list(s, inputs, state);
	if (status == LC_OK) {
		lc__hash128_end(state, hash);
		lc__set64(uuid, hash[0]);
		lc__set64(uuid + 8, hash[1]);
	}
	lc__hash128_free(state);
	return status;
}

/* @p old as in struct lc__source_kind. */
static lc_status
published_layout(struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, struct lc__layout **out)
{
	const bool measured = *m->source.length_field != '\0' && !m->own_lengths;
	struct lc__chunk_row last = { 0 };
	struct lc__rows *rows = NULL;
	struct lc__fill_row fill;
	lc_source_info info;
	lc_status status;

	return_if_error(lc__fill_get(s, &fill));
	/* A search for a record begins in a chunk: there must be one. */
	if (fill.published == 0 && fill.records > 0)
		return lc__error(LC_CORRUPT, 0,
		    "%s: the fill row counts %llu records in no published chunk",
		    m->source.name, (unsigned long long)fill.records);
	return_if_error(check_length(m, fill.length));
	set_info(m, &info);
	return_if_error(identify(s, fill.inputs, old, info.uuid));
	info.generation = info.chunks = fill.published;
	info.records = fill.records;
	info.length = info.has_lengths ? fill.length : fill.records;
	info.prefix_hash = fill.prefix_hash;
	info.final = fill.finished == fill.inputs;
	return_if_error(measured ? measured_rows(m, s, old, fill.published, &rows)
				 : published_rows(m, s, old, fill.published, &rows));
	status = measured && info.chunks > 0
	    ? rows->kind->get(rows, info.chunks, info.chunks - 1, &last)
	    : LC_OK;
	if (measured)
		info.length = lc__row_end(&last, true);
	if (status == LC_OK)
		status = lc__layout_new(&info, rows, s->loaded, out);
	lc__rows_drop(rows);
	return status;
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
		status = snapshot->filled ? published_layout(m, snapshot, old, out)
					  : scan_layout(m, snapshot, old, out);
	lc__snapshot_give(snapshot, 0);
	return status;
}

/* The number of chunks up to a generation, which is a chunk's id, or with inputs a number
 * of chunks. */
static lc_status
chunks_at(lc_source *source, struct lc__layout *layout, uint64_t generation,
    uint64_t *chunks)
{
	const lc_source_info *info = lc__layout_info(layout);
	uint64_t low = 0, high = info->chunks;

	(void)source;
	/* With inputs, or for plain puts whose ids have no gaps. */
	if (info->generation == info->chunks) {
		*chunks = generation;
		return LC_OK;
	}
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		struct lc__chunk_row row;

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

/* Without inputs any process may put at any time. */
static lc_status
is_abandoned(lc_source *source, bool *out)
{
	struct lc__snapshot *snapshot;
	lc_fill fill = { .struct_size = sizeof(fill) };
	lc_status status = LC_OK;

	*out = false;
	return_if_error(lc__snapshot_take(lc__module_source_of(source)->env, &snapshot));
	if (snapshot->filled) {
		status = lc__fill_load(snapshot, &fill);
		*out = status == LC_OK && !fill.final && fill.held == 0;
	}
	lc__snapshot_give(snapshot, 0);
	return status;
}

static lc_status
has_inputs(lc_source *source, bool *out)
{
	struct lc__snapshot *snapshot;

	return_if_error(lc__snapshot_take(lc__module_source_of(source)->env, &snapshot));
	*out = snapshot->filled;
	lc__snapshot_give(snapshot, 0);
	return LC_OK;
}

static void
free_source(lc_source *source)
{
	struct lc__module_source *m = lc__module_source_of(source);

	lc__offsets_cache_free(m->offsets);
	lc__cache_let_close(m->cache);
	free(m);
}

static const struct lc__source_kind module_kind = {
	.newest = newest,
	.chunks_at = chunks_at,
	.commit = newest_commit,
	.is_abandoned = is_abandoned,
	.has_inputs = has_inputs,
	.cursor_new = lc__module_cursor_new,
	.free = free_source,
};

/* ---- opening ---------------------------------------------------------------------- */

/* The length field is the module's own, unless another one is requested. */
static lc_status
start(struct lc__module_source *m, const lc_source_options *options)
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
	m->own_lengths = strcmp(m->source.length_field, settings.length_field) == 0;
	m->offsets = lc__offsets_cache_new(options->directory_bytes);
	if (m->offsets == NULL)
		return lc__no_memory("source");
	return lc__source_start(&m->source, options);
}

lc_status
lc_source_open_module(lc_cache *cache, const lc_source_options *given, lc_source **out)
{
	struct lc__module_source *m;
	lc_source_options options;
	lc_status status;

	return_if_error(lc__source_options_of(given, &options));
	return_if_error(lc__flush_all(cache));
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return lc__no_memory("source");
	m->cache = cache;
	m->env = cache->env;
	lc__cache_keep_open(cache);
	status = lc__source_begin(&m->source, &module_kind, lc__env_dir(m->env),
	    &options);
	if (status == LC_OK)
		status = start(m, &options);
	if (status != LC_OK) {
		lc_source_close(&m->source);
		return status;
	}
	return lc__source_take_part(&m->source, &options, out);
}
