/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/build_report.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"
#include "build/ingest.h"
#include "cmd/build_metrics.h"
#include "labels/reject.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "ui/trace.h"

/* ---- the table --------------------------------------------------------------------- */

/* "  frames      1234" */
static void
print_count(const char *name, uint64_t count)
{
	printf("  %-18s%12llu", name, (unsigned long long)count);
}

static void
print_count_line(const char *name, uint64_t count)
{
	print_count(name, count);
	putchar('\n');
}

/* A count that is only worth a line if there is any. */
static void
print_some(const char *name, uint64_t count)
{
	if (count > 0)
		print_count_line(name, count);
}

static void
print_frames(const struct lc__ingest_result *result)
{
	const struct lc__ingest_state *state = &result->state;
	char name[40];

	print_count_line("frames", state->frames);
	print_count("samples", state->samples);
	if (state->reused > 0)
		printf("  (%llu frames as they were stored before)",
		    (unsigned long long)state->reused);
	putchar('\n');
	print_some("  16 bits made 8", state->reduced);
	for (int i = LC__REJECT_NONE + 1; i < LC__REJECTS; i++) {
		snprintf(name, sizeof(name), "  %s", lc__reject_name((enum lc__reject)i));
		print_some(name, state->rejected[i]);
	}
	print_some("gone since then", result->forgotten);
}

static void
print_boxes(const struct lc__summary *summary)
{
	print_count_line("boxes", summary->boxes);
	print_some("  cut at the edge", summary->clipped);
	print_some("  dropped", summary->dropped);
	print_some("  of other classes", summary->filtered);
	if (summary->overflow_boxes > 0) {
		print_count("  above the limit", summary->overflow_boxes);
		printf("  (in %llu samples)\n",
		    (unsigned long long)summary->overflow_samples);
	}
}

static void
print_shards(const struct lc__ingest_result *result)
{
	char size[SIZE_TEXT];

	print_count("shards", result->shards);
	printf("  %s", size_human((double)result->bytes, size, sizeof(size)));
	if (result->shards_reused > 0)
		printf(" (%llu as they were)", (unsigned long long)result->shards_reused);
	putchar('\n');
}

/* What a phase's work is counted in, for its rate by a thread's second. */
static void
print_rate(const struct lc__ingest_state *state, enum lc__phase phase, double seconds)
{
	const uint64_t done[LC__PHASES] = {
		[LC__PHASE_READ] = state->bytes_read,
		[LC__PHASE_STORE] = state->bytes_stored,
		[LC__PHASE_EXPORT] = state->bytes_exported,
	};
	char size[SIZE_TEXT];

	if (seconds <= 0)
		return;
	if (done[phase] > 0)
		printf("  %10s/s",
		    size_human((double)done[phase] / seconds, size, sizeof(size)));
	else if (phase == LC__PHASE_SCAN || phase == LC__PHASE_LABEL)
		printf("  %10.0f frames/s", (double)state->frames_done / seconds);
	else if (phase == LC__PHASE_DECODE || phase == LC__PHASE_RESIZE)
		printf("  %10.1f images/s",
		    (double)(state->samples + state->rejected[LC__REJECT_NO_LABELS] -
			state->reused) /
			seconds);
}

static void
print_phases(const struct lc__ingest_state *state)
{
	const double wall = (double)state->wall_ns / 1e9;
	double all = 0;

	for (int i = 0; i < LC__PHASES; i++)
		all += (double)state->ns[i] / 1e9;
	printf("  %s%-10s %9s %7s%s\n", report_bold(stdout), "phase", "seconds", "share",
	    report_plain(stdout));
	for (int i = 0; i < LC__PHASES; i++) {
		const double seconds = (double)state->ns[i] / 1e9;
		printf("  %-10s %9.2f %6.1f%%", lc__phase_name((enum lc__phase)i),
		    seconds, all > 0 ? 100 * seconds / all : 0);
		print_rate(state, (enum lc__phase)i, seconds);
		putchar('\n');
	}
	printf("  %-10s %9.2f %8s", "wall", wall, "");
	if (wall > 0)
		printf("  %10.1f frames/s", (double)state->frames_done / wall);
	putchar('\n');
}

void
print_table(const struct lc__ingest_result *result, bool dry_run)
{
	if (result->version_dir != NULL)
		printf("%s%s%s\n", report_bold(stdout), result->version_dir,
		    report_plain(stdout));
	else if (dry_run)
		printf("nothing is written\n");
	print_frames(result);
	print_boxes(&result->summary);
	if (result->version_dir != NULL)
		print_shards(result);
	print_phases(&result->state);
}

/* Frames that are named on standard error; all are in rejected.jsonl. */
#define NAMED 10

/* ---- the counts as members of a JSON object ----------------------------------------- */

static void
result_counts(struct json *json, const struct lc__ingest_state *state)
{
	jw_count(json, "frames", state->frames);
	jw_count(json, "frames_done", state->frames_done);
	jw_count(json, "samples", state->samples);
	jw_count(json, "reused", state->reused);
	jw_count(json, "reduced", state->reduced);
	jw_open(json, "rejected", '{');
	for (int i = LC__REJECT_NONE + 1; i < LC__REJECTS; i++)
		if (state->rejected[i] > 0)
			jw_count(json, lc__reject_name((enum lc__reject)i),
			    state->rejected[i]);
	jw_close(json, '}');
	jw_count(json, "bytes_read", state->bytes_read);
	jw_count(json, "bytes_stored", state->bytes_stored);
	jw_count(json, "bytes_exported", state->bytes_exported);
}

static void
put_thread_seconds(struct json *json, const struct lc__ingest_state *state)
{
	jw_real(json, "wall_seconds", (double)state->wall_ns / 1e9);
	jw_open(json, "thread_seconds", '{');
	for (int i = 0; i < LC__PHASES; i++)
		jw_real(json, lc__phase_name((enum lc__phase)i),
		    (double)state->ns[i] / 1e9);
	jw_close(json, '}');
}

static void
put_summary(struct json *json, const struct lc__summary *summary)
{
	const struct lc__counts *totals = &summary->totals;

	jw_open(json, "totals", '{');
	jw_count(json, "total", totals->total);
	jw_count(json, "non_empty", totals->non_empty);
	jw_count(json, "empty", totals->empty);
	jw_count(json, "missing_image", totals->missing_image);
	jw_count(json, "missing_file", totals->missing_file);
	jw_count(json, "invalid", totals->invalid);
	jw_close(json, '}');
	jw_count(json, "boxes", summary->boxes);
	jw_count(json, "clipped", summary->clipped);
	jw_count(json, "dropped", summary->dropped);
	jw_count(json, "filtered", summary->filtered);
	jw_count(json, "overflow_boxes", summary->overflow_boxes);
	jw_count(json, "overflow_samples", summary->overflow_samples);
}

static void
result_members(struct json *json, const struct lc__ingest_result *result)
{
	if (result->version_dir != NULL)
		jw_text(json, "version_dir", result->version_dir);
	jw_text(json, "version", result->version);
	jw_text(json, "fingerprint", result->fingerprint);
	jw_flag(json, "up_to_date", result->up_to_date);
	result_counts(json, &result->state);
	put_summary(json, &result->summary);
	jw_open(json, "ignored", '{');
	for (size_t i = 0; lc__images_ignored_ending(i) != NULL; i++)
		if (result->ignored.by_ending[i] > 0)
			jw_count(json, lc__images_ignored_ending(i) + 1,
			    result->ignored.by_ending[i]);
	jw_close(json, '}');
	jw_count(json, "forgotten", result->forgotten);
	jw_count(json, "shards", result->shards);
	jw_count(json, "shards_reused", result->shards_reused);
	jw_count(json, "bytes", result->bytes);
	put_thread_seconds(json, &result->state);
}

/* ---- the trace ---------------------------------------------------------------------- */

#define SECOND UINT64_C(1000000000)

void
build_trace_begin(const char *dataset, const char *warehouse, const struct opt *options)
{
	struct json json;

	if (!trace_is_on())
		return;
	json = trace_event("begin");
	jw_text(&json, "cachex", lc_version());
	jw_count(&json, "time_ms", lc__clock_wall_ms());
	jw_text(&json, "dataset", dataset);
	jw_text(&json, "warehouse", warehouse);
	trace_options(&json, options);
	trace_event_end(&json);
}

static void
trace_rejected(const struct lc__frame *frame, const char *reason, const char *detail)
{
	struct json json;

	if (!trace_is_on())
		return;
	json = trace_event("rejected");
	jw_text(&json, "run", frame->run);
	jw_text(&json, "name", frame->name);
	jw_text(&json, "reason", reason);
	jw_text(&json, "detail", detail);
	trace_event_end(&json);
}

static void
trace_progress(const struct lc__ingest_state *state)
{
	struct json json;

	if (!trace_is_due())
		return;
	json = trace_event("progress");
	jw_text(&json, "phase", lc__phase_name(state->phase));
	result_counts(&json, state);
	trace_event_end(&json);
}

static void
trace_warning(const char *line)
{
	struct json json;

	if (!trace_is_on())
		return;
	json = trace_event("warning");
	jw_text(&json, "text", line);
	trace_event_end(&json);
}

static void
trace_phase(const struct lc__ingest_state *state, enum lc__phase phase)
{
	struct json json = trace_event("phase");

	jw_text(&json, "phase", lc__phase_name(phase));
	jw_real(&json, "thread_seconds", (double)state->ns[phase] / SECOND);
	trace_event_end(&json);
}

void
build_trace_end(const struct lc__ingest_result *result, const char *status,
    const char *error)
{
	struct json json;

	if (!trace_is_on())
		return;
	for (int phase = 0; phase < LC__PHASES; phase++)
		trace_phase(&result->state, (enum lc__phase)phase);
	json = trace_event("end");
	jw_text(&json, "status", status);
	if (error != NULL)
		jw_text(&json, "error", error);
	result_members(&json, result);
	trace_event_end(&json);
}

/* ---- while it runs ------------------------------------------------------------------ */

static struct {
	uint64_t named, unnamed; /* frames that are no samples */
	enum lc__phase phase;    /* of the last step */
} watch;

static int
step(void *ctx, const struct lc__ingest_state *state)
{
	(void)ctx;
	if (state->phase != watch.phase)
		progress_phase(NULL, lc__phase_name(state->phase));
	watch.phase = state->phase;
	trace_progress(state);
	build_metrics_progress(state);
	if (state->phase == LC__PHASE_EXPORT)
		return progress_step(NULL, state->bytes_exported, state->bytes_to_export);
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
	if (watch.named >= NAMED) {
		watch.unnamed++;
		return;
	}
	watch.named++;
	report_note("%s: %s", name, detail);
}

static void
warn(void *ctx, const char *print_count)
{
	(void)ctx;
	trace_warning(print_count);
	report_note("warning: %s", print_count);
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
			sizeof(samples)),
		    count_human(result->shards, "shard", shards, sizeof(shards)),
		    result->limits_changed ? "; its limits and sources are noted anew"
					   : "");
	else
		print_table(result, in->dry_run);
}

static void
report_unnamed(const struct lc__ingest_result *result)
{
	if (watch.unnamed == 0)
		return;
	if (result->version_dir != NULL)
		report_note("and %llu more: see %s/rejected.jsonl",
		    (unsigned long long)watch.unnamed, result->version_dir);
	else if (result->rejected_list != NULL)
		report_note("and %llu more: see %s", (unsigned long long)watch.unnamed,
		    result->rejected_list);
	else
		report_note("and %llu more", (unsigned long long)watch.unnamed);
}

static int
report_failure(lc_status status)
{
	if (status == LC_FAILED) {
		return report_library(EXIT_NO);
	}
	return report_status(status);
}

/* Counts are shown also where a limit is exceeded: they say why. */
int
build_report(lc_status status, const struct lc__ingest *in,
    const struct lc__ingest_result *result)
{
	const bool counted = status == LC_OK || status == LC_FAILED;

	report_unnamed(result);
	if (settings.json && counted)
		show_json(in, result, lc_status_name(status));
	else if (!settings.quiet && status == LC_OK)
		show_text(in, result);
	return status == LC_OK ? EXIT_DONE : report_failure(status);
}
