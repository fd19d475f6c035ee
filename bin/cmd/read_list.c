/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches as text: a line for each example, or a line with a hash for each batch. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "cmd/read.h"
#include "ui/columns.h"
#include "ui/json.h"
#include "ui/settings.h"

static int
digits(uint64_t n)
{
	return snprintf(NULL, 0, "%llu", (unsigned long long)n);
}

/* The columns are as wide as the last batch and example need, if these are known. */
void
read_list_begin(struct read_output *out)
{
	const lc_stream_info *info = &out->info;

	if (info->batches != UINT64_MAX && info->batches > 0)
		out->widths[0] = digits(info->batches - 1);
	if (info->examples != UINT64_MAX && info->examples > 0)
		out->widths[1] = digits(info->examples - 1);
	if (out->windows)
		out->widths[3] = digits(out->window);
}

/* The other columns are as wide as their widest value so far. */
static void
number(struct read_output *out, int column, uint64_t n)
{
	const int width = printf("%*llu", out->widths[column], (unsigned long long)n);

	if (width > out->widths[column])
		out->widths[column] = width;
	fputs("  ", stdout);
}

static const char *
source_name(const struct read_output *out, const lc_batch *batch, size_t row)
{
	return out->sources->all[batch->sources[row]].name;
}

static void
show_text(struct read_output *out, const lc_batch *batch, size_t row)
{
	number(out, 0, batch->number);
	number(out, 1, batch->examples[row]);
	number(out, 2, batch->epochs[row]);
	if (out->windows)
		number(out, 3, batch->lengths[row]);
	if (out->sources->n > 1)
		printf("%s  ", source_name(out, batch, row));
	ident_print(stdout, batch->ids[row]);
	putchar('\n');
}

static void
show_json(const struct read_output *out, const lc_batch *batch, size_t row)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_count(&json, "batch", batch->number);
	jw_count(&json, "row", row);
	jw_count(&json, "example", batch->examples[row]);
	jw_count(&json, "epoch", batch->epochs[row]);
	if (out->sources->n > 1)
		jw_text(&json, "source", source_name(out, batch, row));
	if (out->windows)
		jw_count(&json, "length", batch->lengths[row]);
	jw_id(&json, batch->ids[row]);
	jw_end_line(&json);
}

int
read_list(struct read_output *out, const lc_batch *batch)
{
	for (size_t row = 0; row < batch->rows; row++)
		if (batch->mask[row] && settings.json)
			show_json(out, batch, row);
		else if (batch->mask[row])
			show_text(out, batch, row);
	return 0;
}

int
read_ids(struct read_output *out, const lc_batch *batch)
{
	for (size_t row = 0; row < batch->rows; row++)
		if (batch->mask[row])
			ident_item(batch->ids[row], out->opts->null);
	return 0;
}

/* ---- hashes ------------------------------------------------------------------------ */

/* The bytes of a row; a ragged field has an array of where rows begin. */
static const void *
row_of(const lc_batch *batch, const lc_batch_field *field, size_t row, uint64_t *size)
{
	const uint64_t first = field->offsets ? field->offsets[row] : row;
	const uint64_t end = field->offsets ? field->offsets[row + 1] : row + 1;
	const uint64_t all = field->offsets ? field->offsets[batch->rows] : batch->rows;
	const uint64_t inner = all > 0 ? field->nbytes / all : 0;

	*size = (end - first) * inner;
	return (const char *)field->data + first * inner;
}

static uint64_t
add_numbers(const uint64_t *numbers, size_t n, uint64_t hash)
{
	unsigned char bytes[8 * (LC_MAX_NDIM + 2)];

	for (size_t i = 0; i < n; i++)
		lc__set64(bytes + 8 * i, numbers[i]);
	return lc__hash64_seed(bytes, 8 * n, hash);
}

/* Hash the field's name, dtype and bytes, and the record's own shape, which does not
 * depend on the other records of the batch. */
static uint64_t
add_field(const lc_batch *batch, const lc_batch_field *field, size_t row, uint64_t hash)
{
	uint64_t numbers[LC_MAX_NDIM + 2], size;
	const void *data = row_of(batch, field, row, &size);
	size_t n = 0;

	numbers[n++] = (uint64_t)field->dtype;
	if (field->offsets != NULL)
		numbers[n++] = field->offsets[row + 1] - field->offsets[row];
	for (uint32_t i = 1; i < field->ndim; i++)
		numbers[n++] = field->shape[i];
	hash = lc__hash64_seed(field->name, strlen(field->name), hash);
	hash = add_numbers(numbers, n, hash);
	return lc__hash64_seed(data, size, hash);
}

static uint64_t
hash_example(const lc_batch *batch, size_t row)
{
	const uint64_t numbers[] = { batch->examples[row], batch->epochs[row],
		batch->sources[row], batch->lengths[row] };
	uint64_t hash = add_numbers(numbers, 4, 0);

	hash = lc__hash64_seed(batch->ids[row].data, batch->ids[row].size, hash);
	for (size_t i = 0; i < batch->n_fields; i++)
		hash = add_field(batch, &batch->fields[i], row, hash);
	return hash;
}

int
read_sum(struct read_output *out, const lc_batch *batch)
{
	struct json json = { stdout, false };
	uint64_t sum = 0;
	char text[17];

	(void)out;
	for (size_t row = 0; row < batch->rows; row++)
		if (batch->mask[row])
			sum += hash_example(batch, row);
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)sum);
	if (!settings.json) {
		printf("%llu  %zu  %s\n", (unsigned long long)batch->number,
		    batch->filled, text);
		return 0;
	}
	jw_open(&json, NULL, '{');
	jw_count(&json, "batch", batch->number);
	jw_count(&json, "first", batch->first);
	jw_count(&json, "rows", batch->rows);
	jw_count(&json, "examples", batch->filled);
	jw_text(&json, "sum", text);
	jw_end_line(&json);
	return 0;
}
