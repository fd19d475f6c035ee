/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/standing.h"

#include <stdlib.h>

#include "base/error.h"
#include "order/mix.h"
#include "stream/source.h"

/* The sources of a mixture are shuffled by seeds of their own. */
static struct lc__sequence_rule
rule_of(const struct lc__standing_rule *rule, uint32_t source)
{
	struct lc__sequence_rule own = rule->sequence;
	const uint64_t words[] = { own.shuffle.seed, 0, LC__TAG_SOURCE, source };

	if (rule->mixture != NULL)
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
		return lc__error(LC_NO_MEMORY, 0, "stream: out of memory");
	atomic_init(&standing->refs, 1);
	standing->mixture = rule->mixture;
	standing->n = rule->n;
	status = make_sequences(rule, layouts, standing);
	if (status != LC_OK) {
		lc__standing_drop(standing);
		return status;
	}
	count(rule, standing);
	*out = standing;
	return LC_OK;
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
	free(standing);
}
