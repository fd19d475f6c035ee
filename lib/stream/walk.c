/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/walk.h"

#include <string.h>

#include "base/error.h"

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
    struct lc__part *out)
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
flat_part(struct lc__walk *walk, struct lc__spot *spot, struct lc__part *out)
{
	return_if_error(go_to_unit(walk, spot->unit));
	take(walk, spot, spot->unit - row_first(walk), out);
	spot->unit += out->units;
	return LC_OK;
}

static lc_status
rstar_part(struct lc__walk *walk, struct lc__spot *spot, struct lc__part *out)
{
	const struct lc__rstar *rstar = walk->sequence->rstar;

	return_if_error(go_to_chunk(walk, spot->place.chunk));
	take(walk, spot, spot->place.offset, out);
	if (spot->left > 0 && lc__rstar_next(rstar, spot->reader, &spot->place))
		spot->epoch = lc__rstar_epoch(rstar, spot->reader, &spot->place);
	return LC_OK;
}

lc_status
lc__walk_part(struct lc__walk *walk, struct lc__spot *spot, struct lc__part *out)
{
	return walk->sequence->rstar != NULL ? rstar_part(walk, spot, out) :
	    flat_part(walk, spot, out);
}
