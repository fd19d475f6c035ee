/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/fill_tell.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "ui/trace.h"

static struct fill_telling how;

/* ---- what it reports while it runs ----------------------------------------------- */

/* Failed items that are named on standard error; all are in the file. */
#define NAMED 10

static struct {
	uint64_t total;          /* number of items; 0: not known */
	uint64_t over;           /* number of items that are done */
	uint64_t named, unnamed; /* failed items */
} report;

void
fill_tell_how(const struct fill_telling *telling)
{
	how = *telling;
}

void
fill_tell_total(uint64_t items)
{
	report.total = items;
}

void
fill_tell_begin(const char *module)
{
	struct json json;

	if (how.dry_run)
		interrupt_resume(INTERRUPT_AGAIN);
	progress_begin("fill");
	if (!trace_is_on())
		return;
	json = trace_event("begin");
	jw_text(&json, "cachex", lc_version());
	jw_count(&json, "time_ms", lc__clock_wall_ms());
	jw_text(&json, "module", module);
	trace_options(&json, how.options);
	trace_event_end(&json);
}

/* Print what producers write to their standard error, if -v is given. */
void
fill_tell_line(void *ctx, unsigned child, const char *line)
{
	(void)ctx;
	if (settings.verbose)
		report_note("producer %u: %s", child, line);
}

void
fill_tell_batch(void *ctx, const struct lc__items *items)
{
	uint64_t failed = 0;
	unsigned attempts = 0;
	struct json json;

	(void)ctx;
	if (!trace_is_on())
		return;
	for (size_t i = 0; i < items->count; i++) {
		failed += items->items[i].outcome == LC__ITEM_FAILED;
		if (items->items[i].attempts > attempts)
			attempts = items->items[i].attempts;
	}
	json = trace_event("batch");
	jw_count(&json, "items", items->count);
	jw_count(&json, "failed", failed);
	jw_count(&json, "attempts", attempts);
	trace_event_end(&json);
}

void
fill_tell_reported(void *ctx, unsigned child, const struct lc__reported *all, size_t n)
{
	struct json json;

	(void)ctx;
	if (!trace_is_on())
		return;
	json = trace_event("metrics");
	jw_count(&json, "producer", child);
	jw_open(&json, "metrics", '{');
	for (size_t i = 0; i < n; i++)
		if (isfinite(all[i].value))
			jw_real(&json, all[i].name, all[i].value);
		else
			jw_null(&json, all[i].name);
	jw_close(&json, '}');
	trace_event_end(&json);
}

void
fill_tell_failed(void *ctx, const struct lc__item *item)
{
	const char *why = item->why != NULL ? item->why : "failed";
	struct json json;

	(void)ctx;
	if (trace_is_on()) {
		json = trace_event("failed");
		jw_id(&json, item->id);
		jw_text(&json, "why", why);
		jw_count(&json, "attempts", item->attempts);
		trace_event_end(&json);
	}
	if (report.named >= NAMED) {
		report.unnamed++;
		return;
	}
	report.named++;
	report_note("%s: %s", lc__quote_id(item->id.data, item->id.size), why);
}

void
fill_tell_stopped(void *ctx, const char *name, const char *why)
{
	struct json json;

	(void)ctx;
	report_error(EXIT_DATA, "%s stops: %s", name, why);
	if (!trace_is_on())
		return;
	json = trace_event("stopped");
	jw_text(&json, "input", name);
	jw_text(&json, "why", why);
	trace_event_end(&json);
}

lc_status
fill_tell_item(void *ctx, const struct lc__item *item)
{
	report.over++;
	if (item->outcome == LC__ITEM_FAILED)
		fill_tell_failed(ctx, item);
	return LC_OK;
}

static void
put_produced(struct json *json, const struct lc__produced *produced)
{
	jw_count(json, "batches", produced->batches);
	jw_count(json, "started", produced->started);
	jw_count(json, "died", produced->died);
	jw_count(json, "timed_out", produced->timed_out);
	jw_count(json, "garbage", produced->garbage);
	jw_count(json, "retried", produced->retried);
	jw_count(json, "sent_bytes", produced->sent_bytes);
	jw_count(json, "received_bytes", produced->received_bytes);
}

/* Also the number of producers, which the result does not contain. */
static void
put_producers(struct json *json, const struct lc__produced *produced)
{
	jw_count(json, "running", produced->running);
	jw_count(json, "busy", produced->busy);
}

static void
put_filled(struct json *json, const struct lc__filled *filled)
{
	jw_count(json, "stored", filled->stored);
	jw_count(json, "there", filled->there);
	jw_count(json, "wrong", filled->wrong);
	jw_count(json, "failed", filled->failed);
	jw_count(json, "items", filled->items);
	jw_count(json, "bytes", filled->bytes);
	put_produced(json, &filled->produced);
}

static void
put_inputs(struct json *json, const struct lc__inputs_filled *filled)
{
	jw_count(json, "stored", filled->stored);
	jw_count(json, "failed", filled->failed);
	jw_count(json, "bad", filled->bad);
	jw_count(json, "items", filled->items);
	jw_count(json, "recalled", filled->recalled);
	jw_count(json, "chunks", filled->chunks);
	jw_count(json, "bytes", filled->bytes);
	jw_count(json, "declared", filled->declared);
	jw_count(json, "inputs", filled->inputs);
	jw_count(json, "finished", filled->finished);
	jw_count(json, "stopped", filled->stopped);
	jw_count(json, "left", filled->left);
	jw_count(json, "shard_bytes", filled->shard_bytes);
	jw_count(json, "shard_bytes_done", filled->shard_done);
	put_produced(json, &filled->produced);
}

static lc_status
show_progress(uint64_t done, uint64_t total)
{
	return progress_step(NULL, done, total) == 0
	    ? LC_OK
	    : lc__error(LC_CANCELLED, 0, "stopped");
}

lc_status
fill_tell_progress(void *ctx, const struct lc__filled *so_far)
{
	struct json json;

	(void)ctx;
	if (trace_is_due()) {
		json = trace_event("progress");
		put_filled(&json, so_far);
		put_producers(&json, &so_far->produced);
		trace_event_end(&json);
	}
	progress_items(report.over, report.total);
	progress_rate("records", so_far->stored);
	return show_progress(so_far->bytes, 0);
}

lc_status
fill_tell_inputs_progress(void *ctx, const struct lc__inputs_filled *so_far)
{
	struct json json;

	(void)ctx;
	if (trace_is_due()) {
		json = trace_event("progress");
		put_inputs(&json, so_far);
		put_producers(&json, &so_far->produced);
		trace_event_end(&json);
	}
	progress_rate("records", so_far->stored);
	return show_progress(so_far->shard_done - so_far->shard_before,
	    so_far->shard_bytes - so_far->shard_before);
}

/* ---- the result --------------------------------------------------------------------- */

/* "; 512 MiB in 3.2 s, 3125 records/s" */
static void
print_rate(uint64_t bytes, uint64_t records, double seconds)
{
	char size[SIZE_TEXT];

	printf("; %s in %.1f s, %.0f records/s\n",
	    size_human((double)bytes, size, sizeof(size)), seconds,
	    seconds > 0 ? (double)records / seconds : 0);
}

static void
show_filled(const struct lc__filled *filled, double seconds)
{
	const unsigned long long stored = filled->stored, there = filled->there,
				 wrong = filled->wrong, failed = filled->failed;
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		put_filled(&json, filled);
		jw_real(&json, "seconds", seconds);
		jw_flag(&json, "dry_run", how.dry_run);
		jw_end_line(&json);
	} else if (!settings.quiet && how.dry_run) {
		printf("%llu missing, %llu there, %llu wrong\n",
		    (unsigned long long)(filled->items - filled->there - filled->wrong),
		    there, wrong);
	} else if (!settings.quiet) {
		printf("%llu stored, %llu there, %llu wrong, %llu failed", stored, there,
		    wrong, failed);
		print_rate(filled->bytes, filled->stored, seconds);
	}
}

/* "3 inputs", or "task 1/3, 5 of 16 inputs" */
static char *
inputs_human(const struct lc__inputs_filled *filled, char *out, size_t room)
{
	int n;

	if (how.task->of == 1)
		return count_human(filled->inputs + *how.pushed, "input", out, room);
	n = snprintf(out, room, "task %u/%u, %llu of ", (unsigned)how.task->number,
	    (unsigned)how.task->of, (unsigned long long)(filled->inputs + *how.pushed));
	count_human(filled->declared, "input", out + n, room - (size_t)n);
	return out;
}

static void
show_inputs(const struct lc__inputs_filled *filled, double seconds)
{
	const uint64_t over = filled->finished + filled->stopped + filled->left;
	char inputs[3 * SIZE_TEXT];
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		put_inputs(&json, filled);
		if (how.pushes)
			jw_count(&json, "in_store", *how.pushed);
		jw_real(&json, "seconds", seconds);
		jw_flag(&json, "dry_run", how.dry_run);
		jw_end_line(&json);
	} else if (!settings.quiet && how.dry_run) {
		printf("%llu missing, %llu bad; ", (unsigned long long)filled->items,
		    (unsigned long long)filled->bad);
		if (how.task->of > 1)
			printf("%s: ", inputs_human(filled, inputs, sizeof(inputs)));
		printf("%llu of %llu inputs finished\n",
		    (unsigned long long)filled->finished,
		    (unsigned long long)filled->inputs);
	} else if (!settings.quiet) {
		printf("%llu stored, %llu failed, %llu bad",
		    (unsigned long long)filled->stored,
		    (unsigned long long)filled->failed, (unsigned long long)filled->bad);
		print_rate(filled->bytes, filled->stored, seconds);
		printf("%s: %llu finished, %llu stopped, %llu left to others",
		    inputs_human(filled, inputs, sizeof(inputs)),
		    (unsigned long long)filled->finished,
		    (unsigned long long)filled->stopped,
		    (unsigned long long)filled->left);
		if (over < filled->inputs)
			printf(", %llu to continue",
			    (unsigned long long)(filled->inputs - over));
		if (*how.pushed > 0)
			printf(", %llu in the store before",
			    (unsigned long long)*how.pushed);
		putchar('\n');
	}
}

static void
report_unnamed(void)
{
	if (report.unnamed > 0 && *how.failures != NULL)
		report_note("and %llu more: see %s", (unsigned long long)report.unnamed,
		    *how.failures);
	else if (report.unnamed > 0)
		report_note("and %llu more", (unsigned long long)report.unnamed);
}

/* The failure that stopped the fill. A shard that has changed meanwhile is bad input. */
static int
report_failure(lc_status status)
{
	return status == LC_STALE ? report_library(EXIT_DATA) : report_status(status);
}

static void
begin_end(struct json *json, lc_status status, const lc_error *error)
{
	*json = trace_event("end");
	jw_text(json, "status", lc_status_name(status));
	if (status != LC_OK)
		jw_text(json, "error", error->text);
}

/* Show the result, and the failure that stopped it if there was one; an exit status. */
int
fill_tell_end(lc_status status, const struct lc__filled *filled)
{
	const lc_error error = *lc_last_error();
	const double seconds = progress_end();
	struct json json;

	if (trace_is_on()) {
		begin_end(&json, status, &error);
		put_filled(&json, filled);
		trace_event_end(&json);
	}
	report_unnamed();
	show_filled(filled, seconds);
	if (status != LC_OK)
		return report_failure(lc__error_raise(&error));
	return filled->failed > 0 ? EXIT_NO : EXIT_DONE;
}

int
fill_tell_inputs_end(lc_status status, const struct lc__inputs_filled *filled)
{
	const lc_error error = *lc_last_error();
	const double seconds = progress_end();
	struct json json;

	if (trace_is_on()) {
		begin_end(&json, status, &error);
		put_inputs(&json, filled);
		trace_event_end(&json);
	}
	report_unnamed();
	show_inputs(filled, seconds);
	if (status != LC_OK)
		return report_failure(lc__error_raise(&error));
	if (filled->unread > 0 || (how.dry_run && filled->bad > 0))
		return EXIT_DATA;
	return filled->failed + filled->bad + filled->stopped > 0 ? EXIT_NO : EXIT_DONE;
}
