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

/* Halves first: the difference of two doubles may overflow. */
double
lc__value_range_share(const struct lc__value_range *range, double value)
{
	const double size = range->high / 2 - range->low / 2;

	return size > 0 ? fmin(fmax((value / 2 - range->low / 2) / size, 0), 1) : 0.5;
}

/* ---- ticks ------------------------------------------------------------------- */

struct lc__ticks
lc__ticks_of(double low, double high, uint32_t most, double least)
{
	static const double digits[] = { 1, 2, 5 };
	struct lc__ticks ticks = { 0 };
	const double size = high - low;
	double power;
	int digit = -1;

	if (!(size > 0) || !isfinite(size) || most == 0)
		return ticks;
	power = pow(10, floor(log10(size / most)) - 1);
	do {
		double first, last;
		digit++;
		ticks.step = digits[digit % 3] * power * pow(10, digit / 3);
		/* An edge that misses a multiple by a rounding error counts as one. */
		first = ceil(low / ticks.step - 1e-9);
		last = floor(high / ticks.step + 1e-9);
		if (fabs(first) > 1e15 || fabs(last) > 1e15)
			continue;
		ticks.first = (int64_t)first;
		ticks.count = last >= first ? (uint32_t)fmin(last - first + 1, 1e9) : 0;
	} while (ticks.count > most || ticks.step < least * 0.999 ||
	    (ticks.count == 0 && digit < 9));
	return ticks;
}

double
lc__ticks_value(const struct lc__ticks *ticks, uint32_t i)
{
	return (double)(ticks->first + i) * ticks->step;
}

/* "1234567" becomes "1,234,567". */
static void
group_digits(char *text, size_t room)
{
	char *const digits = text + (*text == '-');
	size_t size = strlen(text);

	for (size_t at = strlen(digits); at > 3 && size + 2 < room; size++) {
		at -= 3;
		memmove(digits + at + 1, digits + at, strlen(digits + at) + 1);
		digits[at] = ',';
	}
}

char *
lc__ticks_text(double value, char *out, size_t room)
{
	snprintf(out, room, "%.*g", fabs(value) < 1e9 ? 9 : 6, value);
	if (fabs(value) >= 10000 && fabs(value) < 1e9 && value == floor(value))
		group_digits(out, room);
	return out;
}
