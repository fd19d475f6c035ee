/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/record_offsets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/live.h"
#include "store/lookup.h"

/* ---- taking them down -------------------------------------------------------- */

/* One chunk on its way. */
struct taking {
	struct lc__snapshot *snapshot;
	const struct lc__places_ask *ask;
	struct lc__measure measure; /* of their lengths */
	struct lc__mapped_chunk chunk;
	struct lc__places *places;
	uint64_t n; /* records so far */
};

static lc_status
damaged(const struct taking *t, const char *what)
{
	return lc__error(LC_CORRUPT, 0, "%s: chunk %llu: %s",
	    lc__env_dir(t->snapshot->env),
	    (unsigned long long)t->places->key.chunk, what);
}

static lc_status
take_length(struct taking *t, uint64_t length)
{
	struct lc__places *p = t->places;

	if (!lc__add64(p->units, length, &p->units))
		return damaged(t, "the lengths of its records overflow");
	p->ends[t->n] = p->units;
	return LC_OK;
}

static lc_status
measure(struct taking *t, const struct lc__record *record, uint64_t *length)
{
	struct lc__known *known;

	if (lc__snapshot_schema(t->snapshot, record->schema, &known) != LC_OK)
		return lc__error_prefix("key %s",
		    lc__quote_id(record->id.data, record->id.size));
	*length = lc__measure(&t->measure, record, known->schema);
	return LC_OK;
}

/* The next record, which stands at an offset of the chunk. */
static lc_status
take_record(struct taking *t, const struct lc__record *record, uint64_t offset)
{
	uint64_t length = 1;

	if (t->n >= t->places->key.live)
		return damaged(t, "has more records than its ledger row says");
	if (lc__measures(&t->measure))
		return_if_error(measure(t, record, &length));
	return_if_error(take_length(t, length));
	if (t->places->at != NULL)
		t->places->at[t->n] = (struct lc__place){
			(uint32_t)((offset - LC__CHUNK_HEADER) / LC__RECORD_ALIGN),
			(uint32_t)(record->size / LC__RECORD_ALIGN)
		};
	t->n++;
	return LC_OK;
}

/* ---- where they come from ------------------------------------------------------ */

static lc_status
parse_at(const struct taking *t, uint64_t offset, struct lc__record *out)
{
	const char *key;

	if (offset < t->chunk.end && lc__record_parse(t->chunk.bytes + offset,
	    t->chunk.end - offset, out))
		return LC_OK;
	key = lc__index_key_at(t->snapshot, t->places->key.chunk, offset);
	return lc__error(LC_CORRUPT, 0, "%s: %s%s%sno record at byte %llu of chunk %llu",
	    lc__env_dir(t->snapshot->env), key ? "key " : "", key ? key : "",
	    key ? ": " : "", (unsigned long long)offset,
	    (unsigned long long)t->places->key.chunk);
}

/* What the index says of each. */
static lc_status
take_live(struct taking *t)
{
	struct lc__live_list list = { 0 };
	lc_status status = lc__live_add(&list, t->snapshot, t->places->key.chunk,
	    t->ask->row, false);

	for (uint32_t i = 0; status == LC_OK && i < list.count; i++) {
		const uint64_t offset =
		    lc__location_offset(list.records[i].location);
		struct lc__record record;

		status = parse_at(t, offset, &record);
		if (status == LC_OK)
			status = take_record(t, &record, offset);
	}
	lc__live_free(&list);
	return status;
}

static lc_status
take_directory_lengths(struct taking *t)
{
	const struct lc__directory *d = t->ask->directory;

	for (t->n = 0; t->n < d->records; t->n++)
		return_if_error(take_length(t, lc__directory_length(d, t->n)));
	return LC_OK;
}

/* The directory says where they stand, but not what is asked of them. */
static lc_status
take_by_directory(struct taking *t)
{
	const struct lc__directory *d = t->ask->directory;

	for (uint64_t i = 0; i < d->records; i++) {
		const uint64_t offset = LC__CHUNK_HEADER +
		    lc__directory_offset(d, i);
		struct lc__record record;

		return_if_error(parse_at(t, offset, &record));
		return_if_error(take_record(t, &record, offset));
	}
	return LC_OK;
}

static lc_status
take_all(struct taking *t)
{
	const struct lc__places_ask *ask = t->ask;

	if (ask->row->live != ask->row->records)
		return take_live(t);
	if (ask->own_lengths && ask->directory->has_lengths)
		return take_directory_lengths(t);
	return take_by_directory(t);
}

/* ---- putting them together ----------------------------------------------------- */

/* Records that follow each other and are alike need no list. */
static void
drop_alike_places(struct lc__places *p)
{
	const uint64_t size = p->at[0].size;

	for (uint64_t i = 0; i < p->key.live; i++)
		if (p->at[i].size != size || p->at[i].at != i * size)
			return;
	p->stride = size * LC__RECORD_ALIGN;
	free(p->at);
	p->at = NULL;
}

static void
drop_alike_lengths(struct lc__places *p)
{
	const uint64_t length = p->ends[0];

	for (uint64_t i = 1; i < p->key.live; i++)
		if (p->ends[i] - p->ends[i - 1] != length)
			return;
	p->length = length;
	free(p->ends);
	p->ends = NULL;
}

static lc_status
reserve(struct taking *t, bool places)
{
	struct lc__places *p = t->places;
	const uint64_t n = p->key.live;

	/* What a ledger row says of a chunk that has not so many must not allocate. */
	if (n == 0 || n > t->chunk.records)
		return damaged(t, "has another number of records than its ledger row "
		    "says");
	p->ends = malloc((size_t)n * sizeof(*p->ends));
	if (places)
		p->at = malloc((size_t)n * sizeof(*p->at));
	return p->ends == NULL || (places && p->at == NULL) ? lc__no_memory("source") : LC_OK;
}

static lc_status
take_chunk(struct taking *t)
{
	const bool places = t->ask->row->live != t->ask->row->records;

	return_if_error(lc__snapshot_chunk(t->snapshot, t->places->key.chunk,
	    &t->chunk));
	return_if_error(reserve(t, places));
	return_if_error(take_all(t));
	if (t->n != t->places->key.live)
		return damaged(t, "has fewer records than its ledger row says");
	if (places)
		drop_alike_places(t->places);
	else
		t->places->stride = t->ask->directory->stride;
	drop_alike_lengths(t->places);
	return LC_OK;
}

lc_status
lc__places_read(struct lc__snapshot *snapshot, const struct lc__places_key *key,
    const struct lc__places_ask *ask, struct lc__places **out)
{
	struct taking t = { .snapshot = snapshot, .ask = ask,
		.measure = { .field = ask->length_field } };
	lc_status status;

	t.places = calloc(1, sizeof(*t.places));
	if (t.places == NULL)
		return lc__no_memory("source");
	atomic_init(&t.places->refs, 1);
	t.places->key = *key;
	status = take_chunk(&t);
	if (status != LC_OK) {
		lc__places_drop(t.places);
		return status;
	}
	*out = t.places;
	return LC_OK;
}

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
