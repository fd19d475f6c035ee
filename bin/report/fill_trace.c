/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/fill_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json_number.h"
#include "base/json_scan.h"
#include "base/lines.h"

#define LINE_MOST (1u << 20)

/* A line of the trace. Numbers that the line lacks are 0. */
struct event {
	char name[16];
	struct lc__fill_point point;
	double time_ms;
	bool has_bytes, has_running;
	struct lc__json_slice module, status, metrics;
};

static double
number_of(const struct lc__json_member *member)
{
	const char *text = member->value.text;
	struct lc__json_number number;

	return member->kind == LC__JSON_NUMBER &&
		lc__json_number(text, text + member->value.size, &number) != NULL
	    ? lc__json_number_double(&number)
	    : 0;
}

static void
take_member(const struct lc__json_member *member, struct event *out)
{
	static const struct {
		const char *name;
		size_t at;
	} numbers[] = {
		{ "seconds", offsetof(struct lc__fill_point, seconds) },
		{ "stored", offsetof(struct lc__fill_point, stored) },
		{ "failed", offsetof(struct lc__fill_point, failed) },
		{ "bad", offsetof(struct lc__fill_point, failed) },
		{ "bytes", offsetof(struct lc__fill_point, bytes) },
		{ "retried", offsetof(struct lc__fill_point, retried) },
		{ "died", offsetof(struct lc__fill_point, lost) },
		{ "timed_out", offsetof(struct lc__fill_point, lost) },
		{ "garbage", offsetof(struct lc__fill_point, lost) },
		{ "running", offsetof(struct lc__fill_point, running) },
		{ "busy", offsetof(struct lc__fill_point, busy) },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (lc__json_name_is(member->name, numbers[i].name))
			*(double *)((char *)&out->point + numbers[i].at) += number_of(
			    member);
	if (lc__json_name_is(member->name, "event") && member->value.size > 2 &&
	    member->value.size - 2 < sizeof(out->name))
		memcpy(out->name, member->value.text + 1, member->value.size - 2);
	else if (lc__json_name_is(member->name, "time_ms"))
		out->time_ms = number_of(member);
	else if (lc__json_name_is(member->name, "module"))
		out->module = member->value;
	else if (lc__json_name_is(member->name, "status"))
		out->status = member->value;
	else if (lc__json_name_is(member->name, "metrics"))
		out->metrics = member->value;
	out->has_bytes |= lc__json_name_is(member->name, "bytes");
	out->has_running |= lc__json_name_is(member->name, "running");
}

static lc_status
parse(const struct lc__text_line *line, struct event *out)
{
	struct lc__json_members members;
	struct lc__json_member member;
	lc_status status = lc__json_object(line->text, line->size, &members);

	memset(out, 0, sizeof(*out));
	while (status == LC_OK) {
		status = lc__json_next(&members, &member);
		if (status == LC_OK)
			take_member(&member, out);
	}
	if (status == LC_END && isfinite(out->point.seconds) && out->point.seconds >= 0)
		return LC_OK;
	return LC_CORRUPT;
}

static lc_status
take_text(struct lc__json_slice string, char **out)
{
	struct lc__buf text = { 0 };

	if (string.size == 0 || *out != NULL)
		return LC_OK;
	/* Ignore a text with half of a surrogate pair. */
	if (lc__json_unescape(string, &text) != LC_OK) {
		lc__buf_free(&text);
		return LC_OK;
	}
	lc__buf_append(&text, "", 1);
	if (text.failed) {
		lc__buf_free(&text);
		return lc__no_memory(NULL);
	}
	*out = (char *)text.data;
	return LC_OK;
}

static lc_status
take_metric(struct lc__fill_trace *trace, const struct lc__json_member *member,
    double seconds)
{
	const double value = number_of(member);
	struct lc__fill_metric *metric = NULL;

	if (member->kind != LC__JSON_NUMBER && member->kind != LC__JSON_NULL)
		return LC_OK;
	for (size_t i = 0; i < trace->n_metrics && metric == NULL; i++)
		if (lc__json_name_is(member->name, trace->metrics[i].name))
			metric = &trace->metrics[i];
	if (metric == NULL && trace->n_metrics == LC__FILL_METRICS)
		return LC_OK;
	if (metric == NULL) {
		metric = &trace->metrics[trace->n_metrics];
		return_if_error(take_text(member->name, &metric->name));
		if (metric->name == NULL)
			return LC_OK;
		trace->n_metrics++;
	}
	if (member->kind == LC__JSON_NULL || !isfinite(value)) {
		metric->others++;
		return LC_OK;
	}
	return_if_error(
	    lc__array_reserve(&metric->points, &metric->room, metric->n + 1, NULL));
	metric->points[metric->n].seconds = seconds;
	metric->points[metric->n].value = value;
	metric->n++;
	return LC_OK;
}

static lc_status
take_metrics(struct lc__fill_trace *trace, const struct event *event)
{
	struct lc__json_members members;
	struct lc__json_member member;

	if (event->metrics.size == 0 ||
	    lc__json_object(event->metrics.text, event->metrics.size, &members) != LC_OK)
		return LC_OK;
	while (lc__json_next(&members, &member) == LC_OK)
		return_if_error(take_metric(trace, &member, event->point.seconds));
	return LC_OK;
}

static lc_status
take_event(struct lc__fill_trace *trace, const struct event *event)
{
	const bool begins = strcmp(event->name, "begin") == 0;
	const bool ends = strcmp(event->name, "end") == 0;

	if (begins) {
		trace->began_ms = (uint64_t)fmax(event->time_ms, 0);
		return take_text(event->module, &trace->module);
	}
	if (ends)
		return_if_error(take_text(event->status, &trace->status));
	return_if_error(take_metrics(trace, event));
	if ((!ends && strcmp(event->name, "progress") != 0) || !event->has_bytes)
		return LC_OK;
	/* If several programs wrote the file, times may go back. */
	if (trace->n > 0 && event->point.seconds < trace->points[trace->n - 1].seconds)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&trace->points, &trace->room, trace->n + 1, NULL));
	trace->points[trace->n++] = event->point;
	trace->producers |= event->has_running;
	return LC_OK;
}

lc_status
lc__fill_trace_read(const char *path, struct lc__fill_trace *out)
{
	struct lc__lines lines = { .path = path, .limit = LINE_MOST };
	struct lc__text_line line;
	struct event event;
	lc_status status = LC_OK;

	memset(out, 0, sizeof(*out));
	out->path = path;
	lines.fd = lc__open(path, O_RDONLY);
	if (lines.fd == -1)
		return lc__error_sys(errno, "%s", path);
	while (status == LC_OK) {
		status = lc__lines_next(&lines, &line);
		if (status == LC_OK && parse(&line, &event) == LC_OK) {
			status = take_event(out, &event);
		} else if (status == LC_OK || status == LC_INVALID) {
			out->bad++;
			status = LC_OK;
		}
	}
	close(lines.fd);
	lc__lines_free(&lines);
	if (status != LC_END)
		return status;
	return out->n > 0 || out->module != NULL
	    ? LC_OK
	    : lc__error(LC_CORRUPT, 0, "%s: not a trace of cachex fill", path);
}

void
lc__fill_trace_free(struct lc__fill_trace *trace)
{
	free(trace->module);
	free(trace->status);
	free(trace->points);
	for (size_t i = 0; i < trace->n_metrics; i++) {
		free(trace->metrics[i].name);
		free(trace->metrics[i].points);
	}
	memset(trace, 0, sizeof(*trace));
}
