/* SPDX-License-Identifier: BSD-2-Clause */
#include "remote/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/idset.h"

#define OTHERS \
	(UINT32_MAX - 1) /* the number of a name that is not an object of this reader */
#define AGAIN_MS 20u     /* after a lack of room: a copy may have been given back */
#define FAILED_MS 1000u  /* after a failure of the store */
#define LOOK_MS 200u     /* a copy may have been removed from the directory */

struct lc__ahead {
	struct lc__copies *copies;
	struct lc__future future;
	uint64_t ahead;
	pid_t pid; /* a forked child has no threads */
	_Atomic uint64_t now;
	_Atomic uint64_t wake; /* nothing new is needed before this position */
	pthread_mutex_t lock;  /* guards the members below */
	pthread_cond_t moved;  /* there may be work, or it stops */
	pthread_cond_t idle;   /* a thread has found nothing to do */
	_Atomic bool stop;
	uint64_t *coming; /* objects that threads fetch, of each thread; LC__NEVER */
	unsigned threads, started;
	unsigned busy; /* threads that are searching or fetching */
	pthread_t *thread;
	uint64_t settled; /* position without work; LC__NEVER */
	struct lc__ahead_stats stats;
	pthread_mutex_t names; /* guards what follows; taken while the roster is locked */
	struct lc__idset known; /* objects by their names */
	struct lc__idset twins; /* by an object: another one with the same name */
	pthread_rwlock_t alive; /* guards `ended`; held while `copies` is told */
	bool ended;
};

static void
count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* ---- what other processes learn -------------------------------------------------- */

static lc_id
id_of(const char *name)
{
	return (lc_id){ name, strlen(name) };
}

static lc_id
id_of_object(const uint32_t *object)
{
	return (lc_id){ object, sizeof(*object) };
}

/* Several sources may have one object. */
static void
add_twin(struct lc__ahead *a, uint32_t known, uint32_t object)
{
	uint32_t next;
	bool added;

	while (known != object && lc__idset_find(&a->twins, id_of_object(&known), &next))
		known = next;
	if (known != object &&
	    lc__idset_add(&a->twins, id_of_object(&known), object, &added, NULL) != LC_OK)
		return;
}

/* Register the shard of this name. Without memory its next use is not published, which
 * costs at most one fetch. */
static void
learn(struct lc__ahead *a, const char *name, uint64_t object)
{
	const lc_error before = *lc_last_error();
	uint32_t number = 0;
	bool added;

	if (object >= OTHERS)
		return;
	pthread_mutex_lock(&a->names);
	if (lc__idset_add(&a->known, id_of(name), (uint32_t)object, &added, &number) !=
		LC_OK ||
	    added) {
		/* Nothing more to do. */
	} else if (number != OTHERS) {
		add_twin(a, number, (uint32_t)object);
	} else {
		lc__idset_remove(&a->known, id_of(name));
		if (lc__idset_add(&a->known, id_of(name), (uint32_t)object, &added,
			NULL) != LC_OK)
			added = false;
	}
	pthread_mutex_unlock(&a->names);
	(void)lc__error_raise(&before);
}

static uint64_t
when(void *ctx, const char *name, uint64_t now)
{
	struct lc__ahead *a = ctx;
	uint32_t number = OTHERS;
	uint64_t least = LC__NEVER;
	bool added = false, more;
	lc_status status;

	/* A child has no forecast, and threads that it does not have may hold locks. */
	if (a->pid != getpid())
		return LC__NEVER;
	pthread_mutex_lock(&a->names);
	status = lc__idset_add(&a->known, id_of(name), OTHERS, &added, &number);
	more = status == LC_OK && !added && number != OTHERS;
	while (more) {
		const uint64_t use = a->future.when(a->future.ctx, number, now);

		if (use < least)
			least = use;
		more = lc__idset_find(&a->twins, id_of_object(&number), &number);
	}
	pthread_mutex_unlock(&a->names);
	return least;
}

static uint64_t
now_of(void *ctx)
{
	return atomic_load(&((struct lc__ahead *)ctx)->now);
}

/* ---- fetching ahead ------------------------------------------------------------------ */

static bool
is_coming(const struct lc__ahead *a, uint64_t object)
{
	for (unsigned i = 0; i < a->threads; i++)
		if (a->coming[i] == object)
			return true;
	return false;
}

/* The next object that is missing and that no thread fetches. LC_END if there is none
 * within reach, LC_BUSY if there may be. Called with the lock held, which is released in
 * between. */
static lc_status
choose(struct lc__ahead *a, unsigned thread, struct lc__wanted *wanted,
    struct lc__copies **copies)
{
	const uint64_t now = atomic_load(&a->now);
	uint64_t wake = LC__NEVER, object, position;
	enum lc__row_state state;
	lc_status status;

	pthread_mutex_unlock(&a->lock);
	status = lc__copies_tell(a->copies);
	pthread_mutex_lock(&a->lock);
	return_if_error(status);
	for (uint64_t k = 0; k < a->ahead; k++) {
		if (!a->future.next(a->future.ctx, now, k, &object, &position))
			break;
		if (position > now && position < wake)
			wake = position;
		if (is_coming(a, object))
			continue;
		/* So that other threads do not choose it. */
		a->coming[thread] = object;
		pthread_mutex_unlock(&a->lock);
		*copies = a->copies;
		status = a->future.find(a->future.ctx, object, wanted, copies);
		if (status == LC_OK) {
			learn(a, wanted->name, object);
			status = lc__copies_look(*copies, wanted->name, &state);
		}
		pthread_mutex_lock(&a->lock);
		if (status == LC_OK && state == LC__ROW_FREE) {
			wanted->when = position;
			wanted->now = now;
			return LC_OK;
		}
		a->coming[thread] = LC__NEVER;
		return_if_error(status);
		if (a->stop)
			break;
	}
	/* The object needed first is in use from then on, and the reach extends by
	 * one. */
	atomic_store(&a->wake, wake == LC__NEVER ? now + 1 : wake);
	/* The reader may have moved meanwhile. */
	if (atomic_load(&a->now) >= atomic_load(&a->wake))
		return LC_BUSY;
	return LC_END;
}

static lc_status
fetch(struct lc__ahead *a, unsigned thread)
{
	struct lc__copies *copies;
	struct lc__wanted wanted;
	struct lc__copy copy;
	lc_status status;

	return_if_error(choose(a, thread, &wanted, &copies));
	/* There may be work for another thread. If there is none, one has looked in vain,
	 * not all of them: each look locks the roster. */
	pthread_cond_signal(&a->moved);
	pthread_mutex_unlock(&a->lock);
	/* What the reader needed before is useless now. */
	status = wanted.when < atomic_load(&a->now)
	    ? LC_BUSY
	    : lc__copies_take(copies, &wanted, &copy);
	if (status == LC_OK) {
		/* Others learn when it is needed before it may be evicted. */
		if (copies != a->copies)
			status = lc__copies_tell(a->copies);
		lc__copies_give(copies, &copy);
		count(&a->stats.prefetched, 1);
	}
	pthread_mutex_lock(&a->lock);
	a->coming[thread] = LC__NEVER;
	return status;
}

static void *
run(void *ctx)
{
	struct lc__ahead *a = ctx;
	unsigned thread;

	lc__thread_stop_by(&a->stop);
	pthread_mutex_lock(&a->lock);
	thread = a->started++;
	while (!a->stop) {
		const uint64_t now = atomic_load(&a->now);
		unsigned ms = LOOK_MS;
		lc_status status;

		a->busy++;
		status = fetch(a, thread);
		a->busy--;
		if (status == LC_OK || status == LC_BUSY)
			continue;
		if (status == LC_NO_SPACE) {
			ms = AGAIN_MS;
		} else if (status != LC_END && status != LC_CANCELLED) {
			count(&a->stats.failed, 1);
			ms = FAILED_MS;
		}
		a->settled = now;
		pthread_cond_broadcast(&a->idle);
		if (!a->stop)
			(void)lc__cond_wait(&a->moved, &a->lock, lc__clock_deadline(ms));
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- for the reader ------------------------------------------------------------------ */

void
lc__ahead_move(struct lc__ahead *a, uint64_t now)
{
	uint64_t before = atomic_load_explicit(&a->now, memory_order_relaxed);

	while (before < now && !atomic_compare_exchange_weak(&a->now, &before, now))
		;
	if (before >= now || now < atomic_load(&a->wake) || a->pid != getpid())
		return;
	pthread_mutex_lock(&a->lock);
	pthread_cond_signal(&a->moved);
	pthread_mutex_unlock(&a->lock);
}

/* The handle that publishes does so, so that what another one evicts for an object is what is
 * needed last. */
static lc_status
tell(struct lc__ahead *a)
{
	lc_status status = LC_OK;

	pthread_rwlock_rdlock(&a->alive);
	if (!a->ended)
		status = lc__copies_tell(a->copies);
	pthread_rwlock_unlock(&a->alive);
	return status;
}

lc_status
lc__ahead_take(struct lc__ahead *a, uint64_t object, struct lc__copy *out)
{
	struct lc__copies *copies = a->copies;
	enum lc__row_state state;
	struct lc__wanted wanted;
	uint64_t start;
	lc_status status;

	count(&a->stats.taken, 1);
	return_if_error(a->future.find(a->future.ctx, object, &wanted, &copies));
	wanted.when = wanted.now = atomic_load(&a->now);
	/* Locks may be held by threads that a child does not have. */
	if (a->pid != getpid())
		return lc__copies_take(copies, &wanted, out);
	learn(a, wanted.name, object);
	return_if_error(lc__copies_look(copies, wanted.name, &state));
	if (state == LC__ROW_THERE)
		return lc__copies_take(copies, &wanted, out);
	if (copies != a->copies)
		return_if_error(tell(a));
	start = lc__clock_ns();
	status = lc__copies_take(copies, &wanted, out);
	count(&a->stats.stalls, 1);
	count(&a->stats.stall_ns, lc__clock_ns() - start);
	return status;
}

bool
lc__ahead_settle(struct lc__ahead *a, uint64_t ms)
{
	const uint64_t deadline = lc__clock_deadline(ms);
	bool settled = a->threads == 0, waits = true;

	pthread_mutex_lock(&a->lock);
	a->settled = LC__NEVER;
	pthread_cond_broadcast(&a->moved);
	while (!settled && waits) {
		waits = lc__cond_wait(&a->idle, &a->lock, deadline);
		settled = a->settled == atomic_load(&a->now) && a->busy == 0;
	}
	pthread_mutex_unlock(&a->lock);
	return settled;
}

const struct lc__ahead_stats *
lc__ahead_stats(const struct lc__ahead *a)
{
	return &a->stats;
}

/* ---- opening and closing ------------------------------------------------------------- */

/* Learn the names of existing copies that this reader will need, over one epoch. */
static lc_status
count_rows(struct lc__ahead *a, uint64_t *n)
{
	return_if_error(lc__copies_tell(a->copies));
	pthread_mutex_lock(&a->names);
	*n = a->known.count;
	pthread_mutex_unlock(&a->names);
	return LC_OK;
}

static lc_status
learn_first(struct lc__ahead *a)
{
	const uint64_t now = atomic_load(&a->now);
	uint64_t rows, object, position, first = 0;
	struct lc__copies *copies = a->copies;
	struct lc__wanted wanted;

	return_if_error(count_rows(a, &rows));
	for (uint64_t k = 0; rows > 0 && k < LC__ROSTER_ROWS; k++) {
		if (!a->future.next(a->future.ctx, now, k, &object, &position))
			break;
		if (k == 0)
			first = object;
		else if (object == first)
			break;
		return_if_error(a->future.find(a->future.ctx, object, &wanted, &copies));
		learn(a, wanted.name, object);
	}
	return LC_OK;
}

/* Threads of the library take no signals. */
static lc_status
start_threads(struct lc__ahead *a, unsigned threads)
{
	sigset_t all, old;
	int rc = 0;

	a->coming = malloc((threads + 1) * sizeof(*a->coming));
	a->thread = malloc((threads + 1) * sizeof(*a->thread));
	if (a->coming == NULL || a->thread == NULL)
		return lc__no_memory("prefetch");
	for (unsigned i = 0; i < threads; i++)
		a->coming[i] = LC__NEVER;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&a->lock);
	while (a->threads < threads && rc == 0) {
		rc = pthread_create(&a->thread[a->threads], NULL, run, a);
		if (rc == 0)
			a->threads++;
	}
	pthread_mutex_unlock(&a->lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return a->threads > 0 || threads == 0
	    ? LC_OK
	    : lc__error(LC_NO_MEMORY, rc, "prefetch: start a thread");
}

lc_status
lc__ahead_open(struct lc__copies *copies, const struct lc__future *future, uint64_t now,
    uint64_t ahead, unsigned threads, struct lc__ahead **out)
{
	struct lc__ahead *a = calloc(1, sizeof(*a));
	lc_status status;

	if (a == NULL)
		return lc__no_memory("prefetch");
	a->copies = copies;
	a->future = *future;
	a->ahead = ahead;
	a->pid = getpid();
	atomic_init(&a->now, now);
	a->settled = LC__NEVER;
	pthread_mutex_init(&a->lock, NULL);
	pthread_mutex_init(&a->names, NULL);
	pthread_rwlock_init(&a->alive, NULL);
	lc__cond_init(&a->moved);
	lc__cond_init(&a->idle);
	lc__copies_rank(copies,
	    &(struct lc__copies_rank){ .now = now_of, .when = when, .ctx = a });
	status = learn_first(a);
	if (status == LC_OK)
		status = start_threads(a, ahead > 0 ? threads : 0);
	if (status == LC_OK)
		*out = a;
	else
		lc__ahead_close(a);
	return status;
}

void
lc__ahead_end(struct lc__ahead *a)
{
	bool ended;

	if (a->pid != getpid())
		return;
	pthread_rwlock_wrlock(&a->alive);
	ended = a->ended;
	a->ended = true;
	pthread_rwlock_unlock(&a->alive);
	if (ended)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->moved);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->threads; i++)
		pthread_join(a->thread[i], NULL);
	lc__copies_unrank(a->copies, a);
}

void
lc__ahead_close(struct lc__ahead *a)
{
	if (a == NULL || a->pid != getpid())
		return;
	lc__ahead_end(a);
	lc__idset_free(&a->known);
	lc__idset_free(&a->twins);
	pthread_rwlock_destroy(&a->alive);
	pthread_mutex_destroy(&a->lock);
	pthread_mutex_destroy(&a->names);
	pthread_cond_destroy(&a->moved);
	pthread_cond_destroy(&a->idle);
	free(a->coming);
	free(a->thread);
	free(a);
}
