/* SPDX-License-Identifier: BSD-2-Clause */
#include "index/run.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
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
lc__run_parse(const unsigned char *bytes, uint64_t size, uint64_t id, struct lc__run *out)
{
	uint64_t table_size;

	if (size < LC__RUN_HEADER || memcmp(bytes + run_at_magic, RUN_MAGIC, 4) != 0 ||
	    lc__get64(bytes + run_at_checksum) != lc__hash64(bytes, run_at_checksum) ||
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
	out->intact = NULL;
	out->blocks = lc__get32(out->keys + out->keys_size - 4);
	return out->entries <= out->keys_size / (entry_head + 1) &&
	    out->blocks == (out->entries + LC__RUN_BLOCK - 1) / LC__RUN_BLOCK &&
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
lc__run_probe_start(struct lc__run_probe *probe, const struct lc__run *run, uint64_t hash,
    lc_verify_mode verify)
{
	probe->intact = UINT32_MAX;
	lc__run_probe_go_on(probe, run, hash, verify);
}

void
lc__run_probe_go_on(struct lc__run_probe *probe, const struct lc__run *run, uint64_t hash,
    lc_verify_mode verify)
{
	const unsigned char *bucket = lc__run_bucket(run, hash);

	probe->run = run;
	probe->hash = hash;
	probe->bucket = (uint32_t)((size_t)(bucket - run->table) / LC__RUN_BUCKET);
	probe->slot = 0;
	probe->walked = 0;
	probe->verify = verify;
	probe->known = verify == LC_VERIFY_ONCE ? run->intact : NULL;
}

/* Is the check word of the bucket right? */
static bool
bucket_intact(const unsigned char *bucket, uint32_t number)
{
	const uint32_t check = lc__get32(bucket + bucket_at_check);
	const uint32_t overflow = check & BUCKET_OVERFLOW;

	return (check & ~BUCKET_OVERFLOW) == bucket_check(bucket, number, overflow);
}

/* Compare the check of the bucket of a probe, and record that this was done. */
static __attribute__((noinline)) bool
verify_bucket(struct lc__run_probe *probe, const unsigned char *bucket)
{
	const uint32_t number = probe->bucket;

	if (number == probe->intact)
		return true;
	if (!bucket_intact(bucket, number))
		return false;
	probe->intact = number;
	if (probe->known != NULL)
		probe->known[number / 8] |= (unsigned char)(1u << number % 8);
	return true;
}

/* Is the bucket of a probe intact, or not to be verified? */
static inline bool
bucket_usable(struct lc__run_probe *probe, const unsigned char *bucket)
{
	const uint32_t number = probe->bucket;

	if (probe->known != NULL && (probe->known[number / 8] >> number % 8 & 1))
		return true;
	return probe->verify == LC_VERIFY_NEVER || verify_bucket(probe, bucket);
}

/* Does a slot of the bucket have this fingerprint? Most buckets have none. */
static inline bool
has_fingerprint(const unsigned char *bucket, uint32_t fingerprint)
{
	bool has = false;

#pragma GCC unroll 5
	for (int i = 0; i < bucket_slots; i++)
		has |= lc__get32(bucket + slot_size * i + 8) == fingerprint;
	return has;
}

enum lc__run_found
lc__run_probe_next(struct lc__run_probe *probe, uint64_t *location)
{
	const struct lc__run *run = probe->run;
	const uint32_t fingerprint = (uint32_t)probe->hash;

	while (probe->walked < run->buckets) {
		const unsigned char *bucket = run->table +
		    (size_t)probe->bucket * LC__RUN_BUCKET;
		uint32_t i = probe->slot;

		if (i == 0 && !bucket_usable(probe, bucket))
			return LC__RUN_DAMAGED;
		if (i == 0 && !has_fingerprint(bucket, fingerprint))
			i = bucket_slots;
		for (; i < bucket_slots; i++) {
			const unsigned char *slot = bucket + slot_size * i;

			if (lc__get32(slot + 8) != fingerprint)
				continue;
			*location = lc__get64(slot);
			if (*location == SLOT_EMPTY)
				continue;
			probe->slot = i + 1;
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

	lc__run_probe_start(&probe, run, hash, LC_VERIFY_ALWAYS);
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
		const unsigned char *bucket = run->table + (size_t)i * LC__RUN_BUCKET;

		if (!bucket_intact(bucket, i))
			return false;
		for (int slot = 0; slot < bucket_slots; slot++)
			used += lc__get64(bucket + slot * slot_size) != SLOT_EMPTY;
	}
	return used == run->entries;
}

/* Read the entry at p; NULL if it does not fit before end. */
static const unsigned char *
read_entry(const unsigned char *p, const unsigned char *end, struct lc__run_entry *out)
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
lc__run_tombstone(const struct lc__run *run, uint64_t location, struct lc__run_entry *out)
{
	const uint64_t offset = location & ~LC__TOMBSTONE;

	return offset < run->keys_size &&
	    read_entry(run->keys + offset, run->keys + run->keys_size, out) != NULL &&
	    out->location == location;
}

/* Offset of the blocks' table in the key section. */
static uint64_t
blocks_end(const struct lc__run *run)
{
	return run->keys_size - 4 - (uint64_t)run->blocks * 4;
}

/* Move to the position before the first entry of a block; checks its bytes. */
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
	if (size < block_header || size > room - offset || cursor->left > LC__RUN_BLOCK ||
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
	    lc__id_compare(cursor->entry.id, cursor->entry.id_size, id, id_size) > 0;
}

bool
lc__run_seek(struct lc__run_cursor *cursor, const struct lc__run *run, const void *id,
    size_t id_size)
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
		if (id == NULL ||
		    lc__id_compare(cursor->entry.id, cursor->entry.id_size, id,
			id_size) >= 0)
			return true;
	}
	return false;
}

bool
lc__run_enter(struct lc__run_cursor *cursor, const struct lc__run *run, uint32_t block)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->run = run;
	return enter_block(cursor, block);
}

/* ---- several runs ------------------------------------------------------------- */

/* A run being merged. */
struct source {
	struct lc__run_cursor cursor;
	uint64_t prefix; /* first 8 bytes of the cache_id, big-endian: decides most
	                    comparisons without touching the id */
	uint32_t age;    /* index among the runs: higher is newer */
};

struct lc__run_merge {
	struct source *sources; /* malloc'ed */
	struct source **heap;   /* malloc'ed; the next entry on top */
	uint32_t used;          /* of the heap */
	uint64_t damaged;       /* id + 1 of a run found damaged and not yet reported */
	struct lc__run_entry last; /* returned last; id is NULL before the first */
};

static void
load_prefix(struct source *source)
{
	const struct lc__run_entry *entry = &source->cursor.entry;
	uint64_t prefix = 0;

	memcpy(&prefix, entry->id, entry->id_size < 8 ? entry->id_size : 8);
	source->prefix = be64toh(prefix);
}

/* Order by cache_id, then newest first. */
static bool
before(const struct source *a, const struct source *b)
{
	const struct lc__run_entry *x = &a->cursor.entry, *y = &b->cursor.entry;
	int order;

	if (a->prefix != b->prefix)
		return a->prefix < b->prefix;
	order = lc__id_compare(x->id, x->id_size, y->id, y->id_size);
	return order != 0 ? order < 0 : a->age > b->age;
}

/* Restore the heap below position i. */
static void
sift_down(struct source **heap, uint32_t n, uint32_t i)
{
	struct source *moved = heap[i];

	for (;;) {
		uint32_t child = 2 * i + 1;
		if (child >= n)
			break;
		if (child + 1 < n && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], moved))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

/* Advance the top of the heap, or remove it at its end. */
static void
advance(struct lc__run_merge *merge)
{
	struct source *top = merge->heap[0];

	if (lc__run_next(&top->cursor)) {
		load_prefix(top);
	} else {
		if (top->cursor.damaged)
			merge->damaged = top->cursor.run->id + 1;
		merge->heap[0] = merge->heap[--merge->used];
	}
	if (merge->used > 0)
		sift_down(merge->heap, merge->used, 0);
}

struct lc__run_merge *
lc__run_merge_open(const struct lc__run *runs, uint32_t n, const void *from,
    size_t from_size)
{
	struct lc__run_merge *merge = calloc(1, sizeof(*merge));

	if (merge == NULL)
		return NULL;
	merge->sources = calloc(n + 1, sizeof(*merge->sources));
	merge->heap = calloc(n + 1, sizeof(struct source *));
	if (merge->sources == NULL || merge->heap == NULL) {
		lc__run_merge_close(merge);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct source *source = &merge->sources[i];

		source->age = i;
		if (lc__run_seek(&source->cursor, &runs[i], from, from_size)) {
			load_prefix(source);
			merge->heap[merge->used++] = source;
		} else if (source->cursor.damaged) {
			merge->damaged = runs[i].id + 1;
		}
	}
	for (uint32_t i = merge->used / 2; i-- > 0;)
		sift_down(merge->heap, merge->used, i);
	return merge;
}

lc_status
lc__run_merge_next(struct lc__run_merge *merge, struct lc__run_entry *out)
{
	for (;;) {
		struct lc__run_entry entry;

		if (merge->damaged != 0) {
			const uint64_t run = merge->damaged - 1;
			merge->damaged = 0;
			return lc__error(LC_CORRUPT, 0, "index run %llu is damaged",
			    (unsigned long long)run);
		}
		if (merge->used == 0)
			return LC_END;
		entry = merge->heap[0]->cursor.entry;
		advance(merge);
		if (merge->last.id != NULL &&
		    lc__id_compare(merge->last.id, merge->last.id_size, entry.id,
			entry.id_size) == 0)
			continue;
		merge->last = entry;
		*out = entry;
		return LC_OK;
	}
}

void
lc__run_merge_close(struct lc__run_merge *merge)
{
	if (merge == NULL)
		return;
	free(merge->sources);
	free(merge->heap);
	free(merge);
}
