/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/layout.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

struct lc__layout {
	atomic_uint refs;
	lc_source_info info;
	struct lc__rows *rows; /* held */
	uint64_t commit;       /* the commit from which it was made, or 0 */
	uint32_t series;       /* number of image sizes */
};

/* ---- rows ------------------------------------------------------------------ */

struct lc__rows *
lc__rows_hold(struct lc__rows *rows)
{
	atomic_fetch_add_explicit(&rows->refs, 1, memory_order_relaxed);
	return rows;
}

void
lc__rows_drop(struct lc__rows *rows)
{
	if (rows != NULL &&
	    atomic_fetch_sub_explicit(&rows->refs, 1, memory_order_acq_rel) == 1)
		rows->kind->free(rows);
}

static const struct lc__row_array *
array_of(const struct lc__rows *rows)
{
	return (const struct lc__row_array *)rows;
}

static lc_status
array_get(struct lc__rows *rows, uint64_t n, uint64_t position, struct lc__chunk_row *out)
{
	(void)n;
	*out = array_of(rows)->row[position];
	return LC_OK;
}

/* Most chunks are of similar size. The search begins where the row would be if all rows
 * had the same size; from there, steps of growing size find two rows around it. Usually
 * it is in the same cache line. */
uint64_t
lc__row_search(const struct lc__chunk_row *row, uint64_t n, bool units, uint64_t i)
{
	const uint64_t first = lc__row_first(row, units);
	const uint64_t each = (lc__row_end(&row[n - 1], units) - first) / n;
	uint64_t low = each > 0 && i > first ? (i - first) / each : 0, high, step = 1;

	if (low >= n)
		low = n - 1;
	high = low;
	for (; low > 0 && i < lc__row_first(&row[low], units); step *= 2) {
		high = low;
		low = low > step ? low - step : 0;
	}
	for (; high < n - 1 && i >= lc__row_end(&row[high], units); step *= 2) {
		low = high;
		high = n - 1 - high > step ? high + step : n - 1;
	}
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (i < lc__row_end(&row[middle], units))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static lc_status
array_find(struct lc__rows *rows, uint64_t n, bool units, uint64_t i, uint64_t *position,
    struct lc__chunk_row *out)
{
	*position = lc__row_search(array_of(rows)->row, n, units, i);
	*out = array_of(rows)->row[*position];
	return LC_OK;
}

static void
array_free(struct lc__rows *rows)
{
	struct lc__row_array *array = (struct lc__row_array *)rows;

	free(array->row);
	free(array);
}

static const struct lc__rows_kind array_kind = {
	.get = array_get,
	.find = array_find,
	.free = array_free,
};

struct lc__row_array *
lc__row_array_new(void)
{
	struct lc__row_array *array = calloc(1, sizeof(*array));

	if (array == NULL)
		return NULL;
	array->rows.kind = &array_kind;
	atomic_init(&array->rows.refs, 1);
	return array;
}

lc_status
lc__row_array_add(struct lc__row_array *array, const struct lc__chunk_row *row)
{
	struct lc__chunk_row *at;
	uint64_t end;

	return_if_error(
	    lc__array_reserve(&array->row, &array->room, array->n + 1, "source"));
	at = &array->row[array->n];
	*at = *row;
	at->first_record = array->n > 0 ? lc__row_end(at - 1, false) : 0;
	at->first_unit = array->n > 0 ? lc__row_end(at - 1, true) : 0;
	if (!lc__add64(at->first_record, at->records, &end) ||
	    !lc__add64(at->first_unit, at->units, &end))
		return lc__error(LC_CORRUPT, 0,
		    "source: the records' lengths overflow at chunk %llu",
		    (unsigned long long)row->id);
	array->n++;
	return LC_OK;
}

void
lc__row_array_sum(const struct lc__row_array *array, lc_source_info *info)
{
	const struct lc__chunk_row none = { 0 };
	const struct lc__chunk_row *last = array->n > 0 ? &array->row[array->n - 1]
							: &none;

	info->chunks = array->n;
	info->records = lc__row_end(last, false);
	info->length = lc__row_end(last, true);
}

/* ---- layouts --------------------------------------------------------------- */

lc_status
lc__layout_new(const lc_source_info *info, struct lc__rows *rows, uint64_t commit,
    struct lc__layout **out)
{
	struct lc__layout *layout = malloc(sizeof(*layout));

	if (layout == NULL)
		return lc__no_memory("source");
	atomic_init(&layout->refs, 1);
	layout->info = *info;
	layout->info.struct_size = sizeof(layout->info);
	layout->rows = lc__rows_hold(rows);
	layout->commit = commit;
	layout->series = 1;
	*out = layout;
	return LC_OK;
}

struct lc__layout *
lc__layout_hold(struct lc__layout *layout)
{
	atomic_fetch_add_explicit(&layout->refs, 1, memory_order_relaxed);
	return layout;
}

void
lc__layout_drop(struct lc__layout *layout)
{
	if (layout == NULL ||
	    atomic_fetch_sub_explicit(&layout->refs, 1, memory_order_acq_rel) != 1)
		return;
	lc__rows_drop(layout->rows);
	free(layout);
}

const lc_source_info *
lc__layout_info(const struct lc__layout *layout)
{
	return &layout->info;
}

uint64_t
lc__layout_commit(const struct lc__layout *layout)
{
	return layout->commit;
}

struct lc__rows *
lc__layout_rows(const struct lc__layout *layout)
{
	return layout->rows;
}

void
lc__layout_set_final(struct lc__layout *layout)
{
	layout->info.final = 1;
}

uint32_t
lc__layout_series(const struct lc__layout *layout)
{
	return layout->series;
}

void
lc__layout_set_series(struct lc__layout *layout, uint32_t series)
{
	layout->series = series;
}

/* The rows of one series. There are few rows: shards are large. */
static lc_status
take_series(struct lc__layout *layout, uint32_t series, uint64_t *before,
    struct lc__row_array *array, uint64_t *prefix_hash)
{
	struct lc__chunk_row row;

	*before = 0;
	for (uint64_t i = 0; i < layout->info.chunks; i++) {
		return_if_error(lc__layout_row(layout, i, &row));
		if (row.series < series)
			*before = i + 1;
		if (row.series != series)
			continue;
		return_if_error(lc__row_array_add(array, &row));
		*prefix_hash = row.prefix_hash;
	}
	return LC_OK;
}

lc_status
lc__layout_of_series(struct lc__layout *layout, uint32_t series, uint64_t *before,
    struct lc__layout **out)
{
	struct lc__row_array *array = lc__row_array_new();
	lc_source_info info = layout->info;
	lc_status status;

	if (array == NULL)
		return lc__no_memory("source");
	status = take_series(layout, series, before, array, &info.prefix_hash);
	lc__row_array_sum(array, &info);
	if (status == LC_OK)
		status = lc__layout_new(&info, &array->rows, 0, out);
	lc__rows_drop(&array->rows);
	return status;
}

lc_status
lc__layout_row(struct lc__layout *layout, uint64_t position, struct lc__chunk_row *out)
{
	return layout->rows->kind->get(layout->rows, layout->info.chunks, position, out);
}

lc_status
lc__layout_find_record(struct lc__layout *layout, uint64_t i, uint64_t *position,
    struct lc__chunk_row *out)
{
	return layout->rows->kind->find(layout->rows, layout->info.chunks, false, i,
	    position, out);
}

lc_status
lc__layout_find_unit(struct lc__layout *layout, uint64_t i, uint64_t *position,
    struct lc__chunk_row *out)
{
	return layout->rows->kind->find(layout->rows, layout->info.chunks, true, i,
	    position, out);
}

lc_status
lc__layout_cut(struct lc__layout *layout, uint64_t chunks, uint64_t generation,
    struct lc__layout **out)
{
	lc_source_info info = layout->info;
	struct lc__chunk_row last = { 0 };

	if (chunks > 0)
		return_if_error(lc__layout_row(layout, chunks - 1, &last));
	info.final = info.final && chunks == info.chunks && generation == info.generation;
	info.generation = generation;
	info.chunks = chunks;
	info.records = lc__row_end(&last, false);
	info.length = lc__row_end(&last, true);
	info.prefix_hash = last.prefix_hash;
	return_if_error(lc__layout_new(&info, layout->rows, 0, out));
	(*out)->series = layout->series;
	return LC_OK;
}

lc_status
lc__layout_check_prefix(struct lc__layout *layout, struct lc__layout *prefix,
    const char *name)
{
	const uint64_t chunks = prefix->info.chunks;
	struct lc__chunk_row last;

	if (chunks == 0)
		return LC_OK;
	if (layout->info.chunks >= chunks) {
		return_if_error(lc__layout_row(layout, chunks - 1, &last));
		if (last.prefix_hash == prefix->info.prefix_hash)
			return LC_OK;
	}
	return lc__error(LC_CHANGED, 0, "%s: chunks that were read have changed", name);
}
