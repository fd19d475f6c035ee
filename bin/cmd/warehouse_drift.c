/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/warehouse_drift.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/columns.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/report.h"
#include "report/drift.h"
#include "report/html.h"
#include "ui/settings.h"
#include "ui/suggest.h"
#include "cmd/warehouse_facts.h"

static int
unknown_metric(const char *name)
{
	struct suggest suggest;

	suggest_start(&suggest, name);
	for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
		suggest_word(&suggest, lc__drift_name(i));
	if (suggest_best(&suggest) != NULL)
		return report_usage("--drift-limit: there is no %s; did you mean %s?",
		    name, suggest_best(&suggest));
	return report_usage("--drift-limit: there is no %s", name);
}

static int
read_limit(const char *text, double limits[LC__DRIFT_METRICS])
{
	const char *equals = strchr(text, '=');
	char name[64], *end;
	size_t metric;
	double limit;

	if (equals == NULL || (size_t)(equals - text) >= sizeof(name))
		return report_usage("--drift-limit: not NAME=LIMIT: '%s'", text);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	metric = lc__drift_find(name);
	if (metric == LC__DRIFT_METRICS)
		return unknown_metric(name);
	limit = strtod(equals + 1, &end);
	if (!isdigit((unsigned char)equals[1]) || *end != '\0' ||
	    !(limit >= 0 && limit <= 1))
		return report_usage("--drift-limit: not a limit: '%s' (0 to 1)", text);
	limits[metric] = limit;
	return EXIT_DONE;
}

static int
read_limits(const struct warehouse_drift *how, double limits[LC__DRIFT_METRICS])
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
		limits[i] = how->threshold;
	for (size_t i = 0; i < how->limits.count && status == EXIT_DONE; i++)
		status = read_limit(how->limits.items[i], limits);
	return status;
}

static const char *
verdict_of(const struct lc__drift_row *row)
{
	if (!row->exceeded)
		return "within";
	return row->chance ? "above, as chance may be" : "above";
}

static void __attribute__((format(printf, 2, 3)))
cell(struct columns *columns, const char *format, ...)
{
	char text[120];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	columns_text(columns, text);
}

static void
show_row(struct columns *columns, const struct lc__drift_row *row)
{
	columns_text(columns, lc__drift_name(row->metric));
	cell(columns, "%.3f", row->distance);
	cell(columns, "%.3f", row->noise);
	cell(columns, "%.3g", row->limit);
	columns_text(columns, verdict_of(row));
	if (row->is_share)
		cell(columns, "%.3g %% to %.3g %%", 100 * row->old_value,
		    100 * row->new_value);
	else
		cell(columns, "%llu and %llu values",
		    (unsigned long long)row->old_n,
		    (unsigned long long)row->new_n);
}

static int
show_table(const struct lc__drift *drift)
{
	static const char *const titles[] = { "OF", "DISTANCE", "CHANCE", "LIMIT",
		"VERDICT", "VALUES" };
	struct columns columns;

	columns_begin(&columns, "lrrrll");
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		columns_text(&columns, titles[i]);
	for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
		show_row(&columns, &drift->rows[i]);
	return columns_end(&columns);
}

static void
show_row_json(const struct lc__drift_row *row)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "metric", lc__drift_name(row->metric));
	jw_real(&json, "distance", row->distance);
	jw_real(&json, "chance", row->noise);
	jw_real(&json, "limit", row->limit);
	jw_flag(&json, "exceeded", row->exceeded);
	if (row->is_share) {
		jw_real(&json, "old", row->old_value);
		jw_real(&json, "new", row->new_value);
	}
	jw_count(&json, "old_n", row->old_n);
	jw_count(&json, "new_n", row->new_n);
	jw_end_line(&json);
}

static void
show_side_json(struct json *json, const char *key, const struct lc__facts *facts)
{
	const struct lc__summary *summary = &facts->summary;

	jw_open(json, key, '{');
	jw_text(json, "path", facts->info->path);
	jw_text(json, "version", facts->info->version);
	jw_text(json, "fingerprint", facts->info->fingerprint);
	jw_count(json, "frames", summary->totals.total);
	jw_count(json, "samples", summary->written);
	jw_count(json, "boxes", facts->seen.boxes);
	jw_count(json, "runs", summary->n_runs);
	jw_close(json, '}');
}

static int
show_json(const struct lc__facts *old, const struct lc__facts *new,
    const struct lc__drift *drift)
{
	struct json json = { stdout, false };

	for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
		show_row_json(&drift->rows[i]);
	jw_open(&json, NULL, '{');
	show_side_json(&json, "old", old);
	show_side_json(&json, "new", new);
	jw_count(&json, "exceeded", drift->exceeded);
	jw_count(&json, "chance", drift->chance);
	jw_flag(&json, "drift", drift->exceeded > 0);
	jw_end_line(&json);
	return EXIT_DONE;
}

static int
write_page(const char *path, bool force, const struct lc__facts *old,
    const struct lc__facts *new, const struct lc__drift *drift)
{
	struct output output;
	lc_status written;
	int status = output_open(&output, path, force);

	if (status != EXIT_DONE)
		return status;
	written = lc__html_drift(output.stream, old, new, drift);
	return output_end(&output, written == LC_OK ? EXIT_DONE :
	    report_status(written));
}

static int
show(const struct warehouse_drift *how, const struct lc__facts *old,
    const struct lc__facts *new, const struct lc__drift *drift)
{
	const bool page_only = how->output != NULL &&
	    strcmp(how->output, "-") == 0;
	int status = EXIT_DONE;

	if (how->output != NULL)
		status = write_page(how->output, how->force, old, new, drift);
	if (status != EXIT_DONE || page_only)
		return status;
	if (settings.json)
		return show_json(old, new, drift);
	return settings.quiet ? EXIT_DONE : show_table(drift);
}

static int
compare(const struct warehouse_drift *how, struct warehouse_facts *old,
    struct warehouse_facts *new)
{
	const struct lc__drift_side sides[2] = {
		{ &old->facts.summary, &old->facts.seen },
		{ &new->facts.summary, &new->facts.seen }
	};
	double limits[LC__DRIFT_METRICS];
	struct lc__drift drift;
	int status = read_limits(how, limits);

	if (status == EXIT_DONE)
		status = warehouse_facts_survey(old);
	if (status == EXIT_DONE)
		status = warehouse_facts_survey(new);
	if (status != EXIT_DONE)
		return status;
	lc__drift_compare(&sides[0], &sides[1], limits, &drift);
	status = show(how, &old->facts, &new->facts, &drift);
	if (status == EXIT_DONE && drift.exceeded > 0)
		return EXIT_NO;
	return status;
}

int
warehouse_drift(const struct warehouse_drift *how, const char *old,
    const char *new)
{
	static struct warehouse_facts sides[2];
	int status = warehouse_facts_open(&sides[0], old);

	if (status == EXIT_DONE)
		status = warehouse_facts_open(&sides[1], new);
	if (status == EXIT_DONE)
		status = compare(how, &sides[0], &sides[1]);
	warehouse_facts_close(&sides[0]);
	warehouse_facts_close(&sides[1]);
	return status;
}
