/* SPDX-License-Identifier: BSD-2-Clause */
/* The chunks of a module as a map and as a list. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cmd/view.h"
#include "report/store_map.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"

/* CHUNK RECORDS LIVE BYTES LIVE_BYTES TIME READ, separated by tabs; times in ms. */
static void
list_chunk(const struct lc__chunk_facts *c)
{
	struct json json = { stdout, false };

	if (!settings.json) {
		printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		       "\t%" PRIu64 "\t%" PRIu64 "\n",
		    c->chunk, c->records, c->live, c->bytes, c->live_bytes, c->time_ms,
		    c->read_ms);
		return;
	}
	jw_open(&json, NULL, '{');
	jw_count(&json, "chunk", c->chunk);
	jw_count(&json, "records", c->records);
	jw_count(&json, "live", c->live);
	jw_count(&json, "bytes", c->bytes);
	jw_count(&json, "live_bytes", c->live_bytes);
	if (c->input > 0)
		jw_count(&json, "input", c->input - 1);
	jw_count(&json, "time_ms", c->time_ms);
	if (c->read_ms > 0)
		jw_count(&json, "read_ms", c->read_ms);
	if (c->damaged)
		jw_flag(&json, "damaged", true);
	jw_end_line(&json);
}

static void
write_json(struct json *json, const struct lc__store_map *map,
    const struct lc__store_sums *sums)
{
	jw_text(json, "kind", "chunks");
	jw_text(json, "module", map->module);
	jw_count(json, "chunks", map->n);
	jw_count(json, "records", sums->records);
	jw_count(json, "live", sums->live);
	jw_count(json, "bytes", sums->bytes);
	jw_count(json, "live_bytes", sums->live_bytes);
	jw_count(json, "damaged", sums->damaged);
	jw_flag(json, "reads", sums->reads);
}

static int
draw_chunks(lc_cache *cache, const char *module, const struct view_page *page)
{
	struct lc__store_map map = { .module = module };
	struct lc__chunk_facts *chunks = NULL;
	lc_stats stats = { .struct_size = sizeof(stats) };
	struct lc__store_sums sums;
	lc_status status = lc__cache_chunks(cache, &chunks, &map.n);
	int result;

	if (status == LC_OK)
		status = lc_stat(cache, &stats);
	if (status != LC_OK) {
		free(chunks);
		return report_status(status);
	}
	if (map.n == 0) {
		free(chunks);
		return report_error(EXIT_NO, "there are no chunks");
	}
	map.chunks = chunks;
	map.file_bytes = stats.file_bytes;
	map.free_bytes = stats.free_bytes;
	sums = lc__store_sums_of(chunks, map.n);
	for (size_t i = 0; page->list && i < map.n; i++)
		list_chunk(&chunks[i]);
	if (page->picture != NULL)
		status = lc__store_map_draw(page->picture, &map, page->width);
	if (status == LC_OK)
		write_json(page->json, &map, &sums);
	result = status == LC_OK ? EXIT_DONE : report_argument(status);
	if (sums.damaged > 0)
		result = report_worse(result,
		    report_error(EXIT_DATA, "%zu row%s of the ledger %s damaged",
			sums.damaged, sums.damaged == 1 ? "" : "s",
			sums.damaged == 1 ? "is" : "are"));
	free(chunks);
	return result;
}

int
view_chunks(const char *module, const struct view_page *page)
{
	lc_cache *cache;
	int status = module_open(module, &cache);

	return status == EXIT_DONE ? module_close(cache, draw_chunks(cache, module, page))
				   : status;
}
