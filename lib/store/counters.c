/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/counters.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define ROW_NAME "counters"
/* The row holds the members of struct lc__counters in their order as u64, then
 * its checksum. */
#define NUMBERS (sizeof(struct lc__counters) / sizeof(uint64_t))
#define ROW_SIZE (NUMBERS * 8 + LC__ROW_SUM)

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
lc__counters_duration(struct lc__counters *counts, uint64_t ns)
{
	counts->durations[step_of(ns / 1000)]++;
}

void
lc__counters_add(struct lc__counters *sum, const struct lc__counters *more)
{
	uint64_t *a = (uint64_t *)sum;
	const uint64_t *b = (const uint64_t *)more;

	for (size_t i = 0; i < NUMBERS; i++)
		a[i] += b[i];
}

void
lc__counters_subtract(struct lc__counters *sum, const struct lc__counters *less)
{
	uint64_t *a = (uint64_t *)sum;
	const uint64_t *b = (const uint64_t *)less;

	for (size_t i = 0; i < NUMBERS; i++)
		a[i] -= b[i];
}

/* ---- the row -------------------------------------------------------------- */

lc_status
lc__counters_load(struct lc__txn *txn, struct lc__counters *out)
{
	uint64_t *numbers = (uint64_t *)out;
	struct lc__slice row;
	lc_status status = lc__txn_get_meta(txn, ROW_NAME, &row);

	memset(out, 0, sizeof(*out));
	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "counters row: missing");
	return_if_error(status);
	if (row.size != ROW_SIZE ||
	    !lc__row_intact(row.data, row.size, lc__row_seed(ROW_NAME)))
		return lc__error(LC_CORRUPT, 0, "counters row: damaged");
	for (size_t i = 0; i < NUMBERS; i++)
		numbers[i] = lc__get64(row.data + i * 8);
	return LC_OK;
}

static lc_status
put(struct lc__txn *txn, const struct lc__counters *counts)
{
	unsigned char row[ROW_SIZE];

	for (size_t i = 0; i < NUMBERS; i++)
		lc__set64(row + i * 8, ((const uint64_t *)counts)[i]);
	lc__set64(row + NUMBERS * 8, lc__row_sum(row, NUMBERS * 8,
	    lc__row_seed(ROW_NAME)));
	return lc__txn_put_meta(txn, ROW_NAME, row, sizeof(row));
}

lc_status
lc__counters_store(struct lc__txn *txn, const struct lc__counters *more)
{
	struct lc__counters sum;
	const lc_status status = lc__counters_load(txn, &sum);

	/* It stays for verify to tell of: statistics are worth no failure. */
	if (status == LC_CORRUPT)
		return LC_OK;
	return_if_error(status);
	lc__counters_add(&sum, more);
	return put(txn, &sum);
}

lc_status
lc__counters_reset(struct lc__txn *txn)
{
	static const struct lc__counters none;

	return put(txn, &none);
}

/* ---- reading --------------------------------------------------------------- */

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
