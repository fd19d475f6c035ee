/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules as sources: their chunks in order, how far that goes, who still writes. */
#include "stream/source_module.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/flush.h"
#include "store/published.h"
#include "store/settings.h"
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
	status = lc__env_enter(env);
	if (status == LC_OK) {
		*out = lc__env_last_txn(env);
		lc__env_leave(env);
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
