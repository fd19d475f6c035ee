/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two buffers: `open` takes puts while `sealed` is being committed. A put waits when open
 * is full and sealed is not committed yet. If a commit fails, sealed stays, and the next
 * put that needs the room, or a flush, tries it again.
 *
 * The flush thread commits a buffer that is full or due; a flush commits in its own
 * thread. Other threads that flush meanwhile wait for that commit, and then one of them
 * commits what all have put: so one commit serves all that were waiting.
 *
 * Handles may differ in their options. A put uses the limits of its own handle: when the
 * open buffer is full, and when it is due. A commit is as durable as the strictest handle
 * with a put in it requires.
 */
#include "store/flush.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/populate.h"
#include "index/run_build.h"
#include "store/commit.h"

struct lc__flusher {
	struct lc__env *env;
	atomic_uint_fast64_t pending; /* uncommitted entries; 0 lets reads skip the lock
	                               * */

	pthread_mutex_t lock;       /* guards the members below */
	pthread_cond_t work;        /* wakes the flush thread: there is work, or it must
	                           * stop */
	pthread_cond_t done;        /* wakes callers: a commit ended */
	struct lc_cache *writers;   /* number of handles that commit */
	struct lc__pending *open;   /* takes puts; NULL before the first */
	struct lc__pending *sealed; /* being committed; NULL if none */
	struct lc__pending *spare;  /* an empty one for the next swap */
	struct lc__large_pool pool; /* memory for large records */
	bool committing;            /* a thread commits sealed */
	uint64_t wakes_ns;    /* until when the flush thread sleeps; 0: it does not sleep
	                       * */
	uint64_t put_seq;     /* puts and deletes so far */
	uint64_t durable_seq; /* those of them that are committed */
	bool failed;          /* the commit of sealed failed and waits for a retry */
	bool retry;           /* asks the flush thread to try sealed again */
	uint64_t failures;    /* commits that failed so far */
	lc_error error;       /* of the last of them */
	bool held;            /* nothing may be committed; see lc__flush_hold() */
	bool saving;          /* asks the flush thread to save the counters */
	lc_error saved;       /* its result the last time */
	bool stop;            /* the flush thread must end */
	bool running;         /* the flush thread exists */
	pthread_t thread;
};

/* ---- committing ----------------------------------------------------------- */

/* Close the open buffer so that it can be committed; sealed must be NULL. */
static void
seal_locked(struct lc__flusher *f)
{
	f->open->last_seq = f->put_seq;
	f->sealed = f->open;
	f->open = f->spare;
	f->spare = NULL;
}

/* Hand the open buffer to the flush thread. */
static void
hand_over_locked(struct lc__flusher *f)
{
	seal_locked(f);
	pthread_cond_signal(&f->work);
}

/* When the open buffer must be committed; UINT64_MAX for never. */
static uint64_t
due_ns_locked(const struct lc__flusher *f)
{
	if (f->held || f->sealed != NULL || f->open == NULL || f->open->count == 0)
		return UINT64_MAX;
	return f->open->due_ns;
}

/* Is the sealed buffer being committed, or about to be? */
static bool
must_commit_locked(const struct lc__flusher *f)
{
	return f->sealed != NULL && (!f->failed || f->retry);
}

/* The same, asked by a thread that could do it. */
static bool
may_commit_locked(const struct lc__flusher *f)
{
	return must_commit_locked(f) && !f->committing;
}

/* How much memory to keep for the next puts: twice that of both buffers, since a large
 * record gets memory before there is room for it. */
static size_t
kept_bytes_locked(const struct lc__flusher *f)
{
	uint64_t room = 0;

	for (const struct lc_cache *writer = f->writers; writer != NULL;
	     writer = writer->next_writer)
		if (writer->options.chunk_bytes > room)
			room = writer->options.chunk_bytes;
	return (size_t)room * 4;
}

/* Empty a buffer, and keep its memory for the next puts. */
static void
drop_locked(struct lc__flusher *f, struct lc__pending *pending)
{
	atomic_fetch_sub(&f->pending, pending->count);
	lc__pending_clear(pending, kept_bytes_locked(f), &f->pool);
}

/* Warn each log once about each view or walk that pins a snapshot for too long. The lock
 * is released meanwhile: a handle whose log function is being called is not closed. */
static void
warn_of_pins_locked(struct lc__flusher *f, uint64_t since_ns)
{
	const uint64_t age_ms = (lc__clock_coarse_ns() - since_ns) / 1000000;

	for (struct lc_cache *writer = f->writers; writer != NULL && since_ns != 0;
	     writer = writer->next_writer) {
		const uint64_t limit_ms = writer->options.pin_warn_ms;

		if (limit_ms == 0 || age_ms <= limit_ms || writer->warned_ns == since_ns)
			continue;
		writer->warned_ns = since_ns;
		writer->logging = true;
		pthread_mutex_unlock(&f->lock);
		lc__cache_log(writer,
		    "%s: a view or a walk has been held for %llu s; freed "
		    "space cannot be reused until it is released",
		    writer->module_id, (unsigned long long)age_ms / 1000);
		pthread_mutex_lock(&f->lock);
		writer->logging = false;
	}
}

/* The lock is released while LMDB writes, and while it waits for other writers. */
static void
commit_sealed_locked(struct lc__flusher *f)
{
	struct lc__pending *sealed = f->sealed;
	uint64_t pinned_ns;
	lc_status status;

	f->failed = f->retry = false;
	f->committing = true;
	pthread_mutex_unlock(&f->lock);
	status = lc__commit(f->env, sealed, sealed->durability, NULL);
	pinned_ns = lc__pool_oldest_pin_ns(f->env);
	pthread_mutex_lock(&f->lock);
	f->committing = false;
	pthread_cond_broadcast(&f->done);
	if (status == LC_OK) {
		f->durable_seq = sealed->last_seq;
		drop_locked(f, sealed);
		f->sealed = NULL;
		if (f->open == NULL)
			f->open = sealed;
		else
			f->spare = sealed;
	} else {
		f->failed = true;
		f->failures++;
		f->error = *lc_last_error();
		f->error.status = status;
	}
	/* Last: this releases the lock, and other threads may commit then. */
	warn_of_pins_locked(f, pinned_ns);
}

/* ---- the flush thread ----------------------------------------------------- */

/* Wait for a buffer to commit, or counters to save; false when the thread must end. */
static bool
wait_for_work_locked(struct lc__flusher *f)
{
	for (;;) {
		uint64_t due;

		if (f->stop)
			return false;
		if (may_commit_locked(f) || f->saving)
			return true;
		due = due_ns_locked(f);
		if (lc__clock_ns() >= due) {
			seal_locked(f);
			continue;
		}
		f->wakes_ns = due;
		(void)lc__cond_wait(&f->work, &f->lock, due);
		f->wakes_ns = 0;
	}
}

static void
save_counters_locked(struct lc__flusher *f)
{
	lc_status status;

	pthread_mutex_unlock(&f->lock);
	status = lc__counters_save(f->env);
	pthread_mutex_lock(&f->lock);
	if (status != LC_OK)
		f->saved = *lc_last_error();
	f->saved.status = status;
	f->saving = false;
}

static void *
flush_thread(void *arg)
{
	struct lc__flusher *f = arg;

	pthread_mutex_lock(&f->lock);
	while (wait_for_work_locked(f)) {
		if (may_commit_locked(f))
			commit_sealed_locked(f);
		else
			save_counters_locked(f);
		pthread_cond_broadcast(&f->done);
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* The thread blocks all signals: a handler that ran here would make fdatasync() fail with
 * EINTR, and LMDB does not retry. */
static lc_status
start_thread_locked(struct lc__flusher *f)
{
	sigset_t all, old;
	int rc;

	if (f->running)
		return LC_OK;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&f->thread, NULL, flush_thread, f);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0)
		return lc__error_sys(rc, "flush thread");
	f->running = true;
	return LC_OK;
}

/* ---- life ----------------------------------------------------------------- */

static void
init_locks(struct lc__flusher *f)
{
	pthread_mutex_init(&f->lock, NULL);
	lc__cond_init(&f->done);
	lc__cond_init(&f->work);
}

struct lc__flusher *
lc__flusher_new(struct lc__env *env)
{
	struct lc__flusher *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->env = env;
	init_locks(f);
	return f;
}

/* Drop all uncommitted writes. */
static void
empty_locked(struct lc__flusher *f)
{
	lc__pending_free(f->open);
	lc__pending_free(f->sealed);
	lc__pending_free(f->spare);
	f->open = f->sealed = f->spare = NULL;
	lc__large_pool_empty(&f->pool);
	f->durable_seq = f->put_seq;
	f->failed = f->retry = f->saving = f->held = f->committing = false;
	f->stop = f->running = false;
	f->wakes_ns = 0;
	atomic_store(&f->pending, 0);
}

void
lc__flusher_free(struct lc__flusher *flusher)
{
	if (flusher == NULL)
		return;
	pthread_cond_destroy(&flusher->work);
	pthread_cond_destroy(&flusher->done);
	pthread_mutex_destroy(&flusher->lock);
	free(flusher);
}

void
lc__flusher_before_fork(struct lc__flusher *flusher)
{
	pthread_mutex_lock(&flusher->lock);
}

void
lc__flusher_after_fork_parent(struct lc__flusher *flusher)
{
	pthread_mutex_unlock(&flusher->lock);
}

/* The parent commits the pending writes. The flush thread does not exist in the child. */
void
lc__flusher_after_fork_child(struct lc__flusher *flusher)
{
	init_locks(flusher);
	empty_locked(flusher);
	for (struct lc_cache *writer = flusher->writers; writer != NULL;
	     writer = writer->next_writer)
		writer->logging = false;
}

void
lc__flush_enter(struct lc_cache *cache)
{
	struct lc__flusher *f = lc__module_of(cache->env)->flusher;

	cache->flusher = f;
	cache->gave_up = UINT64_MAX;
	pthread_mutex_lock(&f->lock);
	cache->told = f->failures;
	if (lc__cache_commits(cache)) {
		/* The previous last handle may still be leaving. */
		while (f->stop)
			pthread_cond_wait(&f->done, &f->lock);
		cache->next_writer = f->writers;
		f->writers = cache;
	}
	pthread_mutex_unlock(&f->lock);
}

void
lc__flush_leave(struct lc_cache *cache)
{
	struct lc__flusher *f = cache->flusher;
	struct lc_cache **link = &f->writers;

	if (!lc__cache_commits(cache))
		return;
	pthread_mutex_lock(&f->lock);
	while (cache->logging)
		pthread_cond_wait(&f->done, &f->lock);
	while (*link != cache)
		link = &(*link)->next_writer;
	*link = cache->next_writer;
	if (f->writers == NULL) {
		f->stop = true;
		pthread_cond_signal(&f->work);
		pthread_mutex_unlock(&f->lock);
		if (f->running)
			pthread_join(f->thread, NULL);
		pthread_mutex_lock(&f->lock);
		empty_locked(f);
		pthread_cond_broadcast(&f->done);
	}
	pthread_mutex_unlock(&f->lock);
}

/* ---- waiting -------------------------------------------------------------- */

/* A caller's wait for the flush thread or for the end of a hold; LC_TIMEOUT when the time
 * limit of the call has passed. *deadline is 0 before the first wait of a call: most
 * calls do not wait, and need no clock. */
static lc_status
wait_done_locked(struct lc_cache *cache, uint64_t *deadline)
{
	const uint64_t limit = atomic_load(&cache->timeout_ms);

	if (*deadline == 0)
		*deadline = lc__clock_deadline(limit);
	if (lc__cond_wait(&cache->flusher->done, &cache->flusher->lock, *deadline))
		return LC_OK;
	return lc__error(LC_TIMEOUT, 0,
	    "%s: its commit is not complete after %llu ms; nothing is lost: call again",
	    cache->module_id, (unsigned long long)limit);
}

/* Report a failed commit, once to each handle; LC_OK if there is none to report. */
static lc_status
report_failure_locked(struct lc_cache *cache)
{
	struct lc__flusher *f = cache->flusher;

	if (!f->failed || f->retry || cache->told == f->failures)
		return LC_OK;
	cache->told = f->failures;
	cache->gave_up = UINT64_MAX;
	return lc__error_raise(&f->error);
}

/* Wait for the commit that is running, not for later ones. One that failed is retried
 * once. If a call has given up waiting for it since, its failure is reported first:
 * otherwise calls with a short limit would retry for ever and never report the reason. */
static lc_status
wait_for_commit_locked(struct lc_cache *cache, uint64_t *deadline)
{
	struct lc__flusher *f = cache->flusher;
	const uint64_t durable = f->durable_seq;

	if (cache->gave_up == durable)
		return_if_error(report_failure_locked(cache));
	if (f->failed && !f->retry) {
		f->retry = true;
		pthread_cond_signal(&f->work);
	}
	while (must_commit_locked(f) && f->durable_seq == durable) {
		const lc_status status = wait_done_locked(cache, deadline);

		if (status != LC_OK) {
			cache->gave_up = durable;
			return status;
		}
	}
	return report_failure_locked(cache);
}

/* ---- adding --------------------------------------------------------------- */

/* Is the open buffer too full for @p more bytes, by the limits of a handle? */
static bool
is_full_locked(const struct lc_cache *cache, size_t more)
{
	const struct lc__pending *open = cache->flusher->open;

	return open->count > 0 &&
	    (open->count >= cache->options.flush_every ||
		lc__pending_bytes(open) + more > cache->options.chunk_bytes);
}

static lc_status
prepare_open_locked(struct lc__flusher *f)
{
	return_if_error(start_thread_locked(f));
	if (f->open != NULL)
		return LC_OK;
	f->open = calloc(1, sizeof(*f->open));
	if (f->open == NULL)
		return lc__no_memory("put");
	return LC_OK;
}

/* Prepare the open buffer for a record of @p size bytes, which are elsewhere if it is a
 * large one. */
static lc_status
make_room_locked(struct lc_cache *cache, size_t size, bool large)
{
	struct lc__flusher *f = cache->flusher;
	size_t room = (size_t)cache->options.chunk_bytes;
	uint64_t deadline = 0;

	return_if_error(prepare_open_locked(f));
	while (f->held || is_full_locked(cache, size)) {
		if (f->held) {
			return_if_error(wait_done_locked(cache, &deadline));
			return_if_error(prepare_open_locked(f));
			continue;
		}
		if (f->sealed == NULL) {
			hand_over_locked(f);
			return_if_error(prepare_open_locked(f));
			continue;
		}
		return_if_error(wait_for_commit_locked(cache, &deadline));
		/* The failure was reported before and persists: refuse the put. */
		if (f->failed)
			return lc__error_raise(&f->error);
	}
	if (large)
		return LC_OK;
	return lc__pending_reserve(f->open, size > room ? size : room);
}

/* A record was added to the open buffer: wake the flush thread if needed. */
static void
count_locked(struct lc_cache *cache)
{
	const uint64_t interval_ms = cache->options.flush_interval_ms;
	struct lc__flusher *f = cache->flusher;
	struct lc__pending *open = f->open;

	f->put_seq++;
	atomic_fetch_add(&f->pending, 1);
	if (open->count == 1) {
		open->due_ns = open->interval_ms = UINT64_MAX;
		open->durability = LC_DURABLE_RELAXED;
	}
	if (cache->options.durability == LC_DURABLE_FULL)
		open->durability = LC_DURABLE_FULL;
	/* A later put is due earlier only if its interval is shorter. */
	if (interval_ms > 0 && interval_ms < open->interval_ms) {
		const uint64_t due_ns = lc__clock_deadline(interval_ms);

		open->interval_ms = interval_ms;
		if (due_ns < open->due_ns)
			open->due_ns = due_ns;
		/* It checks the buffer again whenever it wakes. */
		if (open->due_ns < f->wakes_ns)
			pthread_cond_signal(&f->work);
	}
	if (!is_full_locked(cache, 1))
		return;
	/* After the running commit, unless another put seals it first. */
	open->due_ns = 0;
	if (f->sealed == NULL)
		hand_over_locked(f);
}

/* A put or delete for the open buffer: a draft to encode, or an encoded record, which may
 * have its own memory. */
struct addition {
	uint64_t hash; /* of the cache_id */
	size_t size;   /* of the record */
	/* one of: */
	const struct lc__draft *draft;
	const struct lc__record *record;
	struct lc__large *large; /* ownership passes on LC_OK */
	struct lc__known *known; /* NULL for a delete */
};

static lc_status
add(struct lc_cache *cache, const struct addition *a)
{
	struct lc__flusher *f = cache->flusher;
	lc_status status;

	pthread_mutex_lock(&f->lock);
	status = report_failure_locked(cache);
	if (status == LC_OK)
		status = make_room_locked(cache, a->size, a->large != NULL);
	if (status == LC_OK) {
		struct lc__pending *open = f->open;

		if (a->large != NULL)
			status = lc__pending_add_large(open, a->hash, a->large, a->known);
		else if (a->draft != NULL)
			status = lc__pending_add(open, a->hash, a->draft, a->size,
			    a->known);
		else
			status = lc__pending_add_record(open, a->hash, a->record,
			    a->known);
	}
	if (status == LC_OK)
		count_locked(cache);
	pthread_mutex_unlock(&f->lock);
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

/* On a rank that does not write: keep a put, or remove the record that a delete names. */
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
	struct addition addition = { .known = known };
	lc_status status;

	if (!cache->writes)
		return keep(cache, draft, known);
	addition.size = lc__record_size(draft);
	if (addition.size == 0)
		return lc__error(LC_INVALID, 0, "its record is above the limit of 2 GiB");
	addition.hash = lc__run_hash(lc__env_seed(cache->env), draft->id.data,
	    draft->id.size);
	if (addition.size < LC__LARGE_MIN) {
		addition.draft = draft;
		return add(cache, &addition);
	}
	/* Threads copy their records in parallel, and none waits for them. */
	return_if_error(lc__flush_memory(cache, addition.size, &addition.large));
	lc__record_encode(addition.large->bytes, addition.size, draft);
	status = add(cache, &addition);
	if (status != LC_OK)
		lc__flush_memory_give(cache, addition.large);
	return status;
}

lc_status
lc__flush_add_large(struct lc_cache *cache, const lc_id *id, struct lc__large *large,
    struct lc__known *known)
{
	struct lc__record record;
	struct addition addition = {
		.hash = lc__run_hash(lc__env_seed(cache->env), id->data, id->size),
		.large = large,
		.known = known,
	};

	/* Encoded by this process: it always parses. */
	(void)lc__record_parse(large->bytes, large->room, &record);
	addition.size = record.size;
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

	/* Encoded by this process: it always parses. */
	(void)lc__record_parse(encoded->block->data, encoded->block->size, &record);
	if (cache->writes)
		return lc__flush_add_record(cache, &record, encoded->known);
	key = kept_key(cache, record.id.data, record.id.size);
	lc__lru_put(cache->lru, &key, encoded->block, encoded->known);
	return LC_OK;
}

/* ---- memory of large records ---------------------------------------------- */

/* Memory whose pages may not exist yet; @p touched tells. */
static lc_status
take_memory(struct lc__flusher *f, size_t size, struct lc__large **out, bool *touched)
{
	struct lc__large *large;

	pthread_mutex_lock(&f->lock);
	large = lc__large_take(&f->pool, size);
	pthread_mutex_unlock(&f->lock);
	*touched = large != NULL;
	if (large == NULL)
		return lc__large_new(size, out);
	*out = large;
	return LC_OK;
}

lc_status
lc__flush_memory(struct lc_cache *cache, size_t size, struct lc__large **out)
{
	bool touched;

	return_if_error(take_memory(cache->flusher, size, out, &touched));
	if (!touched)
		lc__populate((*out)->bytes, size);
	return LC_OK;
}

void
lc__flush_memory_give(struct lc_cache *cache, struct lc__large *large)
{
	struct lc__flusher *f = cache->flusher;

	pthread_mutex_lock(&f->lock);
	lc__large_give(&f->pool, large, kept_bytes_locked(f));
	pthread_mutex_unlock(&f->lock);
}

/* ---- flushing ------------------------------------------------------------- */

uint64_t
lc__flush_pending(const struct lc_cache *cache)
{
	return atomic_load(&cache->flusher->pending);
}

void
lc__flush_count(struct lc_cache *cache, uint64_t *records, uint64_t *bytes)
{
	struct lc__flusher *f = cache->flusher;

	pthread_mutex_lock(&f->lock);
	*records = atomic_load(&f->pending);
	*bytes = (f->open ? lc__pending_bytes(f->open) : 0) +
	    (f->sealed ? lc__pending_bytes(f->sealed) : 0);
	pthread_mutex_unlock(&f->lock);
}

/* Commit the open buffer, with the writes of all threads. The calling thread does it
 * itself, which saves two context switches, unless its wait is limited. */
static void
commit_open_locked(struct lc_cache *cache)
{
	struct lc__flusher *f = cache->flusher;

	if (atomic_load(&cache->timeout_ms) != UINT64_MAX) {
		hand_over_locked(f);
		return;
	}
	seal_locked(f);
	commit_sealed_locked(f);
	/* The open buffer may be due, or full. */
	if (due_ns_locked(f) < f->wakes_ns)
		pthread_cond_signal(&f->work);
}

lc_status
lc__flush_all(struct lc_cache *cache)
{
	struct lc__flusher *f = cache->flusher;
	lc_status status = LC_OK;
	uint64_t target, deadline = 0;

	pthread_mutex_lock(&f->lock);
	target = f->put_seq;
	while (status == LC_OK && f->durable_seq < target) {
		if (f->held) {
			status = wait_done_locked(cache, &deadline);
			continue;
		}
		if (f->sealed == NULL) {
			commit_open_locked(cache);
			status = report_failure_locked(cache);
		} else {
			status = wait_for_commit_locked(cache, &deadline);
		}
		if (status == LC_OK && f->failed && !f->retry)
			status = lc__error_raise(&f->error);
	}
	pthread_mutex_unlock(&f->lock);
	return status;
}

/* ---- a put that is durable -------------------------------------------------- */

/* From this size on a record goes from the caller's memory straight into the chunk. A
 * smaller one is copied while it is in the processor's cache, which costs nothing. */
#define DIRECT_MIN (4 * LC__LARGE_MIN)

/* The commit of a record that has only its head in a buffer failed. Copy its tensors, if
 * it is still there: the caller may modify them from now on. */
static void
complete(struct lc__flusher *f, const struct lc__draft *draft)
{
	pthread_mutex_lock(&f->lock);
	while (f->committing)
		pthread_cond_wait(&f->done, &f->lock);
	if (f->open != NULL)
		lc__pending_complete(f->open, draft);
	if (f->sealed != NULL)
		lc__pending_complete(f->sealed, draft);
	pthread_mutex_unlock(&f->lock);
}

lc_status
lc__flush_put(struct lc_cache *cache, const struct lc__draft *draft,
    struct lc__known *known)
{
	struct addition addition = { .size = lc__record_size(draft), .known = known };
	lc_status status;
	bool touched;

	/* A call with a time limit must not wait for the thread that reads the draft. */
	if (!cache->writes || addition.size < DIRECT_MIN ||
	    atomic_load(&cache->timeout_ms) != UINT64_MAX) {
		return_if_error(lc__flush_add(cache, draft, known));
		return lc__flush_all(cache);
	}
	return_if_error(
	    take_memory(cache->flusher, addition.size, &addition.large, &touched));
	addition.hash = lc__run_hash(lc__env_seed(cache->env), draft->id.data,
	    draft->id.size);
	lc__record_encode_head(addition.large->bytes, addition.size, draft);
	addition.large->rest = draft;
	status = add(cache, &addition);
	if (status != LC_OK) {
		lc__flush_memory_give(cache, addition.large);
		return status;
	}
	status = lc__flush_all(cache);
	if (status != LC_OK)
		complete(cache->flusher, draft);
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
	struct lc__flusher *f = cache->flusher;
	lc_error error = { .status = LC_OK };
	lc_status status = LC_OK;
	uint64_t deadline = 0;

	/* An earlier call may have requested it, and given up waiting. */
	pthread_mutex_lock(&f->lock);
	while (status == LC_OK && f->saving)
		status = wait_done_locked(cache, &deadline);
	pthread_mutex_unlock(&f->lock);
	if (status != LC_OK || !lc__counters_unsaved(cache->env))
		return status;
	pthread_mutex_lock(&f->lock);
	if (start_thread_locked(f) != LC_OK) {
		error = *lc_last_error();
	} else {
		f->saving = true;
		pthread_cond_signal(&f->work);
		while (status == LC_OK && f->saving)
			status = wait_done_locked(cache, &deadline);
		if (status == LC_OK)
			error = f->saved;
	}
	pthread_mutex_unlock(&f->lock);
	/* A failure to save statistics does not fail a close. */
	if (error.status != LC_OK)
		lc__cache_log(cache, "close: counters: %s", error.text);
	return status;
}

/* ---- holding -------------------------------------------------------------- */

static void
end_hold_locked(struct lc__flusher *f)
{
	f->held = false;
	/* The open buffer may be due now. */
	pthread_cond_signal(&f->work);
	pthread_cond_broadcast(&f->done);
}

lc_status
lc__flush_hold(struct lc_cache *cache)
{
	struct lc__flusher *f = cache->flusher;
	lc_status status = LC_OK;
	uint64_t deadline = 0;

	pthread_mutex_lock(&f->lock);
	while (status == LC_OK && f->held)
		status = wait_done_locked(cache, &deadline);
	if (status == LC_OK) {
		f->held = true;
		while (status == LC_OK && must_commit_locked(f))
			status = wait_done_locked(cache, &deadline);
		if (status != LC_OK)
			end_hold_locked(f);
	}
	pthread_mutex_unlock(&f->lock);
	return status;
}

void
lc__flush_release(struct lc_cache *cache, bool dropping)
{
	struct lc__flusher *f = cache->flusher;

	pthread_mutex_lock(&f->lock);
	if (dropping) {
		if (f->open != NULL)
			drop_locked(f, f->open);
		/* The commit of a buffer that is still sealed has failed. */
		if (f->sealed != NULL) {
			drop_locked(f, f->sealed);
			if (f->open == NULL)
				f->open = f->sealed;
			else
				f->spare = f->sealed;
			f->sealed = NULL;
			f->failed = false;
		}
		f->durable_seq = f->put_seq;
	}
	end_hold_locked(f);
	pthread_mutex_unlock(&f->lock);
}

/* ---- finding uncommitted writes ------------------------------------------- */

/* On a rank that does not write: look for a put of this handle. */
static bool
find_kept(struct lc_cache *cache, const void *id, size_t id_size, struct lc__encoded *out)
{
	const struct lc__lru_key key = kept_key(cache, id, id_size);
	const void *known = NULL;
	struct lc__block *block = lc__lru_get_noted(cache->lru, &key, &known);

	if (block == NULL)
		return false;
	if (out == NULL)
		lc__block_drop(block);
	else
		*out = (struct lc__encoded){ block, (struct lc__known *)known };
	return true;
}

/* Look in both buffers, and copy a put: its buffer may be committed and used again as
 * soon as the lock is released. */
static lc_status
find_pending_locked(const struct lc__flusher *f, uint64_t hash, const void *id,
    size_t id_size, struct lc__encoded *out, enum lc__uncommitted *answer)
{
	const struct lc__pending *const newest_first[] = { f->open, f->sealed };

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
		if (lc__pending_rest(pending, entry) != NULL)
			lc__record_encode(out->block->data, record.size,
			    lc__pending_rest(pending, entry));
		else
			memcpy(out->block->data, lc__record_start(&record), record.size);
		return LC_OK;
	}
	return LC_OK;
}

lc_status
lc__flush_find(struct lc_cache *cache, const void *id, size_t id_size,
    struct lc__encoded *out, enum lc__uncommitted *answer)
{
	struct lc__flusher *f = cache->flusher;
	lc_status status;
	uint64_t hash;

	*answer = LC__UNCOMMITTED_NONE;
	if (!cache->writes && find_kept(cache, id, id_size, out)) {
		*answer = LC__UNCOMMITTED_PUT;
		return LC_OK;
	}
	if (atomic_load_explicit(&f->pending, memory_order_acquire) == 0)
		return LC_OK;
	hash = lc__run_hash(lc__env_seed(f->env), id, id_size);
	pthread_mutex_lock(&f->lock);
	status = find_pending_locked(f, hash, id, id_size, out, answer);
	pthread_mutex_unlock(&f->lock);
	return status;
}
