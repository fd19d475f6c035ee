/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/done.h"

#include <stdlib.h>

#include "base/error.h"

struct look {
	const struct lc__demands *demands;
	lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value);
	void *ctx;
	const struct lc__item *items;
};

static lc_status
check_value(void *ctx, size_t i, const lc_value *value)
{
	const struct look *look = ctx;
	const struct lc__demands *demands = look->demands;

	return_if_error(lc__expect_value(demands->expect, demands->n_expect, value));
	if (demands->deep)
		return_if_error(lc__finite_value(value, demands->finite));
	return look->check != NULL ? look->check(look->ctx, &look->items[i], value) : LC_OK;
}

lc_status
lc__done_look(lc_cache *cache, const struct lc__demands *demands,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, const struct lc__item *items, size_t n, enum lc__stored *out)
{
	struct look look = { demands, check, ctx, items };
	const bool checks = demands->deep || demands->n_expect > 0 || check != NULL;
	const struct lc__stored_check how = { demands->deep, checks ? check_value : NULL, &look };
	lc_id *ids = calloc(n > 0 ? n : 1, sizeof(*ids));
	lc_status status;

	if (ids == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < n; i++)
		ids[i] = items[i].id;
	status = lc__stored_look(cache, ids, n, &how, out);
	free(ids);
	return status;
}

lc_status
lc__demands_value(lc_cache *cache, const struct lc__demands *demands, const lc_value *value)
{
	return_if_error(lc__expect_value(demands->expect, demands->n_expect, value));
	return_if_error(lc__finite_value(value, demands->finite));
	return lc__stored_admits(cache, value);
}
