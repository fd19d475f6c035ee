/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/recover.h"

#include <string.h>

#include "base/error.h"
#include "store/change.h"
#include "store/record.h"

/* Approximate size of cache_ids and entries in a new run. */
#define RUN_BYTES ((uint64_t)32 << 20)
#define ENTRY_BYTES 32

/* ---- chunks and ledger ---------------------------------------------------- */

/* Store the sound records of a chunk, whose value was deleted; the place in the map from
 * which they are copied is not overwritten before the commit. */
static lc_status
fill_chunk(struct lc__recovery *r, const struct lc__recovery_chunk *chunk,
    const struct lc__ledger_row *row, const struct lc__directory_build *directory)
{
	unsigned char *records;
	uint64_t at = 0;

	return_if_error(
	    lc__change_put_chunk(r->change, chunk->id, row, directory, &records));
	for (uint64_t i = 0; i < chunk->count; i++) {
		struct lc__recovery_record *sound = &r->records[chunk->first + i];

		memcpy(records + at, sound->bytes, sound->size);
		sound->moved_to = lc__location(chunk->id, at / LC__RECORD_ALIGN);
		at += sound->size;
	}
	return LC_OK;
}

static lc_status
rewrite_chunk(struct lc__recovery *r, const struct lc__recovery_chunk *chunk,
    const struct lc__ledger_row *row)
{
	struct lc__directory_build directory = {
		.has_lengths = lc__measures(&r->measure),
	};
	lc_status status;

	for (uint64_t i = 0; i < chunk->count; i++) {
		const struct lc__recovery_record *sound = &r->records[chunk->first + i];

		lc__directory_add(&directory, sound->size, sound->length);
	}
	status = fill_chunk(r, chunk, row, &directory);
	lc__directory_free(&directory);
	return status;
}

static lc_status
write_chunk(struct lc__recovery *r, const struct lc__recovery_chunk *chunk)
{
	struct lc__change *change = r->change;
	struct lc__ledger_row row;
	bool intact = false;

	return_if_error(lc__recovery_row(r, chunk, &row, &intact));
	if (chunk->rewrite)
		return_if_error(
		    lc__txn_delete(change->snapshot.txn, LC__CHUNK, chunk->id));
	if (chunk->rewrite && row.records > 0)
		return_if_error(rewrite_chunk(r, chunk, &row));
	return row.records > 0 ? lc__change_put_ledger(change, chunk->id, &row) : LC_OK;
}

/* ---- the index ------------------------------------------------------------ */

static lc_status
write_run(struct lc__recovery *r, uint64_t from, uint64_t n, uint64_t id_bytes)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__run_builder builder;
	lc_status status;

	return_if_error(lc__run_build_start(&builder, lc__env_seed(s->env), n, id_bytes));
	for (uint64_t i = from; i < from + n; i++) {
		const struct lc__new_entry *entry = &r->live[i];

		lc__run_build_add(&builder, entry->hash,
		    lc__recovery_record_at(r, entry->location)->moved_to, entry->id.data,
		    entry->id.size);
	}
	lc__run_build_finish(&builder, s->state.next_run, LC__LEVEL_FULL);
	status = lc__change_push_run(r->change, &builder, LC__LEVEL_FULL);
	lc__run_build_free(&builder);
	return status;
}

static lc_status
write_index(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;

	return_if_error(lc__txn_clear(s->txn, LC__INDEX));
	lc__state_drop_runs(&s->state, 0, s->state.nruns);
	for (uint64_t i = 0, n; i < r->nlive; i += n) {
		uint64_t id_bytes = 0;

		for (n = 0; i + n < r->nlive && n * ENTRY_BYTES + id_bytes < RUN_BYTES;
		     n++)
			id_bytes += r->live[i + n].id.size;
		return_if_error(write_run(r, i, n, id_bytes));
	}
	return LC_OK;
}

/* ---- everything ------------------------------------------------------------------ */

lc_status
lc__recovery_write(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	bool moved = false;
	uint64_t id = 0;
	lc_status status;

	/* The records are in the map now; after the commit they are elsewhere. */
	return_if_error(lc__usage_clear(&r->change->usage, s->txn));
	return_if_error(lc__recovery_count_usage(r, &r->change->usage));
	for (uint64_t i = 0; i < r->nchunks; i++) {
		moved |= r->chunks[i].rewrite;
		return_if_error(write_chunk(r, &r->chunks[i]));
	}
	/* Set the counters last: writing the chunks has counted some. */
	s->state.records = s->state.bytes = s->state.live = s->state.live_bytes = 0;
	for (uint64_t i = 0; i < r->nchunks; i++) {
		struct lc__ledger_row row;
		bool intact = false;

		return_if_error(lc__recovery_row(r, &r->chunks[i], &row, &intact));
		s->state.records += row.records;
		s->state.bytes += row.bytes;
		s->state.live += row.live;
		s->state.live_bytes += row.live_bytes;
	}
	/* The old rows of the ledger were needed until the new ones were made. */
	while ((status = lc__recovery_orphan(r, &id)) == LC_OK)
		return_if_error(lc__txn_delete(s->txn, LC__LEDGER, id));
	if (status != LC_END)
		return status;
	return moved || r->index_damaged || r->state_lost || r->result.rescued > 0
	    ? write_index(r)
	    : LC_OK;
}
