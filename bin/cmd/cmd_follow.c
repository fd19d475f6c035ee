/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex follow: records as they are published, and the progress of the inputs. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/utf8.h"
#include "cmd/read.h"
#include "formats/base64.h"
#include "lmdbcache.h"
#include "ui/columns.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

/** Room for stream_inputs_line(). */
#define STREAM_INPUTS_LINE 200

static struct stream_order order = STREAM_ORDER_DEFAULT(1);
/* Handing single examples to threads would cost more than reading them. */
static struct read_options opts = READ_OPTIONS_DEFAULT(0);
static int status_only;

static struct opt options[] = {
	{ "", "status", OPT_FLAG, &status_only,
	    .help = "print the state of the inputs, and end" },
	STREAM_ORDER_OPTIONS(order),
	READ_FORM_OPTIONS(opts),
	READ_READER_OPTIONS(opts),
	{ .kind = OPT_END },
};

/* ---- the inputs of a module -------------------------------------------------------- */

#define SHOWN 40 /* bytes of a cursor in the table */

static struct columns columns;

/* ---- an input ----------------------------------------------------------------------- */

static bool
is_printable(lc_id bytes)
{
	const unsigned char *p = bytes.data;

	if (!lc__utf8_valid(bytes.data, bytes.size))
		return false;
	for (size_t i = 0; i < bytes.size; i++)
		if (p[i] < 0x20 || p[i] == 0x7f)
			return false;
	return true;
}

/* Text unchanged, other bytes in hex; cut if it is long. */
static void
cursor_cell(lc_id cursor)
{
	const unsigned char *bytes = cursor.data;
	const bool cut = cursor.size > SHOWN;
	const size_t n = cut ? SHOWN : cursor.size;
	char text[2 * SHOWN + 8] = "0x";

	if (cursor.size == 0) {
		columns_text(&columns, "-");
	} else if (!cut && is_printable(cursor)) {
		columns_id(&columns, cursor);
	} else {
		for (size_t i = 0; i < n; i++)
			snprintf(text + 2 + 2 * i, 3, "%02x", bytes[i]);
		columns_text(&columns, cut ? strcat(text, "…") : text);
	}
}

static void
bytes_member(struct json *json, const char *key, const char *other, lc_id bytes)
{
	if (lc__utf8_valid(bytes.data, bytes.size)) {
		jw_key(json, key);
		lc__json_string(json->out, bytes.data, bytes.size);
		return;
	}
	jw_key(json, other);
	putc('"', json->out);
	lc__base64_write(json->out, bytes.data, bytes.size);
	putc('"', json->out);
}

static void
show_json(const lc_input_info *info)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "input", info->name);
	jw_count(&json, "index", info->index);
	bytes_member(&json, "fingerprint", "fingerprint_base64", info->fingerprint);
	bytes_member(&json, "cursor", "cursor_base64", info->cursor);
	jw_count(&json, "chunks", info->chunks);
	jw_count(&json, "records", info->records);
	jw_count(&json, "length", info->length);
	jw_flag(&json, "finished", info->finished);
	jw_flag(&json, "held", info->held);
	jw_end_line(&json);
}

static int
show_input(void *ctx, const lc_input_info *info)
{
	char text[SIZE_TEXT];

	(void)ctx;
	if (settings.json) {
		show_json(info);
		return 0;
	}
	columns_text(&columns, info->name);
	columns_text(&columns, count_human(info->chunks, "chunk", text, sizeof(text)));
	columns_text(&columns, count_human(info->records, "record", text, sizeof(text)));
	snprintf(text, sizeof(text), "length %llu", (unsigned long long)info->length);
	columns_text(&columns, text);
	columns_text(&columns,
	    info->finished   ? "finished"
		: info->held ? "held"
			     : "open");
	cursor_cell(info->cursor);
	return 0;
}

/* ---- the module ---------------------------------------------------------------------- */

/* "12 of 14 chunks published, 345 records; 1 of 2 inputs finished"; returns @p out. */
static char *
stream_inputs_line(const lc_fill *fill, char *out, size_t room)
{
	char records[SIZE_TEXT], chunks[SIZE_TEXT];

	count_human(fill->records, "record", records, sizeof(records));
	count_human(fill->committed, "chunk", chunks, sizeof(chunks));
	if (fill->inputs == 0)
		snprintf(out, room, "%s, %s; filled by puts, never final", chunks,
		    records);
	else
		snprintf(out, room,
		    "%llu of %s published, %s; %u of %u input%s finished, %u held%s",
		    (unsigned long long)fill->published, chunks, records, fill->finished,
		    fill->inputs, fill->inputs == 1 ? "" : "s", fill->held,
		    fill->final ? "; final" : "");
	return out;
}

static void
show_fill(const char *module, const lc_fill *fill)
{
	struct json json = { stdout, false };
	char text[STREAM_INPUTS_LINE];

	if (!settings.json) {
		printf("%s: %s\n", module, stream_inputs_line(fill, text, sizeof(text)));
		return;
	}
	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_count(&json, "inputs", fill->inputs);
	jw_count(&json, "finished", fill->finished);
	jw_count(&json, "held", fill->held);
	jw_flag(&json, "final", fill->final);
	jw_count(&json, "committed", fill->committed);
	jw_count(&json, "published", fill->published);
	jw_count(&json, "records", fill->records);
	jw_count(&json, "length", fill->length);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)fill->prefix_hash);
	jw_text(&json, "prefix_hash", text);
	jw_end_line(&json);
}

/* Print the table; an exit status: EXIT_NO if the module is not final. */
static int
stream_inputs_show(lc_cache *cache, const char *module)
{
	lc_fill fill = { .struct_size = sizeof(fill) };
	lc_status status;
	int shown;

	columns_begin(&columns, "lrrrll");
	status = lc_inputs(cache, show_input, NULL);
	shown = columns_end(&columns);
	if (status == LC_OK)
		status = lc_fill_get(cache, &fill);
	if (status != LC_OK)
		return report_status(status);
	show_fill(module, &fill);
	return report_worse(shown, fill.final ? EXIT_DONE : EXIT_NO);
}

/* ---- the command ------------------------------------------------------------------- */

/* The last line on the progress of the module. */
static struct {
	const char *module;
	char line[STREAM_INPUTS_LINE];
} last;

static void
tell(lc_cache *cache)
{
	lc_fill fill = { .struct_size = sizeof(fill) };
	char line[STREAM_INPUTS_LINE];

	if (lc_fill_get(cache, &fill) != LC_OK)
		return;
	stream_inputs_line(&fill, line, sizeof(line));
	if (strcmp(line, last.line) == 0)
		return;
	report_note("%s: %s", last.module, line);
	strcpy(last.line, line);
}

static void
idle(struct stream_sources *sources)
{
	tell(sources->all[0].cache);
}

static int
no_module(void)
{
	return report_usage("%s is not a module; only modules grow", last.module);
}

static int
follow(struct stream_sources *sources)
{
	const struct read_job job = {
		.source = last.module,
		.opts = &opts,
		.order = &order,
		.readers = 1,
		.follow = true,
		.first = UINT64_MAX,
		.last = UINT64_MAX,
		.count = UINT64_MAX,
		.idle = idle,
	};
	int status;

	if (sources->all[0].cache == NULL)
		return no_module();
	if (status_only)
		return stream_inputs_show(sources->all[0].cache, last.module);
	status = read_run(&job, sources);
	if (status <= EXIT_NO)
		tell(sources->all[0].cache);
	return status;
}

static int
run_follow(int argc, char **argv)
{
	struct stream_sources sources;
	int status;

	(void)argc;
	last.module = argv[0];
	if (stream_name_is_path(argv[0]) || stream_name_is_join(argv[0]) ||
	    stream_name_is_list(argv[0]))
		return no_module();
	status = stream_sources_open(&sources, argv, 1, &order,
	    (lc_verify_mode)opts.verify);
	if (status != EXIT_DONE)
		return status;
	return stream_sources_close(&sources, follow(&sources));
}

const struct command cmd_follow = {
	.name = "follow",
	.operands = "MODULE",
	.summary = "print records as they are published",
	.text =
	    "Reads MODULE from its beginning in its final order, and continues while it "
	    "is written, until it is final. Whenever nothing is left to read, it prints the "
	    "state of the module on standard error. The exit status is 1 if unfinished "
	    "inputs have no writer, except with --wait, and if no new data came in --timeout "
	    "seconds. A module of plain puts is never final.\n"
	    "It prints the same as cachex read, by default in batches of one example. "
	    "--status prints one line per input instead, with the last cursor that its "
	    "writer committed, and ends with status 0 if the module is final.",
	.examples = "cachex follow tokens\n"
		    "cachex follow tokens --status\n"
		    "cachex follow tokens --json --timeout 60 --token-file seen.token",
	.completes = "m",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_follow,
};
