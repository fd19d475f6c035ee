/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills a module of plain puts with what it lacks. */
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

/** What is demanded of a value, new or stored. */
struct lc__demands {
	const struct lc__expect *expect; /* NULL for none */
	size_t n_expect;
	struct lc__finite finite; /* of what producers return, and with `deep` of
	                                    what is stored */
	bool deep;                /* read what is stored in full: checksums too */
};

/** What was done. */
struct lc__filled {
	uint64_t items;  /* looked at */
	uint64_t there;  /* of them, stored already, or the same id came before */
	uint64_t wrong;  /* stored, but not as demanded, or damaged: made anew */
	uint64_t stored; /* new, or anew */
	uint64_t failed;
	uint64_t bytes; /* of the tensors stored */
	struct lc__produced produced;
};

struct lc__fill {
	lc_cache *cache;
	const struct lc__producers *producers;
	struct lc__demands demands;
	/** The next item to be had, with id, key, payload and tag; valid until the next
	 *  call. LC_END behind the last one; LC_BUSY: none now, ask again. */
	lc_status (*next)(void *ctx, struct lc__item *out);
	/** More demands on a value of this item, new or stored; NULL for none. The
	 *  tensors of one that is stored have no data unless demands.deep. */
	lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value);
	/** Told of each batch that comes back, before anything of it is stored. NULL
	 *  for nobody. */
	void (*back)(void *ctx, const struct lc__items *batch);
	/** Told of each item that is over: stored, failed or (outcome OPEN) there
	 *  already. NULL for nobody. */
	lc_status (*over)(void *ctx, const struct lc__item *item);
	/** Called several times a second; another status than LC_OK stops. */
	lc_status (*idle)(void *ctx, const struct lc__filled *so_far);
	void *ctx;
	uint64_t batch;       /* items a batch, at most */
	uint64_t batch_bytes; /* of payloads in a batch, at most, once it has one */
	struct lc__failures
	    *failures;              /* where failed items are written; NULL for nowhere */
	uint64_t (*clock_ns)(void); /* that commits follow; NULL for lc__clock_ns() */
	bool dry_run;               /* only look: what is neither there nor ends up
	                                    stored or failed is missing */
};

/**
 * Run. An id that comes again while it is being made, or after it failed, is not asked
 * for again. Memory is bounded by the batches on their way, and grows by some bytes for
 * each failed item. What is stored is durable when this returns, whatever it returns; the same
 * call does what is left. While it runs a batch is committed when it is back, unless ten
 * times what the last commit took has not passed since that.
 * @return LC_OK, also when items failed; else what stopped it.
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
 * Is a value that a producer made as demanded, and of the structure that a strict
 * module holds? LC_SCHEMA or LC_INVALID with what is wrong.
 */
LC_CHECKED lc_status lc__demands_value(lc_cache *cache, const struct lc__demands *demands,
    const lc_value *value);

/** All zero is new, and due. */
struct lc__throttle {
	uint64_t ended_ns; /* when the last commit did */
	uint64_t took_ns;
};

/** Is it time for the next one? */
bool lc__throttle_is_due(const struct lc__throttle *pace, uint64_t now_ns);

/** There was one. */
void lc__throttle_note(struct lc__throttle *pace, uint64_t began_ns, uint64_t ended_ns);

/** All zero is none. */
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
