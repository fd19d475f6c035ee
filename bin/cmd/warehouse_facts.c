/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/warehouse_facts.h"

#include <string.h>

#include "ui/progress.h"
#include "ui/report.h"
#include "report/survey.h"
#include "report/thumbnails.h"

int
warehouse_facts_open(struct warehouse_facts *facts, const char *path)
{
	lc_warehouse_options options;
	lc_status status;

	lc_warehouse_options_init(&options);
	options.verify = LC_VERIFY_NONE;
	options.sources = LC_SOURCES_IGNORE;
	options.ignore_thresholds = 1;
	status = lc_warehouse_open(path, &options, &facts->warehouse);
	if (status == LC_OK)
		status = lc__facts_read(facts->warehouse, &facts->facts);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static lc_status
take_sample(void *ctx, const struct lc__observation *observation,
    const lc_sample *sample)
{
	struct warehouse_facts *facts = ctx;
	const uint64_t n = facts->facts.info->samples;
	lc_status status = LC_OK;

	if (facts->facts.n_thumbnails < facts->thumbnails &&
	    lc__spread(observation->sample, n, facts->thumbnails))
		status = lc__thumbnail_add(&facts->facts, observation, sample);
	if (status == LC_OK && facts->db != NULL)
		status = lc__sqlite_sample(facts->db, observation);
	if (status == LC_OK && facts->tables != NULL)
		status = lc__parquet_tables_sample(facts->tables, observation);
	return status;
}

/* Bytes of shards are gone over in proportion, though few of them are read. */
static int
step(void *ctx, uint64_t done, uint64_t total)
{
	const uint64_t bytes = *(const uint64_t *)ctx;

	progress_items(done, total);
	return progress_step(NULL, total == 0 ? 0 :
	    (uint64_t)((double)bytes / (double)total * (double)done), bytes);
}

int
warehouse_facts_survey(struct warehouse_facts *facts)
{
	uint64_t bytes = facts->facts.info->bytes;
	const lc_progress progress = { .step = step, .ctx = &bytes };
	const struct lc__survey survey = {
		.lit = LC__SURVEY_LIT, .sample = take_sample, .ctx = facts,
		.progress = &progress
	};
	lc_status status;

	progress_begin("report");
	status = lc__survey_run(facts->warehouse, &survey, &facts->facts.seen);
	progress_end();
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

void
warehouse_facts_close(struct warehouse_facts *facts)
{
	lc__facts_free(&facts->facts);
	lc_warehouse_close(facts->warehouse);
	memset(facts, 0, sizeof(*facts));
}
