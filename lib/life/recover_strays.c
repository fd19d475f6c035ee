/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/recover.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "store/inputs.h"
#include "store/module.h"

/* ---- rows of a table ------------------------------------------------------ */

#define NOWHERE UINT64_MAX

/* A row as it was found. Its bytes stay in the map until the commit. */
struct row {
	uint64_t key;
	uint64_t says; /* its id by its header or checksum; NOWHERE: unknown */
	uint64_t home; /* its new id; NOWHERE: it is dropped */
	struct lc__slice value;
};

struct rows {
	struct row *rows; /* by key; malloc'ed */
	uint64_t n;
	size_t room;
};

static lc_status
list_rows(struct lc__recovery *r, enum lc__table table, struct rows *out)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	struct lc__slice value;
	uint64_t key = 0;
	lc_status status = lc__txn_seek(txn, table, 0, &key, &value);

	for (; status == LC_OK;
	     status = lc__txn_seek_after(txn, table, key, &key, &value)) {
		return_if_error(
		    lc__array_reserve(&out->rows, &out->room, out->n + 1, "recover"));
		out->rows[out->n++] = (struct row){
			.key = key,
			.says = NOWHERE,
			.home = key,
			.value = value,
		};
	}
	return status == LC_END ? LC_OK : status;
}

static int
compare_key(const void *key, const void *row)
{
	const uint64_t a = *(const uint64_t *)key, b = ((const struct row *)row)->key;

	return (a > b) - (a < b);
}

/* The row that was found under a key, or NULL. */
static struct row *
find_key(const struct rows *rows, uint64_t key)
{
	return rows->n == 0 ? NULL
			    : bsearch(&key, rows->rows, (size_t)rows->n,
				  sizeof(*rows->rows), compare_key);
}

/* Does a row move to this id, or stay there? */
static bool
is_taken(const struct rows *rows, uint64_t id)
{
	for (uint64_t i = 0; i < rows->n; i++)
		if (rows->rows[i].home == id)
			return true;
	return false;
}

/* A row with a known id moves there, unless another row with that id is there; a row with
 * an unknown id gives way. */
static void
settle(struct rows *rows)
{
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i], *there;

		if (row->says == NOWHERE || row->says == row->key)
			continue;
		/* The row in that place may itself be about to move. */
		row->home = NOWHERE;
		there = find_key(rows, row->says);
		if (there != NULL && there->says != row->says &&
		    there->home == there->key)
			there->home = NOWHERE;
		if (!is_taken(rows, row->says))
			row->home = row->says;
	}
}

/* Delete all rows that move, then insert them where they belong. Their bytes are still in
 * the map, which a transaction does not change before the commit. */
static lc_status
move_rows(struct lc__recovery *r, enum lc__table table, const struct rows *rows)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	unsigned char *bytes;

	for (uint64_t i = 0; i < rows->n; i++)
		if (rows->rows[i].home != rows->rows[i].key)
			return_if_error(lc__txn_delete(txn, table, rows->rows[i].key));
	for (uint64_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->rows[i];

		if (row->home == row->key || row->home == NOWHERE)
			continue;
		return_if_error(
		    lc__txn_insert(txn, table, row->home, row->value.size, &bytes));
		memcpy(bytes, row->value.data, row->value.size);
	}
	return LC_OK;
}

static void
tell_moved(struct lc__recovery *r, const char *what, const struct row *row)
{
	r->result.rows++;
	if (row->home != NOWHERE)
		lc__progress_damage(r->progress, "%s %llu: was found under the key %llu",
		    what, (unsigned long long)row->home, (unsigned long long)row->key);
	else
		lc__progress_damage(r->progress,
		    "%s under the key %llu: dropped, its own key is unknown", what,
		    (unsigned long long)row->key);
}

/* ---- tables in the place of others ------------------------------------------- */

/* The tables with keys of the same form. */
static const enum lc__table alike[] = { LC__CHUNK, LC__LEDGER, LC__INDEX, LC__INPUT,
	LC__ORDER };
#define ALIKE (sizeof(alike) / sizeof(*alike))

/* Can a row belong to a table, judging by its header or its checksum? */
static bool
is_of(enum lc__table table, const struct row *row)
{
	const unsigned char *data = row->value.data;
	const size_t size = row->value.size;
	struct lc__ledger_row ledger;
	struct lc__order_row order;
	struct lc__input_row input;
	uint64_t id;

	switch (table) {
	case LC__CHUNK: return lc__chunk_says(data, size, &id);
	case LC__INDEX: return lc__run_says(data, size, &id);
	case LC__LEDGER: return lc__ledger_decode(data, size, row->key, &ledger);
	case LC__ORDER: return lc__order_decode(data, size, row->key, &order);
	default:
		return row->key <= UINT32_MAX &&
		    lc__input_decode(data, size, (uint32_t)row->key, &input);
	}
}

static bool
has_any_of(enum lc__table table, const struct rows *rows)
{
	for (uint64_t i = 0; i < rows->n; i++)
		if (is_of(table, &rows->rows[i]))
			return true;
	return false;
}

/* The table to which rows belong: another one than they are in, if some belong to it and
 * none to any other. */
static size_t
find_table(const struct rows *rows, size_t in)
{
	size_t found = in;

	if (has_any_of(alike[in], rows))
		return in;
	for (size_t t = 0; t < ALIKE; t++) {
		if (t == in || !has_any_of(alike[t], rows))
			continue;
		if (found != in)
			return in;
		found = t;
	}
	return found;
}

/* Do rows move, without two tables' rows ending up in one? */
static bool
is_exchange(const struct rows tables[ALIKE], const size_t to[ALIKE])
{
	bool taken[ALIKE] = { false }, moves = false;

	for (size_t t = 0; t < ALIKE; t++) {
		if (tables[t].n == 0)
			continue;
		if (taken[to[t]])
			return false;
		taken[to[t]] = true;
		moves |= to[t] != t;
	}
	return moves;
}

static lc_status
exchange_tables(struct lc__recovery *r, const struct rows tables[ALIKE],
    const size_t to[ALIKE])
{
	static const char *const names[ALIKE] = { "chunk", "ledger", "index", "input",
		"order" };
	struct lc__txn *txn = r->change->snapshot.txn;
	unsigned char *bytes;

	for (size_t t = 0; t < ALIKE; t++)
		if (to[t] != t)
			return_if_error(lc__txn_clear(txn, alike[t]));
	for (size_t t = 0; t < ALIKE; t++) {
		if (to[t] == t)
			continue;
		r->result.rows++;
		lc__progress_damage(r->progress,
		    "table %s: contains the rows of the table %s", names[t],
		    names[to[t]]);
		for (uint64_t i = 0; i < tables[t].n; i++) {
			const struct row *row = &tables[t].rows[i];

			return_if_error(lc__txn_insert(txn, alike[to[t]], row->key,
			    row->value.size, &bytes));
			memcpy(bytes, row->value.data, row->value.size);
		}
	}
	return LC_OK;
}

lc_status
lc__recovery_put_back_tables(struct lc__recovery *r)
{
	struct rows tables[ALIKE] = { { .rows = NULL } };
	size_t to[ALIKE];
	lc_status status = LC_OK;

	for (size_t t = 0; t < ALIKE && status == LC_OK; t++) {
		status = list_rows(r, alike[t], &tables[t]);
		to[t] = find_table(&tables[t], t);
	}
	if (status == LC_OK && is_exchange(tables, to))
		status = exchange_tables(r, tables, to);
	for (size_t t = 0; t < ALIKE; t++)
		free(tables[t].rows);
	return status;
}

/* ---- which row is it, by its checksum --------------------------------------- */

/* Ids for which a table must have rows. */
struct ids {
	uint64_t *id; /* malloc'ed */
	uint64_t n;
	size_t room;
};

/* Which rows are intact under their own keys? Their ids are not searched. */
static void
read_own(struct rows *rows)
{
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (lc__row_intact(row->value.data, row->value.size, row->key))
			row->says = row->key;
	}
}

/* Add an id, unless an intact row is under it. */
static lc_status
want(const struct rows *rows, uint64_t id, struct ids *wanted)
{
	const struct row *there = find_key(rows, id);

	if (there != NULL && there->says == id)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&wanted->id, &wanted->room, wanted->n + 1, "recover"));
	wanted->id[wanted->n++] = id;
	return LC_OK;
}

static lc_status
want_below(const struct rows *rows, uint64_t end, struct ids *wanted)
{
	for (uint64_t id = 0; id < end; id++)
		return_if_error(want(rows, id, wanted));
	return LC_OK;
}

/* Try the missing ids for each row that is not intact under its key. Both are few, except
 * in a file crafted to take long. */
static void
find_ids(struct rows *rows, struct ids *wanted)
{
	uint64_t budget = (uint64_t)1 << 30; /* bytes */

	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];
		const uint64_t cost = row->value.size + 64;

		for (uint64_t k = 0; k < wanted->n && row->says == NOWHERE; k++) {
			if (budget < cost)
				return;
			budget -= cost;
			if (!lc__row_intact(row->value.data, row->value.size,
				wanted->id[k]))
				continue;
			row->says = wanted->id[k];
			wanted->id[k] = wanted->id[--wanted->n];
		}
	}
}

/* ---- the table meta ------------------------------------------------------- */

/* Find the row that belongs to this name by its checksum, but has another name;
 * LC_NOT_FOUND if the row has its own name, or does not exist. */
static lc_status
find_meta(struct lc__txn *txn, const char *name, struct lc__slice *at,
    struct lc__slice *row)
{
	const uint64_t seed = lc__row_seed(name);
	lc_status status = lc__txn_get_meta(txn, name, row);

	if (status == LC_OK && lc__row_intact(row->data, row->size, seed))
		return LC_NOT_FOUND;
	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	for (uint64_t i = 0; (status = lc__txn_nth_meta(txn, i, at, row)) == LC_OK; i++)
		if (lc__row_intact(row->data, row->size, seed))
			return LC_OK;
	return status == LC_END ? LC_NOT_FOUND : status;
}

static lc_status
put_back_meta(struct lc__recovery *r, const char *name)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	struct lc__slice at, row;
	const lc_status status = find_meta(txn, name, &at, &row);

	if (status != LC_OK)
		return status == LC_NOT_FOUND ? LC_OK : status;
	r->result.rows++;
	lc__progress_damage(r->progress, "table meta: row %s: is really the row %s",
	    lc__quote_id(at.data, at.size), name);
	return lc__txn_rename_meta(txn, &at, name);
}

static lc_status
drop_unknown_meta(struct lc__recovery *r)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	struct lc__slice name, row;
	uint64_t i = 0;
	lc_status status;

	while ((status = lc__txn_nth_meta(txn, i, &name, &row)) == LC_OK) {
		if (lc__meta_knows(&name)) {
			i++;
			continue;
		}
		r->result.rows++;
		lc__progress_damage(r->progress, "table meta: row %s: unknown, dropped",
		    lc__quote_id(name.data, name.size));
		return_if_error(lc__txn_rename_meta(txn, &name, NULL));
	}
	return status == LC_END ? LC_OK : status;
}

lc_status
lc__recovery_put_back_meta(struct lc__recovery *r)
{
	static const char *const names[] = { "state", "settings", "counters", "usage",
		"fill" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		return_if_error(put_back_meta(r, names[i]));
	return drop_unknown_meta(r);
}

/* ---- chunks and runs ------------------------------------------------------ */

/* Does a row of the ledger describe exactly the records of a chunk? The hash is over their
 * checksums. */
static bool
describes(const struct lc__ledger_row *row, const struct lc__slice *chunk)
{
	struct lc__ledger_row sum = { 0 };
	struct lc__record record;
	uint64_t at = LC__CHUNK_HEADER;

	if (chunk->size < at || row->bytes > chunk->size - at)
		return false;
	while (sum.bytes < row->bytes) {
		if (!lc__record_parse(chunk->data + at, row->bytes - sum.bytes, &record))
			return false;
		lc__ledger_hash(&sum, chunk->data + at);
		sum.records++;
		sum.bytes += record.size;
		at += record.size;
	}
	return row->records > 0 && sum.records == row->records && sum.hash == row->hash;
}

/* A chunk without a header under a key that was never assigned: the ledger may know
 * it. */
static lc_status
find_chunk_home(struct lc__recovery *r, const struct rows *rows, struct row *chunk)
{
	struct lc__ledger_row row;
	uint64_t id = 0;
	bool intact;
	lc_status status = lc__ledger_seek(&r->change->snapshot, 1, &id, &row, &intact);

	chunk->home = NOWHERE;
	for (; status == LC_OK && id <= LC__CHUNK_ID_MAX;
	     status = lc__ledger_after(&r->change->snapshot, id, &id, &row, &intact)) {
		if (intact && !is_taken(rows, id) && describes(&row, &chunk->value)) {
			chunk->home = id;
			return LC_OK;
		}
	}
	return status == LC_END ? LC_OK : status;
}

static lc_status
settle_chunks(struct lc__recovery *r, struct rows *rows)
{
	/* Keys of chunks without a header are trusted below this limit. A key near the
	 * largest number would leave none for the next chunk. */
	const uint64_t limit = r->state_lost ? LC__CHUNK_ID_MAX / 2
					     : r->change->snapshot.state.next_chunk;

	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (!lc__chunk_says(row->value.data, row->value.size, &row->says) ||
		    row->says > LC__CHUNK_ID_MAX)
			row->says = NOWHERE;
	}
	settle(rows);
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (row->says == NOWHERE &&
		    (row->home == NOWHERE || row->key == 0 || row->key >= limit))
			return_if_error(find_chunk_home(r, rows, row));
	}
	for (uint64_t i = 0; i < rows->n; i++) {
		if (rows->rows[i].home != rows->rows[i].key)
			tell_moved(r, "chunk", &rows->rows[i]);
		r->result.unknown += rows->rows[i].home == NOWHERE;
	}
	return move_rows(r, LC__CHUNK, rows);
}

/* A run that the state does not list, or whose number leaves none for the next, is
 * dropped; the index is then rewritten. */
static lc_status
settle_runs(struct lc__recovery *r, struct rows *rows)
{
	const struct lc__state *state = &r->change->snapshot.state;

	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (!lc__run_says(row->value.data, row->value.size, &row->says) ||
		    row->says >= LC__RUN_ID_MAX / 2)
			row->says = NOWHERE;
	}
	settle(rows);
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];
		bool known = row->home != 0 && row->home < LC__RUN_ID_MAX / 2;

		if (!r->state_lost) {
			known = false;
			for (uint32_t k = 0; k < state->nruns; k++)
				known |= state->runs[k].id == row->home;
		}
		if (!known)
			row->home = NOWHERE;
		if (row->home != row->key)
			tell_moved(r, "index run", row);
		r->index_damaged |= row->home == NOWHERE;
	}
	return move_rows(r, LC__INDEX, rows);
}

static lc_status
put_back_values(struct lc__recovery *r, enum lc__table table,
    lc_status (*settle_table)(struct lc__recovery *r, struct rows *rows))
{
	struct rows rows = { .rows = NULL };
	lc_status status = list_rows(r, table, &rows);

	if (status == LC_OK)
		status = settle_table(r, &rows);
	free(rows.rows);
	return status;
}

lc_status
lc__recovery_put_back_values(struct lc__recovery *r)
{
	return_if_error(put_back_values(r, LC__CHUNK, settle_chunks));
	return put_back_values(r, LC__INDEX, settle_runs);
}

/* ---- schemas, ledger, inputs ---------------------------------------------- */

lc_status
lc__recovery_count_schemas(struct lc__recovery *r, uint32_t *out)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	struct lc__record record;
	struct lc__slice value;
	uint64_t id = 0;
	lc_status status = lc__txn_seek(txn, LC__CHUNK, 0, &id, &value);

	*out = 0;
	for (; status == LC_OK;
	     status = lc__txn_seek_after(txn, LC__CHUNK, id, &id, &value)) {
		uint64_t at = LC__CHUNK_HEADER;

		while (at < value.size) {
			const bool whole = lc__record_parse(value.data + at,
					       value.size - at, &record) &&
			    lc__record_intact(&record);

			if (whole && record.schema >= *out &&
			    record.schema < LC__SCHEMAS_MAX)
				*out = record.schema + 1;
			at += whole ? record.size : LC__RECORD_ALIGN;
		}
	}
	return status == LC_END ? LC_OK : status;
}

/* A row that is intact under its key proves that its schema id was assigned. */
static void
count_own(struct lc__recovery *r, const struct rows *rows)
{
	struct lc__state *state = &r->change->snapshot.state;
	const uint32_t before = state->next_schema;

	for (uint64_t i = 0; i < rows->n; i++) {
		const uint64_t id = rows->rows[i].says;

		if (id < LC__SCHEMAS_MAX && id >= state->next_schema)
			state->next_schema = (uint32_t)id + 1;
	}
	if (state->next_schema == before || r->state_lost)
		return;
	r->result.rows++;
	lc__progress_damage(r->progress, "state row: claims %u schemas, found %u", before,
	    state->next_schema);
}

static lc_status
settle_schemas(struct lc__recovery *r, struct rows *rows, struct ids *wanted)
{
	uint32_t next;

	count_own(r, rows);
	next = r->change->snapshot.state.next_schema;
	return_if_error(want_below(rows, next, wanted));
	find_ids(rows, wanted);
	settle(rows);
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (row->home >= next)
			row->home = NOWHERE;
		if (row->home != row->key)
			tell_moved(r, "schema", row);
	}
	return move_rows(r, LC__SCHEMA, rows);
}

static lc_status
settle_ledger(struct lc__recovery *r, struct rows *rows, struct ids *wanted)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	struct lc__slice value;
	uint64_t id = 0;
	lc_status status = lc__txn_seek(txn, LC__CHUNK, 0, &id, &value);

	for (; status == LC_OK;
	     status = lc__txn_seek_after(txn, LC__CHUNK, id, &id, &value))
		return_if_error(want(rows, id, wanted));
	if (status != LC_END)
		return status;
	find_ids(rows, wanted);
	settle(rows);
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		/* A row of a missing chunk is handled later. */
		if (row->home == 0 || row->home > LC__CHUNK_ID_MAX)
			row->home = NOWHERE;
		if (row->home != row->key)
			tell_moved(r, "ledger row of chunk", row);
	}
	return move_rows(r, LC__LEDGER, rows);
}

static lc_status
settle_inputs(struct lc__recovery *r, struct rows *rows, struct ids *wanted)
{
	uint32_t n = 0;

	return_if_error(lc__recovery_count_inputs(r, &n));
	return_if_error(want_below(rows, n, wanted));
	find_ids(rows, wanted);
	settle(rows);
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (row->home >= n)
			row->home = NOWHERE;
		if (row->home != row->key)
			tell_moved(r, "row of input", row);
	}
	return move_rows(r, LC__INPUT, rows);
}

static lc_status
put_back_rows(struct lc__recovery *r, enum lc__table table,
    lc_status (
	*settle_table)(struct lc__recovery *r, struct rows *rows, struct ids *wanted))
{
	struct rows rows = { .rows = NULL };
	struct ids wanted = { .id = NULL };
	lc_status status = list_rows(r, table, &rows);

	read_own(&rows);
	if (status == LC_OK)
		status = settle_table(r, &rows, &wanted);
	free(rows.rows);
	free(wanted.id);
	return status;
}

lc_status
lc__recovery_put_back_rows(struct lc__recovery *r)
{
	return_if_error(put_back_rows(r, LC__SCHEMA, settle_schemas));
	return_if_error(put_back_rows(r, LC__LEDGER, settle_ledger));
	return put_back_rows(r, LC__INPUT, settle_inputs);
}
