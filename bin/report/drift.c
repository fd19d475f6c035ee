/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *title;
} own[LC__DRIFT_HISTOGRAMS] = {
	[LC__DRIFT_INVALID] = { "invalid", "Invalid frames" },
	[LC__DRIFT_MISSING] = { "missing", "Frames without an image" },
	[LC__DRIFT_EMPTY] = { "empty", "Frames without a box" },
	[LC__DRIFT_OUTCOMES] = { "outcomes", "Outcomes of the frames" },
	[LC__DRIFT_CLASSES] = { "classes", "Classes of boxes" },
};

const char *
lc__drift_name(size_t metric)
{
	return metric < LC__DRIFT_HISTOGRAMS
	    ? own[metric].name
	    : lc__metrics[metric - LC__DRIFT_HISTOGRAMS].name;
}

const char *
lc__drift_title(size_t metric)
{
	return metric < LC__DRIFT_HISTOGRAMS
	    ? own[metric].title
	    : lc__metrics[metric - LC__DRIFT_HISTOGRAMS].title;
}

size_t
lc__drift_find(const char *name)
{
	size_t metric = 0;

	while (metric < LC__DRIFT_METRICS && strcmp(lc__drift_name(metric), name) != 0)
		metric++;
	return metric;
}

/* A category on one side: the number of its values, and the sums of struct lc__likeness
 * for it. */
struct category {
	double n, squares, products;
};

/* Distance and noise of two distributions, summed category by category. */
struct sums {
	double n, m; /* number of values on each side */
	/* Sum of n * n over the samples of both sides. */
	double n_squares;
	double distance, noise;
};

/* A category whose values are independent: each is the only one of its sample. */
static struct category
plain(uint64_t n)
{
	const struct category category = { (double)n, (double)n, (double)n };

	return category;
}

static void
begin(struct sums *sums, struct lc__drift_row *row, uint64_t n, uint64_t m)
{
	memset(sums, 0, sizeof(*sums));
	sums->n = (double)n;
	sums->m = (double)m;
	sums->n_squares = sums->n + sums->m;
	row->old_n = n;
	row->new_n = m;
}

static void
add_category(struct sums *sums, struct category a, struct category b)
{
	const double all = sums->n + sums->m;
	const double share = (a.n + b.n) / all;
	/* The mean over the values of (c - share * n) squared, where a sample with n
	 * values has c in this category. If each sample has one value, this is share *
	 * (1 - share). */
	const double variance = (a.squares + b.squares -
				    2 * share * (a.products + b.products) +
				    share * share * sums->n_squares) /
	    all;
	const double sigma = sqrt(fmax(variance, 0) * (1 / sums->n + 1 / sums->m));

	sums->distance += fabs(a.n / sums->n - b.n / sums->m) / 2;
	/* The mean absolute deviation of the normal distribution. The bound is the
	 * largest mean of |p - q| that two shares with this mean can have. */
	sums->noise += fmin(sigma * M_2_SQRTPI * M_SQRT1_2, 2 * share * (1 - share)) / 2;
}

static void
end(const struct sums *sums, struct lc__drift_row *row)
{
	if (sums->n > 0 && sums->m > 0) {
		row->distance = sums->distance;
		row->noise = sums->noise;
	} else {
		row->distance = row->old_n == row->new_n ? 0 : 1;
	}
}

/* Counts come from files that other programs may have written: they may not add up. */
static uint64_t
at_most(uint64_t a, uint64_t n)
{
	return a < n ? a : n;
}

static void
compare_shares(uint64_t a, uint64_t n, uint64_t b, uint64_t m, struct lc__drift_row *row)
{
	struct sums sums;

	a = at_most(a, n);
	b = at_most(b, m);
	begin(&sums, row, n, m);
	if (n > 0 && m > 0) {
		add_category(&sums, plain(a), plain(b));
		add_category(&sums, plain(n - a), plain(m - b));
		row->is_share = true;
		row->old_value = (double)a / (double)n;
		row->new_value = (double)b / (double)m;
	}
	end(&sums, row);
}

static uint64_t
outcomes_of(const struct lc__summary *summary)
{
	uint64_t sum = summary->written;

	for (size_t i = 0; i < summary->n_reasons; i++)
		sum += summary->reasons[i].count;
	return sum;
}

/* Both lists are sorted by name, so one pass merges them. */
static void
compare_outcomes(const struct lc__summary *old, const struct lc__summary *new,
    struct lc__drift_row *row)
{
	struct sums sums;
	size_t i = 0, j = 0;

	begin(&sums, row, outcomes_of(old), outcomes_of(new));
	if (sums.n > 0 && sums.m > 0)
		add_category(&sums, plain(old->written), plain(new->written));
	while (sums.n > 0 && sums.m > 0 && (i < old->n_reasons || j < new->n_reasons)) {
		const int order = i == old->n_reasons ? 1
		    : j == new->n_reasons
		    ? -1
		    : strcmp(old->reasons[i].name, new->reasons[j].name);
		add_category(&sums, plain(order <= 0 ? old->reasons[i].count : 0),
		    plain(order >= 0 ? new->reasons[j].count : 0));
		i += order <= 0;
		j += order >= 0;
	}
	end(&sums, row);
}

static struct category
of_class(const struct lc__class_count *row)
{
	const struct category category = { (double)row->boxes, row->squares,
		row->products };

	return category;
}

static void
compare_classes(const struct lc__classes *a, const struct lc__classes *b,
    struct lc__drift_row *row)
{
	const struct category none = { 0 };
	struct sums sums;
	size_t i = 0, j = 0;

	begin(&sums, row, a->boxes, b->boxes);
	sums.n_squares = a->n_squares + b->n_squares;
	if (sums.n > 0 && sums.m > 0)
		add_category(&sums, of_class(&a->others), of_class(&b->others));
	while (sums.n > 0 && sums.m > 0 && (i < a->n || j < b->n)) {
		const bool in_a = i < a->n &&
		    (j == b->n || a->rows[i].id <= b->rows[j].id);
		const bool in_b = j < b->n &&
		    (i == a->n || b->rows[j].id <= a->rows[i].id);
		add_category(&sums, in_a ? of_class(&a->rows[i]) : none,
		    in_b ? of_class(&b->rows[j]) : none);
		i += in_a;
		j += in_b;
	}
	end(&sums, row);
}

static struct category
of_bin(const struct lc__distributions *seen, enum lc__metric metric, uint32_t i)
{
	struct category category = plain(lc__category(&seen->histograms[metric], i));

	if (lc__metrics[metric].subject == LC__OF_BOXES) {
		category.squares = seen->likeness[metric].squares[i];
		category.products = seen->likeness[metric].products[i];
	}
	return category;
}

static void
compare_histograms(const struct lc__distributions *a, const struct lc__distributions *b,
    enum lc__metric metric, struct lc__drift_row *row)
{
	const uint32_t categories = a->histograms[metric].bins + 2;
	struct sums sums;

	begin(&sums, row, a->histograms[metric].n, b->histograms[metric].n);
	if (lc__metrics[metric].subject == LC__OF_BOXES)
		sums.n_squares = a->likeness[metric].n_squares +
		    b->likeness[metric].n_squares;
	for (uint32_t i = 0; i < categories && sums.n > 0 && sums.m > 0; i++)
		add_category(&sums, of_bin(a, metric, i), of_bin(b, metric, i));
	end(&sums, row);
}

static void
compare(const struct lc__drift_side *old, const struct lc__drift_side *new, size_t metric,
    struct lc__drift_row *row)
{
	const struct lc__counts *a = &old->summary->totals;
	const struct lc__counts *b = &new->summary->totals;

	switch (metric) {
	case LC__DRIFT_INVALID:
		compare_shares(a->invalid, a->total, b->invalid, b->total, row);
		break;
	case LC__DRIFT_MISSING:
		compare_shares(a->missing_image + a->missing_file, a->total,
		    b->missing_image + b->missing_file, b->total, row);
		break;
	case LC__DRIFT_EMPTY:
		compare_shares(a->empty, a->total, b->empty, b->total, row);
		break;
	case LC__DRIFT_OUTCOMES: compare_outcomes(old->summary, new->summary, row); break;
	case LC__DRIFT_CLASSES:
		compare_classes(&old->seen->classes, &new->seen->classes, row);
		break;
	default:
		compare_histograms(old->seen, new->seen,
		    (enum lc__metric)(metric - LC__DRIFT_HISTOGRAMS), row);
	}
}

static int
by_distance(const void *a, const void *b)
{
	const struct lc__drift_row *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? 1 : -1;
	return (x->metric > y->metric) - (x->metric < y->metric);
}

void
lc__drift_compare(const struct lc__drift_side *old, const struct lc__drift_side *new,
    const double limits[LC__DRIFT_METRICS], struct lc__drift *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < LC__DRIFT_METRICS; i++) {
		struct lc__drift_row *row = &out->rows[i];
		row->metric = i;
		compare(old, new, i, row);
		row->limit = limits[i];
		row->exceeded = row->distance > row->limit;
		row->chance = row->distance <= row->noise;
		out->exceeded += row->exceeded;
		out->chance += row->exceeded && row->chance;
	}
	qsort(out->rows, LC__DRIFT_METRICS, sizeof(out->rows[0]), by_distance);
}
