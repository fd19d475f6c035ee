/* SPDX-License-Identifier: BSD-2-Clause */
#include "index/run.h"

#include "index/run_layout.h"

int
lc__id_compare(const void *a, size_t a_size, const void *b, size_t b_size)
{
	const int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

	if (order != 0)
		return order;
	return a_size < b_size ? -1 : a_size > b_size;
}

bool
lc__run_parse(const unsigned char *bytes, uint64_t size, uint64_t id,
    struct lc__run *out)
{
	uint64_t table_size;

	if (size < LC__RUN_HEADER ||
	    memcmp(bytes + run_at_magic, RUN_MAGIC, 4) != 0 ||
	    lc__get64(bytes + run_at_checksum) !=
	    lc__hash64(bytes, run_at_checksum) ||
	    lc__get16(bytes + run_at_version) != RUN_VERSION ||
	    lc__get16(bytes + run_at_header) != LC__RUN_HEADER)
		return false;
	out->id = lc__get64(bytes + run_at_id);
	out->entries = lc__get64(bytes + run_at_entries);
	out->buckets = lc__get32(bytes + run_at_buckets);
	out->level = lc__get32(bytes + run_at_level);
	out->keys_size = lc__get64(bytes + run_at_keys);
	table_size = (uint64_t)out->buckets * LC__RUN_BUCKET;
	if (out->id != id || out->buckets == 0 || out->keys_size < 4 ||
	    table_size > size - LC__RUN_HEADER ||
	    out->keys_size > size - LC__RUN_HEADER - table_size)
		return false;
	out->table = bytes + LC__RUN_HEADER;
	out->keys = out->table + table_size;
	out->blocks = lc__get32(out->keys + out->keys_size - 4);
	return out->entries <= out->keys_size / (entry_head + 1) &&
	    out->blocks ==
	    (out->entries + LC__RUN_BLOCK - 1) / LC__RUN_BLOCK &&
	    out->blocks <= (out->keys_size - 4) / 4;
}

bool
lc__run_says(const unsigned char *bytes, uint64_t size, uint64_t *id)
{
	struct lc__run run;

	if (size < LC__RUN_HEADER)
		return false;
	*id = lc__get64(bytes + run_at_id);
	return lc__run_parse(bytes, size, *id, &run);
}

void
lc__run_probe_start(struct lc__run_probe *probe, const struct lc__run *run,
    uint64_t hash, bool checked)
{
	const unsigned char *bucket = lc__run_bucket(run, hash);

	probe->run = run;
	probe->hash = hash;
	probe->bucket = (uint32_t)((size_t)(bucket - run->table) / LC__RUN_BUCKET);
	probe->slot = 0;
	probe->walked = 0;
	probe->checked = checked;
}

/* The check word of the bucket, or damage. */
static bool
bucket_intact(const unsigned char *bucket, uint32_t number)
{
	const uint32_t check = lc__get32(bucket + bucket_at_check);
	const uint32_t overflow = check & BUCKET_OVERFLOW;

	return (check & ~BUCKET_OVERFLOW) ==
	    bucket_check(bucket, number, overflow);
}

enum lc__run_found
lc__run_probe_next(struct lc__run_probe *probe, uint64_t *location)
{
	const struct lc__run *run = probe->run;
	const uint32_t fingerprint = (uint32_t)probe->hash;

	while (probe->walked < run->buckets) {
		const unsigned char *bucket =
		    run->table + (size_t)probe->bucket * LC__RUN_BUCKET;
		if (probe->slot == 0 && probe->checked &&
		    !bucket_intact(bucket, probe->bucket))
			return LC__RUN_DAMAGED;
		while (probe->slot < bucket_slots) {
			const unsigned char *slot =
			    bucket + slot_size * probe->slot++;
			if (lc__get32(slot + 8) != fingerprint)
				continue;
			*location = lc__get64(slot);
			if (*location != SLOT_EMPTY)
				return LC__RUN_MATCH;
		}
		if (!(lc__get32(bucket + bucket_at_check) & BUCKET_OVERFLOW))
			break;
		probe->slot = 0;
		probe->walked++;
		if (++probe->bucket == run->buckets)
			probe->bucket = 0;
	}
	return LC__RUN_END;
}

bool
lc__run_has(const struct lc__run *run, uint64_t hash, uint64_t location)
{
	struct lc__run_probe probe;
	uint64_t found;

	lc__run_probe_start(&probe, run, hash, true);
	while (lc__run_probe_next(&probe, &found) == LC__RUN_MATCH)
		if (found == location)
			return true;
	return false;
}

bool
lc__run_table_intact(const struct lc__run *run)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < run->buckets; i++) {
		const unsigned char *bucket =
		    run->table + (size_t)i * LC__RUN_BUCKET;

		if (!bucket_intact(bucket, i))
			return false;
		for (int slot = 0; slot < bucket_slots; slot++)
			used += lc__get64(bucket + slot * slot_size) != SLOT_EMPTY;
	}
	return used == run->entries;
}

/* Read the entry at p; NULL if it does not end by end. */
static const unsigned char *
read_entry(const unsigned char *p, const unsigned char *end,
    struct lc__run_entry *out)
{
	if (end - p < entry_head)
		return NULL;
	out->location = lc__get64(p);
	out->id_size = (size_t)lc__get16(p + 8) + 1;
	out->id = p + entry_head;
	if ((size_t)(end - out->id) < out->id_size)
		return NULL;
	return out->id + out->id_size;
}

bool
lc__run_tombstone(const struct lc__run *run, uint64_t location,
    struct lc__run_entry *out)
{
	const uint64_t offset = location & ~LC__TOMBSTONE;

	return offset < run->keys_size && read_entry(run->keys + offset,
	    run->keys + run->keys_size, out) != NULL &&
	    out->location == location;
}

/* Offset of the blocks' table in the key section. */
static uint64_t
blocks_end(const struct lc__run *run)
{
	return run->keys_size - 4 - (uint64_t)run->blocks * 4;
}

/* Stand before the first entry of a block; checks its bytes. */
static bool
enter_block(struct lc__run_cursor *cursor, uint32_t number)
{
	const struct lc__run *run = cursor->run;
	const uint64_t room = blocks_end(run);
	const uint64_t offset = lc__get32(run->keys + room + (size_t)number * 4);
	const unsigned char *block = run->keys + offset;
	uint32_t size;

	cursor->damaged = true;
	if (offset > room || room - offset < block_header)
		return false;
	size = lc__get32(block + block_at_size);
	cursor->left = lc__get32(block + block_at_entries);
	if (size < block_header || size > room - offset ||
	    cursor->left > LC__RUN_BLOCK ||
	    lc__get64(block + block_at_checksum) !=
	    block_checksum(block, size, number, cursor->left))
		return false;
	cursor->damaged = false;
	cursor->block = number;
	cursor->p = block + block_header;
	cursor->end = block + size;
	return true;
}

bool
lc__run_next(struct lc__run_cursor *cursor)
{
	while (cursor->left == 0) {
		if (cursor->block + 1 >= cursor->run->blocks ||
		    !enter_block(cursor, cursor->block + 1))
			return false;
	}
	cursor->left--;
	cursor->p = read_entry(cursor->p, cursor->end, &cursor->entry);
	cursor->damaged = cursor->p == NULL;
	return !cursor->damaged;
}

/* Is the first entry of a block above the id? */
static bool
block_above(struct lc__run_cursor *cursor, uint32_t number, const void *id,
    size_t id_size)
{
	return enter_block(cursor, number) && lc__run_next(cursor) &&
	    lc__id_compare(cursor->entry.id, cursor->entry.id_size, id,
	    id_size) > 0;
}

bool
lc__run_seek(struct lc__run_cursor *cursor, const struct lc__run *run,
    const void *id, size_t id_size)
{
	uint32_t low = 0, high = run->blocks;

	memset(cursor, 0, sizeof(*cursor));
	cursor->run = run;
	if (run->blocks == 0)
		return false;
	while (id != NULL && low + 1 < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (block_above(cursor, middle, id, id_size))
			high = middle;
		else if (cursor->damaged)
			return false;
		else
			low = middle;
	}
	if (!enter_block(cursor, low))
		return false;
	while (lc__run_next(cursor)) {
		if (id == NULL || lc__id_compare(cursor->entry.id,
		    cursor->entry.id_size, id, id_size) >= 0)
			return true;
	}
	return false;
}

bool
lc__run_enter(struct lc__run_cursor *cursor, const struct lc__run *run,
    uint32_t block)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->run = run;
	return enter_block(cursor, block);
}
