/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/places.h"

#include <pthread.h>
#include <stdlib.h>

/* Bytes of the limit that count as one slot of the table: an entry takes as many, and
 * its arrays come to that. */
#define BYTES_A_SLOT 1024
#define MOST_SLOTS ((uint64_t)1 << 20)

struct lc__places_cache {
	pthread_mutex_t lock;
	uint64_t limit;
	uint64_t bytes;              /* of what is kept */
	uint64_t mask;               /* slots - 1 */
	struct lc__places **slots;
	struct lc__places *newest, *oldest;
};

void
lc__places_drop(struct lc__places *places)
{
	if (places == NULL || atomic_fetch_sub_explicit(&places->refs, 1,
	    memory_order_acq_rel) != 1)
		return;
	free(places->at);
	free(places->ends);
	free(places);
}

static uint64_t
cost_of(const struct lc__places *places)
{
	uint64_t cost = sizeof(*places);

	if (places->at != NULL)
		cost += places->key.live * sizeof(*places->at);
	if (places->ends != NULL)
		cost += places->key.live * sizeof(*places->ends);
	return cost;
}

struct lc__places_cache *
lc__places_cache_new(uint64_t limit)
{
	struct lc__places_cache *cache = calloc(1, sizeof(*cache));
	uint64_t slots = 64;

	if (cache == NULL)
		return NULL;
	while (slots < MOST_SLOTS && slots < limit / BYTES_A_SLOT)
		slots *= 2;
	cache->slots = calloc(slots, sizeof(*cache->slots));
	if (cache->slots == NULL) {
		free(cache);
		return NULL;
	}
	pthread_mutex_init(&cache->lock, NULL);
	cache->limit = limit;
	cache->mask = slots - 1;
	return cache;
}

void
lc__places_cache_free(struct lc__places_cache *cache)
{
	struct lc__places *older;

	if (cache == NULL)
		return;
	for (struct lc__places *p = cache->newest; p != NULL; p = older) {
		older = p->older;
		lc__places_drop(p);
	}
	pthread_mutex_destroy(&cache->lock);
	free(cache->slots);
	free(cache);
}

/* ---- with the lock held ------------------------------------------------------ */

static struct lc__places **
slot_of(struct lc__places_cache *cache, const struct lc__places_key *key)
{
	const uint64_t mixed = key->chunk * 0x9e3779b97f4a7c15u;

	return &cache->slots[(mixed >> 32 ^ mixed) & cache->mask];
}

static bool
same_key(const struct lc__places_key *a, const struct lc__places_key *b)
{
	return a->chunk == b->chunk && a->records == b->records &&
	    a->live == b->live && a->hash == b->hash &&
	    a->ordinal == b->ordinal;
}

static struct lc__places *
find(struct lc__places_cache *cache, const struct lc__places_key *key)
{
	struct lc__places *p = *slot_of(cache, key);

	while (p != NULL && !same_key(&p->key, key))
		p = p->next;
	return p;
}

static void
unlink_use(struct lc__places_cache *cache, struct lc__places *p)
{
	*(p->newer != NULL ? &p->newer->older : &cache->newest) = p->older;
	*(p->older != NULL ? &p->older->newer : &cache->oldest) = p->newer;
}

static void
link_newest(struct lc__places_cache *cache, struct lc__places *p)
{
	p->newer = NULL;
	p->older = cache->newest;
	*(p->older != NULL ? &p->older->newer : &cache->oldest) = p;
	cache->newest = p;
}

static void
forget(struct lc__places_cache *cache, struct lc__places *p)
{
	struct lc__places **link = slot_of(cache, &p->key);

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	unlink_use(cache, p);
	cache->bytes -= cost_of(p);
	lc__places_drop(p);
}

static struct lc__places *
hold(struct lc__places *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

static void
keep(struct lc__places_cache *cache, struct lc__places *p)
{
	const uint64_t cost = cost_of(p);
	struct lc__places **slot = slot_of(cache, &p->key);

	while (cache->bytes > cache->limit - cost)
		forget(cache, cache->oldest);
	cache->bytes += cost;
	p->next = *slot;
	*slot = hold(p);
	link_newest(cache, p);
}

/* ---- finding and keeping ----------------------------------------------------- */

struct lc__places *
lc__places_cache_get(struct lc__places_cache *cache,
    const struct lc__places_key *key)
{
	struct lc__places *p;

	pthread_mutex_lock(&cache->lock);
	p = find(cache, key);
	if (p != NULL) {
		if (p != cache->newest) {
			unlink_use(cache, p);
			link_newest(cache, p);
		}
		hold(p);
	}
	pthread_mutex_unlock(&cache->lock);
	return p;
}

void
lc__places_cache_put(struct lc__places_cache *cache, struct lc__places **places)
{
	struct lc__places *known, *mine = *places;

	pthread_mutex_lock(&cache->lock);
	known = find(cache, &mine->key);
	if (known != NULL)
		*places = hold(known);
	else if (cost_of(mine) <= cache->limit)
		keep(cache, mine);
	pthread_mutex_unlock(&cache->lock);
	if (known != NULL)
		lc__places_drop(mine);
}

uint64_t
lc__places_cache_bytes(struct lc__places_cache *cache)
{
	uint64_t bytes;

	pthread_mutex_lock(&cache->lock);
	bytes = cache->bytes;
	pthread_mutex_unlock(&cache->lock);
	return bytes;
}
