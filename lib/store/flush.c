/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pending writes of a handle and the thread that commits them.
 *
 * Two buffers: `open` takes puts while `sealed` is being committed. A put waits
 * when open is full and sealed is still there. If a commit fails, sealed stays
 * and is tried again by the next put that needs the room, or by a flush.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/cache.h"
#include "store/flush.h"
#include "store/commit.h"
#include "value/tensor.h"
#include "index/run_build.h"

/* ---- the flush thread ----------------------------------------------------- */

/* Hand the open buffer over for its commit; there must be none on its way. */
static void
seal(struct lc_cache *cache)
{
	cache->open->last_seq = cache->put_seq;
	cache->sealed = cache->open;
	cache->open = cache->spare;
	cache->spare = NULL;
	pthread_cond_signal(&cache->work);
}

/* Can the open buffer not take so many more bytes? */
static bool
is_full(const struct lc_cache *cache, size_t more)
{
	return cache->open->count > 0 &&
	    (cache->open->count >= cache->options.flush_every ||
	    cache->open->used + more > cache->options.chunk_bytes);
}

/* When the open buffer is due by its age; 0 for never. */
static uint64_t
deadline_ns(const struct lc_cache *cache)
{
	const uint64_t interval_ms = cache->options.flush_interval_ms;

	if (cache->held || interval_ms == 0 || cache->open == NULL ||
	    cache->open->count == 0 ||
	    interval_ms > (INT64_MAX - cache->open->first_ns) / 1000000)
		return 0;
	return cache->open->first_ns + interval_ms * 1000000;
}

/* Wait for a sealed buffer to commit; false when the thread shall end. */
static bool
wait_for_work(struct lc_cache *cache)
{
	for (;;) {
		uint64_t deadline;
		struct timespec ts;

		if (cache->stop)
			return false;
		if (cache->sealed != NULL && (!cache->failed || cache->retry))
			return true;
		deadline = cache->sealed == NULL ? deadline_ns(cache) : 0;
		if (deadline == 0) {
			pthread_cond_wait(&cache->work, &cache->lock);
		} else if (lc__clock_ns() >= deadline) {
			seal(cache);
		} else {
			ts.tv_sec = (time_t)(deadline / 1000000000);
			ts.tv_nsec = (long)(deadline % 1000000000);
			pthread_cond_timedwait(&cache->work, &cache->lock, &ts);
		}
	}
}

/* The commit of the sealed buffer succeeded: it becomes the spare one. Puts may
 * have filled the open one meanwhile, and nobody else looks at it if no more come. */
static void
finish_commit(struct lc_cache *cache)
{
	struct lc__pending *done = cache->sealed;

	cache->durable_seq = done->last_seq;
	atomic_fetch_sub(&cache->pending, done->count);
	lc__pending_clear(done, (size_t)cache->options.chunk_bytes * 2);
	cache->sealed = NULL;
	if (cache->open == NULL)
		cache->open = done;
	else
		cache->spare = done;
	if (!cache->held && is_full(cache, 1))
		seal(cache);
}

/* Once for each that is held too long. */
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
	lc__cache_log(cache, "%s: a view or a walk is held since %llu s; freed "
	    "space cannot be reused until it is released", cache->module_id,
	    (unsigned long long)age_ms / 1000);
}

static void *
flush_thread(void *arg)
{
	struct lc_cache *cache = arg;

	pthread_mutex_lock(&cache->lock);
	while (wait_for_work(cache)) {
		lc_status status;

		cache->failed = cache->retry = false;
		pthread_mutex_unlock(&cache->lock);
		status = lc__commit(cache->env, cache->sealed,
		    cache->options.durability, NULL);
		warn_of_pins(cache);
		pthread_mutex_lock(&cache->lock);
		if (status == LC_OK) {
			finish_commit(cache);
		} else {
			cache->failed = true;
			cache->reported = false;
			cache->error = *lc_last_error();
			cache->error.status = status;
		}
		pthread_cond_broadcast(&cache->done);
	}
	pthread_mutex_unlock(&cache->lock);
	return NULL;
}

/* Signals go to the threads of the program: a handler that runs here would
 * make fdatasync fail with EINTR, and LMDB does not try again. */
static lc_status
start_thread(struct lc_cache *cache)
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

/* ---- putting -------------------------------------------------------------- */

/* Report a failed commit once; LC_OK if there is none to report. */
static lc_status
report_failure(struct lc_cache *cache)
{
	if (!cache->failed || cache->reported || cache->retry)
		return LC_OK;
	cache->reported = true;
	return lc__error_raise(&cache->error);
}

/* Wait for the end of the commit on its way, not of those that follow it; a
 * failed one is tried again once. */
static lc_status
wait_for_commit(struct lc_cache *cache)
{
	const uint64_t durable = cache->durable_seq;

	if (cache->failed && !cache->retry) {
		cache->retry = true;
		pthread_cond_signal(&cache->work);
	}
	while (cache->sealed != NULL && cache->durable_seq == durable &&
	    (!cache->failed || cache->retry))
		pthread_cond_wait(&cache->done, &cache->lock);
	return report_failure(cache);
}

static lc_status
prepare_open(struct lc_cache *cache)
{
	return_if_error(start_thread(cache));
	if (cache->open != NULL)
		return LC_OK;
	cache->open = calloc(1, sizeof(*cache->open));
	if (cache->open == NULL)
		return lc__no_memory("put");
	return LC_OK;
}

/* Make the open buffer ready to take a record of some size. */
static lc_status
make_room(struct lc_cache *cache, size_t size)
{
	size_t room = (size_t)cache->options.chunk_bytes;

	return_if_error(prepare_open(cache));
	while (cache->held || is_full(cache, size)) {
		if (cache->held) {
			pthread_cond_wait(&cache->done, &cache->lock);
			return_if_error(prepare_open(cache));
			continue;
		}
		if (cache->sealed == NULL) {
			seal(cache);
			return_if_error(prepare_open(cache));
			continue;
		}
		return_if_error(wait_for_commit(cache));
		/* Told before, still failing: the put is not taken. */
		if (cache->failed)
			return lc__error_raise(&cache->error);
	}
	return lc__pending_reserve(cache->open, size > room ? size : room);
}

/* A put on its way into the buffer. */
struct addition {
	uint64_t hash;
	size_t size;                   /* of the record */
	const struct lc__draft *draft; /* to be encoded, or */
	const struct lc__record *record; /* encoded */
	struct lc__known *known;       /* NULL for a delete */
};

static lc_status
add_locked(struct lc_cache *cache, const struct addition *a)
{
	return_if_error(report_failure(cache));
	return_if_error(make_room(cache, a->size));
	if (a->draft != NULL)
		return_if_error(lc__pending_add(cache->open, a->hash, a->draft,
		    a->size, a->known));
	else
		return_if_error(lc__pending_add_record(cache->open, a->hash,
		    a->record, a->known));
	cache->put_seq++;
	atomic_fetch_add(&cache->pending, 1);
	if (cache->open->count == 1) {
		cache->open->first_ns = lc__clock_ns();
		if (cache->options.flush_interval_ms > 0)
			pthread_cond_signal(&cache->work);
	}
	if (cache->sealed == NULL && is_full(cache, 1))
		seal(cache);
	return LC_OK;
}

static lc_status
add(struct lc_cache *cache, const struct addition *addition)
{
	lc_status status;

	pthread_mutex_lock(&cache->lock);
	status = add_locked(cache, addition);
	pthread_mutex_unlock(&cache->lock);
	return status;
}

lc_status
lc__flush_add(struct lc_cache *cache, const struct lc__draft *draft,
    struct lc__known *known)
{
	const struct addition addition = {
		.hash = lc__run_hash(lc__env_seed(cache->env), draft->id.data,
		    draft->id.size),
		.size = lc__record_size(draft), .draft = draft, .known = known
	};

	if (addition.size == 0)
		return lc__error(LC_INVALID, 0,
		    "its record is above the limit of 2 GiB");
	return add(cache, &addition);
}

lc_status
lc__flush_add_record(struct lc_cache *cache, const struct lc__record *record,
    struct lc__known *known)
{
	const struct addition addition = {
		.hash = lc__run_hash(lc__env_seed(cache->env), record->id.data,
		    record->id.size),
		.size = record->size, .record = record, .known = known
	};

	return add(cache, &addition);
}

/* ---- flushing ------------------------------------------------------------- */

static lc_status
flush_locked(struct lc_cache *cache)
{
	const uint64_t target = cache->put_seq;

	while (cache->durable_seq < target) {
		if (cache->held) {
			pthread_cond_wait(&cache->done, &cache->lock);
			continue;
		}
		if (cache->sealed == NULL) {
			seal(cache);
			continue;
		}
		return_if_error(wait_for_commit(cache));
		if (cache->failed)
			return lc__error_raise(&cache->error);
	}
	return LC_OK;
}

lc_status
lc__flush_all(struct lc_cache *cache)
{
	lc_status status;

	pthread_mutex_lock(&cache->lock);
	status = flush_locked(cache);
	pthread_mutex_unlock(&cache->lock);
	return status;
}

/* ---- holding -------------------------------------------------------------- */

void
lc__flush_hold(struct lc_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	while (cache->held)
		pthread_cond_wait(&cache->done, &cache->lock);
	cache->held = true;
	while (cache->sealed != NULL && (!cache->failed || cache->retry))
		pthread_cond_wait(&cache->done, &cache->lock);
	pthread_mutex_unlock(&cache->lock);
}

/* Forget what a buffer holds. */
static void
drop(struct lc_cache *cache, struct lc__pending *pending)
{
	atomic_fetch_sub(&cache->pending, pending->count);
	lc__pending_clear(pending, (size_t)cache->options.chunk_bytes * 2);
}

/* With the lock held. Where there is a sealed buffer, its commit failed. */
static void
drop_both(struct lc_cache *cache)
{
	if (cache->open != NULL)
		drop(cache, cache->open);
	if (cache->sealed != NULL) {
		drop(cache, cache->sealed);
		if (cache->open == NULL)
			cache->open = cache->sealed;
		else
			cache->spare = cache->sealed;
		cache->sealed = NULL;
		cache->failed = false;
	}
	cache->durable_seq = cache->put_seq;
}

void
lc__flush_release(struct lc_cache *cache, bool dropping)
{
	pthread_mutex_lock(&cache->lock);
	if (dropping)
		drop_both(cache);
	cache->held = false;
	/* The open buffer may be due by now. */
	pthread_cond_signal(&cache->work);
	pthread_cond_broadcast(&cache->done);
	pthread_mutex_unlock(&cache->lock);
}

/* ---- reading one's own writes --------------------------------------------- */

/* Copy a record to memory that lasts. */
static lc_status
copy_out(const struct lc__pending *pending,
    const struct lc__pending_entry *entry, struct lc__peeked *out)
{
	struct lc__record record;

	lc__pending_record(pending, entry, &record);
	out->known = pending->schemas[entry->schema].known;
	out->block = lc__block_new(record.size);
	if (out->block == NULL)
		return lc__error(LC_NO_MEMORY, 0, "get: %s: out of memory",
		    lc__quote_id(record.id.data, record.id.size));
	memcpy(out->block->data, lc__record_start(&record), record.size);
	return LC_OK;
}

static lc_status
peek_locked(const struct lc_cache *cache, uint64_t hash, const void *id,
    size_t id_size, struct lc__peeked *out, enum lc__pending_answer *answer)
{
	const struct lc__pending *const newest_first[] = {
		cache->open, cache->sealed
	};

	for (int i = 0; i < 2; i++) {
		const struct lc__pending_entry *entry = NULL;

		if (newest_first[i] != NULL)
			entry = lc__pending_find(newest_first[i], hash, id, id_size);
		if (entry == NULL)
			continue;
		*answer = entry->deletes ? LC__PENDING_DELETED : LC__PENDING_PUT;
		if (entry->deletes || out == NULL)
			return LC_OK;
		return copy_out(newest_first[i], entry, out);
	}
	return LC_OK;
}

lc_status
lc__flush_peek(struct lc_cache *cache, const void *id, size_t id_size,
    struct lc__peeked *out, enum lc__pending_answer *answer)
{
	lc_status status;
	uint64_t hash;

	*answer = LC__PENDING_UNKNOWN;
	if (atomic_load_explicit(&cache->pending, memory_order_acquire) == 0)
		return LC_OK;
	hash = lc__run_hash(lc__env_seed(cache->env), id, id_size);
	pthread_mutex_lock(&cache->lock);
	status = peek_locked(cache, hash, id, id_size, out, answer);
	pthread_mutex_unlock(&cache->lock);
	return status;
}
