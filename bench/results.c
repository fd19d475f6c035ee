/* SPDX-License-Identifier: BSD-2-Clause */
#include "results.h"

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct results {
	const char *bench; /* whose they are */
	const char *path;  /* where they go */
	char *text;        /* objects, a line each; those of other benches first */
	size_t size;
	FILE *out;         /* to text */
};

/* Begin the next object, on a line of its own. */
static void
begin_item(struct results *results)
{
	fputs(ftell(results->out) == 0 ? "\n" : ",\n", results->out);
}

/* What other benches left in the file, if there is one: we wrote it, an object a line that
 * begins with the name of its bench. */
static void
keep_others(struct results *results)
{
	FILE *in = fopen(results->path, "r");
	char *own, *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (in == NULL && errno == ENOENT)
		return;
	if (in == NULL)
		err(1, "%s", results->path);
	if (asprintf(&own, "{\"bench\": \"%s\",", results->bench) < 0)
		errx(1, "out of memory");
	while ((n = getline(&line, &room, in)) > 0) {
		while (n > 0 && strchr(",\n", line[n - 1]) != NULL)
			line[--n] = '\0';
		if (strncmp(line, "{\"bench\": \"", 11) != 0) {
			if (strcmp(line, "[") != 0 && strcmp(line, "]") != 0)
				errx(1, "%s: not results of a bench: %s", results->path, line);
		} else if (strncmp(line, own, strlen(own)) != 0) {
			begin_item(results);
			fputs(line, results->out);
		}
	}
	if (ferror(in))
		err(1, "%s", results->path);
	free(line);
	free(own);
	fclose(in);
}

struct results *
results_new(const char *bench, const char *path)
{
	struct results *results = calloc(1, sizeof(*results));

	if (results == NULL)
		err(1, NULL);
	results->bench = bench;
	results->path = path;
	results->out = open_memstream(&results->text, &results->size);
	if (results->out == NULL)
		err(1, NULL);
	keep_others(results);
	return results;
}

/* A number: six digits say more than any measurement here is good for. */
static void
put_number(struct results *results, const char *name, double number)
{
	if (!isfinite(number))
		errx(1, "%s: a result is not a number: %s", results->bench, name);
	fprintf(results->out, ", \"%s\": %.6g", name, number);
}

void
results_row(struct results *results, const char *case_name,
    const char *contender, const char *metric, const char *unit, double median,
    double min, double max, unsigned runs)
{
	begin_item(results);
	fprintf(results->out, "{\"bench\": \"%s\", \"case\": \"%s\", \"contender\": \"%s\", "
	    "\"metric\": \"%s\", \"unit\": \"%s\"", results->bench, case_name, contender,
	    metric, unit);
	put_number(results, "median", median);
	put_number(results, "min", min);
	put_number(results, "max", max);
	fprintf(results->out, ", \"runs\": %u}", runs);
}

void
results_ratio(struct results *results, const char *ratio, double value,
    const char *sense, double target)
{
	begin_item(results);
	fprintf(results->out, "{\"bench\": \"%s\", \"ratio\": \"%s\"", results->bench, ratio);
	put_number(results, "value", value);
	fprintf(results->out, ", \"sense\": \"%s\"", sense);
	put_number(results, "target", target);
	putc('}', results->out);
}

void
results_write(struct results *results)
{
	const char *path = results->path;
	char *temporary;
	FILE *file;

	if (fflush(results->out) != 0)
		err(1, NULL);
	if (asprintf(&temporary, "%s.new", path) < 0)
		errx(1, "out of memory");
	file = fopen(temporary, "w");
	if (file == NULL)
		err(1, "%s", temporary);
	fprintf(file, "[%s\n]\n", results->text);
	if (ferror(file) || fclose(file) != 0 || rename(temporary, path) != 0)
		err(1, "%s", path);
	free(temporary);
}

void
results_free(struct results *results)
{
	fclose(results->out);
	free(results->text);
	free(results);
}
