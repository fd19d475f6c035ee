/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"

#include <err.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "results.h"

struct row {
	const char *case_name, *contender;
	char *metric;
	const char *unit;
	double *values; /* of the runs, in their order */
	unsigned runs;
};

struct ratio {
	char *text;
	double value, target;
	const char *sense;
};

struct bench {
	struct results *results; /* NULL if none are to be written */
	struct row *rows;
	unsigned n_rows;
	struct ratio *ratios;
	unsigned n_ratios;
};

static double
seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double
bench_seconds(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

double
bench_cpu_seconds(void)
{
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void
print_machine(void)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256] = "", *model = NULL;
	struct utsname system;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "model name", 10) == 0 && (model = strchr(line, ':')))
			break;
	if (file != NULL)
		fclose(file);
	if (model != NULL)
		model[strcspn(model, "\n")] = '\0';
	uname(&system);
	printf("machine: %s, %ld processors, %.0f GiB, %s %s\n",
	    model ? model + 2 : system.machine, sysconf(_SC_NPROCESSORS_ONLN),
	    memory_total() / (1 << 30), system.sysname, system.release);
}

struct bench *
bench_start(const char *name, const char *path)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (bench == NULL)
		err(1, NULL);
	if (path != NULL)
		bench->results = results_new(name, path);
	printf("bench: %s\n", name);
	print_machine();
	return bench;
}

static struct row *
find(const struct bench *bench, const char *case_name, const char *contender,
    const char *metric)
{
	for (unsigned i = 0; i < bench->n_rows; i++) {
		struct row *row = &bench->rows[i];
		if (strcmp(row->case_name, case_name) == 0 &&
		    strcmp(row->contender, contender) == 0 &&
		    strcmp(row->metric, metric) == 0)
			return row;
	}
	return NULL;
}

/* An array of n elements with room for one more. */
static void *
grown(void *array, unsigned n, size_t size)
{
	array = reallocarray(array, n + 1, size);
	if (array == NULL)
		err(1, NULL);
	return array;
}

void
bench_run(struct bench *bench, const char *case_name, const char *contender,
    const char *metric, const char *unit, double value)
{
	struct row *row = find(bench, case_name, contender, metric);

	if (row == NULL) {
		bench->rows = grown(bench->rows, bench->n_rows, sizeof(*row));
		row = &bench->rows[bench->n_rows++];
		*row = (struct row){ case_name, contender, strdup(metric), unit, NULL, 0 };
		if (row->metric == NULL)
			err(1, NULL);
	}
	row->values = grown(row->values, row->runs, sizeof(double));
	row->values[row->runs++] = value;
}

static int
compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
bench_middle(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Sorts the row's runs: nothing here depends on their order. */
static void
summary(const struct row *row, double *median, double *min, double *max)
{
	*median = bench_middle(row->values, row->runs);
	*min = row->values[0];
	*max = row->values[row->runs - 1];
}

double
bench_median(const struct bench *bench, const char *case_name,
    const char *contender, const char *metric)
{
	const struct row *row = find(bench, case_name, contender, metric);
	double median, min, max;

	if (row == NULL)
		return NAN;
	summary(row, &median, &min, &max);
	return median;
}

/* Three or four digits, with k or M. */
static const char *
shown(double value)
{
	static char text[4][32];
	static unsigned turn;
	char *out = text[turn++ % 4];

	if (value >= 999500)
		snprintf(out, 32, "%.2fM", value / 1e6);
	else if (value >= 9999.5)
		snprintf(out, 32, "%.1fk", value / 1e3);
	else if (value >= 99.95)
		snprintf(out, 32, "%.0f", value);
	else
		snprintf(out, 32, "%.3g", value);
	return out;
}

#define COLUMN 25
#define NARROW_COLUMN 12 /* a median alone */
#define WIDE_COLUMNS 8   /* with more than these they are narrow */
#define MOST_COLUMNS 16

/* Is this the first row of the case with its metric (or with its contender)? */
static bool
is_first(const struct bench *bench, unsigned at, bool by_metric)
{
	const struct row *row = &bench->rows[at];

	for (unsigned i = 0; i < at; i++) {
		const struct row *before = &bench->rows[i];
		if (strcmp(before->case_name, row->case_name) == 0 &&
		    strcmp(by_metric ? before->metric : before->contender,
		    by_metric ? row->metric : row->contender) == 0)
			return false;
	}
	return true;
}

static void
print_cell(const struct row *row, int column)
{
	char text[80];
	double median, min, max;

	if (row == NULL) {
		printf("%*s", column, "-");
		return;
	}
	summary(row, &median, &min, &max);
	if (row->runs == 1 || column == NARROW_COLUMN)
		snprintf(text, sizeof(text), "%s", shown(median));
	else
		snprintf(text, sizeof(text), "%s (%s..%s)", shown(median), shown(min),
		    shown(max));
	printf("%*s", column, text);
}

void
bench_print(const struct bench *bench, const char *case_name)
{
	const char *columns[MOST_COLUMNS];
	unsigned n = 0;
	int column;

	for (unsigned i = 0; i < bench->n_rows && n < MOST_COLUMNS; i++)
		if (strcmp(bench->rows[i].case_name, case_name) == 0 &&
		    is_first(bench, i, false))
			columns[n++] = bench->rows[i].contender;
	column = n > WIDE_COLUMNS ? NARROW_COLUMN : COLUMN;
	printf("\n%-50s", case_name);
	for (unsigned c = 0; c < n; c++)
		printf("%*s", column, columns[c]);
	printf("\n");
	for (unsigned i = 0; i < bench->n_rows; i++) {
		const struct row *row = &bench->rows[i];
		char label[100];
		if (strcmp(row->case_name, case_name) != 0 || !is_first(bench, i, true))
			continue;
		snprintf(label, sizeof(label), "%s [%s]", row->metric, row->unit);
		printf("%-50s", label);
		for (unsigned c = 0; c < n; c++)
			print_cell(find(bench, case_name, columns[c], row->metric), column);
		printf("\n");
	}
	fflush(stdout);
}

void
bench_ratio(struct bench *bench, double value, const char *sense, double target,
    const char *format, ...)
{
	struct ratio ratio = { NULL, value, target, sense };
	va_list args;

	if (isnan(value))
		return;
	va_start(args, format);
	if (vasprintf(&ratio.text, format, args) < 0)
		err(1, NULL);
	va_end(args);
	bench->ratios = grown(bench->ratios, bench->n_ratios, sizeof(ratio));
	bench->ratios[bench->n_ratios++] = ratio;
}

static void
print_ratios(const struct bench *bench)
{
	unsigned reached = 0;

	printf("\n%-82s %8s    %-8s\n", "ratio", "value", "target");
	for (unsigned i = 0; i < bench->n_ratios; i++) {
		const struct ratio *ratio = &bench->ratios[i];
		const bool good = ratio->sense[0] == '>' ?
		    ratio->value >= ratio->target : ratio->value <= ratio->target;
		printf("%-82s %8.3g %s %-6.3g %s\n", ratio->text, ratio->value,
		    ratio->sense, ratio->target, good ? "reached" : "NOT reached");
		reached += good;
	}
	printf("%u of %u reached\n", reached, bench->n_ratios);
}

static void
write_results(const struct bench *bench)
{
	struct results *results = bench->results;
	double median, min, max;

	for (unsigned i = 0; i < bench->n_rows; i++) {
		const struct row *row = &bench->rows[i];
		summary(row, &median, &min, &max);
		results_row(results, row->case_name, row->contender, row->metric,
		    row->unit, median, min, max, row->runs);
	}
	for (unsigned i = 0; i < bench->n_ratios; i++)
		results_ratio(results, bench->ratios[i].text, bench->ratios[i].value,
		    bench->ratios[i].sense, bench->ratios[i].target);
	results_write(results);
	results_free(results);
}

void
bench_finish(struct bench *bench)
{
	print_ratios(bench);
	if (bench->results != NULL)
		write_results(bench);
	for (unsigned i = 0; i < bench->n_rows; i++) {
		free(bench->rows[i].metric);
		free(bench->rows[i].values);
	}
	for (unsigned i = 0; i < bench->n_ratios; i++)
		free(bench->ratios[i].text);
	free(bench->rows);
	free(bench->ratios);
	free(bench);
}
