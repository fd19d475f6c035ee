/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/buildwatch.h"

#include <stdio.h>

#include "cmd/buildtable.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/metrics.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/resultjson.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "ui/trace.h"

/* Frames that are named on standard error; all are in rejected.jsonl. */
#define NAMED 10

/* ---- what is told meanwhile -------------------------------------------------------- */

static struct {
	uint64_t told, untold;  /* frames that are no samples */
	enum lc__phase phase;   /* of the last step */
} watch;

static int
step(void *ctx, const struct lc__ingest_state *state)
{
	(void)ctx;
	if (state->phase != watch.phase)
		progress_phase(NULL, lc__phase_name(state->phase));
	watch.phase = state->phase;
	trace_progress(state);
	metrics_progress(state);
	if (state->phase == LC__PHASE_EXPORT)
		return progress_step(NULL, state->bytes_exported,
		    state->bytes_to_export);
	progress_items(state->frames_done, state->frames);
	return progress_step(NULL, state->bytes_read, 0);
}

/* Frames without boxes are nothing to warn of. */
static void
rejected(void *ctx, const struct lc__frame *frame, enum lc__reject reason,
    const char *detail)
{
	const char *name = lc__reject_name(reason);

	(void)ctx;
	trace_rejected(frame, name, detail);
	if (reason == LC__REJECT_NO_LABELS)
		return;
	if (watch.told >= NAMED) {
		watch.untold++;
		return;
	}
	watch.told++;
	report_note("%s: %s", name, detail);
}

static void
warn(void *ctx, const char *line)
{
	(void)ctx;
	trace_warning(line);
	report_note("warning: %s", line);
}

const struct lc__ingest_watch build_watch = { NULL, step, rejected, warn };

/* ---- the result ---------------------------------------------------------------------- */

static void
show_json(const struct lc__ingest *in, const struct lc__ingest_result *result,
    const char *status)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "status", status);
	jw_flag(&json, "dry_run", in->dry_run);
	result_members(&json, result);
	jw_end_line(&json);
}

static void
show_text(const struct lc__ingest *in, const struct lc__ingest_result *result)
{
	char samples[SIZE_TEXT], shards[SIZE_TEXT];

	if (result->up_to_date || result->limits_changed)
		printf("%s: up to date, %s in %s%s\n", result->version_dir,
		    count_human(result->state.samples, "sample", samples,
		    sizeof(samples)), count_human(result->shards, "shard", shards,
		    sizeof(shards)), result->limits_changed ?
		    "; its limits and sources are noted anew" : "");
	else
		buildtable_print(result, in->dry_run);
}

static void
tell_untold(const struct lc__ingest_result *result)
{
	if (watch.untold == 0)
		return;
	if (result->version_dir != NULL)
		report_note("and %llu more: see %s/rejected.jsonl",
		    (unsigned long long)watch.untold, result->version_dir);
	else if (result->rejected_list != NULL)
		report_note("and %llu more: see %s",
		    (unsigned long long)watch.untold, result->rejected_list);
	else
		report_note("and %llu more", (unsigned long long)watch.untold);
}

static int
tell_failure(lc_status status)
{
	if (status == LC_FAILED) {
		return report_library(EXIT_NO);
	}
	return report_status(status);
}

/* Counts are shown also where a limit is exceeded: they say why. */
int
build_told(lc_status status, const struct lc__ingest *in,
    const struct lc__ingest_result *result)
{
	const bool counted = status == LC_OK || status == LC_FAILED;

	tell_untold(result);
	if (settings.json && counted)
		show_json(in, result, lc_status_name(status));
	else if (!settings.quiet && status == LC_OK)
		show_text(in, result);
	return status == LC_OK ? EXIT_DONE : tell_failure(status);
}
