/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "cmd/plan.h"
#include "store/cache.h"
#include "store/change.h"
#include "stream/source.h"

/* ---- how many bytes a chunk has -------------------------------------------------------- */

/* Live bytes of a module's chunks, by id. */
struct ledger {
	struct ledger_chunk {
		uint64_t id;
		double bytes;
	} *chunks;
	size_t n, room;
};

static lc_status
add_chunk(struct ledger *ledger, uint64_t id, const struct lc__ledger_row *row)
{
	return_if_error(lc__array_reserve(&ledger->chunks, &ledger->room, ledger->n + 1, NULL));
	ledger->chunks[ledger->n++] = (struct ledger_chunk){ id,
		(double)row->live_bytes };
	return LC_OK;
}

static lc_status
read_ledger(lc_cache *cache, struct ledger *out)
{
	struct lc__snapshot *snapshot;
	struct lc__ledger_row row;
	uint64_t id = 0;
	bool intact;
	lc_status status;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	while ((status = lc__ledger_seek(snapshot, id, &id, &row, &intact)) == LC_OK) {
		status = add_chunk(out, id++, &row);
		if (status != LC_OK)
			break;
	}
	lc__snapshot_give(snapshot, 0);
	return status == LC_END ? LC_OK : status;
}

static int
compare_ids(const void *a, const void *b)
{
	const struct ledger_chunk *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static double
ledger_bytes(const struct ledger *ledger, uint64_t id)
{
	const struct ledger_chunk key = { id, 0 }, *found = ledger->n == 0 ? NULL :
	    bsearch(&key, ledger->chunks, ledger->n, sizeof(key), compare_ids);

	return found ? found->bytes : 0;
}

/* ---- how many bytes a sample has --------------------------------------------------------- */

static lc_status
directory_sample(const char *path, double *out)
{
	lc_warehouse_options how;
	const lc_warehouse_info *info;
	lc_warehouse *w;

	lc_warehouse_options_init(&how);
	how.verify = LC_VERIFY_NONE;
	how.sources = LC_SOURCES_IGNORE;
	how.ignore_thresholds = 1;
	return_if_error(lc_warehouse_open(path, &how, &w));
	info = lc_warehouse_info_of(w);
	*out = info->samples > 0 ? (double)info->bytes / (double)info->samples : 0;
	lc_warehouse_close(w);
	return LC_OK;
}

static lc_status
shard_sample(const char *path, double *out)
{
	const lc_shard_info *info;
	lc_shard *shard;

	return_if_error(lc_shard_open(path, &shard));
	info = lc_shard_info_of(shard);
	*out = info->samples > 0 ? (double)info->file_size / (double)info->samples : 0;
	lc_shard_close(shard);
	return LC_OK;
}

static lc_status
sample_bytes(const char *path, double *out)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return directory_sample(path, out);
	return shard_sample(path, out);
}

/* ---- all chunks ---------------------------------------------------------------------------- */

/* A sample's bytes where there is no ledger. */
static lc_status
take_layout(struct plan_chunks *out, struct lc__layout *layout,
    const struct ledger *ledger, double sample)
{
	const uint64_t n = lc__layout_info(layout)->chunks;
	struct lc__layout_row row;

	return_if_error(lc__array_reserve(&out->bytes, &out->room, out->n + n + 1, NULL));
	for (uint64_t i = 0; i < n; i++) {
		return_if_error(lc__layout_row(layout, i, &row));
		out->bytes[out->n++] = ledger != NULL ?
		    ledger_bytes(ledger, row.id) : sample * (double)row.records;
		out->units += (double)row.units;
		out->records += (double)row.records;
	}
	return LC_OK;
}

static lc_status
take_source(struct plan_chunks *out, const struct streaming_source *s)
{
	struct lc__layout *layout;
	struct ledger ledger = { 0 };
	double sample = 0;
	lc_status status = s->cache != NULL ? read_ledger(s->cache, &ledger) :
	    sample_bytes(s->name, &sample);

	if (status == LC_OK) {
		layout = lc__source_layout(s->source);
		if (out->n_sources == 0)
			out->has_lengths = lc__layout_info(layout)->has_lengths != 0;
		status = take_layout(out, layout, s->cache ? &ledger : NULL, sample);
		if (status == LC_OK)
			status = lc__cursor_new(s->source, layout,
			    &out->cursors[out->n_sources]);
		if (status == LC_OK)
			status = lc__cursor_begin(out->cursors[out->n_sources++]);
		lc__layout_drop(layout);
	}
	free(ledger.chunks);
	return status;
}

lc_status
plan_chunks_load(const struct streaming *streaming, struct plan_chunks *out)
{
	*out = (struct plan_chunks){
		.first = calloc(streaming->n, sizeof(*out->first)),
		.cursors = calloc(streaming->n, sizeof(struct lc__cursor *))
	};
	if (out->first == NULL || out->cursors == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < streaming->n; i++) {
		out->first[i] = out->n;
		return_if_error(take_source(out, &streaming->sources[i]));
	}
	return LC_OK;
}

void
plan_chunks_free(struct plan_chunks *chunks)
{
	for (size_t i = 0; i < chunks->n_sources; i++)
		lc__cursor_free(chunks->cursors[i]);
	free(chunks->cursors);
	free(chunks->first);
	free(chunks->bytes);
}
