/* SPDX-License-Identifier: BSD-2-Clause */
#include "results.h"

#include <err.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct results {
	const char *bench; /* whose they are */
	const char *path;  /* where they go */
	json_t *items;     /* array of objects, those of other benches first */
};

/* What other benches left in the file; an empty array if there is none. */
static json_t *
others(const char *bench, const char *path)
{
	json_error_t error;
	json_t *kept = json_array(), *old, *item;
	size_t i;

	if (kept == NULL)
		errx(1, "out of memory");
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return kept;
	old = json_load_file(path, 0, &error);
	if (!json_is_array(old))
		errx(1, "%s: line %d: %s", path, old ? 1 : error.line,
		    old ? "not an array" : error.text);
	json_array_foreach(old, i, item) {
		const char *whose = json_string_value(json_object_get(item, "bench"));
		if (whose == NULL || strcmp(whose, bench) != 0)
			json_array_append(kept, item);
	}
	json_decref(old);
	return kept;
}

struct results *
results_new(const char *bench, const char *path)
{
	struct results *results = calloc(1, sizeof(*results));

	if (results == NULL)
		err(1, NULL);
	results->bench = bench;
	results->path = path;
	results->items = others(bench, path);
	return results;
}

/* Six digits say more than any measurement here is good for. */
static double
rounded(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	return strtod(text, NULL);
}

static void
append(struct results *results, json_t *item)
{
	if (item == NULL || json_array_append_new(results->items, item) != 0)
		errx(1, "%s: a result is not a number", results->bench);
}

void
results_row(struct results *results, const char *case_name,
    const char *contender, const char *metric, const char *unit, double median,
    double min, double max, unsigned runs)
{
	append(results, json_pack("{ss ss ss ss ss sf sf sf si}",
	    "bench", results->bench, "case", case_name, "contender", contender,
	    "metric", metric, "unit", unit, "median", rounded(median),
	    "min", rounded(min), "max", rounded(max), "runs", (int)runs));
}

void
results_ratio(struct results *results, const char *ratio, double value,
    const char *sense, double target)
{
	append(results, json_pack("{ss ss sf ss sf}", "bench", results->bench,
	    "ratio", ratio, "value", rounded(value), "sense", sense,
	    "target", rounded(target)));
}

/* One object a line, so that two runs can be compared with diff. */
static int
dump(FILE *file, const json_t *all)
{
	json_t *item;
	size_t i;

	fputs("[", file);
	json_array_foreach(all, i, item) {
		fputs(i == 0 ? "\n" : ",\n", file);
		if (json_dumpf(item, file, JSON_REAL_PRECISION(6)) != 0)
			return -1;
	}
	fputs("\n]\n", file);
	return ferror(file) ? -1 : 0;
}

void
results_write(const struct results *results)
{
	const char *path = results->path;
	char *temporary;
	FILE *file;

	if (asprintf(&temporary, "%s.new", path) < 0)
		errx(1, "out of memory");
	file = fopen(temporary, "w");
	if (file == NULL)
		err(1, "%s", temporary);
	if (dump(file, results->items) != 0 || fclose(file) != 0 || rename(temporary, path) != 0)
		err(1, "%s", path);
	free(temporary);
}

void
results_free(struct results *results)
{
	json_decref(results->items);
	free(results);
}
