/* SPDX-License-Identifier: BSD-2-Clause */
/* clear: all records leave in one commit. */
#include "base/error.h"
#include "store/cache.h"
#include "store/change.h"
#include "store/flush.h"

/* Ids go on: no chunk and no run is ever taken for one of those deleted. */
static lc_status
clear(struct lc__change *change, void *nothing)
{
	struct lc__snapshot *s = &change->snapshot;

	(void)nothing;
	return_if_error(lc__txn_clear(s->txn, LC__CHUNK));
	return_if_error(lc__txn_clear(s->txn, LC__LEDGER));
	return_if_error(lc__txn_clear(s->txn, LC__INDEX));
	lc__state_drop_runs(&s->state, 0, s->state.nruns);
	return_if_error(lc__usage_clear(&change->usage, s->txn));
	s->state.live = s->state.records = 0;
	s->state.live_bytes = s->state.bytes = 0;
	return LC_OK;
}

lc_status
lc_clear(lc_cache *cache)
{
	return_if_error(lc__check_writable(cache, "clear"));
	lc__flush_drop(cache);
	return lc__change_run(cache->env, cache->options.durability, clear, NULL);
}
