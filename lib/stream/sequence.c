/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* What examples are cut from: all units of the layout, or all of its records. */
static uint64_t
units_of(const struct lc__sequence *s)
{
	const lc_source_info *info = lc__layout_info(s->layout);

	return s->rule.windows.size > 0 ? info->length : info->records;
}

/* ---- the flat order --------------------------------------------------------- */

static uint64_t
count_examples(const struct lc__sequence *s, bool last_short)
{
	const struct lc__windows *windows = &s->rule.windows;

	if (windows->size == 0)
		return units_of(s);
	return last_short ? lc__windows_padded(windows, units_of(s))
			  : lc__windows_full(windows, units_of(s));
}

static lc_status
lacks_examples(const struct lc__sequence *s, const char *name)
{
	const char *why = "no data";

	if (s->rule.may_be_empty)
		return LC_OK;
	if (units_of(s) > 0)
		why = "fewer units than a window";
	else if (lc__layout_info(s->layout)->records > 0)
		why = "all of its records have the length 0";
	return lc__error(LC_INVALID, 0, "%s: has no examples for a stream: %s", name,
	    why);
}

static lc_status
count_flat(struct lc__sequence *s, const char *name)
{
	s->n = count_examples(s, s->complete && !s->rule.drop_short);
	if (!s->complete) {
		s->total = UINT64_MAX;
		s->known = lc__shuffle_settled(&s->rule.shuffle, s->n);
		return LC_OK;
	}
	if (s->n == 0)
		return lacks_examples(s, name);
	if (s->n > INT64_MAX)
		return lc__error(LC_INVALID, 0,
		    "%s: an epoch has more examples than can be numbered", name);
	s->total = UINT64_MAX;
	if (s->rule.epochs > 0 && !lc__mul64(s->n, s->rule.epochs, &s->total))
		return lc__error(LC_INVALID, 0,
		    "%s: %llu epochs have more examples than can be numbered", name,
		    (unsigned long long)s->rule.epochs);
	s->known = s->total;
	return LC_OK;
}

/* ---- R* --------------------------------------------------------------------- */

static lc_status
make_rstar(struct lc__sequence *s, const char *name)
{
	const uint64_t chunks = lc__layout_info(s->layout)->chunks;
	uint64_t *ends = chunks < SIZE_MAX / sizeof(*ends)
	    ? malloc((size_t)(chunks + 1) * sizeof(*ends))
	    : NULL;
	struct lc__chunk_row row;
	lc_status status = LC_OK;

	if (ends == NULL)
		return lc__no_memory(name);
	for (uint64_t i = 0; i < chunks && status == LC_OK; i++) {
		status = lc__layout_row(s->layout, i, &row);
		if (status == LC_OK)
			ends[i] = lc__row_end(&row, s->rule.windows.size > 0);
	}
	if (status == LC_OK) {
		status = lc__rstar_new(s->rule.idealised, ends, chunks, s->complete,
		    &s->rstar);
		if (status == LC_INVALID)
			lc__error_prefix("%s", name);
	}
	free(ends);
	return status;
}

/* Examples of the first n units of a reader. */
static uint64_t
examples_of(const struct lc__sequence *s, uint64_t units)
{
	return s->rule.windows.size > 0 ? lc__windows_full(&s->rule.windows, units)
					: units;
}

/* The first example that is not known yet, of whichever reader comes to one first. */
static uint64_t
known_of_all(const struct lc__sequence *s)
{
	const uint64_t readers = s->rule.idealised;
	uint64_t known = UINT64_MAX;

	for (uint32_t r = 0; r < readers; r++) {
		const uint64_t own = examples_of(s, lc__rstar_known(s->rstar, r));

		if (own <= (UINT64_MAX - r) / readers && own * readers + r < known)
			known = own * readers + r;
	}
	return known;
}

/* The order has no end, but the units of a reader are numbered in 64 bits. */
static uint64_t
most_examples(const struct lc__sequence *s)
{
	const uint64_t size = s->rule.windows.size, stride = s->rule.windows.stride;
	const uint64_t own = size > 0 ? (UINT64_MAX - size) / stride : UINT64_MAX;

	return own > UINT64_MAX / s->rule.idealised ? UINT64_MAX
						    : own * s->rule.idealised;
}

static lc_status
count_rstar(struct lc__sequence *s, const char *name)
{
	if (s->complete && units_of(s) == 0)
		return lacks_examples(s, name);
	return_if_error(make_rstar(s, name));
	s->total = UINT64_MAX;
	s->known = s->complete ? UINT64_MAX : known_of_all(s);
	if (s->known > most_examples(s))
		s->known = most_examples(s);
	return LC_OK;
}

/* ---- making and freeing ------------------------------------------------------ */

lc_status
lc__sequence_new(const struct lc__sequence_rule *rule, struct lc__layout *layout,
    bool complete, const char *name, struct lc__sequence **out)
{
	struct lc__sequence *s = calloc(1, sizeof(*s));
	lc_status status;

	if (s == NULL)
		return lc__no_memory(name);
	s->rule = *rule;
	s->layout = lc__layout_hold(layout);
	s->complete = complete;
	status = rule->idealised > 0 ? count_rstar(s, name) : count_flat(s, name);
	if (status == LC_OK)
		*out = s;
	else
		lc__sequence_free(s);
	return status;
}

void
lc__sequence_free(struct lc__sequence *s)
{
	if (s == NULL)
		return;
	lc__rstar_free(s->rstar);
	lc__layout_drop(s->layout);
	free(s);
}

/* ---- the chunks that examples need ------------------------------------------- */

/* The last unit of example i of a flat order, or of a reader. */
static uint64_t
last_unit(const struct lc__sequence *s, uint64_t i)
{
	const struct lc__windows *windows = &s->rule.windows;
	uint64_t unit = i;

	if (windows->size > 0 &&
	    (!lc__mul64(i, windows->stride, &unit) ||
		!lc__add64(unit, windows->size - 1, &unit)))
		return UINT64_MAX;
	return unit;
}

static void
needs_reader(const struct lc__sequence *s, uint32_t r, uint64_t unit, uint64_t *chunks)
{
	struct lc__rstar_place place;
	const uint64_t all = lc__layout_info(s->layout)->chunks;

	if (unit >= lc__rstar_known(s->rstar, r)) {
		*chunks = all;
		return;
	}
	lc__rstar_seek(s->rstar, r, unit, &place);
	if (lc__rstar_epoch(s->rstar, r, &place) > 0)
		*chunks = all;
	else if (place.chunk >= *chunks)
		*chunks = place.chunk + 1;
}

lc_status
lc__sequence_needs(const struct lc__sequence *s, uint64_t examples, uint64_t *chunks)
{
	const uint64_t readers = s->rule.idealised;
	struct lc__chunk_row row;
	uint64_t last;

	*chunks = 0;
	if (examples == 0)
		return LC_OK;
	if (readers > 0) {
		for (uint32_t r = 0; r < readers && r < examples; r++)
			needs_reader(s, r, last_unit(s, (examples - 1 - r) / readers),
			    chunks);
		return LC_OK;
	}
	last = lc__shuffle_last_of(&s->rule.shuffle, examples - 1);
	last = last < s->n ? last_unit(s, last) : UINT64_MAX;
	if (last >= units_of(s)) {
		*chunks = lc__layout_info(s->layout)->chunks;
		return LC_OK;
	}
	return_if_error(s->rule.windows.size > 0
		? lc__layout_find_unit(s->layout, last, chunks, &row)
		: lc__layout_find_record(s->layout, last, chunks, &row));
	++*chunks;
	return LC_OK;
}

/* ---- sequence cursors --------------------------------------------------------- */

void
lc__sequence_cursor_init(struct lc__sequence_cursor *cursor,
    const struct lc__sequence *sequence)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->sequence = sequence;
}

static bool
by_windows(const struct lc__sequence_cursor *cursor)
{
	return cursor->sequence->rule.windows.size > 0;
}

/* The epoch of an example, and its shuffle. Only a complete sequence has a second one. */
static void
enter_epoch(struct lc__sequence_cursor *cursor, uint64_t index)
{
	const struct lc__sequence *s = cursor->sequence;
	const uint64_t epoch = s->complete ? index / s->n : 0;

	lc__shuffle_init(&cursor->shuffle, &s->rule.shuffle, s->n, epoch);
	memset(&cursor->near, 0, sizeof(cursor->near));
	cursor->epoch_first = epoch * s->n;
	cursor->epoch_end = s->n > UINT64_MAX - cursor->epoch_first
	    ? UINT64_MAX
	    : cursor->epoch_first + s->n;
}

static void
seek_flat(struct lc__sequence_cursor *cursor, uint64_t index,
    struct lc__sequence_position *out)
{
	const struct lc__sequence *s = cursor->sequence;
	const struct lc__windows *windows = &s->rule.windows;
	uint64_t i, length;

	if (index < cursor->epoch_first || index >= cursor->epoch_end)
		enter_epoch(cursor, index);
	i = lc__shuffle_near(&cursor->shuffle, &cursor->near,
	    index - cursor->epoch_first);
	out->epoch = cursor->shuffle.epoch;
	out->unit = i;
	out->left = 1;
	if (!by_windows(cursor))
		return;
	out->unit = i * windows->stride;
	length = lc__layout_info(s->layout)->length;
	out->left = length - out->unit < windows->size ? length - out->unit
						       : windows->size;
}

static void
seek_rstar(struct lc__sequence_cursor *cursor, uint64_t index,
    struct lc__sequence_position *out)
{
	const struct lc__sequence *s = cursor->sequence;
	const struct lc__windows *windows = &s->rule.windows;
	const uint64_t i = index / s->rule.idealised;

	out->reader = (uint32_t)(index % s->rule.idealised);
	out->left = by_windows(cursor) ? windows->size : 1;
	lc__rstar_seek(s->rstar, out->reader,
	    by_windows(cursor) ? i * windows->stride : i, &out->place);
	out->epoch = lc__rstar_epoch(s->rstar, out->reader, &out->place);
}

void
lc__sequence_seek(struct lc__sequence_cursor *cursor, uint64_t index,
    struct lc__sequence_position *out)
{
	if (cursor->sequence->rstar != NULL)
		seek_rstar(cursor, index, out);
	else
		seek_flat(cursor, index, out);
}

static uint64_t
row_first(const struct lc__sequence_cursor *cursor)
{
	return by_windows(cursor) ? cursor->row.first_unit : cursor->row.first_record;
}

static uint64_t
row_units(const struct lc__sequence_cursor *cursor)
{
	return by_windows(cursor) ? cursor->row.units : cursor->row.records;
}

/* Go to the chunk that has a unit: most often it is the chunk at hand. */
static lc_status
go_to_unit(struct lc__sequence_cursor *cursor, uint64_t unit)
{
	struct lc__layout *layout = cursor->sequence->layout;
	const uint64_t first = row_first(cursor);

	if (unit >= first && unit - first < row_units(cursor))
		return LC_OK;
	return by_windows(cursor)
	    ? lc__layout_find_unit(layout, unit, &cursor->position, &cursor->row)
	    : lc__layout_find_record(layout, unit, &cursor->position, &cursor->row);
}

static lc_status
go_to_chunk(struct lc__sequence_cursor *cursor, uint64_t position)
{
	if (row_units(cursor) > 0 && cursor->position == position)
		return LC_OK;
	return_if_error(lc__layout_row(cursor->sequence->layout, position, &cursor->row));
	cursor->position = position;
	return LC_OK;
}

/* Take the rest of the chunk at hand, from a unit of it. */
static void
take(struct lc__sequence_cursor *cursor, struct lc__sequence_position *position,
    uint64_t first, struct lc__piece *out)
{
	const uint64_t rest = row_units(cursor) - first;

	out->epoch = position->epoch;
	out->position = cursor->position;
	out->chunk_id = cursor->row.id;
	out->first = first;
	out->units = position->left < rest ? position->left : rest;
	position->left -= out->units;
}

lc_status
lc__sequence_next(struct lc__sequence_cursor *cursor,
    struct lc__sequence_position *position, struct lc__piece *out)
{
	const struct lc__rstar *rstar = cursor->sequence->rstar;

	if (rstar == NULL) {
		return_if_error(go_to_unit(cursor, position->unit));
		take(cursor, position, position->unit - row_first(cursor), out);
		position->unit += out->units;
		return LC_OK;
	}
	return_if_error(go_to_chunk(cursor, position->place.chunk));
	take(cursor, position, position->place.offset, out);
	if (position->left > 0 &&
	    lc__rstar_next(rstar, position->reader, &position->place))
		position->epoch = lc__rstar_epoch(rstar, position->reader,
		    &position->place);
	return LC_OK;
}
