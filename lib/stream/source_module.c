/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules as sources: their chunks in order, how far that goes, who still writes. */
#include "stream/source_module.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/flush.h"
#include "store/settings.h"

/* ---- places ------------------------------------------------------------------ */

lc_status
lc__module_ledger(struct lc__snapshot *snapshot, uint64_t chunk,
    struct lc__ledger_row *out)
{
	struct lc__slice value;

	return_if_error(lc__txn_get(snapshot->txn, LC__LEDGER, chunk, &value));
	if (!lc__ledger_decode(value.data, value.size, out))
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
		ask->row->live, ask->row->hash };

	*out = lc__places_cache_get(m->places, &key);
	*known = *out != NULL;
	if (*known)
		return LC_OK;
	return_if_error(lc__places_read(snapshot, &key, ask, out));
	lc__places_cache_put(m->places, out);
	return LC_OK;
}

/* ---- a module of plain puts ---------------------------------------------------- */

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

	if (known_row(s, chunk, &known) && known.records == row->live) {
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
		.units = ledger->live };
	unsigned char link[32];

	if (ledger->live == 0)
		return LC_OK;
	if (*s->m->source.length_field != '\0' && s->m->own_lengths)
		row.units = ledger->length;
	else if (*s->m->source.length_field != '\0')
		return_if_error(add_up_units(s, chunk, ledger, &row.units));
	lc__set64(link, s->prefix_hash);
	lc__set64(link + 8, row.id);
	lc__set64(link + 16, row.records);
	lc__set64(link + 24, row.units);
	row.prefix_hash = s->prefix_hash = lc__hash64(link, sizeof(link));
	return lc__row_array_add(s->array, &row);
}

static lc_status
scan_ledger(struct scan *s)
{
	uint64_t chunk = 0;

	for (;; chunk++) {
		struct lc__ledger_row row;
		struct lc__slice value;
		const lc_status status = lc__txn_seek(s->snapshot->txn, LC__LEDGER,
		    chunk, &chunk, &value);

		if (status == LC_NOT_FOUND)
			return LC_OK;
		return_if_error(status);
		if (!lc__ledger_decode(value.data, value.size, &row))
			return lc__error(LC_CORRUPT, 0, "%s: the ledger row of chunk "
			    "%llu is damaged", s->m->source.name,
			    (unsigned long long)chunk);
		return_if_error(scan_chunk(s, chunk, &row));
	}
}

static void
fill_info(const struct lc__module_source *m, lc_source_info *info)
{
	memset(info, 0, sizeof(*info));
	memcpy(info->uuid, lc__env_module(m->env)->uuid, sizeof(info->uuid));
	info->has_lengths = *m->source.length_field != '\0';
}

static lc_status
scan_layout(struct scan *s, struct lc__layout **out)
{
	const struct lc__row_array *array = s->array;
	lc_source_info info;

	return_if_error(scan_ledger(s));
	fill_info(s->m, &info);
	/* Chunk ids begin with 1. */
	info.generation = s->snapshot->state.next_chunk > 0 ?
	    s->snapshot->state.next_chunk - 1 : 0;
	info.chunks = array->n;
	info.prefix_hash = s->prefix_hash;
	if (array->n > 0) {
		const struct lc__layout_row *last = &array->row[array->n - 1];

		info.records = last->first_record + last->records;
		info.length = last->first_unit + last->units;
	}
	return lc__layout_new(&info, &s->array->rows, s->snapshot->loaded, out);
}

static lc_status
newest_plain(struct lc__module_source *m, struct lc__snapshot *snapshot,
    struct lc__layout *old, struct lc__layout **out)
{
	struct scan s = { .m = m, .snapshot = snapshot, .old = old,
		.array = lc__row_array_new() };
	lc_status status;

	if (s.array == NULL)
		return lc__error(LC_NO_MEMORY, 0, "source: out of memory");
	status = scan_layout(&s, out);
	lc__rows_drop(&s.array->rows);
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
		status = newest_plain(m, snapshot, old, out);
	lc__snapshot_give(snapshot, 0);
	return status;
}

/* Chunks up to the one of that number. */
static lc_status
chunks_at(struct lc__layout *layout, uint64_t generation, uint64_t *chunks)
{
	uint64_t low = 0, high = lc__layout_info(layout)->chunks;

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
	status = lc__env_enter(env);
	if (status == LC_OK) {
		*out = lc__env_last_txn(env);
		lc__env_leave(env);
	}
	lc__env_unlock(env);
	return status;
}

/* Anybody may put. */
static lc_status
is_abandoned(lc_source *source, bool *out)
{
	(void)source;
	*out = false;
	return LC_OK;
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
		return lc__error(LC_NO_MEMORY, 0, "source: out of memory");
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
		return lc__error(LC_NO_MEMORY, 0, "source: out of memory");
	m->env = cache->env;
	status = lc__source_begin(&m->source, &module_kind,
	    lc__env_dir(m->env), &options);
	if (status == LC_OK)
		status = start(m, &options);
	if (status != LC_OK) {
		lc_source_close(&m->source);
		return status;
	}
	*out = &m->source;
	return LC_OK;
}
