/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/counters.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/cache.h"
#include "store/flush.h"
#include "store/lru.h"
#include "store/module.h"

#define ROW_NAME "counters"
/* The row holds the members of struct lc__counts in their order as u64, then
 * the XXH3-64 of these bytes. */
#define NUMBERS (sizeof(struct lc__counts) / sizeof(uint64_t))
#define ROW_SIZE (NUMBERS * 8 + 8)

/* ---- adding --------------------------------------------------------------- */

/* The step of a duration: its power of two, and the two bits below. */
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

/* The largest duration of a step, in us. */
static uint64_t
step_end(unsigned step)
{
	const unsigned power = step / 4 + 1;

	if (step < 4)
		return step;
	return (((uint64_t)4 + step % 4 + 1) << (power - 2)) - 1;
}

void
lc__counts_duration(struct lc__counts *counts, uint64_t ns)
{
	counts->durations[step_of(ns / 1000)]++;
}

void
lc__counts_add(struct lc__counts *sum, const struct lc__counts *more)
{
	uint64_t *a = (uint64_t *)sum;
	const uint64_t *b = (const uint64_t *)more;

	for (size_t i = 0; i < NUMBERS; i++)
		a[i] += b[i];
}

void
lc__counts_subtract(struct lc__counts *sum, const struct lc__counts *less)
{
	uint64_t *a = (uint64_t *)sum;
	const uint64_t *b = (const uint64_t *)less;

	for (size_t i = 0; i < NUMBERS; i++)
		a[i] -= b[i];
}

/* ---- the row -------------------------------------------------------------- */

lc_status
lc__counts_load(struct lc__txn *txn, struct lc__counts *out)
{
	uint64_t *numbers = (uint64_t *)out;
	struct lc__slice row;
	lc_status status = lc__txn_get_meta(txn, ROW_NAME, &row);

	memset(out, 0, sizeof(*out));
	if (status == LC_NOT_FOUND)
		return LC_OK;
	return_if_error(status);
	if (row.size != ROW_SIZE || lc__get64(row.data + ROW_SIZE - 8) !=
	    lc__hash64(row.data, ROW_SIZE - 8))
		return LC_OK;
	for (size_t i = 0; i < NUMBERS; i++)
		numbers[i] = lc__get64(row.data + i * 8);
	return LC_OK;
}

lc_status
lc__counts_store(struct lc__txn *txn, const struct lc__counts *more)
{
	unsigned char row[ROW_SIZE];
	struct lc__counts sum;

	return_if_error(lc__counts_load(txn, &sum));
	lc__counts_add(&sum, more);
	for (size_t i = 0; i < NUMBERS; i++)
		lc__set64(row + i * 8, ((const uint64_t *)&sum)[i]);
	lc__set64(row + ROW_SIZE - 8, lc__hash64(row, ROW_SIZE - 8));
	return lc__txn_put_meta(txn, ROW_NAME, row, sizeof(row));
}

static lc_status
save(struct lc__env *env, const struct lc__counts *counts)
{
	struct lc__txn *txn;
	lc_status status;

	return_if_error(lc__txn_begin_write(env, LC_DURABLE_RELAXED, &txn));
	status = lc__counts_store(txn, counts);
	if (status == LC_OK)
		return lc__txn_commit(txn);
	lc__txn_abort(txn);
	return status;
}

lc_status
lc__counts_save(struct lc__env *env)
{
	static const struct lc__counts nothing;
	struct lc__module *module = lc__module_of(env);
	struct lc__counts counts;
	lc_status status;

	lc__env_lock(env);
	counts = module->counts;
	memset(&module->counts, 0, sizeof(module->counts));
	lc__env_unlock(env);
	if (memcmp(&counts, &nothing, sizeof(counts)) == 0)
		return LC_OK;
	status = save(env, &counts);
	if (status != LC_OK) {
		lc__env_lock(env);
		lc__counts_add(&module->counts, &counts);
		lc__env_unlock(env);
	}
	return status;
}

/* ---- the public face ------------------------------------------------------ */

/* The end of the step that a share of all commits is not above. */
static uint64_t
percentile(const struct lc__counts *counts, uint64_t of_1000)
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

static void
describe(const struct lc__counts *counts, lc_counters *out)
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
		out->flush_us[i] = percentile(counts, shares[i]);
}

lc_status
lc_counters_get(lc_cache *cache, lc_counters *out)
{
	struct lc__module *module = lc__module_of(cache->env);
	struct lc__snapshot *snapshot;
	struct lc__counts counts;
	lc_status status;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0,
		    "counters: struct_size is not set");
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = lc__counts_load(snapshot->txn, &counts);
	lc__snapshot_give(snapshot, 0);
	return_if_error(status);
	lc__env_lock(cache->env);
	lc__counts_add(&counts, &module->counts);
	lc__env_unlock(cache->env);
	describe(&counts, out);
	lc__lru_count(cache->lru, out);
	out->computed = atomic_load(&cache->computed);
	out->compute_failures = atomic_load(&cache->compute_failures);
	out->awaited = atomic_load(&cache->awaited);
	return LC_OK;
}
