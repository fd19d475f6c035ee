/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/build_metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "labels/reject.h"
#include "ui/report.h"

#define SECOND UINT64_C(1000000000)
#define INTERVAL (10 * SECOND)

static struct {
	const char *path;      /* NULL: no metrics */
	const char *warehouse; /* the label of all */
	uint64_t next;         /* ns: when the file is due */
} metrics;

/* ---- the text ---------------------------------------------------------------- */

static void
head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP cachex_build_%s %s\n# TYPE cachex_build_%s %s\n", name, help,
	    name, type);
}

/* A label's value: the three characters that are special are escaped. */
static void
put_escaped(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*text == '\\' || *text == '"')
			putc('\\', out);
		putc(*text, out);
	}
}

/* name{warehouse="w",label="value"} */
static void
put_name(FILE *out, const char *name, const char *label, const char *value)
{
	fprintf(out, "cachex_build_%s{warehouse=\"", name);
	put_escaped(out, metrics.warehouse);
	if (label != NULL)
		fprintf(out, "\",%s=\"%s", label, value);
	fputs("\"} ", out);
}

static void
put_count(FILE *out, const char *name, const char *label, const char *value,
    uint64_t count)
{
	put_name(out, name, label, value);
	fprintf(out, "%llu\n", (unsigned long long)count);
}

static void
put_seconds(FILE *out, const char *name, const char *label, const char *value,
    uint64_t ns)
{
	put_name(out, name, label, value);
	/* A double would round seconds since 1970 in these digits. */
	fprintf(out, "%llu.%09llu\n", (unsigned long long)(ns / SECOND),
	    (unsigned long long)(ns % SECOND));
}

static void
put_frames(FILE *out, const struct lc__ingest_state *state)
{
	head(out, "dataset_frames", "gauge", "Frames that the dataset has.");
	put_count(out, "dataset_frames", NULL, NULL, state->frames);
	head(out, "frames_total", "counter", "Frames looked at.");
	put_count(out, "frames_total", NULL, NULL, state->frames_done);
	head(out, "samples_total", "counter", "Frames that are samples.");
	put_count(out, "samples_total", NULL, NULL, state->samples);
	head(out, "reused_total", "counter", "Frames that an earlier build had stored.");
	put_count(out, "reused_total", NULL, NULL, state->reused);
	head(out, "rejected_total", "counter", "Frames that are no samples.");
	for (int i = LC__REJECT_NONE + 1; i < LC__REJECTS; i++)
		put_count(out, "rejected_total", "reason",
		    lc__reject_name((enum lc__reject)i), state->rejected[i]);
}

static void
put_work(FILE *out, const struct lc__ingest_state *state)
{
	head(out, "bytes_total", "counter", "Bytes moved.");
	put_count(out, "bytes_total", "kind", "read", state->bytes_read);
	put_count(out, "bytes_total", "kind", "stored", state->bytes_stored);
	put_count(out, "bytes_total", "kind", "exported", state->bytes_exported);
	head(out, "seconds_total", "counter",
	    "Time spent in each phase, of all threads.");
	for (int i = 0; i < LC__PHASES; i++)
		put_seconds(out, "seconds_total", "phase",
		    lc__phase_name((enum lc__phase)i), state->ns[i]);
	head(out, "wall_seconds", "gauge", "Time since the build began.");
	put_seconds(out, "wall_seconds", NULL, NULL, state->wall_ns);
}

static void
put_end(FILE *out, const struct lc__ingest_result *result, bool success)
{
	head(out, "shards", "gauge", "Shards of the version.");
	put_count(out, "shards", NULL, NULL, result->shards);
	head(out, "shards_reused", "gauge", "Shards taken from an older version.");
	put_count(out, "shards_reused", NULL, NULL, result->shards_reused);
	head(out, "shard_bytes", "gauge", "Bytes of all shards.");
	put_count(out, "shard_bytes", NULL, NULL, result->bytes);
	head(out, "success", "gauge", "Whether the build did what it was to do.");
	put_count(out, "success", NULL, NULL, success);
	head(out, "end_timestamp_seconds", "gauge", "When it ended, since 1970.");
	put_seconds(out, "end_timestamp_seconds", NULL, NULL,
	    lc__clock_wall_ms() * 1000000);
}

/* ---- the file ------------------------------------------------------------------ */

static lc_status
put_file(const struct lc__ingest_state *state, const struct lc__ingest_result *result,
    bool success)
{
	struct lc__buf text = { 0 };
	FILE *out = lc__buf_stream(&text);
	lc_status status;

	if (out != NULL) {
		head(out, "running", "gauge", "Whether the build goes on.");
		put_count(out, "running", NULL, NULL, result == NULL);
		put_frames(out, state);
		put_work(out, state);
		if (result != NULL)
			put_end(out, result, success);
	}
	status = lc__buf_stream_end(out, &text)
	    ? lc__write_file_atomic(metrics.path, text.data, text.size)
	    : lc__no_memory(metrics.path);
	lc__buf_free(&text);
	return status;
}

int
build_metrics_begin(const char *path, const char *warehouse)
{
	const struct lc__ingest_state nothing = { .frames = 0 };
	lc_status status = LC_OK;

	metrics.path = path;
	metrics.warehouse = warehouse;
	metrics.next = lc__clock_coarse_ns() + INTERVAL;
	if (path != NULL)
		status = put_file(&nothing, NULL, false);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

void
build_metrics_progress(const struct lc__ingest_state *state)
{
	if (metrics.path == NULL || lc__clock_coarse_ns() < metrics.next)
		return;
	metrics.next = lc__clock_coarse_ns() + INTERVAL;
	/* A failure is reported at the end, if writing still fails then. */
	if (put_file(state, NULL, false) != LC_OK)
		metrics.next += INTERVAL;
}

int
build_metrics_end(const struct lc__ingest_result *result, bool success)
{
	const lc_status status = metrics.path != NULL
	    ? put_file(&result->state, result, success)
	    : LC_OK;

	return status == LC_OK ? EXIT_DONE : report_status(status);
}
