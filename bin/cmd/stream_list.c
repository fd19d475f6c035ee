/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches as lines, an example each. */
#include <stdio.h>

#include "ui/ident.h"
#include "ui/json.h"
#include "ui/settings.h"
#include "cmd/streamout.h"

static int
digits(uint64_t n)
{
	return snprintf(NULL, 0, "%llu", (unsigned long long)n);
}

/* Columns as wide as the last batch and the last example, where those are known. */
void
stream_list_begin(struct streamout *out)
{
	const lc_stream_info *info = &out->info;

	if (info->batches != UINT64_MAX && info->batches > 0)
		out->widths[0] = digits(info->batches - 1);
	if (info->examples != UINT64_MAX && info->examples > 0)
		out->widths[1] = digits(info->examples - 1);
	if (out->windows)
		out->widths[3] = digits(out->window);
}

/* Other columns are as wide as their widest so far. */
static void
number(struct streamout *out, int column, uint64_t n)
{
	const int width = printf("%*llu", out->widths[column], (unsigned long long)n);

	if (width > out->widths[column])
		out->widths[column] = width;
	fputs("  ", stdout);
}

static const char *
source_name(const struct streamout *out, const lc_batch *batch, size_t row)
{
	return out->streaming->sources[batch->sources[row]].name;
}

static void
show_text(struct streamout *out, const lc_batch *batch, size_t row)
{
	number(out, 0, batch->number);
	number(out, 1, batch->examples[row]);
	number(out, 2, batch->epochs[row]);
	if (out->windows)
		number(out, 3, batch->lengths[row]);
	if (out->streaming->n > 1)
		printf("%s  ", source_name(out, batch, row));
	ident_print(stdout, batch->ids[row]);
	putchar('\n');
}

static void
show_json(const struct streamout *out, const lc_batch *batch, size_t row)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_count(&json, "batch", batch->number);
	jw_count(&json, "row", row);
	jw_count(&json, "example", batch->examples[row]);
	jw_count(&json, "epoch", batch->epochs[row]);
	if (out->streaming->n > 1)
		jw_text(&json, "source", source_name(out, batch, row));
	if (out->windows)
		jw_count(&json, "length", batch->lengths[row]);
	jw_id(&json, batch->ids[row]);
	jw_end_line(&json);
}

int
stream_list(struct streamout *out, const lc_batch *batch)
{
	for (size_t row = 0; row < batch->rows; row++)
		if (batch->mask[row] && settings.json)
			show_json(out, batch, row);
		else if (batch->mask[row])
			show_text(out, batch, row);
	return 0;
}

int
stream_ids(struct streamout *out, const lc_batch *batch)
{
	for (size_t row = 0; row < batch->rows; row++)
		if (batch->mask[row])
			ident_item(stdout, batch->ids[row], out->opts->null);
	return 0;
}
