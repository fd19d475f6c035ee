/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/stat.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/cache.h"
#include "store/flush.h"
#include "store/lookup.h"
#include "store/lru.h"

#define COUNTERS "counters"
/* The row holds the members of struct lc__counters in order, as u64, and then its
 * checksum. */
#define COUNTS (sizeof(struct lc__counters) / sizeof(uint64_t))
#define COUNTERS_SIZE (COUNTS * 8 + LC__ROW_SUM)

/* ---- durations and sums -------------------------------------------------- */

/* The bucket of a duration: its power of two, and the next two bits. */
static unsigned
step_of(uint64_t us)
{
	unsigned power;

	if (us < 4)
		return (unsigned)us;
	if (us >= (uint64_t)1 << 32)
		return LC__DURATIONS - 1;
	power = 63 - (unsigned)__builtin_clzll(us);
	return power * 4 - 4 + (unsigned)(us >> (power - 2) & 3);
}

/* The longest duration of a bucket, in us. */
static uint64_t
step_end(unsigned step)
{
	const unsigned power = step / 4 + 1;

	if (step < 4)
		return step;
	return (((uint64_t)4 + step % 4 + 1) << (power - 2)) - 1;
}

void
lc__counters_duration(struct lc__counters *counts, uint64_t ns)
{
	counts->durations[step_of(ns / 1000)]++;
}

void
lc__counters_add(struct lc__counters *sum, const struct lc__counters *more)
{
	uint64_t *a = (uint64_t *)sum;
	const uint64_t *b = (const uint64_t *)more;

	for (size_t i = 0; i < COUNTS; i++)
		a[i] += b[i];
}

void
lc__counters_subtract(struct lc__counters *sum, const struct lc__counters *less)
{
	uint64_t *a = (uint64_t *)sum;
	const uint64_t *b = (const uint64_t *)less;

	for (size_t i = 0; i < COUNTS; i++)
		a[i] -= b[i];
}

/* ---- the counters row ---------------------------------------------------- */

lc_status
lc__counters_load(struct lc__txn *txn, struct lc__counters *out)
{
	uint64_t *numbers = (uint64_t *)out;
	struct lc__slice row;
	lc_status status = lc__txn_get_meta(txn, COUNTERS, &row);

	memset(out, 0, sizeof(*out));
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "counters row: missing");
	return_if_error(status);
	if (row.size != COUNTERS_SIZE ||
	    !lc__row_intact(row.data, row.size, lc__row_seed(COUNTERS)))
		return lc__error(LC_CORRUPT, 0, "counters row: damaged");
	for (size_t i = 0; i < COUNTS; i++)
		numbers[i] = lc__get64(row.data + i * 8);
	return LC_OK;
}

static lc_status
put_counts(struct lc__txn *txn, const struct lc__counters *counts)
{
	unsigned char row[COUNTERS_SIZE];

	for (size_t i = 0; i < COUNTS; i++)
		lc__set64(row + i * 8, ((const uint64_t *)counts)[i]);
	lc__set64(row + COUNTS * 8, lc__row_sum(row, COUNTS * 8,
	    lc__row_seed(COUNTERS)));
	return lc__txn_put_meta(txn, COUNTERS, row, sizeof(row));
}

lc_status
lc__counters_store(struct lc__txn *txn, const struct lc__counters *more)
{
	struct lc__counters sum;
	const lc_status status = lc__counters_load(txn, &sum);

	/* The row stays as it is, for verify to report: statistics must not fail a
	 * commit. */
	if (status == LC_CORRUPT)
		return LC_OK;
	return_if_error(status);
	lc__counters_add(&sum, more);
	return put_counts(txn, &sum);
}

lc_status
lc__counters_reset(struct lc__txn *txn)
{
	static const struct lc__counters none;

	return put_counts(txn, &none);
}

uint64_t
lc__counters_percentile(const struct lc__counters *counts, uint64_t of_1000)
{
	uint64_t total = 0, seen = 0;
	unsigned step = 0;

	for (unsigned i = 0; i < LC__DURATIONS; i++)
		total += counts->durations[i];
	if (total == 0)
		return 0;
	for (step = 0; step < LC__DURATIONS; step++) {
		seen += counts->durations[step];
		if (seen * 1000 >= total * of_1000)
			break;
	}
	return step_end(step);
}

/* ---- the usage row ------------------------------------------------------- */

#define USAGE "usage"
/* The row holds the members of struct lc__schema_usage in order, as u64, for one schema
 * after another, and then its checksum. */
#define USAGE_NUMBERS (sizeof(struct lc__schema_usage) / sizeof(uint64_t))

static lc_status
reserve(struct lc__usage *usage, uint32_t count)
{
	if (count <= usage->count)
		return LC_OK;
	return_if_error(lc__array_reserve(&usage->schemas, &usage->room, count, "usage"));
	memset(usage->schemas + usage->count, 0,
	    (count - usage->count) * sizeof(*usage->schemas));
	usage->count = count;
	return LC_OK;
}

lc_status
lc__usage_load(struct lc__usage *usage, struct lc__txn *txn)
{
	struct lc__slice row;
	lc_status status = lc__txn_get_meta(txn, USAGE, &row);
	uint64_t *numbers;

	usage->loaded = true;
	if (status != LC_NOT_FOUND)
		return_if_error(status);
	usage->damaged = true;
	if (status == LC_NOT_FOUND ||
	    !lc__row_intact(row.data, row.size, lc__row_seed(USAGE)) ||
	    (row.size - LC__ROW_SUM) % (USAGE_NUMBERS * 8) != 0 ||
	    (row.size - LC__ROW_SUM) / (USAGE_NUMBERS * 8) > LC__SCHEMAS_MAX)
		return LC_OK;
	usage->damaged = false;
	return_if_error(reserve(usage,
	    (uint32_t)((row.size - LC__ROW_SUM) / (USAGE_NUMBERS * 8))));
	numbers = (uint64_t *)usage->schemas;
	for (size_t i = 0; i < usage->count * USAGE_NUMBERS; i++)
		numbers[i] = lc__get64(row.data + i * 8);
	return LC_OK;
}

bool
lc__usage_same(const struct lc__usage *a, const struct lc__usage *b,
    uint32_t schema)
{
	static const struct lc__schema_usage none;

	return memcmp(schema < a->count ? &a->schemas[schema] : &none,
	    schema < b->count ? &b->schemas[schema] : &none, sizeof(none)) == 0;
}

/* After damage the summary may be too small: it never goes below 0. */
static void
add(uint64_t *sum, uint64_t n, int sign)
{
	if (sign > 0)
		*sum += n;
	else
		*sum = *sum < n ? 0 : *sum - n;
}

static void
count_tensor(struct lc__schema_usage *usage, const lc_tensor *tensor,
    const struct lc__record_part *part, int sign)
{
	add(&usage->raw_bytes, tensor->nbytes, sign);
	add(&usage->stored_bytes, part->size, sign);
	add(&usage->tensors[part->codec], 1, sign);
}

static lc_status
count_many(struct lc__schema_usage *usage, const struct lc__record *record,
    const struct lc__schema *schema, int sign)
{
	lc_tensor *tensors = calloc(schema->tensors + 1, sizeof(*tensors));
	struct lc__record_part *parts = calloc(schema->tensors + 1, sizeof(*parts));
	const bool ok = tensors != NULL && parts != NULL;

	if (ok)
		lc__record_tensors(record, schema, 0, tensors, parts);
	for (uint32_t i = 0; ok && i < schema->tensors; i++)
		count_tensor(usage, &tensors[i], &parts[i], sign);
	free(tensors);
	free(parts);
	return ok ? LC_OK : lc__no_memory("usage");
}

lc_status
lc__usage_count(struct lc__usage *usage, const struct lc__record *record,
    const struct lc__schema *schema, int sign)
{
	struct lc__schema_usage *mine;
	struct lc__record_part part;
	lc_tensor tensor;

	return_if_error(reserve(usage, record->schema + 1));
	mine = &usage->schemas[record->schema];
	usage->changed = true;
	add(&mine->records, 1, sign);
	if (schema->tensors != 1)
		return count_many(mine, record, schema, sign);
	lc__record_tensors(record, schema, 0, &tensor, &part);
	count_tensor(mine, &tensor, &part, sign);
	return LC_OK;
}

lc_status
lc__usage_reset(struct lc__txn *txn)
{
	struct lc__usage none = { .loaded = true, .changed = true };

	return lc__usage_store(&none, txn);
}

lc_status
lc__usage_clear(struct lc__usage *usage, struct lc__txn *txn)
{
	return_if_error(lc__usage_load(usage, txn));
	if (usage->count > 0)
		memset(usage->schemas, 0,
		    usage->count * sizeof(*usage->schemas));
	usage->changed = true;
	usage->damaged = false;
	return LC_OK;
}

lc_status
lc__usage_store(struct lc__usage *usage, struct lc__txn *txn)
{
	const uint64_t *numbers = (const uint64_t *)usage->schemas;
	const size_t size = usage->count * USAGE_NUMBERS * 8;
	unsigned char *row;
	lc_status status;

	if (!usage->changed)
		return LC_OK;
	row = malloc(size + LC__ROW_SUM);
	if (row == NULL)
		return lc__no_memory("usage");
	for (size_t i = 0; i < usage->count * USAGE_NUMBERS; i++)
		lc__set64(row + i * 8, numbers[i]);
	lc__set64(row + size, lc__row_sum(row, size, lc__row_seed(USAGE)));
	status = lc__txn_put_meta(txn, USAGE, row, size + LC__ROW_SUM);
	free(row);
	return status;
}

void
lc__usage_free(struct lc__usage *usage)
{
	free(usage->schemas);
	memset(usage, 0, sizeof(*usage));
}

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

static void
describe_state(const struct lc__state *state, lc_stats *out)
{
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
	status = lc__env_stat(cache->env, snapshot->txn, &env);
	if (status == LC_OK)
		status = lc__txn_count(snapshot->txn, LC__CHUNK, &out->chunks);
	if (status == LC_OK)
		describe_state(&snapshot->state, out);
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
	out->oldest_pin_ms = oldest == 0 ? 0 :
	    (lc__clock_coarse_ns() - oldest) / 1000000;
	pthread_mutex_lock(&cache->lock);
	out->pending_records = atomic_load(&cache->pending);
	out->pending_bytes = (cache->open ? cache->open->used : 0) +
	    (cache->sealed ? cache->sealed->used : 0);
	pthread_mutex_unlock(&cache->lock);
	return LC_OK;
}

/* ---- counters of a handle ------------------------------------------------ */

static void
describe_counts(const struct lc__counters *counts, lc_counters *out)
{
	static const uint64_t shares[4] = { 500, 900, 990, 1000 };

	out->hits = counts->hits;
	out->misses = counts->misses;
	out->puts = counts->puts;
	out->deletes = counts->deletes;
	out->put_bytes = counts->put_bytes;
	out->commits = counts->commits;
	out->evicted_records = counts->evicted_records;
	out->evicted_bytes = counts->evicted_bytes;
	for (int i = 0; i < 4; i++)
		out->flush_us[i] = lc__counters_percentile(counts, shares[i]);
}

lc_status
lc_counters_get(lc_cache *cache, lc_counters *out)
{
	struct lc__module *module = lc__module_of(cache->env);
	struct lc__snapshot *snapshot;
	struct lc__counters counts;
	lc_status status;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0,
		    "counters: struct_size is not set");
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
	describe_counts(&counts, out);
	lc__lru_count(cache->lru, out);
	out->computed = atomic_load(&cache->computed);
	out->compute_failures = atomic_load(&cache->compute_failures);
	out->awaited = atomic_load(&cache->awaited);
	return LC_OK;
}

/* ---- schemas ------------------------------------------------------------- */

static lc_status
tell_schema(struct lc__snapshot *snapshot, const struct lc__usage *usage,
    uint32_t id, int (*fn)(void *ctx, const lc_schema_stats *stats), void *ctx)
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
	return fn(ctx, &stats) == 0 ? LC_OK :
	    lc__error(LC_CANCELLED, 0, "schemas: cancelled");
}

lc_status
lc_schemas(lc_cache *cache, int (*fn)(void *ctx, const lc_schema_stats *stats),
    void *ctx)
{
	struct lc__usage usage = { 0 };
	struct lc__snapshot *snapshot;
	lc_status status;

	return_if_error(lc__flush_all(cache));
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	lc__snapshot_keep(snapshot);
	status = lc__usage_load(&usage, snapshot->txn);
	for (uint32_t id = 0; id < snapshot->state.next_schema &&
	    status == LC_OK; id++)
		status = tell_schema(snapshot, &usage, id, fn, ctx);
	lc__snapshot_end_keep(snapshot);
	lc__usage_free(&usage);
	return status;
}
