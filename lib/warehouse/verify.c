/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/verify.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"

static bool
is_good(const struct lc__wshard *shard, uint64_t block)
{
	return atomic_load_explicit(&shard->good[block / 64], memory_order_relaxed) >>
	    (block % 64) &
	    1;
}

static void
set_good(struct lc__wshard *shard, uint64_t block)
{
	atomic_fetch_or_explicit(&shard->good[block / 64], (uint64_t)1 << (block % 64),
	    memory_order_relaxed);
}

static bool
is_empty(struct lc__sample_range range)
{
	return range.from == range.to;
}

bool
lc__range_good(const struct lc__wshard *shard, struct lc__sample_range range)
{
	const uint64_t block = shard->twh1.block;

	if (shard->always)
		return is_empty(range);
	for (uint64_t b = range.from / block;
	     !is_empty(range) && b <= (range.to - 1) / block; b++)
		if (!is_good(shard, b))
			return false;
	return true;
}

/* What is verified ends where the checksums begin. */
static uint64_t
block_end(const struct lc__twh1 *shard, uint64_t block)
{
	const uint64_t end = (block + 1) * shard->block;

	return end < shard->info.checksum_offset ? end : shard->info.checksum_offset;
}

struct lc__sample_range
lc__range_blocks(const struct lc__wshard *shard, struct lc__sample_range range)
{
	const struct lc__twh1 *t = &shard->twh1;

	if (is_empty(range))
		return range;
	return (struct lc__sample_range){ range.from & ~(t->block - 1),
		block_end(t, (range.to - 1) / t->block) };
}

static lc_status
check_block(struct lc__wshard *shard, uint64_t block, const unsigned char *bytes,
    uint64_t sample, struct lc__cost *cost)
{
	const struct lc__twh1 *t = &shard->twh1;
	const uint64_t from = block * t->block, end = block_end(t, block);

	lc__cost_add(cost, LC__COST_BYTES_VERIFIED, end - from);
	if (lc__hash64(bytes, (size_t)(end - from)) != lc__get64(t->table + 8 * block))
		return lc__error(LC_CORRUPT, 0,
		    "%s: sample %llu: bytes %llu to %llu do not match their checksum",
		    shard->path, (unsigned long long)sample, (unsigned long long)from,
		    (unsigned long long)(end - 1));
	set_good(shard, block);
	return LC_OK;
}

lc_status
lc__range_verify(struct lc__wshard *shard, struct lc__sample_range range,
    const unsigned char *bytes, uint64_t sample, struct lc__cost *cost)
{
	const uint64_t block = shard->twh1.block, start = lc__clock_ns();
	lc_status status = LC_OK;

	/* From the bytes at range.from back to those of its first block. */
	bytes -= range.from % block;
	for (uint64_t b = range.from / block;
	     !is_empty(range) && status == LC_OK && b <= (range.to - 1) / block;
	     b++, bytes += block)
		if (shard->always || !is_good(shard, b))
			status = check_block(shard, b, bytes, sample, cost);
	lc__cost_add(cost, LC__COST_VERIFY_NS, lc__clock_ns() - start);
	return status;
}

static struct lc__sample_range
part(uint64_t offset, uint64_t each, uint64_t i)
{
	if (each == 0)
		return (struct lc__sample_range){ 0, 0 };
	return (struct lc__sample_range){ offset + i * each, offset + (i + 1) * each };
}

struct lc__sample_range
lc__image_range(const struct lc__twh1 *shard, uint64_t i)
{
	return part(shard->info.image_offset, shard->sizes.image, i);
}

struct lc__sample_range
lc__boxes_range(const struct lc__twh1 *shard, uint64_t i)
{
	return part(shard->info.boxes_offset, shard->sizes.boxes, i);
}

struct lc__sample_range
lc__mask_range(const struct lc__twh1 *shard, uint64_t i)
{
	return part(shard->info.mask_offset, shard->sizes.mask, i);
}

struct lc__sample_range
lc__offsets_range(const struct lc__twh1 *shard, uint64_t i)
{
	const uint64_t at = (uint64_t)(shard->offsets - shard->file) + 8 * i;

	return (struct lc__sample_range){ at, at + 16 };
}

struct lc__sample_range
lc__row_range(const struct lc__twh1 *shard, lc_id row)
{
	const uint64_t at = (uint64_t)((const unsigned char *)row.data - shard->file);

	return (struct lc__sample_range){ at, at + row.size };
}
