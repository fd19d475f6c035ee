/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/module_settings.h"
#include "cmd/schema.h"
#include "cmd/stat_values.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static int values;
static const char *field;
static const char *axis;
static uint64_t threads;

static struct opt options[] = {
	{ "", "values", OPT_FLAG, &values,
	    .help = "mean, deviation and extremes of all values, by channel" },
	{ "", "field", OPT_TEXT, &field, .value = "PATH",
	    .help = "with --values: a part of each record; of samples image or boxes" },
	{ "", "axis", OPT_TEXT, &axis, .value = "N|none",
	    .help = "with --values: the dimension of the channels, from the end below 0; "
		    "default the first of three" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N", .most = 1024,
	    .help =
		"with --values: run so many threads; default the number of processors" },
	{ .kind = OPT_END },
};

/* What a row of the table is, and so how it prints. */
enum unit { NUMBER, BYTES, AT_MOST };

struct row {
	const char *label;
	const char *key;
	enum unit unit;
	uint64_t value;
};

static void
show_rows(const struct row *rows, size_t n, struct json *json)
{
	char size[SIZE_TEXT];

	for (size_t i = 0; i < n; i++) {
		if (json != NULL)
			jw_count(json, rows[i].key, rows[i].value);
		else if (rows[i].unit == BYTES)
			printf("  %-16s %12s\n", rows[i].label,
			    size_human((double)rows[i].value, size, sizeof(size)));
		else if (rows[i].unit == AT_MOST && rows[i].value == 0)
			printf("  %-16s %12s\n", rows[i].label, "-");
		else if (rows[i].unit == AT_MOST)
			printf("  %-13s <= %9.3f ms\n", rows[i].label,
			    (double)rows[i].value / 1000);
		else
			printf("  %-16s %12llu\n", rows[i].label,
			    (unsigned long long)rows[i].value);
	}
}

static void
show_numbers(const lc_stats *stats, struct json *json)
{
	const struct row rows[] = {
		{ "format", "format", NUMBER, stats->format },
		{ "commits", "generation", NUMBER, stats->generation },
		{ "records", "records", NUMBER, stats->records },
		{ "dead records", "dead_records", NUMBER, stats->dead_records },
		{ "schemas", "schemas", NUMBER, stats->schemas },
		{ "chunks", "chunks", NUMBER, stats->chunks },
		{ "live data", "live_bytes", BYTES, stats->live_bytes },
		{ "dead data", "dead_bytes", BYTES, stats->dead_bytes },
		{ "index", "index_bytes", BYTES, stats->index_bytes },
		{ "index runs", "index_runs", NUMBER, stats->index_runs },
		{ "file", "file_bytes", BYTES, stats->file_bytes },
		{ "free in file", "free_bytes", BYTES, stats->free_bytes },
		{ "map", "map_bytes", BYTES, stats->map_bytes },
		{ "readers", "readers", NUMBER, stats->readers },
		{ "reader slots", "max_readers", NUMBER, stats->max_readers },
	};

	show_rows(rows, sizeof(rows) / sizeof(rows[0]), json);
}

static void
uuid_text(const uint8_t uuid[16], char out[37])
{
	char *p = out;

	for (int i = 0; i < 16; i++)
		p += sprintf(p, "%s%02x",
		    i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void
show_counters(const lc_counters *counters, struct json *json)
{
	const struct row rows[] = {
		{ "writers' hits", "hits", NUMBER, counters->hits },
		{ "writers' misses", "misses", NUMBER, counters->misses },
		{ "puts", "puts", NUMBER, counters->puts },
		{ "deletes", "deletes", NUMBER, counters->deletes },
		{ "put data", "put_bytes", BYTES, counters->put_bytes },
		{ "commits of data", "commits", NUMBER, counters->commits },
		{ "commit p50", "flush_us_p50", AT_MOST, counters->flush_us[0] },
		{ "commit p90", "flush_us_p90", AT_MOST, counters->flush_us[1] },
		{ "commit p99", "flush_us_p99", AT_MOST, counters->flush_us[2] },
		{ "commit max", "flush_us_max", AT_MOST, counters->flush_us[3] },
		{ "evicted", "evicted_records", NUMBER, counters->evicted_records },
		{ "evicted data", "evicted_bytes", BYTES, counters->evicted_bytes },
	};

	show_rows(rows, sizeof(rows) / sizeof(rows[0]), json);
}

/* Nothing of a module of plain puts. */
static void
show_fill(const lc_fill *fill, struct json *json)
{
	const struct row rows[] = {
		{ "inputs", "declared", NUMBER, fill->inputs },
		{ "inputs finished", "finished", NUMBER, fill->finished },
		{ "inputs held", "held", NUMBER, fill->held },
		{ "chunks committed", "committed", NUMBER, fill->committed },
		{ "chunks in order", "published", NUMBER, fill->published },
		{ "records in order", "records", NUMBER, fill->records },
		{ "length in order", "length", NUMBER, fill->length },
	};

	if (fill->inputs == 0)
		return;
	if (json != NULL)
		jw_open(json, "inputs", '{');
	show_rows(rows, sizeof(rows) / sizeof(rows[0]), json);
	if (json != NULL) {
		jw_flag(json, "final", fill->final);
		jw_close(json, '}');
	} else {
		printf("  %-16s %12s\n", "order", fill->final ? "final" : "growing");
	}
}

static void
show_settings(const struct module_settings *is)
{
	char text[MODULE_SETTING_TEXT];

	for (size_t i = 0; module_setting_name(i) != NULL; i++)
		printf("  %-16s %12s\n", module_setting_name(i),
		    module_setting_value(is, i, text, sizeof(text)));
}

/* What the library says of a module. */
struct facts {
	lc_stats stats;
	lc_counters counters;
	struct module_settings set;
	lc_fill fill;
};

static lc_status
show_json(const char *module, lc_cache *cache, const struct facts *facts,
    const char *uuid)
{
	struct json json = { stdout, false };
	lc_status status;

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_text(&json, "uuid", uuid);
	jw_count(&json, "created_ms", facts->stats.created_ms);
	show_numbers(&facts->stats, &json);
	show_counters(&facts->counters, &json);
	show_fill(&facts->fill, &json);
	jw_open(&json, "settings", '{');
	module_settings_json(&facts->set, &json);
	jw_close(&json, '}');
	status = schemas_json(cache, &json, "structures");
	jw_end_line(&json);
	return status;
}

static lc_status
show(const char *module, lc_cache *cache, const struct facts *facts)
{
	char uuid[37], date[DATE_TEXT];

	uuid_text(facts->stats.uuid, uuid);
	date_text(facts->stats.created_ms, date);
	if (settings.json)
		return show_json(module, cache, facts, uuid);
	printf("%s%s%s\n", report_bold(stdout), module, report_plain(stdout));
	printf("  %-16s %s\n", "uuid", uuid);
	printf("  %-16s %s\n", "made", date);
	show_numbers(&facts->stats, NULL);
	show_counters(&facts->counters, NULL);
	show_fill(&facts->fill, NULL);
	show_settings(&facts->set);
	return schemas_text(cache, "  ");
}

static int
show_module(const char *module)
{
	struct facts facts = {
		.stats.struct_size = sizeof(facts.stats),
		.counters.struct_size = sizeof(facts.counters),
		.fill.struct_size = sizeof(facts.fill),
	};
	lc_cache *cache;
	lc_status read;
	int status = module_open(module, &cache);

	if (status != EXIT_DONE)
		return status;
	read = lc_stat(cache, &facts.stats);
	if (read == LC_OK)
		read = lc_counters_get(cache, &facts.counters);
	if (read == LC_OK)
		read = lc_fill_get(cache, &facts.fill);
	if (read == LC_OK)
		status = module_settings_read(module, cache, &facts.set);
	if (read == LC_OK && status == EXIT_DONE)
		read = show(module, cache, &facts);
	if (read != LC_OK)
		status = report_status(read);
	return module_close(cache, status);
}

/* A number of a dimension, counted from the end below 0, or none. */
static bool
take_axis(struct stat_values *how)
{
	char *end;
	long n;

	how->whole = axis != NULL && strcmp(axis, "none") == 0;
	if (axis == NULL || how->whole)
		return true;
	errno = 0;
	n = strtol(axis, &end, 10);
	if (errno != 0 || end == axis || *end != '\0' || n < -LC_MAX_NDIM ||
	    n >= LC_MAX_NDIM) {
		report_usage("--axis %s: not the number of a dimension, or none", axis);
		return false;
	}
	how->has_axis = true;
	how->axis = n;
	return true;
}

static int
show_values(int argc, char **argv)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);
	struct stat_values how = {
		.field = field,
		.threads = threads > 0 ? (unsigned)threads
		    : online > 0       ? (unsigned)online
				       : 1,
	};
	struct list modules = { 0 };
	int status = EXIT_DONE;

	if (!take_axis(&how))
		return EXIT_USAGE;
	for (int i = 0; i < argc; i++)
		status = report_worse(status, stat_values(argv[i], &how));
	if (argc > 0)
		return status;
	status = module_list(&modules, argc, argv);
	for (size_t i = 0; i < modules.count; i++)
		status = report_worse(status, stat_values(modules.items[i].data, &how));
	list_free(&modules);
	return status;
}

static int
run_stat(int argc, char **argv)
{
	struct list modules = { 0 };
	int status;

	if (values)
		return show_values(argc, argv);
	if (field != NULL || axis != NULL || threads > 0)
		return report_usage("--field, --axis and --threads belong to --values");
	status = module_list(&modules, argc, argv);

	for (size_t i = 0; i < modules.count; i++)
		status = report_worse(status, show_module(modules.items[i].data));
	list_free(&modules);
	return status;
}

const struct command cmd_stat = {
	.name = "stat",
	.operands = "[MODULE...]",
	.summary = "show facts and sizes of modules",
	.text =
	    "Shows what a module holds and what it takes on disk, what has been "
	    "read and written since it was made, its settings, and the sizes and "
	    "codecs of every structure; without MODULE, of every module. With --json it writes one object a line "
	    "for each module.\n"
	    "--values reads all tensors and shows mean, deviation, least and largest value of each "
	    "channel; of a module, or of a path of a warehouse, a directory of shards or a shard.",
	.examples = "cachex stat faces\n"
		    "cachex stat --json | jq '[.module, .records]'\n"
		    "cachex stat --values vae_latents",
	.completes = "m",
	.resume = INTERRUPT_AGAIN,
	.least = 0,
	.most = -1,
	.options = options,
	.run = run_stat,
};
