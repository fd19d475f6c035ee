/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/histogram.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void
lc__histogram_init(struct lc__histogram *histogram, const char *name, const char *title,
    double low, double high, uint32_t bins)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->name = name;
	histogram->title = title;
	histogram->low = low;
	histogram->high = high;
	histogram->bins = bins;
	histogram->least = (double)INFINITY;
	histogram->most = (double)-INFINITY;
}

double
lc__histogram_edge(const struct lc__histogram *histogram, uint32_t i)
{
	if (i == histogram->bins)
		return histogram->high;
	return histogram->low + i * (histogram->high - histogram->low) / histogram->bins;
}

/* The division may round across an edge of a bin; the edge decides. */
static uint32_t
find_bin(const struct lc__histogram *histogram, double value)
{
	const double share = (value - histogram->low) /
	    (histogram->high - histogram->low);
	uint32_t i = (uint32_t)(share * histogram->bins);

	if (i > histogram->bins - 1)
		i = histogram->bins - 1;
	if (i > 0 && value < lc__histogram_edge(histogram, i))
		return i - 1;
	if (i < histogram->bins - 1 && value >= lc__histogram_edge(histogram, i + 1))
		return i + 1;
	return i;
}

void
lc__histogram_add(struct lc__histogram *histogram, double value)
{
	if (isnan(value))
		return;
	if (value < histogram->low)
		histogram->below++;
	else if (value >= histogram->high)
		histogram->above++;
	else
		histogram->counts[find_bin(histogram, value)]++;
	histogram->n++;
	histogram->sum += value;
	histogram->least = fmin(histogram->least, value);
	histogram->most = fmax(histogram->most, value);
}

uint64_t
lc__category(const struct lc__histogram *histogram, uint32_t i)
{
	if (i == 0)
		return histogram->below;
	return i <= histogram->bins ? histogram->counts[i - 1] : histogram->above;
}

/* The lower edge of category @p i. */
static double
start_of(const struct lc__histogram *histogram, uint32_t i)
{
	if (i == 0)
		return histogram->least;
	return i <= histogram->bins + 1 ? lc__histogram_edge(histogram, i - 1)
					: histogram->most;
}

double
lc__histogram_quantile(const struct lc__histogram *histogram, double q)
{
	double left = q * (double)histogram->n;

	if (histogram->n == 0)
		return (double)NAN;
	for (uint32_t i = 0; i < histogram->bins + 2; i++) {
		const double n = (double)lc__category(histogram, i);
		if (n > 0 && left <= n) {
			const double from = start_of(histogram, i);
			const double to = start_of(histogram, i + 1), share = left / n;
			double value = to;
			if (share <= 0 || isinf(from))
				value = from;
			else if (share < 1 && !isinf(to))
				value = from + share * (to - from);
			return fmin(fmax(value, histogram->least), histogram->most);
		}
		left -= n;
	}
	return histogram->most;
}

static bool
is_empty(const struct lc__histogram *a, const struct lc__histogram *b, uint32_t i)
{
	return a->counts[i] == 0 && (b == NULL || b->counts[i] == 0);
}

void
lc__histogram_used(const struct lc__histogram *histogram,
    const struct lc__histogram *other, uint32_t *first_out, uint32_t *end_out)
{
	uint32_t first = 0, end = histogram->bins;

	if (histogram->low < 0 || histogram->high > 1) {
		while (first < end && is_empty(histogram, other, first))
			first++;
		while (end > first && is_empty(histogram, other, end - 1))
			end--;
		first = first > 1 ? first - 2 : 0;
		end = end + 2 < histogram->bins ? end + 2 : histogram->bins;
		while (end - first < 10 && end - first < histogram->bins) {
			first -= first > 0;
			end += end < histogram->bins;
		}
	}
	*first_out = first;
	*end_out = end;
}
