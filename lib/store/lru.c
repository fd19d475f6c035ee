/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The LRU is a hash table with chains, and a ring of all entries by their last use. One
 * lock guards it and is held only for a few pointer operations: entries are allocated and
 * blocks are freed outside of it.
 */
#include "store/lru.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* The struct fits one unit, so the data after it is aligned. */
#define UNIT 64

_Static_assert(sizeof(struct lc__block) <= UNIT, "the struct fits its unit");

size_t
lc__block_cost(size_t size)
{
	if (size > SIZE_MAX - 2 * UNIT)
		return SIZE_MAX;
	return UNIT + (size_t)lc__round_up(size, UNIT);
}

struct lc__block *
lc__block_new(size_t size)
{
	const size_t cost = lc__block_cost(size);
	struct lc__block *block = cost == SIZE_MAX ? NULL : aligned_alloc(UNIT, cost);

	if (block == NULL)
		return NULL;
	atomic_init(&block->refs, 1);
	block->size = size;
	block->data = (unsigned char *)block + UNIT;
	return block;
}

struct lc__block *
lc__block_hold(struct lc__block *block)
{
	atomic_fetch_add_explicit(&block->refs, 1, memory_order_relaxed);
	return block;
}

void
lc__block_drop(struct lc__block *block)
{
	if (block != NULL &&
	    atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) == 1)
		free(block);
}

/* ---- the LRU ------------------------------------------------------------- */

struct entry {
	struct entry *chain; /* the next in its slot, or in a list of removed entries */
	struct entry *newer; /* ring by last use; both ends are lc__lru.ring */
	struct entry *older;
	uint64_t hash;           /* of the key */
	struct lc__lru_key key;  /* its id is stored after the struct */
	struct lc__block *block; /* held */
	const void *note;        /* the caller's */
};

struct lc__lru {
	pthread_mutex_t lock; /* guards what follows */
	struct entry ring;    /* older: the newest entry; newer: the oldest */
	struct entry **slots; /* chains by hash; NULL while nslots is 0 */
	size_t nslots;        /* a power of two, never above 2 * count */
	size_t count;         /* entries */
	uint64_t bytes;       /* cost of all entries */
	uint64_t limit;       /* limit of bytes */
	uint64_t hits, misses, evictions;
};

/* ---- keys ----------------------------------------------------------------- */

static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* The cache_id of a key need not be hashed: the key's location is its hash. */
static uint64_t
key_hash(const struct lc__lru_key *key)
{
	return mix(mix(key->location + key->part) ^ key->checksum);
}

static bool
key_equal(const struct lc__lru_key *a, const struct lc__lru_key *b)
{
	return a->location == b->location && a->checksum == b->checksum &&
	    a->part == b->part && a->id.size == b->id.size &&
	    (a->id.size == 0 || memcmp(a->id.data, b->id.data, a->id.size) == 0);
}

uint64_t
lc__lru_cost(const struct lc__lru_key *key, size_t block_size)
{
	const uint64_t rest = sizeof(struct entry) + key->id.size +
	    2 * sizeof(struct entry *);
	const uint64_t block = lc__block_cost(block_size);

	return block > UINT64_MAX - rest ? UINT64_MAX : block + rest;
}

static uint64_t
entry_cost(const struct entry *entry)
{
	return lc__lru_cost(&entry->key, entry->block->size);
}

/* ---- entries -------------------------------------------------------------- */

static struct entry *
new_entry(const struct lc__lru_key *key, uint64_t hash, struct lc__block *block,
    const void *note)
{
	struct entry *entry = malloc(sizeof(*entry) + key->id.size);

	if (entry == NULL)
		return NULL;
	entry->hash = hash;
	entry->key = *key;
	if (key->id.size > 0)
		entry->key.id.data = memcpy(entry + 1, key->id.data, key->id.size);
	entry->block = lc__block_hold(block);
	entry->note = note;
	return entry;
}

/* Free a list of removed entries. */
static void
free_entries(struct entry *entry)
{
	while (entry != NULL) {
		struct entry *next = entry->chain;

		lc__block_drop(entry->block);
		free(entry);
		entry = next;
	}
}

/* ---- the hash table -------------------------------------------------------- */

/* The link to the entry of a key, or the end of its chain. There must be slots. */
static struct entry **
find_link_locked(const struct lc__lru *lru, const struct lc__lru_key *key, uint64_t hash)
{
	struct entry **link = &lru->slots[hash & (lru->nslots - 1)];

	while (*link != NULL && ((*link)->hash != hash || !key_equal(&(*link)->key, key)))
		link = &(*link)->chain;
	return link;
}

/* Double the slots: each chain splits in two. If there is no memory, the chains get
 * longer. */
static void
grow_locked(struct lc__lru *lru)
{
	const size_t half = lru->nslots;
	struct entry **slots = realloc(lru->slots, 2 * half * sizeof(*slots));

	if (slots == NULL)
		return;
	lru->slots = slots;
	lru->nslots = 2 * half;
	for (size_t i = 0; i < half; i++) {
		struct entry **low = &slots[i], **high = &slots[half + i];

		for (struct entry *entry = slots[i]; entry != NULL;
		     entry = entry->chain) {
			struct entry ***to = entry->hash & half ? &high : &low;

			**to = entry;
			*to = &entry->chain;
		}
		*low = *high = NULL;
	}
}

/* Halve the slots; from 2 to none. */
static void
shrink_locked(struct lc__lru *lru)
{
	const size_t half = lru->nslots / 2;
	struct entry **slots;

	for (size_t i = 0; i < half; i++) {
		struct entry **link = &lru->slots[i];

		while (*link != NULL)
			link = &(*link)->chain;
		*link = lru->slots[half + i];
	}
	lru->nslots = half;
	slots = realloc(lru->slots, half * sizeof(*slots));
	if (slots != NULL)
		lru->slots = slots;
}

/* ---- adding and removing, under the lock ----------------------------------------- */

static void
ring_add_locked(struct lc__lru *lru, struct entry *entry)
{
	entry->newer = &lru->ring;
	entry->older = lru->ring.older;
	entry->older->newer = entry;
	lru->ring.older = entry;
}

static void
ring_leave_locked(struct entry *entry)
{
	entry->newer->older = entry->older;
	entry->older->newer = entry->newer;
}

/* Remove the entry at a link and add it to a list of removed ones. */
static void
leave_locked(struct lc__lru *lru, struct entry **link, struct entry **left)
{
	struct entry *entry = *link;

	*link = entry->chain;
	ring_leave_locked(entry);
	lru->bytes -= entry_cost(entry);
	lru->count--;
	entry->chain = *left;
	*left = entry;
	if (lru->count == 0) {
		free(lru->slots);
		lru->slots = NULL;
		lru->nslots = 0;
	} else if (2 * lru->count < lru->nslots) {
		shrink_locked(lru);
	}
}

static void
leave_key_locked(struct lc__lru *lru, const struct lc__lru_key *key, uint64_t hash,
    struct entry **left)
{
	struct entry **link;

	if (lru->count == 0)
		return;
	link = find_link_locked(lru, key, hash);
	if (*link != NULL)
		leave_locked(lru, link, left);
}

/* Add an entry; false if there is no memory for slots. The number of entries must double
 * or halve between growing and shrinking; there are never more than two slots for each
 * entry. */
static bool
enter_locked(struct lc__lru *lru, struct entry *entry)
{
	struct entry **slot;

	if (lru->nslots == 0) {
		lru->slots = calloc(2, sizeof(*lru->slots));
		if (lru->slots == NULL)
			return false;
		lru->nslots = 2;
	} else if (lru->count >= 2 * lru->nslots) {
		grow_locked(lru);
	}
	slot = &lru->slots[entry->hash & (lru->nslots - 1)];
	entry->chain = *slot;
	*slot = entry;
	ring_add_locked(lru, entry);
	lru->bytes += entry_cost(entry);
	lru->count++;
	return true;
}

/* ---- the calls ------------------------------------------------------------- */

static void
start(struct lc__lru *lru)
{
	lru->ring.newer = lru->ring.older = &lru->ring;
	lru->slots = NULL;
	lru->nslots = lru->count = 0;
	lru->bytes = 0;
}

struct lc__lru *
lc__lru_new(uint64_t limit)
{
	struct lc__lru *lru = limit > 0 ? calloc(1, sizeof(*lru)) : NULL;

	if (lru == NULL)
		return NULL;
	pthread_mutex_init(&lru->lock, NULL);
	lru->limit = limit;
	start(lru);
	return lru;
}

void
lc__lru_free(struct lc__lru *lru)
{
	if (lru == NULL)
		return;
	lc__lru_clear(lru);
	pthread_mutex_destroy(&lru->lock);
	free(lru);
}

struct lc__block *
lc__lru_get_noted(struct lc__lru *lru, const struct lc__lru_key *key, const void **note)
{
	struct lc__block *block = NULL;
	struct entry *entry = NULL;
	uint64_t hash;

	if (lru == NULL)
		return NULL;
	hash = key_hash(key);
	pthread_mutex_lock(&lru->lock);
	if (lru->count > 0)
		entry = *find_link_locked(lru, key, hash);
	if (entry != NULL) {
		lru->hits++;
		ring_leave_locked(entry);
		ring_add_locked(lru, entry);
		block = lc__block_hold(entry->block);
		*note = entry->note;
	} else {
		lru->misses++;
	}
	pthread_mutex_unlock(&lru->lock);
	return block;
}

bool
lc__lru_has(struct lc__lru *lru, const struct lc__lru_key *key)
{
	bool has;

	if (lru == NULL)
		return false;
	pthread_mutex_lock(&lru->lock);
	has = lru->count > 0 && *find_link_locked(lru, key, key_hash(key)) != NULL;
	pthread_mutex_unlock(&lru->lock);
	return has;
}

struct lc__block *
lc__lru_get(struct lc__lru *lru, const struct lc__lru_key *key)
{
	const void *note;

	return lc__lru_get_noted(lru, key, &note);
}

void
lc__lru_put(struct lc__lru *lru, const struct lc__lru_key *key, struct lc__block *block,
    const void *note)
{
	struct entry *entry = NULL, *left = NULL;
	uint64_t cost, hash;

	if (lru == NULL)
		return;
	cost = lc__lru_cost(key, block->size);
	hash = key_hash(key);
	if (cost <= lru->limit)
		entry = new_entry(key, hash, block, note);
	pthread_mutex_lock(&lru->lock);
	leave_key_locked(lru, key, hash, &left);
	if (entry != NULL) {
		while (lru->bytes > lru->limit - cost) {
			const struct entry *oldest = lru->ring.newer;

			leave_locked(lru,
			    find_link_locked(lru, &oldest->key, oldest->hash), &left);
			lru->evictions++;
		}
		if (!enter_locked(lru, entry)) {
			entry->chain = left;
			left = entry;
		}
	}
	pthread_mutex_unlock(&lru->lock);
	free_entries(left);
}

void
lc__lru_remove(struct lc__lru *lru, const struct lc__lru_key *key)
{
	struct entry *left = NULL;

	if (lru == NULL)
		return;
	pthread_mutex_lock(&lru->lock);
	leave_key_locked(lru, key, key_hash(key), &left);
	pthread_mutex_unlock(&lru->lock);
	free_entries(left);
}

void
lc__lru_clear(struct lc__lru *lru)
{
	struct entry *left = NULL;

	if (lru == NULL)
		return;
	pthread_mutex_lock(&lru->lock);
	for (struct entry *entry = lru->ring.newer; entry != &lru->ring;
	     entry = entry->newer) {
		entry->chain = left;
		left = entry;
	}
	free(lru->slots);
	start(lru);
	pthread_mutex_unlock(&lru->lock);
	free_entries(left);
}

void
lc__lru_count(struct lc__lru *lru, lc_counters *out)
{
	out->lru_hits = out->lru_misses = out->lru_evictions = 0;
	out->lru_records = out->lru_bytes = 0;
	if (lru == NULL)
		return;
	pthread_mutex_lock(&lru->lock);
	out->lru_hits = lru->hits;
	out->lru_misses = lru->misses;
	out->lru_evictions = lru->evictions;
	out->lru_records = lru->count;
	out->lru_bytes = lru->bytes;
	pthread_mutex_unlock(&lru->lock);
}

/* ---- fork ------------------------------------------------------------------ */

void
lc__lru_before_fork(struct lc__lru *lru)
{
	if (lru != NULL)
		pthread_mutex_lock(&lru->lock);
}

void
lc__lru_after_fork_parent(struct lc__lru *lru)
{
	if (lru != NULL)
		pthread_mutex_unlock(&lru->lock);
}

void
lc__lru_after_fork_child(struct lc__lru *lru)
{
	if (lru != NULL)
		pthread_mutex_init(&lru->lock, NULL);
}
