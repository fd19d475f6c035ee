/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/once.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/populate.h"

/* Keys in a bucket, which is one cache line. */
#define BUCKET 8
#define LINE 64
/* The fewest and the most buckets: 4 KiB and 512 MiB. */
#define FEWEST ((uint64_t)64)
#define MOST_BITS 23
#define MOST ((uint64_t)1 << MOST_BITS)
/* A key whose bucket is full goes into the next one with room. After this many full ones,
 * which only happens in the largest table, it replaces another key, whose bytes are then
 * verified again. */
#define PROBES 16

struct table {
	struct table *smaller; /* the previous table: threads may still read it */
	uint64_t buckets;      /* a power of two */
	_Atomic uint64_t used; /* keys */
	_Atomic uint64_t (*bucket)[BUCKET]; /* 0: free. A mapping */
};

struct lc__once {
	_Atomic(struct table *) table; /* NULL: empty */
	atomic_flag growing;           /* a thread is building a larger one */
	_Atomic uint64_t age;          /* part of all keys, so that older ones become
	                                * invalid */
};

struct lc__once *
lc__once_new(void)
{
	struct lc__once *once = calloc(1, sizeof(*once));

	if (once != NULL)
		atomic_flag_clear(&once->growing);
	return once;
}

void
lc__once_free(struct lc__once *once)
{
	struct table *smaller;

	if (once == NULL)
		return;
	for (struct table *t = atomic_load(&once->table); t != NULL; t = smaller) {
		smaller = t->smaller;
		munmap(t->bucket, t->buckets * LINE);
		free(t);
	}
	free(once);
}

void
lc__once_forget(struct lc__once *once)
{
	atomic_fetch_add(&once->age, 1);
	/* After a fork the thread that was growing it may not exist. */
	atomic_flag_clear(&once->growing);
}

/* ---- keys ----------------------------------------------------------------- */

static uint64_t
mix(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)(a ^
					      UINT64_C(0x9e3779b97f4a7c15)) *
	    (b ^ UINT64_C(0xd6e8feb86659fd93));

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

struct lc__once_seen
lc__seen_of(struct lc__once *once, const struct lc__snapshot *snapshot,
    const struct lc__mapped_chunk *chunk)
{
	const uint64_t age = atomic_load_explicit(&once->age, memory_order_relaxed);

	return (struct lc__once_seen){
		.once = once,
		.records = snapshot->state.live,
		.chunk = mix(mix(chunk->id, chunk->records),
		    mix(age, snapshot->map_version)),
	};
}

/*
 * The low bits of a key, which select its bucket, do not depend on the checksum: so the
 * bucket can be prefetched before the checksum is read. They are the upper bits of a
 * product: addresses of records of one size are an arithmetic progression, which would
 * otherwise fill only some buckets.
 */
static uint64_t
place_of(const struct lc__once_seen *seen, const void *at)
{
	uint64_t place = mix(seen->chunk, (uintptr_t)at);

	place = (place ^ place >> 32) * UINT64_C(0x9fb21c651e98df25);
	return place << MOST_BITS | place >> (64 - MOST_BITS);
}

static uint64_t
key_of(uint64_t place, uint64_t checksum)
{
	const uint64_t key = mix(place, checksum) << MOST_BITS | (place & (MOST - 1));

	return key != 0 ? key : 1;
}

/* ---- the set -------------------------------------------------------------- */

/* The bucket of a key, or one after it. */
static _Atomic uint64_t *
bucket_of(struct table *table, uint64_t key, uint64_t after)
{
	return table->bucket[(key + after) & (table->buckets - 1)];
}

void
lc__seen_fetch(const struct lc__once_seen *seen, const void *at)
{
	struct table *table = atomic_load_explicit(&seen->once->table,
	    memory_order_acquire);

	if (table != NULL)
		__builtin_prefetch((const void *)bucket_of(table, place_of(seen, at), 0));
}

bool
lc__once_has(const struct lc__once_seen *seen, const void *at, uint64_t checksum)
{
	struct table *table;
	uint64_t key;

	table = atomic_load_explicit(&seen->once->table, memory_order_acquire);
	if (table == NULL)
		return false;
	key = key_of(place_of(seen, at), checksum);
	for (unsigned after = 0; after < PROBES; after++) {
		const _Atomic uint64_t *bucket = bucket_of(table, key, after);

		for (unsigned i = 0; i < BUCKET; i++)
			if (atomic_load_explicit(&bucket[i], memory_order_relaxed) == key)
				return true;
		if (atomic_load_explicit(&bucket[BUCKET - 1], memory_order_relaxed) == 0)
			return false;
	}
	return false;
}

/* Threads that add at once may overwrite each other: then one of the keys is lost. */
static void
add(struct table *table, uint64_t key)
{
	for (unsigned i = 0; i < PROBES * BUCKET; i++) {
		_Atomic uint64_t *slot = bucket_of(table, key, i / BUCKET) + i % BUCKET;

		if (atomic_load_explicit(slot, memory_order_relaxed) != 0)
			continue;
		atomic_store_explicit(slot, key, memory_order_relaxed);
		atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(bucket_of(table, key, 0) + (key >> MOST_BITS) % BUCKET, key,
	    memory_order_relaxed);
}

/* Room for twice as many keys. The system provides the memory as it is touched, in huge
 * pages where it can: keys are asked for at random. */
static struct table *
new_table(uint64_t keys, struct table *smaller)
{
	uint64_t buckets = FEWEST;
	struct table *table;
	void *memory;

	while (buckets < MOST && buckets * BUCKET < keys * 2)
		buckets *= 2;
	memory = mmap(NULL, buckets * LINE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	table = calloc(1, sizeof(*table));
	if (table == NULL) {
		munmap(memory, buckets * LINE);
		return NULL;
	}
	if (buckets * LINE >= LC__HUGE_PAGE)
		(void)madvise(memory, buckets * LINE, MADV_HUGEPAGE);
	table->bucket = memory;
	table->buckets = buckets;
	table->smaller = smaller;
	for (uint64_t b = 0; smaller != NULL && b < smaller->buckets; b++)
		for (unsigned i = 0; i < BUCKET && smaller->bucket[b][i] != 0; i++)
			add(table, smaller->bucket[b][i]);
	return table;
}

/* The table, with room for one more key unless there is no memory. One thread at a time
 * builds a larger one; keys that others add to the old one meanwhile may be lost. */
static struct table *
table_of(const struct lc__once_seen *seen)
{
	struct lc__once *once = seen->once;
	struct table *table = atomic_load_explicit(&once->table, memory_order_acquire);
	struct table *larger;

	if (table != NULL &&
	    (table->buckets == MOST ||
		atomic_load_explicit(&table->used, memory_order_relaxed) <
		    table->buckets * BUCKET / 8 * 5))
		return table;
	if (atomic_flag_test_and_set_explicit(&once->growing, memory_order_acquire))
		return table;
	/* Another thread may have been faster. */
	if (table == atomic_load_explicit(&once->table, memory_order_acquire)) {
		larger = new_table(table != NULL ? table->used : seen->records, table);
		if (larger != NULL) {
			atomic_store_explicit(&once->table, larger, memory_order_release);
			table = larger;
		}
	}
	atomic_flag_clear_explicit(&once->growing, memory_order_release);
	return table;
}

void
lc__once_add(const struct lc__once_seen *seen, const void *at, uint64_t checksum)
{
	struct table *table = table_of(seen);

	if (table != NULL)
		add(table, key_of(place_of(seen, at), checksum));
}
