/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and changing the settings of a module; the words for them. */
#include <string.h>

#include "base/error.h"
#include "base/words.h"
#include "store/cache.h"

lc_status
lc_settings_get(lc_cache *cache, lc_settings *out)
{
	struct lc__snapshot *snapshot;
	lc_settings settings;
	lc_status status;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0, "settings: struct_size is not set");
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = lc__settings_load(cache->env, snapshot->txn, &settings);
	lc__snapshot_give(snapshot, 0);
	if (status == LC_OK)
		*out = settings;
	return status;
}

/* Does the module have records, dead ones included? */
static lc_status
has_records(struct lc__env *env, struct lc__txn *txn, bool *out)
{
	struct lc__state state = { 0 };
	struct lc__slice row;
	lc_status status = lc__txn_get_meta(txn, "state", &row);

	if (status == LC_OK)
		status = lc__state_decode(row.data, row.size, &state);
	*out = state.records > 0;
	lc__state_free(&state);
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: the state row is missing",
		    lc__env_dir(env));
	return status == LC_OK ? LC_OK
			       : lc__error_prefix("%s: state row", lc__env_dir(env));
}

/* A module with records keeps its length field: their lengths are summed by it. */
static lc_status
check_field(struct lc__env *env, struct lc__txn *txn, const lc_settings *settings)
{
	lc_settings old;
	bool records = false;

	return_if_error(lc__settings_load(env, txn, &old));
	if (strcmp(old.length_field, settings->length_field) == 0)
		return LC_OK;
	return_if_error(has_records(env, txn, &records));
	return !records ? LC_OK
			: lc__error(LC_INVALID, 0,
			      "settings: the length "
			      "field of a module with records cannot be changed");
}

static lc_status
store_once(struct lc__env *env, const lc_settings *settings, uint64_t *id)
{
	struct lc__txn *txn;
	lc_status status;

	return_if_error(lc__txn_begin_write(env, LC_DURABLE_FULL, &txn));
	*id = lc__txn_id(txn);
	status = check_field(env, txn, settings);
	if (status == LC_OK)
		status = lc__settings_store(txn, settings);
	if (status == LC_OK)
		return lc__txn_commit(txn);
	lc__txn_abort(txn);
	return status;
}

lc_status
lc_settings_set(lc_cache *cache, const lc_settings *settings)
{
	uint64_t txn = 0;
	lc_status status;

	if (settings->struct_size != sizeof(*settings))
		return lc__error(LC_INVALID, 0, "settings: struct_size is not set");
	return_if_error(lc__settings_check(settings));
	return_if_error(lc__check_writable(cache, "settings"));
	status = store_once(cache->env, settings, &txn);
	while (status == LC_MAP_FULL) {
		return_if_error(lc__env_grow(cache->env));
		status = store_once(cache->env, settings, &txn);
	}
	if (status != LC_OK)
		return status;
	lc__env_lock(cache->env);
	lc__settings_learn_locked(&lc__module_of(cache->env)->settings, txn, settings);
	lc__env_unlock(cache->env);
	return LC_OK;
}

/* ---- words --------------------------------------------------------------- */

static const char *const policies[] = {
	[LC_EVOLVE] = "evolve",
	[LC_STRICT] = "strict",
	NULL,
};
static const char *const evictions[] = {
	[LC_EVICT_OLDEST] = "oldest",
	[LC_EVICT_UNREAD] = "unread",
	NULL,
};

const char *
lc_policy_name(lc_policy policy)
{
	return lc__word(policies, (unsigned)policy);
}

lc_status
lc_policy_parse(const char *name, lc_policy *out)
{
	unsigned i;

	return_if_error(lc__word_parse("policy", policies, name, &i));
	*out = (lc_policy)i;
	return LC_OK;
}

const char *
lc_evict_name(lc_evict evict)
{
	return lc__word(evictions, (unsigned)evict);
}

lc_status
lc_evict_parse(const char *name, lc_evict *out)
{
	unsigned i;

	return_if_error(lc__word_parse("order of eviction", evictions, name, &i));
	*out = (lc_evict)i;
	return LC_OK;
}
