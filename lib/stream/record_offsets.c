/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/record_offsets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/live.h"
#include "store/lookup.h"

/* ---- computing them from a chunk ------------------------------------------------- */

/* A chunk whose offsets are being computed. */
struct making {
	struct lc__snapshot *snapshot;
	const struct lc__record_offsets_input *input;
	struct lc__measure measure; /* of the lengths of its records */
	struct lc__mapped_chunk chunk;
	struct lc__directory directory;
	struct lc__record_offsets *offsets;
	uint64_t n; /* records so far */
};

static lc_status
damaged(const struct making *m, const char *what)
{
	return lc__error(LC_CORRUPT, 0, "%s: chunk %llu: %s",
	    lc__env_dir(m->snapshot->env), (unsigned long long)m->offsets->key.chunk,
	    what);
}

static lc_status
add_length(struct making *m, uint64_t length)
{
	struct lc__record_offsets *o = m->offsets;

	if (m->n >= o->key.live)
		return damaged(m, "has more records than its ledger row says");
	if (!lc__add64(o->units, length, &o->units))
		return damaged(m, "the lengths of its records overflow");
	o->ends[m->n++] = o->units;
	return LC_OK;
}

/* The next record, at an offset in the chunk: its head has its length. */
static lc_status
add_record(struct making *m, uint64_t offset)
{
	struct lc__record_offsets *o = m->offsets;
	struct lc__record record;
	struct lc__known *known;
	uint64_t length = 1;

	if (offset >= m->chunk.end ||
	    !lc__record_parse(m->chunk.bytes + offset, m->chunk.end - offset, &record)) {
		const char *key = lc__index_key_at(m->snapshot, o->key.chunk, offset);

		return lc__error(LC_CORRUPT, 0,
		    "%s: %s%s%sno record at byte %llu of chunk %llu",
		    lc__env_dir(m->snapshot->env), key ? "key " : "", key ? key : "",
		    key ? ": " : "", (unsigned long long)offset,
		    (unsigned long long)o->key.chunk);
	}
	if (lc__measures(&m->measure)) {
		if (lc__snapshot_schema(m->snapshot, record.schema, &known) != LC_OK)
			return lc__error_prefix("key %s",
			    lc__quote_id(record.id.data, record.id.size));
		length = lc__measure(&m->measure, &record, known->schema);
	}
	return_if_error(add_length(m, length));
	if (o->at != NULL)
		o->at[m->n - 1] = (struct lc__record_offset){
			(uint32_t)((offset - LC__CHUNK_HEADER) / LC__RECORD_ALIGN),
			(uint32_t)(record.size / LC__RECORD_ALIGN)
		};
	return LC_OK;
}

/* Adjacent records of one size need no list of offsets, and records of one length no list
 * of lengths. */
static void
drop_lists(struct lc__record_offsets *o)
{
	const uint64_t n = o->key.live, length = o->ends[0];
	const uint64_t size = o->at != NULL ? o->at[0].size : 0;
	bool same_size = o->at != NULL, same_length = true;

	for (uint64_t i = 0; same_size && i < n; i++)
		same_size = o->at[i].size == size && o->at[i].at == i * size;
	if (same_size) {
		o->stride = size * LC__RECORD_ALIGN;
		free(o->at);
		o->at = NULL;
	}
	for (uint64_t i = 1; same_length && i < n; i++)
		same_length = o->ends[i] - o->ends[i - 1] == length;
	if (same_length) {
		o->length = length;
		free(o->ends);
		o->ends = NULL;
	}
}

static lc_status
make(struct making *m)
{
	struct lc__record_offsets *o = m->offsets;
	const uint64_t n = o->key.live;
	const bool some = m->input->row->live != m->input->row->records;
	lc_status status = LC_OK;

	return_if_error(lc__snapshot_chunk(m->snapshot, o->key.chunk, &m->chunk));
	if (!some)
		return_if_error(
		    lc__snapshot_directory(m->snapshot, &m->chunk, &m->directory));
	/* A damaged ledger row must not cause a larger allocation than the chunk
	 * justifies. */
	if (n == 0 || n > m->chunk.records)
		return damaged(m,
		    "has another number of records than its ledger row says");
	o->ends = malloc((size_t)n * sizeof(*o->ends));
	if (some)
		o->at = malloc((size_t)n * sizeof(*o->at));
	if (o->ends == NULL || (some && o->at == NULL))
		return lc__no_memory("source");

	if (some) {
		/* The index tells which records are live. */
		struct lc__live_list list = { 0 };

		status = lc__live_add(&list, m->snapshot, o->key.chunk, m->input->row,
		    false);
		for (uint32_t i = 0; status == LC_OK && i < list.count; i++)
			status = add_record(m,
			    lc__location_offset(list.records[i].location));
		lc__live_free(&list);
	} else {
		/* The directory has the offsets. It also has the lengths, if they are
		 * those that the source counts. */
		const struct lc__directory *d = &m->directory;
		const bool lengths = m->input->own_lengths && d->has_lengths;

		for (uint64_t i = 0; status == LC_OK && i < d->records; i++)
			status = lengths
			    ? add_length(m, lc__directory_length(d, i))
			    : add_record(m,
				  LC__CHUNK_HEADER + lc__directory_offset(d, i));
		o->stride = d->stride;
	}
	return_if_error(status);
	if (m->n != n)
		return damaged(m, "has fewer records than its ledger row says");
	drop_lists(o);
	return LC_OK;
}

lc_status
lc__record_offsets_read(struct lc__snapshot *snapshot,
    const struct lc__record_offsets_key *key,
    const struct lc__record_offsets_input *input, struct lc__record_offsets **out)
{
	struct making m = {
		.snapshot = snapshot,
		.input = input,
		.measure = { .field = input->length_field },
	};
	lc_status status;

	m.offsets = calloc(1, sizeof(*m.offsets));
	if (m.offsets == NULL)
		return lc__no_memory("source");
	atomic_init(&m.offsets->refs, 1);
	m.offsets->key = *key;
	status = make(&m);
	if (status != LC_OK) {
		lc__record_offsets_drop(m.offsets);
		return status;
	}
	*out = m.offsets;
	return LC_OK;
}

void
lc__record_offsets_drop(struct lc__record_offsets *offsets)
{
	if (offsets == NULL ||
	    atomic_fetch_sub_explicit(&offsets->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(offsets->at);
	free(offsets->ends);
	free(offsets);
}

/* ---- the cache ------------------------------------------------------------------ */

/* The hash table has a slot for this many bytes of the limit, about the size of an entry
 * with its arrays. */
#define BYTES_A_SLOT 1024
#define MOST_SLOTS ((uint64_t)1 << 20)

struct lc__offsets_cache {
	pthread_mutex_t lock;
	uint64_t limit;
	uint64_t bytes; /* of what is kept */
	uint64_t mask;  /* slots - 1 */
	struct lc__record_offsets **slots;
	struct lc__record_offsets *newest, *oldest;
};

static uint64_t
cost_of(const struct lc__record_offsets *offsets)
{
	uint64_t cost = sizeof(*offsets);

	if (offsets->at != NULL)
		cost += offsets->key.live * sizeof(*offsets->at);
	if (offsets->ends != NULL)
		cost += offsets->key.live * sizeof(*offsets->ends);
	return cost;
}

struct lc__offsets_cache *
lc__offsets_cache_new(uint64_t limit)
{
	struct lc__offsets_cache *cache = calloc(1, sizeof(*cache));
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
lc__offsets_cache_free(struct lc__offsets_cache *cache)
{
	struct lc__record_offsets *older;

	if (cache == NULL)
		return;
	for (struct lc__record_offsets *p = cache->newest; p != NULL; p = older) {
		older = p->older;
		lc__record_offsets_drop(p);
	}
	pthread_mutex_destroy(&cache->lock);
	free(cache->slots);
	free(cache);
}

static struct lc__record_offsets **
slot_of(struct lc__offsets_cache *cache, const struct lc__record_offsets_key *key)
{
	const uint64_t mixed = key->chunk * 0x9e3779b97f4a7c15u;

	return &cache->slots[(mixed >> 32 ^ mixed) & cache->mask];
}

static struct lc__record_offsets *
find_locked(struct lc__offsets_cache *cache, const struct lc__record_offsets_key *key)
{
	struct lc__record_offsets *p = *slot_of(cache, key);

	while (p != NULL &&
	    (p->key.chunk != key->chunk || p->key.records != key->records ||
		p->key.live != key->live || p->key.hash != key->hash ||
		p->key.ordinal != key->ordinal))
		p = p->next;
	return p;
}

static void
unlink_use_locked(struct lc__offsets_cache *cache, struct lc__record_offsets *p)
{
	*(p->newer != NULL ? &p->newer->older : &cache->newest) = p->older;
	*(p->older != NULL ? &p->older->newer : &cache->oldest) = p->newer;
}

static void
link_newest_locked(struct lc__offsets_cache *cache, struct lc__record_offsets *p)
{
	p->newer = NULL;
	p->older = cache->newest;
	*(p->older != NULL ? &p->older->newer : &cache->oldest) = p;
	cache->newest = p;
}

static struct lc__record_offsets *
hold(struct lc__record_offsets *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

/* Keep offsets, after removing the oldest ones to make room. */
static void
keep_locked(struct lc__offsets_cache *cache, struct lc__record_offsets *p)
{
	const uint64_t cost = cost_of(p);
	struct lc__record_offsets **slot = slot_of(cache, &p->key);

	while (cache->bytes > cache->limit - cost) {
		struct lc__record_offsets *old = cache->oldest;
		struct lc__record_offsets **link = slot_of(cache, &old->key);

		while (*link != old)
			link = &(*link)->next;
		*link = old->next;
		unlink_use_locked(cache, old);
		cache->bytes -= cost_of(old);
		lc__record_offsets_drop(old);
	}
	cache->bytes += cost;
	p->next = *slot;
	*slot = hold(p);
	link_newest_locked(cache, p);
}

struct lc__record_offsets *
lc__offsets_cache_get(struct lc__offsets_cache *cache,
    const struct lc__record_offsets_key *key)
{
	struct lc__record_offsets *p;

	pthread_mutex_lock(&cache->lock);
	p = find_locked(cache, key);
	if (p != NULL) {
		if (p != cache->newest) {
			unlink_use_locked(cache, p);
			link_newest_locked(cache, p);
		}
		hold(p);
	}
	pthread_mutex_unlock(&cache->lock);
	return p;
}

void
lc__offsets_cache_put(struct lc__offsets_cache *cache,
    struct lc__record_offsets **offsets)
{
	struct lc__record_offsets *known, *mine = *offsets;

	pthread_mutex_lock(&cache->lock);
	known = find_locked(cache, &mine->key);
	if (known != NULL)
		*offsets = hold(known);
	else if (cost_of(mine) <= cache->limit)
		keep_locked(cache, mine);
	pthread_mutex_unlock(&cache->lock);
	if (known != NULL)
		lc__record_offsets_drop(mine);
}

uint64_t
lc__offsets_cache_bytes(struct lc__offsets_cache *cache)
{
	uint64_t bytes;

	pthread_mutex_lock(&cache->lock);
	bytes = cache->bytes;
	pthread_mutex_unlock(&cache->lock);
	return bytes;
}

lc_status
lc__offsets_cache_need(struct lc__offsets_cache *cache, struct lc__snapshot *snapshot,
    uint64_t chunk, const struct lc__record_offsets_input *input,
    struct lc__record_offsets **out, bool *known)
{
	const struct lc__record_offsets_key key = { chunk, input->row->records,
		input->row->live, input->row->hash, input->row->ordinal };

	*out = lc__offsets_cache_get(cache, &key);
	*known = *out != NULL;
	if (*known)
		return LC_OK;
	return_if_error(lc__record_offsets_read(snapshot, &key, input, out));
	lc__offsets_cache_put(cache, out);
	return LC_OK;
}
