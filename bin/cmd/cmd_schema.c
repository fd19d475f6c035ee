/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex schema, and the same rows for cachex stat. */
#include "cmd/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lmdbcache.h"
#include "ui/columns.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

/* Raw bytes for each byte on disk; 1 where there are none. */
static double
ratio_of(const lc_schema_stats *stats)
{
	return stats->stored_bytes
	    ? (double)stats->raw_bytes / (double)stats->stored_bytes
	    : 1;
}

/* "lz4", "u8pack 10, none 2": with numbers of tensors if there are several. */
static void
codecs_text(const lc_schema_stats *stats, char *out, size_t room)
{
	size_t used = 0, kinds = 0;

	for (int i = 0; i < LC_CODEC_COUNT; i++)
		kinds += stats->tensors[i] > 0;
	out[0] = '\0';
	for (int i = 0; i < LC_CODEC_COUNT && used < room; i++) {
		if (stats->tensors[i] == 0)
			continue;
		used += (size_t)snprintf(out + used, room - used, "%s%s",
		    used ? ", " : "", lc_codec_name((lc_codec)i));
		if (kinds > 1 && used < room)
			used += (size_t)snprintf(out + used, room - used, " %llu",
			    (unsigned long long)stats->tensors[i]);
	}
}

/* ---- text -------------------------------------------------------------------- */

struct table {
	struct columns columns;
	const char *indent;
	bool no_memory;
};

static void
size_cell(struct columns *columns, uint64_t bytes, const char *of)
{
	char text[SIZE_TEXT + 8];

	size_human((double)bytes, text, SIZE_TEXT);
	columns_text(columns, strcat(text, of));
}

static int
show_text(void *ctx, const lc_schema_stats *stats)
{
	struct table *table = ctx;
	struct columns *columns = &table->columns;
	char text[200], *structure;

	if (asprintf(&structure, "%s%s", table->indent, stats->structure) < 0) {
		table->no_memory = true;
		return 1;
	}
	columns_text(columns, structure);
	free(structure);
	count_human(stats->records, "record", text, SIZE_TEXT);
	columns_text(columns, stats->records == 1 ? strcat(text, " ") : text);
	size_cell(columns, stats->raw_bytes, " raw");
	size_cell(columns, stats->stored_bytes, " stored");
	snprintf(text, sizeof(text), "%.2fx", ratio_of(stats));
	columns_text(columns, text);
	codecs_text(stats, text, sizeof(text));
	columns_text(columns, text);
	return report_output_failed();
}

/* The walk may end early because the reader of standard output is gone: not a failure. */
static lc_status
walk(lc_cache *cache, int (*fn)(void *ctx, const lc_schema_stats *stats), void *ctx)
{
	const lc_status status = lc_schemas(cache, fn, ctx);

	return status == LC_CANCELLED && report_output_failed() ? LC_OK : status;
}

lc_status
schemas_text(lc_cache *cache, const char *indent)
{
	static struct table table; /* large */
	lc_status status;

	table.indent = indent;
	table.no_memory = false;
	columns_begin(&table.columns, "lrrrrl");
	status = walk(cache, show_text, &table);
	if ((!columns_print(&table.columns) || table.no_memory) &&
	    (status == LC_OK || status == LC_CANCELLED))
		status = lc__no_memory(NULL);
	return status;
}

/* ---- JSON --------------------------------------------------------------------- */

struct lines {
	struct json *json;  /* inside an array, or NULL: an object a line */
	const char *module; /* of lines */
};

static void
show_members(struct json *json, const lc_schema_stats *stats)
{
	jw_count(json, "schema", stats->id);
	jw_text(json, "structure", stats->structure);
	jw_count(json, "records", stats->records);
	jw_count(json, "raw_bytes", stats->raw_bytes);
	jw_count(json, "stored_bytes", stats->stored_bytes);
	jw_real(json, "ratio", ratio_of(stats));
	jw_open(json, "codecs", '{');
	for (int i = 0; i < LC_CODEC_COUNT; i++)
		if (stats->tensors[i] > 0)
			jw_count(json, lc_codec_name((lc_codec)i), stats->tensors[i]);
	jw_close(json, '}');
}

static int
show_json(void *ctx, const lc_schema_stats *stats)
{
	struct lines *lines = ctx;
	struct json line = { stdout, false };

	if (lines->json != NULL) {
		jw_open(lines->json, NULL, '{');
		show_members(lines->json, stats);
		jw_close(lines->json, '}');
	} else {
		jw_open(&line, NULL, '{');
		jw_text(&line, "module", lines->module);
		show_members(&line, stats);
		jw_end_line(&line);
	}
	return report_output_failed();
}

lc_status
schemas_json(lc_cache *cache, struct json *json, const char *key)
{
	struct lines lines = { json, NULL };
	lc_status status;

	jw_open(json, key, '[');
	status = walk(cache, show_json, &lines);
	jw_close(json, ']');
	return status;
}

/* ---- the command ------------------------------------------------------------------- */

static struct opt options[] = { { .kind = OPT_END } };

static int
run_schema(int argc, char **argv)
{
	struct lines lines = { .module = argv[0] };
	lc_cache *cache;
	lc_status shown;
	int status = module_open(argv[0], &cache);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	shown = settings.json ? walk(cache, show_json, &lines) : schemas_text(cache, "");
	if (shown != LC_OK)
		status = report_status(shown);
	return module_close(cache, status);
}

const struct command cmd_schema = {
	.name = "schema",
	.operands = "MODULE",
	.summary = "list the structures of a module's values",
	.text = "Lists every structure of the module's values: names, dtypes and ranks; "
		"f32[*,*] has two dimensions of any size, and plain is data that is not "
		"a tensor. For each it prints the number of records, the bytes of their "
		"tensors raw and as stored, the ratio of the two, and the codecs. Dead "
		"records count until compact removes them.",
	.examples = "cachex schema faces\n"
		    "cachex schema faces --json | jq '[.structure, .ratio]'",
	.completes = "m",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_schema,
};
