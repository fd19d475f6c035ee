/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes and stores what is missing in a module of plain puts. */
#ifndef CACHEX_FILL_FILL_H
#define CACHEX_FILL_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "fill/failures.h"
#include "fill/produce.h"
#include "lmdbcache.h"
#include "store/tool.h"
#include "value/expect.h"
#include "value/finite.h"

/** Requirements on a value, new or stored. */
struct lc__demands {
	const struct lc__expect *expect; /* NULL for none */
	size_t n_expect;
	struct lc__finite finite; /* for values from producers, and with `deep` for stored
	                           * ones */
	bool deep;                /* read stored values in full, with their checksums */
};

/** The result. */
struct lc__filled {
	uint64_t items;  /* items examined */
	uint64_t there;  /* items that were stored already, or had a repeated id */
	uint64_t wrong;  /* stored, but not as required, or damaged: computed again */
	uint64_t stored; /* new, or computed again */
	uint64_t failed;
	uint64_t bytes; /* of the tensors stored */
	struct lc__produced produced;
};

struct lc__fill {
	lc_cache *cache;
	const struct lc__producers *producers;
	struct lc__demands demands;
	/** Get the next item, with id, key, payload and tag; valid until the next call.
	 *  LC_END after the last one; LC_BUSY: none now, ask again. */
	lc_status (*next)(void *ctx, struct lc__item *out);
	/** Further requirements on a value of this item, new or stored; may be NULL.
	 *  Tensors of a stored value have no data unless demands.deep. */
	lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value);
	/** Called with each batch that comes back, before any of it is stored. May be
	 *  NULL. */
	void (*back)(void *ctx, const struct lc__items *batch);
	/** Called for each item that is done: stored, failed or (outcome OPEN) stored
	 *  before. May be NULL. */
	lc_status (*over)(void *ctx, const struct lc__item *item);
	/** Called several times a second; a status other than LC_OK stops. */
	lc_status (*idle)(void *ctx, const struct lc__filled *so_far);
	void *ctx;
	uint64_t batch;       /* most items in a batch */
	uint64_t batch_bytes; /* most bytes of payloads in a batch of more than one item
	                       * */
	struct lc__failures *failures; /* file for failed items; NULL for none */
	uint64_t (*clock_ns)(void);    /* clock for the rate of commits; NULL for
	                             * lc__clock_ns() */
	bool dry_run; /* dry run: items that are neither stored nor failed
	                             * count as missing */
};

/**
 * Run. An id that is repeated while it is being computed, or after it failed, is not
 * requested again. Memory is limited by the batches in progress, and grows by a few bytes
 * for each failed item. What is stored is durable on return, whatever the status; the
 * same call continues with what is left. While it runs, a batch is committed when it
 * comes back, unless less than ten times the duration of the last commit has passed since
 * that commit.
 * @return LC_OK, even if items failed; else what stopped it.
 */
LC_CHECKED lc_status lc__fill_run(const struct lc__fill *fill, struct lc__filled *out);

/**
 * Look @p n items up in one snapshot; records that the handle has not committed yet count
 * as done.
 * @param check  as in struct lc__fill, with @p ctx; values have tensors without data
 *               unless the demands are deep
 * @param out    room for n
 */
LC_CHECKED lc_status lc__done_look(lc_cache *cache, const struct lc__demands *demands,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, const struct lc__item *items, size_t n, enum lc__stored *out);

/**
 * Is a producer's value as required, and of the structure that a strict module has?
 * LC_SCHEMA or LC_INVALID with the reason.
 */
LC_CHECKED lc_status lc__demands_value(lc_cache *cache, const struct lc__demands *demands,
    const lc_value *value);

/** All zero is new, and due. */
struct lc__throttle {
	uint64_t ended_ns; /* when the last commit ended */
	uint64_t took_ns;
};

/** Is the next commit due? */
bool lc__throttle_is_due(const struct lc__throttle *pace, uint64_t now_ns);

/** There was a commit. */
void lc__throttle_note(struct lc__throttle *pace, uint64_t began_ns, uint64_t ended_ns);

/** All zeros: none. */
struct lc__fill_uncommitted {
	uint64_t *bytes; /* of each record's tensors; malloc'ed */
	size_t first, end, room;
};

/** One more record was put; @p pending are not committed of all puts so far. */
LC_CHECKED lc_status lc__fill_uncommitted_add(struct lc__fill_uncommitted *uncommitted,
    uint64_t bytes, uint64_t pending);

/** How many there are when @p pending are not committed, and the bytes of all. */
size_t lc__fill_uncommitted_count(struct lc__fill_uncommitted *uncommitted,
    uint64_t pending, uint64_t *bytes);

void lc__fill_uncommitted_free(struct lc__fill_uncommitted *uncommitted);

#endif
