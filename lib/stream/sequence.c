/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* Units that the windows or records of a layout are counted over. */
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
	return last_short ? lc__windows_padded(windows, units_of(s)) :
	    lc__windows_full(windows, units_of(s));
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
	return lc__error(LC_INVALID, 0, "%s: has no examples for a stream: %s",
	    name, why);
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
		return lc__error(LC_INVALID, 0, "%s: an epoch has more examples than "
		    "can be numbered", name);
	s->total = UINT64_MAX;
	if (s->rule.epochs > 0 && !lc__mul64(s->n, s->rule.epochs, &s->total))
		return lc__error(LC_INVALID, 0, "%s: %llu epochs have more examples "
		    "than can be numbered", name,
		    (unsigned long long)s->rule.epochs);
	s->known = s->total;
	return LC_OK;
}

/* ---- R* --------------------------------------------------------------------- */

static lc_status
load_ends(const struct lc__sequence *s, uint64_t *ends, uint64_t chunks)
{
	struct lc__layout_row row;

	for (uint64_t i = 0; i < chunks; i++) {
		return_if_error(lc__layout_row(s->layout, i, &row));
		ends[i] = s->rule.windows.size > 0 ? row.first_unit + row.units :
		    row.first_record + row.records;
	}
	return LC_OK;
}

static lc_status
make_rstar(struct lc__sequence *s, const char *name)
{
	const uint64_t chunks = lc__layout_info(s->layout)->chunks;
	uint64_t *ends = chunks < SIZE_MAX / sizeof(*ends) ?
	    malloc((size_t)(chunks + 1) * sizeof(*ends)) : NULL;
	lc_status status;

	if (ends == NULL)
		return lc__no_memory(name);
	status = load_ends(s, ends, chunks);
	if (status == LC_OK) {
		status = lc__rstar_new(s->rule.idealised, ends, chunks,
		    s->complete, &s->rstar);
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
	return s->rule.windows.size > 0 ?
	    lc__windows_full(&s->rule.windows, units) : units;
}

/* Where the first reader comes to the end of what is known of it. */
static uint64_t
known_of_all(const struct lc__sequence *s)
{
	const uint64_t readers = s->rule.idealised;
	uint64_t known = UINT64_MAX;

	for (uint32_t r = 0; r < readers; r++) {
		const uint64_t own = examples_of(s, lc__rstar_known(s->rstar, r));

		if (own <= (UINT64_MAX - r) / readers &&
		    own * readers + r < known)
			known = own * readers + r;
	}
	return known;
}

/* They run for ever, but the units of a reader are numbered in 64 bits. */
static uint64_t
most_examples(const struct lc__sequence *s)
{
	const uint64_t size = s->rule.windows.size, stride = s->rule.windows.stride;
	const uint64_t own = size > 0 ? (UINT64_MAX - size) / stride : UINT64_MAX;

	return own > UINT64_MAX / s->rule.idealised ? UINT64_MAX :
	    own * s->rule.idealised;
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

static lc_status
needs_unit(const struct lc__sequence *s, uint64_t unit, uint64_t *chunks)
{
	struct lc__layout_row row;

	if (unit >= units_of(s)) {
		*chunks = lc__layout_info(s->layout)->chunks;
		return LC_OK;
	}
	return_if_error(s->rule.windows.size > 0 ?
	    lc__layout_find_unit(s->layout, unit, chunks, &row) :
	    lc__layout_find_record(s->layout, unit, chunks, &row));
	++*chunks;
	return LC_OK;
}

/* The last unit of the i'th example of a flat order, or of a reader. */
static uint64_t
last_unit(const struct lc__sequence *s, uint64_t i)
{
	const struct lc__windows *windows = &s->rule.windows;
	uint64_t unit = i;

	if (windows->size > 0 && (!lc__mul64(i, windows->stride, &unit) ||
	    !lc__add64(unit, windows->size - 1, &unit)))
		return UINT64_MAX;
	return unit;
}

static void
needs_reader(const struct lc__sequence *s, uint32_t r, uint64_t unit,
    uint64_t *chunks)
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
lc__sequence_needs(const struct lc__sequence *s, uint64_t examples,
    uint64_t *chunks)
{
	const uint64_t readers = s->rule.idealised;
	uint64_t last;

	*chunks = 0;
	if (examples == 0)
		return LC_OK;
	if (readers > 0) {
		for (uint32_t r = 0; r < readers && r < examples; r++)
			needs_reader(s, r, last_unit(s,
			    (examples - 1 - r) / readers), chunks);
		return LC_OK;
	}
	last = lc__shuffle_last_of(&s->rule.shuffle, examples - 1);
	if (last >= s->n)
		last = UINT64_MAX;
	return needs_unit(s, last == UINT64_MAX ? last : last_unit(s, last),
	    chunks);
}

void
lc__walk_init(struct lc__walk *walk, const struct lc__sequence *sequence)
{
	memset(walk, 0, sizeof(*walk));
	walk->sequence = sequence;
}

static bool
by_windows(const struct lc__walk *walk)
{
	return walk->sequence->rule.windows.size > 0;
}

/* ---- flat: an example of an epoch -------------------------------------------- */

/* Only a complete sequence comes to a second epoch. */
static void
enter_epoch(struct lc__walk *walk, uint64_t index)
{
	const struct lc__sequence *s = walk->sequence;
	const uint64_t epoch = s->complete ? index / s->n : 0;

	lc__shuffle_init(&walk->shuffle, &s->rule.shuffle, s->n, epoch);
	memset(&walk->near, 0, sizeof(walk->near));
	walk->epoch_first = epoch * s->n;
	walk->epoch_end = s->n > UINT64_MAX - walk->epoch_first ? UINT64_MAX :
	    walk->epoch_first + s->n;
}

static void
flat_example(struct lc__walk *walk, uint64_t index, struct lc__spot *out)
{
	const struct lc__sequence *s = walk->sequence;
	const struct lc__windows *windows = &s->rule.windows;
	uint64_t i, length;

	if (index < walk->epoch_first || index >= walk->epoch_end)
		enter_epoch(walk, index);
	i = lc__shuffle_near(&walk->shuffle, &walk->near,
	    index - walk->epoch_first);
	out->epoch = walk->shuffle.epoch;
	out->unit = i;
	out->left = 1;
	if (!by_windows(walk))
		return;
	out->unit = i * windows->stride;
	length = lc__layout_info(s->layout)->length;
	out->left = length - out->unit < windows->size ? length - out->unit :
	    windows->size;
}

/* ---- R* ---------------------------------------------------------------------- */

static void
rstar_example(struct lc__walk *walk, uint64_t index, struct lc__spot *out)
{
	const struct lc__sequence *s = walk->sequence;
	const struct lc__windows *windows = &s->rule.windows;
	const uint64_t i = index / s->rule.idealised;

	out->reader = (uint32_t)(index % s->rule.idealised);
	out->left = by_windows(walk) ? windows->size : 1;
	lc__rstar_seek(s->rstar, out->reader,
	    by_windows(walk) ? i * windows->stride : i, &out->place);
	out->epoch = lc__rstar_epoch(s->rstar, out->reader, &out->place);
}

void
lc__walk_example(struct lc__walk *walk, uint64_t index, struct lc__spot *out)
{
	if (walk->sequence->rstar != NULL)
		rstar_example(walk, index, out);
	else
		flat_example(walk, index, out);
}

/* ---- parts -------------------------------------------------------------------- */

static uint64_t
row_first(const struct lc__walk *walk)
{
	return by_windows(walk) ? walk->row.first_unit : walk->row.first_record;
}

static uint64_t
row_units(const struct lc__walk *walk)
{
	return by_windows(walk) ? walk->row.units : walk->row.records;
}

/* Go to the chunk that has a unit. The one we stand on is tried first; others mostly
 * follow it. */
static lc_status
go_to_unit(struct lc__walk *walk, uint64_t unit)
{
	struct lc__layout *layout = walk->sequence->layout;
	const uint64_t first = row_first(walk);

	if (unit >= first && unit - first < row_units(walk))
		return LC_OK;
	return by_windows(walk) ?
	    lc__layout_find_unit(layout, unit, &walk->position, &walk->row) :
	    lc__layout_find_record(layout, unit, &walk->position, &walk->row);
}

static lc_status
go_to_chunk(struct lc__walk *walk, uint64_t position)
{
	if (row_units(walk) > 0 && walk->position == position)
		return LC_OK;
	return_if_error(lc__layout_row(walk->sequence->layout, position,
	    &walk->row));
	walk->position = position;
	return LC_OK;
}

/* The rest of the chunk that we stand on, from a unit of it. */
static void
take(struct lc__walk *walk, struct lc__spot *spot, uint64_t first,
    struct lc__example_part *out)
{
	const uint64_t rest = row_units(walk) - first;

	out->epoch = spot->epoch;
	out->position = walk->position;
	out->chunk_id = walk->row.id;
	out->first = first;
	out->units = spot->left < rest ? spot->left : rest;
	spot->left -= out->units;
}

static lc_status
flat_part(struct lc__walk *walk, struct lc__spot *spot, struct lc__example_part *out)
{
	return_if_error(go_to_unit(walk, spot->unit));
	take(walk, spot, spot->unit - row_first(walk), out);
	spot->unit += out->units;
	return LC_OK;
}

static lc_status
rstar_part(struct lc__walk *walk, struct lc__spot *spot, struct lc__example_part *out)
{
	const struct lc__rstar *rstar = walk->sequence->rstar;

	return_if_error(go_to_chunk(walk, spot->place.chunk));
	take(walk, spot, spot->place.offset, out);
	if (spot->left > 0 && lc__rstar_next(rstar, spot->reader, &spot->place))
		spot->epoch = lc__rstar_epoch(rstar, spot->reader, &spot->place);
	return LC_OK;
}

lc_status
lc__walk_part(struct lc__walk *walk, struct lc__spot *spot, struct lc__example_part *out)
{
	return walk->sequence->rstar != NULL ? rstar_part(walk, spot, out) :
	    flat_part(walk, spot, out);
}
