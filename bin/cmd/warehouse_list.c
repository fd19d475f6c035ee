/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/columns.h"
#include "ui/date.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "cmd/versions.h"
#include "cmd/warehouse.h"

static struct opt options[] = { { .kind = OPT_END } };
static struct columns columns;

static void
show_json(const struct version *v)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "name", v->name);
	jw_flag(&json, "current", v->current);
	jw_flag(&json, "good", v->finished);
	if (v->finished) {
		jw_text(&json, "version", v->key);
		jw_count(&json, "samples", v->samples);
		jw_count(&json, "shards", v->shards);
		jw_count(&json, "bytes", v->bytes);
		jw_count(&json, "created_at_ms", v->created_at_ms);
	}
	jw_end_line(&json);
}

static void
show_text(const struct version *v)
{
	char text[SIZE_TEXT], date[DATE_TEXT];

	columns_text(&columns, v->current ? "*" : " ");
	columns_text(&columns, v->name);
	columns_text(&columns, !v->finished ? v->damaged ? "damaged" : "no manifest" :
	    count_human(v->samples, "sample", text, sizeof(text)));
	columns_text(&columns, !v->finished ? "" :
	    size_human((double)v->bytes, text, sizeof(text)));
	columns_text(&columns, !v->finished ? "" :
	    date_text(v->created_at_ms, date));
}

static int
run(int argc, char **argv)
{
	struct versions versions;
	int status = versions_read(argv[0], &versions);

	(void)argc;
	columns_begin(&columns, "llrrl");
	for (size_t i = 0; i < versions.n; i++)
		if (settings.json)
			show_json(&versions.all[i]);
		else
			show_text(&versions.all[i]);
	if (!settings.json)
		status = report_worse(status, columns_end(&columns));
	versions_free(&versions);
	return status;
}

const struct command warehouse_list = {
	.name = "warehouse list",
	.operands = "WAREHOUSE",
	.summary = "list the versions of a warehouse",
	.text =
	    "Lists the versions, oldest first, with their samples, the size of their "
	    "shards and when they were made. A star marks the one that `current` "
	    "points to. One without a manifest is what a prune that was stopped has "
	    "left.",
	.examples =
	    "cachex warehouse list warehouse\n"
	    "cachex warehouse list warehouse --json | jq -r 'select(.current).name'",
	.completes = "d",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run
};
