/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/stream.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "order/mix.h"
#include "stream/source.h"

/* The sources of a mixture are shuffled by seeds of their own. */
static struct lc__sequence_rule
rule_of(const struct lc__standing_rule *rule, uint32_t source)
{
	struct lc__sequence_rule own = rule->sequence;
	const uint64_t words[] = { own.shuffle.seed, 0, LC__TAG_SOURCE, source };

	own.may_be_empty = own.may_be_empty || rule->series;
	if (rule->n > 1)
		own.shuffle.seed = lc__key(words, 4);
	return own;
}

static lc_status
make_sequences(const struct lc__standing_rule *rule,
    struct lc__layout *const *layouts, struct lc__standing *standing)
{
	for (uint32_t i = 0; i < rule->n; i++) {
		const struct lc__sequence_rule own = rule_of(rule, i);
		const bool complete = !rule->follow ||
		    lc__layout_info(layouts[i])->final;

		return_if_error(lc__sequence_new(&own, layouts[i], complete,
		    lc__source_name(rule->sources[i]), &standing->sequences[i]));
	}
	return LC_OK;
}

/* Batches of one size each: every size has its own, in an order of its own. */
static lc_status
make_series(const struct lc__standing_rule *rule, struct lc__standing *standing)
{
	const bool in_order = rule->sequence.shuffle.kind == LC_SHUFFLE_NONE;
	uint64_t *examples = calloc(rule->n, sizeof(*examples));
	lc_status status;

	if (examples == NULL)
		return lc__no_memory("stream");
	for (uint32_t i = 0; i < rule->n; i++)
		examples[i] = standing->sequences[i]->n;
	status = lc__series_new(examples, rule->n, rule->batch, in_order,
	    rule->sequence.shuffle.seed, &standing->series);
	free(examples);
	if (status == LC_INVALID)
		lc__error_prefix("%s", lc__source_name(rule->sources[0]));
	return status;
}

/* Numbers that batches of all epochs take. */
static lc_status
count_series(const struct lc__standing_rule *rule, struct lc__standing *standing)
{
	uint64_t places = UINT64_MAX;

	if (rule->sequence.epochs > 0 &&
	    (!lc__mul64(lc__series_batches(standing->series), rule->batch,
	        &places) || !lc__mul64(places, rule->sequence.epochs, &places)))
		return lc__error(LC_INVALID, 0, "%s: %llu epochs have more examples "
		    "than can be numbered", lc__source_name(rule->sources[0]),
		    (unsigned long long)rule->sequence.epochs);
	standing->batch = rule->batch;
	standing->complete = true;
	standing->total = standing->known = places;
	if (rule->limit > 0 && rule->limit < places)
		standing->total = standing->known = rule->limit;
	return LC_OK;
}

/* Only a stream of one source ends. */
static void
count(const struct lc__standing_rule *rule, struct lc__standing *standing)
{
	const struct lc__sequence *only = standing->sequences[0];

	standing->complete = only->complete;
	standing->total = rule->n == 1 ? only->total : UINT64_MAX;
	standing->known = rule->n == 1 ? only->known : UINT64_MAX;
	if (rule->limit == 0)
		return;
	if (standing->known > rule->limit)
		standing->known = rule->limit;
	if (standing->known == rule->limit)
		standing->complete = true;
	if (standing->complete)
		standing->total = standing->known;
}

lc_status
lc__standing_new(const struct lc__standing_rule *rule,
    struct lc__layout *const *layouts, struct lc__standing **out)
{
	struct lc__standing *standing = calloc(1, sizeof(*standing) +
	    rule->n * sizeof(standing->sequences[0]));
	lc_status status;

	if (standing == NULL)
		return lc__no_memory("stream");
	atomic_init(&standing->refs, 1);
	standing->mixture = rule->mixture;
	standing->n = rule->n;
	status = make_sequences(rule, layouts, standing);
	if (status != LC_OK) {
		lc__standing_drop(standing);
		return status;
	}
	if (rule->series) {
		status = make_series(rule, standing);
		if (status == LC_OK)
			status = count_series(rule, standing);
	} else {
		count(rule, standing);
	}
	if (status == LC_OK)
		*out = standing;
	else
		lc__standing_drop(standing);
	return status;
}

struct lc__standing *
lc__standing_hold(struct lc__standing *standing)
{
	atomic_fetch_add_explicit(&standing->refs, 1, memory_order_relaxed);
	return standing;
}

void
lc__standing_drop(struct lc__standing *standing)
{
	if (standing == NULL || atomic_fetch_sub_explicit(&standing->refs, 1,
	    memory_order_acq_rel) != 1)
		return;
	for (uint32_t i = 0; i < standing->n; i++)
		lc__sequence_free(standing->sequences[i]);
	lc__series_free(standing->series);
	free(standing);
}
