/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/classes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

/* The first row that is not below @p id. */
static size_t
place_of(const struct lc__classes *classes, int64_t id)
{
	size_t low = 0, high = classes->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (classes->rows[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static lc_status
insert(struct lc__classes *classes, size_t at, int64_t id)
{
	return_if_error(lc__array_reserve(&classes->rows, &classes->room, classes->n + 1, NULL));
	memmove(classes->rows + at + 1, classes->rows + at,
	    (classes->n - at) * sizeof(*classes->rows));
	classes->rows[at] = (struct lc__class_count){ .id = id };
	classes->n++;
	return LC_OK;
}

void
lc__classes_begin(struct lc__classes *classes, uint64_t boxes)
{
	classes->samples++;
	classes->in_sample = (double)boxes;
	classes->n_squares += classes->in_sample * classes->in_sample;
}

lc_status
lc__classes_add(struct lc__classes *classes, int64_t id)
{
	const size_t at = place_of(classes, id);
	const bool there = at < classes->n && classes->rows[at].id == id;
	const bool full = !there && classes->n == LC__CLASSES_MOST;
	struct lc__class_count *row;

	if (!there && !full)
		return_if_error(insert(classes, at, id));
	row = full ? &classes->others : &classes->rows[at];
	if (row->sample != classes->samples)
		row->now = 0;
	row->sample = classes->samples;
	/* From c squared to c + 1 squared. */
	row->squares += 2 * (double)row->now++ + 1;
	row->products += classes->in_sample;
	row->boxes++;
	classes->boxes++;
	return LC_OK;
}

uint64_t
lc__classes_count(const struct lc__classes *classes, int64_t id)
{
	const size_t at = place_of(classes, id);

	return at < classes->n && classes->rows[at].id == id ?
	    classes->rows[at].boxes : 0;
}

void
lc__classes_free(struct lc__classes *classes)
{
	free(classes->rows);
	memset(classes, 0, sizeof(*classes));
}
