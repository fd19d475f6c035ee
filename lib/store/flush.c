/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two buffers: `open` takes puts while `sealed` is being committed. A put waits when open
 * is full and sealed is not committed yet. If a commit fails, sealed stays, and the next
 * put that needs the room, or a flush, tries it again.
 */
#include "store/flush.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "index/run_build.h"
#include "store/commit.h"

/* ---- the flush thread ----------------------------------------------------- */

/* Hand the open buffer over to the flush thread; sealed must be NULL. */
static void
seal_locked(struct lc_cache *cache)
{
	cache->open->last_seq = cache->put_seq;
	cache->sealed = cache->open;
	cache->open = cache->spare;
	cache->spare = NULL;
	pthread_cond_signal(&cache->work);
}

/* Is the open buffer too full for @p more bytes? */
static bool
is_full_locked(const struct lc_cache *cache, size_t more)
{
	return cache->open->count > 0 &&
	    (cache->open->count >= cache->options.flush_every ||
		cache->open->used + more > cache->options.chunk_bytes);
}

/* When the open buffer must be committed because of its age; UINT64_MAX for never. */
static uint64_t
deadline_ns_locked(const struct lc_cache *cache)
{
	const uint64_t interval_ms = cache->options.flush_interval_ms;

	if (cache->held || interval_ms == 0 || cache->open == NULL ||
	    cache->open->count == 0 ||
	    interval_ms > (INT64_MAX - cache->open->first_ns) / 1000000)
		return UINT64_MAX;
	return cache->open->first_ns + interval_ms * 1000000;
}

/* Is the sealed buffer to be committed now? */
static bool
must_commit_locked(const struct lc_cache *cache)
{
	return cache->sealed != NULL && (!cache->failed || cache->retry);
}

/* Wait until there is a buffer to commit, or counters to save; false when the thread must
 * end. */
static bool
wait_for_work_locked(struct lc_cache *cache)
{
	for (;;) {
		uint64_t deadline;

		if (cache->stop)
			return false;
		if (must_commit_locked(cache) || cache->saving)
			return true;
		deadline = cache->sealed == NULL ? deadline_ns_locked(cache) : UINT64_MAX;
		if (lc__clock_ns() >= deadline)
			seal_locked(cache);
		else
			(void)lc__cond_wait(&cache->work, &cache->lock, deadline);
	}
}

/* Forget what a buffer holds. */
static void
drop_locked(struct lc_cache *cache, struct lc__pending *pending)
{
	atomic_fetch_sub(&cache->pending, pending->count);
	lc__pending_clear(pending, (size_t)cache->options.chunk_bytes * 2);
}

/* Warn once about each view or walk that pins a snapshot for too long. */
static void
warn_of_pins(struct lc_cache *cache)
{
	const uint64_t since_ns = lc__pool_oldest_pin_ns(cache->env);
	uint64_t age_ms;

	if (cache->options.pin_warn_ms == 0 || since_ns == 0 ||
	    since_ns == cache->warned_ns)
		return;
	age_ms = (lc__clock_coarse_ns() - since_ns) / 1000000;
	if (age_ms <= cache->options.pin_warn_ms)
		return;
	cache->warned_ns = since_ns;
	lc__cache_log(cache,
	    "%s: a view or a walk is held since %llu s; freed "
	    "space cannot be reused until it is released",
	    cache->module_id, (unsigned long long)age_ms / 1000);
}

/* The lock is released while LMDB writes, and while it waits for other writers. */
static void
commit_sealed_locked(struct lc_cache *cache)
{
	struct lc__pending *sealed = cache->sealed;
	lc_status status;

	cache->failed = cache->retry = false;
	pthread_mutex_unlock(&cache->lock);
	status = lc__commit(cache->env, sealed, cache->options.durability, NULL);
	warn_of_pins(cache);
	pthread_mutex_lock(&cache->lock);
	if (status != LC_OK) {
		cache->failed = true;
		cache->reported = false;
		cache->error = *lc_last_error();
		cache->error.status = status;
		return;
	}
	cache->owed = false;
	cache->durable_seq = sealed->last_seq;
	drop_locked(cache, sealed);
	cache->sealed = NULL;
	if (cache->open == NULL)
		cache->open = sealed;
	else
		cache->spare = sealed;
	/* Puts may have filled the open buffer during the commit: seal it here, because no
	 * other put may come to do it. */
	if (!cache->held && is_full_locked(cache, 1))
		seal_locked(cache);
}

/* A failure to save statistics is no failure of a close. */
static void
save_counters_locked(struct lc_cache *cache)
{
	pthread_mutex_unlock(&cache->lock);
	if (lc__counters_save(cache->env) != LC_OK)
		lc__cache_log(cache, "close: counters: %s", lc_last_error()->text);
	pthread_mutex_lock(&cache->lock);
	cache->saving = false;
}

static void *
flush_thread(void *arg)
{
	struct lc_cache *cache = arg;

	pthread_mutex_lock(&cache->lock);
	while (wait_for_work_locked(cache)) {
		if (must_commit_locked(cache))
			commit_sealed_locked(cache);
		else
			save_counters_locked(cache);
		pthread_cond_broadcast(&cache->done);
	}
	pthread_mutex_unlock(&cache->lock);
	return NULL;
}

/* The thread blocks all signals: a handler that ran here would make fdatasync() fail with
 * EINTR, and LMDB does not try again. */
static lc_status
start_thread_locked(struct lc_cache *cache)
{
	sigset_t all, old;
	int rc;

	if (cache->running)
		return LC_OK;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&cache->thread, NULL, flush_thread, cache);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0)
		return lc__error_sys(rc, "flush thread");
	cache->running = true;
	return LC_OK;
}

void
lc__flush_stop(struct lc_cache *cache)
{
	bool running;

	pthread_mutex_lock(&cache->lock);
	cache->stop = true;
	running = cache->running;
	pthread_cond_signal(&cache->work);
	pthread_mutex_unlock(&cache->lock);
	if (running)
		pthread_join(cache->thread, NULL);
	cache->running = false;
}

/* ---- waiting -------------------------------------------------------------- */

/* A caller's wait for the flush thread or for the end of a hold; LC_TIMEOUT when the limit of
 * the call has passed. *deadline is 0 before the first wait of a call: most calls do not
 * wait, and need no clock. */
static lc_status
wait_done_locked(struct lc_cache *cache, uint64_t *deadline)
{
	const uint64_t limit = atomic_load(&cache->timeout_ms);

	if (*deadline == 0)
		*deadline = lc__clock_deadline(limit);
	if (lc__cond_wait(&cache->done, &cache->lock, *deadline))
		return LC_OK;
	return lc__error(LC_TIMEOUT, 0,
	    "%s: its commit is not over after %llu ms; nothing is lost: call again",
	    cache->module_id, (unsigned long long)limit);
}

/* Report a failed commit, once; LC_OK if there is none to report. */
static lc_status
report_failure_locked(struct lc_cache *cache)
{
	if (!cache->failed || cache->reported || cache->retry)
		return LC_OK;
	cache->reported = true;
	cache->owed = false;
	return lc__error_raise(&cache->error);
}

/* Wait for the commit that is running, not for those that follow it. One that failed is
 * tried again, once. If a call has given up waiting for it since, its failure is reported
 * first: else calls with a short limit would try for ever and never say why. */
static lc_status
wait_for_commit_locked(struct lc_cache *cache, uint64_t *deadline)
{
	const uint64_t durable = cache->durable_seq;

	if (cache->owed)
		return_if_error(report_failure_locked(cache));
	if (cache->failed && !cache->retry) {
		cache->retry = true;
		pthread_cond_signal(&cache->work);
	}
	while (must_commit_locked(cache) && cache->durable_seq == durable) {
		const lc_status status = wait_done_locked(cache, deadline);

		if (status != LC_OK) {
			cache->owed = true;
			return status;
		}
	}
	return report_failure_locked(cache);
}

/* ---- adding --------------------------------------------------------------- */

static lc_status
prepare_open_locked(struct lc_cache *cache)
{
	return_if_error(start_thread_locked(cache));
	if (cache->open != NULL)
		return LC_OK;
	cache->open = calloc(1, sizeof(*cache->open));
	if (cache->open == NULL)
		return lc__no_memory("put");
	return LC_OK;
}

/* Make the open buffer ready for a record of @p size bytes. */
static lc_status
make_room_locked(struct lc_cache *cache, size_t size)
{
	size_t room = (size_t)cache->options.chunk_bytes;
	uint64_t deadline = 0;

	return_if_error(prepare_open_locked(cache));
	while (cache->held || is_full_locked(cache, size)) {
		if (cache->held) {
			return_if_error(wait_done_locked(cache, &deadline));
			return_if_error(prepare_open_locked(cache));
			continue;
		}
		if (cache->sealed == NULL) {
			seal_locked(cache);
			return_if_error(prepare_open_locked(cache));
			continue;
		}
		return_if_error(wait_for_commit_locked(cache, &deadline));
		/* The failure was reported before and persists: refuse the put. */
		if (cache->failed)
			return lc__error_raise(&cache->error);
	}
	return lc__pending_reserve(cache->open, size > room ? size : room);
}

/* A put or delete for the open buffer: a draft to encode, or an encoded record. */
struct addition {
	uint64_t hash;                 /* of the cache_id */
	size_t size;                   /* of the record */
	const struct lc__draft *draft; /* NULL: record is set */
	const struct lc__record *record;
	struct lc__known *known; /* NULL for a delete */
};

static lc_status
add(struct lc_cache *cache, const struct addition *a)
{
	lc_status status;

	pthread_mutex_lock(&cache->lock);
	status = report_failure_locked(cache);
	if (status == LC_OK)
		status = make_room_locked(cache, a->size);
	if (status == LC_OK && a->draft != NULL)
		status = lc__pending_add(cache->open, a->hash, a->draft, a->size,
		    a->known);
	else if (status == LC_OK)
		status = lc__pending_add_record(cache->open, a->hash, a->record,
		    a->known);
	if (status == LC_OK) {
		cache->put_seq++;
		atomic_fetch_add(&cache->pending, 1);
		if (cache->open->count == 1) {
			cache->open->first_ns = lc__clock_ns();
			if (cache->options.flush_interval_ms > 0)
				pthread_cond_signal(&cache->work);
		}
		if (cache->sealed == NULL && is_full_locked(cache, 1))
			seal_locked(cache);
	}
	pthread_mutex_unlock(&cache->lock);
	return status;
}

/* A rank that does not write finds its own puts in the LRU by their cache_ids. */
static struct lc__lru_key
kept_key(const struct lc_cache *cache, const void *id, size_t id_size)
{
	return (struct lc__lru_key){
		.location = lc__run_hash(lc__env_seed(cache->env), id, id_size),
		.part = LC__LRU_RECORD,
		.id = { id, id_size },
	};
}

lc_status
lc__encode(const struct lc__draft *draft, struct lc__known *known,
    struct lc__encoded *out)
{
	const size_t size = lc__record_size(draft);
	struct lc__block *block;

	if (size == 0)
		return lc__error(LC_INVALID, 0, "its record is above the limit of 2 GiB");
	block = lc__block_new(size);
	if (block == NULL)
		return lc__error(LC_NO_MEMORY, 0, "put: %s: out of memory",
		    lc__quote_id(draft->id.data, draft->id.size));
	lc__record_encode(block->data, size, draft);
	*out = (struct lc__encoded){ block, known };
	return LC_OK;
}

/* On a rank that does not write: keep a put, or forget what a delete names. */
static lc_status
keep(struct lc_cache *cache, const struct lc__draft *draft, struct lc__known *known)
{
	const struct lc__lru_key key = kept_key(cache, draft->id.data, draft->id.size);
	struct lc__encoded encoded;

	if (known == NULL) {
		lc__lru_remove(cache->lru, &key);
		return LC_OK;
	}
	if (cache->lru == NULL)
		return LC_OK;
	return_if_error(lc__encode(draft, known, &encoded));
	lc__lru_put(cache->lru, &key, encoded.block, known);
	lc__block_drop(encoded.block);
	return LC_OK;
}

lc_status
lc__flush_add(struct lc_cache *cache, const struct lc__draft *draft,
    struct lc__known *known)
{
	struct addition addition = { .draft = draft, .known = known };

	if (!cache->writes)
		return keep(cache, draft, known);
	addition.size = lc__record_size(draft);
	if (addition.size == 0)
		return lc__error(LC_INVALID, 0, "its record is above the limit of 2 GiB");
	addition.hash = lc__run_hash(lc__env_seed(cache->env), draft->id.data,
	    draft->id.size);
	return add(cache, &addition);
}

lc_status
lc__flush_add_record(struct lc_cache *cache, const struct lc__record *record,
    struct lc__known *known)
{
	const struct addition addition = {
		.hash = lc__run_hash(lc__env_seed(cache->env), record->id.data,
		    record->id.size),
		.size = record->size,
		.record = record,
		.known = known,
	};

	return add(cache, &addition);
}

lc_status
lc__flush_add_encoded(struct lc_cache *cache, const struct lc__encoded *encoded)
{
	struct lc__lru_key key;
	struct lc__record record;

	/* Our own bytes: they always parse. */
	(void)lc__record_parse(encoded->block->data, encoded->block->size, &record);
	if (cache->writes)
		return lc__flush_add_record(cache, &record, encoded->known);
	key = kept_key(cache, record.id.data, record.id.size);
	lc__lru_put(cache->lru, &key, encoded->block, encoded->known);
	return LC_OK;
}

/* ---- flushing ------------------------------------------------------------- */

lc_status
lc__flush_all(struct lc_cache *cache)
{
	lc_status status = LC_OK;
	uint64_t target, deadline = 0;

	pthread_mutex_lock(&cache->lock);
	target = cache->put_seq;
	while (status == LC_OK && cache->durable_seq < target) {
		if (cache->held) {
			status = wait_done_locked(cache, &deadline);
		} else if (cache->sealed == NULL) {
			seal_locked(cache);
		} else {
			status = wait_for_commit_locked(cache, &deadline);
			if (status == LC_OK && cache->failed)
				status = lc__error_raise(&cache->error);
		}
	}
	pthread_mutex_unlock(&cache->lock);
	return status;
}

lc_status
lc_flush(lc_cache *cache)
{
	return lc__flush_all(cache);
}

void
lc_set_timeout(lc_cache *cache, uint64_t timeout_ms)
{
	atomic_store(&cache->timeout_ms, timeout_ms);
}

lc_status
lc__flush_counters(struct lc_cache *cache)
{
	lc_status status = LC_OK;
	uint64_t deadline = 0;

	/* An earlier call may have asked, and given up waiting. */
	pthread_mutex_lock(&cache->lock);
	while (status == LC_OK && cache->saving)
		status = wait_done_locked(cache, &deadline);
	pthread_mutex_unlock(&cache->lock);
	if (status != LC_OK || !lc__counters_unsaved(cache->env))
		return status;
	pthread_mutex_lock(&cache->lock);
	if (start_thread_locked(cache) != LC_OK) {
		lc__cache_log(cache, "close: counters: %s", lc_last_error()->text);
	} else {
		cache->saving = true;
		pthread_cond_signal(&cache->work);
		while (status == LC_OK && cache->saving)
			status = wait_done_locked(cache, &deadline);
	}
	pthread_mutex_unlock(&cache->lock);
	return status;
}

/* ---- holding -------------------------------------------------------------- */

static void
end_hold_locked(struct lc_cache *cache)
{
	cache->held = false;
	/* The open buffer may be due now. */
	pthread_cond_signal(&cache->work);
	pthread_cond_broadcast(&cache->done);
}

lc_status
lc__flush_hold(struct lc_cache *cache)
{
	lc_status status = LC_OK;
	uint64_t deadline = 0;

	pthread_mutex_lock(&cache->lock);
	while (status == LC_OK && cache->held)
		status = wait_done_locked(cache, &deadline);
	if (status == LC_OK) {
		cache->held = true;
		while (status == LC_OK && must_commit_locked(cache))
			status = wait_done_locked(cache, &deadline);
		if (status != LC_OK)
			end_hold_locked(cache);
	}
	pthread_mutex_unlock(&cache->lock);
	return status;
}

void
lc__flush_release(struct lc_cache *cache, bool dropping)
{
	pthread_mutex_lock(&cache->lock);
	if (dropping) {
		if (cache->open != NULL)
			drop_locked(cache, cache->open);
		/* The commit of a buffer that is still sealed has failed. */
		if (cache->sealed != NULL) {
			drop_locked(cache, cache->sealed);
			if (cache->open == NULL)
				cache->open = cache->sealed;
			else
				cache->spare = cache->sealed;
			cache->sealed = NULL;
			cache->failed = false;
		}
		cache->durable_seq = cache->put_seq;
	}
	end_hold_locked(cache);
	pthread_mutex_unlock(&cache->lock);
}

/* ---- finding uncommitted writes ------------------------------------------- */

/* Look in both buffers, and copy a put: its buffer may be committed and used again as
 * soon as the lock is released. */
static lc_status
find_pending_locked(const struct lc_cache *cache, uint64_t hash, const void *id,
    size_t id_size, struct lc__encoded *out, enum lc__uncommitted *answer)
{
	const struct lc__pending *const newest_first[] = { cache->open, cache->sealed };

	for (int i = 0; i < 2; i++) {
		const struct lc__pending *pending = newest_first[i];
		const struct lc__pending_entry *entry = NULL;
		struct lc__record record;

		if (pending != NULL)
			entry = lc__pending_find(pending, hash, id, id_size);
		if (entry == NULL)
			continue;
		*answer = entry->deletes ? LC__UNCOMMITTED_DELETED : LC__UNCOMMITTED_PUT;
		if (entry->deletes || out == NULL)
			return LC_OK;
		lc__pending_record(pending, entry, &record);
		out->known = pending->schemas[entry->schema].known;
		out->block = lc__block_new(record.size);
		if (out->block == NULL)
			return lc__error(LC_NO_MEMORY, 0, "get: %s: out of memory",
			    lc__quote_id(id, id_size));
		memcpy(out->block->data, lc__record_start(&record), record.size);
		return LC_OK;
	}
	return LC_OK;
}

lc_status
lc__flush_find(struct lc_cache *cache, const void *id, size_t id_size,
    struct lc__encoded *out, enum lc__uncommitted *answer)
{
	lc_status status;
	uint64_t hash;

	*answer = LC__UNCOMMITTED_NONE;
	if (!cache->writes) {
		const struct lc__lru_key key = kept_key(cache, id, id_size);
		const void *known = NULL;
		struct lc__block *block = lc__lru_get_noted(cache->lru, &key, &known);

		if (block != NULL)
			*answer = LC__UNCOMMITTED_PUT;
		if (out == NULL)
			lc__block_drop(block);
		else
			*out = (struct lc__encoded){ block, (struct lc__known *)known };
		return LC_OK;
	}
	if (atomic_load_explicit(&cache->pending, memory_order_acquire) == 0)
		return LC_OK;
	hash = lc__run_hash(lc__env_seed(cache->env), id, id_size);
	pthread_mutex_lock(&cache->lock);
	status = find_pending_locked(cache, hash, id, id_size, out, answer);
	pthread_mutex_unlock(&cache->lock);
	return status;
}
