/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout of a module with inputs: its published order. */
#include "base/error.h"
#include "store/published.h"
#include "stream/layout_order.h"
#include "stream/source_module.h"

/* ---- rows as they are published ------------------------------------------------------ */

/* Those that are known, if the order still begins with them. */
static lc_status
share_rows(struct lc__layout *old, struct lc__snapshot *s, uint64_t n,
    struct lc__rows **out)
{
	struct lc__rows *rows = lc__layout_rows(old);
	bool same = false;

	return_if_error(lc__order_rows_extend(rows, s, n, &same));
	if (same)
		*out = lc__rows_hold(rows);
	return LC_OK;
}

static lc_status
published_rows(const struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, uint64_t n, struct lc__rows **out)
{
	lc_status status;
	bool same;

	*out = NULL;
	if (old != NULL && lc__is_order_rows(lc__layout_rows(old)))
		return_if_error(share_rows(old, s, n, out));
	if (*out != NULL)
		return LC_OK;
	return_if_error(lc__order_rows_new(m->env,
	    *m->source.length_field != '\0', out));
	status = lc__order_rows_extend(*out, s, n, &same);
	if (status != LC_OK)
		lc__rows_drop(*out);
	return status;
}

/* ---- rows with lengths of another field ------------------------------------------------ */

/* The chunk's records are measured, unless they were before. */
static lc_status
measure(struct lc__module_source *m, struct lc__snapshot *s,
    const struct lc__order_row *order, struct lc__layout_row *row)
{
	struct lc__places_ask ask = { .length_field = m->source.length_field };
	struct lc__ledger_row ledger;
	struct lc__places *places;
	lc_status status;
	bool kept;

	status = lc__module_ledger(s, order->chunk, &ledger);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: the ledger row of chunk %llu is "
		    "missing", m->source.name, (unsigned long long)order->chunk);
	return_if_error(status);
	ask.row = &ledger;
	return_if_error(lc__module_places(m, s, order->chunk, &ask, &places,
	    &kept));
	row->units = places->units;
	lc__places_drop(places);
	return LC_OK;
}

static lc_status
measured_row(struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, uint64_t position, struct lc__row_array *array)
{
	struct lc__order_row order;
	struct lc__layout_row row = { 0 };
	const lc_status status = lc__order_get(s, position, &order);

	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: order row %llu is missing",
		    m->source.name, (unsigned long long)position);
	return_if_error(status);
	if (old != NULL && position < lc__layout_info(old)->chunks)
		return_if_error(lc__layout_row(old, position, &row));
	if (row.id != order.chunk || row.prefix_hash != order.prefix_hash)
		return_if_error(measure(m, s, &order, &row));
	row.id = order.chunk;
	row.records = order.records;
	row.prefix_hash = order.prefix_hash;
	row.ordinal = order.ordinal;
	return lc__row_array_add(array, &row);
}

static lc_status
measured_rows(struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, uint64_t n, struct lc__rows **out)
{
	struct lc__row_array *array = lc__row_array_new();
	lc_status status = LC_OK;

	if (array == NULL)
		return lc__no_memory("source");
	for (uint64_t i = 0; status == LC_OK && i < n; i++)
		status = measured_row(m, s, old, i, array);
	if (status != LC_OK)
		lc__rows_drop(&array->rows);
	else
		*out = &array->rows;
	return status;
}

/* ---- the layout --------------------------------------------------------------------------- */

static lc_status
sum_up(struct lc__rows *rows, lc_source_info *info)
{
	struct lc__layout_row last = { 0 };

	if (info->chunks > 0)
		return_if_error(rows->kind->get(rows, info->chunks,
		    info->chunks - 1, &last));
	info->length = lc__row_end(&last, true);
	return LC_OK;
}

lc_status
lc__module_order(struct lc__module_source *m, struct lc__snapshot *s,
    struct lc__layout *old, struct lc__layout **out)
{
	const bool measured = *m->source.length_field != '\0' && !m->own_lengths;
	struct lc__rows *rows = NULL;
	struct lc__fill_row fill;
	lc_source_info info;
	lc_status status;

	return_if_error(lc__fill_get(s, &fill));
	/* Records are sought in chunks: without any, there is nowhere to begin. */
	if (fill.published == 0 && fill.records > 0)
		return lc__error(LC_CORRUPT, 0, "%s: the fill row counts %llu records in no "
		    "published chunk", m->source.name, (unsigned long long)fill.records);
	return_if_error(lc__module_check_length(m, fill.length));
	lc__module_info(m, &info);
	info.generation = info.chunks = fill.published;
	info.records = fill.records;
	info.length = info.has_lengths ? fill.length : fill.records;
	info.prefix_hash = fill.prefix_hash;
	info.final = fill.finished == fill.inputs;
	return_if_error(measured ?
	    measured_rows(m, s, old, fill.published, &rows) :
	    published_rows(m, s, old, fill.published, &rows));
	status = measured ? sum_up(rows, &info) : LC_OK;
	if (status == LC_OK)
		status = lc__layout_new(&info, rows, s->loaded, out);
	lc__rows_drop(rows);
	return status;
}
