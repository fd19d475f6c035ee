/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/build_tell.h"

#include <stdio.h>

#include "base/error.h"
#include "labels/label.h"
#include "ui/metrics.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "ui/trace.h"

static struct build_telling how;

/* ---- the metrics: a file that node_exporter's textfile collector reads ------------ */

static struct metrics metrics = { .command = "build", .label = "warehouse" };

/* Replace the file; @p result is NULL while the build is running. */
static lc_status
write_metrics(const struct lc__ingest_state *state,
    const struct lc__ingest_result *result, bool success)
{
	struct metrics *m = &metrics;

	return_if_error(metrics_begin(m));
	metrics_head(m, "running", "gauge", "Whether the build is running.");
	metrics_count(m, "running", NULL, NULL, result == NULL);
	metrics_head(m, "dataset_frames", "gauge", "Frames of the dataset.");
	metrics_count(m, "dataset_frames", NULL, NULL, state->frames);
	metrics_head(m, "frames_total", "counter", "Frames checked.");
	metrics_count(m, "frames_total", NULL, NULL, state->frames_done);
	metrics_head(m, "samples_total", "counter", "Frames that became samples.");
	metrics_count(m, "samples_total", NULL, NULL, state->samples);
	metrics_head(m, "reused_total", "counter",
	    "Frames that an earlier build had stored.");
	metrics_count(m, "reused_total", NULL, NULL, state->reused);
	metrics_head(m, "rejected_total", "counter", "Frames that were rejected.");
	for (int i = LC__REJECT_NONE + 1; i < LC__REJECTS; i++)
		metrics_count(m, "rejected_total", "reason",
		    lc__reject_name((enum lc__reject)i), state->rejected[i]);

	metrics_head(m, "bytes_total", "counter", "Bytes moved.");
	metrics_count(m, "bytes_total", "kind", "read", state->bytes_read);
	metrics_count(m, "bytes_total", "kind", "stored", state->bytes_stored);
	metrics_count(m, "bytes_total", "kind", "exported", state->bytes_exported);
	metrics_head(m, "seconds_total", "counter",
	    "Time spent in each phase, of all threads.");
	for (int i = 0; i < LC__PHASES; i++)
		metrics_seconds(m, "seconds_total", "phase",
		    lc__phase_name((enum lc__phase)i), state->ns[i]);
	metrics_head(m, "wall_seconds", "gauge", "Time since the build began.");
	metrics_seconds(m, "wall_seconds", NULL, NULL, state->wall_ns);

	if (result != NULL) {
		metrics_head(m, "shards", "gauge", "Shards of the version.");
		metrics_count(m, "shards", NULL, NULL, result->shards);
		metrics_head(m, "shards_reused", "gauge",
		    "Shards taken from an older version.");
		metrics_count(m, "shards_reused", NULL, NULL, result->shards_reused);
		metrics_head(m, "shard_bytes", "gauge", "Bytes of all shards.");
		metrics_count(m, "shard_bytes", NULL, NULL, result->bytes);
		metrics_outcome(m, success);
	}
	return metrics_end(m);
}

int
build_tell_begin(const struct build_telling *telling)
{
	const struct lc__ingest_state nothing = { .frames = 0 };
	lc_status status = LC_OK;

	how = *telling;
	metrics.path = how.metrics;
	metrics.subject = how.warehouse;
	if (metrics_due(&metrics))
		status = write_metrics(&nothing, NULL, false);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static int
end_metrics(const struct lc__ingest_result *result, bool success)
{
	const lc_status status = metrics.path != NULL
	    ? write_metrics(&result->state, result, success)
	    : LC_OK;

	return status == LC_OK ? EXIT_DONE : report_status(status);
}

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

/* A count that is printed only if it is not 0. */
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
		printf("  (%llu frames stored before)",
		    (unsigned long long)state->reused);
	putchar('\n');
	print_some("  16 bits to 8", state->reduced);
	for (int i = LC__REJECT_NONE + 1; i < LC__REJECTS; i++) {
		snprintf(name, sizeof(name), "  %s", lc__reject_name((enum lc__reject)i));
		print_some(name, state->rejected[i]);
	}
	print_some("removed since then", result->forgotten);
}

/* The unit of a phase's work, for its rate per second of a thread. */
static void
print_rate(const struct lc__ingest_state *state, enum lc__phase phase, double seconds)
{
	const uint64_t done[LC__PHASES] = {
		[LC__PHASE_READ] = state->bytes_read,
		[LC__PHASE_STORE] = state->bytes_stored,
		[LC__PHASE_EXPORT] = state->bytes_exported,
	};
	char bytes[SIZE_TEXT];

	if (seconds <= 0)
		return;
	if (done[phase] > 0)
		printf("  %10s/s",
		    size_human((double)done[phase] / seconds, bytes, sizeof(bytes)));
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

static void
print_table(const struct lc__ingest_result *result)
{
	const struct lc__summary *summary = &result->summary;
	char bytes[SIZE_TEXT];

	if (result->version_dir != NULL)
		printf("%s%s%s\n", report_bold(stdout), result->version_dir,
		    report_plain(stdout));
	else if (how.dry_run)
		printf("nothing was written\n");
	else if (how.pack && how.task->of > 1)
		printf("the shards of task %u/%u are packed; build without --pack and "
		       "--shard to write the version\n",
		    (unsigned)how.task->number, (unsigned)how.task->of);
	else if (how.pack)
		printf("all shards are packed; build without --pack to write the "
		       "version\n");
	else if (how.task->of > 1)
		printf(
		    "task %u/%u is stored; build with --samples to write the version\n",
		    (unsigned)how.task->number, (unsigned)how.task->of);
	print_frames(result);
	print_count_line("boxes", summary->boxes);
	print_some("  cut at the edge", summary->clipped);
	print_some("  dropped", summary->dropped);
	print_some("  of other classes", summary->filtered);
	if (summary->overflow_boxes > 0) {
		print_count("  above the limit", summary->overflow_boxes);
		printf("  (in %llu samples)\n",
		    (unsigned long long)summary->overflow_samples);
	}
	if (result->version_dir != NULL || (how.pack && !how.dry_run)) {
		print_count("shards", result->shards);
		printf("  %s", size_human((double)result->bytes, bytes, sizeof(bytes)));
		if (result->shards_reused > 0)
			printf(" (%llu unchanged)",
			    (unsigned long long)result->shards_reused);
		putchar('\n');
	}
	print_phases(&result->state);
}

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

void
build_tell_members(struct json *json, const struct lc__ingest_result *result)
{
	const struct lc__ingest_state *state = &result->state;
	const struct lc__summary *summary = &result->summary;
	const struct lc__counts *totals = &summary->totals;

	if (result->version_dir != NULL)
		jw_text(json, "version_dir", result->version_dir);
	jw_text(json, "version", result->version);
	jw_text(json, "fingerprint", result->fingerprint);
	jw_flag(json, "up_to_date", result->up_to_date);
	if (how.task->of > 1) {
		jw_count(json, "task", how.task->number);
		jw_count(json, "tasks", how.task->of);
	}
	result_counts(json, state);
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
	jw_real(json, "wall_seconds", (double)state->wall_ns / 1e9);
	jw_open(json, "thread_seconds", '{');
	for (int i = 0; i < LC__PHASES; i++)
		jw_real(json, lc__phase_name((enum lc__phase)i),
		    (double)state->ns[i] / 1e9);
	jw_close(json, '}');
}

/* ---- while it runs: progress, the trace, the metrics -------------------------------- */

/* Frames that are named on standard error; all are in rejected.jsonl. */
#define NAMED 10

static struct {
	uint64_t named, unnamed; /* frames that are no samples */
	enum lc__phase phase;    /* of the last step */
} watch;

static int
step(void *ctx, const struct lc__ingest_state *state)
{
	struct json json;

	(void)ctx;
	if (state->phase != watch.phase)
		progress_phase(NULL, lc__phase_name(state->phase));
	watch.phase = state->phase;
	if (trace_is_due()) {
		json = trace_event("progress");
		jw_text(&json, "phase", lc__phase_name(state->phase));
		result_counts(&json, state);
		trace_event_end(&json);
	}
	/* A failure is reported at the end, if writes still fail then. */
	if (metrics_due(&metrics))
		(void)write_metrics(state, NULL, false);
	if (state->phase == LC__PHASE_EXPORT)
		return progress_step(NULL, state->bytes_exported, state->bytes_to_export);
	progress_items(state->frames_done, state->frames);
	return progress_step(NULL, state->bytes_read, 0);
}

/* Frames without boxes need no warning. */
static void
rejected(void *ctx, const struct lc__frame *frame, enum lc__reject reason,
    const char *detail)
{
	const char *name = lc__reject_name(reason);
	struct json json;

	(void)ctx;
	if (trace_is_on()) {
		json = trace_event("rejected");
		jw_text(&json, "run", frame->run);
		jw_text(&json, "name", frame->name);
		jw_text(&json, "reason", name);
		jw_text(&json, "detail", detail);
		trace_event_end(&json);
	}
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
warn(void *ctx, const char *text)
{
	struct json json;

	(void)ctx;
	if (trace_is_on()) {
		json = trace_event("warning");
		jw_text(&json, "text", text);
		trace_event_end(&json);
	}
	report_note("warning: %s", text);
}

const struct lc__ingest_watch build_watch = { NULL, step, rejected, warn };

/* ---- the result ---------------------------------------------------------------------- */

/* Show the counts if a limit is exceeded too: they explain it. */
static int
show_result(lc_status status, const struct lc__ingest_result *result)
{
	char samples[SIZE_TEXT], shards[SIZE_TEXT];
	struct json json = { stdout, false };

	if (watch.unnamed > 0 && result->version_dir != NULL)
		report_note("and %llu more: see %s/rejected.jsonl",
		    (unsigned long long)watch.unnamed, result->version_dir);
	else if (watch.unnamed > 0 && result->rejected_list != NULL)
		report_note("and %llu more: see %s", (unsigned long long)watch.unnamed,
		    result->rejected_list);
	else if (watch.unnamed > 0)
		report_note("and %llu more", (unsigned long long)watch.unnamed);

	if (settings.json && (status == LC_OK || status == LC_FAILED)) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "status", lc_status_name(status));
		jw_flag(&json, "dry_run", how.dry_run);
		build_tell_members(&json, result);
		jw_end_line(&json);
	} else if (!settings.quiet && status == LC_OK &&
	    (result->up_to_date || result->limits_changed)) {
		printf("%s: up to date, %s in %s%s\n", result->version_dir,
		    count_human(result->state.samples, "sample", samples,
			sizeof(samples)),
		    count_human(result->shards, "shard", shards, sizeof(shards)),
		    result->limits_changed ? "; its limits and sources were updated"
					   : "");
	} else if (!settings.quiet && status == LC_OK) {
		print_table(result);
	}
	if (status == LC_OK)
		return EXIT_DONE;
	return status == LC_FAILED ? report_library(EXIT_NO) : report_status(status);
}

int
build_tell_end(lc_status status, const struct lc__ingest_result *result)
{
	const int shown = show_result(status, result);

	return report_worse(shown, end_metrics(result, status == LC_OK));
}
