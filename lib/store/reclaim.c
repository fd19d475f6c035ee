/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/reclaim.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "store/fold.h"
#include "store/lookup.h"
#include "store/packing.h"

/* Fewer dead bytes do not justify the work. */
#define SLACK ((uint64_t)1 << 20)
/* How much a change examines and moves in addition to its own work. */
#define MIN_LOOKS 256
#define MIN_MOVED ((uint64_t)256 << 10)

/* A chunk with too many dead records. */
struct sparse {
	uint64_t id;
	struct lc__ledger_row row;
	struct lc__packing packing; /* of those to be rewritten */
};

struct reclaim {
	struct lc__change *change;
	struct sparse *chunks; /* malloc'ed; from some index on, those to be rewritten */
	size_t count, room;
	uint64_t records;              /* live ones in the chunks to be rewritten */
	struct lc__new_entry *entries; /* of those that move; malloc'ed */
	uint32_t nentries;
	uint64_t last_row; /* key of the row of the last chunk that shares its row */
};

/* ---- which chunks --------------------------------------------------------- */

static bool
is_needed(const struct lc__state *state)
{
	const uint64_t dead = state->bytes - state->live_bytes;

	return state->bytes > state->live_bytes && dead > SLACK &&
	    dead > state->live_bytes;
}

/* About as many pages, without the directory. */
static uint64_t
pages(const struct reclaim *r, uint64_t bytes)
{
	return (LC__CHUNK_HEADER + bytes) / lc__env_page_size(r->change->snapshot.env);
}

static bool
is_sparse(const struct reclaim *r, const struct lc__ledger_row *row)
{
	return row->source == 0 && row->bytes > 0 && row->live_bytes <= row->bytes / 2 &&
	    (row->live == 0 || pages(r, row->live_bytes) < pages(r, row->bytes));
}

/* Where to begin: multiples of the golden ratio, modulo 1, are spread evenly, so that
 * commits visit all chunks in turn, whichever process makes them. */
static uint64_t
first_look(const struct lc__state *state)
{
	const uint64_t fraction = state->generation * UINT64_C(0x9e3779b97f4a7c15);

	return 1 + (uint64_t)(((unsigned __int128)fraction * state->next_chunk) >> 64);
}

/* Examine some chunks, continuing with the first one after the last. */
static lc_status
find_sparse(struct reclaim *r, uint64_t looks)
{
	struct lc__snapshot *s = &r->change->snapshot;
	const uint64_t first = first_look(&s->state);
	uint64_t from = first;
	bool wrapped = false;

	for (; looks > 0; looks--) {
		struct sparse chunk = { .id = 0 };
		bool intact;
		lc_status status = lc__ledger_seek(s, from, &chunk.id, &chunk.row,
		    &intact);

		if (status == LC_END && !wrapped) {
			wrapped = true;
			from = 1;
			continue;
		}
		if (status == LC_END || (wrapped && chunk.id >= first))
			return LC_OK;
		return_if_error(status);
		if (intact && is_sparse(r, &chunk.row)) {
			return_if_error(lc__array_reserve(&r->chunks, &r->room,
			    r->count + 1, "commit"));
			r->chunks[r->count++] = chunk;
		}
		if (chunk.id > LC__CHUNK_ID_MAX)
			return LC_OK;
		from = chunk.id + 1;
	}
	return LC_OK;
}

/* The chunk with the smallest share of live data comes first. */
static int
by_share(const void *a, const void *b)
{
	const struct sparse *x = a, *y = b;
	const double p = (double)x->row.live_bytes / (double)x->row.bytes;
	const double q = (double)y->row.live_bytes / (double)y->row.bytes;

	if (p != q)
		return p < q ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Find the live records of a chunk, and their new positions. */
static lc_status
prepare(struct reclaim *r, struct sparse *chunk)
{
	struct lc__packing *p = &chunk->packing;
	lc_status status;

	p->change = r->change;
	status = lc__live_add(&p->live, &r->change->snapshot, chunk->id, &chunk->row,
	    true);
	if (status == LC_OK)
		status = lc__packing_lay_out(p, &chunk->row);
	if (status == LC_OK)
		r->records += p->live.count;
	else
		lc__packing_free(p);
	return status;
}

/* Can a chunk in a row of its own, or the first one of a row, be rewritten? The row
 * before it in its block may have to be split. */
static lc_status
check_row_before(struct reclaim *r, uint64_t id)
{
	struct lc__slice row;
	uint64_t first;
	lc_status status;

	if (id % LC__FOLD_BLOCK == 0)
		return LC_OK;
	status = lc__chunk_row(r->change->snapshot.txn, id - 1, &first, &row);
	if (status == LC_NOT_FOUND)
		return LC_OK;
	return_if_error(status);
	return !lc__is_folded(row.data, row.size) || lc__fold_sound(first, &row)
	    ? LC_OK
	    : LC_CORRUPT;
}

/* The bytes to move: those of the live records, and for a chunk that shares its row the
 * others in the row, counted once. LC_CORRUPT for a chunk that must stay. */
static lc_status
cost(struct reclaim *r, const struct sparse *chunk, uint64_t *out)
{
	struct lc__slice row;
	uint64_t first;

	*out = chunk->row.live_bytes;
	return_if_error(lc__chunk_row(r->change->snapshot.txn, chunk->id, &first, &row));
	if (first == chunk->id)
		return_if_error(check_row_before(r, chunk->id));
	if (!lc__is_folded(row.data, row.size))
		return LC_OK;
	if (chunk->row.live > 0 || first != r->last_row)
		*out += row.size;
	r->last_row = first;
	return lc__fold_sound(first, &row) ? LC_OK : LC_CORRUPT;
}

/* Keep the chunks that fit into @p budget bytes and are intact. */
static lc_status
choose(struct reclaim *r, uint64_t budget)
{
	const size_t found = r->count;
	uint64_t moved = 0;

	if (found > 0)
		qsort(r->chunks, found, sizeof(*r->chunks), by_share);
	r->count = 0;
	for (size_t i = 0; i < found; i++) {
		struct sparse chunk = r->chunks[i];
		uint64_t bytes;
		lc_status status = cost(r, &chunk, &bytes);

		if (moved > 0 && bytes > budget - moved)
			break;
		if (status == LC_OK)
			status = prepare(r, &chunk);
		if (status == LC_CORRUPT || status == LC_NOT_FOUND)
			continue;
		return_if_error(status);
		r->chunks[r->count++] = chunk;
		moved += bytes;
		if (moved > budget)
			break;
	}
	return LC_OK;
}

/* ---- rewriting them ------------------------------------------------------- */

static lc_status
rewrite(struct reclaim *r, struct sparse *chunk)
{
	return_if_error(lc__change_drop_chunk(r->change, chunk->id, &chunk->row));
	if (chunk->packing.live.count == 0)
		return LC_OK;
	return_if_error(
	    lc__packing_write(&chunk->packing, chunk->id, r->entries, &r->nentries));
	return lc__change_put_ledger(r->change, chunk->id, &chunk->packing.row);
}

static lc_status
rewrite_all(struct reclaim *r)
{
	r->entries = malloc((r->records + 1) * sizeof(*r->entries));
	if (r->entries == NULL)
		return lc__no_memory("commit");
	for (size_t i = 0; i < r->count; i++)
		return_if_error(rewrite(r, &r->chunks[i]));
	return r->nentries == 0 ? LC_OK
				: lc__change_add_run(r->change, r->entries, r->nentries);
}

lc_status
lc__reclaim(struct lc__change *change, const struct lc__dead *dead, uint32_t n)
{
	struct reclaim r = { .change = change };
	uint64_t budget = MIN_MOVED;
	lc_status status;

	return_if_error(lc__merge_superseded(&change->snapshot));
	if (!is_needed(&change->snapshot.state))
		return LC_OK;
	return_if_error(lc__snapshot_load_runs(&change->snapshot));
	for (uint32_t i = 0; i < n; i++)
		budget += dead[i].bytes;
	status = find_sparse(&r, (uint64_t)MIN_LOOKS + n);
	if (status == LC_OK)
		status = choose(&r, budget);
	if (status == LC_OK && r.count > 0)
		status = rewrite_all(&r);
	for (size_t i = 0; i < r.count; i++)
		lc__packing_free(&r.chunks[i].packing);
	free(r.chunks);
	free(r.entries);
	return status;
}
