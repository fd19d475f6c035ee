/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/recover_strays.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/counters.h"
#include "store/inputs.h"
#include "store/meta.h"
#include "store/published.h"
#include "store/settings.h"
#include "life/recover_inputs.h"

/* ---- rows of a table ------------------------------------------------------ */

/* A row as it was found. What it points to stays as it is until the commit. */
struct row {
	uint64_t key;
	uint64_t says;  /* its id by its own header; 0: none can be read */
	uint64_t home;  /* where it goes; NOWHERE: it is dropped */
	struct lc__slice value;
};
#define NOWHERE UINT64_MAX

struct rows {
	struct row *rows; /* by key; malloc'ed */
	uint64_t n, room;
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
		return_if_error(lc__recovery_reserve((void **)&out->rows, out->n,
		    &out->room, sizeof(*out->rows)));
		out->rows[out->n++] = (struct row){
			.key = key, .home = key, .value = value
		};
	}
	return status == LC_NOT_FOUND ? LC_OK : status;
}

static struct row *
find_home(const struct rows *rows, uint64_t home, const struct row *not)
{
	for (uint64_t i = 0; i < rows->n; i++)
		if (rows->rows[i].home == home && &rows->rows[i] != not)
			return &rows->rows[i];
	return NULL;
}

/* Take all that moves away from its key, then put it where it belongs: what is copied
 * stands in the map, which a transaction does not write. */
static lc_status
move_rows(struct lc__recovery *r, enum lc__table table, const struct rows *rows)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	unsigned char *bytes;

	for (uint64_t i = 0; i < rows->n; i++)
		if (rows->rows[i].home != rows->rows[i].key)
			return_if_error(lc__txn_delete(txn, table,
			    rows->rows[i].key));
	for (uint64_t i = 0; i < rows->n; i++) {
		const struct row *row = &rows->rows[i];

		if (row->home == row->key || row->home == NOWHERE)
			continue;
		return_if_error(lc__txn_insert(txn, table, row->home,
		    row->value.size, &bytes));
		memcpy(bytes, row->value.data, row->value.size);
	}
	return LC_OK;
}

static void
tell_moved(struct lc__recovery *r, const char *what, const struct row *row)
{
	r->result.rows++;
	if (row->home != NOWHERE)
		lc__recovery_tell(r, "%s %llu: was under the key %llu", what,
		    (unsigned long long)row->home, (unsigned long long)row->key);
	else
		lc__recovery_tell(r, "%s under the key %llu: dropped, it is not known "
		    "which one it is", what, (unsigned long long)row->key);
}

/* ---- the table meta ------------------------------------------------------- */

/* Is a row, by its bytes, the one of this name? */
static bool
is_row_of(const char *name, const struct lc__slice *row)
{
	struct lc__state state = { 0 };
	struct lc__fill_row fill;
	lc_settings settings;
	bool is;

	if (strcmp(name, "settings") == 0)
		return lc__settings_parse(row->data, row->size, &settings);
	if (strcmp(name, "fill") == 0)
		return lc__fill_decode(row->data, row->size, &fill);
	if (strcmp(name, "state") != 0)
		return true; /* their users look at them, and count anew */
	is = lc__state_decode(row->data, row->size, &state) == LC_OK;
	lc__state_free(&state);
	return is;
}

/* The name that a row had before a byte of it changed; NULL if that is not known. */
static const char *
old_name(struct lc__txn *txn, const struct lc__slice *name,
    const struct lc__slice *row)
{
	static const char *const names[] = {
		"state", "settings", "counters", "usage", "fill"
	};
	struct lc__slice there;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (lc__row_nearly_named(name->data, name->size, names[i]) &&
		    lc__txn_get_meta(txn, names[i], &there) == LC_NOT_FOUND &&
		    is_row_of(names[i], row))
			return names[i];
	return NULL;
}

lc_status
lc__recovery_put_back_meta(struct lc__recovery *r)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	struct lc__slice name, row;
	uint64_t i = 0;
	lc_status status;

	while ((status = lc__txn_nth_meta(txn, i, &name, &row)) == LC_OK) {
		const char *old;

		if (lc__meta_knows(&name)) {
			i++;
			continue;
		}
		old = old_name(txn, &name, &row);
		r->result.rows++;
		lc__recovery_tell(r, "table meta: row %s: %s%s", lc__quote_id(
		    name.data, name.size), old == NULL ? "unknown, dropped" :
		    "is the row ", old == NULL ? "" : old);
		return_if_error(lc__txn_rename_meta(txn, &name, old));
		i = 0; /* the order is another one now */
	}
	return status == LC_NOT_FOUND ? LC_OK : status;
}

/* ---- chunks and runs ------------------------------------------------------ */

/* Rows that say where they belong go there, if no other one that says so is there; one
 * without a header leaves its place to them. */
static void
settle_by_header(struct rows *rows)
{
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i], *other;

		if (row->says == 0 || row->says == row->key)
			continue;
		other = find_home(rows, row->says, row);
		row->home = other == NULL || other->says == 0 ? row->says :
		    NOWHERE;
		if (row->home != NOWHERE && other != NULL)
			other->home = NOWHERE;
	}
}

/* The hash over the checksums of records that fill so many bytes; false if they do
 * not. */
static bool
hash_records(const struct lc__slice *chunk, const struct lc__ledger_row *row,
    uint64_t *hash)
{
	struct lc__ledger_row sum = { 0 };
	struct lc__record record;
	uint64_t at = LC__CHUNK_HEADER;

	if (chunk->size < at || row->bytes > chunk->size - at)
		return false;
	while (sum.bytes < row->bytes) {
		if (!lc__record_parse(chunk->data + at, row->bytes - sum.bytes,
		    &record))
			return false;
		lc__ledger_hash(&sum, chunk->data + at);
		sum.records++;
		sum.bytes += record.size;
		at += record.size;
	}
	*hash = sum.hash;
	return sum.records == row->records && row->records > 0;
}

/* Does a row of the ledger tell of just these records? */
static bool
tells_of(const struct lc__ledger_row *row, const struct lc__slice *chunk)
{
	uint64_t hash = 0;

	return hash_records(chunk, row, &hash) && hash == row->hash;
}

/* A chunk without a header under a key that was never given out: the ledger may know
 * it. */
static lc_status
find_chunk_home(struct lc__recovery *r, const struct rows *rows,
    struct row *chunk)
{
	struct lc__ledger_row row;
	uint64_t id = 0;
	bool intact;
	lc_status status = lc__ledger_seek(&r->change->snapshot, 1, &id, &row,
	    &intact);

	chunk->home = NOWHERE;
	for (; status == LC_OK && id <= LC__CHUNK_ID_MAX; status =
	    lc__ledger_after(&r->change->snapshot, id, &id, &row, &intact)) {
		if (intact && find_home(rows, id, NULL) == NULL &&
		    tells_of(&row, &chunk->value)) {
			chunk->home = id;
			return LC_OK;
		}
	}
	return status == LC_NOT_FOUND ? LC_OK : status;
}

/* Keys of chunks without a header are trusted below this. A key near the largest one
 * would leave no number for the next chunk. */
static uint64_t
chunk_limit(const struct lc__recovery *r)
{
	return r->state_lost ? LC__CHUNK_ID_MAX / 2 :
	    r->change->snapshot.state.next_chunk;
}

static lc_status
settle_chunks(struct lc__recovery *r, struct rows *rows)
{
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (!lc__chunk_says(row->value.data, row->value.size,
		    &row->says) || row->says > LC__CHUNK_ID_MAX)
			row->says = 0;
	}
	settle_by_header(rows);
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (row->says == 0 && (row->home == NOWHERE || row->key == 0 ||
		    row->key >= chunk_limit(r)))
			return_if_error(find_chunk_home(r, rows, row));
	}
	for (uint64_t i = 0; i < rows->n; i++) {
		if (rows->rows[i].home != rows->rows[i].key)
			tell_moved(r, "chunk", &rows->rows[i]);
		r->result.unknown += rows->rows[i].home == NOWHERE;
	}
	return move_rows(r, LC__CHUNK, rows);
}

static bool
is_listed(const struct lc__state *state, uint64_t run)
{
	for (uint32_t i = 0; i < state->nruns; i++)
		if (state->runs[i].id == run)
			return true;
	return false;
}

/* A run that the state does not list, or whose number leaves none for the next, is of
 * no use; the index is then written anew. */
static lc_status
settle_runs(struct lc__recovery *r, struct rows *rows)
{
	const struct lc__state *state = &r->change->snapshot.state;

	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (!lc__run_says(row->value.data, row->value.size,
		    &row->says) || row->says >= LC__RUN_ID_MAX / 2)
			row->says = 0;
	}
	settle_by_header(rows);
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (row->home != NOWHERE && (r->state_lost ? row->home == 0 ||
		    row->home >= LC__RUN_ID_MAX / 2 : !is_listed(state, row->home)))
			row->home = NOWHERE;
		if (row->home != row->key)
			tell_moved(r, "index run", row);
		r->index_damaged |= row->home == NOWHERE;
	}
	return move_rows(r, LC__INDEX, rows);
}

static lc_status
put_back(struct lc__recovery *r, enum lc__table table,
    lc_status (*settle)(struct lc__recovery *r, struct rows *rows))
{
	struct rows rows = { .rows = NULL };
	lc_status status = list_rows(r, table, &rows);

	if (status == LC_OK)
		status = settle(r, &rows);
	free(rows.rows);
	return status;
}

lc_status
lc__recovery_put_back_values(struct lc__recovery *r)
{
	return_if_error(put_back(r, LC__CHUNK, settle_chunks));
	return put_back(r, LC__INDEX, settle_runs);
}

/* ---- records, for what they say of schemas -------------------------------- */

/* Call @p see with every whole record of every chunk, until it says false. */
static lc_status
walk_records(struct lc__recovery *r, bool (*see)(void *ctx,
    const struct lc__record *record), void *ctx)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	struct lc__record record;
	struct lc__slice value;
	uint64_t id = 0;
	lc_status status = lc__txn_seek(txn, LC__CHUNK, 0, &id, &value);

	for (; status == LC_OK;
	    status = lc__txn_seek_after(txn, LC__CHUNK, id, &id, &value)) {
		uint64_t at = LC__CHUNK_HEADER;

		while (at < value.size) {
			const bool whole = lc__record_parse(value.data + at,
			    value.size - at, &record) &&
			    lc__record_intact(&record);

			if (whole && !see(ctx, &record))
				return LC_OK;
			at += whole ? record.size : LC__RECORD_ALIGN;
		}
	}
	return status == LC_NOT_FOUND ? LC_OK : status;
}

static bool
see_schema(void *ctx, const struct lc__record *record)
{
	uint32_t *schemas = ctx;

	if (record->schema >= *schemas && record->schema < LC__SCHEMAS_MAX)
		*schemas = record->schema + 1;
	return true;
}

lc_status
lc__recovery_count_schemas(struct lc__recovery *r, uint32_t *out)
{
	uint64_t rows = 0;

	return_if_error(lc__txn_count(r->change->snapshot.txn, LC__SCHEMA, &rows));
	*out = rows > LC__SCHEMAS_MAX ? LC__SCHEMAS_MAX : (uint32_t)rows;
	return walk_records(r, see_schema, out);
}

/* ---- schemas -------------------------------------------------------------- */

/* Do the records that name a schema fit a structure? */
struct fit {
	uint32_t id;
	const struct lc__schema *schema;
	bool fits;
};

static bool
see_fit(void *ctx, const struct lc__record *record)
{
	struct fit *fit = ctx;

	if (record->schema == fit->id)
		fit->fits = lc__record_fits(record, fit->schema);
	return fit->fits;
}

static lc_status
fits_records(struct lc__recovery *r, uint32_t id, const struct row *row,
    bool *out)
{
	struct fit fit = { .id = id, .fits = true };
	struct lc__schema *schema;
	lc_status status = lc__schema_decode(row->value.data, row->value.size,
	    &schema);

	*out = false;
	if (status != LC_OK)
		return status == LC_CORRUPT ? LC_OK : status;
	fit.schema = schema;
	status = walk_records(r, see_fit, &fit);
	lc__schema_free(schema);
	*out = fit.fits;
	return status;
}

static uint64_t
count_homeless(const struct rows *rows, uint64_t end)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < rows->n; i++)
		n += rows->rows[i].home >= end;
	return n;
}

/* The one row with a number that was never given out that fits the records of a number
 * without a row; none if there are two. */
static lc_status
find_schema(struct lc__recovery *r, struct rows *rows, uint32_t id,
    struct row **out)
{
	bool fits;

	*out = NULL;
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (row->home < r->change->snapshot.state.next_schema)
			continue;
		return_if_error(fits_records(r, id, row, &fits));
		if (fits && *out != NULL) {
			*out = NULL;
			return LC_OK;
		}
		if (fits)
			*out = row;
	}
	return LC_OK;
}

static lc_status
settle_schemas(struct lc__recovery *r, struct rows *rows)
{
	const uint32_t next = r->change->snapshot.state.next_schema;

	for (uint32_t id = 0; id < next && count_homeless(rows, next) > 0; id++) {
		struct row *row;

		if (find_home(rows, id, NULL) != NULL)
			continue;
		return_if_error(find_schema(r, rows, id, &row));
		if (row != NULL)
			row->home = id;
	}
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (row->home >= next)
			row->home = NOWHERE;
		if (row->home != row->key)
			tell_moved(r, "schema", row);
	}
	return move_rows(r, LC__SCHEMA, rows);
}

/* ---- the ledger ----------------------------------------------------------- */

/* The hash over its records proves which chunk a row tells of. */
static lc_status
find_ledger_home(struct lc__recovery *r, const struct rows *rows,
    struct row *ledger)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	struct lc__ledger_row row;
	struct lc__slice value;
	uint64_t id = 0;
	lc_status status = lc__txn_seek(txn, LC__CHUNK, 0, &id, &value);

	if (!lc__ledger_decode(ledger->value.data, ledger->value.size, &row))
		return LC_OK;
	for (; status == LC_OK;
	    status = lc__txn_seek_after(txn, LC__CHUNK, id, &id, &value)) {
		if (find_home(rows, id, NULL) == NULL && tells_of(&row, &value)) {
			ledger->home = id;
			return LC_OK;
		}
	}
	return status == LC_NOT_FOUND ? LC_OK : status;
}

static lc_status
settle_ledger(struct lc__recovery *r, struct rows *rows)
{
	struct lc__slice value;

	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];
		const lc_status status = lc__txn_get(r->change->snapshot.txn,
		    LC__CHUNK, row->key, &value);

		if (status == LC_NOT_FOUND)
			return_if_error(find_ledger_home(r, rows, row));
		else
			return_if_error(status);
		/* One of a chunk that is gone says so; it is looked at later. */
		if (row->home == row->key && (row->key == 0 ||
		    row->key > LC__CHUNK_ID_MAX))
			row->home = NOWHERE;
		if (row->home != row->key)
			tell_moved(r, "ledger row of chunk", row);
	}
	return move_rows(r, LC__LEDGER, rows);
}

/* ---- inputs --------------------------------------------------------------- */

/* One row without a number and one number without a row belong together. */
static lc_status
settle_inputs(struct lc__recovery *r, struct rows *rows)
{
	struct row *stray = NULL;
	struct lc__input_row input;
	uint32_t n = 0, missing = 0;
	uint64_t strays = 0, gone = 0;

	return_if_error(lc__recovery_count_inputs(r, &n));
	for (uint32_t id = 0; id < n; id++)
		if (find_home(rows, id, NULL) == NULL) {
			missing = id;
			gone++;
		}
	for (uint64_t i = 0; i < rows->n; i++)
		if (rows->rows[i].key >= n) {
			stray = &rows->rows[i];
			strays++;
		}
	if (strays == 1 && gone == 1 && lc__input_decode(stray->value.data,
	    stray->value.size, &input))
		stray->home = missing;
	for (uint64_t i = 0; i < rows->n; i++) {
		struct row *row = &rows->rows[i];

		if (row->home >= n)
			row->home = NOWHERE;
		if (row->home != row->key)
			tell_moved(r, "row of input", row);
	}
	return move_rows(r, LC__INPUT, rows);
}

lc_status
lc__recovery_put_back_rows(struct lc__recovery *r)
{
	return_if_error(put_back(r, LC__SCHEMA, settle_schemas));
	return_if_error(put_back(r, LC__LEDGER, settle_ledger));
	return put_back(r, LC__INPUT, settle_inputs);
}
