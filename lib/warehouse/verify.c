/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/verify.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "format/twh1.h"

/* Orders the bytes that were stored before a block became good. */
static bool
is_good(const struct lc__wshard *shard, uint64_t block)
{
	return atomic_load_explicit(&shard->good[block / 64], memory_order_acquire) >>
	    (block % 64) &
	    1;
}

static void
set_good(struct lc__wshard *shard, uint64_t block)
{
	atomic_fetch_or_explicit(&shard->good[block / 64], (uint64_t)1 << (block % 64),
	    memory_order_release);
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

/* Verified bytes end where the checksums begin. */
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
		if (shard->always || !is_good(shard, b)) {
			status = check_block(shard, b, bytes, sample, cost);
			if (status == LC_OK)
				set_good(shard, b);
		}
	lc__cost_add(cost, LC__COST_VERIFY_NS, lc__clock_ns() - start);
	return status;
}

#define PUT_TRIES 100 /* a few ms each, while threads wait for processors */

/* ---- shards of a supplier -------------------------------------------------------- */

/* Get whole blocks from the store, verified; bytes that arrived damaged are requested
 * once more. */
static lc_status
fetch_blocks(struct lc__wshard *shard, struct lc__sample_range blocks, uint64_t sample,
    struct lc__cost *cost, unsigned char *out)
{
	const uint64_t block = shard->twh1.block;
	struct lc__supplier *supplier = shard->supplier;
	lc_status status = LC_CORRUPT;

	for (int i = 0; i < 2 && status == LC_CORRUPT; i++) {
		status = supplier->read(supplier, shard->number, blocks.from,
		    (size_t)(blocks.to - blocks.from), out);
		if (status == LC_OK)
			lc__cost_add(cost, LC__COST_BYTES_READ, blocks.to - blocks.from);
		for (uint64_t at = blocks.from; at < blocks.to && status == LC_OK;
		     at += block)
			status = check_block(shard, at / block, out + (at - blocks.from),
			    sample, cost);
	}
	return status;
}

/* Store only bytes that no thread has seen yet: those of good blocks may be in use. */
static void
put_blocks(struct lc__wshard *shard, struct lc__sample_range blocks,
    const unsigned char *bytes)
{
	const uint64_t block = shard->twh1.block;
	bool held = false;

	/* After fork(2) a thread that does not exist may hold the lock: then the same
	 * bytes are stored once more. */
	for (int i = 0; i < PUT_TRIES && !held; i++)
		held = lc__trylock(&shard->putting);

	for (uint64_t at = blocks.from; at < blocks.to; at += block) {
		const uint64_t end = block_end(&shard->twh1, at / block);

		if (is_good(shard, at / block))
			continue;
		memcpy(shard->memory + at, bytes + (at - blocks.from),
		    (size_t)(end - at));
		set_good(shard, at / block);
	}
	if (held)
		lc__tryunlock(&shard->putting);
}

lc_status
lc__range_supply(struct lc__wshard *shard, struct lc__sample_range range, uint64_t sample,
    struct lc__cost *cost)
{
	const struct lc__sample_range blocks = lc__range_blocks(shard, range);
	const size_t size = (size_t)(blocks.to - blocks.from);
	unsigned char *bytes;
	lc_status status;

	if (!shard->ranged) {
		status = lc__range_verify(shard, range, shard->twh1.file + range.from,
		    sample, cost);
		if (status != LC_CORRUPT || shard->taken == NULL)
			return status;
	}
	bytes = malloc(size);
	if (bytes == NULL)
		return lc__no_memory(shard->path);
	status = fetch_blocks(shard, blocks, sample, cost, bytes);
	if (status == LC_OK && shard->ranged)
		put_blocks(shard, blocks, bytes);
	else if (status == LC_OK)
		shard->supplier->mend(shard->supplier, shard->taken, blocks.from, bytes,
		    size);
	free(bytes);
	if (status != LC_OK || shard->ranged)
		return status;
	return lc__range_verify(shard, range, shard->twh1.file + range.from, sample,
	    cost);
}

void
lc__range_drop(struct lc__wshard *shard)
{
	const struct lc__twh1 *t = &shard->twh1;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t unit = t->block > page ? t->block : page;
	const uint64_t end = t->rows != NULL ? (uint64_t)(t->offsets - t->file)
					     : t->info.checksum_offset;
	const uint64_t from = lc__round_up(LC__TWH1_HEADER, unit);
	const uint64_t to = end - end % unit;

	if (from >= to ||
	    madvise(shard->memory + from, (size_t)(to - from), MADV_DONTNEED) != 0)
		return;
	for (uint64_t b = from / t->block; b < to / t->block; b++)
		atomic_fetch_and_explicit(&shard->good[b / 64],
		    ~((uint64_t)1 << (b % 64)), memory_order_relaxed);
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
