/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "store/module.h"

#define COUNTERS "counters"
/* The row holds the members of struct lc__counters in order, as u64, and then its
 * checksum. */
#define COUNTS (sizeof(struct lc__counters) / sizeof(uint64_t))
#define COUNTERS_SIZE (COUNTS * 8 + LC__ROW_SUM)

/* ---- durations and sums -------------------------------------------------- */

void
lc__counters_duration(struct lc__counters *counts, uint64_t ns)
{
	const uint64_t us = ns / 1000;
	unsigned step = LC__DURATIONS - 1;

	/* A bucket for each power of two, and the next two bits. */
	if (us < 4) {
		step = (unsigned)us;
	} else if (us < (uint64_t)1 << 32) {
		const unsigned power = 63 - (unsigned)__builtin_clzll(us);

		step = power * 4 - 4 + (unsigned)(us >> (power - 2) & 3);
	}
	counts->durations[step]++;
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
	lc__set64(row + COUNTS * 8, lc__row_sum(row, COUNTS * 8, lc__row_seed(COUNTERS)));
	return lc__txn_put_meta(txn, COUNTERS, row, sizeof(row));
}

lc_status
lc__counters_store(struct lc__txn *txn, const struct lc__counters *more)
{
	struct lc__counters sum;
	const lc_status status = lc__counters_load(txn, &sum);

	/* The row is left alone, so that verify reports it: statistics must not fail a
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
	/* The longest duration in this bucket. */
	if (step < 4)
		return step;
	return (((uint64_t)4 + step % 4 + 1) << (step / 4 - 1)) - 1;
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
	return_if_error(
	    reserve(usage, (uint32_t)((row.size - LC__ROW_SUM) / (USAGE_NUMBERS * 8))));
	numbers = (uint64_t *)usage->schemas;
	for (size_t i = 0; i < usage->count * USAGE_NUMBERS; i++)
		numbers[i] = lc__get64(row.data + i * 8);
	return LC_OK;
}

bool
lc__usage_same(const struct lc__usage *a, const struct lc__usage *b, uint32_t schema)
{
	static const struct lc__schema_usage none;

	return memcmp(schema < a->count ? &a->schemas[schema] : &none,
		   schema < b->count ? &b->schemas[schema] : &none, sizeof(none)) == 0;
}

/* After damage the summary may be too small: do not go below 0. */
static void
add(uint64_t *sum, uint64_t n, int sign)
{
	if (sign > 0)
		*sum += n;
	else
		*sum = *sum < n ? 0 : *sum - n;
}

lc_status
lc__usage_count(struct lc__usage *usage, const struct lc__record *record,
    const struct lc__schema *schema, int sign)
{
	struct lc__schema_usage *mine;
	struct lc__record_part one_part, *parts = &one_part;
	lc_tensor one_tensor, *tensors = &one_tensor;

	return_if_error(reserve(usage, record->schema + 1));
	mine = &usage->schemas[record->schema];
	usage->changed = true;
	add(&mine->records, 1, sign);
	if (schema->tensors > 1) {
		tensors = calloc(schema->tensors, sizeof(*tensors));
		parts = calloc(schema->tensors, sizeof(*parts));
	}
	if (tensors == NULL || parts == NULL) {
		free(tensors);
		free(parts);
		return lc__no_memory("usage");
	}
	lc__record_tensors(record, schema, 0, tensors, parts);
	for (uint32_t i = 0; i < schema->tensors; i++) {
		add(&mine->raw_bytes, tensors[i].nbytes, sign);
		add(&mine->stored_bytes, parts[i].size, sign);
		add(&mine->tensors[parts[i].codec], 1, sign);
	}
	if (schema->tensors > 1) {
		free(tensors);
		free(parts);
	}
	return LC_OK;
}

lc_status
lc__usage_add(struct lc__usage *usage, const struct lc__usage *more)
{
	return_if_error(reserve(usage, more->count));
	for (uint32_t id = 0; id < more->count; id++) {
		const struct lc__schema_usage *from = &more->schemas[id];
		struct lc__schema_usage *to = &usage->schemas[id];

		to->records += from->records;
		to->raw_bytes += from->raw_bytes;
		to->stored_bytes += from->stored_bytes;
		for (int codec = 0; codec < LC_CODEC_COUNT; codec++)
			to->tensors[codec] += from->tensors[codec];
	}
	usage->changed |= more->changed;
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
		memset(usage->schemas, 0, usage->count * sizeof(*usage->schemas));
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

/* ---- counts of this process ------------------------------------------------------ */

void
lc__reads_note_locked(struct lc__reads *reads, const uint64_t *chunks, uint32_t n)
{
	uint64_t *grown;

	if (reads->count + n > reads->room && reads->room < LC__READS_MAX) {
		grown = realloc(reads->chunks, (reads->room * 2 + 64) * sizeof(*grown));
		if (grown != NULL) {
			reads->chunks = grown;
			reads->room = reads->room * 2 + 64;
		}
	}
	/* A read that does not fit is lost, which hardly matters: the next commit empties
	 * the list. */
	for (uint32_t i = 0; i < n && reads->count < reads->room; i++)
		reads->chunks[reads->count++] = chunks[i];
}

void
lc__reads_forget_locked(struct lc__reads *reads, uint32_t n)
{
	if (n > reads->count)
		n = reads->count;
	if (n == 0)
		return;
	reads->count -= n;
	memmove(reads->chunks, reads->chunks + n, reads->count * sizeof(*reads->chunks));
}

void
lc__counters_take(struct lc__env *env, struct lc__counters *out)
{
	struct lc__module *module = lc__module_of(env);

	lc__env_lock(env);
	*out = module->counts;
	lc__counters_subtract(out, &module->saving);
	lc__counters_add(&module->saving, out);
	lc__env_unlock(env);
}

void
lc__counters_settle(struct lc__env *env, const struct lc__counters *taken, bool saved)
{
	struct lc__module *module = lc__module_of(env);

	lc__env_lock(env);
	lc__counters_subtract(&module->saving, taken);
	if (saved)
		lc__counters_subtract(&module->counts, taken);
	lc__env_unlock(env);
}

bool
lc__counters_unsaved(struct lc__env *env)
{
	static const struct lc__counters nothing;
	struct lc__counters counts;

	lc__counters_take(env, &counts);
	lc__counters_settle(env, &counts, false);
	return memcmp(&counts, &nothing, sizeof(counts)) != 0;
}

lc_status
lc__counters_save(struct lc__env *env)
{
	static const struct lc__counters nothing;
	struct lc__counters counts;
	struct lc__txn *txn;
	lc_status status;

	lc__counters_take(env, &counts);
	if (memcmp(&counts, &nothing, sizeof(counts)) == 0)
		return LC_OK;
	status = lc__txn_begin_write(env, LC_DURABLE_RELAXED, &txn);
	if (status == LC_OK) {
		status = lc__counters_store(txn, &counts);
		if (status == LC_OK)
			status = lc__txn_commit(txn);
		else
			lc__txn_abort(txn);
	}
	lc__counters_settle(env, &counts, status == LC_OK);
	return status;
}
