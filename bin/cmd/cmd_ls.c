/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/stores.h"
#include "objects/url.h"
#include "ui/columns.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "value/tensor.h"

static int longer;
static int ids_only;
static int null;
static int order;

static struct opt options[] = {
	{ "l", "long", OPT_FLAG, &longer,
	    .help = "print also the bytes on disk, the codec and the chunk, and long "
		    "structures in full; for modules, more of their sizes" },
	{ "1", "ids", OPT_FLAG, &ids_only, .help = "cache_ids only, one a line" },
	{ "z", "null", OPT_FLAG, &null,
	    .help = "cache_ids only, each ended by a NUL byte" },
	{ "", "order", OPT_CHOICE, &order, .value = "key|commit",
	    .help = "order of the records: by cache_id, or as written" },
	STORE_OPTIONS,
	{ .kind = OPT_END },
};

static struct columns columns;

static void
size_cell(uint64_t bytes, const char *of)
{
	char text[SIZE_TEXT + 8];

	size_human((double)bytes, text, SIZE_TEXT);
	columns_text(&columns, strcat(text, of));
}

static int
show_module(const char *module)
{
	lc_stats stats = { .struct_size = sizeof(stats) };
	struct json json = { stdout, false };
	char text[SIZE_TEXT];
	lc_cache *cache;
	lc_status read;
	int status;

	if ((ids_only || null) && !settings.json) {
		ident_item(lc_id_of(module), null);
		return EXIT_DONE;
	}
	status = module_open(module, &cache);
	if (status != EXIT_DONE)
		return status;
	read = lc_stat(cache, &stats);
	if (read != LC_OK)
		status = report_status(read);
	if (read == LC_OK && settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "module", module);
		jw_count(&json, "records", stats.records);
		jw_count(&json, "bytes", stats.live_bytes);
		jw_count(&json, "dead_bytes", stats.dead_bytes);
		jw_count(&json, "file_bytes", stats.file_bytes);
		jw_end_line(&json);
	} else if (read == LC_OK) {
		columns_text(&columns, module);
		/* "3 records", "1 record ": the numbers align. */
		count_human(stats.records, "record", text, sizeof(text) - 1);
		columns_text(&columns, stats.records == 1 ? strcat(text, " ") : text);
		size_cell(stats.live_bytes, "");
		if (longer) {
			size_cell(stats.dead_bytes, " dead");
			size_cell(stats.file_bytes, " file");
		}
	}
	return module_close(cache, status);
}

/* A row of the list of records. */
struct row {
	const lc_item *item;
	char *type;     /* "f32[512]", "{features: f32[512], label: plain}" */
	uint64_t bytes; /* of all tensors, decoded, strings and bytes */
};

static void
show_record_json(const struct row *row)
{
	const lc_item *item = row->item;
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_id(&json, item->id);
	if (item->kind == LC_TENSOR) {
		jw_type(&json, &item->tensor);
	} else {
		jw_text(&json, "kind", lc_kind_name(item->kind));
		jw_text(&json, "structure", row->type);
	}
	jw_count(&json, "bytes", row->bytes);
	jw_count(&json, "stored_bytes", item->stored_size);
	jw_text(&json, "codec", lc_codec_name(item->codec));
	jw_count(&json, "chunk", item->chunk);
	jw_end_line(&json);
}

static void
show_record_text(const struct row *row)
{
	char chunk[SIZE_TEXT];

	columns_id(&columns, row->item->id);
	columns_text(&columns, longer ? row->type : describe_cut(row->type, 60));
	size_cell(row->bytes, "");
	if (longer) {
		size_cell(row->item->stored_size, "");
		columns_text(&columns, lc_codec_name(row->item->codec));
		snprintf(chunk, sizeof(chunk), "chunk %llu",
		    (unsigned long long)row->item->chunk);
		columns_text(&columns, chunk);
	}
}

static lc_status
show_record(lc_iter *iter, const lc_item *item)
{
	struct row row = { .item = item };
	const lc_value *value;
	char type[LC__TENSOR_TEXT];

	if ((ids_only || null) && !settings.json) {
		ident_item(item->id, null);
		return LC_OK;
	}
	if (item->kind == LC_TENSOR) {
		row.type = strdup(lc__tensor_describe(&item->tensor, type, sizeof(type)));
		row.bytes = item->tensor.nbytes;
	} else {
		return_if_error(lc_iter_value(iter, NULL, &value));
		row.type = describe_value(value);
		row.bytes = describe_bytes(value);
	}
	if (row.type == NULL)
		return lc__no_memory(NULL);
	if (settings.json)
		show_record_json(&row);
	else
		show_record_text(&row);
	free(row.type);
	return LC_OK;
}

/* Iterate to the end, or until the output has no reader. *any is set after a record. */
static int
walk(lc_iter *iter, bool *any)
{
	int status = EXIT_DONE;
	lc_item item;
	lc_status step;

	while ((step = lc_iter_next(iter, &item)) != LC_END) {
		*any = true;
		if (step == LC_OK)
			step = show_record(iter, &item);
		if (step != LC_OK)
			status = report_worse(status, report_status(step));
		if (report_output_failed() || (step != LC_OK && step != LC_CORRUPT))
			break;
	}
	return status;
}

static int
list_records(const char *module, const char *prefix)
{
	const unsigned flags = LC_ITER_LISTED | (order ? LC_BY_COMMIT : LC_BY_KEY);
	lc_cache *cache;
	lc_iter *iter;
	lc_status opened;
	bool any = false;
	int status = module_open(module, &cache);

	if (status != EXIT_DONE)
		return status;
	opened = lc_iter_open(cache, flags, prefix, strlen(prefix), &iter);
	if (opened == LC_OK) {
		columns_begin(&columns, longer ? "llrrll" : "llr");
		status = walk(iter, &any);
		status = report_worse(status, columns_end(&columns));
		if (!any && *prefix != '\0') {
			status = report_worse(status,
			    report_error(EXIT_NO, "no cache_id of %s begins with %s",
				module, lc__quote_id(prefix, strlen(prefix))));
		}
		lc_iter_close(iter);
	} else {
		status = report_status(opened);
	}
	return module_close(cache, status);
}

static int
run_ls(int argc, char **argv)
{
	struct list modules = { 0 };
	int status;

	if (argc > 0 && lc__is_store_url(argv[0]))
		return store_ls(argv[0], argc > 1 ? argv[1] : NULL);
	if (argc > 0)
		return list_records(argv[0], argc > 1 ? argv[1] : "");
	status = module_list(&modules, 0, NULL);
	columns_begin(&columns, longer ? "lrrrr" : "lrr");
	for (size_t i = 0; i < modules.count; i++)
		status = report_worse(status, show_module(modules.items[i].data));
	list_free(&modules);
	return report_worse(status, columns_end(&columns));
}

const struct command cmd_ls = {
	.name = "ls",
	.operands = "[MODULE [PREFIX] | URL [GENERATION]]",
	.summary = "list modules, or the records of one",
	.text =
	    "Without MODULE it lists the modules with their records and sizes. "
	    "With MODULE it lists its records: cache_id, dtype and shape or "
	    "structure, and size; with PREFIX, those with a cache_id that starts with "
	    "it, and exit status 1 if there are none. The data itself is not read or "
	    "checked; use verify for that.\n"
	    "With --json it writes one object a line. A cache_id that is not "
	    "UTF-8 is in id_base64 instead of id. Without --json, -1 and -z, "
	    "control characters are written as \\xNN; -1 writes them unescaped, "
	    "except to a terminal.\n"
	    "With the URL of a store, file:///DIR, it lists its generations and its runs; "
	    "with GENERATION, the parts of that generation.",
	.examples = "cachex ls\n"
		    "cachex ls faces img-0000\n"
		    "cachex ls faces --json | jq -r .id\n"
		    "cachex ls faces -z | xargs -0 -n 1 printf '%s\\n'\n"
		    "cachex ls file:///mnt/store 7",
	.completes = "mi",
	.least = 0,
	.most = 2,
	.options = options,
	.run = run_ls,
};
