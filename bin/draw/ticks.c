/* SPDX-License-Identifier: BSD-2-Clause */
#include "draw/ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* ---- units --------------------------------------------------------------------- */

static struct lc__ticks
multiples(double step, double low, double high)
{
	struct lc__ticks ticks = { .step = step };
	const double first = ceil(low / step - 1e-9), last = floor(high / step + 1e-9);

	if (fabs(first) < 1e15 && fabs(last) < 1e15 && last >= first) {
		ticks.first = (int64_t)first;
		ticks.count = (uint32_t)fmin(last - first + 1, 1e9);
	}
	return ticks;
}

struct lc__ticks
lc__ticks_in(enum lc__unit unit, double low, double high, uint32_t most)
{
	static const double seconds[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
		1800, 3600, 7200, 10800, 21600, 43200, 86400 };
	const double size = high - low;
	struct lc__ticks ticks = { 0 };

	if (!(size > 0) || !isfinite(size) || most == 0)
		return ticks;
	switch (unit) {
	case LC__UNIT_BYTES:
		for (double step = fmax(exp2(floor(log2(size / most))), 1);; step *= 2) {
			ticks = multiples(step, low, high);
			if (ticks.count <= most)
				return ticks;
		}
	case LC__UNIT_SECONDS:
		if (size / most <= 0.5)
			return lc__ticks_of(low, high, most, 0);
		for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
			ticks = multiples(seconds[i], low, high);
			if (ticks.count <= most)
				return ticks;
		}
		ticks = lc__ticks_of(low / 86400, high / 86400, most, 1);
		ticks.step *= 86400;
		return ticks;
	case LC__UNIT_COUNT:
	case LC__UNIT_LOG2:
	case LC__UNIT_POWER2:
	case LC__UNIT_BYTES2:
	case LC__UNIT_POWER: return lc__ticks_of(low, high, most, 1);
	default: return lc__ticks_of(low, high, most, 0);
	}
}

/* The value in the largest unit that it has one of; the last unit has no name. */
static void
in_units(double value, const double *sizes, const char *const *names, char *out)
{
	size_t i = 0;

	while (names[i + 1] != NULL && fabs(value) < sizes[i] * (1 - 1e-9))
		i++;
	snprintf(out, LC__TICKS_TEXT, "%.4g%s", value / sizes[i],
	    value == 0 ? "" : names[i]);
}

char *
lc__unit_text(enum lc__unit unit, double value, char *out)
{
	static const double of_counts[] = { 1e12, 1e9, 1e6, 1e4, 1 };
	static const char *const counts[] = { "T", "G", "M", "k", "", NULL };
	static const double of_bytes[] = { 0x1p50, 0x1p40, 0x1p30, 0x1p20, 0x1p10, 1 };
	static const char *const bytes[] = { " PiB", " TiB", " GiB", " MiB", " KiB", " B",
		NULL };
	static const double of_seconds[] = { 86400, 3600, 60, 1, 1e-3, 1e-6 };
	static const char *const seconds[] = { " d", " h", " min", " s", " ms", " us",
		NULL };

	switch (unit) {
	case LC__UNIT_COUNT:
		if (fabs(value) >= 1e4 && fabs(value) < 1e6)
			snprintf(out, LC__TICKS_TEXT, "%.4gk", value / 1e3);
		else
			in_units(value, of_counts, counts, out);
		return out;
	case LC__UNIT_BYTES: in_units(value, of_bytes, bytes, out); return out;
	case LC__UNIT_SECONDS: {
		const double minutes = round(value / 60);
		/* "1:10 h", where hours would have many digits. */
		if (value >= 3600 && value < 86400 && fabs(value - 60 * minutes) < 1e-6 &&
		    fmod(minutes, 15) != 0)
			snprintf(out, LC__TICKS_TEXT, "%.0f:%02.0f h",
			    floor(minutes / 60), fmod(minutes, 60));
		else
			in_units(value, of_seconds, seconds, out);
		return out;
	}
	case LC__UNIT_SHARE:
		snprintf(out, LC__TICKS_TEXT, "%.4g %%", 100 * value);
		return out;
	case LC__UNIT_LOG2:
		snprintf(out, LC__TICKS_TEXT, value < 0 ? "1:%.4g" : "%.4g:1",
		    exp2(fabs(value)));
		return out;
	case LC__UNIT_POWER2:
		if (value < 0 && value == floor(value))
			snprintf(out, LC__TICKS_TEXT, "1/%.4g", exp2(-value));
		else
			snprintf(out, LC__TICKS_TEXT, "%.4g", exp2(value));
		return out;
	case LC__UNIT_BYTES2: return lc__unit_text(LC__UNIT_BYTES, exp2(value), out);
	case LC__UNIT_POWER: return lc__ticks_text(pow(10, value), out, LC__TICKS_TEXT);
	default: return lc__ticks_text(value, out, LC__TICKS_TEXT);
	}
}
