/* SPDX-License-Identifier: BSD-2-Clause */
/* Information about a module: its size, its counters, its schemas. */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/cache.h"
#include "store/counters.h"
#include "store/flush.h"
#include "store/lookup.h"
#include "store/lru.h"

/* ---- state and files ----------------------------------------------------- */

lc_status
lc_count(lc_cache *cache, uint64_t *out)
{
	struct lc__snapshot *snapshot;

	return_if_error(lc__flush_all(cache));
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	*out = snapshot->state.live;
	lc__snapshot_give(snapshot, 0);
	return LC_OK;
}

lc_status
lc_stat(lc_cache *cache, lc_stats *out)
{
	const struct lc__module_row *module = lc__env_module(cache->env);
	struct lc__env_stats env;
	struct lc__snapshot *snapshot;
	uint64_t oldest;
	lc_status status;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0, "stat: struct_size is not set");
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = lc__env_stat(cache->env, &env);
	if (status == LC_OK)
		status = lc__txn_count(snapshot->txn, LC__LEDGER, &out->chunks);
	if (status == LC_OK) {
		const struct lc__state *state = &snapshot->state;

		out->schemas = state->next_schema;
		out->generation = state->generation;
		out->records = state->live;
		out->dead_records = state->records - state->live;
		out->live_bytes = state->live_bytes;
		out->dead_bytes = state->bytes - state->live_bytes;
		out->index_runs = state->nruns;
		out->index_bytes = 0;
		for (uint32_t i = 0; i < state->nruns; i++)
			out->index_bytes += state->runs[i].bytes;
	}
	lc__snapshot_give(snapshot, 0);
	return_if_error(status);
	memcpy(out->uuid, module->uuid, sizeof(out->uuid));
	out->created_ms = module->created_ms;
	out->format = module->format;
	out->file_bytes = env.file_bytes;
	out->free_bytes = env.free_bytes;
	out->map_bytes = env.map_bytes;
	out->readers = env.readers;
	out->max_readers = env.max_readers;
	oldest = lc__pool_oldest_pin_ns(cache->env);
	out->oldest_pin_ms = oldest == 0 ? 0 : (lc__clock_coarse_ns() - oldest) / 1000000;
	lc__flush_count(cache, &out->pending_records, &out->pending_bytes);
	return LC_OK;
}

/* ---- counters of a handle ------------------------------------------------ */

lc_status
lc_counters_get(lc_cache *cache, lc_counters *out)
{
	static const uint64_t shares[4] = { 500, 900, 990, 1000 };
	struct lc__module *module = lc__module_of(cache->env);
	struct lc__snapshot *snapshot;
	struct lc__counters counts;
	lc_status status;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0, "counters: struct_size is not set");
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = lc__counters_load(snapshot->txn, &counts);
	/* Verify reports lost counters; the others are right. */
	if (status == LC_CORRUPT)
		status = LC_OK;
	lc__snapshot_give(snapshot, 0);
	return_if_error(status);
	lc__env_lock(cache->env);
	lc__counters_add(&counts, &module->counts);
	lc__env_unlock(cache->env);
	out->hits = counts.hits;
	out->misses = counts.misses;
	out->puts = counts.puts;
	out->deletes = counts.deletes;
	out->put_bytes = counts.put_bytes;
	out->commits = counts.commits;
	out->evicted_records = counts.evicted_records;
	out->evicted_bytes = counts.evicted_bytes;
	for (int i = 0; i < 4; i++)
		out->flush_us[i] = lc__counters_percentile(&counts, shares[i]);
	lc__lru_count(cache->lru, out);
	out->computed = atomic_load(&cache->computed);
	out->compute_failures = atomic_load(&cache->compute_failures);
	out->awaited = atomic_load(&cache->awaited);
	return LC_OK;
}

/* ---- schemas ------------------------------------------------------------- */

static lc_status
tell_schema(struct lc__snapshot *snapshot, const struct lc__usage *usage, uint32_t id,
    int (*fn)(void *ctx, const lc_schema_stats *stats), void *ctx)
{
	char text[4096];
	lc_schema_stats stats = { .id = id, .structure = text };
	struct lc__known *known;

	return_if_error(lc__snapshot_schema(snapshot, id, &known));
	lc__schema_describe(known->schema, text, sizeof(text));
	if (id < usage->count) {
		const struct lc__schema_usage *mine = &usage->schemas[id];

		stats.records = mine->records;
		stats.raw_bytes = mine->raw_bytes;
		stats.stored_bytes = mine->stored_bytes;
		memcpy(stats.tensors, mine->tensors, sizeof(stats.tensors));
	}
	return fn(ctx, &stats) == 0 ? LC_OK
				    : lc__error(LC_CANCELLED, 0, "schemas: cancelled");
}

lc_status
lc_schemas(lc_cache *cache, int (*fn)(void *ctx, const lc_schema_stats *stats), void *ctx)
{
	struct lc__usage usage = { 0 };
	struct lc__snapshot *snapshot;
	lc_status status;

	return_if_error(lc__flush_all(cache));
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	lc__snapshot_keep(snapshot);
	status = lc__usage_load(&usage, snapshot->txn);
	for (uint32_t id = 0; id < snapshot->state.next_schema && status == LC_OK; id++)
		status = tell_schema(snapshot, &usage, id, fn, ctx);
	lc__snapshot_end_keep(snapshot);
	lc__usage_free(&usage);
	return status;
}
