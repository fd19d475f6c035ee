/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "store/lookup.h"

/* The largest chunk that is folded: for a larger one, the saving in its last page is not
 * worth the copy. */
#define SMALL ((uint64_t)8 << 10)

/* ---- writing a row -------------------------------------------------------- */

/* Chunks being written into one row. */
struct row {
	uint64_t first; /* id of the first one; 0 without one */
	uint64_t places[LC__FOLD_BLOCK];
	struct lc__buf bytes; /* of the chunks */
};

static void
append(struct row *row, uint64_t id, const unsigned char *bytes, uint64_t size)
{
	static const unsigned char zeros[LC__RECORD_ALIGN];
	const uint64_t padded = lc__round_up(size, LC__RECORD_ALIGN);

	if (row->first == 0)
		row->first = id;
	row->places[id % LC__FOLD_BLOCK] = LC__FOLDED_LIST + row->bytes.size;
	lc__buf_append(&row->bytes, bytes, (size_t)size);
	lc__buf_append(&row->bytes, zeros, (size_t)(padded - size));
}

/* The size of the pages of a value, without LMDB's header of 16 bytes. */
static uint64_t
page_bytes(const struct lc__change *change, uint64_t size)
{
	return lc__round_up(16 + size, lc__env_page_size(change->snapshot.env)) - 16;
}

static uint64_t
row_size(const struct row *row)
{
	return LC__FOLDED_LIST + row->bytes.size + LC__FOLDED_LIST;
}

/* Insert the row, if it has a chunk, and begin another. It fills its pages. */
static lc_status
insert(struct lc__change *change, struct row *row)
{
	const uint64_t block = row->first - row->first % LC__FOLD_BLOCK;
	const uint64_t size = page_bytes(change, row_size(row));
	const uint64_t last = size - LC__FOLDED_LIST;
	const uint64_t end = LC__FOLDED_LIST + row->bytes.size;
	unsigned char *value;

	if (row->bytes.failed)
		return lc__no_memory("commit");
	if (row->first == 0)
		return LC_OK;
	return_if_error(lc__txn_insert(change->snapshot.txn, LC__CHUNK, row->first,
	    (size_t)size, &value));
	lc__folded_encode(value, block, row->places);
	memcpy(value + LC__FOLDED_LIST, row->bytes.data, row->bytes.size);
	memset(value + end, 0, (size_t)(last - end));
	memcpy(value + last, value, LC__FOLDED_LIST);
	row->first = row->bytes.size = 0;
	memset(row->places, 0, sizeof(row->places));
	return LC_OK;
}

/* ---- taking chunks out ---------------------------------------------------- */

bool
lc__fold_sound(uint64_t first, const struct lc__slice *row)
{
	struct lc__folded chunk = { 0 };

	return lc__folded_intact(row->data, row->size) &&
	    lc__folded_next(row->data, row->size, &chunk) && chunk.id == first;
}

lc_status
lc__fold_delete(struct lc__change *change, uint64_t chunk)
{
	struct lc__slice row;
	uint64_t first;

	return_if_error(lc__chunk_row(change->snapshot.txn, chunk, &first, &row));
	if (!lc__is_folded(row.data, row.size))
		return lc__txn_delete(change->snapshot.txn, LC__CHUNK, chunk);
	return_if_error(lc__array_reserve(&change->gone, &change->gone_room,
	    change->ngone + 1, "commit"));
	change->gone[change->ngone++] = chunk;
	return LC_OK;
}

static int
by_id(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool
is_gone(const struct lc__change *change, uint64_t id)
{
	return change->ngone > 0 &&
	    bsearch(&id, change->gone, change->ngone, sizeof(id), by_id) != NULL;
}

/* The size of a chunk without the zeros after it; 0 if its header is damaged. */
static uint64_t
chunk_bytes(const unsigned char *bytes, uint64_t room, uint64_t id)
{
	struct lc__chunk chunk;
	uint64_t size;

	if (!lc__chunk_parse(bytes, room, id, &chunk))
		return 0;
	size = lc__chunk_size(&chunk, 0);
	return size <= room ? size : 0;
}

/* Rewrite the row @p first without its deleted chunks, in two rows: up to chunk @p split,
 * and from there on. The old bytes may be of this change, and then they become invalid
 * with the row. */
static lc_status
rewrite(struct lc__change *change, uint64_t first, const struct lc__slice *value,
    uint64_t split)
{
	unsigned char *copy = malloc(value->size);
	const uint64_t size = value->size;
	struct lc__folded chunk = { 0 };
	struct row row = { 0 };
	lc_status status;

	if (copy == NULL)
		return lc__no_memory("commit");
	memcpy(copy, value->data, (size_t)size);
	status = lc__txn_delete(change->snapshot.txn, LC__CHUNK, first);
	while (status == LC_OK && lc__folded_next(copy, size, &chunk)) {
		const unsigned char *bytes = copy + chunk.at;
		const uint64_t used = chunk_bytes(bytes, chunk.size, chunk.id);

		lc__snapshot_forget_chunk(&change->snapshot, chunk.id);
		if (row.first < split && chunk.id > split)
			status = insert(change, &row);
		if (!is_gone(change, chunk.id))
			append(&row, chunk.id, bytes, used > 0 ? used : chunk.size);
	}
	if (status == LC_OK)
		status = insert(change, &row);
	lc__buf_free(&row.bytes);
	free(copy);
	return status;
}

lc_status
lc__fold_settle(struct lc__change *change)
{
	uint64_t done = 0; /* chunks up to this one */

	if (change->ngone > 0)
		qsort(change->gone, change->ngone, sizeof(*change->gone), by_id);
	for (size_t i = 0; i < change->ngone; i++) {
		struct lc__folded chunk = { 0 };
		struct lc__slice row;
		uint64_t first;

		if (change->gone[i] <= done)
			continue;
		return_if_error(
		    lc__chunk_row(change->snapshot.txn, change->gone[i], &first, &row));
		/* Without its list it is unknown what would be lost; verify reports
		 * it. */
		if (!lc__fold_sound(first, &row))
			continue;
		while (lc__folded_next(row.data, row.size, &chunk))
			done = chunk.id;
		return_if_error(rewrite(change, first, &row, 0));
	}
	change->ngone = 0;
	return LC_OK;
}

/* Does a row of several chunks, damaged or not, contain @p chunk or a later one? */
static bool
reaches(uint64_t first, const struct lc__slice *row, uint64_t chunk)
{
	struct lc__folded next = { 0 };

	while (lc__folded_next(row->data, row->size, &next))
		if (next.id >= chunk)
			return true;
	return first >= chunk;
}

lc_status
lc__fold_make_room(struct lc__change *change, uint64_t chunk)
{
	struct lc__slice row;
	uint64_t first;
	lc_status status;

	return_if_error(lc__fold_settle(change));
	status = lc__chunk_row(change->snapshot.txn, chunk, &first, &row);
	if (status == LC_NOT_FOUND)
		return LC_OK;
	return_if_error(status);
	if (!lc__is_folded(row.data, row.size) || !reaches(first, &row, chunk))
		return LC_OK;
	if (!lc__fold_sound(first, &row))
		return lc__error(LC_CORRUPT, 0, "%s: the row of chunk %llu is damaged",
		    lc__env_dir(change->snapshot.env), (unsigned long long)first);
	return rewrite(change, first, &row, chunk);
}

/* ---- folding -------------------------------------------------------------- */

/* Small neighbours. */
struct group {
	struct row row;
	uint64_t ids[LC__FOLD_BLOCK];
	unsigned count;
	uint64_t alone; /* size of the pages that they use now */
};

/* Replace the rows of the group by one, if that saves a page. */
static lc_status
end_group(struct lc__change *change, struct group *g)
{
	lc_status status = LC_OK;

	if (page_bytes(change, row_size(&g->row)) < g->alone) {
		for (unsigned i = 0; i < g->count && status == LC_OK; i++)
			status = lc__txn_delete(change->snapshot.txn, LC__CHUNK,
			    g->ids[i]);
		for (unsigned i = 0; i < g->count; i++)
			lc__snapshot_forget_chunk(&change->snapshot, g->ids[i]);
		if (status == LC_OK)
			status = insert(change, &g->row);
	}
	lc__buf_free(&g->row.bytes);
	memset(g, 0, sizeof(*g));
	return status;
}

/* The size of a small chunk in a row of its own, without the zeros after it; 0 for
 * others. */
static uint64_t
small_size(uint64_t id, const struct lc__slice *value)
{
	return value->size > SMALL ? 0 : chunk_bytes(value->data, value->size, id);
}

static lc_status
fold_block(struct lc__change *change, struct group *g, uint64_t id, uint64_t end)
{
	struct lc__txn *txn = change->snapshot.txn;
	struct lc__slice value;
	lc_status status = lc__txn_seek(txn, LC__CHUNK, id, &id, &value);

	while (status == LC_OK && id < end) {
		const uint64_t size = small_size(id, &value);

		if (size == 0 ||
		    page_bytes(change,
			row_size(&g->row) + lc__round_up(size, LC__RECORD_ALIGN)) >
			LC__FOLDED_MAX) {
			/* This writes, so the value may move. */
			return_if_error(end_group(change, g));
			return_if_error(lc__txn_get(txn, LC__CHUNK, id, &value));
		}
		if (size > 0) {
			append(&g->row, id, value.data, size);
			g->ids[g->count++] = id;
			g->alone += page_bytes(change, value.size);
		}
		status = lc__txn_seek_after(txn, LC__CHUNK, id, &id, &value);
	}
	return status == LC_OK || status == LC_END ? end_group(change, g) : status;
}

lc_status
lc__fold(struct lc__change *change, uint64_t chunk)
{
	struct group group = { 0 };
	lc_status status;

	if (chunk % LC__FOLD_BLOCK != 0)
		return LC_OK;
	return_if_error(lc__fold_settle(change));
	status = fold_block(change, &group, chunk - LC__FOLD_BLOCK, chunk);
	lc__buf_free(&group.row.bytes);
	return status;
}
