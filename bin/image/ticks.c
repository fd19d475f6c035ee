/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The step one size larger: 1, 2, 5, 10 ... */
static double
next_step(double power, int *digit)
{
	static const double digits[] = { 1, 2, 5 };

	*digit += 1;
	return digits[*digit % 3] * power * pow(10, *digit / 3);
}

struct lc__ticks
lc__ticks_of(double low, double high, uint32_t most, double least)
{
	struct lc__ticks ticks = { 0 };
	const double size = high - low;
	double power;
	int digit = -1;

	if (!(size > 0) || !isfinite(size) || most == 0)
		return ticks;
	power = pow(10, floor(log10(size / most)) - 1);
	do {
		double first, last;
		ticks.step = next_step(power, &digit);
		/* An edge that is a multiple but for rounding counts as one. */
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
