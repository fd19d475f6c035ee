/* SPDX-License-Identifier: BSD-2-Clause */
#include "index/run_build.h"

#include <stdlib.h>

#include "base/error.h"
#include "index/run_layout.h"
#include "index/run.h"

/* Ten entries for three buckets: with a third of the slots free, 3 % of entries
 * overflow. */
static uint64_t
bucket_count(uint64_t entries)
{
	return entries * 3 / 10 + 1;
}

/* Empty slots are all ones; the check words are set when the run is finished. */
static void
clear_table(struct lc__run_builder *builder, uint64_t buckets)
{
	unsigned char *table = builder->bytes + LC__RUN_HEADER;

	builder->buckets = (uint32_t)buckets;
	memset(table, 0xff, buckets * LC__RUN_BUCKET);
	for (uint64_t i = 0; i < buckets; i++)
		lc__set32(table + i * LC__RUN_BUCKET + bucket_at_check, 0);
}

lc_status
lc__run_build_start(struct lc__run_builder *builder, uint64_t seed, uint64_t entries,
    uint64_t id_bytes)
{
	const uint64_t buckets = bucket_count(entries);
	const uint64_t blocks = entries / LC__RUN_BLOCK + 1;

	memset(builder, 0, sizeof(*builder));
	builder->seed = seed;
	builder->limit = entries;
	builder->keys = LC__RUN_HEADER + buckets * LC__RUN_BUCKET;
	builder->room = builder->keys + blocks * (block_header + 4) +
	    entries * entry_head + id_bytes + 4;
	builder->used = builder->keys;
	builder->bytes = malloc(builder->room);
	builder->offsets = malloc(blocks * sizeof(*builder->offsets));
	if (builder->bytes == NULL || builder->offsets == NULL) {
		lc__run_build_free(builder);
		return lc__no_memory("index");
	}
	clear_table(builder, buckets);
	return LC_OK;
}

/* Put an entry into the first bucket with a free slot, from its own bucket on. */
static void
insert(struct lc__run_builder *builder, uint64_t hash, uint64_t location)
{
	unsigned char *const table = builder->bytes + LC__RUN_HEADER;
	uint64_t number = (uint64_t)(((unsigned __int128)hash * builder->buckets) >> 64);

	for (;;) {
		unsigned char *bucket = table + number * LC__RUN_BUCKET;
		for (int i = 0; i < bucket_slots; i++) {
			unsigned char *slot = bucket + i * slot_size;
			if (lc__get64(slot) != SLOT_EMPTY)
				continue;
			lc__set64(slot, location);
			lc__set32(slot + 8, (uint32_t)hash);
			return;
		}
		lc__set32(bucket + bucket_at_check, BUCKET_OVERFLOW);
		if (++number == builder->buckets)
			number = 0;
	}
}

/* Insert an entry once its bucket has had time to reach the cache. */
static void
insert_later(struct lc__run_builder *builder, uint64_t hash, uint64_t location)
{
	const uint64_t i = builder->entries % LC__RUN_AHEAD;
	const uint64_t bucket = (uint64_t)(((unsigned __int128)hash * builder->buckets) >>
	    64);

	if (builder->entries >= LC__RUN_AHEAD)
		insert(builder, builder->ahead[i].hash, builder->ahead[i].location);
	__builtin_prefetch(builder->bytes + LC__RUN_HEADER + bucket * LC__RUN_BUCKET, 1);
	builder->ahead[i].hash = hash;
	builder->ahead[i].location = location;
}

static void
insert_rest(struct lc__run_builder *builder)
{
	const uint64_t n = builder->entries;

	for (uint64_t i = n < LC__RUN_AHEAD ? 0 : n - LC__RUN_AHEAD; i < n; i++)
		insert(builder, builder->ahead[i % LC__RUN_AHEAD].hash,
		    builder->ahead[i % LC__RUN_AHEAD].location);
}

static void
end_block(struct lc__run_builder *builder)
{
	unsigned char *block = builder->bytes + builder->block;
	const uint32_t size = (uint32_t)(builder->used - builder->block);
	const uint32_t entries = lc__get32(block + block_at_entries);

	lc__set32(block + block_at_size, size);
	lc__set64(block + block_at_checksum,
	    block_checksum(block, size, builder->blocks, entries));
	builder->blocks++;
	builder->block = 0;
}

static void
begin_block(struct lc__run_builder *builder)
{
	builder->block = builder->used;
	builder->offsets[builder->blocks] = (uint32_t)(builder->used - builder->keys);
	lc__set32(builder->bytes + builder->block + block_at_entries, 0);
	builder->used += block_header;
}

void
lc__run_build_add(struct lc__run_builder *builder, uint64_t hash, uint64_t location,
    const void *id, size_t id_size)
{
	unsigned char *entry, *block;

	if (builder->block == 0)
		begin_block(builder);
	if (location & LC__TOMBSTONE)
		location = LC__TOMBSTONE | (builder->used - builder->keys);
	insert_later(builder, hash, location);
	entry = builder->bytes + builder->used;
	lc__set64(entry, location);
	lc__set16(entry + 8, (uint16_t)(id_size - 1));
	memcpy(entry + entry_head, id, id_size);
	builder->used += entry_head + id_size;
	builder->entries++;
	block = builder->bytes + builder->block;
	lc__set32(block + block_at_entries, lc__get32(block + block_at_entries) + 1);
	if (lc__get32(block + block_at_entries) == LC__RUN_BLOCK)
		end_block(builder);
}

/* A merge of runs with the same keys has far fewer entries than it has room for: build a
 * smaller table from the key section, whose blocks are finished. */
static void
shrink_table(struct lc__run_builder *builder)
{
	const uint64_t buckets = bucket_count(builder->entries);
	const size_t size = builder->used - builder->keys;
	const size_t keys = LC__RUN_HEADER + buckets * LC__RUN_BUCKET;

	memmove(builder->bytes + keys, builder->bytes + builder->keys, size);
	clear_table(builder, buckets);
	builder->keys = keys;
	builder->used = keys + size;
	builder->entries = 0;
	for (uint32_t i = 0; i < builder->blocks; i++) {
		const unsigned char *block = builder->bytes + keys + builder->offsets[i];
		const unsigned char *entry = block + block_header;

		for (uint32_t n = lc__get32(block + block_at_entries); n > 0; n--) {
			const size_t id_size = (size_t)lc__get16(entry + 8) + 1;

			insert_later(builder,
			    lc__run_hash(builder->seed, entry + entry_head, id_size),
			    lc__get64(entry));
			builder->entries++;
			entry += entry_head + id_size;
		}
	}
}

static void
append32(struct lc__run_builder *builder, uint32_t v)
{
	lc__set32(builder->bytes + builder->used, v);
	builder->used += 4;
}

void
lc__run_build_finish(struct lc__run_builder *builder, uint64_t id, uint32_t level)
{
	unsigned char *const head = builder->bytes;

	if (builder->block != 0)
		end_block(builder);
	if (bucket_count(builder->entries) < builder->buckets / 2)
		shrink_table(builder);
	insert_rest(builder);
	for (uint32_t i = 0; i < builder->blocks; i++)
		append32(builder, builder->offsets[i]);
	append32(builder, builder->blocks);
	for (uint32_t i = 0; i < builder->buckets; i++) {
		unsigned char *bucket = head + LC__RUN_HEADER +
		    (size_t)i * LC__RUN_BUCKET;
		const uint32_t overflow = lc__get32(bucket + bucket_at_check);
		lc__set32(bucket + bucket_at_check,
		    overflow | bucket_check(bucket, i, overflow));
	}
	memcpy(head + run_at_magic, RUN_MAGIC, 4);
	lc__set16(head + run_at_version, RUN_VERSION);
	lc__set16(head + run_at_header, LC__RUN_HEADER);
	lc__set64(head + run_at_id, id);
	lc__set64(head + run_at_entries, builder->entries);
	lc__set32(head + run_at_buckets, builder->buckets);
	lc__set32(head + run_at_level, level);
	lc__set64(head + run_at_keys, builder->used - builder->keys);
	lc__set64(head + run_at_checksum, lc__hash64(head, run_at_checksum));
}

void
lc__run_build_free(struct lc__run_builder *builder)
{
	free(builder->bytes);
	free(builder->offsets);
	memset(builder, 0, sizeof(*builder));
}

uint64_t
lc__run_hash(uint64_t seed, const void *id, size_t id_size)
{
	return lc__hash64_seed(id, id_size, seed);
}

/* At least the size of the run with one more entry. */
static uint64_t
merged_size(const struct lc__run_builder *builder, const struct lc__run_entry *entry)
{
	return builder->used + block_header + entry_head + entry->id_size +
	    ((uint64_t)builder->blocks + 2) * 4;
}

lc_status
lc__run_build_merged(struct lc__run_builder *builder, const struct lc__run *runs,
    uint32_t n, bool drop_tombstones)
{
	struct lc__run_merge *merge = lc__run_merge_open(runs, n, NULL, 0);
	struct lc__run_entry entry;
	lc_status status;

	if (merge == NULL)
		return lc__no_memory("index");
	while ((status = lc__run_merge_next(merge, &entry)) == LC_OK) {
		if (drop_tombstones && (entry.location & LC__TOMBSTONE))
			continue;
		/* Blocks that hold more entries than their run's header says. */
		if (builder->entries == builder->limit ||
		    merged_size(builder, &entry) > builder->room) {
			status = lc__error(LC_CORRUPT, 0,
			    "index runs hold more than their headers say");
			break;
		}
		lc__run_build_add(builder,
		    lc__run_hash(builder->seed, entry.id, entry.id_size), entry.location,
		    entry.id, entry.id_size);
	}
	lc__run_merge_close(merge);
	return status == LC_END ? LC_OK : status;
}
