/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/done.h"

#include "base/error.h"
#include "store/admit.h"
#include "store/lookup.h"
#include "store/own.h"
#include "store/reading.h"

/* Look-ups whose steps are taken together, so that the memory that one waits for
 * comes while others are looked at. */
#define WINDOW 16

/* Items that are being looked up. */
struct look {
	lc_cache *cache;
	const struct lc__demands *demands;
	lc_status (*check)(void *ctx, const struct lc__item *item,
	    const lc_value *value);
	void *ctx;
	struct lc__snapshot *snapshot;
	const struct lc__schema *admitted; /* a strict module holds it */
};

static bool
is_strict(const struct look *look)
{
	return atomic_load(&lc__module_of(look->cache->env)->settings.policy) ==
	    LC_STRICT;
}

/* What another call would do better or not at all, such as for want of memory. */
static bool
is_verdict(lc_status status)
{
	return status == LC_OK || status == LC_NOT_FOUND || status == LC_CORRUPT ||
	    status == LC_SCHEMA || status == LC_INVALID;
}

static lc_status
check_structure(struct look *look, const struct lc__schema *schema)
{
	/* Equal structures are the same one. */
	if (schema == look->admitted || !is_strict(look))
		return LC_OK;
	return_if_error(lc__admit(look->cache, schema));
	look->admitted = schema;
	return LC_OK;
}

/* A value of which tensors have no data unless all of it is read. */
static lc_status
check_value(const struct look *look, const struct lc__item *item,
    const lc_value *value)
{
	return_if_error(lc__expect_value(look->demands->expect,
	    look->demands->n_expect, value));
	if (look->demands->deep)
		return_if_error(lc__finite_value(value, look->demands->finite));
	return look->check != NULL ? look->check(look->ctx, item, value) : LC_OK;
}

static lc_status
check_record(struct look *look, const struct lc__item *item,
    const struct lc__lookup *lookup)
{
	const bool deep = look->demands->deep;
	struct lc__reading reading = { .record = lookup->record };
	const lc_value *value;
	lc_status status;

	/* Without parts the checksum is one over everything, tensor and all. */
	return_if_error(lc__reading_committed(&reading, look->cache, look->snapshot,
	    lookup->location, deep || lookup->record.has_parts));
	return_if_error(check_structure(look, reading.schema));
	if (!deep && look->demands->n_expect == 0 && look->check == NULL)
		return LC_OK;
	reading.listed = !deep;
	status = lc__reading_value(&reading, NULL, &value);
	if (status == LC_OK)
		status = check_value(look, item, value);
	lc__reading_end(&reading);
	return status;
}

static lc_status
look_one(struct look *look, const struct lc__item *item, struct lc__lookup *lookup,
    enum lc__stored *out)
{
	lc_status status = lc__index_find(look->snapshot, lookup, true);

	*out = LC__STORED_MISSING;
	if (status == LC_NOT_FOUND)
		return LC_OK;
	if (status == LC_OK)
		status = check_record(look, item, lookup);
	if (!is_verdict(status))
		return status;
	*out = status == LC_OK ? LC__STORED_DONE : LC__STORED_WRONG;
	return LC_OK;
}

/* Only this run has anything pending, and that was found to be good. */
static lc_status
look_pending(lc_cache *cache, const struct lc__item *item, enum lc__stored *out)
{
	enum lc__pending_answer answer;

	return_if_error(lc__own_has(cache, item->id.data, item->id.size, &answer));
	*out = answer == LC__PENDING_PUT ? LC__STORED_DONE : LC__STORED_MISSING;
	return LC_OK;
}

static lc_status
look_window(struct look *look, const struct lc__item *items, size_t n,
    enum lc__stored *out)
{
	struct lc__lookup lookups[WINDOW];

	for (size_t i = 0; i < n; i++) {
		lc__lookup_start(&lookups[i], look->cache->env, items[i].id.data,
		    items[i].id.size);
		lc__index_prefetch(look->snapshot, &lookups[i]);
	}
	for (size_t i = 0; i < n; i++)
		if (out[i] != LC__STORED_DONE)
			return_if_error(look_one(look, &items[i], &lookups[i],
			    &out[i]));
	return LC_OK;
}

lc_status
lc__done_look(lc_cache *cache, const struct lc__demands *demands,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, const struct lc__item *items, size_t n, enum lc__stored *out)
{
	struct look look = { cache, demands, check, ctx, NULL, NULL };
	lc_status status = LC_OK;

	/* First what is pending: it may be committed before the snapshot is taken. */
	for (size_t i = 0; i < n; i++)
		return_if_error(look_pending(cache, &items[i], &out[i]));
	return_if_error(lc__snapshot_take(cache->env, &look.snapshot));
	for (size_t i = 0; i < n && status == LC_OK; i += WINDOW)
		status = look_window(&look, items + i, n - i < WINDOW ? n - i :
		    WINDOW, out + i);
	lc__snapshot_give(look.snapshot, 0);
	return status;
}

static lc_status
admit(lc_cache *cache, const lc_value *value)
{
	struct lc__schema *schema;
	lc_status status;

	if (atomic_load(&lc__module_of(cache->env)->settings.policy) != LC_STRICT)
		return LC_OK;
	return_if_error(lc__schema_infer(value, &schema));
	status = lc__admit(cache, schema);
	lc__schema_free(schema);
	return status;
}

lc_status
lc__demands_value(lc_cache *cache, const struct lc__demands *demands,
    const lc_value *value)
{
	return_if_error(lc__expect_value(demands->expect, demands->n_expect, value));
	return_if_error(lc__finite_value(value, demands->finite));
	return admit(cache, value);
}
