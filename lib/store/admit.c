/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/admit.h"

#include "base/error.h"
#include "store/change.h"
#include "store/lookup.h"

#define TEXT 400

static lc_status
compare(const struct lc__schema *first, const struct lc__schema *schema)
{
	char theirs[TEXT], ours[TEXT];

	if (lc__schema_alike(first, schema))
		return LC_OK;
	lc__schema_describe(first, theirs, sizeof(theirs));
	lc__schema_describe(schema, ours, sizeof(ours));
	return lc__error(LC_SCHEMA, 0, "the module is strict and holds %s, "
	    "not %s", theirs, ours);
}

/* Compare with the first structure of a snapshot; LC_NOT_FOUND without one. */
static lc_status
compare_first(struct lc__snapshot *snapshot, const struct lc__schema *schema)
{
	struct lc__known *first;

	if (snapshot->state.next_schema == 0)
		return LC_NOT_FOUND;
	return_if_error(lc__snapshot_schema(snapshot, 0, &first));
	return compare(first->schema, schema);
}

static lc_status
claim(struct lc__change *change, void *ctx)
{
	const struct lc__schema *schema = ctx;
	struct lc__snapshot *s = &change->snapshot;
	const lc_status status = compare_first(s, schema);

	if (status != LC_NOT_FOUND)
		return status;
	return lc__schema_row_put(s->txn, s->state.next_schema++, schema);
}

static lc_status
admit_strictly(struct lc_cache *cache, const struct lc__schema *schema)
{
	struct lc__snapshot *snapshot;
	lc_status status;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = compare_first(snapshot, schema);
	lc__snapshot_give(snapshot, 0);
	if (status != LC_NOT_FOUND)
		return status;
	if (!cache->writes || (cache->options.flags & LC_RDONLY))
		return LC_OK;
	return lc__change_run(cache->env, cache->options.durability, claim,
	    (void *)(uintptr_t)schema);
}

/* Look at all structures of the module: one that would be too many may be among
 * them. Damaged ones are no obstacle. */
static lc_status
learn_all(struct lc_cache *cache)
{
	struct lc__snapshot *snapshot;
	struct lc__known *known;
	lc_status status = LC_OK;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	for (uint32_t id = 0; id < snapshot->state.next_schema &&
	    (status == LC_OK || status == LC_CORRUPT); id++)
		status = lc__snapshot_schema(snapshot, id, &known);
	lc__snapshot_give(snapshot, 0);
	return status == LC_CORRUPT ? LC_OK : status;
}

lc_status
lc__admit(struct lc_cache *cache, const struct lc__schema *schema)
{
	struct lc__module *module = lc__module_of(cache->env);

	if (atomic_load(&module->settings.policy) == LC_STRICT)
		return_if_error(admit_strictly(cache, schema));
	if (lc__schemas_refuses(module->schemas, schema))
		return_if_error(learn_all(cache));
	return LC_OK;
}

lc_status
lc__admit_new(struct lc_cache *cache, struct lc__schema *schema,
    struct lc__known **out)
{
	const lc_status status = lc__admit(cache, schema);

	if (status != LC_OK) {
		lc__schema_free(schema);
		return status;
	}
	return lc__schemas_intern(lc__module_of(cache->env)->schemas, schema, out);
}
