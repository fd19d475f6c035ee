/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/series.h"

#include <stdlib.h>

#include "base/error.h"
#include "order/mixture.h"

/* A series that has examples. */
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

static lc_status
make_mixture(struct lc__series_order *s, uint64_t seed)
{
	uint64_t *weights = malloc(s->n * sizeof(*weights));
	lc_status status;

	if (weights == NULL)
		return lc__no_memory("stream");
	for (uint32_t i = 0; i < s->n; i++)
		weights[i] = s->of[i].batches;
	status = lc__mixture_new(weights, s->n, s->batches, seed, &s->mixture);
	free(weights);
	return status;
}

lc_status
lc__series_new(const uint64_t *examples, uint32_t n, uint64_t batch, bool in_order,
    uint64_t seed, struct lc__series_order **out)
{
	struct lc__series_order *s = calloc(1, sizeof(*s) + n * sizeof(s->of[0]));
	lc_status status = LC_OK;

	if (s == NULL)
		return lc__no_memory("stream");
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
		s->n++;
	}
	/* A shard has fewer samples than fit a file, so that sums cannot overflow. */
	if (s->n == 0 || s->examples > INT64_MAX)
		status = lc__error(LC_INVALID, 0, "stream: %s",
		    s->n == 0 ? "no examples" : "more examples than can be numbered");
	else if (!in_order)
		status = make_mixture(s, seed);
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
