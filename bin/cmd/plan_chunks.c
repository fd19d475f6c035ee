/* SPDX-License-Identifier: BSD-2-Clause */
/* The chunks that batches touch: their sizes, and cachex plan --show. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "cmd/plan.h"
#include "cmd/warehouse.h"
#include "objects/url.h"
#include "order/split.h"
#include "store/tool.h"
#include "stream/source.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"

/* ---- how many bytes a chunk has -------------------------------------------------------- */

static int
compare_chunks(const void *a, const void *b)
{
	const struct lc__chunk_facts *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* ---- how many bytes a sample has --------------------------------------------------------- */

/* The bytes of all records in a directory of samples, or in a shard, and the mean of one. */
static lc_status
sample_bytes(const char *path, double *all, double *mean)
{
	const lc_warehouse_info *info;
	const lc_shard_info *shard_info;
	lc_warehouse *w;
	lc_shard *shard;
	struct stat st;

	if (stat(path, &st) == -1 || !S_ISDIR(st.st_mode)) {
		return_if_error(lc_shard_open(path, &shard));
		shard_info = lc_shard_info_of(shard);
		*all = (double)shard_info->file_size;
		*mean = shard_info->samples > 0 ? *all / (double)shard_info->samples : 0;
		lc_shard_close(shard);
		return LC_OK;
	}
	return_if_error(warehouse_open_to_look(path, LC_VERIFY_NEVER, &w));
	info = lc_warehouse_info_of(w);
	*all = (double)info->bytes;
	*mean = info->samples > 0 ? *all / (double)info->samples : 0;
	lc_warehouse_close(w);
	return LC_OK;
}

/* ---- all chunks ---------------------------------------------------------------------------- */

/* Bytes of a chunk of a module, whose chunks are in order. */
static double
bytes_of(const struct lc__chunk_facts *chunks, size_t n, uint64_t id)
{
	const struct lc__chunk_facts key = { .chunk = id };
	const struct lc__chunk_facts *found = bsearch(&key, chunks, n, sizeof(key),
	    compare_chunks);

	return found != NULL ? (double)found->live_bytes : 0;
}

/* The chunks of shards: whole files, or the records in them. */
static lc_status
take_shards(struct plan_chunks *out, const struct stream_source *s,
    struct lc__layout *layout, bool files)
{
	const uint64_t n = lc__layout_info(layout)->chunks;
	const bool store = lc__is_store_url(s->name);
	struct lc__chunk_row row;
	uint64_t bytes = 0;
	double all = 0, sample = 0;

	if (!store)
		return_if_error(sample_bytes(s->name, &all, &sample));
	for (uint64_t i = 0; i < n; i++) {
		return_if_error(lc__layout_row(layout, i, &row));
		if (files || store)
			return_if_error(lc__source_file_bytes(s->source, row.id, &bytes));
		/* The only shard may be one of a part of a split, with fewer records. */
		out->bytes[out->n++] = bytes > 0 ? (double)bytes
		    : n == 1                     ? all
						 : sample * (double)row.records;
		out->units += (double)row.units;
		out->records += (double)row.records;
	}
	return LC_OK;
}

static lc_status
take_module(struct plan_chunks *out, const struct stream_source *s,
    struct lc__layout *layout)
{
	const uint64_t n = lc__layout_info(layout)->chunks;
	struct lc__chunk_facts *chunks = NULL;
	struct lc__chunk_row row;
	size_t n_chunks = 0;
	lc_status status = lc__cache_chunks(s->cache, &chunks, &n_chunks);

	for (uint64_t i = 0; i < n && status == LC_OK; i++) {
		status = lc__layout_row(layout, i, &row);
		if (status != LC_OK)
			break;
		out->bytes[out->n++] = bytes_of(chunks, n_chunks, row.id);
		out->units += (double)row.units;
		out->records += (double)row.records;
	}
	free(chunks);
	return status;
}

/* Append the chunks of a source that is no list. */
static lc_status
take_chunks(struct plan_chunks *out, const struct stream_source *s, bool files)
{
	struct lc__layout *layout = lc__source_layout(s->source);
	const uint64_t n = lc__layout_info(layout)->chunks;
	lc_status status = lc__array_reserve(&out->bytes, &out->room, out->n + n + 1,
	    NULL);

	if (status == LC_OK)
		status = s->cache != NULL ? take_module(out, s, layout)
					  : take_shards(out, s, layout, files);
	lc__layout_drop(layout);
	return status;
}

/* The chunks of a list are those of its members. */
static lc_status
take_source(struct plan_chunks *out, const struct stream_source *s, bool files)
{
	struct lc__layout *layout;
	lc_status status;

	if (s->members == NULL)
		return_if_error(take_chunks(out, s, files));
	for (size_t i = 0; i < s->n_members; i++)
		return_if_error(take_chunks(out, &s->members[i], files));
	layout = lc__source_layout(s->source);
	if (out->n_sources == 0)
		out->has_lengths = lc__layout_info(layout)->has_lengths != 0;
	status = lc__cursor_new(s->source, layout, &out->cursors[out->n_sources]);
	if (status == LC_OK)
		status = lc__cursor_begin(out->cursors[out->n_sources++]);
	lc__layout_drop(layout);
	return status;
}

lc_status
plan_chunks_load(const struct stream_sources *sources, bool files,
    struct plan_chunks *out)
{
	*out = (struct plan_chunks){
		.first = calloc(sources->n, sizeof(*out->first)),
		.cursors = calloc(sources->n, sizeof(struct lc__cursor *)),
	};
	if (out->first == NULL || out->cursors == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < sources->n; i++) {
		out->first[i] = out->n;
		return_if_error(take_source(out, &sources->all[i], files));
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

/* ---- which parts of which chunks a batch asks of each reader ----------------------- */

lc_status
plan_locate(lc_stream *stream, uint64_t example, struct plan_pieces *pieces)
{
	lc_status status;
	size_t n = 0;

	for (;;) {
		status = lc_stream_locate(stream, example, pieces->items, pieces->room,
		    &n);
		if (status != LC_INVALID || n <= pieces->room)
			break;
		return_if_error(
		    lc__array_reserve(&pieces->items, &pieces->room, n, NULL));
	}
	pieces->count = n;
	return status;
}

/* A row of a reader's share. */
struct place {
	uint64_t batch, row, example;
	uint32_t reader;
};

static void
show_json(const struct plan *plan, const struct place *at,
    const struct plan_pieces *pieces)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_count(&json, "batch", at->batch);
	jw_count(&json, "reader", at->reader);
	jw_count(&json, "row", at->row);
	jw_count(&json, "example", at->example);
	jw_open(&json, "pieces", '[');
	for (size_t i = 0; i < pieces->count; i++) {
		const lc_piece *piece = &pieces->items[i];
		jw_open(&json, NULL, '{');
		jw_text(&json, "source", plan->sources->all[piece->source].name);
		jw_count(&json, "epoch", piece->epoch);
		jw_count(&json, "chunk", piece->chunk);
		jw_count(&json, "chunk_id", piece->chunk_id);
		jw_count(&json, "first", piece->first);
		jw_count(&json, "units", piece->units);
		jw_close(&json, '}');
	}
	jw_close(&json, ']');
	jw_end_line(&json);
}

static lc_status
show_share(const struct plan *plan, lc_stream *stream, uint64_t batch, uint32_t reader,
    struct plan_pieces *pieces)
{
	const struct lc__share share = { plan->split, reader, plan->readers,
		plan->batch };
	struct place at = { .batch = batch, .reader = reader };
	lc_status status;

	for (at.row = 0; at.row < lc__share_rows(&share); at.row++) {
		at.example = batch * plan->batch + lc__share_at(&share, at.row);
		status = plan_locate(stream, at.example, pieces);
		if (status == LC_END) /* padding */
			continue;
		return_if_error(status);
		if (settings.json)
			show_json(plan, &at, pieces);
		for (size_t i = 0; i < pieces->count && !settings.json; i++) {
			const lc_piece *piece = &pieces->items[i];

			printf("%5llu %6u %7llu %5llu %6llu %7llu %7llu %7llu  %s\n",
			    (unsigned long long)batch, reader,
			    (unsigned long long)at.example,
			    (unsigned long long)piece->epoch,
			    (unsigned long long)piece->chunk,
			    (unsigned long long)piece->chunk_id,
			    (unsigned long long)piece->first,
			    (unsigned long long)piece->units,
			    plan->sources->all[piece->source].name);
		}
		if (report_output_failed())
			break;
	}
	return LC_OK;
}

int
plan_show(const struct plan *plan, lc_stream *stream, uint64_t first, uint64_t last)
{
	struct plan_pieces pieces = { 0 };
	lc_status status = LC_OK;

	if (!settings.json)
		printf("batch reader example epoch  chunk      id   first   units  "
		       "source\n");
	for (uint64_t b = first; b <= last && status == LC_OK; b++)
		for (uint32_t r = 0;
		     r < plan->readers && status == LC_OK && !report_output_failed(); r++)
			status = show_share(plan, stream, b, r, &pieces);
	free(pieces.items);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}
