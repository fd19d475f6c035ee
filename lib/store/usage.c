/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"

#define ROW_NAME "usage"
/* The row holds the members of struct lc__schema_usage in their order as u64, one
 * schema after the other, then its checksum. */
#define NUMBERS (sizeof(struct lc__schema_usage) / sizeof(uint64_t))

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
	lc_status status = lc__txn_get_meta(txn, ROW_NAME, &row);
	uint64_t *numbers;

	usage->loaded = true;
	if (status != LC_NOT_FOUND)
		return_if_error(status);
	usage->damaged = true;
	if (status == LC_NOT_FOUND ||
	    !lc__row_intact(row.data, row.size, lc__row_seed(ROW_NAME)) ||
	    (row.size - LC__ROW_SUM) % (NUMBERS * 8) != 0 ||
	    (row.size - LC__ROW_SUM) / (NUMBERS * 8) > LC__SCHEMAS_MAX)
		return LC_OK;
	usage->damaged = false;
	return_if_error(reserve(usage,
	    (uint32_t)((row.size - LC__ROW_SUM) / (NUMBERS * 8))));
	numbers = (uint64_t *)usage->schemas;
	for (size_t i = 0; i < usage->count * NUMBERS; i++)
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

/* Damage may have left the summary behind: it never runs below 0. */
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
    const struct lc__part *part, int sign)
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
	struct lc__part *parts = calloc(schema->tensors + 1, sizeof(*parts));
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
	struct lc__part part;
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
	const size_t size = usage->count * NUMBERS * 8;
	unsigned char *row;
	lc_status status;

	if (!usage->changed)
		return LC_OK;
	row = malloc(size + LC__ROW_SUM);
	if (row == NULL)
		return lc__no_memory("usage");
	for (size_t i = 0; i < usage->count * NUMBERS; i++)
		lc__set64(row + i * 8, numbers[i]);
	lc__set64(row + size, lc__row_sum(row, size, lc__row_seed(ROW_NAME)));
	status = lc__txn_put_meta(txn, ROW_NAME, row, size + LC__ROW_SUM);
	free(row);
	return status;
}

void
lc__usage_free(struct lc__usage *usage)
{
	free(usage->schemas);
	memset(usage, 0, sizeof(*usage));
}
