/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/rates.h"

#include <math.h>
#include <string.h>

void
lc__rates_init(struct lc__rates *rates, double end)
{
	memset(rates, 0, sizeof(*rates));
	rates->end = end;
	rates->n = (size_t)fmin(fmax(floor(end), 1), LC__RATES_SPANS);
	for (size_t i = 0; i < rates->n; i++)
		rates->x[i] = ((double)i + 0.5) * end / (double)rates->n;
}

static size_t
span_of(const struct lc__rates *rates, double time)
{
	const double at = floor(time / rates->end * (double)rates->n);

	return (size_t)fmin(fmax(at, 0), (double)(rates->n - 1));
}

void
lc__rates_add(struct lc__rates *rates, size_t k, double from, double to, double amount)
{
	const size_t first = span_of(rates, from), last = span_of(rates, to);
	const double width = rates->end / (double)rates->n;

	if (first == last || !(to > from)) {
		rates->y[k][last] += amount;
		return;
	}
	for (size_t i = first; i <= last; i++) {
		const double begin = fmax(from, (double)i * width);
		const double end = i == last ? to : (double)(i + 1) * width;
		rates->y[k][i] += amount * fmax(end - begin, 0) / (to - from);
	}
}

void
lc__rates_end(struct lc__rates *rates)
{
	for (size_t k = 0; k < LC__CURVES; k++)
		for (size_t i = 0; i < rates->n; i++)
			rates->y[k][i] /= rates->end / (double)rates->n;
}
