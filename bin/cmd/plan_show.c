/* SPDX-License-Identifier: BSD-2-Clause */
/* Which parts of which chunks a batch asks of each reader. */
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "ui/json.h"
#include "order/split.h"
#include "cmd/plan.h"
#include "ui/report.h"
#include "ui/settings.h"

lc_status
plan_locate(lc_stream *stream, uint64_t example, struct plan_pieces *pieces)
{
	lc_status status;
	size_t n = 0;

	for (;;) {
		status = lc_stream_locate(stream, example, pieces->items,
		    pieces->room, &n);
		if (status != LC_INVALID || n <= pieces->room)
			break;
		return_if_error(lc__array_reserve(&pieces->items, &pieces->room, n, NULL));
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
show_text(const struct plan *plan, const struct place *at, const lc_piece *piece)
{
	printf("%5llu %6u %7llu %5llu %6llu %7llu %7llu %7llu  %s\n",
	    (unsigned long long)at->batch, at->reader,
	    (unsigned long long)at->example, (unsigned long long)piece->epoch,
	    (unsigned long long)piece->chunk, (unsigned long long)piece->chunk_id,
	    (unsigned long long)piece->first, (unsigned long long)piece->units,
	    plan->streaming->sources[piece->source].name);
}

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
		jw_text(&json, "source",
		    plan->streaming->sources[piece->source].name);
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
show_row(const struct plan *plan, lc_stream *stream, const struct place *at,
    struct plan_pieces *pieces)
{
	const lc_status status = plan_locate(stream, at->example, pieces);

	if (status == LC_END) /* padding */
		return LC_OK;
	if (status != LC_OK)
		return status;
	if (settings.json)
		show_json(plan, at, pieces);
	for (size_t i = 0; i < pieces->count && !settings.json; i++)
		show_text(plan, at, &pieces->items[i]);
	return LC_OK;
}

static lc_status
show_share(const struct plan *plan, lc_stream *stream, uint64_t batch,
    uint32_t reader, struct plan_pieces *pieces)
{
	const struct lc__share share = { plan->split, reader, plan->readers,
		plan->batch };
	struct place at = { .batch = batch, .reader = reader };

	for (at.row = 0; at.row < lc__share_rows(&share); at.row++) {
		at.example = batch * plan->batch + lc__share_at(&share, at.row);
		return_if_error(show_row(plan, stream, &at, pieces));
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
		for (uint32_t r = 0; r < plan->readers && status == LC_OK &&
		    !report_output_failed(); r++)
			status = show_share(plan, stream, b, r, &pieces);
	free(pieces.items);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}
