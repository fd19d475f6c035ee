/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/mixture.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "order/shuffle.h"

struct lc__mixture {
	uint64_t block; /* M */
	uint64_t seed;
	uint32_t sources;
	uint64_t ends[]; /* slots of sources 0..s, ascending; the last value is M */
};

/* How far a source is below its exact share. */
struct remainder {
	uint64_t part; /* of the sum of all weights */
	uint32_t source;
};

/* The largest first, of equal ones the first source. */
static int
larger(const void *a, const void *b)
{
	const struct remainder *x = a, *y = b;

	if (x->part != y->part)
		return x->part > y->part ? -1 : 1;
	return x->source < y->source ? -1 : 1;
}

/* Hamilton's method of largest remainders: whole shares first, then one slot each to the
 * sources with the largest remainders. `counts` holds the weights on entry. */
static void
apportion(uint64_t *counts, uint32_t n, uint64_t sum, uint64_t block,
    struct remainder *remainders)
{
	uint64_t left = block;

	for (uint32_t s = 0; s < n; s++) {
		const unsigned __int128 share = (unsigned __int128)counts[s] * block;

		counts[s] = (uint64_t)(share / sum);
		left -= counts[s];
		remainders[s] = (struct remainder){ (uint64_t)(share % sum), s };
	}
	qsort(remainders, n, sizeof(*remainders), larger);
	for (uint32_t i = 0; i < left; i++)
		counts[remainders[i].source]++;
}

static lc_status
check_weights(const uint64_t *weights, uint32_t n, uint64_t block, uint64_t *sum)
{
	*sum = 0;
	if (n == 0)
		return lc__error(LC_INVALID, 0, "mixture: no sources");
	if (block == 0 || block > INT64_MAX)
		return lc__error(LC_INVALID, 0, "mixture: no block of %llu examples",
		    (unsigned long long)block);
	for (uint32_t s = 0; s < n; s++)
		if (!lc__add64(*sum, weights == NULL ? 1 : weights[s], sum))
			return lc__error(LC_INVALID, 0, "mixture: weights too large");
	if (*sum == 0)
		return lc__error(LC_INVALID, 0, "mixture: all weights are 0");
	return LC_OK;
}

/* Turn counts into cumulative ends. */
static lc_status
add_up(struct lc__mixture *mixture)
{
	uint64_t end = 0;

	for (uint32_t s = 0; s < mixture->sources; s++) {
		if (mixture->ends[s] == 0)
			return lc__error(LC_INVALID, 0,
			    "mixture: source %lu would never "
			    "come: its share of %llu examples rounds to none",
			    (unsigned long)s, (unsigned long long)mixture->block);
		end += mixture->ends[s];
		mixture->ends[s] = end;
	}
	return LC_OK;
}

lc_status
lc__mixture_new(const uint64_t *weights, uint32_t sources, uint64_t block, uint64_t seed,
    struct lc__mixture **out)
{
	struct lc__mixture *mixture;
	struct remainder *remainders;
	lc_status status;
	uint64_t sum;

	return_if_error(check_weights(weights, sources, block, &sum));
	mixture = malloc(sizeof(*mixture) + sources * sizeof(*mixture->ends));
	remainders = malloc(sources * sizeof(*remainders));
	if (mixture == NULL || remainders == NULL) {
		free(mixture);
		free(remainders);
		return lc__error(LC_NO_MEMORY, 0, "mixture");
	}
	mixture->block = block;
	mixture->seed = seed;
	mixture->sources = sources;
	for (uint32_t s = 0; s < sources; s++)
		mixture->ends[s] = weights == NULL ? 1 : weights[s];
	apportion(mixture->ends, sources, sum, block, remainders);
	free(remainders);
	status = add_up(mixture);
	if (status == LC_OK)
		*out = mixture;
	else
		free(mixture);
	return status;
}

void
lc__mixture_free(struct lc__mixture *mixture)
{
	free(mixture);
}

static uint64_t
first_slot(const struct lc__mixture *mixture, uint32_t source)
{
	return source == 0 ? 0 : mixture->ends[source - 1];
}

uint64_t
lc__mixture_block(const struct lc__mixture *mixture)
{
	return mixture->block;
}

uint64_t
lc__mixture_count(const struct lc__mixture *mixture, uint32_t source)
{
	return mixture->ends[source] - first_slot(mixture, source);
}

void
lc__mixture_at(const struct lc__mixture *mixture, uint64_t i, uint32_t *source,
    uint64_t *index)
{
	const uint64_t block = i / mixture->block;
	const uint64_t words[] = { mixture->seed, 0, LC__TAG_MIXTURE, block };
	uint32_t low = 0, high = mixture->sources - 1;
	struct lc__permutation slots;
	uint64_t slot;

	lc__permutation_init(&slots, mixture->block, lc__key(words, 4));
	slot = lc__permute(&slots, i % mixture->block);
	/* The slot belongs to the first source that ends after it. */
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (slot < mixture->ends[middle])
			high = middle;
		else
			low = middle + 1;
	}
	*source = low;
	*index = block * lc__mixture_count(mixture, low) + slot -
	    first_slot(mixture, low);
}

/* ---- series -------------------------------------------------------------------------- */

/* A series that is not empty. */
struct one {
	uint32_t which;    /* its number among all */
	uint64_t examples; /* of an epoch */
	uint64_t batches;
	uint64_t end; /* batches up to its last one, in order */
};

struct lc__series_order {
	uint64_t batch;              /* B */
	uint64_t batches;            /* M */
	uint64_t examples;           /* of an epoch */
	struct lc__mixture *mixture; /* NULL: in order */
	uint32_t n;
	struct one of[];
};

lc_status
lc__series_new(const uint64_t *examples, uint32_t n, uint64_t batch, bool in_order,
    uint64_t seed, struct lc__series_order **out)
{
	struct lc__series_order *s = calloc(1, sizeof(*s) + n * sizeof(s->of[0]));
	uint64_t *weights = calloc((size_t)n + 1, sizeof(*weights));
	lc_status status = LC_OK;

	if (s == NULL || weights == NULL) {
		free(s);
		free(weights);
		return lc__no_memory("stream");
	}
	s->batch = batch;
	for (uint32_t i = 0; i < n; i++) {
		struct one *one = &s->of[s->n];

		if (examples[i] == 0)
			continue;
		*one = (struct one){ i, examples[i],
			examples[i] / batch + (examples[i] % batch != 0), 0 };
		s->batches += one->batches;
		s->examples += examples[i];
		one->end = s->batches;
		weights[s->n++] = one->batches;
	}
	/* A shard has fewer samples than a file has bytes, so sums cannot overflow. */
	if (s->n == 0 || s->examples > INT64_MAX)
		status = lc__error(LC_INVALID, 0, "stream: %s",
		    s->n == 0 ? "no examples" : "more examples than can be numbered");
	else if (!in_order)
		status = lc__mixture_new(weights, s->n, s->batches, seed, &s->mixture);
	free(weights);
	if (status == LC_OK)
		*out = s;
	else
		lc__series_free(s);
	return status;
}

void
lc__series_free(struct lc__series_order *s)
{
	if (s == NULL)
		return;
	lc__mixture_free(s->mixture);
	free(s);
}

uint64_t
lc__series_batches(const struct lc__series_order *s)
{
	return s->batches;
}

uint64_t
lc__series_examples(const struct lc__series_order *s)
{
	return s->examples;
}

void
lc__series_at(const struct lc__series_order *s, uint64_t b, uint32_t *which,
    uint64_t *first, uint64_t *n)
{
	const uint64_t epoch = b / s->batches, place = b % s->batches;
	const struct one *one;
	uint32_t i = 0;
	uint64_t at;

	if (s->mixture != NULL) {
		lc__mixture_at(s->mixture, b, &i, &at);
		at -= epoch * s->of[i].batches;
	} else {
		while (place >= s->of[i].end)
			i++;
		at = place - (i > 0 ? s->of[i - 1].end : 0);
	}
	one = &s->of[i];
	*which = one->which;
	*first = epoch * one->examples + at * s->batch;
	*n = one->examples - at * s->batch < s->batch ? one->examples - at * s->batch
						      : s->batch;
}

uint64_t
lc__series_count(const struct lc__series_order *s, uint64_t places)
{
	const uint64_t batches = places / s->batch, rest = places % s->batch;
	const uint64_t epochs = batches / s->batches;
	uint64_t count = epochs * s->examples;
	uint64_t first, n;
	uint32_t which;

	for (uint64_t b = epochs * s->batches; b < batches; b++) {
		lc__series_at(s, b, &which, &first, &n);
		count += n;
	}
	if (rest > 0) {
		lc__series_at(s, batches, &which, &first, &n);
		count += n < rest ? n : rest;
	}
	return count;
}
