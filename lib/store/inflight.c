/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/inflight.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

/** A claim: a key that a call is computing. */
struct lc__inflight_key {
	struct lc__inflight_key
	    *chain; /* the next in its slot, while it is in the table */
	const struct lc__inflight_call *call;  /* the call that computes it, until it is
	                                        * complete */
	const struct lc__inflight_call *asker; /* the last call that asked for it */
	size_t first;                          /* position in the wants of asker */
	lc_id id;      /* borrowed from the call's want, until it is complete */
	uint64_t hash; /* of the id */
	bool over;     /* it was published */
	unsigned refs; /* number of wants that hold it */
	struct lc__inflight_outcome outcome; /* set when it is complete */
};

struct lc__inflight {
	pthread_mutex_t lock;            /* guards the members below, and all claims */
	pthread_cond_t published;        /* wakes waiting threads */
	struct lc__inflight_key **slots; /* chains by hash; NULL while nslots is 0 */
	size_t nslots;                   /* 0 or a power of two */
	size_t count;                    /* number of claims in the table */
	struct lc__inflight_call *waits; /* calls that are waiting */
	atomic_uint_fast64_t number;     /* number of lc__inflight_publish() calls */
};

/* ---- life ------------------------------------------------------------------ */

static void
init_locks(struct lc__inflight *inflight)
{
	pthread_mutex_init(&inflight->lock, NULL);
	lc__cond_init(&inflight->published);
}

struct lc__inflight *
lc__inflight_new(void)
{
	struct lc__inflight *inflight = calloc(1, sizeof(*inflight));

	if (inflight != NULL)
		init_locks(inflight);
	return inflight;
}

void
lc__inflight_free(struct lc__inflight *inflight)
{
	if (inflight == NULL)
		return;
	pthread_cond_destroy(&inflight->published);
	pthread_mutex_destroy(&inflight->lock);
	free(inflight->slots);
	free(inflight);
}

uint64_t
lc__inflight_number(struct lc__inflight *inflight)
{
	return atomic_load_explicit(&inflight->number, memory_order_acquire);
}

/* ---- the table, under the lock ---------------------------------------------- */

/* The link to the claim of a key, or the end of its chain. There must be slots. */
static struct lc__inflight_key **
find_link_locked(const struct lc__inflight *inflight, const lc_id *id, uint64_t hash)
{
	struct lc__inflight_key **link = &inflight->slots[hash & (inflight->nslots - 1)];

	while (*link != NULL &&
	    ((*link)->hash != hash || (*link)->id.size != id->size ||
		memcmp((*link)->id.data, id->data, id->size) != 0))
		link = &(*link)->chain;
	return link;
}

/* Make slots for @p more claims, one each. */
static lc_status
reserve_locked(struct lc__inflight *inflight, size_t more)
{
	size_t nslots = inflight->nslots > 0 ? inflight->nslots : 16;
	struct lc__inflight_key **slots;

	while (nslots < inflight->count + more)
		nslots *= 2;
	if (nslots == inflight->nslots)
		return LC_OK;
	slots = calloc(nslots, sizeof(struct lc__inflight_key *));
	if (slots == NULL)
		return lc__no_memory("get or compute");
	for (size_t i = 0; i < inflight->nslots; i++) {
		struct lc__inflight_key *claim = inflight->slots[i];

		while (claim != NULL) {
			struct lc__inflight_key *next = claim->chain;
			struct lc__inflight_key **slot =
			    &slots[claim->hash & (nslots - 1)];

			claim->chain = *slot;
			*slot = claim;
			claim = next;
		}
	}
	free(inflight->slots);
	inflight->slots = slots;
	inflight->nslots = nslots;
	return LC_OK;
}

/* ---- claiming --------------------------------------------------------------- */

static lc_status
claim_one_locked(struct lc__inflight *inflight, const struct lc__inflight_call *call,
    struct lc__want *wants, size_t i)
{
	struct lc__want *want = &wants[i];
	struct lc__inflight_key **link = find_link_locked(inflight, &want->id,
	    want->hash);

	if (*link == NULL) {
		struct lc__inflight_key *claim = calloc(1, sizeof(*claim));

		if (claim == NULL)
			return lc__no_memory("get or compute");
		claim->call = call;
		claim->id = want->id;
		claim->hash = want->hash;
		*link = claim;
		inflight->count++;
	}
	want->claim = *link;
	want->claim->refs++;
	want->mine = want->claim->call == call;
	if (want->claim->asker != call)
		want->claim->first = i;
	want->claim->asker = call;
	want->first = want->claim->first;
	return LC_OK;
}

/* Remove a call's claims from the table, so that no other call finds them, and wake the
 * threads that wait for them. */
static void
publish_locked(struct lc__inflight *inflight, struct lc__want *wants, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct lc__inflight_key *claim = wants[i].claim;

		if (!wants[i].mine || claim->over)
			continue;
		*find_link_locked(inflight, &claim->id, claim->hash) = claim->chain;
		claim->over = true;
		inflight->count--;
		if (inflight->count == 0) {
			free(inflight->slots);
			inflight->slots = NULL;
			inflight->nslots = 0;
		}
	}
	atomic_fetch_add_explicit(&inflight->number, 1, memory_order_release);
	pthread_cond_broadcast(&inflight->published);
}

/* Also forget which call asked last: the next call may have the same address. */
static void
leave_locked(struct lc__want *wants, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct lc__inflight_key *claim = wants[i].claim;

		claim->asker = NULL;
		wants[i].claim = NULL;
		if (--claim->refs == 0) {
			lc__block_drop(claim->outcome.block);
			free(claim);
		}
	}
}

lc_status
lc__inflight_claim(struct lc__inflight *inflight, struct lc__inflight_call *call,
    struct lc__want *wants, size_t n)
{
	lc_status status;
	size_t done = 0;

	call->thread = pthread_self();
	call->waiting = NULL;
	pthread_mutex_lock(&inflight->lock);
	status = reserve_locked(inflight, n);
	while (status == LC_OK && done < n) {
		status = claim_one_locked(inflight, call, wants, done);
		done += status == LC_OK;
	}
	if (status != LC_OK) {
		publish_locked(inflight, wants, done);
		leave_locked(wants, done);
	}
	pthread_mutex_unlock(&inflight->lock);
	return status;
}

/* ---- publishing and waiting -------------------------------------------------- */

/* No other thread reads the outcome before the claim is complete, so this needs no
 * lock. */
void
lc__inflight_set(struct lc__want *want, struct lc__inflight_outcome outcome)
{
	want->claim->outcome.block = lc__block_hold(outcome.block);
	want->claim->outcome.note = outcome.note;
}

void
lc__inflight_publish(struct lc__inflight *inflight, struct lc__want *wants, size_t n)
{
	pthread_mutex_lock(&inflight->lock);
	publish_locked(inflight, wants, n);
	pthread_mutex_unlock(&inflight->lock);
}

/* The claim for which a thread waits; NULL if it does not wait. */
static const struct lc__inflight_key *
waited_for_locked(const struct lc__inflight *inflight, pthread_t thread)
{
	for (const struct lc__inflight_call *call = inflight->waits; call != NULL;
	     call = call->next)
		if (pthread_equal(call->thread, thread))
			return call->waiting;
	return NULL;
}

/* Would the calling thread wait for itself? It has claims while it waits if the function
 * that computes them makes another call. */
static bool
is_circular_locked(const struct lc__inflight *inflight,
    const struct lc__inflight_key *claim)
{
	while (claim != NULL && !claim->over) {
		if (pthread_equal(claim->call->thread, pthread_self()))
			return true;
		claim = waited_for_locked(inflight, claim->call->thread);
	}
	return false;
}

lc_status
lc__inflight_wait(struct lc__inflight *inflight, struct lc__inflight_call *call,
    const struct lc__want *want, uint64_t deadline_ns, struct lc__inflight_outcome *out)
{
	struct lc__inflight_call **link = &inflight->waits;
	bool circular, in_time = true;

	pthread_mutex_lock(&inflight->lock);
	circular = is_circular_locked(inflight, want->claim);
	if (!circular) {
		call->waiting = want->claim;
		call->next = inflight->waits;
		inflight->waits = call;
		while (!want->claim->over && in_time)
			in_time = lc__cond_wait(&inflight->published, &inflight->lock,
			    deadline_ns);
		while (*link != call)
			link = &(*link)->next;
		*link = call->next;
		call->waiting = NULL;
		in_time = want->claim->over;
		if (in_time)
			*out = want->claim->outcome;
	}
	pthread_mutex_unlock(&inflight->lock);
	if (circular)
		return lc__error(LC_INVALID, 0,
		    "get or compute: key %s: asked for "
		    "by a function that is computing it",
		    lc__quote_id(want->id.data, want->id.size));
	if (!in_time)
		return lc__error(LC_TIMEOUT, 0,
		    "get or compute: key %s: another thread is still computing it",
		    lc__quote_id(want->id.data, want->id.size));
	return LC_OK;
}

void
lc__inflight_leave(struct lc__inflight *inflight, struct lc__want *wants, size_t n)
{
	pthread_mutex_lock(&inflight->lock);
	leave_locked(wants, n);
	pthread_mutex_unlock(&inflight->lock);
}

/* ---- fork -------------------------------------------------------------------- */

void
lc__inflight_before_fork(struct lc__inflight *inflight)
{
	pthread_mutex_lock(&inflight->lock);
}

void
lc__inflight_after_fork_parent(struct lc__inflight *inflight)
{
	pthread_mutex_unlock(&inflight->lock);
}

/* What the calling thread computes stays claimed: the function that computes it may have
 * forked. */
void
lc__inflight_after_fork_child(struct lc__inflight *inflight)
{
	init_locks(inflight);
	inflight->waits = NULL;
	for (size_t i = 0; i < inflight->nslots; i++) {
		struct lc__inflight_key **link = &inflight->slots[i];

		while (*link != NULL) {
			if (pthread_equal((*link)->call->thread, pthread_self())) {
				link = &(*link)->chain;
				continue;
			}
			(*link)->over = true;
			*link = (*link)->chain;
			inflight->count--;
		}
	}
}
