/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits rows of several chunks into one row for each chunk, so that the rest of recover
 * handles only one kind of row. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "life/recover.h"

/* The chunks of a row: each chunk extends to the start of the next one. */
struct pieces {
	struct lc__folded piece[LC__FOLD_BLOCK];
	unsigned n;
};

static bool
has_row(struct lc__txn *txn, enum lc__table table, uint64_t id)
{
	struct lc__slice row;

	return lc__txn_get(txn, table, id, &row) == LC_OK;
}

static void
find_pieces(struct pieces *pieces, const struct lc__slice *row)
{
	const unsigned char *list = row->data;
	struct lc__folded chunk = { 0 };
	uint64_t id;

	if (row->size < 2 * LC__FOLDED_LIST || row->size > LC__FOLDED_MAX ||
	    lc__chunk_says(list, row->size, &id))
		return;
	if (!lc__folded_intact(list, row->size))
		list = row->data + row->size - LC__FOLDED_LIST;
	if (!lc__folded_intact(list, row->size))
		return;
	while (lc__folded_next(list, row->size, &chunk))
		pieces->piece[pieces->n++] = chunk;
}

static lc_status
insert_piece(struct lc__txn *txn, enum lc__table table, uint64_t id,
    const unsigned char *bytes, uint64_t size, uint64_t least)
{
	const uint64_t padded = size < least ? least : size;
	unsigned char *place;

	return_if_error(lc__txn_insert(txn, table, id, (size_t)padded, &place));
	memcpy(place, bytes, (size_t)size);
	memset(place + size, 0, (size_t)(padded - size));
	return LC_OK;
}

/* Damage may have exchanged the values of rows. If the id of the first chunk is taken,
 * the chunk gets the key of its row, and is moved back like any other chunk. */
static lc_status
unfold_row(struct lc__env *env, struct lc__txn *txn, enum lc__table table, uint64_t key,
    const struct lc__slice *row)
{
	struct pieces pieces = { .n = 0 };
	unsigned char *copy;
	lc_status status;

	find_pieces(&pieces, row);
	if (pieces.n == 0)
		return LC_OK;
	copy = malloc(row->size);
	if (copy == NULL)
		return lc__no_memory("recover");
	memcpy(copy, row->data, row->size);
	status = lc__txn_delete(txn, table, key);
	for (unsigned i = 0; i < pieces.n && status == LC_OK; i++) {
		const struct lc__folded *piece = &pieces.piece[i];
		const uint64_t id = i == 0 && has_row(txn, table, piece->id) ? key
									     : piece->id;

		if (!has_row(txn, table, id))
			status = insert_piece(txn, table, id, copy + piece->at,
			    piece->size, lc__env_page_size(env) / 2);
	}
	free(copy);
	return status;
}

static lc_status
unfold_all(struct lc__env *env, struct lc__txn *txn)
{
	/* Damage may have exchanged tables. */
	static const enum lc__table tables[] = { LC__CHUNK, LC__LEDGER, LC__INDEX,
		LC__INPUT, LC__ORDER };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct lc__slice row;
		uint64_t key = 0;
		lc_status status = lc__txn_seek(txn, tables[i], 0, &key, &row);

		for (; status == LC_OK;
		     status = lc__txn_seek_after(txn, tables[i], key, &key, &row))
			return_if_error(unfold_row(env, txn, tables[i], key, &row));
		if (status != LC_END)
			return status;
	}
	return LC_OK;
}

lc_status
lc__recovery_unfold(struct lc__env *env)
{
	lc_status status;

	do {
		struct lc__txn *txn;

		return_if_error(lc__txn_begin_write(env, LC_DURABLE_RELAXED, &txn));
		status = unfold_all(env, txn);
		if (status == LC_OK)
			status = lc__txn_commit(txn);
		else
			lc__txn_abort(txn);
		if (status == LC_MAP_FULL)
			return_if_error(lc__env_grow(env));
	} while (status == LC_MAP_FULL);
	return status;
}
