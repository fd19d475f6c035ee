/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/mixture.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "order/mix.h"
#include "order/permute.h"

struct lc__mixture {
	uint64_t block; /* M */
	uint64_t seed;
	uint32_t sources;
	uint64_t ends[]; /* slots of sources 0..s, ascending; the last one is M */
};

/* What a source lacks to its exact share. */
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

/* Largest remainder, by Hamilton: whole shares first, then one slot each to those that
 * lack most. `counts` holds the weights at first. */
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

/* Turn counts into ends. */
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
lc__mixture_count(const struct lc__mixture *mixture, uint32_t source)
{
	return mixture->ends[source] - first_slot(mixture, source);
}

/* The source that has a slot: the first one that ends behind it. */
static uint32_t
source_of(const struct lc__mixture *mixture, uint64_t slot)
{
	uint32_t low = 0, high = mixture->sources - 1;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (slot < mixture->ends[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void
lc__mixture_at(const struct lc__mixture *mixture, uint64_t i, uint32_t *source,
    uint64_t *index)
{
	const uint64_t block = i / mixture->block;
	const uint64_t words[] = { mixture->seed, 0, LC__TAG_MIXTURE, block };
	struct lc__permutation slots;
	uint64_t slot;

	lc__permutation_init(&slots, mixture->block, lc__key(words, 4));
	slot = lc__permute(&slots, i % mixture->block);
	*source = source_of(mixture, slot);
	*index = block * lc__mixture_count(mixture, *source) + slot -
	    first_slot(mixture, *source);
}
