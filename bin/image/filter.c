/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Integers throughout, so that every machine has the same weights. Within the
 * limits of lc__filter_plan() nothing leaves 64 bits: positions stay below 2^45,
 * times twice a target pixel below 2^62; raw weights are at most 2^32, and their
 * sum, the triangle's area, at most 2^48, times LC__FILTER_ONE 2^62.
 */
#include "image/filter.h"

#include <stdlib.h>

#include "base/error.h"

#define PIXEL ((int64_t)65536)
#define MAX_SOURCE ((uint32_t)1 << 28)
#define MAX_TARGET 65535
#define MAX_SCALE 65536

/* To the nearest unit. A quotient of two sizes that lies exactly between two
 * units has no rounding in it, so this does not depend on the machine either. */
static int64_t
to_units(double pixels)
{
	return (int64_t)(pixels * (double)PIXEL + 0.5);
}

lc_status
lc__filter_plan(double from, double width, uint32_t source, uint32_t target,
    struct lc__filter *out)
{
	if (source > MAX_SOURCE || target > MAX_TARGET ||
	    width > (double)target * MAX_SCALE)
		return lc__error(LC_INVALID, 0,
		    "%u pixels cannot be resampled to %u", source, target);
	out->from = to_units(from);
	out->width = to_units(width);
	out->reach = (out->width + target / 2) / target;
	if (out->reach < PIXEL)
		out->reach = PIXEL;
	out->source = source;
	out->target = target;
	out->taps = (uint32_t)(2 * out->reach / PIXEL) + 1;
	if (out->taps > source)
		out->taps = source;
	return LC_OK;
}

/* Where the centre of target pixel i lies. */
static int64_t
centre_of(const struct lc__filter *filter, uint32_t i)
{
	const int64_t target = filter->target;

	return filter->from + ((2 * (int64_t)i + 1) * filter->width + target) /
	    (2 * target);
}

/* Pixels whose centres are nearer than the reach. */
void
lc__filter_range(const struct lc__filter *filter, uint32_t i, uint32_t *first,
    uint32_t *last)
{
	const int64_t centre = centre_of(filter, i);
	const int64_t low = centre - filter->reach - PIXEL / 2;
	const int64_t high = centre + filter->reach + PIXEL / 2 - 1;
	const int64_t end = high / PIXEL - 1;

	*first = low < 0 ? 0 : (uint32_t)(low / PIXEL + 1);
	*last = end < filter->source ? (uint32_t)end : filter->source - 1;
}

uint32_t
lc__filter_weights(const struct lc__filter *filter, uint32_t i, int16_t *weights)
{
	const int64_t centre = centre_of(filter, i);
	int64_t sum = 0, upto = 0, given = 0;
	uint32_t first, last;

	lc__filter_range(filter, i, &first, &last);
	for (uint32_t k = first; k <= last; k++)
		sum += filter->reach - llabs(k * PIXEL + PIXEL / 2 - centre);
	/* Rounding the sums so far, not the weights, makes them sum to one. */
	for (uint32_t k = first; k <= last; k++) {
		int64_t due;
		upto += filter->reach - llabs(k * PIXEL + PIXEL / 2 - centre);
		due = (upto * LC__FILTER_ONE + sum / 2) / sum;
		weights[k - first] = (int16_t)(due - given);
		given = due;
	}
	return last - first + 1;
}
