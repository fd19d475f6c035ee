/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "report/rejects.h"
#include "warehouse/place.h"

/* The largest manifest that is read. */
#define MANIFEST_MOST (UINT64_C(1) << 30)

static lc_status
read_manifest(const char *dir, struct lc__manifest *out)
{
	char *path = lc__path_join(dir, "manifest.json");
	struct lc__buf text = { 0 };
	lc_status status;

	if (path == NULL)
		return lc__no_memory(NULL);
	status = lc__read_regular(path, MANIFEST_MOST, &text);
	if (status == LC_OK)
		status = lc__manifest_parse(text.data, text.size, path, out);
	lc__buf_free(&text);
	free(path);
	return status;
}

static lc_status
read_series(const lc_warehouse *warehouse, struct lc__facts *out)
{
	out->series = calloc((size_t)out->info->series + 1, sizeof(*out->series));
	if (out->series == NULL)
		return lc__no_memory(NULL);
	for (uint32_t s = 0; s < out->info->series; s++)
		return_if_error(lc_warehouse_series(warehouse, s, &out->series[s]));
	return LC_OK;
}

static lc_status
read_rejects(struct lc__facts *out)
{
	struct lc__rejects rejects;
	lc_status status = lc__rejects_open(out->info->path, &rejects);

	/* Shards that were exported from a module have no such list; a build's always do,
	 * and the manifest has its checksum. */
	if (status == LC_NO_FILE && out->manifest.warehouse != NULL)
		return lc__error(LC_CORRUPT, 0, "%s/" LC__WAREHOUSE_REJECTED " is missing, "
		    "and the manifest names it", out->info->path);
	if (status != LC_OK)
		return status == LC_NO_FILE ? LC_OK : status;
	while (status == LC_OK && out->n_rejects < LC__FACTS_REJECTS) {
		status = lc__rejects_next(&rejects, &out->rejects[out->n_rejects]);
		out->n_rejects += status == LC_OK;
	}
	lc__rejects_close(&rejects);
	return status == LC_END ? LC_OK : status;
}

lc_status
lc__facts_read(const lc_warehouse *warehouse, struct lc__facts *out)
{
	memset(out, 0, sizeof(*out));
	lc__distributions_init(&out->seen);
	out->warehouse = warehouse;
	out->info = lc_warehouse_info_of(warehouse);
	return_if_error(read_manifest(out->info->path, &out->manifest));
	return_if_error(lc__summary_parse(out->info->summary, out->info->path,
	    &out->summary));
	/* Another program's summary may not say it. */
	if (out->summary.written == 0)
		out->summary.written = out->info->samples;
	return_if_error(lc__thresholds_parse(out->info->thresholds,
	    out->info->path, &out->thresholds));
	return_if_error(lc__fields_read(out->info->recipe, &out->recipe));
	return_if_error(read_series(warehouse, out));
	for (size_t i = 0; i < out->summary.n_runs; i++)
		lc__distributions_add_run(&out->seen,
		    out->summary.runs[i].counts.total);
	return read_rejects(out);
}

const char *
lc__facts_class(const struct lc__facts *facts, int64_t class_id)
{
	return facts->warehouse != NULL ?
	    lc_warehouse_class(facts->warehouse, class_id) : NULL;
}

void
lc__facts_free(struct lc__facts *facts)
{
	free(facts->series);
	lc__manifest_free(&facts->manifest);
	lc__summary_free(&facts->summary);
	lc__fields_free(&facts->recipe);
	for (size_t i = 0; i < facts->n_rejects; i++)
		lc__fields_free(&facts->rejects[i]);
	lc__distributions_free(&facts->seen);
	for (size_t i = 0; i < facts->n_thumbnails; i++) {
		lc__buf_free(&facts->thumbnails[i].png);
		free(facts->thumbnails[i].id);
	}
	memset(facts, 0, sizeof(*facts));
}
