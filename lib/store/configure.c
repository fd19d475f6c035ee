/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and changing the settings of a module. */
#include "base/error.h"
#include "store/cache.h"
#include "store/snapshot.h"

lc_status
lc_settings_get(lc_cache *cache, lc_settings *out)
{
	struct lc__snapshot *snapshot;
	lc_settings settings;
	lc_status status;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0,
		    "settings: struct_size is not set");
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = lc__settings_load(cache->env, snapshot->txn, &settings);
	lc__snapshot_give(snapshot, 0);
	if (status == LC_OK)
		*out = settings;
	return status;
}

static lc_status
store_once(struct lc__env *env, const lc_settings *settings, uint64_t *id)
{
	struct lc__txn *txn;
	lc_status status;

	return_if_error(lc__txn_begin_write(env, LC_DURABLE_FULL, &txn));
	*id = lc__txn_id(txn);
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
		return lc__error(LC_INVALID, 0,
		    "settings: struct_size is not set");
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
	lc__settings_learn(&lc__module_of(cache->env)->settings, txn, settings);
	lc__env_unlock(cache->env);
	return LC_OK;
}
