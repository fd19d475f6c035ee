/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* The number of units or records of the layout, from which examples are made. */
static uint64_t
units_of(const struct lc__sequence *s)
{
	const lc_source_info *info = lc__layout_info(s->layout);

	return s->rule.windows.size > 0 ? info->length : info->records;
}

/* ---- the flat order --------------------------------------------------------- */

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
	const struct lc__windows *windows = &s->rule.windows;

	if (windows->size == 0)
		s->n = units_of(s);
	else if (s->complete && !s->rule.drop_short)
		s->n = lc__windows_padded(windows, units_of(s));
	else
		s->n = lc__windows_full(windows, units_of(s));
	s->total = UINT64_MAX;
	if (!s->complete) {
		s->known = lc__shuffle_settled(&s->rule.shuffle, s->n);
		return LC_OK;
	}
	if (s->n == 0) {
		s->total = 0;
		return lacks_examples(s, name);
	}
	if (s->n > INT64_MAX)
		return lc__error(LC_INVALID, 0,
		    "%s: an epoch has more examples than can be numbered", name);
	if (s->rule.epochs > 0 && !lc__mul64(s->n, s->rule.epochs, &s->total))
		return lc__error(LC_INVALID, 0,
		    "%s: %llu epochs have more examples than can be numbered", name,
		    (unsigned long long)s->rule.epochs);
	s->known = s->total;
	return LC_OK;
}

/* ---- shares ------------------------------------------------------------------ */

/* Examples of each chunk, summed up. */
static lc_status
add_chunks(struct lc__sequence *s, uint64_t *ends, const char *name)
{
	const struct lc__windows *windows = &s->rule.windows;
	const uint64_t chunks = lc__layout_info(s->layout)->chunks;
	struct lc__chunk_row row;
	uint64_t end = 0, n;

	for (uint64_t i = 0; i < chunks; i++) {
		return_if_error(lc__layout_row(s->layout, i, &row));
		if (windows->size == 0)
			n = row.records;
		else if (s->rule.drop_short)
			n = lc__windows_full(windows, row.units);
		else
			n = lc__windows_padded(windows, row.units);
		if (!lc__add64(end, n, &end) || end > INT64_MAX)
			return lc__error(LC_INVALID, 0,
			    "%s: an epoch has more examples than can be numbered", name);
		ends[i] = end;
		if (s->units != NULL)
			s->units[i] = row.units;
	}
	return LC_OK;
}

static lc_status
make_shares(struct lc__sequence *s, const char *name)
{
	const struct lc__shares_rule rule = { s->rule.shares, s->rule.shuffle.spread,
		s->rule.shuffle.seed };
	const uint64_t chunks = lc__layout_info(s->layout)->chunks;
	uint64_t *ends = calloc(chunks + 1, sizeof(*ends));
	lc_status status = LC_OK;

	if (s->rule.windows.size > 0)
		s->units = calloc(chunks + 1, sizeof(*s->units));
	if (ends == NULL || (s->units == NULL && s->rule.windows.size > 0))
		status = lc__no_memory(name);
	if (status == LC_OK)
		status = add_chunks(s, ends, name);
	if (status == LC_OK && (chunks == 0 || ends[chunks - 1] == 0))
		status = lacks_examples(s, name);
	else if (status == LC_OK) {
		status = lc__shares_new(&rule, ends, chunks, &s->shares);
		if (status == LC_INVALID)
			lc__error_prefix("%s", name);
	}
	free(ends);
	return status;
}

/* All epochs but the last have the same number; the last one has each example once. */
static lc_status
count_shares(struct lc__sequence *s, const char *name)
{
	uint64_t twice;

	return_if_error(make_shares(s, name));
	if (s->shares == NULL) /* may be empty */
		return LC_OK;
	s->total = UINT64_MAX;
	s->n = lc__shares_numbers(s->shares);
	twice = s->n - lc__shares_examples(s->shares);
	if (s->rule.epochs > 0 && !lc__mul64(s->n, s->rule.epochs, &s->total))
		return lc__error(LC_INVALID, 0,
		    "%s: %llu epochs have more examples than can be numbered", name,
		    (unsigned long long)s->rule.epochs);
	if (s->rule.epochs > 0)
		s->total -= twice;
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

static lc_status
count_rstar(struct lc__sequence *s, const char *name)
{
	const struct lc__windows *windows = &s->rule.windows;
	const uint64_t readers = s->rule.idealised;
	uint64_t most;

	if (s->complete && units_of(s) == 0)
		return lacks_examples(s, name);
	return_if_error(make_rstar(s, name));
	s->total = s->known = UINT64_MAX;
	/* The first example that is not known yet, over all readers. */
	for (uint32_t r = 0; !s->complete && r < readers; r++) {
		uint64_t own = lc__rstar_known(s->rstar, r);

		if (windows->size > 0)
			own = lc__windows_full(windows, own);
		if (own <= (UINT64_MAX - r) / readers && own * readers + r < s->known)
			s->known = own * readers + r;
	}
	/* The order has no end, but the units of a reader are numbered in 64 bits. */
	most = windows->size > 0 ? (UINT64_MAX - windows->size) / windows->stride
				 : UINT64_MAX;
	if (most <= UINT64_MAX / readers && s->known > most * readers)
		s->known = most * readers;
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
	if (rule->shares > 0)
		status = count_shares(s, name);
	else
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
	lc__shares_free(s->shares);
	free(s->units);
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

lc_status
lc__sequence_needs(const struct lc__sequence *s, uint64_t examples, uint64_t *chunks)
{
	const uint64_t readers = s->rule.idealised;
	const uint64_t all = lc__layout_info(s->layout)->chunks;
	struct lc__chunk_row row;
	uint64_t last;

	*chunks = 0;
	if (examples == 0)
		return LC_OK;
	for (uint32_t r = 0; r < readers && r < examples; r++) {
		const uint64_t unit = last_unit(s, (examples - 1 - r) / readers);
		struct lc__rstar_place place;

		if (unit >= lc__rstar_known(s->rstar, r)) {
			*chunks = all;
			continue;
		}
		lc__rstar_seek(s->rstar, r, unit, &place);
		if (lc__rstar_epoch(s->rstar, r, &place) > 0)
			*chunks = all;
		else if (place.chunk >= *chunks)
			*chunks = place.chunk + 1;
	}
	if (readers > 0)
		return LC_OK;

	last = lc__shuffle_last_of(&s->rule.shuffle, examples - 1);
	last = last < s->n ? last_unit(s, last) : UINT64_MAX;
	if (last >= units_of(s)) {
		*chunks = all;
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
	cursor->shares.shares = sequence->shares;
}

void
lc__sequence_cursor_end(struct lc__sequence_cursor *cursor)
{
	lc__shares_cursor_end(&cursor->shares);
}

static bool
by_windows(const struct lc__sequence_cursor *cursor)
{
	return cursor->sequence->rule.windows.size > 0;
}

/* A window ends with its chunk, so that a reader needs only the chunks of its shares. */
static lc_status
seek_share(struct lc__sequence_cursor *cursor, uint64_t index,
    struct lc__sequence_position *out)
{
	const struct lc__sequence *s = cursor->sequence;
	const struct lc__windows *windows = &s->rule.windows;
	struct lc__shares_place place;

	return_if_error(lc__shares_at(&cursor->shares, index, &place));
	out->epoch = place.epoch;
	out->place = (struct lc__rstar_place){ 0, place.chunk, place.offset };
	out->left = 1;
	if (!by_windows(cursor))
		return LC_OK;
	out->place.offset *= windows->stride;
	out->left = s->units[place.chunk] - out->place.offset;
	if (out->left > windows->size)
		out->left = windows->size;
	return LC_OK;
}

lc_status
lc__sequence_seek(struct lc__sequence_cursor *cursor, uint64_t index,
    struct lc__sequence_position *out)
{
	const struct lc__sequence *s = cursor->sequence;
	const struct lc__windows *windows = &s->rule.windows;
	uint64_t i, length;

	if (s->shares != NULL)
		return seek_share(cursor, index, out);
	if (s->rstar != NULL) {
		i = index / s->rule.idealised;
		out->reader = (uint32_t)(index % s->rule.idealised);
		out->left = by_windows(cursor) ? windows->size : 1;
		lc__rstar_seek(s->rstar, out->reader,
		    by_windows(cursor) ? i * windows->stride : i, &out->place);
		out->epoch = lc__rstar_epoch(s->rstar, out->reader, &out->place);
		return LC_OK;
	}

	/* Only a complete sequence has a second epoch. */
	if (index < cursor->epoch_first || index >= cursor->epoch_end) {
		const uint64_t epoch = s->complete ? index / s->n : 0;

		lc__shuffle_init(&cursor->shuffle, &s->rule.shuffle, s->n, epoch);
		memset(&cursor->near, 0, sizeof(cursor->near));
		cursor->epoch_first = epoch * s->n;
		cursor->epoch_end = s->n > UINT64_MAX - cursor->epoch_first
		    ? UINT64_MAX
		    : cursor->epoch_first + s->n;
	}
	i = lc__shuffle_near(&cursor->shuffle, &cursor->near,
	    index - cursor->epoch_first);
	out->epoch = cursor->shuffle.epoch;
	out->unit = i;
	out->left = 1;
	if (!by_windows(cursor))
		return LC_OK;
	out->unit = i * windows->stride;
	length = lc__layout_info(s->layout)->length;
	out->left = length - out->unit < windows->size ? length - out->unit
						       : windows->size;
	return LC_OK;
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

/* Usually the next unit is in the same chunk. */
lc_status
lc__sequence_next(struct lc__sequence_cursor *cursor,
    struct lc__sequence_position *position, struct lc__piece *out)
{
	const struct lc__sequence *s = cursor->sequence;
	uint64_t first = row_first(cursor), rest;

	if (!lc__sequence_by_chunk(s)) {
		if (position->unit < first || position->unit - first >= row_units(cursor))
			return_if_error(by_windows(cursor)
				? lc__layout_find_unit(s->layout, position->unit,
				      &cursor->position, &cursor->row)
				: lc__layout_find_record(s->layout, position->unit,
				      &cursor->position, &cursor->row));
		first = position->unit - row_first(cursor);
	} else {
		if (row_units(cursor) == 0 || cursor->position != position->place.chunk) {
			return_if_error(lc__layout_row(s->layout, position->place.chunk,
			    &cursor->row));
			cursor->position = position->place.chunk;
		}
		first = position->place.offset;
	}

	/* Take what the example needs from the rest of the chunk. */
	rest = row_units(cursor) - first;
	out->epoch = position->epoch;
	out->position = cursor->position;
	out->chunk_id = cursor->row.id;
	out->first = first;
	out->units = position->left < rest ? position->left : rest;
	position->left -= out->units;
	if (s->rstar == NULL)
		position->unit += out->units;
	else if (position->left > 0 &&
	    lc__rstar_next(s->rstar, position->reader, &position->place))
		position->epoch = lc__rstar_epoch(s->rstar, position->reader,
		    &position->place);
	return LC_OK;
}
