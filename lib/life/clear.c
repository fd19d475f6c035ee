/* SPDX-License-Identifier: BSD-2-Clause */
/* clear: removes all records in one commit. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "store/cache.h"
#include "store/change.h"
#include "store/flush.h"
#include "store/inputs.h"

/* Ids continue: no new chunk or run gets the id of a deleted one. */
static lc_status
clear_rows(struct lc__change *change)
{
	struct lc__snapshot *s = &change->snapshot;

	return_if_error(lc__txn_clear(s->txn, LC__CHUNK));
	return_if_error(lc__txn_clear(s->txn, LC__LEDGER));
	return_if_error(lc__txn_clear(s->txn, LC__INDEX));
	return_if_error(lc__txn_clear(s->txn, LC__INPUT));
	return_if_error(lc__txn_clear(s->txn, LC__ORDER));
	return_if_error(lc__txn_delete_meta(s->txn, "fill"));
	lc__state_drop_runs(&s->state, 0, s->state.nruns);
	return_if_error(lc__usage_clear(&change->usage, s->txn));
	s->state.live = s->state.records = 0;
	s->state.live_bytes = s->state.bytes = 0;
	return LC_OK;
}

/* Inputs are removed too. A claim on all of them excludes their writers. */
static lc_status
clear(struct lc__change *change, void *claimed)
{
	bool filled;

	return_if_error(lc__has_inputs(&change->snapshot, &filled));
	if (filled && !*(const bool *)claimed)
		return lc__error(LC_BUSY, 0, "clear: %s: inputs are being declared",
		    lc__env_dir(change->snapshot.env));
	return clear_rows(change);
}

/* Records that cachex fill keeps for later chunks: a new fill may compute other values
 * from the same lines. */
static lc_status
remove_kept(const char *dir)
{
	const struct dirent *entry;
	struct lc__dir entries;
	lc_status status;

	return_if_error(lc__dir_open(dir, &entries));
	while ((status = lc__dir_next(&entries, &entry)) == LC_OK && entry != NULL)
		if (fnmatch("fill.[0-9]*.part*", entry->d_name, 0) == 0 &&
		    unlinkat(entries.fd, entry->d_name, 0) == -1) {
			status = lc__error_sys(errno, "%s/%s: remove", dir,
			    entry->d_name);
			break;
		}
	lc__dir_close(&entries);
	return status;
}

/* Records put before leave with the commit, not earlier: until then they must not appear
 * to be replaced by older ones, and they stay if the commit fails. */
static lc_status
clear_module(lc_cache *cache, bool claimed)
{
	lc_status status;

	return_if_error(lc__flush_hold(cache));
	status = lc__change_run(cache->env, cache->options.durability, clear, &claimed);
	lc__flush_release(cache, status == LC_OK);
	return status;
}

lc_status
lc_clear(lc_cache *cache)
{
	struct lc__snapshot *s;
	bool filled;
	lc_status status;

	return_if_error(lc__check_writable(cache, "clear"));
	return_if_error(lc__snapshot_take(cache->env, &s));
	filled = s->filled;
	lc__snapshot_give(s, 0);
	if (!filled)
		return clear_module(cache, false);
	return_if_error(lc__input_lock_all(cache->env, "clear"));
	status = remove_kept(lc__env_path(cache->env));
	if (status == LC_OK)
		status = clear_module(cache, true);
	lc__input_unlock_all(cache->env);
	return status;
}
