/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex top: all modules and their activity. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "cmd/watch.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/screen.h"
#include "ui/settings.h"
#include "ui/size.h"

#define SECOND UINT64_C(1000000000)

enum order { BY_ACTIVITY, BY_NAME, BY_RECORDS, BY_PUTS, BY_SIZE, BY_DEAD };

static uint64_t interval = 1;
static uint64_t count = OPT_UNSET;
static int order;

static struct opt options[] = {
	{ "i", "interval", OPT_COUNT, &interval, .value = "SECONDS", .most = 86400,
	    .help = "time between two updates; default 1" },
	{ "n", "count", OPT_COUNT, &count, .value = "N", .least = 1,
	    .help = "end after N updates; default: run until stopped" },
	{ "s", "sort", OPT_CHOICE, &order,
	    .value = "activity|name|records|puts|size|dead",
	    .help = "the order of the modules; default activity: bytes put, puts, "
		    "commits" },
	{ .kind = OPT_END },
};

/* A module at two looks. */
struct row {
	char *name;
	bool known;  /* before is set */
	bool there;  /* it was listed at this look */
	char *error; /* of this look, or NULL */
	struct watch_sample before, now;
	struct watch_change change;
};

static int
    worst; /* status of modules that cannot be opened, where there is no terminal */

struct table {
	struct row *rows; /* sorted by name */
	size_t n, room;
};

/* ---- looking -------------------------------------------------------------------------- */

static void
free_row(struct row *row)
{
	free(row->name);
	free(row->error);
}

static int
compare_names(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* The row of a module, appended if it is new; NULL without memory. */
static struct row *
find_row(struct table *table, const char *name)
{
	struct row *row;

	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->rows[i].name, name) == 0)
			return &table->rows[i];
	if (lc__array_reserve(&table->rows, &table->room, table->n + 1, NULL) != LC_OK)
		return NULL;
	row = &table->rows[table->n];
	memset(row, 0, sizeof(*row));
	row->name = strdup(name);
	if (row->name == NULL)
		return NULL;
	table->n++;
	return row;
}

static void
look_at(struct row *row)
{
	lc_status status;

	row->there = true;
	row->before = row->now;
	free(row->error);
	row->error = NULL;
	status = watch_take(row->name, &row->now);
	if (status == LC_OK) {
		row->change = watch_between(row->known ? &row->before : NULL, &row->now);
		return;
	}
	/* Dropped since it was listed. */
	row->error = strdup(lc_last_error()->text);
	row->there = status != LC_NO_FILE && row->error != NULL;
	/* A script may not read the table, so report the error. */
	if (status != LC_NO_FILE && !screen_is_terminal())
		worst = report_worse(worst, report_status(status));
	memset(&row->now, 0, sizeof(row->now));
	memset(&row->change, 0, sizeof(row->change));
}

/* An exit status. */
static int
look(struct table *table)
{
	struct list modules = { 0 };
	int status = module_list(&modules, 0, NULL);
	size_t kept = 0;

	for (size_t i = 0; i < table->n; i++) {
		table->rows[i].there = false;
		table->rows[i].known = table->rows[i].error == NULL;
	}
	for (size_t i = 0; i < modules.count && status == EXIT_DONE; i++) {
		struct row *row = find_row(table, modules.items[i].data);

		if (row == NULL)
			status = report_no_memory();
		else
			look_at(row);
	}
	list_free(&modules);
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].there)
			table->rows[kept++] = table->rows[i];
		else
			free_row(&table->rows[i]);
	table->n = kept;
	return status;
}

/* ---- showing -------------------------------------------------------------------------- */

static int
descending(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

static int
compare_activity(const struct row *x, const struct row *y)
{
	int by = descending(watch_rate(&x->change, x->change.put_bytes),
	    watch_rate(&y->change, y->change.put_bytes));

	if (by == 0)
		by = descending(watch_rate(&x->change, x->change.puts),
		    watch_rate(&y->change, y->change.puts));
	if (by == 0)
		by = descending(watch_rate(&x->change, x->change.commits),
		    watch_rate(&y->change, y->change.commits));
	return by;
}

static int
compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int by = 0;

	switch ((enum order)order) {
	case BY_ACTIVITY: by = compare_activity(x, y); break;
	case BY_RECORDS:
		by = descending((double)x->now.stats.records,
		    (double)y->now.stats.records);
		break;
	case BY_PUTS:
		by = descending(watch_rate(&x->change, x->change.puts),
		    watch_rate(&y->change, y->change.puts));
		break;
	case BY_SIZE:
		by = descending((double)x->now.stats.file_bytes,
		    (double)y->now.stats.file_bytes);
		break;
	case BY_DEAD:
		by = descending(watch_dead_share(&x->now), watch_dead_share(&y->now));
		break;
	case BY_NAME: break;
	}
	return by != 0 ? by : compare_names(a, b);
}

static void
show_row(const struct row *row, int wide)
{
	const struct watch_change *change = &row->change;
	const lc_stats *stats = &row->now.stats;
	char data[SIZE_TEXT], file[SIZE_TEXT], all[80];
	const size_t size = strlen(row->name);

	snprintf(all, sizeof(all), "%s", row->name);
	for (char *p = all; *p != '\0'; p++)
		*p = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
	if (size > (size_t)wide && wide < (int)sizeof(all))
		strcpy(all + wide - 1, "+");
	if (row->error != NULL) {
		screen_line(false, "%-*s %s", wide, all, row->error);
		return;
	}
	screen_line(false, "%-*s %8llu %7.0f %7.0f %8s/s %6.0f %7llu %8s %3u%% %4u", wide,
	    all, (unsigned long long)stats->records, watch_rate(change, change->puts),
	    watch_rate(change, change->lookups),
	    size_human(watch_rate(change, change->put_bytes), data, sizeof(data)),
	    watch_rate(change, change->commits), (unsigned long long)stats->chunks,
	    size_human((double)stats->file_bytes, file, sizeof(file)),
	    watch_dead_share(&row->now), stats->readers);
}

static const char *const orders[] = { "activity", "name", "records", "puts", "size",
	"dead" };

static void
show_text(const struct table *table)
{
	char date[16];
	const time_t now = time(NULL);
	struct tm local;
	int columns, rows, wide = 9, shown = 0, room;
	double bytes = 0, puts = 0;
	char data[SIZE_TEXT], number[SIZE_TEXT];

	screen_size(&columns, &rows);
	for (size_t i = 0; i < table->n; i++) {
		const struct row *row = &table->rows[i];
		const int size = (int)strlen(row->name);

		wide = size > wide ? size : wide;
		bytes += watch_rate(&row->change, row->change.put_bytes);
		puts += watch_rate(&row->change, row->change.puts);
	}
	wide = wide > 30 ? 30 : wide;
	screen_begin();
	if (screen_is_terminal()) {
		localtime_r(&now, &local);
		strftime(date, sizeof(date), "%H:%M:%S", &local);
		screen_line(false, "%s  %s in %s  %.0f puts/s  %s/s", date,
		    count_human(table->n, "module", number, sizeof(number)),
		    settings.root, puts, size_human(bytes, data, sizeof(data)));
		screen_line(false, "by %s; sort: a n r p s d  space: now  q: quit",
		    orders[order]);
	}
	/* 79 columns with a short name: a terminal has 80. */
	screen_line(true, "%-*s %8s %7s %7s %10s %6s %7s %8s %4s %4s", wide, "MODULE",
	    "RECORDS", "PUTS/S", "GETS/S", "DATA/S", "COMM/S", "CHUNKS", "FILE", "DEAD",
	    "READ");
	room = screen_is_terminal() ? rows - 5 : (int)table->n;
	for (size_t i = 0; i < table->n && shown < room; i++, shown++)
		show_row(&table->rows[i], wide);
	if ((size_t)shown < table->n)
		screen_line(false, "and %zu more", table->n - (size_t)shown);
	screen_end();
}

static void
show_json(const struct table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct row *row = &table->rows[i];
		struct json json = { stdout, false };

		jw_open(&json, NULL, '{');
		jw_text(&json, "module", row->name);
		if (row->error != NULL)
			jw_text(&json, "error", row->error);
		else
			watch_json(&json, row->known ? &row->before : NULL, &row->now);
		jw_end_line(&json);
	}
	fflush(stdout);
}

static void
show(struct table *table)
{
	if (table->n > 0)
		qsort(table->rows, table->n, sizeof(*table->rows), compare_rows);
	if (settings.json)
		show_json(table);
	else
		show_text(table);
}

/* ---- the command ---------------------------------------------------------------------- */

/* A key that chooses the order. */
static bool
take_key(int key)
{
	static const char keys[] = "anrpsd";
	const char *at = key > 0 ? strchr(keys, key) : NULL;

	if (at != NULL)
		order = (int)(at - keys);
	return at != NULL;
}

/* Wait until the next look; an exit status, or -1 to look again. */
static int
wait_for_next(struct table *table)
{
	for (;;) {
		const int event = screen_wait(interval * SECOND);

		if (event == 'q')
			return EXIT_DONE;
		if (event == SCREEN_STOPPED)
			return interrupt_status();
		if (event == SCREEN_TIME || event == ' ' || report_output_failed())
			return -1;
		if (take_key(event) || event == SCREEN_RESIZED)
			show(table);
	}
}

static int
run_top(int argc, char **argv)
{
	struct table table = { 0 };
	uint64_t looks = 0;
	int status;

	(void)argc;
	(void)argv;
	screen_open(!settings.json);
	for (;;) {
		status = look(&table);
		if (status != EXIT_DONE)
			break;
		if (looks > 0 && !screen_is_terminal() && !settings.json)
			putchar('\n');
		show(&table);
		if (++looks == count || report_output_failed())
			break;
		status = wait_for_next(&table);
		if (status >= 0)
			break;
	}
	screen_close();
	for (size_t i = 0; i < table.n; i++)
		free_row(&table.rows[i]);
	free(table.rows);
	return report_worse(status, worst);
}

const struct command cmd_top = {
	.name = "top",
	.operands = "",
	.summary = "show the activity of all modules",
	.text =
	    "Shows every module under the root with what was put, looked up and committed "
	    "per second since the last update, and its size, sorted by activity. The numbers "
	    "are those of the modules themselves, from all processes that have committed; "
	    "lookups are those of writers.\n"
	    "On a terminal it draws again every second: a, n, r, p, s and d sort by "
	    "activity, name, records, puts, size and dead data, space updates at once, and q "
	    "ends it. In a pipe it prints a table per update, and with --json one object per "
	    "line for each module.",
	.examples = "cachex top\n"
		    "cachex top -n 2 -i 10\n"
		    "cachex top --json -n 2 | jq -c '[.module, .rates.puts]'",
	.completes = "",
	.least = 0,
	.most = 0,
	.options = options,
	.run = run_top,
};
