/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "value/dtype.h"

struct lc__value_range
lc__value_range_of(const lc_tensor *tensor)
{
	const size_t size = lc_dtype_size(tensor->dtype);
	const unsigned char *data = tensor->data;
	struct lc__value_range range = {
		.low = (double)INFINITY,
		.high = (double)-INFINITY,
	};

	for (size_t at = 0; at < tensor->nbytes; at += size) {
		const double value = lc__element_real(tensor->dtype, data + at);
		if (isnan(value)) {
			range.nan++;
		} else if (isinf(value)) {
			range.infinite++;
		} else {
			range.low = value < range.low ? value : range.low;
			range.high = value > range.high ? value : range.high;
		}
	}
	return range;
}

/* Halve first: the difference of two doubles may overflow. */
double
lc__value_range_share(const struct lc__value_range *range, double value)
{
	const double size = range->high / 2 - range->low / 2;

	return size > 0 ? fmin(fmax((value / 2 - range->low / 2) / size, 0), 1) : 0.5;
}
