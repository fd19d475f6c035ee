/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout of a module of plain puts: one scan of its ledger. */
#include "base/error.h"
#include "store/change.h"
#include "store/published.h"
#include "stream/source_module.h"

/* A layout being made: one scan of the ledger. */
struct scan {
	struct lc__module_source *m;
	struct lc__snapshot *snapshot;
	struct lc__row_array *array;
	uint64_t prefix_hash;      /* so far */
	struct lc__layout *old;    /* what was known before, or NULL */
	uint64_t old_at;           /* the row of it to be looked at next */
};

/* The row that was known of a chunk, false if there is none: lengths that were added
 * up once need not be again. */
static bool
known_row(struct scan *s, uint64_t chunk, struct lc__layout_row *out)
{
	const uint64_t n = s->old == NULL ? 0 : lc__layout_info(s->old)->chunks;

	for (; s->old_at < n; s->old_at++) {
		if (lc__layout_row(s->old, s->old_at, out) != LC_OK ||
		    out->id > chunk)
			return false;
		if (out->id == chunk)
			return true;
	}
	return false;
}

static lc_status
add_up_units(struct scan *s, uint64_t chunk, const struct lc__ledger_row *row,
    uint64_t *out)
{
	const struct lc__places_ask ask = { .row = row,
		.length_field = s->m->source.length_field };
	struct lc__layout_row known;
	struct lc__places *places;
	bool kept;

	if (known_row(s, chunk, &known) && known.records == row->live &&
	    known.ordinal == row->ordinal) {
		*out = known.units;
		return LC_OK;
	}
	return_if_error(lc__module_places(s->m, s->snapshot, chunk, &ask, &places,
	    &kept));
	*out = places->units;
	lc__places_drop(places);
	return LC_OK;
}

static lc_status
scan_chunk(struct scan *s, uint64_t chunk, const struct lc__ledger_row *ledger)
{
	struct lc__layout_row row = { .id = chunk, .records = ledger->live,
		.units = ledger->live, .ordinal = ledger->ordinal };

	if (ledger->live == 0)
		return LC_OK;
	return_if_error(lc__module_check_length(s->m, ledger->length));
	if (*s->m->source.length_field != '\0' && s->m->own_lengths)
		row.units = ledger->length;
	else if (*s->m->source.length_field != '\0')
		return_if_error(add_up_units(s, chunk, ledger, &row.units));
	row.prefix_hash = s->prefix_hash = lc__plain_chain(s->prefix_hash, row.id,
	    ledger, row.units);
	return lc__row_array_add(s->array, &row);
}

static lc_status
scan_ledger(struct scan *s)
{
	struct lc__ledger_row row;
	uint64_t chunk = 0;
	lc_status status;
	bool intact;

	while ((status = lc__ledger_after(s->snapshot, chunk, &chunk, &row,
	    &intact)) == LC_OK) {
		if (!intact)
			return lc__error(LC_CORRUPT, 0, "%s: the ledger row of chunk "
			    "%llu is damaged", s->m->source.name,
			    (unsigned long long)chunk);
		return_if_error(scan_chunk(s, chunk, &row));
	}
	return status == LC_END ? LC_OK : status;
}

static lc_status
scan_layout(struct scan *s, struct lc__layout **out)
{
	lc_source_info info;

	return_if_error(scan_ledger(s));
	lc__module_info(s->m, &info);
	/* Chunk ids begin with 1. */
	info.generation = s->snapshot->state.next_chunk > 0 ?
	    s->snapshot->state.next_chunk - 1 : 0;
	info.prefix_hash = s->prefix_hash;
	lc__row_array_sum(s->array, &info);
	return lc__layout_new(&info, &s->array->rows, s->snapshot->loaded, out);
}

lc_status
lc__module_scan(struct lc__module_source *m, struct lc__snapshot *snapshot,
    struct lc__layout *old, struct lc__layout **out)
{
	struct scan s = { .m = m, .snapshot = snapshot, .old = old,
		.array = lc__row_array_new() };
	lc_status status;

	if (s.array == NULL)
		return lc__no_memory("source");
	status = scan_layout(&s, out);
	lc__rows_drop(&s.array->rows);
	return status;
}
